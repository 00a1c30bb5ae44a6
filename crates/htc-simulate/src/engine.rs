//! The engine: machines on one clock that is moved by hand, from one thing that happens to the next.

use std::cell::Cell;
use std::cmp::Reverse;
use std::rc::Rc;
use std::time::Duration;

use super::actions;
use super::fate::Happened;
use super::host::Host;
use super::plan::ranks;
use super::scenario::{Done, named};
use super::simulation::{Due, Fetch, Seen, Simulation};
use super::workload::Job;
use htc_base::time::Tick;
use htc_slot::{Activity, Event, HookRun, SlotKey, StarterId, State};

impl Simulation<'_> {
    /// The slot of that name, as its machine stands now: everything published as it is at this moment.
    pub fn look_at_slot(&mut self, name: &str) -> Option<Seen<'_>> {
        let found = self.hosts.iter().enumerate().find_map(|(host, it)| {
            let named =
                |(key, ..): &(SlotKey, &str, State, Activity)| it.slot_name(*key).eq_ignore_ascii_case(name);
            it.machine.slots().find(named).map(|(key, ..)| (host, key))
        });
        let (host, key) = found?;
        let at = self.at_least.max(self.since());
        self.now = self.begun.plus(Duration::from_micros(at));
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

    /// Begins: what the scenario measures at the start is known when the machines look for the first time.
    pub fn begin(&mut self) {
        let due = self.due_at_start();
        for due in &due {
            match due {
                Due::Done(at) => self.at_machines_of(*at, Self::measure_there),
                Due::Presence(at) => self.presence_changes(*at),
                _ => {}
            }
        }
        for host in 0..self.hosts.len() {
            let measured = self.hosts[host].measured(self.now);
            self.step(host, measured);
            self.step(host, Event::Start);
            self.ask_to_be_woken(host);
        }
        for due in due {
            if let Due::Done(at) = due {
                self.at_machines_of(at, Self::order_there);
                self.repeat(at);
            }
        }
    }

    /// Takes the events and patterns out of the calendar that are due at the start.
    fn due_at_start(&mut self) -> Vec<Due> {
        let mut found = Vec::new();
        let mut later = Vec::new();
        while let Some(Reverse((0, due))) = self.calendar.peek().copied() {
            self.calendar.pop();
            match due {
                Due::Done(_) | Due::Presence(_) => found.push(due),
                other => later.push(Reverse((0, other))),
            }
        }
        self.calendar.extend(later);
        found
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
        self.now = self.now.plus(Duration::from_micros(passed));
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
            Due::Presence(at) => self.presence(at),
            Due::Exit(host, starter, turn) => self.exit(host as usize, starter, turn),
            Due::Hook(host, _, Fetch::Made(run)) => self.hook_ends(host as usize, run),
            Due::Hook(host, key, Fetch::Counted(turn)) => self.counted_fetch_ends(host, key, turn),
            Due::Wake(host) => {
                let host = host as usize;
                let is_asleep = self.hosts[host].asleep.is_some();
                if self.hosts[host].wake.take_if(|wake| *wake <= self.now.monotonic_us).is_some()
                    && !is_asleep
                {
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
        self.at_machines_of(at, Self::do_there);
        self.repeat(at);
    }

    /// Applies an event, or a part of it, to the machines that it names.
    fn at_machines_of(&mut self, at: u32, apply: impl Fn(&mut Self, usize, usize, &Done)) {
        let scenario = self.scenario;
        let Some(done) = scenario.events.get(at as usize) else { return };
        for host in 0..self.hosts.len() {
            if !named(done.machines.as_deref(), &self.hosts[host].name) || self.hosts[host].finished {
                continue;
            }
            apply(self, host, at as usize, done);
            self.ask_to_be_woken(host);
        }
    }

    /// Puts the next occurrence of an event into the calendar.
    fn repeat(&mut self, at: u32) {
        if let Some(every) = self.scenario.events.get(at as usize).and_then(|done| done.every) {
            let next = self.since() + ((every.0 * 1e6) as u64).max(1);
            self.calendar.push(Reverse((next, Due::Done(at))));
        }
    }

    fn do_there(&mut self, host: usize, at: usize, done: &Done) {
        self.measure_there(host, at, done);
        self.order_there(host, at, done);
    }

    /// What an event measures or publishes.
    fn measure_there(&mut self, host: usize, at: usize, done: &Done) {
        let it = &mut self.hosts[host];
        it.disturb(self.now);
        if let Some(load) = done.load {
            it.load = load;
        }
        if let Some(idle) = done.idle {
            it.input_at = Some(self.now.epoch() - idle.0 as i64);
        }
        if done.load.is_some() || done.idle.is_some() {
            self.measure(host);
        }
        let plan = &self.plan.machines[self.hosts[host].plan];
        if let Some(ads) = plan.cron.get(&at) {
            self.step(host, Event::Cron(ads.clone()));
        }
    }

    /// What an event configures or asks for.
    fn order_there(&mut self, host: usize, at: usize, _: &Done) {
        let plan = &self.plan.machines[self.hosts[host].plan];
        if let Some(settings) = plan.reconfigured.get(&at) {
            self.hosts[host].ranks = ranks(settings);
            self.hosts[host].config = plan.configs.get(&Some(at)).copied().unwrap_or(0);
            self.step(host, Event::Reconfigure(settings.clone()));
        }
        if let Some(event) = self.plan.commands.get(&at) {
            self.step(host, event.clone());
        }
    }

    /// Gives a machine what is measured of it now; a sleeping one is woken by whoever sits down at it.
    fn measure(&mut self, host: usize) {
        let measured = self.hosts[host].measured(self.now);
        self.step(host, measured);
        if self.hosts[host].is_woken() {
            self.hosts[host].asleep = None;
            self.step(host, Event::Woke { failure: None });
        }
    }

    fn presence(&mut self, at: u32) {
        self.presence_changes(at);
        if let Some(host) = self.presences.get(at as usize).map(|presence| presence.host) {
            self.measure(host);
            self.ask_to_be_woken(host);
        }
    }

    /// Somebody comes or leaves, or a load begins or ends.
    fn presence_changes(&mut self, at: u32) {
        let world = self.world.clone();
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let Some(presence) = self.presences.get_mut(at as usize) else { return };
        let host = presence.host;
        presence.turn(&mut self.hosts[host], self.now);
        self.hosts[host].disturb(self.now);
        if let Some(next) = presence.next(&offset) {
            self.calendar.push(Reverse((next, Due::Presence(at))));
        }
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
        // No timer of a sleeping machine runs.
        let is_awake = it.asleep.is_none();
        let number = u32::try_from(host).unwrap_or(0);
        if let Some(wake) = it.machine.next_wake().map(|Tick(wake)| wake).filter(|_| is_awake)
            && it.wake.is_none_or(|asked| wake < asked)
        {
            it.wake = Some(wake);
            let at = wake.saturating_sub(self.begun.monotonic_us);
            self.calendar.push(Reverse((at, Due::Wake(number))));
        }
        for (key, Tick(asks), turn) in parked {
            let at = asks.saturating_sub(self.begun.monotonic_us);
            self.asks.push((at, number, key, turn));
        }
        for (_, job) in given_up {
            let dropped = self.queue.evicted(job);
            self.dropped(dropped);
        }
    }

    fn exit(&mut self, host: usize, starter: StarterId, turn: u32) {
        let is_due = self.hosts[host].starters.get(&starter).is_some_and(|it| it.turn == turn);
        if !is_due {
            return;
        }
        let Some(running) = self.hosts[host].starters.remove(&starter) else { return };
        actions::job_ends(self, host, running);
        self.step(host, Event::StarterExited { starter, exit: htc_base::process::Exit::Code(0) });
        self.ask_to_be_woken(host);
    }

    fn hook_ends(&mut self, host: usize, run: HookRun) {
        let Some(call) = self.hosts[host].fetches.remove(&run) else { return };
        self.answered = Some((self.since(), u32::try_from(host).unwrap_or(0), call.slot));
        actions::fetch_answers(self, host, &call);
        self.ask_to_be_woken(host);
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
