//! Checks that the results of `examples/install` and `examples/package` work.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the directory of the built programs, and one of the examples; `None` with a message if they are
/// not built.
fn built(example: &str) -> Option<(PathBuf, PathBuf)> {
    let programs = option_env!("CARGO_BIN_EXE_htc-slot-run").and_then(|path| Path::new(path).parent());
    let found = programs.map(|programs| (programs.to_owned(), programs.join("examples").join(example)));
    if !found.as_ref().is_some_and(|(_, example)| example.exists()) {
        println!("skipped: examples/{example} is not built");
        return None;
    }
    // Packages contain the name of the platform for which the compiler builds.
    found.filter(|_| example != "package" || has("rustc"))
}

fn all_output(output: &Output) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{stdout}{stderr}", output.status)
}

/// Runs a command that must succeed, and returns its standard output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", all_output(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn has(program: &str) -> bool {
    let found = Command::new("/bin/sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: no {program}");
    }
    found
}

/// Returns a command with a umask that excludes all other accounts.
fn closed(command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    shell
}

#[test]
fn installed_programs_run_under_their_names_and_by_links() {
    let Some((programs, install)) = built("install") else { return };
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(install);
    command.args(["--prefix", "/opt/htc", "--links", "--destdir"]).arg(place.path());
    command.arg("--programs").arg(&programs);
    // Installed files can be used by everybody, whatever the installer's umask.
    let mut command = closed(&command);
    // Twice, because existing files are replaced.
    run(&mut command);
    run(&mut command);
    let bin = place.path().join("opt/htc/bin");
    assert_eq!(run(Command::new(bin.join("htc-classad-eval")).arg("1+1")).trim(), "2");
    let version = run(Command::new(bin.join("condor_config_val")).arg("-version"));
    assert!(version.starts_with("$CondorVersion: "), "{version}");
    let mode = std::fs::metadata(&bin).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    for file in [
        "man/man1/htc-slot-run.1",
        "bash-completion/completions/htc-hook-test",
        "zsh/site-functions/_htc-slot-run",
    ] {
        assert!(place.path().join("opt/htc/share").join(file).exists(), "{file}");
    }
}

#[test]
fn a_link_never_replaces_an_existing_tool() {
    let Some((programs, install)) = built("install") else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("bin")).unwrap();
    std::fs::write(place.path().join("bin/condor_q"), "the pool's own").unwrap();
    let mut command = Command::new(install);
    let output =
        command.arg("--prefix").arg(place.path()).arg("--links").arg("--programs").arg(programs).output();
    let output = output.unwrap();
    assert!(
        !output.status.success() && all_output(&output).contains("is not replaced"),
        "{}",
        all_output(&output)
    );
    assert_eq!(std::fs::read_to_string(place.path().join("bin/condor_q")).unwrap(), "the pool's own");
}

#[test]
fn the_tarball_runs_where_it_is_unpacked_and_is_reproducible() {
    let Some((programs, package)) = built("package") else { return };
    let place = tempfile::tempdir().unwrap();
    let make = |directory: &str| {
        let at = place.path().join(directory);
        std::fs::create_dir(&at).unwrap();
        let mut command = Command::new(&package);
        let name = run(command.args(["tar", "--fast", "--programs"]).arg(&programs).current_dir(&at));
        at.join(name.trim())
    };
    let (one, two) = (make("one"), make("two"));
    assert!(
        std::fs::read(&one).unwrap() == std::fs::read(&two).unwrap(),
        "two archives of the same programs differ"
    );
    run(Command::new("tar").arg("-xzf").arg(&one).current_dir(place.path()));
    let root = one.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.gz");
    let root = place.path().join(root);
    assert_eq!(run(Command::new(root.join("bin/htc-classad-eval")).arg("1+1")).trim(), "2");
    // The notices of the linked crates, and the examples as README calls them.
    let notices = std::fs::read_to_string(root.join("NOTICES")).unwrap();
    assert!(notices.contains("clap_builder") && notices.contains("University of Cambridge"), "{notices}");
    assert!(!notices.contains("proptest") && !notices.contains("syn 3"));
    let table = run(Command::new(root.join("examples/quickstart/run")).env_remove("HTC_PROGRAMS"));
    assert!(table.contains("4-too-big     failed    refused by START"), "{table}");
}

#[test]
fn the_debian_package_runs_in_an_empty_root() {
    let Some((programs, package)) = built("package") else { return };
    if !has("dpkg-deb") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(package);
    let name = run(command.args(["deb", "--fast", "--programs"]).arg(&programs).current_dir(place.path()));
    let file = place.path().join(name.trim());
    if has("lintian") {
        let mut lintian = Command::new("lintian");
        let said = run(lintian.args(["--fail-on", "error,warning", "--allow-root"]).arg(&file));
        assert_eq!(said, "");
    }
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can install into another root");
        return;
    }
    let root = place.path().join("root");
    std::fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
    std::fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
    std::fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let mut dpkg = Command::new("dpkg");
    run(dpkg.arg(format!("--root={}", root.display())).args(["--force-depends", "-i"]).arg(&file));
    // The C library of this machine, and nothing else.
    let libraries = run(Command::new("ldd").arg(root.join("usr/bin/htc-classad-eval")));
    for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        let to = root.join(library.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(library, to).unwrap();
    }
    assert_eq!(run(Command::new("chroot").arg(&root).args(["/usr/bin/htc-classad-eval", "1+1"])).trim(), "2");
}
