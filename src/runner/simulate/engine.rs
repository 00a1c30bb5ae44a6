//! The engine: machines on one clock that is moved by hand, from one thing that happens to the next.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::actions;
use super::chance::Dice;
use super::fate::{Happened, Memory};
use super::host::{Host, Running, SlotSeen, micros};
use super::pattern::Tide;
use super::plan::Plan;
use super::queue::{Queue, Refused};
use super::scenario::{Behaviour, Done, HookName, Scenario};
use super::summary::Counting;
use super::timeline::Timeline;
use super::workload::{Job, Workload};
use crate::quirks::Quirks;
use crate::runner::events::Event as StreamEvent;
use crate::slot::{Action, Activity, Event, HookRun, SlotKey, StarterId, State};
use crate::time::{Now, Tick};
use crate::world::World;

/// What comes due. Of what is due at the same time the first kind comes first, then the first machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Jobs come.
    Arrival,
    /// Something of the scenario is done, by its number.
    Done(u32),
    /// A keyboard or a load changes, by the number of its tide.
    Tide(u32),
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
    pub machine: &'a crate::slot::ExecutionPoint,
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
    pub(super) tides: Vec<Tide>,
    pub(super) behaviours: Vec<(u64, u64, &'a Behaviour)>,
    pub(super) dice: Dice,
    pub(super) play: Play,
    pub(super) rows: u32,
    pub(super) finished: Option<String>,
    /// Slots whose calls of FETCH_WORK are counted only: when the next one ends, in microseconds since the start, or earlier.
    pub(super) asks: BinaryHeap<Reverse<(u64, u32, SlotKey, u32)>>,
    /// The one of them that stands in the calendar.
    pub(super) asking: Option<(u64, u32, SlotKey)>,
    /// The last call of FETCH_WORK that has ended: of those that end in the same moment earlier ones have had their answer.
    pub(super) answered: Option<(u64, u32, SlotKey)>,
    pub(super) row_names: Vec<(u32, String)>,
    pub(super) memory: Option<Memory>,
    /// How many things have come due.
    pub(super) turn: Rc<Cell<u64>>,
    /// How far it was to go on last, in microseconds since the start.
    at_least: u64,
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
            tides: Vec::new(),
            behaviours: Vec::new(),
            dice: Dice::new(&[scenario.seed, 0xD1CE]),
            play,
            rows: 0,
            finished: None,
            asks: BinaryHeap::new(),
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

    /// The slot of that name, as its machine stands now: everything published as it is at this moment.
    pub fn look_at_slot(&mut self, name: &str) -> Option<Seen<'_>> {
        let found = self.hosts.iter().enumerate().find_map(|(host, it)| {
            let named =
                |(key, ..): &(SlotKey, &str, State, Activity)| it.slot_name(*key).eq_ignore_ascii_case(name);
            it.machine.slots().find(named).map(|(key, ..)| (host, key))
        });
        let (host, key) = found?;
        let at = self.at_least.max(self.since());
        self.now = self.begun.plus(micros(at));
        self.step(host, Event::Refresh);
        let it = &self.hosts[host];
        Some(Seen { machine: &it.machine, key, config: it.config })
    }

    /// The number of the turn, now and whenever it is asked for: each thing that comes due is one.
    pub fn turn(&self) -> Rc<Cell<u64>> {
        self.turn.clone()
    }

    /// Goes on up to the turn of that number; what is due then is not done, but its time has come.
    pub fn advance_to_turn(&mut self, turn: u64) {
        while self.turn.get() + 1 < turn && self.take_turn(self.end) {}
        if let Some(Reverse((at, _))) = self.calendar.peek() {
            self.at_least = *at;
        }
    }

    /// How long it lasts, in microseconds.
    pub fn length(&self) -> u64 {
        self.end
    }

    /// The names of all slots there are now.
    pub fn slot_names(&self) -> Vec<String> {
        let of = |it: &Host| it.machine.slots().map(|(key, ..)| it.slot_name(key)).collect::<Vec<_>>();
        self.hosts.iter().flat_map(of).collect()
    }

    fn make_hosts(&mut self) {
        let quirks = self.plan.quirks();
        for (at, plan) in self.plan.machines.iter().enumerate() {
            let rests = !self.play.every_poll && quirks == Quirks::None && plan.limits_are_none();
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
                let mut machine =
                    crate::slot::ExecutionPoint::new(settings.clone(), self.world.clone(), self.begun);
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
                    minds: crate::slot::minds(plan.asked.as_ref()),
                    minded: None,
                    finished: false,
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
    fn fixed_fetch(&self) -> Option<std::time::Duration> {
        let fetch = self.scenario.hooks.iter().any(|hook| hook.hook == HookName::FetchWork);
        match self.scenario.fetch_takes.0 {
            super::chance::Drawn::Fixed(seconds) if !fetch => Some(micros((seconds * 1e6).round() as u64)),
            _ => None,
        }
    }

    fn make_calendar(&mut self) {
        let world = self.world.clone();
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let start = self.plan.start;
        let since = |moment: super::times::Moment| {
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
        self.tides = Tide::all(self.scenario, &self.hosts, start);
        for (at, tide) in (0..).zip(&mut self.tides) {
            if let Some(next) = tide.next(&offset) {
                self.calendar.push(Reverse((next, Due::Tide(at))));
            }
        }
    }

    /// Microseconds since the start.
    pub(super) fn since(&self) -> u64 {
        self.now.monotonic_us - self.begun.monotonic_us
    }

    /// Begins: the machines start.
    pub fn begin(&mut self) {
        for host in 0..self.hosts.len() {
            let measured = self.hosts[host].measured(self.now);
            self.step(host, measured);
            self.step(host, Event::Start);
            self.ask_to_be_woken(host);
        }
    }

    /// Goes on up to `until`, in microseconds since the start, or to the end; what is due at `until` itself is done only where
    /// `inclusive`. Returns whether there is more to come.
    pub fn advance(&mut self, until: u64, inclusive: bool) -> bool {
        let until = until.min(self.end);
        self.at_least = until;
        loop {
            if self.hosts.iter().all(|host| host.finished) {
                return false;
            }
            let Some(Reverse((at, _))) = self.calendar.peek() else { return false };
            if *at > until || (*at == until && !inclusive && until != self.end) {
                return *at <= self.end;
            }
            self.take_turn(until);
        }
    }

    /// What comes due next is done, if that is not after `until`.
    fn take_turn(&mut self, until: u64) -> bool {
        let Some(Reverse((at, due))) = self.calendar.peek().copied().filter(|Reverse((at, _))| *at <= until)
        else {
            return false;
        };
        self.calendar.pop();
        let passed = at.saturating_sub(self.since());
        self.now = self.now.plus(micros(passed));
        self.turn.set(self.turn.get() + 1);
        self.carry_out(due);
        true
    }

    /// Plays it to its end.
    pub fn run(&mut self) {
        self.begin();
        self.advance(u64::MAX, true);
    }

    fn carry_out(&mut self, due: Due) {
        match due {
            Due::Arrival => self.arrivals(),
            Due::Done(at) => self.done(at),
            Due::Tide(at) => self.tide(at),
            Due::Exit(host, starter, turn) => self.exit(host as usize, starter, turn),
            Due::Hook(host, _, Fetch::Made(run)) => self.hook_ends(host as usize, run),
            Due::Hook(host, key, Fetch::Counted(turn)) => self.counted_fetch_ends(host, key, turn),
            Due::Wake(host) => {
                let host = host as usize;
                if self.hosts[host].wake.take_if(|wake| *wake <= self.now.monotonic_us).is_some() {
                    if self.hosts[host].machine.next_wake().is_some_and(|wake| wake <= self.now.tick()) {
                        self.step(host, Event::Tick);
                    }
                    self.ask_to_be_woken(host);
                }
            }
        }
        if !self.queue.is_empty() {
            self.wake_who_waits();
        }
    }

    fn arrivals(&mut self) {
        let now = self.since();
        while self.workload.next_at().is_some_and(|at| at <= now) {
            let Some(job) = self.workload.next_job(&*self.world) else { break };
            let kind = self.workload.kind(job.kind).clone();
            self.counting.each(&kind.owner, kind.group, |part| part.jobs.arrived += 1);
            self.note(&job, |_| Happened::simply("came"));
            self.queue.push(job);
        }
        if let Some(at) = self.workload.next_at() {
            self.calendar.push(Reverse((at, Due::Arrival)));
        }
    }

    fn done(&mut self, at: u32) {
        let scenario = self.scenario;
        let Some(done) = scenario.events.get(at as usize) else { return };
        for host in 0..self.hosts.len() {
            if !named(done.machines.as_deref(), &self.hosts[host].name) || self.hosts[host].finished {
                continue;
            }
            self.do_there(host, at as usize, done);
            self.ask_to_be_woken(host);
        }
        if let Some(every) = done.every {
            let next = self.since() + ((every.0 * 1e6) as u64).max(1);
            self.calendar.push(Reverse((next, Due::Done(at))));
        }
    }

    fn do_there(&mut self, host: usize, at: usize, done: &Done) {
        let it = &mut self.hosts[host];
        it.disturb(self.now);
        if let Some(load) = done.load {
            it.load = load;
        }
        if let Some(idle) = done.idle {
            it.input_at = Some(self.now.epoch() - idle.0 as i64);
        }
        if done.load.is_some() || done.idle.is_some() {
            let measured = it.measured(self.now);
            self.step(host, measured);
        }
        let plan = &self.plan.machines[self.hosts[host].plan];
        if let Some(ads) = plan.cron.get(&at) {
            self.step(host, Event::Cron(ads.clone()));
        }
        if let Some(settings) = plan.reconfigured.get(&at) {
            self.hosts[host].ranks = super::plan::ranks(settings);
            self.hosts[host].config = plan.configs.get(&Some(at)).copied().unwrap_or(0);
            self.step(host, Event::Reconfigure(settings.clone()));
        }
        if let Some(event) = self.plan.commands.get(&at) {
            self.step(host, event.clone());
        }
    }

    fn tide(&mut self, at: u32) {
        let world = self.world.clone();
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let Some(tide) = self.tides.get_mut(at as usize) else { return };
        let host = tide.host;
        tide.turn(&mut self.hosts[host], self.now);
        self.hosts[host].disturb(self.now);
        if let Some(next) = tide.next(&offset) {
            self.calendar.push(Reverse((next, Due::Tide(at))));
        }
        let measured = self.hosts[host].measured(self.now);
        self.step(host, measured);
        self.ask_to_be_woken(host);
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

    /// Asks to be told when the machine has something to do.
    pub(super) fn ask_to_be_woken(&mut self, host: usize) {
        let it = &mut self.hosts[host];
        if it.finished {
            return;
        }
        let mut given_up = Vec::new();
        if !it.accepted.is_empty() {
            it.accepted.retain(|number, jobs| {
                // What was accepted, and whose claim went before it began, goes back.
                let held = it.machine.jobs_not_begun(*number);
                while jobs.len() > held {
                    given_up.extend(jobs.pop_front());
                }
                !jobs.is_empty()
            });
        }
        let parked = it.machine.take_waiting();
        let number = u32::try_from(host).unwrap_or(0);
        if let Some(wake) = it.machine.next_wake().map(|Tick(wake)| wake)
            && it.wake.is_none_or(|asked| wake < asked)
        {
            it.wake = Some(wake);
            let at = wake.saturating_sub(self.begun.monotonic_us);
            self.calendar.push(Reverse((at, Due::Wake(number))));
        }
        for (key, Tick(asks), turn) in parked {
            let at = asks.saturating_sub(self.begun.monotonic_us);
            self.asks.push(Reverse((at, number, key, turn)));
        }
        for (_, job) in given_up {
            let dropped = self.queue.evicted(job);
            self.dropped(dropped);
        }
    }

    /// Tells the machine that something has happened, and does what it asks for.
    pub(super) fn step(&mut self, host: usize, event: Event) {
        let mut waiting = VecDeque::new();
        let mut next = Some(event);
        while let Some(event) = next.take().or_else(|| waiting.pop_front()) {
            let mut actions = self.tell_machine(host, event);
            for action in actions.drain(..) {
                actions::carry_out(self, host, action, &mut waiting);
            }
            self.hosts[host].machine.reuse(actions);
        }
    }

    /// Tells the machine one thing; returns what it asks for.
    pub(super) fn tell_machine(&mut self, host: usize, event: Event) -> Vec<Action> {
        let machine = &mut self.hosts[host].machine;
        match event {
            Event::HookEnded { run, .. } if machine.ended_unheard(run) => Vec::new(),
            event => machine.step(self.now, event),
        }
    }

    fn exit(&mut self, host: usize, starter: StarterId, turn: u32) {
        let is_due = self.hosts[host].starters.get(&starter).is_some_and(|it| it.turn == turn);
        if !is_due {
            return;
        }
        let Some(running) = self.hosts[host].starters.remove(&starter) else { return };
        actions::job_ends(self, host, running);
        self.step(host, Event::StarterExited { starter, exit: crate::process::Exit::Code(0) });
        self.ask_to_be_woken(host);
    }

    fn hook_ends(&mut self, host: usize, run: HookRun) {
        let Some(call) = self.hosts[host].fetches.remove(&run) else { return };
        self.answered = Some((self.since(), u32::try_from(host).unwrap_or(0), call.slot));
        actions::fetch_answers(self, host, &call);
        self.ask_to_be_woken(host);
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

    /// A job that came back and is not fetched again.
    pub(super) fn dropped(&mut self, job: Option<Job>) {
        if let Some(job) = job {
            self.note(&job, |_| Happened::simply("came back and is not fetched again"));
            let kind = self.workload.kind(job.kind).clone();
            self.counting.each(&kind.owner, kind.group, |part| part.jobs.dropped += 1);
        }
    }
}

/// Whether a pattern names the machine; no pattern names all.
pub(super) fn named(pattern: Option<&str>, name: &str) -> bool {
    pattern.is_none_or(|pattern| crate::text::list::matches(pattern.as_bytes(), name.as_bytes()))
}
