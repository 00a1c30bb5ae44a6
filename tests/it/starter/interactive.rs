//! Tests of `--interactive`, which runs the user's shell instead of the job.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::support::place::Place;

fn ad(place: &Place) -> std::path::PathBuf {
    let path = place.path("job.ad");
    let ad = place.complete_ad("Cmd = \"/bin/false\"\nEnvironment = \"COLOUR=blue\"");
    fs::write(&path, ad).unwrap();
    path
}

#[test]
fn a_shell_has_the_directory_environment_and_account_of_the_job_and_the_hooks_are_called() {
    let mut place = Place::new().with_recording_hooks();
    place.environment.push(("SHELL".to_owned(), "/bin/sh".to_owned()));
    let path = ad(&place);
    let mut child = place.command().arg("--interactive").arg("--ads").arg(path).spawn().unwrap();
    let script = "pwd; echo $COLOUR; id -u; ls -A; exit 7\n";
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let run = place.finish(child);
    let lines: Vec<&str> = run.ad.lines().collect();
    let scratch = place.path("execute").display().to_string();
    assert!(lines[0].starts_with(&scratch) && lines[1] == "blue", "{}\n{}", run.ad, run.stderr);
    if nix::unistd::geteuid().is_root() {
        assert_eq!(lines[2], "65534");
    }
    assert!(lines.contains(&".job.ad"), "{}", run.ad);
    assert!(run.has("ExitCode = 7"), "{}\n{}", run.ad, run.stderr);
    assert_eq!(run.calls, "prepare\nexit exit\n");
    assert!(run.left.is_empty());
}

#[test]
fn a_shell_takes_over_the_terminal_and_returns_it() {
    let place = Place::new();
    let path = ad(&place);
    place.command();
    let program = env!("CARGO_BIN_EXE_htc-starter-run");
    // A shell with job control starts the program, and gets its terminal back when the program has ended.
    let inner = format!(
        "{program} --quiet --interactive --ads {} > {}; echo back $?; read line; echo got $line",
        path.display(),
        place.path("out").display()
    );
    let mut child = Command::new("script")
        .args(["-qec", &inner, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("PS1", "")
        .env("CONDOR_CONFIG", place.path("condor_config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdin.write_all(b"test -t 0 && echo at-a-terminal >&2\nexit 4\n").unwrap();
    let mut seen = String::new();
    let mut buffer = [0; 256];
    while !seen.contains("back ") {
        let count = stdout.read(&mut buffer).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    stdin.write_all(b"hello\n").unwrap();
    drop(stdin);
    stdout.read_to_string(&mut seen).unwrap();
    child.wait().unwrap();
    assert!(seen.contains("at-a-terminal"), "{seen}");
    assert!(seen.contains("back 1") && seen.contains("got hello"), "{seen}");
    assert!(fs::read_to_string(place.path("out")).unwrap().contains("ExitCode = 4"), "{seen}");
}

#[test]
fn standard_input_cannot_serve_both_the_ad_and_the_shell() {
    let place = Place::new().option(&["--interactive"]);
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(run.stderr.contains("--ads FILE"), "{}", run.stderr);
}
