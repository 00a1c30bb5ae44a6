//! Tests of the router's state machine with a queue in memory: the machine requests actions, and the test passes their results as
//! events.

use std::collections::BTreeMap;

use bstr::BString;
use htc_hooks::classad::ClassAd;
use htc_hooks::classad::format::long;
use htc_hooks::config::{CommandPolicy, Config, LoadOptions, LookupContext};
use htc_hooks::hook::HookType;
use htc_hooks::job::JobId;
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::quirks::{Quirk, QuirkMode};
use htc_hooks::router::{
    CopyUpdateError, FinishedHookCall, QueueView, RouteLoadContext, RouteTable, Router, RouterAction,
    RouterContext, RouterEvent, RouterHookCall, RouterHookResult, RouterParameters, YieldError,
    judge_hook_call,
};
use htc_hooks::time::ClockReading;

const SOURCE: JobId = JobId { cluster: 1, proc: 0 };
const COPY: JobId = JobId { cluster: 7, proc: 0 };
const JOB: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ana\"\nUser = \"ana@there\"\nJobStatus = 1\nJobUniverse = 5\nWantRoute = true\n";

struct Jobs(BTreeMap<JobId, ClassAd>);

impl QueueView for Jobs {
    fn job(&self, id: JobId) -> Option<ClassAd> {
        self.0.get(&id).cloned()
    }

    fn jobs(&self) -> Vec<JobId> {
        self.0.keys().copied().collect()
    }
}

struct Machine {
    config: Config,
    router: Router,
    jobs: Jobs,
    world: RealWorld,
    now: i64,
    log: Vec<String>,
}

impl Machine {
    /// Creates a router with one route and the hooks in this list, and a job in its queue.
    fn new(route: &str, hooks: &[&str]) -> Machine {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config");
        let mut text = format!(
            "JOB_ROUTER_NAME = jobrouter\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRoute\nUID_DOMAIN = here\n\
             JOB_ROUTER_HOOK_KEYWORD = K\nJOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\n{route}@r\n"
        );
        hooks.iter().for_each(|hook| text.push_str(&format!("K_HOOK_{hook} = /bin/true\n")));
        std::fs::write(&file, text).unwrap();
        let world = RealWorld::new();
        let options = LoadOptions {
            file: Some(file),
            environment: false,
            commands: CommandPolicy::BOUNDED_RUN,
            ..LoadOptions::default()
        };
        let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
        let (config, _) = Config::load(&world, &who, &options).unwrap();
        let view = config.view(&world);
        let knobs = RouterParameters::load(&view, &mut |_| {});
        let table = RouteTable::load(
            RouteLoadContext { view: &view, parameters: &knobs, world: &world, quirks: QuirkMode::Reference },
            &mut |_| {},
        );
        let router = Router::new(knobs, table, QuirkMode::Reference, ClockReading::from_epoch(1000));
        let mut jobs = BTreeMap::new();
        jobs.insert(SOURCE, ad(JOB));
        drop(view);
        Machine { config, router, jobs: Jobs(jobs), world, now: 1000, log: Vec::new() }
    }

    /// Returns the actions after an event, without messages.
    fn step(&mut self, event: RouterEvent) -> Vec<RouterAction> {
        let view = self.config.view(&self.world);
        let around = RouterContext {
            queue: &self.jobs,
            copies: &self.jobs,
            config: Some(&view),
            parameters: &view,
            world: &self.world,
        };
        let mut actions = self.router.handle_event(ClockReading::from_epoch(self.now), event, &around);
        let log = &mut self.log;
        actions.retain(|action| match action {
            RouterAction::Log(text) => {
                log.push(text.clone());
                false
            }
            _ => true,
        });
        actions
    }

    fn poll(&mut self) -> Vec<RouterAction> {
        self.now += 10;
        self.step(RouterEvent::Poll)
    }

    /// Reports that a hook has ended successfully with this output.
    fn ended(&mut self, hook: HookType, answer: &str) -> Vec<RouterAction> {
        let source = self.jobs.0[&SOURCE].clone();
        let copy = self.jobs.0.get(&COPY).cloned().unwrap_or_default();
        let verdict = judge_hook_call(
            &FinishedHookCall {
                dialect: htc_hooks::classad::Dialect::new_syntax(),
                hook,
                exit: Exit::Code(0),
                stdout: answer.as_bytes(),
                is_truncated: false,
                source_ad: &source,
                routed_ad: Some(&copy),
                edit_in_place: false,
            },
            QuirkMode::Reference,
        );
        self.step(RouterEvent::HookEnded(SOURCE, hook, RouterHookResult::Ended(Box::new(verdict))))
    }

    fn without(&mut self, hook: HookType) -> Vec<RouterAction> {
        self.step(RouterEvent::HookEnded(SOURCE, hook, RouterHookResult::NotConfigured))
    }

    /// Processes the job until its copy is to be submitted, and returns the copy.
    fn submission(&mut self) -> ClassAd {
        assert!(matches!(self.poll()[..], [RouterAction::Claim(SOURCE)]));
        assert!(matches!(
            self.step(RouterEvent::ClaimResult(SOURCE, Ok(())))[..],
            [RouterAction::CallHook(_)]
        ));
        match self.without(HookType::TranslateJob).pop() {
            Some(RouterAction::SubmitCopy(SOURCE, ad)) => *ad,
            other => panic!("{other:?}"),
        }
    }
}

fn ad(text: &str) -> ClassAd {
    long::parse(text.as_bytes()).0
}

/// Returns the input of the cleanup hook.
fn cleanup(actions: &[RouterAction]) -> ClassAd {
    match actions {
        [.., RouterAction::CallHook(RouterHookCall { hook: HookType::JobCleanup, copy_ad, .. })] => {
            (**copy_ad).clone()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_job_retired_at_the_end_of_a_hook_is_a_candidate_two_polls_later() {
    let mut machine = Machine::new("  EditJobInPlace = true\n  SET Edited true\n", &["JOB_CLEANUP"]);
    machine.poll();
    assert!(matches!(machine.without(HookType::TranslateJob)[..], [RouterAction::EditSource(SOURCE, _)]));
    cleanup(&machine.step(RouterEvent::EditResult(SOURCE, Ok(()))));
    machine.ended(HookType::JobCleanup, "");
    assert!(machine.router.is_idle());
    assert!(machine.poll().is_empty(), "{:?}", machine.log);
    assert!(matches!(
        machine.poll()[..],
        [RouterAction::CallHook(RouterHookCall { hook: HookType::TranslateJob, .. })]
    ));
}

#[test]
fn a_job_that_always_fails_translation_does_not_block_the_only_place() {
    let mut machine = Machine::new("REQUIREMENTS WantRoute\nUNIVERSE vanilla\n", &["TRANSLATE_JOB"]);
    let view = machine.config.view(&machine.world);
    let knobs = RouterParameters { max_jobs: 1, ..RouterParameters::load(&view, &mut |_| {}) };
    let with = RouteLoadContext {
        view: &view,
        parameters: &knobs,
        world: &machine.world,
        quirks: QuirkMode::Reference,
    };
    let table = RouteTable::load(with, &mut |_| {});
    machine.router = Router::new(knobs, table, QuirkMode::Reference, ClockReading::from_epoch(1000));
    drop(view);
    let other = JobId { cluster: 2, proc: 0 };
    machine.jobs.0.insert(other, ad(&JOB.replace("ClusterId = 1", "ClusterId = 2")));
    let failed = || RouterHookResult::Failed("exited with status 1".into());
    assert!(matches!(machine.poll()[..], [RouterAction::Claim(SOURCE)]));
    assert!(matches!(
        machine.step(RouterEvent::ClaimResult(SOURCE, Ok(())))[..],
        [RouterAction::CallHook(_)]
    ));
    machine.step(RouterEvent::HookEnded(SOURCE, HookType::TranslateJob, failed()));
    assert!(
        matches!(machine.poll()[..], [RouterAction::YieldSource(SOURCE, false)]),
        "its one place is not free yet"
    );
    machine.step(RouterEvent::YieldResult(SOURCE, Ok(())));
    // The real daemon routes these two jobs at the same polls: the first at the start, the second two polls later.
    assert!(matches!(machine.poll()[..], [RouterAction::Claim(id)] if id == other));
}

#[test]
fn hook_output_that_the_queue_refuses_ends_the_routing() {
    let mut machine = Machine::new("  UNIVERSE vanilla\n", &["UPDATE_JOB_INFO", "JOB_CLEANUP"]);
    let mut copy = machine.submission();
    machine.step(RouterEvent::SubmitResult(SOURCE, Ok(COPY)));
    copy.set("ClusterId", 7);
    copy.set("ProcId", 0);
    machine.jobs.0.get_mut(&SOURCE).unwrap().set("Managed", "External");
    machine.jobs.0.get_mut(&SOURCE).unwrap().set("ManagedManager", "jobrouter");
    machine.jobs.0.insert(COPY, copy);
    // The first poll finds the copy, and the second calls the hook.
    machine.poll();
    assert!(matches!(
        machine.poll()[..],
        [RouterAction::CallHook(RouterHookCall { hook: HookType::RouterUpdateJobInfo, .. })]
    ));
    let asked = machine.ended(HookType::RouterUpdateJobInfo, "Progress = 3\n");
    assert!(matches!(asked[..], [RouterAction::UpdateCopy(SOURCE, COPY, _)]), "{asked:?}");
    // A write that fails temporarily does not end the routing: the copy is read again, and the hook is called again.
    let unwritten = CopyUpdateError::WriteFailed("No space left on device".into());
    let looked = machine.step(RouterEvent::CopyUpdateResult(SOURCE, Err(unwritten)));
    assert!(
        !looked
            .iter()
            .any(|action| matches!(action, RouterAction::CallHook(_) | RouterAction::RemoveCopy(..)))
    );
    assert!(machine.log.iter().any(|line| line.contains("No space left on device")));
    assert!(matches!(
        machine.poll()[..],
        [RouterAction::CallHook(RouterHookCall { hook: HookType::RouterUpdateJobInfo, .. })]
    ));
    machine.ended(HookType::RouterUpdateJobInfo, "Progress = 3\n");
    // Nothing is copied back to the source job, and the next poll calls the cleanup hook.
    let refused = CopyUpdateError::Refused("gone".into());
    assert!(machine.step(RouterEvent::CopyUpdateResult(SOURCE, Err(refused))).is_empty());
    let told = cleanup(&machine.poll());
    assert_eq!(told.literal("Progress").and_then(|value| value.as_int()), Some(3));
    // A failed removal is repeated until the source job is released.
    let removed = |actions: &[RouterAction]| {
        actions.iter().any(|action| matches!(action, RouterAction::RemoveCopy(COPY, _)))
    };
    let ends = |machine: &mut Machine, failed: bool| {
        let asked = machine.ended(HookType::JobCleanup, "");
        if failed {
            assert!(machine.step(RouterEvent::RemoveFailed(COPY)).is_empty());
        }
        machine.step(RouterEvent::YieldResult(SOURCE, Err(YieldError::WriteFailed)));
        cleanup(&machine.poll());
        removed(&asked)
    };
    assert!(ends(&mut machine, true));
    assert!(ends(&mut machine, false));
    assert!(!removed(&machine.ended(HookType::JobCleanup, "")));
}

#[test]
fn the_cleanup_hook_reads_the_submitted_ad() {
    let text = |ad: &ClassAd, name: &str| ad.string(name).map(BString::from);
    let mut machine = Machine::new("  UNIVERSE vanilla\n", &["JOB_CLEANUP"]);
    machine.submission();
    machine.step(RouterEvent::SubmitResult(SOURCE, Ok(COPY)));
    machine.jobs.0.remove(&SOURCE);
    let told = cleanup(&machine.poll());
    assert_eq!(text(&told, "User"), Some("ana@here".into()));
    // The copy was in the queue, on hold, when spooling its files failed.
    let route = "  UNIVERSE vanilla\n  JobShouldBeSandboxed = true\n";
    let mut machine = Machine::new(route, &["JOB_CLEANUP"]);
    machine.submission();
    let told = cleanup(&machine.step(RouterEvent::SpoolFailed(SOURCE, COPY, "a file is missing".into())));
    let number = |name: &str| told.literal(name).and_then(|value| value.as_int());
    assert_eq!(
        (number("ClusterId"), number("JobStatus"), number("HoldReasonCode")),
        (Some(7), Some(5), Some(16))
    );
    assert_eq!(text(&told, "HoldReason"), Some("Spooling input data files".into()));
    assert_eq!(text(&told, "User"), Some("ana@here".into()));
}

/// Returns true if a step reports a quirk.
fn tells(actions: &[RouterAction], quirk: Quirk) -> bool {
    actions.iter().any(|action| matches!(action, RouterAction::Quirk(SOURCE, told) if *told == quirk))
}

#[test]
fn a_silent_translate_hook_ends_the_routing_and_25_14_calls_it_forever() {
    let mut machine = Machine::new("  SET Edited true\n", &["TRANSLATE_JOB"]);
    machine.poll();
    machine.step(RouterEvent::ClaimResult(SOURCE, Ok(())));
    assert!(!tells(&machine.ended(HookType::TranslateJob, ""), Quirk::TranslateSilenceLoops));
    assert!(matches!(
        machine.poll()[..],
        [RouterAction::CallHook(RouterHookCall { hook: HookType::TranslateJob, .. })]
    ));
    assert!(tells(&machine.ended(HookType::TranslateJob, ""), Quirk::TranslateSilenceLoops));
    assert!(matches!(machine.poll()[..], [RouterAction::YieldSource(SOURCE, false)]), "{:?}", machine.log);
}

#[test]
fn output_without_a_universe_releases_the_job_and_25_14_aborts() {
    let mut machine = Machine::new("  SET Edited true\n", &["TRANSLATE_JOB"]);
    machine.poll();
    machine.step(RouterEvent::ClaimResult(SOURCE, Ok(())));
    let actions = machine.ended(HookType::TranslateJob, "A = 1\n");
    assert!(tells(&actions, Quirk::RouterAbortsNoUniverse), "{actions:?}");
    assert!(matches!(machine.poll()[..], [RouterAction::YieldSource(SOURCE, false)]), "{:?}", machine.log);
}

#[test]
fn a_cleanup_hook_that_always_fails_is_given_up_and_25_14_repeats_it() {
    let mut machine = Machine::new("  EditJobInPlace = true\n  SET Edited true\n", &["JOB_CLEANUP"]);
    machine.poll();
    machine.without(HookType::TranslateJob);
    cleanup(&machine.step(RouterEvent::EditResult(SOURCE, Ok(()))));
    let failed = || RouterHookResult::Failed("cannot be called".to_owned());
    for _ in 0..4 {
        let actions = machine.step(RouterEvent::HookEnded(SOURCE, HookType::JobCleanup, failed()));
        assert!(!tells(&actions, Quirk::CleanupFailureKeepsJob));
        assert!(matches!(
            machine.poll()[..],
            [RouterAction::CallHook(RouterHookCall { hook: HookType::JobCleanup, .. })]
        ));
    }
    let actions = machine.step(RouterEvent::HookEnded(SOURCE, HookType::JobCleanup, failed()));
    assert!(tells(&actions, Quirk::CleanupFailureKeepsJob), "{:?}", machine.log);
    assert!(machine.router.is_idle());
}

#[test]
fn a_source_that_is_removed_before_its_copy_exists_is_released() {
    let mut machine = Machine::new("  SET Edited true\n", &["TRANSLATE_JOB"]);
    machine.poll();
    machine.jobs.0.get_mut(&SOURCE).unwrap().set("JobStatus", 3);
    let actions = machine.step(RouterEvent::ClaimResult(SOURCE, Ok(())));
    assert!(tells(&actions, Quirk::SourceRemovalUnseen), "{actions:?}");
    assert!(matches!(actions[..], [_, RouterAction::YieldSource(SOURCE, false)]), "{actions:?}");
}
