//! All faults of a cron job, for both managers: the daemon continues, with bounded memory and without
//! leftovers.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use htc_hooks::hook::cron_job::{AutoPublish, CronJob, CronManager, CronMode};
use htc_hooks::os::{ReactorEvent, RealWorld, clock};
use htc_hooks::process::Exit;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::runner::cron::{CronContext, CronNotice, CronRunner, CronStepInputs};
use htc_hooks::runner::hook_environment::HookEnvironment;
use htc_hooks::slot::cron_schedule::CronEvent;
use htc_hooks::world::World;

use crate::children::{LONG, flood, is_alive};
use crate::sandbox::Sandbox;

/// Result of one run.
#[derive(Debug, Default)]
struct Ran {
    not_started: Option<String>,
    exit: Option<Exit>,
    published: usize,
    bad_lines: usize,
    left_behind: Vec<i32>,
    pid: i32,
    /// True if it had to be killed.
    ended: bool,
}

/// Runs a program once as a job of that manager, for at most `patience`; then the daemon shuts down.
fn run(sandbox: &mut Sandbox, manager: CronManager, path: PathBuf, patience: Duration) -> Ran {
    use std::os::unix::ffi::OsStrExt;
    let world = RealWorld::new();
    let own = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let mut runner = CronRunner::new(CronContext {
        manager,
        environment: HookEnvironment::from_daemon(own, QuirkMode::Manual),
        directory: sandbox.home.path().to_owned(),
        identity: None,
        quirks: QuirkMode::Manual,
    });
    let mut job = CronJob::new(b"X", path.as_os_str().as_bytes());
    job.mode = CronMode::OneShot;
    let anything = |_: &CronJob| true;
    let now = world.now();
    let at = &mut CronStepInputs { reactor: &mut sandbox.reactor, now, may_start: &anything, world: &world };
    runner.configure(vec![job], 1.0, AutoPublish::Never, at);
    let mut result = Ran::default();
    let until = clock::monotonic_now().plus(patience);
    let mut deadline = until;
    loop {
        for told in runner.take_notices() {
            match told {
                CronNotice::Started { pid, .. } => result.pid = pid,
                CronNotice::NotStarted { reason, .. } => result.not_started = Some(reason),
                CronNotice::Published { block, .. } => {
                    result.published += block.attributes.unwrap_or(0);
                    result.bad_lines += block.bad_lines.len();
                }
                CronNotice::Ended { exit, left_behind, .. } => {
                    result.exit = Some(exit);
                    result.left_behind = left_behind.iter().map(|left| left.pid).collect();
                }
                _ => {}
            }
        }
        if runner.running_count() == 0 {
            break;
        }
        deadline = runner.next_wake().unwrap_or(deadline);
        let event = sandbox.reactor.next_event(Some(deadline)).unwrap();
        let now = world.now();
        let at =
            &mut CronStepInputs { reactor: &mut sandbox.reactor, now, may_start: &anything, world: &world };
        match event {
            ReactorEvent::Timeout if result.ended => {
                runner.handle_event(CronEvent::Tick, at);
                deadline = clock::monotonic_now().plus(LONG);
            }
            ReactorEvent::Timeout => {
                result.ended = true;
                runner.handle_event(CronEvent::ShutDown { fast: false }, at);
                deadline = clock::monotonic_now().plus(LONG);
            }
            event => drop(runner.take_reactor_event(event, at)),
        }
    }
    sandbox.reactor.kill_all(Duration::ZERO);
    let patience = Instant::now() + LONG;
    for pid in result.left_behind.iter().chain([&result.pid]).filter(|pid| **pid > 0) {
        while is_alive(*pid) {
            assert!(Instant::now() < patience, "process {pid} lives on");
            std::thread::yield_now();
        }
    }
    result
}

const MANAGERS: [CronManager; 2] = [CronManager::Startd, CronManager::Schedd];

/// Runs a script for both managers.
fn script(text: &str, patience: Duration, check: impl Fn(Ran)) {
    for manager in MANAGERS {
        let mut sandbox = Sandbox::new();
        let path = sandbox.script("job", &format!("#!/bin/sh\n{text}\n"));
        check(run(&mut sandbox, manager, path, patience));
    }
}

/// Runs a file that is not an ordinary script, for both managers.
fn thing(make: impl Fn(&Sandbox) -> PathBuf, check: impl Fn(Ran)) {
    for manager in MANAGERS {
        let mut sandbox = Sandbox::new();
        let path = make(&sandbox);
        check(run(&mut sandbox, manager, path, LONG));
    }
}

const SHORT: Duration = Duration::from_millis(100);

#[test]
fn a_cron_job_that_hangs_is_ended_with_the_daemon() {
    script("echo A = 1\necho -\nexec sleep 1000", SHORT, |run| {
        assert!(run.ended && run.published > 0, "{run:?}");
        assert!(matches!(run.exit, Some(Exit::Signal { number: 15, .. })), "{run:?}");
    });
}

#[test]
fn a_cron_job_that_stops_itself_is_killed_a_second_after_the_signal() {
    script("kill -STOP $$", SHORT, |run| {
        assert!(matches!(run.exit, Some(Exit::Signal { number: 9, .. })), "{run:?}");
    });
}

#[test]
fn a_cron_job_that_floods_a_gigabyte_takes_no_memory() {
    let peak = || {
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap()
    };
    let before = peak();
    let place = tempfile::tempdir().unwrap();
    script(&flood(&place.path().join("part"), 1 << 30), LONG, |run| {
        assert_eq!((run.exit, run.published), (Some(Exit::Code(0)), 0));
        assert!(run.bad_lines > 10);
    });
    let grown = peak().saturating_sub(before);
    assert!(grown < 64 * 1024, "memory grew by {grown} KiB");
}

#[test]
fn an_incomplete_line_of_a_cron_job_affects_only_itself() {
    script("echo B = 2\nprintf 'A = \"x'", LONG, |run| {
        assert_eq!((run.bad_lines, run.published), (1, 2), "{run:?}");
    });
}

#[test]
fn a_cron_job_may_close_its_descriptors() {
    for text in ["exit 0", "exec <&- >&- 2>&-; exit 0", "rm -f -- \"$0\""] {
        script(text, LONG, |run| assert_eq!(run.exit, Some(Exit::Code(0)), "{text:?} {run:?}"));
    }
}

#[test]
fn leftover_processes_of_a_cron_job_are_reported_and_killed() {
    let daemon = "setsid sh -c 'sleep 1000 & exec sleep 1000' >/dev/null 2>&1 & exit 0";
    script(daemon, LONG, |run| assert!(!run.left_behind.is_empty(), "{run:?}"));
    let storm = "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i + 1)); done";
    script(storm, LONG, |run| assert!(run.left_behind.len() >= 150, "{} processes", run.left_behind.len()));
}

#[test]
fn output_of_a_cron_job_before_it_was_killed_is_used() {
    script("echo A = 1\nkill -KILL $$", LONG, |run| {
        assert!(matches!(run.exit, Some(Exit::Signal { number: 9, .. })) && run.published == 2, "{run:?}");
    });
}

/// The checks of hook paths do not apply.
#[test]
fn a_world_writable_cron_job_runs() {
    let make = |sandbox: &Sandbox| {
        let path = sandbox.script("job", "#!/bin/sh\necho A = 1\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        path
    };
    thing(make, |run| assert_eq!(run.published, 2, "{run:?}"));
}

#[test]
fn programs_that_cannot_be_executed_are_named() {
    thing(|sandbox| sandbox.script("job", ""), |run| assert!(run.not_started.is_some(), "{run:?}"));
    thing(|sandbox| sandbox.path("none"), |run| assert!(run.not_started.is_some(), "{run:?}"));
    let directory = |sandbox: &Sandbox| {
        let path = sandbox.path("job");
        std::fs::create_dir(&path).unwrap();
        path
    };
    thing(directory, |run| assert!(run.not_started.is_some(), "{run:?}"));
    thing(
        |sandbox| sandbox.script("job", "#!/no/such/python2\n"),
        |run| {
            assert!(
                run.not_started.as_deref().is_some_and(|reason| reason.contains("/no/such/python2")),
                "{run:?}"
            )
        },
    );
}

#[test]
fn a_cron_job_that_is_being_written_is_refused_or_runs() {
    for manager in MANAGERS {
        let mut sandbox = Sandbox::new();
        let path = sandbox.path("job");
        std::fs::copy("/bin/true", &path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let _writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        let ran = run(&mut sandbox, manager, path, LONG);
        // Kernels differ in whether they refuse to execute a file that is open for writing.
        assert!(ran.not_started.is_some() || ran.exit == Some(Exit::Code(0)), "{ran:?}");
    }
}
