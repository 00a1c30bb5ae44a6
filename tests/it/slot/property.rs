//! Tests of invariants for random events in random order: every job has a claim, no resource is used twice, each device is in one
//! slot, each fetch is answered, each time-out takes effect.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use htc_hooks::classad::format::long;
use htc_hooks::config::{Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{
    Activity, ClaimCommand, ClaimRequest, Deactivation, DrainRequest, DrainSpeed, ExecutionPoint, ExitLimits,
    HookRunId, HostMeasurements, Measurements, SlotHookType, SlotKey, SlotState, StartdAction, StartdEvent,
    StarterId, StarterSignal, configure,
};
use htc_hooks::time::ClockReading;
use proptest::prelude::*;

use crate::support::machine::job;

const CARDS: &str =
    "DetectedGPUs=\"A, B, C\"\nA=[ Capability=7.0; ]\nB=[ Capability=8.0; ]\nC=[ Capability=8.0; ]\n";

/// Returns random resources of a slot type, in all spellings.
fn layout() -> impl Strategy<Value = String> {
    let amount = || prop_oneof![Just("auto"), Just("25%"), Just("1/2"), Just("100%"), Just("1"), Just("2")];
    let memory = prop_oneof![Just("auto"), Just("10%"), Just("1/4"), Just("100"), Just("100%")];
    let cards =
        prop_oneof![2 => Just(""), 1 => Just(", gpus=auto"), 1 => Just(", gpus=1"), 1 => Just(", gpus=2")];
    let kind = (any::<bool>(), any::<bool>(), prop_oneof![3 => Just(false), 1 => Just(true)]);
    let one = (amount(), memory, cards, 1..4u32, kind);
    proptest::collection::vec(one, 0..4).prop_map(|types| {
        let mut text = String::new();
        for (number, (cpus, memory, cards, count, (splits, consumes, backfill))) in (1..).zip(types) {
            text += &format!(
                "SLOT_TYPE_{number} = cpus={cpus}, memory={memory}{cards}\nNUM_SLOTS_TYPE_{number} = {count}\n\
                 SLOT_TYPE_{number}_PARTITIONABLE = {splits}\nSLOT_TYPE_{number}_BACKFILL = {backfill}\nSLOT_TYPE_{number}_CONSUMPTION_POLICY = {consumes}\n\
                 SLOT_TYPE_{number}_CONSUMPTION_CPUS = quantize(target.RequestCpus, {{2}})\n"
            );
        }
        text
    })
}

const POLICY: &str =
    "NUM_CPUS = 4\nMEMORY = 1000\nPOLLING_INTERVAL = 1\nUPDATE_INTERVAL = 5\nFetchWorkDelay = 1
IS_OWNER = TotalLoadAvg == 1
PREEMPT = TotalLoadAvg == 2
WANT_SUSPEND = TotalLoadAvg == 3
SUSPEND = TotalLoadAvg == 3
CONTINUE = TotalLoadAvg != 3
KILL = TotalLoadAvg == 4
MaxJobRetirementTime = 10
MachineMaxVacateTime = 5
MATCH_TIMEOUT = 20
KILLING_TIMEOUT = 9
RANK = TARGET.Prio
ENABLE_BACKFILL = true
BACKFILL_SYSTEM = BOINC
BOINC_Universe = vanilla
BOINC_Executable = /bin/true
BOINC_InitialDir = /
START_BACKFILL = TotalLoadAvg == 6
EVICT_BACKFILL = TotalLoadAvg == 7
BENCHMARKS_JOBLIST = t
BENCHMARKS_T_EXECUTABLE = /bin/true
RunBenchmarks = TotalLoadAvg == 8
STARTD_JOB_HOOK_KEYWORD = T
T_HOOK_FETCH_WORK = /bin/true
T_HOOK_REPLY_FETCH = /bin/true";

/// Value of MATCH_TIMEOUT, in seconds.
const MATCH_TIMEOUT: u64 = 20;
/// Value of MachineMaxVacateTime, in seconds.
const VACATE_TIME: u64 = 5;
/// Value of KILLING_TIMEOUT, in seconds.
const KILLING_TIMEOUT: u64 = 9;
/// Tolerance in seconds, for timers that count seconds, and for a poll.
const LATE: u64 = 3;

/// Random event. Its numbers select among the objects that exist.
#[derive(Clone, Debug)]
enum Thing {
    Wait(u64),
    Load(u8),
    Ask(u8, u8, u8),
    Fetched(bool, u8),
    Ends(u8),
    Final(u8),
    Vacate(Option<u8>, bool),
    Suspend(u8, bool),
    Drain(u8),
    Cancel,
    Benchmarked,
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        6 => (0..12u64).prop_map(Thing::Wait),
        4 => (0..9u8).prop_map(Thing::Load),
        6 => (0..7u8, any::<u8>(), any::<u8>()).prop_map(|(what, slot, size)| Thing::Ask(what, slot, size)),
        5 => (any::<bool>(), any::<u8>()).prop_map(|(work, size)| Thing::Fetched(work, size)),
        4 => any::<u8>().prop_map(Thing::Ends),
        1 => any::<u8>().prop_map(Thing::Final),
        2 => (proptest::option::of(any::<u8>()), any::<bool>()).prop_map(|(slot, fast)| Thing::Vacate(slot, fast)),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(slot, stop)| Thing::Suspend(slot, stop)),
        1 => (0..3u8).prop_map(Thing::Drain),
        1 => Just(Thing::Cancel),
        1 => Just(Thing::Benchmarked),
    ]
}

/// Strongest request to end that a starter has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EndRequest {
    Nothing,
    Softly,
    Hard,
    Killed,
}

struct Driver {
    point: ExecutionPoint,
    now: ClockReading,
    /// Running starters, each with its slot, true for a backfill client, and the request to end.
    starters: BTreeMap<StarterId, (SlotKey, bool, EndRequest)>,
    fetches: Vec<(SlotKey, HookRunId)>,
    replies: usize,
    answered: usize,
    quirks: QuirkMode,
    /// State and activity of each slot, and the time since which it has them.
    since: BTreeMap<SlotKey, (SlotState, Activity, u64)>,
    /// Slots that were suspended without a job; 25.14 makes them Busy when they continue.
    suspended_idle: BTreeSet<SlotKey>,
}

impl Driver {
    /// Creates a driver of events, or returns `None` if the machine lacks the resources of the layout.
    fn new(layout: &str, quirks: QuirkMode) -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("condor_config");
        std::fs::write(&file, format!("{POLICY}\n{layout}\n")).unwrap();
        let world = Rc::new(RealWorld::new());
        let who = LookupContext { subsystem: "STARTD".into(), ..LookupContext::default() };
        let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
        let (config, _) = Config::load(&*world, &who, &options).unwrap();
        let around = HostMeasurements {
            disk_free: 1_000_000,
            virtual_memory: 1_000_000,
            gpu_discovery_output: Some(CARDS.into()),
            ..HostMeasurements::default()
        };
        let made = configure(&config, &*world, &around, quirks, ExitLimits::default()).ok()?;
        let now = ClockReading::from_epoch(1_800_000_000);
        let point = ExecutionPoint::new(made.settings, world, now);
        let (starters, fetches) = (BTreeMap::new(), Vec::new());
        let mut driver = Driver {
            point,
            now,
            starters,
            fetches,
            replies: 0,
            answered: 0,
            quirks,
            since: BTreeMap::new(),
            suspended_idle: BTreeSet::new(),
        };
        driver.step(StartdEvent::Start);
        Some(driver)
    }

    fn step(&mut self, event: StartdEvent) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.point.step(self.now, event) {
                match action {
                    StartdAction::SpawnStarter(call) => {
                        self.starters.insert(call.starter, (call.slot, call.backfill, EndRequest::Nothing));
                        events.push(StartdEvent::StarterSpawned { starter: call.starter, pid: 77 });
                    }
                    StartdAction::SignalStarter { starter, signal, .. } => {
                        let request = match signal {
                            StarterSignal::Soft => EndRequest::Softly,
                            StarterSignal::Hard => EndRequest::Hard,
                            StarterSignal::Kill => EndRequest::Killed,
                            StarterSignal::Suspend | StarterSignal::Continue => EndRequest::Nothing,
                        };
                        if let Some(running) = self.starters.get_mut(&starter) {
                            running.2 = running.2.max(request);
                        }
                    }
                    StartdAction::RunHook(call) => match call.hook {
                        SlotHookType::FetchWork => self.fetches.push((call.slot, call.run)),
                        SlotHookType::ReplyFetch | SlotHookType::EvictClaim => {
                            self.replies += usize::from(call.hook == SlotHookType::ReplyFetch);
                            events.insert(
                                0,
                                StartdEvent::HookEnded { run: call.run, stdout: Vec::new(), cut: false },
                            );
                        }
                    },
                    StartdAction::RunBenchmarks
                    | StartdAction::AcceptJob { .. }
                    | StartdAction::Reconfigure
                    | StartdAction::Sleep { .. }
                    | StartdAction::GiveUpJob(_)
                    | StartdAction::Notify(_)
                    | StartdAction::Finished { .. } => {}
                }
            }
        }
        self.check();
    }

    fn wait(&mut self, seconds: u64) {
        let end = self.now.plus(Duration::from_secs(seconds));
        let mut looks = 0;
        while let Some(wake) = self.point.next_wake().filter(|wake| *wake <= end.monotonic()) {
            self.now = self.now.plus(wake.since(self.now.monotonic()));
            self.step(StartdEvent::Tick);
            looks += 1;
            assert!(looks < 40 * (seconds + 1), "it wakes without end");
        }
        self.now = end;
    }

    fn slots(&self) -> Vec<(SlotKey, String, SlotState, Activity)> {
        self.point.slots().map(|(key, id, state, activity)| (key, id.to_owned(), state, activity)).collect()
    }

    fn name(&self, number: u8) -> String {
        let slots = self.slots();
        slots[usize::from(number) % slots.len()].1.clone()
    }

    fn starter(&self, number: u8) -> Option<StarterId> {
        let count = self.starters.len();
        self.starters.keys().nth(usize::from(number).checked_rem(count)?).copied()
    }

    fn ends(&mut self, starter: StarterId) {
        self.starters.remove(&starter);
        self.step(StartdEvent::StarterExited { starter, exit: Exit::Code(0) });
    }

    fn happen(&mut self, thing: &Thing) {
        let sized = |size: u8| {
            let (cpus, gpus) = (1 + size % 3, (size / 4) % 3);
            job(&format!(
                "RequestCpus = {cpus}\nRequestGPUs = {gpus}\nRequireGPUs = Capability >= {}\nPrio = {}\n\
                 JobLeaseDuration = 40\nClusterId = {size}",
                7 + size % 2,
                size % 5
            ))
        };
        match *thing {
            Thing::Wait(seconds) => self.wait(seconds),
            Thing::Load(load) => {
                let measured = Measurements {
                    load: f64::from(load),
                    virtual_memory: 1_000_000,
                    ..Measurements::default()
                };
                self.step(StartdEvent::MeasurementsTaken(Box::new(measured)));
            }
            Thing::Ask(what, slot, size) => {
                let command = match what {
                    0 => ClaimCommand::Match,
                    1 | 2 => ClaimCommand::Request(Box::new(ClaimRequest {
                        job: sized(size),
                        lease: 60,
                        schedd: "schedd".into(),
                        host: "host".into(),
                        preempts: (size % 5 == 0).then(|| "slot1_1".to_owned()).into_iter().collect(),
                    })),
                    3 => ClaimCommand::Activate(Box::new(sized(size))),
                    4 => ClaimCommand::Alive,
                    5 => ClaimCommand::Deactivate(if size % 2 == 0 {
                        Deactivation::Graceful
                    } else {
                        Deactivation::JobDone
                    }),
                    _ => ClaimCommand::Release { waiting: size % 3 == 0 },
                };
                let slot = self.name(slot);
                self.step(StartdEvent::Command { slot, command });
            }
            Thing::Fetched(work, size) => {
                let Some((_, run)) = self.fetches.pop() else { return };
                let stdout = if work { long::print(&sized(size)) } else { Vec::new() };
                let before = self.replies;
                self.step(StartdEvent::HookEnded { run, stdout, cut: false });
                if work {
                    self.answered += 1;
                    assert_eq!(self.replies, before + 1, "a job that was fetched is answered once");
                }
            }
            Thing::Ends(number) => {
                if let Some(starter) = self.starter(number) {
                    self.ends(starter);
                }
            }
            Thing::Final(number) => {
                if let Some(starter) = self.starter(number) {
                    self.step(StartdEvent::FinalUpdate { starter });
                }
            }
            Thing::Vacate(slot, fast) => {
                let slot = slot.map(|slot| self.name(slot));
                self.step(StartdEvent::Vacate { slot, fast });
            }
            Thing::Suspend(slot, stop) => {
                let slot = Some(self.name(slot));
                self.step(if stop { StartdEvent::Suspend { slot } } else { StartdEvent::Continue { slot } });
            }
            Thing::Drain(speed) => {
                let speed = [DrainSpeed::Graceful, DrainSpeed::Quick, DrainSpeed::Fast][usize::from(speed)];
                self.step(StartdEvent::Drain(Box::new(DrainRequest::new(speed, "test"))));
            }
            Thing::Cancel => self.step(StartdEvent::CancelDrain { id: None }),
            Thing::Benchmarked => self.step(StartdEvent::BenchmarksEnded),
        }
    }

    fn number(&self, key: SlotKey, name: &str) -> i64 {
        let ad = self.point.sent_ad(key).unwrap();
        ad.literal(name).and_then(|value| value.as_int()).unwrap_or(0)
    }

    /// Checks all invariants.
    fn check(&mut self) {
        let slots = self.slots();
        for (slot, backfill, _) in self.starters.values() {
            let found = slots.iter().find(|(key, ..)| key == slot);
            if *backfill {
                continue;
            }
            let (_, id, state, activity) = found.expect("a job runs in a slot that is there");
            assert!(
                matches!(state, SlotState::Claimed | SlotState::Preempting),
                "a job runs in {id}, which is {state}/{activity}"
            );
        }
        let client = self.starters.values().any(|(_, backfill, _)| *backfill);
        for (key, id, state, activity) in &slots {
            let jobs = self.starters.values().filter(|(slot, backfill, _)| slot == key && !backfill).count();
            assert!(jobs <= 1, "{id} runs {jobs} jobs");
            if jobs == 0 && (*state, *activity) == (SlotState::Claimed, Activity::Suspended) {
                self.suspended_idle.insert(*key);
            }
            if *activity == Activity::Busy {
                // In 25.14, no client runs for long, so starting none is permitted as well.
                let backfills = client || self.quirks == QuirkMode::Reference;
                let went_on = self.suspended_idle.contains(key) && self.quirks == QuirkMode::Reference;
                let runs = if *state == SlotState::Backfill { backfills } else { jobs == 1 || went_on };
                assert!(runs, "{id} is {state}/Busy, and nothing runs");
            } else if *activity != Activity::Suspended {
                self.suspended_idle.remove(key);
            }
        }
        // Backfill slots have a second copy of the resources.
        let is_backfill = |key: SlotKey| self.point.sent_ad(key).unwrap().contains("BackfillSlot");
        let (second, first): (Vec<SlotKey>, Vec<SlotKey>) =
            slots.iter().map(|(key, ..)| *key).partition(|key| is_backfill(*key));
        self.check_amounts(&first);
        self.check_amounts(&second);
        self.check_stays(&slots);
    }

    /// Checks that no resource of one machine is used twice.
    fn check_amounts(&self, slots: &[SlotKey]) {
        for (name, total) in [("Cpus", 4), ("Memory", 1000), ("GPUs", 3)] {
            let each: Vec<i64> = slots.iter().map(|key| self.number(*key, name)).collect();
            assert!(each.iter().all(|amount| *amount >= 0), "{name} {each:?}");
            assert!(each.iter().sum::<i64>() <= total, "{name} is oversold: {each:?}");
        }
        let mut devices = Vec::new();
        for list in slots.iter().filter_map(|key| self.point.sent_ad(*key)?.get("AvailableGPUs")) {
            let text = list.unparse().to_string();
            let names = text.trim_matches(['{', '}', ' ']).split(',').map(|name| name.trim().to_owned());
            devices.extend(names.filter(|name| !name.is_empty()));
        }
        let all = devices.len();
        devices.sort();
        devices.dedup();
        assert_eq!(devices.len(), all, "a device stands in two slots");
    }

    /// Checks that no slot stays in a state longer than its time-out.
    fn check_stays(&mut self, slots: &[(SlotKey, String, SlotState, Activity)]) {
        let now = self.now.monotonic_us;
        self.since.retain(|key, _| slots.iter().any(|(other, ..)| other == key));
        for (key, id, state, activity) in slots {
            let stay = self.since.entry(*key).or_insert((*state, *activity, now));
            if (stay.0, stay.1) != (*state, *activity) {
                *stay = (*state, *activity, now);
            }
            // A starter that ignores requests keeps its slot, but must get a stronger request.
            let (most, expected_request) = match (state, activity) {
                (SlotState::Matched, _) => (MATCH_TIMEOUT, EndRequest::Killed),
                (SlotState::Preempting, Activity::Vacating) => (VACATE_TIME, EndRequest::Hard),
                (SlotState::Preempting, Activity::Killing) => (KILLING_TIMEOUT, EndRequest::Killed),
                _ => continue,
            };
            let stayed = (now - stay.2) / 1_000_000;
            let starter = self.starters.values().find(|(slot, backfill, _)| slot == key && !backfill);
            assert!(
                stayed <= most + LATE || starter.is_some_and(|starter| starter.2 >= expected_request),
                "{id} is {state}/{activity} for {stayed} s, and its starter received {starter:?}"
            );
        }
    }

    /// Checks that, without further events and with starters that obey, no slot stays in an intermediate state.
    fn settle(&mut self) {
        self.happen(&Thing::Load(0));
        for _ in 0..40 {
            self.wait(5);
            while let Some((_, run)) = self.fetches.pop() {
                self.step(StartdEvent::HookEnded { run, stdout: Vec::new(), cut: false });
            }
            self.step(StartdEvent::BenchmarksEnded);
            let ending: Vec<StarterId> = self
                .starters
                .iter()
                .filter(|(_, running)| running.2 > EndRequest::Nothing)
                .map(|(starter, _)| *starter)
                .collect();
            ending.into_iter().for_each(|starter| self.ends(starter));
        }
        for (_, id, state, activity) in self.slots() {
            let passing = matches!(state, SlotState::Matched | SlotState::Preempting)
                || matches!(activity, Activity::Vacating | Activity::Killing | Activity::Benchmarking);
            assert!(!passing, "{id} stays {state}/{activity}; starters: {:?}", self.starters);
            // Idle claims end because of their lease, or because a fetch returns no job.
            assert!(
                (state, activity) != (SlotState::Claimed, Activity::Idle),
                "{id} stays claimed by nobody"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn random_events_never_oversell_lose_or_block_anything(
        layout in layout(),
        reference in any::<bool>(),
        things in proptest::collection::vec(thing(), 1..60),
    ) {
        let quirks = if reference { QuirkMode::Reference } else { QuirkMode::Manual };
        let driver = Driver::new(&layout, quirks);
        prop_assume!(driver.is_some());
        let mut driver = driver.unwrap();
        for thing in &things {
            driver.happen(thing);
        }
        if !reference {
            driver.settle();
        }
    }
}
