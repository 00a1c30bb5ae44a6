//! The whole execution point: `step(now, event) -> actions`.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::core::Core;
use super::interface::{Action, Event, HookRun, SlotKey, StarterId};
use super::settings::Settings;
use super::single::Slot;
use super::slots::Slots;
use htc_base::process::Exit;
use htc_base::time::{Now, Tick};
use htc_base::world::World;

/// The execution point: its slots and what they share.
///
/// [`step`](Self::step) is told what happens and returns what is to be done; [`next_wake`](Self::next_wake) says when
/// it wants to be told that time has passed. It never asks for the time, reads no file and starts no process: the
/// given world is asked for the zone of local time, random numbers and what expressions ask for.
pub struct ExecutionPoint {
    pub(super) core: Core,
    pub(super) slots: Slots,
    /// Events that wait until all starters asked for are known to run or not.
    pub(super) held: VecDeque<Event>,
    /// When a slot was claimed last, in epoch seconds.
    pub(super) last_in_use: i64,
    /// Since when no slot has had a job.
    pub(super) idle_since: Tick,
    pub(super) end_reason: String,
    /// When a graceful end becomes a fast one.
    pub(super) graceful_until: Option<Tick>,
    /// When hooks that still run at the end are no longer waited for.
    pub(super) hooks_until: Option<Tick>,
    pub(super) finished: bool,
    /// Whether it begins anew when it has ended.
    pub(super) restarts: bool,
    /// The slot whose fetch is complete once the starter it has asked for is known to run or not.
    pub(super) completing: Option<SlotKey>,
}

impl ExecutionPoint {
    /// An execution point that has not begun: [`Event::Start`] is its first event.
    pub fn new(settings: Settings, world: Rc<dyn World>, now: Now) -> Self {
        let mut core = Core::new(Arc::new(settings), world, now);
        core.slot_count = i64::try_from(core.settings.slots.len()).unwrap_or(i64::MAX);
        core.has_backfill_slots = core.settings.slots.iter().any(|plan| plan.amounts.backfill);
        let plans = core.settings.slots.clone();
        let slots = Slots::of(plans.into_iter().map(|plan| Slot::new(Arc::new(plan), &mut core)));
        ExecutionPoint {
            core,
            slots,
            held: VecDeque::new(),
            last_in_use: now.epoch(),
            idle_since: now.tick(),
            end_reason: String::new(),
            graceful_until: None,
            hooks_until: None,
            finished: false,
            restarts: false,
            completing: None,
        }
    }

    /// Tells what happened at `now`; returns what is to be done, in order.
    ///
    /// After [`Action::SpawnStarter`] all other events wait until its answer.
    pub fn step(&mut self, now: Now, event: Event) -> Vec<Action> {
        let now = Now { monotonic_us: now.monotonic_us.max(self.core.now.monotonic_us), ..now };
        self.core.now = now;
        self.pass();
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
        self.note_changes();
        std::mem::take(&mut self.core.out)
    }

    /// Gives the list of a step back when all in it is done, so that the next need not make another.
    pub fn reuse(&mut self, mut done: Vec<Action>) {
        done.clear();
        if self.core.out.is_empty() && done.capacity() > self.core.out.capacity() {
            self.core.out = done;
        }
    }

    fn handle(&mut self, event: Event) {
        if self.finished {
            return;
        }
        // A partitionable slot lists its children as they are when it asks for work.
        self.core.slot_count = i64::try_from(self.slots.len()).unwrap_or(i64::MAX);
        self.list_children();
        self.collect_shared();
        // What woke the daemon is looked at after its timers.
        let ended = matches!(
            event,
            Event::HookEnded { .. }
                | Event::Fetched { .. }
                | Event::HookFailed { .. }
                | Event::HookTimedOut { .. }
                | Event::StarterExited { .. }
                | Event::Asks { .. }
        );
        if ended {
            if self.alarms_are_due() {
                self.tick();
            }
            self.timers_are_over();
        }
        self.touch_for(&event);
        match event {
            Event::Start => self.start(),
            Event::Tick => {
                self.tick();
                self.timers_are_over();
            }
            Event::HookEnded { run, stdout, cut } => {
                if let Some(key) = self.fetching_with(run) {
                    self.fetch_ended(key, &stdout, cut);
                }
            }
            Event::Fetched { run, ad, kind } => {
                if let Some(key) = self.fetching_with(run) {
                    self.fetched(key, (*ad, kind));
                }
            }
            // To be woken is all it needs: the call is under way.
            Event::Asks { slot } => self.touch(slot),
            Event::HookFailed { run, reason } => {
                if let Some(key) = self.fetching_with(run) {
                    self.fetch_failed(key, reason);
                }
            }
            Event::HookTimedOut { run, reason } => {
                if let Some(key) = self.fetching_with(run) {
                    self.fetch_timed_out(key, reason);
                }
            }
            Event::Cron(ads) => self.take_cron_ads(*ads),
            Event::Benchmarked(ads) => {
                self.core.benchmarks.ads = *ads;
                self.slots.values_mut().for_each(|slot| slot.rebuild(&self.core));
            }
            Event::ImageCache(mib) => {
                self.core.image_cache_mib = Some(mib);
                self.refresh_all();
            }
            Event::Woke { failure } => self.woke(failure),
            Event::BenchmarksEnded => self.benchmarks_ended(),
            Event::StarterSpawned { starter, .. } if self.is_client(starter) => self.client_spawned(None),
            Event::StarterFailed { starter, reason } if self.is_client(starter) => {
                self.client_spawned(Some(&reason));
            }
            Event::StarterExited { starter, .. } if self.is_client(starter) => self.client_exited(),
            Event::StarterSpawned { starter, pid } => {
                self.with_starter(starter, |slot, core| slot.spawned(core, pid));
                self.fetch_completed_by_starter();
            }
            Event::StarterFailed { starter, reason } => {
                self.with_starter(starter, |slot, core| slot.spawn_failed(core, &reason));
                self.fetch_completed_by_starter();
            }
            Event::StarterExited { starter, exit } => {
                let killed = matches!(exit, Exit::Signal { .. });
                let taken = self.is_taken_while_draining(starter);
                self.coordinate_without(Some(starter));
                self.with_starter(starter, |slot, core| slot.starter_exited(core, killed));
                if let Some(lazy) = &mut self.core.lazy {
                    lazy.starters.remove(&starter);
                }
                if !taken {
                    self.check_drain();
                }
            }
            Event::FinalUpdate { starter } => self.with_starter(starter, Self::final_update),
            Event::JobUpdate { starter, ad } => {
                self.with_starter(starter, |slot, core| slot.update_job(core, &ad));
            }
            Event::Command { slot, command } => self.command(&slot, command),
            Event::Measured(measured) => {
                self.core.measured = *measured;
                let jobs = std::mem::take(&mut self.core.measured.jobs);
                self.take_usages(&jobs);
            }
            Event::Refresh => self.refresh_all(),
            Event::Vacate { slot, fast } => self.vacate(slot.as_deref(), fast),
            Event::Drain(request) => self.begin_drain(*request),
            Event::CancelDrain { id } => self.cancel_named_drain(id.as_deref()),
            Event::Suspend { slot } => self.suspend(slot.as_deref(), true),
            Event::Continue { slot } => self.suspend(slot.as_deref(), false),
            Event::Shutdown(how) => self.shut_down(how, "asked to end"),
            Event::Unable(reason) => self.set_unable(reason),
            Event::Reconfigure(settings) => self.reconfigure(*settings),
        }
        self.settle();
        self.find_conflicts();
    }

    /// Wakes the slots that an event concerns, where slots rest.
    fn touch_for(&mut self, event: &Event) {
        let Some(lazy) = &self.core.lazy else { return };
        let key = match event {
            Event::HookEnded { run, .. }
            | Event::Fetched { run, .. }
            | Event::HookFailed { run, .. }
            | Event::HookTimedOut { run, .. } => lazy.fetches.get(run).copied(),
            Event::StarterSpawned { starter, .. }
            | Event::StarterFailed { starter, .. }
            | Event::StarterExited { starter, .. }
            | Event::FinalUpdate { starter }
            | Event::JobUpdate { starter, .. } => lazy.starters.get(starter).copied(),
            Event::Tick if self.is_lazy() => None,
            // It is woken when it is known whether it asks.
            Event::Asks { .. } => None,
            Event::Measured(_) if !self.core.wants.machine && self.is_lazy() => None,
            _ => return self.touch_all(),
        };
        if let Some(key) = key {
            self.touch(key);
        }
    }

    /// Whether the job of this starter was accepted while a drain was under way.
    fn is_taken_while_draining(&self, starter: StarterId) -> bool {
        let of = |slot: &Slot| slot.accepted_while_draining && slot.starter() == Some(starter);
        self.core.drain.is_on() && self.slots.values().any(of)
    }

    fn with_starter(&mut self, starter: StarterId, then: impl FnOnce(&mut Slot, &mut Core)) {
        let owns = |slot: &&mut Slot| slot.starter() == Some(starter);
        let slot = match &self.core.lazy {
            Some(lazy) => lazy.starters.get(&starter).and_then(|key| self.slots.get_mut(key)).filter(owns),
            None => self.slots.values_mut().find(owns),
        };
        if let Some(slot) = slot {
            then(slot, &mut self.core);
        }
    }

    /// A call is over: the slot that it fetched for. The other hooks' outcome has no consequence; the runner tells of
    /// failures.
    fn fetching_with(&mut self, run: HookRun) -> Option<SlotKey> {
        self.core.hooks_running.remove(&run);
        if let Some(lazy) = &mut self.core.lazy {
            let key = lazy.fetches.remove(&run)?;
            return self.slots.get(&key).filter(|slot| slot.fetching.run() == Some(run)).map(|slot| slot.key);
        }
        self.slots.values().find(|slot| slot.fetching.run() == Some(run)).map(|slot| slot.key)
    }
}
