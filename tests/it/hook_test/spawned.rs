//! Tests of hooks whose result depends on the signals and pipes with which daemons of 25.14 start them.

use std::time::{Duration, Instant};

use crate::hook_test::calls::{run, status_and_output, text};
use crate::support::children::write_executable;

const QUIRK: &str = "25.14 (hooks-spawned-as-daemons)";

fn home(hook: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), hook.as_bytes());
    home
}

#[test]
fn a_timeout_that_sends_sigterm_is_reported_although_it_works_here() {
    let home = home("#!/bin/sh\ncat >/dev/null\ntimeout 1 sleep 20\necho 'Foo = 1'\n");
    let call = ["prepare", "./h", "--sample-job", "vanilla", "--timeout", "10"];
    let Some((status, _, stderr)) = status_and_output(home.path(), &call) else { return };
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("warning blocked-signal: line 3 of the hook calls timeout"), "{stderr}");
    assert!(stderr.contains("hint: write timeout -s KILL"), "{stderr}");
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\ntimeout -s KILL 1 true\n");
    let (status, _, stderr) = status_and_output(home.path(), &call).unwrap();
    assert!(status == 0 && !stderr.contains("blocked-signal"), "{stderr}");
}

#[test]
fn a_hook_that_is_still_running_is_limited_with_a_signal_that_is_not_blocked() {
    let home = home("#!/bin/sh\ncat >/dev/null\nsleep 20\n");
    let call = ["prepare", "./h", "--sample-job", "vanilla", "--timeout", "0.5"];
    let Some((status, _, stderr)) = status_and_output(home.path(), &call) else { return };
    assert_eq!(status, 124, "{stderr}");
    assert!(stderr.contains("for example with: timeout -s KILL 60") && stderr.contains(QUIRK), "{stderr}");
    // The caller of an update hook does not wait for it.
    let call = ["update", "./h", "--sample-job", "vanilla", "--timeout", "0.5"];
    let (_, _, stderr) = status_and_output(home.path(), &call).unwrap();
    assert!(stderr.contains("because: the hook has not ended after 0."), "{stderr}");
    assert!(!stderr.contains("waits without a limit"), "{stderr}");
}

#[test]
fn a_hook_that_ends_itself_with_sigterm_runs_on_in_a_pool() {
    let home = home("#!/bin/sh\nwhile read line; do :; done\nkill -TERM $$\necho 'Foo = 1'\n");
    let call = ["prepare", "./h", "--sample-job", "vanilla"];
    let Some((status, _, stderr)) = status_and_output(home.path(), &call) else { return };
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("warning blocked-signal: signal 15 ended the hook"), "{stderr}");
    assert!(stderr.contains(QUIRK) && !stderr.contains("HTCondor 25.14 itself"), "{stderr}");
    let (status, _, stderr) =
        status_and_output(home.path(), &[&call[..], &["--quirks", "reference"]].concat()).unwrap();
    assert!(status == 0 && !stderr.contains("blocked-signal"), "{stderr}");
    write_executable(&home.path().join("h"), b"#!/bin/sh\nwhile read line; do :; done\nkill -KILL $$\n");
    let (_, _, stderr) = status_and_output(home.path(), &call).unwrap();
    assert!(!stderr.contains("blocked-signal"), "{stderr}");
}

#[test]
fn the_verdict_of_25_14_on_cut_output_has_a_condition() {
    let lines = "i=0; while [ $i -lt 2000 ]; do echo \"Foo$i = 123456789012345\" || exit 7; i=$((i+1)); done";
    let home = home(&format!("#!/bin/bash\ncat >/dev/null\n{lines}\n"));
    let call = ["prepare", "./h", "--sample-job", "vanilla"];
    let Some((status, _, stderr)) = status_and_output(home.path(), &call) else { return };
    assert_eq!(status, 1, "{stderr}");
    let condition =
        "unless it fails because its output is closed after 10240 bytes (--quirks reference calls it so)";
    assert!(
        stderr.contains(&format!("HTCondor 25.14 itself: go-on, the job continues, {condition}")),
        "{stderr}"
    );
    assert!(stderr.contains(QUIRK), "{stderr}");
    let (status, _, stderr) =
        status_and_output(home.path(), &[&call[..], &["--quirks", "reference"]].concat()).unwrap();
    assert!(status == 1 && stderr.contains("exited with status 7"), "{stderr}");
}

/// `$PPID` of a hook is its caller.
#[test]
fn a_hook_that_signals_its_caller_does_not_end_the_test() {
    let home = home("#!/bin/sh\ncat >/dev/null\nkill -TERM $PPID\nsleep 2\n");
    let call = ["prepare", "./h", "--sample-job", "vanilla"];
    let Some((status, _, stderr)) = status_and_output(home.path(), &call) else { return };
    assert_eq!(status, 0, "{stderr}");
    let finding =
        "warning signals-caller: the hook sends signal 15 to its caller, the starter: this ends the starter";
    assert!(stderr.contains(finding), "{stderr}");
    let case = "[[case]]\nhook = './h'\ntype = 'prepare'\nsample_job = 'vanilla'\n\
                expect = { findings = ['signals-caller'] }\n";
    std::fs::write(home.path().join("s.toml"), case).unwrap();
    let (status, out, stderr) = status_and_output(home.path(), &["run", "s.toml"]).unwrap();
    assert_eq!(status, 0, "{out}{stderr}");
    write_executable(&home.path().join("job"), b"#!/bin/sh\nkill -TERM $PPID\nsleep 2\necho 'Site = 1'\n");
    let (status, out, stderr) = status_and_output(home.path(), &["startd-cron", "./job"]).unwrap();
    assert!(status == 0 && out.contains("Site = 1"), "{out}{stderr}");
    assert!(stderr.contains("warning signals-caller: a program sends signal 15 to its caller"), "{stderr}");
    // Somebody else can still end the test.
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\nsleep 30\n");
    let began = Instant::now();
    let program = crate::hook_test::calls::program().unwrap();
    let mut command = std::process::Command::new("timeout");
    let output = command.args(["-s", "TERM", "1"]).arg(program).args(call).current_dir(home.path());
    let output = output.env("CONDOR_CONFIG", "ONLY_ENV").stdin(std::process::Stdio::null()).output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(124), "{}", text(&output.stderr));
}

#[test]
fn a_search_for_failures_of_a_hook_that_always_fails_does_not_end_with_0() {
    let home = home("#!/bin/sh\nsleep 100\n");
    let call = ["prepare", "./h", "--sample-job", "vanilla", "--fuzz", "2", "--timeout", "0.3"];
    let Some(output) = run(home.path(), &call) else { return };
    let stderr = text(&output.stderr);
    assert!(stderr.contains("also found with the unchanged ad, and not counted: hangs"), "{stderr}");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
}
