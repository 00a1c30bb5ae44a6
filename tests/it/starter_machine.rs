//! The starter's machine, driven by hand: what hooks are called with and how the job's end is asked for where only 25.14's
//! own order of things tells it.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use htc_hooks::classad::{ClassAd, format::long};
use htc_hooks::config::{Origin, Setting};
use htc_hooks::hook::HookType;
use htc_hooks::job::HoldCode;
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::quirks::Quirks;
use htc_hooks::starter::{
    Action, Call, Event, FamilyUsage, Hooks, LogEvent, Request, Settings, Setup, StartFailure, Starter,
    Vacate, job_info,
};
use htc_hooks::time::Now;
use htc_hooks::world::World;

const NOW: Now = Now { wall_us: 1_700_000_000_000_000, monotonic_us: 1_000_000 };

/// A machine with UPDATE_JOB_INFO and JOB_EXIT, for ads with `Prepared` PREPARE_JOB too, whose scratch directory has been made, and what it asked for then.
fn begun<'w>(
    world: &'w RealWorld,
    quirks: Quirks,
    more: &str,
    settings: Settings,
) -> (Starter<'w>, Vec<Action>) {
    let text = format!("Cmd = \"/bin/true\"\nIwd = \"/tmp\"\n{more}\n");
    let mut ad: ClassAd = long::parse(text.as_bytes()).0;
    let scratch = PathBuf::from("/execute/dir_1/scratch");
    let world: &dyn World = world;
    let job = job_info::read(&mut ad, &scratch, quirks, world);
    let hooks = Hooks {
        prepare: more.contains("Prepared").then(|| "prepare".into()),
        update: Some("update".into()),
        exit: Some("exit".into()),
        exit_timeout: Duration::from_secs(30),
        ..Hooks::default()
    };
    let alone = Setup::alone(world, ad, job, scratch);
    let mut machine = Starter::new(Setup { quirks, settings, hooks, can_mount: true, ..alone });
    drop(machine.step(NOW, Event::Begin));
    let out = machine.step(NOW, Event::ScratchMade { encrypted: false });
    (machine, out)
}

fn calls(out: &[Action], hook: HookType) -> Vec<Call> {
    let call = |action: &Action| match action {
        Action::Call(call) if call.hook == hook => Some(call.clone()),
        _ => None,
    };
    out.iter().filter_map(call).collect()
}

fn exit_call(out: &[Action]) -> Call {
    calls(out, HookType::JobExit).pop().unwrap_or_else(|| panic!("no JOB_EXIT in {out:?}"))
}

fn variable(call: &Call, name: &str) -> Option<String> {
    let found = call.environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_string())
}

fn stdin(call: &Call) -> String {
    String::from_utf8_lossy(&call.stdin).into_owned()
}

fn ended(exit: Exit) -> Event {
    Event::process_ended(exit, FamilyUsage::default())
}

/// A value that somebody has set.
pub(crate) fn setting(text: &str) -> Setting<BString> {
    let origin = Origin { name: "X".into(), source: "a file".into(), line: Some(1), template: None };
    Setting { value: text.into(), raw: text.into(), origin }
}

fn scripts() -> Settings {
    Settings { allow_scripts: Some(setting("True")), ..Settings::default() }
}

#[test]
fn what_keeps_the_job_from_starting_decides_the_temporary_directory_of_the_exit_hook() {
    let world = RealWorld::new();
    let mounting = || Settings { mount_under_scratch: "\"/tmp,/var/tmp\"".into(), ..Settings::default() };
    let temporary = |more: &str, settings: Settings| {
        let (_, out) = begun(&world, Quirks::Reference, more, settings);
        variable(&exit_call(&out), "TMPDIR").unwrap()
    };
    // Arguments and environment are read when the mounts are decided, the universe and the mounts before.
    assert_eq!(temporary("Arguments = \"'\"", mounting()), "/tmp");
    assert_eq!(temporary("Environment = \"A\"", mounting()), "/tmp");
    let undefined = Settings { mount_under_scratch: "NoSuch".into(), ..Settings::default() };
    assert_eq!(temporary("", undefined), "/execute/dir_1/scratch");
    // The directories are made before that, and JOB_EXIT finds them.
    let (_, out) = begun(&world, Quirks::Reference, "Arguments = \"'\"", mounting());
    let at = |wanted: &dyn Fn(&Action) -> bool| out.iter().position(wanted);
    let inner = std::path::Path::new("/execute/dir_1/scratch/var/tmp");
    let made = at(&|action| matches!(action, Action::MakeDirectory { path, .. } if path == inner));
    let asked = at(&|action| matches!(action, Action::Call(call) if call.hook == HookType::JobExit));
    assert!(made.is_some() && made < asked, "{out:?}");
    // Nothing is mounted below local universe jobs, whoever made them so; a text that begins no expression is a list.
    let mounts = |more: &str, settings: Settings| {
        let (_, out) = begun(&world, Quirks::Reference, more, settings);
        let process = out.iter().find_map(|action| match action {
            Action::StartProcess(process) => Some(process.mounts.len()),
            _ => None,
        });
        process.unwrap_or_else(|| panic!("{out:?}"))
    };
    assert_eq!(mounts("", mounting()), 2);
    assert_eq!(mounts("JobUniverse = 12", mounting()), 0);
    let unbalanced = Settings { mount_under_scratch: "\"/tmp".into(), ..Settings::default() };
    assert_eq!(mounts("", unbalanced), 0);
}

#[test]
fn a_missed_time_is_told_by_an_update_before_the_exit_hook() {
    let world = RealWorld::new();
    let (_, out) = begun(&world, Quirks::Reference, "DeferralTime = 5", Settings::default());
    let updates = calls(&out, HookType::UpdateJobInfo);
    assert_eq!(updates.len(), 2, "{out:?}");
    assert!(!stdin(&updates[1]).contains("JobState"), "{}", stdin(&updates[1]));
    assert_eq!(exit_call(&out).arguments, ["exit"]);
}

#[test]
fn an_initial_interval_of_zero_updates_as_soon_as_the_job_runs() {
    let world = RealWorld::new();
    let measured = |seconds| {
        let interval = Duration::from_secs(seconds);
        let settings = Settings { initial_update_interval: interval, ..Settings::default() };
        let (mut machine, _) = begun(&world, Quirks::Reference, "", settings);
        machine.step(NOW, Event::ProcessStarted { pid: 5 }).contains(&Action::Measure)
    };
    assert!(measured(0) && !measured(1));
}

#[test]
fn a_script_that_breaks_its_promise_is_told_with_what_it_did() {
    let world = RealWorld::new();
    let ad = "PreCmd = \"/bin/false\"\nSuccessPreExitCode = 0";
    let (mut machine, _) = begun(&world, Quirks::Reference, ad, scripts());
    drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
    let out = machine.step(NOW, ended(Exit::Code(4)));
    let update = calls(&out, HookType::UpdateJobInfo).pop().unwrap();
    for line in ["\nExitCode = 4\n", "\nPreExitCode = 4\n", "\nPreJobPid = 5\n"] {
        assert!(stdin(&update).contains(line), "{line} in\n{}", stdin(&update));
    }
    let exit = exit_call(&out);
    assert!(stdin(&exit).contains("\nPreExitCode = 4\n") && !stdin(&exit).contains("\nExitCode"));
    assert_eq!(variable(&exit, "_CONDOR_PRE_EXIT_CODE").as_deref(), Some("4"));

    // One that is cut short has no exit yet; one that was followed by the job is forgotten.
    let (mut machine, _) = begun(&world, Quirks::Reference, "PreCmd = \"/bin/cat\"", scripts());
    drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
    let exit = exit_call(&machine.step(NOW, Event::Asked(Request::Graceful(None))));
    assert!(stdin(&exit).contains("\nPreJobPid = 5\n") && !stdin(&exit).contains("PreExit"));
    let (mut machine, _) = begun(&world, Quirks::Reference, "PreCmd = \"/bin/true\"", scripts());
    drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
    drop(machine.step(NOW, ended(Exit::Code(0))));
    drop(machine.step(NOW, Event::ProcessStarted { pid: 6 }));
    let exit = exit_call(&machine.step(NOW, ended(Exit::Code(0))));
    assert!(!stdin(&exit).contains("PreJobPid"), "{}", stdin(&exit));

    let ad = "PostCmd = \"/bin/false\"\nSuccessPostExitCode = 0";
    let (mut machine, _) = begun(&world, Quirks::Reference, ad, scripts());
    drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
    drop(machine.step(NOW, ended(Exit::Code(0))));
    drop(machine.step(NOW, Event::ProcessStarted { pid: 6 }));
    let out = machine.step(NOW, ended(Exit::Signal { number: 9, core_dumped: false }));
    let update = stdin(&calls(&out, HookType::UpdateJobInfo).pop().unwrap());
    assert!(update.contains("\nPostExitSignal = 9\n") && !update.contains("JobState"), "{update}");
}

#[test]
fn after_an_exception_25_14_does_not_wait_for_the_exit_hook() {
    let world = RealWorld::new();
    let failed = |quirks| {
        let (mut machine, _) = begun(&world, quirks, "PostCmd = \"/no/such\"", scripts());
        drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
        drop(machine.step(NOW, ended(Exit::Code(0))));
        let failure = StartFailure::new("no", HoldCode::FailedToCreateProcess.number(), 2);
        let out = machine.step(NOW, Event::ProcessFailed(vec![failure]));
        assert_eq!(exit_call(&out).arguments, ["evict"]);
        (machine, out)
    };
    let (mut machine, out) = failed(Quirks::Reference);
    assert!(out.contains(&Action::RemoveScratch), "{out:?}");
    assert!(!out.iter().any(|action| matches!(action, Action::WriteResultAd(_))));
    let out = machine.step(NOW, Event::ScratchRemoved { remains: Vec::new() });
    assert!(out.iter().any(|action| matches!(action, Action::Finish { status: 4, .. })), "{out:?}");
    let (_, out) = failed(Quirks::default());
    assert!(!out.contains(&Action::RemoveScratch), "{out:?}");
}

#[test]
fn a_job_that_its_slot_holds_gets_its_hold_signal_and_the_exit_hook_hears_of_it() {
    let world = RealWorld::new();
    let held = |quirks, fast: bool| {
        let ad = "KillSig = \"SIGINT\"\nHoldKillSig = \"SIGUSR2\"";
        let (mut machine, _) = begun(&world, quirks, ad, Settings::default());
        drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
        let vacate = Some(Vacate { reason: "too long".into(), code: 21, subcode: 7 });
        let request = if fast { Request::Fast(vacate) } else { Request::Graceful(vacate) };
        let asked = machine.step(NOW, Event::Asked(request));
        let done = machine.step(NOW, ended(Exit::Code(0)));
        (asked, exit_call(&done))
    };
    let (asked, exit) = held(Quirks::default(), false);
    assert!(asked.contains(&Action::SignalJob(12)), "{asked:?}");
    assert_eq!(exit.arguments, ["hold"]);
    assert!(stdin(&exit).contains("\nVacateReasonCode = 21\n"));
    let (asked, exit) = held(Quirks::Reference, false);
    assert!(asked.contains(&Action::SignalJob(12)), "{asked:?}");
    assert_eq!(exit.arguments, ["exit"]);
    assert!(!stdin(&exit).contains("VacateReason"));
    let (asked, exit) = held(Quirks::Reference, true);
    assert!(asked.contains(&Action::KillFamily), "{asked:?}");
    assert_eq!(exit.arguments, ["exit"]);
}

#[test]
fn hooks_that_are_left_over_die_when_25_14_has_removed_their_directory_and_by_default_before() {
    let world = RealWorld::new();
    let end = |quirks: Quirks| {
        let (mut machine, _) = begun(&world, quirks, "", Settings::default());
        drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
        drop(machine.step(NOW, ended(Exit::Code(0))));
        let late = NOW.plus(Duration::from_secs(31));
        let mut out = machine.step(late, Event::Timeout);
        out.extend(machine.step(late, Event::ScratchRemoved { remains: Vec::new() }));
        out
    };
    let at = |out: &[Action], is: fn(&Action) -> bool| out.iter().position(is);
    let kills: fn(&Action) -> bool = |action| matches!(action, Action::KillCalls | Action::KillCall(_));
    let real = end(Quirks::Reference);
    assert!(real.contains(&Action::RemoveScratch) && at(&real, kills).is_none(), "{real:?}");
    assert!(matches!(real.last(), Some(Action::Finish { status: 0, .. })), "{real:?}");
    let ours = end(Quirks::None);
    let removed = at(&ours, |action| *action == Action::RemoveScratch);
    assert!(at(&ours, kills).is_some() && at(&ours, kills) < removed, "{ours:?}");
}

#[test]
fn a_job_that_is_to_end_while_it_waits_for_its_time_has_its_exit_hook_waited_for() {
    let world = RealWorld::new();
    let waiting = |quirks: Quirks| {
        let (machine, out) = begun(&world, quirks, "DeferralTime = time() + 60", Settings::default());
        assert!(calls(&out, HookType::JobExit).is_empty(), "{out:?}");
        machine
    };
    // 25.14 calls the hook and dies.
    for quirks in [Quirks::None, Quirks::Reference] {
        let mut machine = waiting(quirks);
        let out = machine.step(NOW, Event::Asked(Request::Graceful(None)));
        let exit = exit_call(&out);
        assert_eq!(exit.arguments, ["evict"]);
        assert!(!out.iter().any(|action| matches!(action, Action::Finish { .. })), "{out:?}");
        let (call, exit) = (exit.id, Exit::Code(0));
        let ended = Event::CallEnded { call, exit, stdout: Vec::new(), cut: false, stderr: Vec::new() };
        let out = machine.step(NOW, ended);
        assert!(out.contains(&Action::RemoveScratch), "{out:?}");
    }
}

#[test]
fn for_25_14_any_list_of_mounts_makes_the_temporary_directory_that_of_all() {
    let world = RealWorld::new();
    let temporary = |quirks: Quirks, list: &str| {
        let settings = Settings { mount_under_scratch: list.into(), ..Settings::default() };
        let (_, out) = begun(&world, quirks, "", settings);
        let process = out.iter().find_map(|action| match action {
            Action::StartProcess(process) => Some((**process).clone()),
            _ => None,
        });
        let process = process.unwrap_or_else(|| panic!("{out:?}"));
        let variable = process.environment.iter().find(|entry| entry.starts_with(b"TMPDIR="));
        (variable.map(ToString::to_string).unwrap_or_default(), process.private_shm, process.mounts.len())
    };
    let scratch = "TMPDIR=/execute/dir_1/scratch".to_owned();
    for list in ["/no/such/place", "/execute"] {
        let (real, shm, _) = temporary(Quirks::Reference, list);
        assert_eq!((real.as_str(), shm), ("TMPDIR=/tmp", true), "{list}");
        assert_eq!(temporary(Quirks::None, list).0, scratch, "{list}");
    }
    assert_eq!(temporary(Quirks::Reference, "\"\""), (scratch, false, 0));
}

#[test]
fn a_job_whose_prepare_hook_ends_while_the_exit_hook_runs_is_not_started_but_by_25_14() {
    let world = RealWorld::new();
    let answered = |call: &Call| Event::CallEnded {
        call: call.id,
        exit: Exit::Code(0),
        stdout: b"Late = 1\n".to_vec(),
        cut: false,
        stderr: Vec::new(),
    };
    let ended_in = |quirks: Quirks| {
        let (mut machine, out) = begun(&world, quirks, "Prepared = true", Settings::default());
        let prepare = calls(&out, HookType::PrepareJob).remove(0);
        let exit = exit_call(&machine.step(NOW, Event::Asked(Request::Graceful(None))));
        let out = machine.step(NOW, answered(&prepare));
        (machine, exit, out.iter().any(|action| matches!(action, Action::StartProcess(_))))
    };
    let is_result = |action: &Action| matches!(action, Action::WriteResultAd(_));
    let (mut machine, exit, started) = ended_in(Quirks::Reference);
    assert!(started);
    let out = machine.step(NOW, Event::ProcessStarted { pid: 5 });
    assert!(out.contains(&Action::Log(LogEvent::Execute)), "{out:?}");
    let out = machine.step(NOW, answered(&exit));
    assert!(out.contains(&Action::RemoveScratch) && !out.iter().any(is_result), "{out:?}");
    // One that ends first has a result.
    let (mut machine, exit, _) = ended_in(Quirks::Reference);
    drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
    let out = machine.step(NOW, ended(Exit::Code(3)));
    assert!(calls(&out, HookType::JobExit).is_empty(), "{out:?}");
    assert_eq!(calls(&out, HookType::UpdateJobInfo).len(), 1, "{out:?}");
    let out = machine.step(NOW, answered(&exit));
    let terminated = |action: &Action| matches!(action, Action::Log(LogEvent::Terminated { .. }));
    assert!(out.iter().any(is_result) && out.iter().any(terminated), "{out:?}");
    // One that is to end once more is killed as any other.
    let (mut machine, ..) = ended_in(Quirks::Reference);
    drop(machine.step(NOW, Event::ProcessStarted { pid: 5 }));
    let out = machine.step(NOW, Event::Asked(Request::Fast(None)));
    assert!(out.contains(&Action::KillFamily), "{out:?}");
    let (_, _, started) = ended_in(Quirks::None);
    assert!(!started);
}

#[test]
fn ids_lose_what_is_above_32_bits_in_the_reference_alone() {
    let world = RealWorld::new();
    for (quirks, cluster) in [(Quirks::Reference, 7), (Quirks::None, 4_294_967_303)] {
        let mut ad: ClassAd = long::parse(b"Cmd = \"/bin/true\"\nClusterId = 4294967303\n").0;
        let info = job_info::read(&mut ad, &PathBuf::from("/scratch"), quirks, &world).unwrap();
        assert_eq!((info.cluster, info.proc), (cluster, 0));
    }
}
