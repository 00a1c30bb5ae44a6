//! Tests of the end of `htc-slot-run run` if its hooks could not be called: the exit status shows that work may remain, and a
//! line gives the reason.

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

/// Returns the last line on standard error.
fn last(run: &Run) -> &str {
    run.stderr.lines().last().unwrap_or_default()
}

/// Regression test: the exit status was 0, and with --quiet there was no message.
#[test]
fn work_that_no_hook_could_fetch_is_a_failure_of_once_and_idle_exit() {
    let nowhere = |point: &Point| {
        std::fs::write(point.path("hooks/fetch"), "#!/nonexistent\n").unwrap();
    };
    for words in [&["--once", "--quiet"][..], &["--once"], &["--idle-exit", "1", "--quiet"]] {
        let run = run(words, nowhere);
        assert_eq!(run.status, Some(1), "{words:?}: {}", run.stderr);
        let line = last(&run);
        assert!(line.contains("the queue may still have jobs: slot1 could not call FETCH_WORK: "), "{line}");
        assert!(line.contains("/nonexistent"), "{line}");
    }
}

#[test]
fn a_refused_hook_is_the_reason_of_a_failure() {
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
            last(&run).contains(
                "the queue may still have jobs: slot1 could not call FETCH_WORK: T_HOOK_FETCH_WORK: "
            ),
            "{}",
            run.stderr
        );
    }
    let run = run(&["--once", "--quiet"], |point| std::fs::remove_file(point.path("hooks/fetch")).unwrap());
    assert_eq!(run.status, Some(1), "{}", run.stderr);
}

/// Output and exit status of a hook do not affect the exit status of the run.
#[test]
fn a_hook_that_could_be_called_is_not_a_failure() {
    let fails = |point: &Point| std::fs::write(point.path("hooks/fetch"), "#!/bin/sh\nexit 3\n").unwrap();
    let run = run(&["--once"], fails);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

/// Regression test: nothing evaluated DAEMON_SHUTDOWN, and the run never ended.
#[test]
fn daemon_shutdown_ends_a_run() {
    for parameter in ["DAEMON_SHUTDOWN", "DAEMON_SHUTDOWN_FAST"] {
        let mut point =
            Point::new().parameter(&format!("{parameter} = Activity == \"Idle\" && NumPids =!= 99"));
        point.arguments = vec!["--timeout".into(), "60".into()];
        let run = point.run();
        // The status is that of a daemon that must not be started again, as for the router.
        assert_eq!(run.status, Some(99), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("{parameter} is true")), "{}", run.stderr);
    }
}

/// A fetch hook that is called while a job runs returns no work for a busy slot, even if the job ends before the hook.
#[test]
fn an_empty_fetch_that_began_before_a_job_ended_does_not_end_once() {
    let lines = "NUM_SLOTS = 1\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSTARTD_JOB_HOOK_KEYWORD = T\nFetchWorkDelay = 1\n\
                 T_HOOK_FETCH_WORK = /bin/true\n";
    let mut machine = Machine::once(lines);
    machine.wait(2);
    machine.fetch_ends(b"ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n");
    machine.wait(5);
    assert!(machine.states.contains(&"Claimed/Busy".to_owned()), "{}", machine.take_states());
    // The hook that was called while the job ran ends after the job.
    machine.starter_ends();
    machine.fetch_ends(b"");
    assert!(!machine.point.is_finished());
    machine.wait(5);
    machine.fetch_ends(b"");
    machine.wait(2);
    assert!(machine.point.is_finished(), "{}", machine.take_states());
}

/// Fetch hook that takes a job out of the queue and does not print it.
const TAKES: &str = "#!/bin/sh\nmv \"$HOME/queue/1\" \"$HOME/taken/\" || exit 0\n";

/// Regression test: the job was lost, the exit status was 0, and no message named the call.
#[test]
fn a_fetch_hook_that_is_killed_at_the_end_may_have_taken_a_job() {
    let mut point = Point::new().job("1", JOB).hook("fetch", &format!("{TAKES}exec sleep 1000\n"));
    point.arguments = vec!["--quiet".into()];
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "hook-start"), ("hook", "FETCH_WORK")]);
    crate::support::waiting::wait_until("the job is taken", || point.path("taken/1").exists());
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(child.id().cast_signed()),
        nix::sys::signal::Signal::SIGQUIT,
    )
    .unwrap();
    let run = point.end(child);
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    assert!(last(&run).contains("a job may be lost: slot1: FETCH_WORK was killed"), "{}", run.stderr);
    let unknown = [("event", "hook-failed"), ("hook", "FETCH_WORK"), ("verdict", "unknown")];
    assert_eq!(run.count(&unknown), 1, "{:?}", run.events);
}

#[test]
fn a_fetch_hook_that_a_signal_ended_may_have_taken_a_job() {
    let run = run(&["--once", "--quiet"], |point| {
        std::fs::write(point.path("hooks/fetch"), format!("{TAKES}kill -9 $$\n")).unwrap();
    });
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    assert!(last(&run).contains("a job may be lost: slot1: FETCH_WORK signalled 9"), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "warning"), ("verdict", "unknown")]), 1, "{:?}", run.events);
}

/// Regression test: SIGALRM ended the runner as abruptly as SIGKILL.
#[test]
fn a_timer_signal_ends_a_run_as_a_request_does() {
    let mut point = Point::new();
    point.arguments = Vec::new();
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict")]);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(child.id().cast_signed()),
        nix::sys::signal::Signal::SIGALRM,
    )
    .unwrap();
    let run = point.end(child);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("signal 14 shuts the slots down"), "{}", run.stderr);
}

/// Regression test: SIGXFSZ ended the runner without a message.
#[test]
fn the_file_size_limit_is_an_error_and_not_a_signal() {
    let point = Point::new().job("1", JOB);
    let command = point.command();
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -f 1; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    limited.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some(), "{}: {stderr}", output.status);
}

#[test]
fn a_run_whose_slots_are_all_broken_ends_with_the_reason() {
    let mut point = Point::new().job("1", JOB).parameter("SLOT_TYPE_1 = cpus=99");
    point.arguments = vec!["--once".into(), "--quiet".into(), "--timeout".into(), "60".into()];
    let run = point.run();
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    assert!(
        last(&run)
            .contains("the queue may still have jobs: no starter could run a job: no slot can run a job: "),
        "{}",
        run.stderr
    );
    assert!(point.path("queue/1").exists(), "{}", run.stderr);
}

/// Events for a FIFO whose reader has stopped reading are dropped and counted, and do not delay jobs.
#[test]
fn a_reader_of_events_that_stops_reading_blocks_no_job() {
    const JOBS: usize = 12;
    let mut point = Point::new();
    for number in 0..JOBS {
        point =
            point.job(&number.to_string(), &JOB.replace("ClusterId = 1", &format!("ClusterId = {number}")));
    }
    let path = point.path("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // The FIFO is opened for reading and writing, so that neither end waits for the other.
    let reader = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    // The smallest pipe is full after a few jobs, so that the test is short even on a busy machine.
    nix::fcntl::fcntl(&reader, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
    point.events_to = Some(path.display().to_string());
    point.arguments = vec!["--once".into(), "--timeout".into(), "600".into()];
    let run = point.run();
    drop(reader);
    assert_eq!(std::fs::read_dir(point.path("queue")).unwrap().count(), 0, "{}", run.stderr);
    // On a busy machine, the slot may fetch another job while one runs, and reject it.
    let count = |text: &str| run.stderr.matches(text).count();
    assert_eq!(count(": succeeded: exited 0") + count(": rejected: "), JOBS, "{}", run.stderr);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(" events: nothing read them in time"), "{}", run.stderr);
}
