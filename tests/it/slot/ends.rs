//! The end of `htc-slot-run run` if its hooks could not be called: the status shows that work may remain, and
//! a line gives the reason.

use std::os::unix::fs::PermissionsExt;

use crate::support::machine::Machine;
use crate::support::point::{Point, Run};

const JOB: &str = "Cmd = \"/bin/true\"\nArguments = \"\"\nOwner = \"ana\"\nClusterId = 1\nProcId = 0\n";

/// Runs an execution point whose FETCH_WORK is damaged.
fn run(arguments: &[&str], damage: impl Fn(&Point)) -> Run {
    let mut point = Point::new().job("1", JOB);
    point.arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
    damage(&point);
    point.run()
}

/// Its last line on standard error.
fn last(run: &Run) -> &str {
    run.stderr.lines().last().unwrap_or_default()
}

/// Regression test: status 0, and no message with --quiet.
#[test]
fn work_that_no_hook_could_fetch_is_a_failure_of_once_and_idle_exit() {
    let nowhere = |point: &Point| {
        std::fs::write(point.path("hooks/fetch"), "#!/nonexistent\n").unwrap();
    };
    for words in [&["--once", "--quiet"][..], &["--once"], &["--idle-exit", "1", "--quiet"]] {
        let run = run(words, nowhere);
        assert_eq!(run.status, Some(1), "{words:?}: {}", run.stderr);
        let line = last(&run);
        assert!(line.contains("work may be left: slot1 could not call FETCH_WORK: "), "{line}");
        assert!(line.contains("/nonexistent"), "{line}");
    }
}

#[test]
fn a_hook_that_may_not_be_used_is_the_reason() {
    let mode = |mode: u32| {
        move |point: &Point| {
            let path = point.path("hooks/fetch");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    for mode in [mode(0o644), mode(0o777)] {
        let run = run(&["--once", "--quiet"], mode);
        assert_eq!(run.status, Some(1), "{}", run.stderr);
        assert!(
            last(&run).contains("work may be left: slot1 could not call FETCH_WORK: T_HOOK_FETCH_WORK: "),
            "{}",
            run.stderr
        );
    }
    let run = run(&["--once", "--quiet"], |point| std::fs::remove_file(point.path("hooks/fetch")).unwrap());
    assert_eq!(run.status, Some(1), "{}", run.stderr);
}

/// The output and the exit status of a hook do not affect the status.
#[test]
fn a_hook_that_could_be_called_is_no_failure() {
    let fails = |point: &Point| std::fs::write(point.path("hooks/fetch"), "#!/bin/sh\nexit 3\n").unwrap();
    let run = run(&["--once"], fails);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

/// Regression test: nothing evaluated DAEMON_SHUTDOWN, and the run never ended.
#[test]
fn daemon_shutdown_ends_a_run() {
    for knob in ["DAEMON_SHUTDOWN", "DAEMON_SHUTDOWN_FAST"] {
        let mut point = Point::new().knob(&format!("{knob} = Activity == \"Idle\" && NumPids =!= 99"));
        point.arguments = vec!["--timeout".into(), "60".into()];
        let run = point.run();
        // That of a daemon that is not to be started again, as of the router.
        assert_eq!(run.status, Some(99), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("{knob} is true")), "{}", run.stderr);
    }
}

/// A fetch hook that was called beside a job says "no work" for a busy slot, also if the job ends before the hook.
#[test]
fn no_work_beside_a_job_that_has_ended_is_not_the_end_of_once() {
    let lines = "NUM_SLOTS = 1\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSTARTD_JOB_HOOK_KEYWORD = T\nFetchWorkDelay = 1\n\
                 T_HOOK_FETCH_WORK = /bin/true\n";
    let mut machine = Machine::once(lines);
    machine.wait(2);
    machine.fetch_ends(b"ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n");
    machine.wait(5);
    assert!(machine.states.contains(&"Claimed/Busy".to_owned()), "{}", machine.went());
    // The hook that is called beside the job ends after it.
    machine.starter_ends();
    machine.fetch_ends(b"");
    assert!(!machine.point.is_finished());
    machine.wait(5);
    machine.fetch_ends(b"");
    machine.wait(2);
    assert!(machine.point.is_finished(), "{}", machine.went());
}
