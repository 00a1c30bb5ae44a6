//! A simulation under way: its machines, the clock that they share, what is to come, and what is kept of what was.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::chance::{Dice, Drawn};
use super::fate::Memory;
use super::host::{Host, Running, SlotSeen};
use super::in_order::InOrder;
use super::pattern::Presence;
use super::plan::Plan;
use super::queue::{Queue, Refused};
use super::scenario::{Behaviour, HookName, Scenario, named};
use super::summary::Counting;
use super::timeline::{Mark, Timeline};
use super::times::{Moment, micros};
use super::workload::Workload;
use htc_base::quirks::Quirks;
use htc_base::time::Now;
use htc_base::world::World;
use htc_runner::events::Event as StreamEvent;
use htc_slot::{Activity, ExecutionPoint, HookRun, SlotKey, StarterId, State};

/// What comes due. Of what is due at the same time the first kind comes first, then the first machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Jobs come.
    Arrival,
    /// Something of the scenario is done, by its number.
    Done(u32),
    /// A keyboard or a load changes, by the number of its presence.
    Presence(u32),
    /// A starter ends.
    Exit(u32, StarterId, u32),
    /// The machine is to look: its timers come before what its hooks print, as in the daemon. So what a call brings that ends with a
    /// poll is the same whether anything was done at the ends of others before it.
    Wake(u32),
    /// A slot's FETCH_WORK ends.
    Hook(u32, SlotKey, Fetch),
}

/// A call of FETCH_WORK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fetch {
    /// By a slot that asks again and again in vain; the number says whether it still does. It is made only if there is a job at its
    /// end: of a thousand slots that ask in the same second one gets it, and nothing becomes of the others' calls.
    Counted(u32),
    /// By a slot that is told of its end.
    Made(HookRun),
}

/// How it is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Play {
    /// Every slot is looked at in every poll, whether or not anything has changed.
    pub every_poll: bool,
}

/// A slot that is looked at.
pub struct Seen<'a> {
    /// Its machine.
    pub machine: &'a ExecutionPoint,
    /// Its key there.
    pub key: SlotKey,
    /// Which configuration the machine has: the number of the call that made it.
    pub config: usize,
}

/// Who is told of what happens: the machine's number, seconds since the start, the event.
pub type Tell<'a> = &'a mut dyn FnMut(f64, &StreamEvent);

/// One simulation under way.
pub struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) plan: &'a Plan,
    pub(super) hosts: Vec<Host>,
    pub(super) calendar: BinaryHeap<Reverse<(u64, Due)>>,
    pub(super) begun: Now,
    pub(super) now: Now,
    /// In microseconds since the start.
    pub(super) end: u64,
    pub(super) workload: Workload,
    pub(super) queue: Queue,
    pub(super) counting: Counting,
    pub(super) timeline: Option<Timeline>,
    pub(super) tell: Option<Tell<'a>>,
    pub(super) world: Rc<dyn World>,
    pub(super) presences: Vec<Presence>,
    pub(super) behaviours: Vec<(u64, u64, &'a Behaviour)>,
    pub(super) dice: Dice,
    pub(super) play: Play,
    pub(super) rows: u32,
    pub(super) finished: Option<String>,
    /// Slots whose calls of FETCH_WORK are counted only: when the next one ends, in microseconds since the start, or earlier.
    pub(super) asks: InOrder<(u64, u32, SlotKey, u32)>,
    /// The one of them that stands in the calendar.
    pub(super) asking: Option<(u64, u32, SlotKey)>,
    /// The last call of FETCH_WORK that has ended: of those that end in the same moment earlier ones have had their answer.
    pub(super) answered: Option<(u64, u32, SlotKey)>,
    pub(super) row_names: Vec<(u32, String)>,
    pub(super) memory: Option<Memory>,
    /// How many things have come due.
    pub(super) turn: Rc<Cell<u64>>,
    /// How far it was to go on last, in microseconds since the start.
    pub(super) at_least: u64,
    pub(super) row_of: FxHashMap<(u32, SlotKey), u32>,
}

impl<'a> Simulation<'a> {
    /// Prepares it.
    pub fn new(
        scenario: &'a Scenario,
        plan: &'a Plan,
        workload: Workload,
        world: Rc<dyn World>,
        play: Play,
    ) -> Self {
        let begun = Now::at_epoch(plan.start);
        let mut simulation = Simulation {
            scenario,
            plan,
            hosts: Vec::new(),
            calendar: BinaryHeap::new(),
            begun,
            now: begun,
            end: (scenario.length.0 * 1e6) as u64,
            queue: Queue::new(scenario.queue),
            workload,
            counting: Counting::default(),
            timeline: None,
            tell: None,
            world,
            presences: Vec::new(),
            behaviours: Vec::new(),
            dice: Dice::new(&[scenario.seed, 0xD1CE]),
            play,
            rows: 0,
            finished: None,
            asks: InOrder::new(),
            asking: None,
            answered: None,
            row_names: Vec::new(),
            memory: None,
            turn: Rc::default(),
            at_least: 0,
            row_of: FxHashMap::default(),
        };
        for (hook, name) in
            simulation.counting.hooks.iter_mut().zip(["FETCH_WORK", "REPLY_FETCH", "EVICT_CLAIM"])
        {
            hook.hook = name.to_owned();
        }
        simulation.make_hosts();
        simulation.make_calendar();
        simulation
    }

    /// Events are told to `tell` as they happen.
    #[must_use]
    pub fn telling(mut self, tell: Tell<'a>) -> Self {
        self.tell = Some(tell);
        self.hosts.iter_mut().for_each(|host| host.machine.make_every_fetch());
        self
    }

    /// A timeline is kept, for pictures.
    #[must_use]
    pub fn drawing(mut self) -> Self {
        self.timeline = Some(Timeline::new(self.end));
        self
    }

    fn make_hosts(&mut self) {
        let quirks = self.plan.quirks();
        for (at, plan) in self.plan.machines.iter().enumerate() {
            let rests = !self.play.every_poll
                && quirks == Quirks::None
                && plan.limits_are_none()
                && !plan.may_stop_by_itself();
            let mut settings = plan.settings.clone();
            // What cron jobs publish may be meant for one slot, by its name or number.
            if let Some(asked) = plan.asked.as_ref().filter(|_| rests && plan.cron.is_empty()) {
                settings.share(asked);
            }
            for number in 1..=plan.count {
                let name = match (&plan.name, plan.count) {
                    (Some(name), 1) => name.clone(),
                    (Some(name), _) => format!("{name}{number}"),
                    (None, _) => String::new(),
                };
                let suffix = if name.is_empty() { String::new() } else { format!("@{name}") };
                let mut machine = ExecutionPoint::new(settings.clone(), self.world.clone(), self.begun);
                if rests {
                    machine.look_only_at_changes(&plan.asked, self.fixed_fetch());
                    // What ends with its beginning cannot be put off to its end.
                    if self.fixed_fetch().is_none_or(|takes| takes.is_zero()) {
                        machine.make_every_fetch();
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
                    present: 0,
                    input_at: None,
                    disturbed: None,
                    dependence: htc_slot::dependence(plan.asked.as_ref()),
                    minded: None,
                    finished: false,
                    asleep: None,
                    next_pid: 1000,
                    wake: None,
                    ranks: plan.ranks,
                    config: plan.configs.get(&None).copied().unwrap_or(0),
                });
            }
        }
        for host in 0..self.hosts.len() {
            let keys: Vec<SlotKey> = self.hosts[host].machine.slots().map(|(key, ..)| key).collect();
            for key in keys {
                self.see(host, key, (State::Owner, Activity::Idle));
            }
        }
    }

    /// How long every FETCH_WORK takes, where that is no matter of chance.
    fn fixed_fetch(&self) -> Option<Duration> {
        let fetch = self.scenario.hooks.iter().any(|hook| hook.hook == HookName::FetchWork);
        match self.scenario.fetch_takes.0 {
            Drawn::Fixed(seconds) if !fetch => Some(Duration::from_micros(micros(seconds))),
            _ => None,
        }
    }

    fn make_calendar(&mut self) {
        let world = self.world.clone();
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let start = self.plan.start;
        let since = |moment: Moment| {
            let seconds = moment.epoch(start, offset) - start as f64;
            (seconds.max(0.0) * 1e6).round() as u64
        };
        for (at, done) in (0..).zip(&self.scenario.events) {
            self.calendar.push(Reverse((since(done.at), Due::Done(at))));
        }
        self.behaviours = self
            .scenario
            .hooks
            .iter()
            .map(|hook| (since(hook.from), hook.to.map_or(u64::MAX, since), hook))
            .collect();
        if let Some(at) = self.workload.next_at() {
            self.calendar.push(Reverse((at, Due::Arrival)));
        }
        self.presences = Presence::all(self.scenario, &self.hosts, start);
        for (at, presence) in (0..).zip(&mut self.presences) {
            if let Some(next) = presence.next(&offset) {
                self.calendar.push(Reverse((next, Due::Presence(at))));
            }
        }
    }

    /// Microseconds since the start.
    pub(super) fn since(&self) -> u64 {
        self.now.monotonic_us - self.begun.monotonic_us
    }

    /// A slot is seen for the first time, or again.
    pub(super) fn see(&mut self, host: usize, key: SlotKey, pair: (State, Activity)) {
        let since = self.since();
        let it = &mut self.hosts[host];
        let number = u32::try_from(host).unwrap_or(0);
        let row = *self.row_of.entry((number, key)).or_insert_with(|| {
            self.row_names.push((number, it.slot_name(key)));
            self.rows += 1;
            self.rows - 1
        });
        let type_name: Rc<str> = it.type_name(key).into();
        let count = self.counting.types.entry(type_name.to_string()).or_default();
        if key.sub == 0 || row + 1 == self.rows {
            count.slots += 1;
        }
        let cpus = it.machine.cpus(key).unwrap_or(1.0);
        let seen = SlotSeen { row, type_name, cpus, pair, since, refused: Refused::default(), leaving: None };
        it.slots.insert(key, seen);
    }

    /// What the hook does at this call, where the scenario says so.
    pub(super) fn behaviour(&mut self, hook: HookName, host: usize) -> Option<&'a Behaviour> {
        let now = self.since();
        let name = &self.hosts[host].name;
        let found = self.behaviours.iter().find(|(from, to, it)| {
            it.hook == hook && (*from..*to).contains(&now) && named(it.machines.as_deref(), name)
        });
        let (_, _, behaviour) = *found?;
        let is_meant = behaviour.percent >= 100.0 || self.dice.fraction() * 100.0 < behaviour.percent;
        is_meant.then_some(behaviour)
    }

    /// A job begins to run.
    pub(super) fn run_job(&mut self, host: usize, starter: StarterId, running: Running) {
        let number = u32::try_from(host).unwrap_or(0);
        self.calendar.push(Reverse((running.ends, Due::Exit(number, starter, running.turn))));
        self.hosts[host].starters.insert(starter, running);
    }

    /// Something is told to whoever listens.
    pub(super) fn told(&mut self, make: impl FnOnce(&Self) -> StreamEvent) {
        if self.tell.is_none() {
            return;
        }
        let event = make(self);
        // Of seconds since 1970 less is left than hundredths.
        let at = self.since() as f64 / 1e6;
        if let Some(tell) = &mut self.tell {
            tell(at, &event);
        }
    }

    /// A mark in the timeline.
    pub(super) fn mark(&mut self, host: usize, key: SlotKey, mark: Mark) {
        let at = self.since();
        let row = self.hosts[host].slots.get(&key).map(|slot| slot.row);
        if let (Some(timeline), Some(row)) = (&mut self.timeline, row) {
            timeline.mark(row, at, mark);
        }
    }
}
