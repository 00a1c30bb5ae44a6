//! Creates packages of the programs in the current directory:
//! `cargo run --example package -- deb|rpm|tar|musl|image|all`.
//!
//! Except for `musl`, the programs use the C library of the system, because static programs cannot use the name
//! services that provide the accounts of a site. They are linked by zig with the symbols of an old version of that
//! library, so that packages from any builder can be installed on Enterprise Linux 8 and newer systems.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a separate program")]

mod deb;
mod elf;
mod image;
#[path = "../install/layout.rs"]
mod layout;
mod notices;
mod rpm_package;
mod target;
mod tree;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use clap::{Parser, ValueEnum};

use elf::Requirements;
use target::{Arch, Libc, OLDEST_GLIBC, Target};
use tree::Places;

/// Make packages of the programs, in the current directory
#[derive(Parser)]
struct Options {
    /// Kinds of packages
    #[arg(required = true)]
    kinds: Vec<Kind>,
    /// Processor architecture [default: that of this machine]
    #[arg(long)]
    arch: Option<Arch>,
    /// Use the programs in this directory instead of building them
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Build with this machine's compiler; the programs then need a C library as new as this machine's
    #[arg(long, conflicts_with = "programs")]
    native: bool,
    /// Root directory with a shell for the image [default: created by debootstrap]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Compress less: packages are larger and built faster
    #[arg(long)]
    fast: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    /// A Debian package
    Deb,
    /// A package for Enterprise Linux, Fedora and SUSE
    Rpm,
    /// An archive to unpack below /usr/local or elsewhere
    Tar,
    /// An archive with static programs, for systems with another C library
    Musl,
    /// A container image, for `podman load`
    Image,
    /// All of these
    All,
}

/// Contents of a package, and its destination.
#[derive(Clone, Copy)]
struct Package<'a> {
    target: Target,
    programs: &'a Path,
    requirements: &'a Requirements,
    output: &'a Path,
    fast: bool,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const HOMEPAGE: &str = env!("CARGO_PKG_HOMEPAGE");
const MAINTAINER: &str = env!("CARGO_PKG_AUTHORS");
const SUMMARY: &str = "Run and test HTCondor hooks without a pool";
const DESCRIPTION: [&str; 5] = [
    "Seven small programs read the same configuration files, the same ads and",
    "the same hook scripts as an HTCondor pool, and do with them what its",
    "daemons do: slots that fetch work, a starter, job routes, ClassAds, the",
    "configuration. They explain their decisions, and need no daemon, no network",
    "and no root account.",
];

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let kinds: Vec<Kind> = if options.kinds.contains(&Kind::All) {
        Kind::value_variants().iter().copied().filter(|&kind| kind != Kind::All).collect()
    } else {
        options.kinds.clone()
    };
    let output = std::env::current_dir()?;
    for libc in [Libc::Glibc, Libc::Musl] {
        let kinds = kinds.iter().filter(|&&kind| (kind == Kind::Musl) == (libc == Libc::Musl));
        let kinds: Vec<Kind> = kinds.copied().collect();
        if !kinds.is_empty() {
            make_kinds(&options, libc, &kinds, &output)?;
        }
    }
    Ok(())
}

/// Builds the programs for one C library, and creates packages of them.
fn make_kinds(options: &Options, libc: Libc, kinds: &[Kind], output: &Path) -> anyhow::Result<()> {
    let this_machine = Arch::of_this_machine();
    let arch = options.arch.or(this_machine).context("--arch x86_64 or aarch64 is needed on this machine")?;
    let target = Target { arch, libc };
    let programs = match &options.programs {
        Some(programs) => programs.clone(),
        None if options.native && (libc == Libc::Musl || this_machine != Some(arch)) => {
            bail!("--native: this machine's compiler does not build for {}", target.triple())
        }
        None if options.native => layout::build()?,
        None => target.build()?,
    };
    let requirements = check(&programs, target)?;
    // Programs that were built here must not need a newer library. For other programs, the package declares their
    // requirements.
    if options.programs.is_none() && !options.native {
        let newest = requirements.glibc();
        ensure!(
            newest <= Some(OLDEST_GLIBC),
            "the programs need a C library newer than {OLDEST_GLIBC}: {newest:?}"
        );
    }
    let package =
        Package { target, programs: &programs, requirements: &requirements, output, fast: options.fast };
    for kind in kinds {
        let place = tempfile::tempdir()?;
        let name = match kind {
            Kind::Deb => deb::make(&package, place.path())?,
            Kind::Rpm => rpm_package::make(&package, place.path())?,
            Kind::Tar | Kind::Musl => make_archive(&package, place.path())?,
            Kind::Image => image::make(&package, place.path(), options.root.as_deref())?,
            Kind::All => continue,
        };
        println!("{name}");
    }
    match requirements.glibc() {
        Some(glibc) => eprintln!("package: the programs need glibc {glibc} or newer"),
        None => eprintln!("package: the programs need no C library"),
    }
    Ok(())
}

/// Checks that all programs exist and are built for the target, and returns their requirements.
fn check(programs: &Path, target: Target) -> anyhow::Result<Requirements> {
    let mut requirements = Requirements::default();
    for program in htc_hooks::cli::PROGRAMS {
        let path = programs.join(program.name);
        let arch = elf::architecture(&path)?;
        ensure!(arch == Some(target.arch), "{}: not a program for {}", path.display(), target.arch.name());
        requirements.extend(Requirements::read_program(&path)?);
    }
    if target.libc == Libc::Musl {
        let libraries = &requirements.libraries;
        ensure!(libraries.is_empty(), "the programs are not static: {libraries:?}");
    }
    Ok(requirements)
}

/// Creates `htc-hooks-VERSION-TARGET.tar.gz`, which contains bin and share below one directory.
fn make_archive(package: &Package<'_>, place: &Path) -> anyhow::Result<String> {
    let name = format!("htc-hooks-{VERSION}-{}", package.target.triple());
    let root = place.join(&name);
    tree::lay_out(package.programs, &root, package.target, &Places::PREFIX)?;
    tree::set_plain_modes(&root)?;
    let archive = package.output.join(format!("{name}.tar"));
    tree::archive(place, &[&name], &archive)?;
    run("gzip", &[if package.fast { "-1nf" } else { "-9nf" }, &archive.to_string_lossy()], place)?;
    Ok(format!("{name}.tar.gz"))
}

/// Runs a command that must succeed, and returns its output.
fn run(program: &str, words: &[&str], at: &Path) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(words)
        .current_dir(at)
        .env("SOURCE_DATE_EPOCH", date()?.to_string())
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("'{program}' is needed"))?;
    ensure!(output.status.success(), "'{program}' failed: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the time of the commit in seconds since 1970. All files in the packages have this time, so that two builds
/// are identical.
fn date() -> anyhow::Result<u64> {
    if let Ok(epoch) = std::env::var("SOURCE_DATE_EPOCH") {
        return epoch.parse().context("SOURCE_DATE_EPOCH");
    }
    let log = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(layout::source()).output();
    Ok(log.ok().and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests;
