//! A simulation under way: its machines, the clock that they share, what is to come, and what is kept of what was.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::host::{Host, RunningJob, SlotRecord};
use super::job_events::JobEventRecorder;
use super::plan::SimulationPlan;
use super::presence::MachinePresence;
use super::random::{RandomGenerator, ValueDistribution};
use super::scenario::{HookBehaviour, HookName, Scenario, matches_machine};
use super::sorted_queue::SortedQueue;
use super::summary::SimulationCounters;
use super::timeline::{Timeline, TimelineMark};
use super::times::{TimePoint, to_micros};
use super::waiting_jobs::{RefusedJobs, WaitingJobs};
use super::workload::Workload;
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_runner::events::RunnerEvent as StreamEvent;
use htc_slot::{Activity, ExecutionPoint, HookRunId, SlotKey, SlotState, StarterId};

/// What comes due. Of what is due at the same time the first kind comes first, then the first machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DueEvent {
    /// Jobs come.
    JobArrival,
    /// Something of the scenario is done, by its number.
    ScenarioEvent(u32),
    /// A keyboard or a load changes, by the number of its presence.
    Presence(u32),
    /// A starter ends.
    StarterExit(u32, StarterId, u32),
    /// The machine is to look: its timers come before what its hooks print, as in the daemon. So what a call brings that ends with a
    /// poll is the same whether anything was done at the ends of others before it.
    Wake(u32),
    /// A slot's FETCH_WORK ends.
    FetchEnd(u32, SlotKey, FetchCall),
}

/// A call of FETCH_WORK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FetchCall {
    /// By a slot that asks again and again in vain; the number says whether it still does. It is made only if there is a job at its
    /// end: of a thousand slots that ask in the same second one gets it, and nothing becomes of the others' calls.
    Counted(u32),
    /// By a slot that is told of its end.
    Executed(HookRunId),
}

/// How it is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulationOptions {
    /// Every slot is looked at in every poll, whether or not anything has changed.
    pub every_poll: bool,
}

/// A slot that is looked at.
pub struct SlotView<'a> {
    /// Its machine.
    pub machine: &'a ExecutionPoint,
    /// Its key there.
    pub key: SlotKey,
    /// Which configuration the machine has: the number of the call that made it.
    pub config_number: usize,
}

/// Who is told of what happens: the machine's number, seconds since the start, the event.
pub type EventSink<'a> = &'a mut dyn FnMut(f64, &StreamEvent);

/// One simulation under way.
pub struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) plan: &'a SimulationPlan,
    pub(super) hosts: Vec<Host>,
    pub(super) calendar: BinaryHeap<Reverse<(u64, DueEvent)>>,
    pub(super) started_at: ClockReading,
    pub(super) now: ClockReading,
    /// In microseconds since the start.
    pub(super) end: u64,
    pub(super) workload: Workload,
    pub(super) queue: WaitingJobs,
    pub(super) counters: SimulationCounters,
    pub(super) timeline: Option<Timeline>,
    pub(super) event_sink: Option<EventSink<'a>>,
    pub(super) world: Rc<dyn World>,
    pub(super) presences: Vec<MachinePresence>,
    pub(super) behaviours: Vec<(u64, u64, &'a HookBehaviour)>,
    pub(super) dice: RandomGenerator,
    pub(super) options: SimulationOptions,
    pub(super) row_count: u32,
    pub(super) finished: Option<String>,
    /// Slots whose calls of FETCH_WORK are counted only: when the next one ends, in microseconds since the start, or earlier.
    pub(super) counted_fetches: SortedQueue<(u64, u32, SlotKey, u32)>,
    /// The one of them that stands in the calendar.
    pub(super) scheduled_fetch: Option<(u64, u32, SlotKey)>,
    /// The last call of FETCH_WORK that has ended: of those that end in the same moment earlier ones have had their answer.
    pub(super) last_answered: Option<(u64, u32, SlotKey)>,
    pub(super) row_names: Vec<(u32, String)>,
    pub(super) job_events: Option<JobEventRecorder>,
    /// How many things have come due.
    pub(super) turn: Rc<Cell<u64>>,
    /// How far it was to go on last, in microseconds since the start.
    pub(super) advanced_to: u64,
    pub(super) row_of: FxHashMap<(u32, SlotKey), u32>,
}

impl<'a> Simulation<'a> {
    /// Prepares it.
    pub fn new(
        scenario: &'a Scenario,
        plan: &'a SimulationPlan,
        workload: Workload,
        world: Rc<dyn World>,
        play: SimulationOptions,
    ) -> Self {
        let begun = ClockReading::from_epoch(plan.start);
        let mut simulation = Simulation {
            scenario,
            plan,
            hosts: Vec::new(),
            calendar: BinaryHeap::new(),
            started_at: begun,
            now: begun,
            end: (scenario.length.0 * 1e6) as u64,
            queue: WaitingJobs::new(scenario.queue),
            workload,
            counters: SimulationCounters::default(),
            timeline: None,
            event_sink: None,
            world,
            presences: Vec::new(),
            behaviours: Vec::new(),
            dice: RandomGenerator::new(&[scenario.seed, 0xD1CE]),
            options: play,
            row_count: 0,
            finished: None,
            counted_fetches: SortedQueue::new(),
            scheduled_fetch: None,
            last_answered: None,
            row_names: Vec::new(),
            job_events: None,
            turn: Rc::default(),
            advanced_to: 0,
            row_of: FxHashMap::default(),
        };
        for (hook, name) in
            simulation.counters.hooks.iter_mut().zip(["FETCH_WORK", "REPLY_FETCH", "EVICT_CLAIM"])
        {
            hook.hook = name.to_owned();
        }
        simulation.make_hosts();
        simulation.make_calendar();
        simulation
    }

    /// Events are told to `tell` as they happen.
    #[must_use]
    pub fn with_event_sink(mut self, tell: EventSink<'a>) -> Self {
        self.event_sink = Some(tell);
        self.hosts.iter_mut().for_each(|host| host.machine.disable_fetch_skipping());
        self
    }

    /// A timeline is kept, for pictures.
    #[must_use]
    pub fn with_timeline(mut self) -> Self {
        self.timeline = Some(Timeline::new(self.end));
        self
    }

    fn make_hosts(&mut self) {
        let quirks = self.plan.quirks();
        for (at, plan) in self.plan.machines.iter().enumerate() {
            let rests = !self.options.every_poll
                && quirks == QuirkMode::Manual
                && plan.has_no_limits()
                && !plan.may_stop_by_itself();
            let mut settings = plan.settings.clone();
            // What cron jobs publish may be meant for one slot, by its name or number.
            if let Some(asked) = plan.attributes_read.as_ref().filter(|_| rests && plan.cron.is_empty()) {
                settings.share_slot_configurations(asked);
            }
            for number in 1..=plan.count {
                let name = match (&plan.name, plan.count) {
                    (Some(name), 1) => name.clone(),
                    (Some(name), _) => format!("{name}{number}"),
                    (None, _) => String::new(),
                };
                let suffix = if name.is_empty() { String::new() } else { format!("@{name}") };
                let mut machine = ExecutionPoint::new(settings.clone(), self.world.clone(), self.started_at);
                if rests {
                    machine.enable_poll_skipping(&plan.attributes_read, self.fixed_fetch_duration());
                    // What ends with its beginning cannot be put off to its end.
                    if self.fixed_fetch_duration().is_none_or(|takes| takes.is_zero()) {
                        machine.disable_fetch_skipping();
                    }
                }
                self.hosts.push(Host {
                    machine,
                    suffix,
                    name,
                    plan: at,
                    slots: FxHashMap::default(),
                    starters: FxHashMap::default(),
                    backfills: Default::default(),
                    fetches: FxHashMap::default(),
                    accepted: FxHashMap::default(),
                    load: 0.0,
                    loads: BTreeMap::new(),
                    users_present: 0,
                    input_at: None,
                    last_disturbance: None,
                    dependence: htc_slot::slot_dependence(plan.attributes_read.as_ref()),
                    last_minded_change: None,
                    finished: false,
                    asleep: None,
                    next_pid: 1000,
                    next_wake: None,
                    can_rank_jobs: plan.can_rank_jobs,
                    config_number: plan.configs.get(&None).copied().unwrap_or(0),
                });
            }
        }
        for host in 0..self.hosts.len() {
            let keys: Vec<SlotKey> = self.hosts[host].machine.slots().map(|(key, ..)| key).collect();
            for key in keys {
                self.register_slot(host, key, (SlotState::Owner, Activity::Idle));
            }
        }
    }

    /// How long every FETCH_WORK takes, where that is no matter of chance.
    fn fixed_fetch_duration(&self) -> Option<Duration> {
        let fetch = self.scenario.hooks.iter().any(|hook| hook.hook == HookName::FetchWork);
        match self.scenario.fetch_takes.0 {
            ValueDistribution::Fixed(seconds) if !fetch => Some(Duration::from_micros(to_micros(seconds))),
            _ => None,
        }
    }

    fn make_calendar(&mut self) {
        let world = self.world.clone();
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let start = self.plan.start;
        let since = |moment: TimePoint| {
            let seconds = moment.to_epoch(start, offset) - start as f64;
            (seconds.max(0.0) * 1e6).round() as u64
        };
        for (at, done) in (0..).zip(&self.scenario.events) {
            self.calendar.push(Reverse((since(done.at), DueEvent::ScenarioEvent(at))));
        }
        self.behaviours = self
            .scenario
            .hooks
            .iter()
            .map(|hook| (since(hook.from), hook.to.map_or(u64::MAX, since), hook))
            .collect();
        if let Some(at) = self.workload.next_arrival() {
            self.calendar.push(Reverse((at, DueEvent::JobArrival)));
        }
        self.presences = MachinePresence::for_scenario(self.scenario, &self.hosts, start);
        for (at, presence) in (0..).zip(&mut self.presences) {
            if let Some(next) = presence.next_change(&offset) {
                self.calendar.push(Reverse((next, DueEvent::Presence(at))));
            }
        }
    }

    /// Microseconds since the start.
    pub(super) fn elapsed_micros(&self) -> u64 {
        self.now.monotonic_us - self.started_at.monotonic_us
    }

    /// A slot is seen for the first time, or again.
    pub(super) fn register_slot(&mut self, host: usize, key: SlotKey, pair: (SlotState, Activity)) {
        let since = self.elapsed_micros();
        let it = &mut self.hosts[host];
        let number = u32::try_from(host).unwrap_or(0);
        let row = *self.row_of.entry((number, key)).or_insert_with(|| {
            self.row_names.push((number, it.slot_name(key)));
            self.row_count += 1;
            self.row_count - 1
        });
        let type_name: Rc<str> = it.slot_type_name(key).into();
        let count = self.counters.types.entry(type_name.to_string()).or_default();
        if key.sub == 0 || row + 1 == self.row_count {
            count.slots += 1;
        }
        let cpus = it.machine.slot_cpus(key).unwrap_or(1.0);
        let seen = SlotRecord {
            row,
            type_name,
            cpus,
            state: pair,
            since,
            refused: RefusedJobs::default(),
            pending_vacate: None,
        };
        it.slots.insert(key, seen);
    }

    /// What the hook does at this call, where the scenario says so.
    pub(super) fn hook_behaviour(&mut self, hook: HookName, host: usize) -> Option<&'a HookBehaviour> {
        let now = self.elapsed_micros();
        let name = &self.hosts[host].name;
        let found = self.behaviours.iter().find(|(from, to, it)| {
            it.hook == hook && (*from..*to).contains(&now) && matches_machine(it.machines.as_deref(), name)
        });
        let (_, _, behaviour) = *found?;
        let is_meant = behaviour.percent >= 100.0 || self.dice.next_fraction() * 100.0 < behaviour.percent;
        is_meant.then_some(behaviour)
    }

    /// A job begins to run.
    pub(super) fn start_job(&mut self, host: usize, starter: StarterId, running: RunningJob) {
        let number = u32::try_from(host).unwrap_or(0);
        self.calendar
            .push(Reverse((running.ends_at, DueEvent::StarterExit(number, starter, running.end_version))));
        self.hosts[host].starters.insert(starter, running);
    }

    /// Something is told to whoever listens.
    pub(super) fn emit_event(&mut self, make: impl FnOnce(&Self) -> StreamEvent) {
        if self.event_sink.is_none() {
            return;
        }
        let event = make(self);
        // Of seconds since 1970 less is left than hundredths.
        let at = self.elapsed_micros() as f64 / 1e6;
        if let Some(tell) = &mut self.event_sink {
            tell(at, &event);
        }
    }

    /// A mark in the timeline.
    pub(super) fn add_mark(&mut self, host: usize, key: SlotKey, mark: TimelineMark) {
        let at = self.elapsed_micros();
        let row = self.hosts[host].slots.get(&key).map(|slot| slot.row);
        if let (Some(timeline), Some(row)) = (&mut self.timeline, row) {
            timeline.add_mark(row, at, mark);
        }
    }
}
