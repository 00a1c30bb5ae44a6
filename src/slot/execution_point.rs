//! The whole execution point: `step(now, event) -> actions`.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::claim::Phase;
use super::core::{Alarm, Core, DrainPart};
use super::cron_ads::CronAds;
use super::interface::{Action, Event, HookRun, Shutdown, SlotKey, StarterId, VacateReason, Waits};
use super::settings::{CronSettings, Settings};
use super::single::Slot;
use super::state::{Activity, State};
use crate::classad::{ClassAd, Expr, Value};
use crate::quirks::{Quirk, Quirks};
use crate::time::{Now, Tick};
use crate::world::World;

/// `condor_vacate`.
const VACATE_COMMAND: i32 = 1010;
/// The execution point ends.
const SHUTDOWN: i32 = 1013;
/// How long hooks that still run are waited for at the end, in seconds.
const LAST_HOOKS: i64 = 5;

/// The execution point: its slots and what they share.
///
/// [`step`](Self::step) is told what happens and returns what is to be done; [`next_wake`](Self::next_wake) says when
/// it wants to be told that time has passed. It never asks for the time, reads no file and starts no process: the
/// given world is asked for the zone of local time, random numbers and what expressions ask for.
pub struct ExecutionPoint {
    pub(super) core: Core,
    pub(super) slots: BTreeMap<SlotKey, Slot>,
    /// Events that wait until all starters asked for are known to run or not.
    held: VecDeque<Event>,
    /// Since when no slot has had a job.
    idle_since: Tick,
    end_reason: String,
    /// When a graceful end becomes a fast one.
    graceful_until: Option<Tick>,
    /// When hooks that still run at the end are no longer waited for.
    hooks_until: Option<Tick>,
    finished: bool,
    /// The slot whose fetch is complete once the starter it has asked for is known to run or not.
    pub(super) completing: Option<SlotKey>,
}

impl ExecutionPoint {
    /// An execution point that has not begun: [`Event::Start`] is its first event.
    pub fn new(settings: Settings, world: Rc<dyn World>, now: Now) -> Self {
        let mut core = Core::new(Arc::new(settings), world, now);
        core.slot_count = i64::try_from(core.settings.slots.len()).unwrap_or(i64::MAX);
        let plans = core.settings.slots.clone();
        let slots = plans
            .into_iter()
            .map(|plan| {
                let slot = Slot::new(Arc::new(plan), &mut core);
                (slot.key, slot)
            })
            .collect();
        ExecutionPoint {
            core,
            slots,
            held: VecDeque::new(),
            idle_since: now.tick(),
            end_reason: String::new(),
            graceful_until: None,
            hooks_until: None,
            finished: false,
            completing: None,
        }
    }

    /// Tells what happened at `now`; returns what is to be done, in order.
    ///
    /// After [`Action::SpawnStarter`] all other events wait until its answer.
    pub fn step(&mut self, now: Now, event: Event) -> Vec<Action> {
        let now = Now { monotonic_us: now.monotonic_us.max(self.core.now.monotonic_us), ..now };
        self.core.now = now;
        let answers = matches!(event, Event::StarterSpawned { .. } | Event::StarterFailed { .. });
        if self.core.spawning > 0 && !answers {
            self.held.push_back(event);
        } else {
            self.handle(event);
        }
        while self.core.spawning == 0
            && let Some(event) = self.held.pop_front()
        {
            self.handle(event);
        }
        std::mem::take(&mut self.core.out)
    }

    /// When the next thing is due, to be answered by [`Event::Tick`]; `None` when nothing is.
    pub fn next_wake(&self) -> Option<Tick> {
        if self.finished {
            return None;
        }
        let core = &self.core;
        let wakes = |alarm: Option<Alarm>| alarm.map(|alarm| alarm.wakes(core.now, core.quirks()));
        let shared = [
            wakes(core.poll_at),
            wakes(core.update_at),
            self.graceful_until,
            self.hooks_until,
            self.idle_end().filter(|_| !core.idle_over),
        ];
        let slots = self.slots.values().flat_map(|slot| {
            let lease = slot.current.as_ref().and_then(|claim| claim.lease_ends);
            let fetch = wakes(slot.fetch_at).filter(|_| core.no_more_fetching.is_none());
            [fetch, slot.ending_at(), lease, wakes(slot.match_ends)]
        });
        shared.into_iter().chain(slots).flatten().min()
    }

    /// How many slots wait for a fetch or have a job.
    pub fn waits(&self) -> Waits {
        Waits {
            now: self.core.now,
            fetching: self.slots.values().filter(|slot| slot.fetching.is_some()).count(),
            busy: self.slots.values().filter(|slot| slot.is_active()).count(),
        }
    }

    /// The slots with state and activity, in order.
    pub fn slots(&self) -> impl Iterator<Item = (SlotKey, &str, State, Activity)> {
        self.slots.values().map(|slot| (slot.key, slot.id.as_str(), slot.state, slot.activity))
    }

    /// The ad of a slot as its fetch hook would get it now.
    pub fn sent_ad(&self, key: SlotKey) -> Option<ClassAd> {
        self.slots.get(&key).map(|slot| slot.sent_ad(&self.core))
    }

    /// The id string of a slot.
    pub fn slot_id(&self, key: SlotKey) -> Option<&str> {
        self.slots.get(&key).map(|slot| slot.id.as_str())
    }

    fn handle(&mut self, event: Event) {
        if self.finished {
            return;
        }
        for slot in self.slots.values_mut() {
            slot.changes = 0;
        }
        // A partitionable slot lists its children as they are when it asks for work.
        self.core.slot_count = i64::try_from(self.slots.len()).unwrap_or(i64::MAX);
        self.list_children();
        self.collect_shared();
        // What woke the daemon is looked at after its timers.
        let ended = matches!(
            event,
            Event::HookEnded { .. }
                | Event::HookFailed { .. }
                | Event::HookTimedOut { .. }
                | Event::StarterExited { .. }
        );
        if ended && self.alarms_are_due() {
            self.tick();
        }
        match event {
            Event::Start => self.start(),
            Event::Tick => self.tick(),
            Event::HookEnded { run, stdout, cut } => {
                if let Some(key) = self.fetching_with(run) {
                    self.fetch_ended(key, &stdout, cut);
                }
            }
            Event::HookFailed { run, reason } => {
                if let Some(key) = self.fetching_with(run) {
                    self.fetch_failed(key, run, reason);
                }
            }
            Event::HookTimedOut { run, reason } => {
                if let Some(key) = self.fetching_with(run) {
                    self.fetch_timed_out(key, reason);
                }
            }
            Event::Cron(ads) => self.take_cron_ads(*ads),
            Event::StarterSpawned { starter, pid } => {
                self.with_starter(starter, |slot, core| slot.spawned(core, pid));
                self.fetch_completed_by_starter();
            }
            Event::StarterFailed { starter, reason } => {
                self.with_starter(starter, |slot, core| slot.spawn_failed(core, &reason));
                self.fetch_completed_by_starter();
            }
            Event::StarterExited { starter, .. } => {
                self.with_starter(starter, |slot, core| slot.starter_exited(core));
                self.check_drain();
            }
            Event::FinalUpdate { starter } => self.with_starter(starter, Self::final_update),
            Event::JobUpdate { starter, ad } => {
                self.with_starter(starter, |slot, _| slot.update_job(&ad));
            }
            Event::Command { slot, command } => self.command(&slot, command),
            Event::Measured(measured) => {
                self.core.measured = *measured;
            }
            Event::Refresh => self.refresh_all(),
            Event::Vacate { slot, fast } => self.vacate(slot.as_deref(), fast),
            Event::Drain(request) => self.begin_drain(request),
            Event::CancelDrain => self.cancel_drain(),
            Event::Suspend { slot } => self.suspend(slot.as_deref(), true),
            Event::Continue { slot } => self.suspend(slot.as_deref(), false),
            Event::Shutdown(how) => self.shut_down(how, "asked to end"),
            Event::Unable(reason) => self.set_unable(reason),
            Event::Reconfigure(settings) => self.reconfigure(*settings),
        }
        self.settle();
    }

    /// What cron jobs publish is in the ads at once (`adlist_updated`). What they print no more stays in the internal ads of
    /// the reference until they are made afresh.
    fn take_cron_ads(&mut self, ads: CronAds) {
        self.core.cron = ads;
        let mut gone = false;
        for slot in self.slots.values_mut() {
            let mut before = std::mem::replace(&mut slot.live, ClassAd::new());
            if self.core.has_silently(Quirk::CronStaleAttributes) {
                self.core.merge_cron(&mut before);
                slot.live = before;
            } else {
                slot.rebuild(&self.core);
                gone |= before.names().any(|name| !slot.live.contains(name));
            }
        }
        if gone {
            self.core.has_anywhere(Quirk::CronStaleAttributes);
        }
    }

    /// The ad of the daemon, in which the CONDITION of cron jobs is evaluated (`publish_daemon_ad`).
    pub fn daemon_ad(&self) -> ClassAd {
        let core = &self.core;
        let mut ad = (*core.settings.cron.daemon_ad).clone();
        ad.update(&core.settings.common_dynamic);
        core.draining.publish(&mut ad);
        core.drain.publish(&mut ad);
        core.counters.publish(&mut ad, core.now.epoch());
        core.merge_cron(&mut ad);
        ad
    }

    /// The slot's internal ad, which policy is evaluated in.
    pub fn live_ad(&self, key: SlotKey) -> Option<&ClassAd> {
        self.slots.get(&key).map(|slot| &slot.live)
    }

    /// The cron jobs as configured.
    pub fn cron_settings(&self) -> &CronSettings {
        &self.core.settings.cron
    }

    /// How it is to end, once that is decided.
    pub fn shutdown(&self) -> Option<Shutdown> {
        self.core.shutdown
    }

    fn with_starter(&mut self, starter: StarterId, then: impl FnOnce(&mut Slot, &mut Core)) {
        let owns = |slot: &&mut Slot| {
            let claim = slot.current.as_ref();
            claim.and_then(|claim| claim.starter.as_ref()).is_some_and(|it| it.id == starter)
        };
        if let Some(slot) = self.slots.values_mut().find(owns) {
            then(slot, &mut self.core);
        }
    }

    fn start(&mut self) {
        self.core.update_at = Some(self.core.alarm(self.core.settings.update_interval));
        self.evaluate_all(false);
        // By the manual a fresh slot asks at once (hooks.md 4.1).
        let keys: Vec<_> = self.slots.keys().copied().collect();
        for key in keys {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            let asks = slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
            if asks && !self.core.has(Quirk::FirstFetchLate, key) {
                slot.try_fetch(&mut self.core);
            }
        }
    }

    /// Whether a timer has run out that nothing has looked at yet.
    fn alarms_are_due(&self) -> bool {
        let core = &self.core;
        let of_slots = self.slots.values().map(|slot| slot.fetch_at);
        [core.poll_at, core.update_at].into_iter().chain(of_slots).any(|alarm| core.is_due(alarm))
    }

    fn tick(&mut self) {
        let tick = self.core.now.tick();
        let due = |at: Option<Tick>| at.is_some_and(|at| at <= tick);
        if due(self.graceful_until) {
            self.graceful_until = None;
            self.shut_down(Shutdown::Fast, "SHUTDOWN_GRACEFUL_TIMEOUT is over");
        }
        if self.core.is_due(self.core.update_at) {
            self.core.update_at = Some(self.core.alarm(self.core.settings.update_interval));
            self.evaluate_all(true);
        }
        if self.core.is_due(self.core.poll_at) {
            self.core.poll_at = Some(self.core.alarm(self.core.settings.polling_interval));
            self.evaluate_all(false);
        }
        let keys: Vec<_> = self.slots.keys().copied().collect();
        for key in keys {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            slot.ending_due(&mut self.core);
            if slot.current.as_ref().is_some_and(|claim| due(claim.lease_ends)) {
                if let Some(claim) = &mut slot.current {
                    claim.lease_ends = None;
                }
                slot.kill_claim(&mut self.core, None, "the claim's lease is over");
            }
            if self.core.is_due(slot.match_ends) {
                slot.match_timed_out(&mut self.core);
            }
            if self.core.is_due(slot.fetch_at) {
                slot.fetch_at = None;
                slot.try_fetch(&mut self.core);
            }
        }
    }

    /// Everything is measured and looked at (`eval_all`).
    pub(super) fn evaluate_all(&mut self, for_update: bool) {
        self.refresh_all();
        let drained =
            self.slots.values().any(|slot| (slot.state, slot.activity) == (State::Drained, Activity::Idle));
        let keys: Vec<_> = self.slots.keys().copied().collect();
        for key in keys {
            // A slot sees the others as they are after their turns.
            self.collect_shared();
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.take_shared(&self.core);
                slot.evaluate(&mut self.core);
            }
            self.remove_gone();
        }
        // 25.14 thinks of resuming whenever it looks at a slot that is drained, and not before.
        if drained && self.core.quirks() == Quirks::Reference {
            self.drain_completed();
        }
        // An update neither moves nor ends the polls, which go on at their own pace (`check_polling`).
        if for_update {
            return;
        }
        if self.slots.values().any(Slot::needs_polling) {
            self.core.start_polling();
        } else {
            self.core.poll_at = None;
        }
    }

    /// Brings all live ads up to date (`compute_dynamic`).
    pub(super) fn refresh_all(&mut self) {
        let core = &mut self.core;
        core.current_time = core.now.epoch();
        core.slot_count = i64::try_from(self.slots.len()).unwrap_or(i64::MAX);
        let parts = self.slots.values().map(|slot| DrainPart {
            runtime: slot.current.as_ref().map_or(0, |claim| claim.job_run_time(core.now)),
            retirement: slot.retirement_remaining(core),
            vacate: slot.max_vacate_time(core),
            cpus: slot.amounts.whole_cpus(),
            active: slot.is_active(),
        });
        let mut draining = core.draining;
        draining.compute(parts, core.current_time);
        core.draining = draining;
        self.coordinate();
        self.share_load();
        self.list_children();
        for slot in self.slots.values_mut() {
            // As they stood until now: a latch follows one refresh after its attribute.
            slot.evaluate_latches(&self.core);
            slot.refresh(&self.core);
        }
        // What is sent lists the children as they are now.
        self.list_children();
        self.share_slot_attributes();
    }

    /// The machine's load not made by jobs goes to the slots in order: Owner, Unclaimed, all others (policy.md 21).
    fn share_load(&mut self) {
        let mut left = self.core.measured.load.max(0.0);
        for turn in 0..3 {
            for slot in self.slots.values_mut() {
                let its_turn = match slot.state {
                    State::Owner => 0,
                    State::Unclaimed => 1,
                    _ => 2,
                };
                if its_turn == turn {
                    slot.owner_load = left.min(slot.amounts.cpus.max(0.0));
                    left -= slot.owner_load;
                }
            }
        }
    }

    /// STARTD_SLOT_ATTRS: each listed attribute of each slot is copied into all, as `<slot>_<attribute>`.
    fn share_slot_attributes(&mut self) {
        self.collect_shared();
        self.slots.values_mut().for_each(|slot| slot.take_shared(&self.core));
    }

    /// STARTD_SLOT_ATTRS as they are now: what is sent has them so, whatever the slots' own ads say (`publishSlotAttrs`).
    fn collect_shared(&mut self) {
        let settings = self.core.settings.clone();
        let mut shared = Vec::new();
        for slot in self.slots.values() {
            for name in &settings.slot_attributes {
                let Some(mut expr) = slot.live.get(name.clone()) else { continue };
                if settings.slot_attributes_evaluated {
                    let value = slot.look(&self.core, None, |context| context.eval_attr(name.clone()));
                    if matches!(value, Value::Undefined | Value::Error) {
                        continue;
                    }
                    expr = Expr::literal(value);
                }
                let name = format!("{}_{}", slot.id, super::claim::lossy(name.as_bytes()));
                shared.push((name, expr));
            }
        }
        self.core.shared_attributes = shared;
    }

    /// A call is over: the slot that it fetched for. The other hooks' outcome has no consequence; the runner tells of
    /// failures.
    fn fetching_with(&mut self, run: HookRun) -> Option<SlotKey> {
        self.core.hooks_running.remove(&run);
        self.slots.values().find(|slot| slot.fetching == Some(run)).map(|slot| slot.key)
    }

    fn vacate(&mut self, id: Option<&str>, fast: bool) {
        let why = VacateReason::new("Claim vacated by the administrator", VACATE_COMMAND);
        let mut found = false;
        for slot in self.slots.values_mut() {
            if id.is_some_and(|id| !slot.id.eq_ignore_ascii_case(id)) {
                continue;
            }
            found = true;
            if fast {
                slot.kill_claim(&mut self.core, Some(why.clone()), "asked to vacate at once");
            } else {
                slot.retire(&mut self.core, false, why.clone(), "asked to vacate");
            }
        }
        if let Some(id) = id.filter(|_| !found) {
            self.core.warn(None, format!("no slot is called {id}"));
        }
    }

    /// Stops jobs, or lets them go on (`suspend_claim`, `continue_claim`).
    fn suspend(&mut self, id: Option<&str>, stop: bool) {
        for slot in self.slots.values_mut() {
            if id.is_some_and(|id| !slot.id.eq_ignore_ascii_case(id)) || slot.state != State::Claimed {
                continue;
            }
            let Some(claim) = &mut slot.current else { continue };
            match (slot.activity, stop) {
                (Activity::Busy, true) => {
                    claim.suspended_by_command = true;
                    slot.change(&mut self.core, State::Claimed, Activity::Suspended, "asked to suspend");
                }
                (Activity::Suspended, false) => {
                    claim.suspended_by_command = false;
                    slot.change(&mut self.core, State::Claimed, Activity::Busy, "asked to continue");
                }
                _ => {}
            }
        }
    }

    fn shut_down(&mut self, how: Shutdown, reason: &str) {
        if self.core.shutdown.is_some_and(|present| present >= how) {
            return;
        }
        self.core.shutdown = Some(how);
        if self.end_reason.is_empty() {
            self.end_reason = reason.to_owned();
        }
        if how == Shutdown::Graceful {
            self.graceful_until = Some(self.core.now.tick().plus(self.core.settings.graceful_timeout));
        }
        self.core.start_polling();
        let why = VacateReason::new("Startd was shutdown", SHUTDOWN);
        for slot in self.slots.values_mut() {
            slot.set_available(false);
            if how == Shutdown::Fast {
                slot.kill_claim(&mut self.core, Some(why.clone()), reason);
            } else {
                slot.retire(&mut self.core, false, why.clone(), reason);
            }
        }
    }

    fn set_unable(&mut self, reason: Option<String>) {
        match &reason {
            Some(reason) => {
                self.core.warn(None, format!("no job is fetched, no starter could run it: {reason}"))
            }
            None if self.core.unable.is_some() => self.core.warn(None, "jobs are fetched again"),
            None => {}
        }
        self.core.unable = reason;
    }

    /// When it has been idle for long enough to end.
    fn idle_end(&self) -> Option<Tick> {
        let limit = self.core.settings.limits.idle_exit?;
        let idle = self.core.shutdown.is_none() && self.slots.values().all(|slot| !slot.is_active());
        idle.then(|| self.idle_since.plus(limit))
    }

    /// After each event: slots that are gone, conditions to end, the end.
    fn settle(&mut self) {
        self.remove_gone();
        if self.core.quirks() != Quirks::Reference {
            self.drain_completed();
        }
        if let Some(reason) = self.core.fatal.take() {
            self.shut_down(Shutdown::Fast, &reason);
        }
        let limits = self.core.settings.limits;
        let busy = self.slots.values().any(|slot| slot.is_active());
        if busy {
            self.idle_since = self.core.now.tick();
        }
        let idle_over = self.idle_end().is_some_and(|at| at <= self.core.now.tick());
        self.core.idle_over = idle_over;
        if let Some(most) = limits.max_jobs
            && self.core.jobs_accepted >= most
            && self.core.no_more_fetching.is_none()
        {
            self.core.no_more_fetching = Some(format!("--max-jobs {most} is reached"));
        }
        for slot in self.slots.values_mut().filter(|slot| slot.held_back) {
            if self.core.may_fetch() {
                slot.try_fetch(&mut self.core);
            } else if self.core.unable.is_some() {
                // Whoever gave the last job is told that no other follows.
                slot.no_work(&mut self.core, "no starter could run a job");
            }
        }
        if self.core.shutdown.is_none() && self.core.spawning == 0 && !busy {
            let fetching = self.core.fetches > 0;
            let unable = self.core.unable.is_some();
            let done = |slot: &Slot| {
                let asks = slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
                let no_use = unable && slot.held_back;
                !asks || ((slot.out_of_work || no_use) && slot.fetching.is_none())
            };
            if let Some(reason) = self.core.no_more_fetching.clone().filter(|_| !fetching) {
                self.shut_down(Shutdown::Graceful, &reason);
            } else if limits.once && self.slots.values().all(done) {
                self.shut_down(Shutdown::Graceful, "no slot has more work (--once)");
            } else if idle_over && !fetching {
                self.shut_down(Shutdown::Graceful, "no work (--idle-exit)");
            }
            self.remove_gone();
        }
        self.finish();
    }

    fn finish(&mut self) {
        let core = &mut self.core;
        if self.slots.values().any(|slot| slot.holds_up(core.shutdown)) || core.spawning > 0 {
            return;
        }
        // Whoever gave a job is told what became of it however fast the end is; only what is asked for work is not heard.
        let fetches = |run: &HookRun| self.slots.values().any(|slot| slot.fetching == Some(*run));
        let fast = core.shutdown == Some(Shutdown::Fast);
        if core.hooks_running.iter().any(|run| !(fast && fetches(run))) {
            let until = *self.hooks_until.get_or_insert(core.after(LAST_HOOKS));
            if until > core.now.tick() {
                return;
            }
        }
        self.finished = true;
        core.out.push(Action::Finished { reason: self.end_reason.clone() });
    }

    /// Whether all is done: no action will come any more.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Seconds the job of a slot has run, where one runs.
    pub fn job_run_time(&self, key: SlotKey) -> Option<i64> {
        let claim = self.slots.get(&key)?.current.as_ref()?;
        matches!(claim.phase, Phase::Running | Phase::Suspended | Phase::Vacating | Phase::Killing)
            .then(|| claim.job_run_time(self.core.now))
    }
}
