//! Tests of `htc-hook-test`: given ads, named slots, events that cannot be written, signals at any time.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::hook_test::calls::{command, status_and_output};
use crate::support::children::write_executable;

fn home(hook: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), hook.as_bytes());
    home
}

const READS: &str = "#!/bin/sh\ncat >/dev/null\necho A = 1\n";

#[test]
fn standard_input_is_read_if_it_is_named() {
    let home = home(READS);
    // /dev/null as standard input is not read, unless it is named.
    let Some((status, ..)) = status_and_output(home.path(), &["prepare", "./h"]) else { return };
    assert_eq!(status, 0);
    let (status, out, err) = status_and_output(home.path(), &["prepare", "./h", "--ads", "-"]).unwrap();
    assert_eq!((status, out.as_str()), (3, ""));
    let named = err.replace("standard input", "empty");
    std::fs::write(home.path().join("empty"), "").unwrap();
    let (status, _, err) = status_and_output(home.path(), &["prepare", "./h", "--ads", "empty"]).unwrap();
    assert_eq!((status, err), (3, named));
}

#[test]
fn an_unknown_slot_is_refused_with_the_configured_slots() {
    let home = home(READS);
    let hook = home.path().join("h");
    let config = format!(
        "NUM_CPUS = 2\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = cpus=1\nSTARTD_JOB_HOOK_KEYWORD = K\nK_HOOK_FETCH_WORK = {}\n",
        hook.display()
    );
    std::fs::write(home.path().join("c"), config).unwrap();
    let call = |words: &[&str]| {
        status_and_output(home.path(), &[words, &["--config-file", "c", "--no-env"]].concat())
    };
    for words in [&["fetch", "--slot", "slot3"][..], &["reply", "./h", "reject", "--slot", "3"]] {
        let Some((status, _, err)) = call(words) else { return };
        assert_eq!(status, 2, "{err}");
        assert!(err.contains("the configuration defines no slot 'slot3' on this machine"), "{err}");
        assert!(err.contains("hint: the slots are: slot1, slot2\n"), "{err}");
    }
    let (_, _, err) = call(&["fetch", "--slot", "2"]).unwrap();
    assert!(err.contains("\nFETCH_WORK "), "{err}");
}

#[test]
fn events_that_cannot_be_written_are_reported_as_a_failure() {
    if File::options().append(true).open("/dev/full").is_err() {
        println!("skipped: this machine has no /dev/full");
        return;
    }
    let home = home(READS);
    std::fs::write(home.path().join("ads"), "ClusterId = 1\nCmd = \"x\"\n\nClusterId = 2\nCmd = \"x\"\n")
        .unwrap();
    let words = ["prepare", "./h", "-q", "--events", "/dev/full", "--ads"];
    for ads in ["ads", "/dev/null"] {
        let words: Vec<&str> = match ads {
            "ads" => words.iter().copied().chain([ads]).collect(),
            _ => [&words[..5], &["--sample-job", "vanilla"]].concat(),
        };
        let Some((status, _, err)) = status_and_output(home.path(), &words) else { return };
        assert_eq!(status, 125, "{err}");
        let expected =
            "htc-hook-test: warning: events are no longer written: No space left on device (os error 28)\n";
        assert_eq!(err, expected);
    }
}

/// Temporary files must be gone before an input is shown, because no signal handler is installed then.
#[test]
fn show_input_killed_with_a_slow_reader_leaves_no_directory() {
    let home = home(READS);
    let temporary = home.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let long = format!("ClusterId = 1\nCmd = \"x\"\nLong = \"{}\"\n", "x".repeat(1 << 20));
    std::fs::write(home.path().join("ad"), long).unwrap();
    let Some(mut command) = command(home.path(), &["prepare", "./h", "--ads", "ad", "--show-input"]) else {
        return;
    };
    let shown = command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = shown.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn calls_and_signals_do_not_wait_for_the_next_ad() {
    let home = home(READS);
    let temporary = home.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let Some(mut command) = command(home.path(), &["prepare", "./h", "--jsonl", "-j", "4"]) else { return };
    let piped = command.env("TMPDIR", &temporary).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    // The second ad shows that there are several.
    input.write_all(b"ClusterId = 1\nCmd = \"x\"\n\nClusterId = 2\nCmd = \"x\"\n\n").unwrap();
    for cluster in 1..4 {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.contains(&format!("ClusterId = {cluster}\\n")), "{line}");
        if cluster == 2 {
            input.write_all(b"ClusterId = 3\nCmd = \"x\"\n\n").unwrap();
        }
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let status = child.wait().unwrap();
    assert!(status.code() == Some(143) || status.signal() == Some(15), "{status}");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    drop(input);
}
