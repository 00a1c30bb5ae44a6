//! Tests of packages with seven copies of one small program: their names, the locations of files, and the output of the
//! tools that read packages.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use clap::Parser as _;
use htc_hooks::cli::PROGRAMS;

use crate::target::{Arch, Libc, Target};
use crate::{Options, VERSION, make_kinds};

/// Files that each package has below its prefix.
const EVERYWHERE: [&str; 9] = [
    "bin/htc-slot-run",
    "share/bash-completion/completions/htc-slot-run",
    "share/fish/vendor_completions.d/htc-slot-run.fish",
    "share/htc-hooks/schemas/event.json",
    "share/doc/htc-hooks/README.md",
    "share/doc/htc-hooks/docs/tour.md",
    "share/doc/htc-hooks/docs/schemas",
    "share/doc/htc-hooks/examples/programs",
    "share/doc/htc-hooks/examples/quickstart/run",
];

/// Creates a package, and returns the names of its files, which a program of the system lists.
fn make(kind: &str, list: &[&str]) -> Option<BTreeSet<String>> {
    // Notices of licences come from cargo's metadata.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if !Command::new(cargo).arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: this account cannot run cargo");
        return None;
    }
    let output = tempfile::tempdir().unwrap();
    let programs = tempfile::tempdir().unwrap();
    for program in PROGRAMS {
        std::fs::copy("/bin/true", programs.path().join(program.name)).unwrap();
    }
    let options =
        Options::parse_from(["package", kind, "--fast", "--programs", programs.path().to_str().unwrap()]);
    make_kinds(&options, Libc::Glibc, &options.kinds, output.path()).unwrap();
    let packages: Vec<_> =
        std::fs::read_dir(output.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [package] = &packages[..] else { panic!("{packages:?}") };
    assert_eq!(package.file_name().unwrap().to_str().unwrap(), expected_name(kind));
    let listed = Command::new(list[0]).args(&list[1..]).arg(package).output();
    let Ok(listed) = listed else {
        println!("skipped: no {} to list the package", list[0]);
        return None;
    };
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8(listed.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

fn expected_name(kind: &str) -> String {
    let target = Target { arch: Arch::of_this_machine().unwrap(), libc: Libc::Glibc };
    match kind {
        "deb" => format!("htc-hooks_{VERSION}-1_{}.deb", target.arch.debian()),
        "rpm" => format!("htc-hooks-{VERSION}-1.{}.rpm", target.arch.name()),
        _ => format!("htc-hooks-{VERSION}-{}.tar.gz", target.triple()),
    }
}

/// Fails if a list lacks one of the names. `prefix` is added to the names.
fn has_all(listed: &BTreeSet<String>, prefix: &str, names: &[&str]) {
    for name in names {
        let name = format!("{prefix}{name}");
        assert!(listed.contains(&name), "no {name} in {listed:#?}");
    }
    let source_file = listed.iter().find(|name| name.contains("examples/package") || name.ends_with(".rs"));
    assert_eq!(source_file, None, "the package contains source code");
}

#[test]
fn an_archive_unpacks_below_a_prefix() {
    let Some(listed) = make("tar", &["tar", "-tzf"]) else { return };
    let target = Target { arch: Arch::of_this_machine().unwrap(), libc: Libc::Glibc };
    let prefix = format!("htc-hooks-{VERSION}-{}/", target.triple());
    has_all(&listed, &prefix, &EVERYWHERE);
    let own = [
        "share/man/man1/htc-slot-run.1",
        "share/zsh/site-functions/_htc-slot-run",
        "share/doc/htc-hooks/NOTICES",
    ];
    has_all(&listed, &prefix, &own);
}

#[test]
fn a_debian_package_has_its_files_where_debian_expects_them() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        println!("skipped: no dpkg-deb");
        return;
    }
    let list =
        ["sh", "-c", "dpkg-deb --fsys-tarfile \"$0\" | tar -t; dpkg-deb --field \"$0\" Depends Homepage"];
    let Some(listed) = make("deb", &list) else { return };
    has_all(&listed, "./usr/", &EVERYWHERE);
    let own = [
        "share/man/man1/htc-slot-run.1.gz",
        "share/zsh/vendor-completions/_htc-slot-run",
        "share/doc/htc-hooks/copyright",
        "share/doc/htc-hooks/changelog.gz",
        "share/doc/htc-hooks/changelog.Debian.gz",
        "share/doc/htc-hooks/NOTICES.gz",
    ];
    has_all(&listed, "./usr/", &own);
    assert!(listed.iter().any(|line| line.starts_with("Depends: libc6 (>= 2.")), "{listed:#?}");
    assert!(listed.iter().any(|line| line.starts_with("Homepage: https://")), "{listed:#?}");
}

#[test]
fn an_rpm_has_its_files_where_rpm_expects_them_and_requires_versions_of_symbols() {
    let list = ["rpm", "--nosignature", "-qlp", "--requires"];
    let Some(listed) = make("rpm", &list) else { return };
    has_all(&listed, "/usr/", &EVERYWHERE);
    let own = [
        "share/man/man1/htc-slot-run.1.gz",
        "share/zsh/site-functions/_htc-slot-run",
        "share/licenses/htc-hooks/LICENSE",
        "share/licenses/htc-hooks/NOTICES",
        "share/doc/htc-hooks",
    ];
    has_all(&listed, "/usr/", &own);
    assert!(listed.iter().any(|line| line.starts_with("libc.so.6(GLIBC_2.")), "{listed:#?}");
    assert!(listed.contains("libc.so.6()(64bit)"), "{listed:#?}");
}

/// A program for an architecture that differs from that of the package is refused.
#[test]
fn programs_for_another_architecture_are_refused() {
    let programs = tempfile::tempdir().unwrap();
    for program in PROGRAMS {
        std::fs::copy("/bin/true", programs.path().join(program.name)).unwrap();
    }
    let other = match Arch::of_this_machine().unwrap() {
        Arch::X86_64 => "aarch64",
        Arch::Aarch64 => "x86_64",
    };
    let words = ["package", "tar", "--arch", other, "--programs", programs.path().to_str().unwrap()];
    let options = Options::parse_from(words);
    let error = make_kinds(&options, Libc::Glibc, &options.kinds, Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("not a program for"), "{error}");
}

/// `cargo binstall` replaces `{ ... }` in the addresses in Cargo.toml.
#[test]
fn archives_have_the_names_that_binstall_expects() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    for libc in [Libc::Glibc, Libc::Musl] {
        let target = Target { arch: Arch::Aarch64, libc }.triple();
        let expand = |key: &str| {
            let text = binstall[key].as_str().unwrap();
            text.replace("{ name }", "htc-hooks")
                .replace("{ version }", VERSION)
                .replace("{ target }", &target)
        };
        let name = format!("htc-hooks-{VERSION}-{target}");
        assert!(expand("pkg-url").ends_with(&format!("/{name}.tar.gz")), "{}", expand("pkg-url"));
        assert_eq!(expand("bin-dir"), format!("{name}/bin/{{ bin }}{{ binary-ext }}"));
    }
    assert_eq!(binstall["pkg-fmt"].as_str(), Some("tgz"));
}
