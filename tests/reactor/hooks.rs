//! All faults of a hook, for every type: the caller's decision, with bounded memory and without leftovers.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use htc_hooks::hook::HookType;
use htc_hooks::hook::path_check;
use htc_hooks::hook_testing::{
    CallDirectories, CallEnding, CallOutcome, Case, Interruptible, Verdict, VerdictInputs, call_hook,
    judge_call,
};
use htc_hooks::os::RealWorld;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::runner::hook_call::{HookCall, StderrHandling};
use htc_hooks::runner::hook_environment::HookEnvironment;
use htc_hooks::starter::StarterSettings;
use htc_hooks::world::World;

use crate::children::{flood, is_alive};
use crate::sandbox::Sandbox;

/// Time limit of a hook that does not end.
const PATIENCE: Duration = Duration::from_millis(150);

/// Calls a hook of that type as its caller does.
fn ask(sandbox: &mut Sandbox, hook: HookType, path: PathBuf, patience: Duration) -> (CallOutcome, Verdict) {
    use std::os::unix::ffi::OsStrExt;
    let world = RealWorld::new();
    let case = Case::new(hook);
    let path = path.as_os_str().as_bytes().to_vec();
    let outcome = match path_check::check_path(&world, &path) {
        Err(refusal) => {
            CallOutcome { ending: CallEnding::Refused { reason: refusal.to_string() }, took: Duration::ZERO }
        }
        Ok(()) => {
            let settings = StarterSettings::default();
            let around = VerdictInputs { settings: &settings, world: &world, quirks: QuirkMode::Manual };
            let place = CallDirectories::create(&case, None, &around).unwrap();
            let own = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into())];
            let environment = HookEnvironment::from_daemon(own, QuirkMode::Manual);
            let mut hook_call =
                HookCall::new(hook, path.clone(), place.case().input(QuirkMode::Manual), environment);
            hook_call.arguments = case.all_arguments(QuirkMode::Manual);
            hook_call.directory = Some(place.directory.clone());
            hook_call.stderr_handling = StderrHandling::Collected;
            hook_call.ancestor = Some(HookCall::new_family_marker(world.now(), world.random()));
            let spec = hook_call.child_spec().unwrap();
            match call_hook(&mut sandbox.reactor, spec, Some(patience), &mut |_| {}).unwrap() {
                Interruptible::Finished(outcome) => outcome,
                Interruptible::Interrupted(signal) => panic!("interrupted by signal {signal}"),
            }
        }
    };
    let verdict = judge_call(&case, &outcome, &path, &world, QuirkMode::Manual);
    (outcome, verdict)
}

/// The decisions of all types, in the order of `HookType::ALL`.
type Row = [&'static str; 12];

const SILENT: Row = [
    "no-work",
    "no-effect",
    "no-effect",
    "go-on",
    "go-on",
    "no-effect",
    "done",
    "go-on",
    "stuck",
    "unchanged",
    "finalized",
    "cleaned",
];
const STUCK: Row = [
    "still-running",
    "no-effect",
    "no-effect",
    "still-running",
    "still-running",
    "no-effect",
    "still-running",
    "still-running",
    "still-running",
    "still-running",
    "still-running",
    "still-running",
];
const HALF_A_LINE: Row = [
    "bad-output",
    "no-effect",
    "no-effect",
    "go-on",
    "go-on",
    "no-effect",
    "done",
    "go-on",
    "dropped",
    "unchanged",
    "failed",
    "cleaned",
];
const FLOOD: Row = [
    "bad-output",
    "no-effect",
    "no-effect",
    "held",
    "not-started",
    "no-effect",
    "done",
    "held",
    "dropped",
    "failed",
    "failed",
    "failed",
];
const KILLED: Row = [
    "no-work",
    "no-effect",
    "no-effect",
    "requeued",
    "not-started",
    "no-effect",
    "done",
    "held",
    "dropped",
    "failed",
    "failed",
    "failed",
];
const REFUSED: Row = [
    "not-configured",
    "not-configured",
    "not-configured",
    "not-started",
    "not-started",
    "not-started",
    "not-started",
    "go-on",
    "failed",
    "failed",
    "failed",
    "failed",
];
const NOT_EXECUTED: Row = [
    "no-work",
    "no-effect",
    "no-effect",
    "held",
    "not-started",
    "no-effect",
    "done",
    "requeued",
    "stuck",
    "stuck",
    "stuck",
    "stuck",
];

/// Runs a script for every type and compares the decisions.
fn script(text: &str, expected: Row) -> Vec<CallOutcome> {
    let mut sandbox = Sandbox::new();
    HookType::ALL
        .into_iter()
        .zip(expected)
        .map(|(hook, expected)| {
            let path = sandbox.script("hook", &format!("#!/bin/sh\n{text}\n"));
            let (outcome, verdict) = ask(&mut sandbox, hook, path, crate::children::LONG);
            assert_eq!(verdict.decision.word(), expected, "{hook:?} of {text:?}: {}", verdict.reason);
            gone(&outcome);
            outcome
        })
        .collect()
}

/// Waits until the leftovers of a call are gone.
fn gone(outcome: &CallOutcome) {
    let CallEnding::Ran(ended) = &outcome.ending else { return };
    let deadline = Instant::now() + crate::children::LONG;
    for left in &ended.left_behind {
        while is_alive(left.pid) {
            assert!(Instant::now() < deadline, "process {} lives on", left.pid);
            std::thread::yield_now();
        }
    }
}

fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// Runs a hook that never ends; for types that no caller waits for, it is killed after the same time.
fn endless(text: &str) {
    let mut sandbox = Sandbox::new();
    for (hook, expected) in HookType::ALL.into_iter().zip(STUCK) {
        let path = sandbox.script("hook", &format!("#!/bin/sh\n{text}\n"));
        let (outcome, verdict) = ask(&mut sandbox, hook, path, PATIENCE);
        assert_eq!(verdict.decision.word(), expected, "{hook:?} of {text:?}");
        assert!(outcome.took < Duration::from_secs(20));
        gone(&outcome);
    }
}

#[test]
fn a_hook_that_hangs() {
    endless("exec sleep 1000");
}

#[test]
fn a_hook_that_stops_itself() {
    endless("kill -STOP $$");
}

#[test]
fn a_hook_that_floods_a_gigabyte() {
    let before = peak_kib();
    let place = tempfile::tempdir().unwrap();
    script(&flood(&place.path().join("part"), 1 << 30), FLOOD);
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 64 * 1024, "memory grew by {grown} KiB");
}

#[test]
fn a_hook_that_prints_half_a_line() {
    script("cat >/dev/null; printf 'A = \"x'", HALF_A_LINE);
}

#[test]
fn a_hook_that_reads_nothing() {
    for outcome in script("exit 0", SILENT) {
        let CallEnding::Ran(ended) = outcome.ending else { panic!("it ran") };
        assert_eq!(ended.stdin.unread, ended.stdin.offered);
    }
}

#[test]
fn a_hook_that_closes_everything_early() {
    script("exec <&- >&- 2>&-; exit 0", SILENT);
}

#[test]
fn a_hook_with_a_daemon_as_grandchild() {
    for outcome in script("cat >/dev/null; setsid sh -c 'sleep 1000 & exec sleep 1000' & exit 0", SILENT) {
        let CallEnding::Ran(ended) = outcome.ending else { panic!("it ran") };
        assert!(!ended.left_behind.is_empty());
    }
}

#[test]
fn a_hook_that_forks_two_hundred_times() {
    let storm = "cat >/dev/null; i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i + 1)); done";
    for outcome in script(storm, SILENT) {
        let CallEnding::Ran(ended) = outcome.ending else { panic!("it ran") };
        assert!(ended.left_behind.len() >= 150, "{} processes", ended.left_behind.len());
    }
}

#[test]
fn a_hook_that_kills_itself() {
    script("kill -KILL $$", KILLED);
}

#[test]
fn a_hook_that_deletes_itself_while_it_runs() {
    script("cat >/dev/null; rm -f -- \"$0\"", SILENT);
}

/// Runs a file that is not an ordinary script, for every type.
fn thing(make: impl Fn(&Sandbox) -> PathBuf, expected: Row) {
    let mut sandbox = Sandbox::new();
    let path = make(&sandbox);
    for (hook, expected) in HookType::ALL.into_iter().zip(expected) {
        let (_, verdict) = ask(&mut sandbox, hook, path.clone(), crate::children::LONG);
        assert_eq!(verdict.decision.word(), expected, "{hook:?}: {}", verdict.reason);
    }
}

#[test]
fn a_hook_that_is_world_writable() {
    thing(
        |sandbox| {
            let path = sandbox.script("hook", "#!/bin/sh\n");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o757)).unwrap();
            path
        },
        REFUSED,
    );
}

#[test]
fn a_hook_that_is_missing() {
    thing(|sandbox| sandbox.path("none"), REFUSED);
}

#[test]
fn a_hook_that_is_an_empty_file() {
    thing(|sandbox| sandbox.script("hook", ""), NOT_EXECUTED);
}

#[test]
fn a_hook_that_is_a_directory() {
    thing(
        |sandbox| {
            let path = sandbox.path("hook");
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        },
        NOT_EXECUTED,
    );
}

#[test]
fn a_hook_whose_interpreter_is_missing() {
    let name = |sandbox: &Sandbox| sandbox.script("hook", "#!/no/such/python2\n");
    thing(name, NOT_EXECUTED);
    let mut sandbox = Sandbox::new();
    let path = name(&sandbox);
    let (outcome, verdict) = ask(&mut sandbox, HookType::PrepareJob, path, PATIENCE);
    assert!(
        matches!(&outcome.ending, CallEnding::NotStarted { interpreter: Some(name), .. } if name == "/no/such/python2")
    );
    assert!(verdict.reason.contains("/no/such/python2"), "{}", verdict.reason);
}

#[test]
fn a_hook_that_is_being_written() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.path("hook");
    std::fs::copy("/bin/true", &path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let _writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    for (at, hook) in HookType::ALL.into_iter().enumerate() {
        let (outcome, verdict) = ask(&mut sandbox, hook, path.clone(), crate::children::LONG);
        // Kernels differ in whether they refuse to execute a file that is open for writing.
        let row = if matches!(outcome.ending, CallEnding::NotStarted { .. }) { NOT_EXECUTED } else { SILENT };
        assert_eq!(verdict.decision.word(), row[at], "{hook:?}: {}", verdict.reason);
    }
}
