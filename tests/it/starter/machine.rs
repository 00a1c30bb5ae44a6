//! Tests of the starter's state machine: the input of hooks and the end of the job, in cases where only the order of actions in
//! 25.14 matters.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use htc_hooks::classad::{ClassAd, format::long};
use htc_hooks::config::{Setting, SettingOrigin};
use htc_hooks::hook::HookType;
use htc_hooks::job::HoldCode;
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::starter::{
    FamilyUsage, JobLogEvent, StartFailure, Starter, StarterAction, StarterCommand, StarterEvent,
    StarterHookCall, StarterHooks, StarterSettings, StarterSetup, StarterVacateReason, job_info,
};
use htc_hooks::time::ClockReading;
use htc_hooks::world::World;

const NOW: ClockReading = ClockReading { wall_us: 1_700_000_000_000_000, monotonic_us: 1_000_000 };

/// Creates a machine with UPDATE_JOB_INFO and JOB_EXIT hooks (for ads with `Prepared`, PREPARE_JOB too) whose scratch directory
/// has been created, and returns it with the actions that it then requested.
fn begun<'w>(
    world: &'w RealWorld,
    quirks: QuirkMode,
    more: &str,
    settings: StarterSettings,
) -> (Starter<'w>, Vec<StarterAction>) {
    let text = format!("Cmd = \"/bin/true\"\nIwd = \"/tmp\"\n{more}\n");
    let mut ad: ClassAd = long::parse(text.as_bytes()).0;
    let scratch = PathBuf::from("/execute/dir_1/scratch");
    let world: &dyn World = world;
    let job = job_info::read_job_info(&mut ad, &scratch, quirks, world);
    let hooks = StarterHooks {
        prepare: more.contains("Prepared").then(|| "prepare".into()),
        update: Some("update".into()),
        exit: Some("exit".into()),
        exit_timeout: Duration::from_secs(30),
        ..StarterHooks::default()
    };
    let alone = StarterSetup::minimal(world, ad, job, scratch);
    let mut machine = Starter::new(StarterSetup { quirks, settings, hooks, can_mount: true, ..alone });
    drop(machine.step(NOW, StarterEvent::Begin));
    let out = machine.step(NOW, StarterEvent::ScratchMade { encrypted: false });
    (machine, out)
}

fn calls(out: &[StarterAction], hook: HookType) -> Vec<StarterHookCall> {
    let call = |action: &StarterAction| match action {
        StarterAction::Call(call) if call.hook == hook => Some(call.clone()),
        _ => None,
    };
    out.iter().filter_map(call).collect()
}

fn exit_call(out: &[StarterAction]) -> StarterHookCall {
    calls(out, HookType::JobExit).pop().unwrap_or_else(|| panic!("no JOB_EXIT in {out:?}"))
}

fn variable(call: &StarterHookCall, name: &str) -> Option<String> {
    let found = call.environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_string())
}

fn stdin(call: &StarterHookCall) -> String {
    String::from_utf8_lossy(&call.stdin).into_owned()
}

fn ended(exit: Exit) -> StarterEvent {
    StarterEvent::process_ended(exit, FamilyUsage::default())
}

/// Returns a value that a file has set.
pub(crate) fn setting(text: &str) -> Setting<BString> {
    let origin = SettingOrigin { name: "X".into(), source: "a file".into(), line: Some(1), template: None };
    Setting { value: text.into(), raw: text.into(), origin }
}

fn scripts() -> StarterSettings {
    StarterSettings { allow_scripts: Some(setting("True")), ..StarterSettings::default() }
}

#[test]
fn the_exit_hooks_tmpdir_depends_on_the_failure_to_start() {
    let world = RealWorld::new();
    let mounting =
        || StarterSettings { mount_under_scratch: "\"/tmp,/var/tmp\"".into(), ..StarterSettings::default() };
    let temporary = |more: &str, settings: StarterSettings| {
        let (_, out) = begun(&world, QuirkMode::Reference, more, settings);
        variable(&exit_call(&out), "TMPDIR").unwrap()
    };
    // Arguments and environment are parsed when the mounts are decided; universe and mounts are parsed before.
    assert_eq!(temporary("Arguments = \"'\"", mounting()), "/tmp");
    assert_eq!(temporary("Environment = \"A\"", mounting()), "/tmp");
    let undefined = StarterSettings { mount_under_scratch: "NoSuch".into(), ..StarterSettings::default() };
    assert_eq!(temporary("", undefined), "/execute/dir_1/scratch");
    // The directories are created before Arguments are parsed, so JOB_EXIT finds them.
    let (_, out) = begun(&world, QuirkMode::Reference, "Arguments = \"'\"", mounting());
    let at = |expected: &dyn Fn(&StarterAction) -> bool| out.iter().position(expected);
    let inner = std::path::Path::new("/execute/dir_1/scratch/var/tmp");
    let made = at(&|action| matches!(action, StarterAction::MakeDirectory { path, .. } if path == inner));
    let asked = at(&|action| matches!(action, StarterAction::Call(call) if call.hook == HookType::JobExit));
    assert!(made.is_some() && made < asked, "{out:?}");
    // Local universe jobs have no mounts, whatever made them local. A text that is not an expression is a list.
    let mounts = |more: &str, settings: StarterSettings| {
        let (_, out) = begun(&world, QuirkMode::Reference, more, settings);
        let process = out.iter().find_map(|action| match action {
            StarterAction::StartProcess(process) => Some(process.mounts.len()),
            _ => None,
        });
        process.unwrap_or_else(|| panic!("{out:?}"))
    };
    assert_eq!(mounts("", mounting()), 2);
    assert_eq!(mounts("JobUniverse = 12", mounting()), 0);
    let unbalanced = StarterSettings { mount_under_scratch: "\"/tmp".into(), ..StarterSettings::default() };
    assert_eq!(mounts("", unbalanced), 0);
}

#[test]
fn a_missed_deferral_time_is_reported_by_an_update_before_the_exit_hook() {
    let world = RealWorld::new();
    let (_, out) = begun(&world, QuirkMode::Reference, "DeferralTime = 5", StarterSettings::default());
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
        let settings = StarterSettings { initial_update_interval: interval, ..StarterSettings::default() };
        let (mut machine, _) = begun(&world, QuirkMode::Reference, "", settings);
        machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }).contains(&StarterAction::Measure)
    };
    assert!(measured(0) && !measured(1));
}

#[test]
fn a_script_without_its_required_exit_is_reported_with_its_exit() {
    let world = RealWorld::new();
    let ad = "PreCmd = \"/bin/false\"\nSuccessPreExitCode = 0";
    let (mut machine, _) = begun(&world, QuirkMode::Reference, ad, scripts());
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
    let out = machine.step(NOW, ended(Exit::Code(4)));
    let update = calls(&out, HookType::UpdateJobInfo).pop().unwrap();
    for line in ["\nExitCode = 4\n", "\nPreExitCode = 4\n", "\nPreJobPid = 5\n"] {
        assert!(stdin(&update).contains(line), "{line} in\n{}", stdin(&update));
    }
    let exit = exit_call(&out);
    assert!(stdin(&exit).contains("\nPreExitCode = 4\n") && !stdin(&exit).contains("\nExitCode"));
    assert_eq!(variable(&exit, "_CONDOR_PRE_EXIT_CODE").as_deref(), Some("4"));

    // An interrupted script has no exit status yet. After the job has started, the script is forgotten.
    let (mut machine, _) = begun(&world, QuirkMode::Reference, "PreCmd = \"/bin/cat\"", scripts());
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
    let exit = exit_call(&machine.step(NOW, StarterEvent::Requested(StarterCommand::Graceful(None))));
    assert!(stdin(&exit).contains("\nPreJobPid = 5\n") && !stdin(&exit).contains("PreExit"));
    let (mut machine, _) = begun(&world, QuirkMode::Reference, "PreCmd = \"/bin/true\"", scripts());
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
    drop(machine.step(NOW, ended(Exit::Code(0))));
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 6 }));
    let exit = exit_call(&machine.step(NOW, ended(Exit::Code(0))));
    assert!(!stdin(&exit).contains("PreJobPid"), "{}", stdin(&exit));

    let ad = "PostCmd = \"/bin/false\"\nSuccessPostExitCode = 0";
    let (mut machine, _) = begun(&world, QuirkMode::Reference, ad, scripts());
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
    drop(machine.step(NOW, ended(Exit::Code(0))));
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 6 }));
    let out = machine.step(NOW, ended(Exit::Signal { number: 9, core_dumped: false }));
    let update = stdin(&calls(&out, HookType::UpdateJobInfo).pop().unwrap());
    assert!(update.contains("\nPostExitSignal = 9\n") && !update.contains("JobState"), "{update}");
}

#[test]
fn after_an_exception_25_14_does_not_wait_for_the_exit_hook() {
    let world = RealWorld::new();
    let failed = |quirks| {
        let (mut machine, _) = begun(&world, quirks, "PostCmd = \"/no/such\"", scripts());
        drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
        drop(machine.step(NOW, ended(Exit::Code(0))));
        let failure = StartFailure::new("no", HoldCode::FailedToCreateProcess.number(), 2);
        let out = machine.step(NOW, StarterEvent::ProcessFailed(vec![failure]));
        assert_eq!(exit_call(&out).arguments, ["evict"]);
        (machine, out)
    };
    let (mut machine, out) = failed(QuirkMode::Reference);
    assert!(out.contains(&StarterAction::RemoveScratch), "{out:?}");
    assert!(!out.iter().any(|action| matches!(action, StarterAction::WriteResultAd(_))));
    let out = machine.step(NOW, StarterEvent::ScratchRemoved { remains: Vec::new() });
    assert!(out.iter().any(|action| matches!(action, StarterAction::Finish { status: 4, .. })), "{out:?}");
    let (_, out) = failed(QuirkMode::default());
    assert!(!out.contains(&StarterAction::RemoveScratch), "{out:?}");
}

#[test]
fn a_job_held_by_its_slot_gets_the_hold_signal_and_the_exit_hook_hold() {
    let world = RealWorld::new();
    let held = |quirks, fast: bool| {
        let ad = "KillSig = \"SIGINT\"\nHoldKillSig = \"SIGUSR2\"";
        let (mut machine, _) = begun(&world, quirks, ad, StarterSettings::default());
        drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
        let vacate = Some(StarterVacateReason { reason: "too long".into(), code: 21, subcode: 7 });
        let request = if fast { StarterCommand::Fast(vacate) } else { StarterCommand::Graceful(vacate) };
        let asked = machine.step(NOW, StarterEvent::Requested(request));
        let done = machine.step(NOW, ended(Exit::Code(0)));
        (asked, exit_call(&done))
    };
    let (asked, exit) = held(QuirkMode::default(), false);
    assert!(asked.contains(&StarterAction::SignalJob(12)), "{asked:?}");
    assert_eq!(exit.arguments, ["hold"]);
    assert!(stdin(&exit).contains("\nVacateReasonCode = 21\n"));
    let (asked, exit) = held(QuirkMode::Reference, false);
    assert!(asked.contains(&StarterAction::SignalJob(12)), "{asked:?}");
    assert_eq!(exit.arguments, ["exit"]);
    assert!(!stdin(&exit).contains("VacateReason"));
    let (asked, exit) = held(QuirkMode::Reference, true);
    assert!(asked.contains(&StarterAction::KillFamily), "{asked:?}");
    assert_eq!(exit.arguments, ["exit"]);
}

#[test]
fn leftover_hooks_are_killed_before_their_directory_is_removed() {
    let world = RealWorld::new();
    let end = |quirks: QuirkMode| {
        let (mut machine, _) = begun(&world, quirks, "", StarterSettings::default());
        drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
        drop(machine.step(NOW, ended(Exit::Code(0))));
        let late = NOW.plus(Duration::from_secs(31));
        let mut out = machine.step(late, StarterEvent::Timeout);
        out.extend(machine.step(late, StarterEvent::ScratchRemoved { remains: Vec::new() }));
        out
    };
    let at = |out: &[StarterAction], is: fn(&StarterAction) -> bool| out.iter().position(is);
    let kills: fn(&StarterAction) -> bool =
        |action| matches!(action, StarterAction::KillCalls | StarterAction::KillCall(_));
    let real = end(QuirkMode::Reference);
    assert!(real.contains(&StarterAction::RemoveScratch) && at(&real, kills).is_none(), "{real:?}");
    assert!(matches!(real.last(), Some(StarterAction::Finish { status: 0, .. })), "{real:?}");
    let ours = end(QuirkMode::Manual);
    let removed = at(&ours, |action| *action == StarterAction::RemoveScratch);
    assert!(at(&ours, kills).is_some() && at(&ours, kills) < removed, "{ours:?}");
}

#[test]
fn the_exit_hook_of_a_deferred_job_is_waited_for() {
    let world = RealWorld::new();
    let waiting = |quirks: QuirkMode| {
        let (machine, out) = begun(&world, quirks, "DeferralTime = time() + 60", StarterSettings::default());
        assert!(calls(&out, HookType::JobExit).is_empty(), "{out:?}");
        machine
    };
    // In 25.14, the starter calls the hook and crashes.
    for quirks in [QuirkMode::Manual, QuirkMode::Reference] {
        let mut machine = waiting(quirks);
        let out = machine.step(NOW, StarterEvent::Requested(StarterCommand::Graceful(None)));
        let exit = exit_call(&out);
        assert_eq!(exit.arguments, ["evict"]);
        assert!(!out.iter().any(|action| matches!(action, StarterAction::Finish { .. })), "{out:?}");
        let (call, exit) = (exit.id, Exit::Code(0));
        let ended =
            StarterEvent::CallEnded { call, exit, stdout: Vec::new(), cut: false, stderr: Vec::new() };
        let out = machine.step(NOW, ended);
        assert!(out.contains(&StarterAction::RemoveScratch), "{out:?}");
    }
}

#[test]
fn in_25_14_any_list_of_mounts_sets_tmpdir_to_tmp() {
    let world = RealWorld::new();
    let temporary = |quirks: QuirkMode, list: &str| {
        let settings = StarterSettings { mount_under_scratch: list.into(), ..StarterSettings::default() };
        let (_, out) = begun(&world, quirks, "", settings);
        let process = out.iter().find_map(|action| match action {
            StarterAction::StartProcess(process) => Some((**process).clone()),
            _ => None,
        });
        let process = process.unwrap_or_else(|| panic!("{out:?}"));
        let variable = process.environment.iter().find(|entry| entry.starts_with(b"TMPDIR="));
        (variable.map(ToString::to_string).unwrap_or_default(), process.private_shm, process.mounts.len())
    };
    let scratch = "TMPDIR=/execute/dir_1/scratch".to_owned();
    for list in ["/no/such/place", "/execute"] {
        let (real, shm, _) = temporary(QuirkMode::Reference, list);
        assert_eq!((real.as_str(), shm), ("TMPDIR=/tmp", true), "{list}");
        assert_eq!(temporary(QuirkMode::Manual, list).0, scratch, "{list}");
    }
    assert_eq!(temporary(QuirkMode::Reference, "\"\""), (scratch, false, 0));
}

#[test]
fn only_25_14_starts_a_job_while_its_exit_hook_runs() {
    let world = RealWorld::new();
    let answered = |call: &StarterHookCall| StarterEvent::CallEnded {
        call: call.id,
        exit: Exit::Code(0),
        stdout: b"Late = 1\n".to_vec(),
        cut: false,
        stderr: Vec::new(),
    };
    let ended_in = |quirks: QuirkMode| {
        let (mut machine, out) = begun(&world, quirks, "Prepared = true", StarterSettings::default());
        let prepare = calls(&out, HookType::PrepareJob).remove(0);
        let exit = exit_call(&machine.step(NOW, StarterEvent::Requested(StarterCommand::Graceful(None))));
        let out = machine.step(NOW, answered(&prepare));
        (machine, exit, out.iter().any(|action| matches!(action, StarterAction::StartProcess(_))))
    };
    let is_result = |action: &StarterAction| matches!(action, StarterAction::WriteResultAd(_));
    let (mut machine, exit, started) = ended_in(QuirkMode::Reference);
    assert!(started);
    let out = machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 });
    assert!(out.contains(&StarterAction::Log(JobLogEvent::Execute)), "{out:?}");
    let out = machine.step(NOW, answered(&exit));
    assert!(out.contains(&StarterAction::RemoveScratch) && !out.iter().any(is_result), "{out:?}");
    // A process that ends by itself first has a result.
    let (mut machine, exit, _) = ended_in(QuirkMode::Reference);
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
    let out = machine.step(NOW, ended(Exit::Code(3)));
    assert!(calls(&out, HookType::JobExit).is_empty(), "{out:?}");
    assert_eq!(calls(&out, HookType::UpdateJobInfo).len(), 1, "{out:?}");
    let out = machine.step(NOW, answered(&exit));
    let terminated =
        |action: &StarterAction| matches!(action, StarterAction::Log(JobLogEvent::Terminated { .. }));
    assert!(out.iter().any(is_result) && out.iter().any(terminated), "{out:?}");
    // A second request to end kills the process as usual.
    let (mut machine, ..) = ended_in(QuirkMode::Reference);
    drop(machine.step(NOW, StarterEvent::ProcessStarted { pid: 5 }));
    let out = machine.step(NOW, StarterEvent::Requested(StarterCommand::Fast(None)));
    assert!(out.contains(&StarterAction::KillFamily), "{out:?}");
    let (_, _, started) = ended_in(QuirkMode::Manual);
    assert!(!started);
}

#[test]
fn ids_are_truncated_to_32_bits_only_in_the_reference() {
    let world = RealWorld::new();
    for (quirks, cluster) in [(QuirkMode::Reference, 7), (QuirkMode::Manual, 4_294_967_303)] {
        let mut ad: ClassAd = long::parse(b"Cmd = \"/bin/true\"\nClusterId = 4294967303\n").0;
        let info = job_info::read_job_info(&mut ad, &PathBuf::from("/scratch"), quirks, &world).unwrap();
        assert_eq!((info.cluster, info.proc), (cluster, 0));
    }
}
