//! Running simulation: machines, their common clock, the calendar of future events, and the recorded results.

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
use super::state_activity::StateActivity;
use super::summary::SimulationCounters;
use super::timeline::{Timeline, TimelineMark};
use super::times::{TimePoint, to_micros};
use super::unstarted_jobs::UnstartedJobs;
use super::waiting_jobs::{RefusedJobs, WaitingJobs};
use super::workload::Workload;
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_runner::events::RunnerEvent;
use htc_slot::{ExecutionPoint, HookRunId, SlotKey, StarterId};

/// Calendar entry. Entries with the same time are ordered by kind, then by machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DueEvent {
    /// A job arrives.
    JobArrival,
    /// The scenario event with this index is due.
    ScenarioEvent(u32),
    /// The keyboard or load pattern with this index changes.
    Presence(u32),
    /// The starter of a machine exits; the last number must be the job's `end_version`.
    StarterExit(u32, StarterId, u32),
    /// The machine wakes up because a timer is due. In the daemon, timers come before the output of hooks. The same
    /// order here makes the result of a call that ends at the time of a poll independent of other calls.
    Wake(u32),
    /// A FETCH_WORK call of a slot ends.
    FetchEnd(u32, SlotKey, FetchCall),
}

/// Kind of a FETCH_WORK call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FetchCall {
    /// Call of a slot whose calls are only counted. The number identifies the period of counting, and shows whether
    /// the slot still belongs to it. The call is simulated only if a job is waiting at its end: if a thousand slots
    /// call in the same second, one slot gets the job, and the other calls have no effect.
    Counted(u32),
    /// Simulated call, whose end is sent to the slot as an event.
    Executed(HookRunId),
}

/// Options of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulationOptions {
    /// True to evaluate every slot at every poll, even if nothing has changed.
    pub every_poll: bool,
}

/// View of a slot and its machine.
pub struct SlotView<'a> {
    /// Machine of the slot.
    pub machine: &'a ExecutionPoint,
    /// Key of the slot in the machine.
    pub key: SlotKey,
    /// Number of the machine's configuration, given by the function that created it.
    pub config_number: usize,
}

/// Function that receives events; its first argument is the time in seconds since the start.
pub type EventSink<'a> = &'a mut dyn FnMut(f64, &RunnerEvent);

/// Running simulation.
pub struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) plan: &'a SimulationPlan,
    pub(super) hosts: Vec<Host>,
    pub(super) calendar: BinaryHeap<Reverse<(u64, DueEvent)>>,
    pub(super) started_at: ClockReading,
    pub(super) now: ClockReading,
    /// End time, in microseconds since the start.
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
    /// Number of jobs after which all machines together stop fetching, or `None`. If there is only one machine, its
    /// own settings contain the limit.
    pub(super) job_limit: Option<u64>,
    pub(super) finished: Option<String>,
    /// Jobs that were dropped before their first start.
    pub(super) dropped_unstarted: UnstartedJobs,
    /// Slots whose FETCH_WORK calls are only counted. Each is sorted by the time when its next call ends, or by an
    /// earlier time, in microseconds since the start.
    pub(super) counted_fetches: SortedQueue<(u64, u32, SlotKey, u32)>,
    /// The counted call whose end is in the calendar, or `None`.
    pub(super) scheduled_fetch: Option<(u64, u32, SlotKey)>,
    /// The last FETCH_WORK call that has ended, or `None`. Calls that end at the same time and sort before it have
    /// also ended.
    pub(super) last_answered: Option<(u64, u32, SlotKey)>,
    pub(super) row_names: Vec<(u32, String)>,
    pub(super) job_events: Option<JobEventRecorder>,
    /// Number of calendar entries processed.
    pub(super) turn: Rc<Cell<u64>>,
    /// Time to which the simulation was last advanced, in microseconds since the start.
    pub(super) advanced_to: u64,
    pub(super) row_of: FxHashMap<(u32, SlotKey), u32>,
}

impl<'a> Simulation<'a> {
    /// Creates a simulation of a plan.
    pub fn new(
        scenario: &'a Scenario,
        plan: &'a SimulationPlan,
        workload: Workload,
        world: Rc<dyn World>,
        options: SimulationOptions,
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
            options,
            row_count: 0,
            job_limit: None,
            finished: None,
            dropped_unstarted: UnstartedJobs::default(),
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
        if simulation.hosts.len() > 1 {
            simulation.job_limit = plan.machines.iter().find_map(|machine| machine.settings.limits.max_jobs);
        }
        simulation.make_calendar();
        simulation
    }

    /// Passes the events of the simulation to `sink` as they happen.
    #[must_use]
    pub fn with_event_sink(mut self, sink: EventSink<'a>) -> Self {
        self.event_sink = Some(sink);
        self.hosts.iter_mut().for_each(|host| host.machine.disable_fetch_skipping());
        self
    }

    /// Records a timeline for pictures.
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
            // With cron jobs, slots do not share a configuration, because an ad of a cron job may be for one slot
            // only, by its name or number.
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
                    // A call without duration ends at once, so its end cannot be postponed.
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
                    last_change_for_others: None,
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
                self.register_slot(host, key, StateActivity::INITIAL);
            }
        }
    }

    /// Returns the duration of every FETCH_WORK call, or `None` if it is random.
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

    /// Returns the current time in microseconds since the start.
    pub(super) fn elapsed_micros(&self) -> u64 {
        self.now.monotonic_us - self.started_at.monotonic_us
    }

    /// Starts recording a slot that is new, or that was created again.
    pub(super) fn register_slot(&mut self, host: usize, key: SlotKey, state: StateActivity) {
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
        let record = SlotRecord {
            row,
            type_name,
            cpus,
            state,
            since,
            refused: RefusedJobs::default(),
            pending_vacate: None,
        };
        it.slots.insert(key, record);
    }

    /// Returns the behaviour that the scenario defines for the next call of a hook, or `None` if it defines none.
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

    /// Starts a job's run.
    pub(super) fn start_job(&mut self, host: usize, starter: StarterId, running: RunningJob) {
        let number = u32::try_from(host).unwrap_or(0);
        self.calendar
            .push(Reverse((running.ends_at, DueEvent::StarterExit(number, starter, running.end_version))));
        self.hosts[host].starters.insert(starter, running);
    }

    /// Passes an event to the receiver, if there is one.
    pub(super) fn emit_event(&mut self, make: impl FnOnce(&Self) -> RunnerEvent) {
        if self.event_sink.is_none() {
            return;
        }
        let event = make(self);
        // The time since the start is used, because seconds since the epoch would lose precision as a floating-point
        // number.
        let at = self.elapsed_micros() as f64 / 1e6;
        if let Some(sink) = &mut self.event_sink {
            sink(at, &event);
        }
    }

    /// Adds a mark to the row of a slot in the timeline.
    pub(super) fn add_mark(&mut self, host: usize, key: SlotKey, mark: TimelineMark) {
        let at = self.elapsed_micros();
        let row = self.hosts[host].slots.get(&key).map(|slot| slot.row);
        if let (Some(timeline), Some(row)) = (&mut self.timeline, row) {
            timeline.add_mark(row, at, mark);
        }
    }
}
