//! Simulation engine: machines with a common simulated clock, advanced from one calendar entry to the next.

use std::cell::Cell;
use std::cmp::Reverse;
use std::rc::Rc;
use std::time::Duration;

use super::actions;
use super::host::Host;
use super::job_events::NewJobEvent;
use super::plan::can_rank_jobs;
use super::scenario::{ScenarioEvent, matches_machine};
use super::simulation::{DueEvent, FetchCall, Simulation, SlotView};
use super::workload::Job;
use htc_base::time::MonotonicTime;
use htc_slot::{Activity, HookRunId, SlotKey, SlotState, StartdEvent, StarterId};

impl Simulation<'_> {
    /// Returns a view of the slot with this name, with its ad updated to the current time.
    pub fn view_slot(&mut self, name: &str) -> Option<SlotView<'_>> {
        let found = self.hosts.iter().enumerate().find_map(|(host, it)| {
            let named = |(key, ..): &(SlotKey, &str, SlotState, Activity)| {
                it.slot_name(*key).eq_ignore_ascii_case(name)
            };
            it.machine.slots().find(named).map(|(key, ..)| (host, key))
        });
        let (host, key) = found?;
        let at = self.advanced_to.max(self.elapsed_micros());
        self.now = self.started_at.plus(Duration::from_micros(at));
        self.handle_event(host, StartdEvent::Refresh);
        let it = &self.hosts[host];
        Some(SlotView { machine: &it.machine, key, config_number: it.config_number })
    }

    /// Returns the counter of processed calendar entries, which the caller shares.
    pub fn turn_counter(&self) -> Rc<Cell<u64>> {
        self.turn.clone()
    }

    /// Advances until the calendar entry with number `turn` is due, without processing it.
    pub fn advance_to_turn(&mut self, turn: u64) {
        while self.turn.get() + 1 < turn && self.process_next_due(self.end) {}
        if let Some(Reverse((at, _))) = self.calendar.peek() {
            self.advanced_to = *at;
        }
    }

    /// Returns the length of the simulation, in microseconds.
    pub fn length_micros(&self) -> u64 {
        self.end
    }

    /// Returns the names of all current slots.
    pub fn slot_names(&self) -> Vec<String> {
        let of = |it: &Host| it.machine.slots().map(|(key, ..)| it.slot_name(key)).collect::<Vec<_>>();
        self.hosts.iter().flat_map(of).collect()
    }

    /// Starts the simulation. Measurements that the scenario sets at the start are applied before the machines
    /// evaluate their policies.
    pub fn begin(&mut self) {
        let due = self.take_due_at_start();
        for due in &due {
            match due {
                DueEvent::ScenarioEvent(at) => self.for_machines_of_event(*at, Self::apply_measurements),
                DueEvent::Presence(at) => self.toggle_presence(*at),
                _ => {}
            }
        }
        for host in 0..self.hosts.len() {
            let measured = self.hosts[host].measurement_event(self.now);
            self.handle_event(host, measured);
            self.handle_event(host, StartdEvent::Start);
            self.schedule_wake(host);
        }
        for due in due {
            if let DueEvent::ScenarioEvent(at) = due {
                self.for_machines_of_event(at, Self::apply_orders);
                self.schedule_repetition(at);
            }
        }
    }

    /// Removes the scenario events and presence changes that are due at the start from the calendar, and returns
    /// them.
    fn take_due_at_start(&mut self) -> Vec<DueEvent> {
        let mut found = Vec::new();
        let mut later = Vec::new();
        while let Some(Reverse((0, due))) = self.calendar.peek().copied() {
            self.calendar.pop();
            match due {
                DueEvent::ScenarioEvent(_) | DueEvent::Presence(_) => found.push(due),
                other => later.push(Reverse((0, other))),
            }
        }
        self.calendar.extend(later);
        found
    }

    /// Advances to `until`, in microseconds since the start, or to the end of the simulation. Entries that are due at
    /// exactly `until` are processed only if `inclusive` is true. Returns true if more entries follow.
    pub fn advance(&mut self, until: u64, inclusive: bool) -> bool {
        let until = until.min(self.end);
        self.advanced_to = until;
        loop {
            if self.hosts.iter().all(|host| host.finished) {
                return false;
            }
            let Some(Reverse((at, _))) = self.calendar.peek() else { return false };
            if *at > until || (*at == until && !inclusive && until != self.end) {
                return *at <= self.end;
            }
            self.process_next_due(until);
        }
    }

    /// Processes the next calendar entry if it is not after `until`. Returns false if there is no such entry.
    fn process_next_due(&mut self, until: u64) -> bool {
        let Some(Reverse((at, due))) = self.calendar.peek().copied().filter(|Reverse((at, _))| *at <= until)
        else {
            return false;
        };
        self.calendar.pop();
        let passed = at.saturating_sub(self.elapsed_micros());
        self.now = self.now.plus(Duration::from_micros(passed));
        self.turn.set(self.turn.get() + 1);
        self.process_due(due);
        true
    }

    /// Runs the simulation to its end.
    pub fn run(&mut self) {
        self.begin();
        self.advance(u64::MAX, true);
    }

    fn process_due(&mut self, due: DueEvent) {
        match due {
            DueEvent::JobArrival => self.add_arrivals(),
            DueEvent::ScenarioEvent(at) => self.run_scenario_event(at),
            DueEvent::Presence(at) => self.handle_presence_change(at),
            DueEvent::StarterExit(host, starter, turn) => self.finish_starter(host as usize, starter, turn),
            DueEvent::FetchEnd(host, _, FetchCall::Executed(run)) => self.finish_hook(host as usize, run),
            DueEvent::FetchEnd(host, key, FetchCall::Counted(turn)) => {
                self.finish_counted_fetch(host, key, turn)
            }
            DueEvent::Wake(host) => {
                let host = host as usize;
                let is_asleep = self.hosts[host].asleep.is_some();
                if self.hosts[host].next_wake.take_if(|wake| *wake <= self.now.monotonic_us).is_some()
                    && !is_asleep
                {
                    if self.hosts[host].machine.next_wake().is_some_and(|wake| wake <= self.now.monotonic()) {
                        self.handle_event(host, StartdEvent::Tick);
                    }
                    self.schedule_wake(host);
                }
            }
        }
        if !self.queue.is_empty() {
            self.schedule_counted_fetches();
        }
    }

    fn add_arrivals(&mut self) {
        let now = self.elapsed_micros();
        while self.workload.next_arrival().is_some_and(|at| at <= now) {
            let Some(job) = self.workload.take_next_job(&*self.world) else { break };
            let kind = self.workload.kind(job.kind).clone();
            self.counters.update_each(&kind.owner, kind.group, |part| part.jobs.arrived += 1);
            self.record_job_event(&job, |_| NewJobEvent::without_slot("arrived"));
            self.queue.push(job);
        }
        if let Some(at) = self.workload.next_arrival() {
            self.calendar.push(Reverse((at, DueEvent::JobArrival)));
        }
    }

    fn run_scenario_event(&mut self, at: u32) {
        self.for_machines_of_event(at, Self::apply_event);
        self.schedule_repetition(at);
    }

    /// Applies an event, or one part of it, to each machine that the event names.
    fn for_machines_of_event(&mut self, at: u32, apply: impl Fn(&mut Self, usize, usize, &ScenarioEvent)) {
        let scenario = self.scenario;
        let Some(event) = scenario.events.get(at as usize) else { return };
        for host in 0..self.hosts.len() {
            if !matches_machine(event.machines.as_deref(), &self.hosts[host].name)
                || self.hosts[host].finished
            {
                continue;
            }
            apply(self, host, at as usize, event);
            self.schedule_wake(host);
        }
    }

    /// Schedules the next occurrence of a repeated event.
    fn schedule_repetition(&mut self, at: u32) {
        if let Some(every) = self.scenario.events.get(at as usize).and_then(|event| event.every) {
            let next = self.elapsed_micros() + ((every.0 * 1e6) as u64).max(1);
            self.calendar.push(Reverse((next, DueEvent::ScenarioEvent(at))));
        }
    }

    fn apply_event(&mut self, host: usize, at: usize, event: &ScenarioEvent) {
        self.apply_measurements(host, at, event);
        self.apply_orders(host, at, event);
    }

    /// Applies the measurements and cron ads that an event sets.
    fn apply_measurements(&mut self, host: usize, at: usize, event: &ScenarioEvent) {
        let it = &mut self.hosts[host];
        it.note_disturbance(self.now);
        if let Some(load) = event.load {
            it.load = load;
        }
        if let Some(idle) = event.idle {
            it.input_at = Some(self.now.epoch() - idle.0 as i64);
        }
        if event.load.is_some() || event.idle.is_some() {
            self.publish_measurements(host);
        }
        let plan = &self.plan.machines[self.hosts[host].plan];
        if let Some(ads) = plan.cron.get(&at) {
            self.handle_event(host, StartdEvent::CronPublished(ads.clone()));
        }
    }

    /// Applies the reconfiguration and the command that an event contains.
    fn apply_orders(&mut self, host: usize, at: usize, _: &ScenarioEvent) {
        let plan = &self.plan.machines[self.hosts[host].plan];
        if let Some(settings) = plan.reconfigured.get(&at) {
            self.hosts[host].can_rank_jobs = can_rank_jobs(settings);
            self.hosts[host].config_number = plan.configs.get(&Some(at)).copied().unwrap_or(0);
            self.handle_event(host, StartdEvent::Reconfigure(settings.clone()));
        }
        if let Some(event) = self.plan.commands.get(&at) {
            self.handle_event(host, event.clone());
        }
    }

    /// Sends the current measurements to a machine. A sleeping machine wakes up if a user is at its keyboard.
    fn publish_measurements(&mut self, host: usize) {
        let measured = self.hosts[host].measurement_event(self.now);
        self.handle_event(host, measured);
        if self.hosts[host].is_woken_by_user() {
            self.hosts[host].asleep = None;
            self.handle_event(host, StartdEvent::Awake { failure: None });
        }
    }

    fn handle_presence_change(&mut self, at: u32) {
        let is_felt = self.is_presence_effective(at);
        self.toggle_presence(at);
        if let Some(host) = self.presences.get(at as usize).map(|presence| presence.host)
            && is_felt
        {
            self.publish_measurements(host);
            self.schedule_wake(host);
        }
    }

    /// Returns true if a user or a load can have an effect on its machine. A user at a keyboard to which no slot is
    /// connected can only wake the machine. If such a user were treated as effective, the machine would be evaluated
    /// at other times and get other random numbers.
    fn is_presence_effective(&self, at: u32) -> bool {
        self.presences.get(at as usize).is_some_and(|presence| {
            let host = &self.hosts[presence.host];
            presence.is_load() || host.asleep.is_some() || self.plan.machines[host.plan].sees_keyboard()
        })
    }

    /// Starts or ends a presence: a user arrives or leaves, or a load begins or ends.
    fn toggle_presence(&mut self, at: u32) {
        let world = self.world.clone();
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let is_felt = self.is_presence_effective(at);
        let Some(presence) = self.presences.get_mut(at as usize) else { return };
        let host = presence.host;
        presence.toggle(&mut self.hosts[host], self.now);
        if is_felt {
            self.hosts[host].note_disturbance(self.now);
        }
        if let Some(next) = presence.next_change(&offset) {
            self.calendar.push(Reverse((next, DueEvent::Presence(at))));
        }
    }

    /// Puts a wake-up at the time of the machine's next timer into the calendar.
    pub(super) fn schedule_wake(&mut self, host: usize) {
        let it = &mut self.hosts[host];
        if it.finished {
            return;
        }
        let mut given_up = Vec::new();
        if !it.accepted.is_empty() {
            it.accepted.retain(|number, jobs| {
                // An accepted job whose claim ended before the job was started returns to the queue.
                let held = it.machine.count_jobs_not_begun(*number);
                while jobs.len() > held {
                    given_up.extend(jobs.pop_front());
                }
                !jobs.is_empty()
            });
        }
        let parked = it.machine.take_futile_fetchers();
        // A sleeping machine has no timers.
        let is_awake = it.asleep.is_none();
        let number = u32::try_from(host).unwrap_or(0);
        if let Some(wake) = it.machine.next_wake().map(|MonotonicTime(wake)| wake).filter(|_| is_awake)
            && it.next_wake.is_none_or(|scheduled| wake < scheduled)
        {
            it.next_wake = Some(wake);
            let at = wake.saturating_sub(self.started_at.monotonic_us);
            self.calendar.push(Reverse((at, DueEvent::Wake(number))));
        }
        for (key, MonotonicTime(asks), turn) in parked {
            let at = asks.saturating_sub(self.started_at.monotonic_us);
            self.counted_fetches.push((at, number, key, turn));
        }
        for (_, job) in given_up {
            let dropped = self.queue.return_evicted(job);
            self.record_dropped_job(dropped);
        }
    }

    fn finish_starter(&mut self, host: usize, starter: StarterId, turn: u32) {
        let is_due = self.hosts[host].starters.get(&starter).is_some_and(|it| it.end_version == turn);
        if !is_due {
            return;
        }
        let Some(running) = self.hosts[host].starters.remove(&starter) else { return };
        actions::finish_job(self, host, running);
        self.handle_event(
            host,
            StartdEvent::StarterExited { starter, exit: htc_base::process::Exit::Code(0) },
        );
        self.schedule_wake(host);
    }

    /// Lets all machines stop fetching if they have accepted as many jobs as `--max-jobs` permits.
    pub(super) fn check_job_limit(&mut self) {
        let Some(limit) = self.job_limit.filter(|limit| self.counters.hooks[0].accepted >= *limit) else {
            return;
        };
        for host in 0..self.hosts.len() {
            if !self.hosts[host].finished {
                self.hosts[host].machine.stop_fetching(format!("--max-jobs {limit} is reached"));
                self.handle_event(host, StartdEvent::Refresh);
                self.schedule_wake(host);
            }
        }
    }

    fn finish_hook(&mut self, host: usize, run: HookRunId) {
        let Some(call) = self.hosts[host].fetches.remove(&run) else { return };
        self.last_answered = Some((self.elapsed_micros(), u32::try_from(host).unwrap_or(0), call.slot));
        actions::finish_fetch(self, host, &call);
        self.schedule_wake(host);
    }

    /// Counts and records a job that was returned to the queue and dropped there.
    pub(super) fn record_dropped_job(&mut self, job: Option<Job>) {
        if let Some(job) = job {
            self.record_job_event(&job, |_| {
                NewJobEvent::without_slot("was put back into the queue and is not fetched again")
            });
            let kind = self.workload.kind(job.kind).clone();
            self.counters.update_each(&kind.owner, kind.group, |part| {
                part.jobs.dropped += 1;
                part.jobs.never_run += u64::from(job.starts == 0);
            });
            self.dropped_unstarted.add(&job, self.elapsed_micros());
        }
    }
}
