//! Makes a Debian package or a tarball of the programs in the current directory: `cargo run --release
//! --example package -- deb|tar`.
//!
//! The programs are linked with the C library of this machine, since static programs could not use the
//! services from which a site gets its accounts. The package declares the minimum version of the library.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]

#[path = "../install/layout.rs"]
mod layout;
mod notices;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use clap::{Parser, ValueEnum};

/// Make a package of the programs, in the current directory
#[derive(Parser)]
struct Options {
    /// What to make
    kind: Kind,
    /// Take built programs from here, instead of building them
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Compress little: a larger package, sooner
    #[arg(long)]
    fast: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A Debian package
    Deb,
    /// An archive to unpack below /usr/local or elsewhere
    Tar,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let programs = match options.programs {
        Some(programs) => programs,
        None => layout::build()?,
    };
    let place = tempfile::tempdir()?;
    let glibc = glibc(&programs)?;
    let (major, minor) = glibc;
    let file = match options.kind {
        Kind::Deb => deb(&programs, place.path(), &format!("{major}.{minor}"), options.fast)?,
        Kind::Tar => tar(&programs, place.path(), options.fast)?,
    };
    println!("{file}");
    eprintln!("package: the programs need glibc {major}.{minor} or newer");
    Ok(())
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
    ensure!(output.status.success(), "'{program}' has failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The time of the commit (seconds since 1970), used for all files in the package so that two builds are
/// identical.
fn date() -> anyhow::Result<u64> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return given.parse().context("SOURCE_DATE_EPOCH");
    }
    let told = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(layout::source()).output();
    Ok(told.ok().and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse().ok()).unwrap_or(0))
}

/// The newest version of the C library whose symbols the programs use.
fn glibc(programs: &Path) -> anyhow::Result<(u32, u32)> {
    let mut newest = (2, 17);
    for program in htc_hooks::cli::PROGRAMS {
        let path = programs.join(program.name);
        let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
        for at in memchr::memmem::find_iter(&bytes, b"\0GLIBC_2.") {
            let digits: Vec<u8> = bytes[at + 9..].iter().copied().take_while(u8::is_ascii_digit).collect();
            if let Ok(minor) = String::from_utf8_lossy(&digits).parse() {
                newest = newest.max((2, minor));
            }
        }
    }
    Ok(newest)
}

/// `htc-hooks_VERSION_ARCHITECTURE.deb`.
fn deb(programs: &Path, place: &Path, glibc: &str, fast: bool) -> anyhow::Result<String> {
    let (root, at) = (place.join("root"), std::env::current_dir()?);
    let usr = root.join("usr");
    layout::install(programs, &usr, false, true)?;
    // Debian has separate directories for completions of packages.
    std::fs::rename(usr.join("share/zsh/site-functions"), usr.join("share/zsh/vendor-completions"))?;
    let documents = usr.join("share/doc/htc-hooks");
    std::fs::create_dir_all(&documents)?;
    std::fs::copy(layout::source().join("README.md"), documents.join("README.md"))?;
    books(&documents)?;
    std::fs::write(documents.join("notices"), notices::notices(layout::source())?)?;
    std::fs::write(documents.join("copyright"), COPYRIGHT)?;
    let day = run("date", &["-u", "-R", "-d", &format!("@{}", date()?)], place)?;
    let entry = format!(
        "htc-hooks ({VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- {MAINTAINER}  {day}\n"
    );
    std::fs::write(documents.join("changelog"), entry)?;
    for file in files(&usr)? {
        let path = file.to_string_lossy();
        if path.contains("/share/man/") || path.ends_with("/changelog") || path.ends_with("/notices") {
            run("gzip", &["-9n", &path], place)?;
        }
    }
    let size: u64 =
        files(&usr)?.iter().filter_map(|file| Some(std::fs::metadata(file).ok()?.len().div_ceil(1024))).sum();
    let gcc = if uses(programs, b"libgcc_s.so.1")? { ", libgcc-s1" } else { "" };
    let architecture = run("dpkg", &["--print-architecture"], place)?;
    let control = format!(
        "Package: htc-hooks\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {size}\nDepends: libc6 (>= {glibc}){gcc}\nSection: utils\nPriority: optional\n\
         Description: run and test HTCondor hooks without a pool\n{DESCRIPTION}"
    );
    let mut sums = String::new();
    for file in files(&usr)? {
        let name = file.strip_prefix(&root)?.to_string_lossy().into_owned();
        sums.push_str(&run("md5sum", &[&name], &root)?);
        sums.push('\n');
    }
    std::fs::create_dir(root.join("DEBIAN"))?;
    std::fs::write(root.join("DEBIAN/control"), control)?;
    std::fs::write(root.join("DEBIAN/md5sums"), sums)?;
    plain_modes(&root)?;
    let name = format!("htc-hooks_{VERSION}_{architecture}.deb");
    let compression = if fast { "-Zgzip" } else { "-Zxz" };
    let level = if fast { "-z1" } else { "-z6" };
    run(
        "dpkg-deb",
        &["--root-owner-group", compression, level, "--build", &root.to_string_lossy(), &name],
        &at,
    )?;
    Ok(name)
}

/// `htc-hooks-VERSION-ARCHITECTURE-linux.tar.gz`: bin and share below one directory.
fn tar(programs: &Path, place: &Path, fast: bool) -> anyhow::Result<String> {
    let name = format!("htc-hooks-{VERSION}-{}-linux", std::env::consts::ARCH);
    let root = place.join(&name);
    layout::install(programs, &root, false, true)?;
    for file in ["README.md", "LICENSE", "CHANGELOG.md"] {
        std::fs::copy(layout::source().join(file), root.join(file))?;
    }
    books(&root)?;
    std::fs::write(root.join("NOTICES"), notices::notices(layout::source())?)?;
    plain_modes(&root)?;
    let archive = std::env::current_dir()?.join(format!("{name}.tar"));
    let archive = archive.to_string_lossy();
    let time = format!("--mtime=@{}", date()?);
    let same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu", &time];
    run("tar", &[&["-cf", &archive][..], &same[..], &[name.as_str()][..]].concat(), place)?;
    run("gzip", &[if fast { "-1nf" } else { "-9nf" }, &archive], place)?;
    Ok(format!("{name}.tar.gz"))
}

/// Returns true if a program uses a library.
fn uses(programs: &Path, library: &[u8]) -> anyhow::Result<bool> {
    for program in htc_hooks::cli::PROGRAMS {
        if memchr::memmem::find(&std::fs::read(programs.join(program.name))?, library).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Copies the documents that README refers to: the book and the examples, which use the installed programs.
fn books(to: &Path) -> anyhow::Result<()> {
    for directory in ["docs", "examples"] {
        let source = layout::source();
        for file in files(&source.join(directory))? {
            let name = file.strip_prefix(source)?;
            if file.extension().is_some_and(|kind| kind == "rs")
                || name.to_string_lossy().contains("__pycache__")
            {
                continue;
            }
            let copy = to.join(name);
            std::fs::create_dir_all(copy.parent().unwrap_or(to))?;
            std::fs::copy(&file, copy)?;
        }
    }
    Ok(())
}

/// The files below a directory, in the order of their names.
fn files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Sets modes that do not depend on the builder's umask: everybody can read all files and execute programs.
fn plain_modes(directory: &Path) -> anyhow::Result<()> {
    std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755))?;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            plain_modes(&path)?;
            continue;
        }
        let mode = std::fs::metadata(&path)?.permissions().mode();
        let plain = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
        std::fs::set_permissions(&path, PermissionsExt::from_mode(plain))?;
    }
    Ok(())
}

const MAINTAINER: &str = "The htc-hooks developers <htc-hooks@users.noreply.example.org>";

const DESCRIPTION: &str = " Seven small programs read the same configuration files, the same ads and the\n \
    same hook scripts as an HTCondor pool, and do with them what its daemons do:\n \
    slots that fetch work, a starter, job routes, ClassAds, the configuration.\n \
    No daemon, no network and no root are needed.\n";

const COPYRIGHT: &str = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
    Upstream-Name: htc-hooks\n\nFiles: *\nCopyright: 2026 The htc-hooks developers\nLicense: Apache-2.0\n \
    On Debian systems, the full text of the licence is in\n /usr/share/common-licenses/Apache-2.0.\n";
