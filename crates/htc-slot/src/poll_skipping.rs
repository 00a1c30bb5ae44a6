//! Skipping polls: a slot is evaluated only when its inputs have changed, or at a time at which an expression can change its
//! value.
//!
//! A slot whose policy was evaluated without a change rests: it is not evaluated again until the time that the [change
//! predictor](super::change_prediction) returns, or until an event concerns it. Polls and updates at which all slots
//! rest are skipped; their effects are caught up when a slot is next read. If there is no work for a slot, its fetches
//! are futile: they are not made, only counted. The result is the same as if every slot were evaluated at every poll;
//! `tests/it/simulate/scenarios.rs` compares both modes.
//!
//! During a drain or a shutdown, slots depend on one another, so every poll is made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::events::{HookRunId, SlotKey};
use super::execution_point::ExecutionPoint;
use super::publish_set::PublishSet;
use super::runtime_state::fetch_state::FetchState;
use super::runtime_state::idle_window::{CatchUpPoint, EVALUATE_AT_ONCE, FetchMode, earlier_by};
use super::runtime_state::poll_schedule::PollSchedule;
use super::runtime_state::poll_skipper::PollSkipper;
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::SlotState;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::AttrName;
use htc_classad::references::AttrNames;

impl PollSkipper {
    /// Updates the number of polled slots after this slot has changed.
    fn update_polled_count(&mut self, slot: &mut Slot) {
        let polled = slot.needs_polling();
        if polled != std::mem::replace(&mut slot.idle_window.is_polled, polled) {
            self.polled_slots =
                if polled { self.polled_slots + 1 } else { self.polled_slots.saturating_sub(1) };
        }
    }
}

/// Sorts the keys and removes duplicates.
fn sorted_unique(mut keys: Vec<SlotKey>) -> Vec<SlotKey> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl ExecutionPoint {
    /// Enables poll skipping. Must be called before the start event. `referenced` is the set of attributes that may be
    /// referenced; only these attributes are published. `fetch` is the duration of each FETCH_WORK call. If either is
    /// `None`, or if a setting requires it, every poll is made.
    pub fn enable_poll_skipping(&mut self, referenced: &Option<AttrNames>, fetch: Option<Duration>) {
        let settings = self.core.settings.clone();
        let Some(referenced) =
            referenced.as_ref().filter(|_| !settings.can_stop_by_itself() && !settings.publishes_cpu_busy)
        else {
            return;
        };
        let Some(groups) = PublishSet::from_names(referenced, &settings.job_attributes) else { return };
        if !settings.slot_attributes.is_empty() || !settings.rollup_attributes.is_empty() {
            return;
        }
        // Benchmarks and backfill must be checked at each poll, and the ads of backfill slots depend on all other slots.
        if !settings.benchmarks.jobs.is_empty() || settings.backfill.is_some() || self.core.has_backfill_slots
        {
            return;
        }
        self.core.publish_set = groups;
        self.slots.values_mut().for_each(|slot| slot.rebuild_ad(&self.core));
        let Some(fetch) = fetch else { return };
        let published: Vec<AttrName> =
            settings.latches.iter().flat_map(super::runtime_state::latch::published_names).collect();
        let is_there = |slot: &Slot| published.iter().any(|name| slot.ads.live.get(name.clone()).is_some());
        self.core.latches_have_no_overrides = !self.slots.values().any(is_there);
        self.core.schedule.poll_skipper = Some(Box::new(PollSkipper {
            fetch_duration: fetch,
            skips_futile_fetches: true,
            last_poll: self.core.now,
            next_evaluations: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            touched: Vec::new(),
            all_touched: true,
            schedule: PollSchedule::default(),
            polled_slots: 0,
            timers_run_at: MonotonicTime(0),
            futile_fetchers: Vec::new(),
            skipped_fetches: 0,
            fetching_slots: FxHashMap::default(),
            starter_slots: FxHashMap::default(),
            next_wake: None,
        }));
    }

    /// Makes every fetch instead of only counting futile ones, for callers that need an event for each fetch.
    pub fn disable_fetch_skipping(&mut self) {
        if let Some(skipper) = &mut self.core.schedule.poll_skipper {
            skipper.skips_futile_fetches = false;
        }
    }

    /// True if polls are currently skipped.
    pub(super) fn is_skipping_polls(&self) -> bool {
        self.core.schedule.poll_skipper.is_some()
            && !self.core.drain.is_draining()
            && self.core.ending.shutdown.is_none()
    }

    /// Skips the polls and updates before the current event at which no slot had to be evaluated.
    pub(super) fn skip_idle_polls(&mut self) {
        let grid = self.core.poll_schedule();
        let now = self.core.now;
        let Some(skipper) = &mut self.core.schedule.poll_skipper else { return };
        skipper.touched.clear();
        skipper.all_touched = false;
        if let Some(last) = grid.last_before(now.monotonic(), MonotonicTime(0))
            && last > skipper.last_poll.monotonic()
        {
            let ago = now.monotonic().since(last);
            skipper.last_poll = earlier_by(now, ago);
            self.core.current_time = skipper.last_poll.epoch();
        }
        grid.advance_alarms(
            now.monotonic(),
            [&mut self.core.schedule.poll_at, &mut self.core.schedule.update_at],
        );
    }

    /// Wakes the slots with this number because an event concerns them: they catch up, and the next poll evaluates them.
    pub(super) fn wake_slot_family(&mut self, key: SlotKey) {
        if self.core.schedule.poll_skipper.is_none() {
            return;
        }
        let ExecutionPoint { core, slots, .. } = self;
        if let Some(slot) = slots.get_mut(&key).filter(|slot| slot.kind == SlotKind::Static) {
            slot.wake(core);
            core.schedule.poll_skipper.iter_mut().for_each(|skipper| skipper.touched.push(key));
            return;
        }
        for slot in slots.slots_with_number_mut(key.number) {
            slot.wake(core);
            if let Some(skipper) = &mut core.schedule.poll_skipper {
                skipper.touched.push(slot.key);
            }
        }
    }

    /// Brings a slot that is about to be evaluated up to date.
    pub(super) fn catch_up_slot(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        if let Some(slot) = slots.get_mut(&key) {
            let under_way = slot.wake_without_fetch(core);
            // If the slot may be removed during its fetch, the hook is called; otherwise the evaluation decides.
            match under_way {
                Some(since) if slot.kind != SlotKind::Static => slot.resume_fetch(core, since),
                Some(since) => slot.fetch.state = FetchState::Skipped(since),
                None => {}
            }
        }
    }

    /// Wakes all slots because an event concerns them.
    pub(super) fn wake_all_slots(&mut self) {
        if self.core.schedule.poll_skipper.is_none() {
            return;
        }
        let ExecutionPoint { core, slots, .. } = self;
        slots.values_mut().for_each(|slot| slot.wake(core));
        if let Some(skipper) = &mut core.schedule.poll_skipper {
            skipper.all_touched = true;
        }
    }

    /// Updates, after an event, the times when the affected slots must be evaluated next and when their timers expire.
    pub(super) fn update_poll_skipper(&mut self) {
        let grid = self.core.poll_schedule();
        let Some(mut skipper) = self.core.schedule.poll_skipper.take() else { return };
        if !grid.is_same_as(&skipper.schedule) {
            // The schedule has changed, so the skipped polls are first counted with the old schedule.
            for slot in self.slots.values_mut() {
                let passed = slot.catch_up_point(&skipper, self.core.now);
                skipper.skipped_fetches +=
                    slot.catch_up_fetches(&skipper.schedule, skipper.fetch_duration, passed);
            }
            skipper.schedule = grid;
            skipper.all_touched = true;
        }
        let mut keys = std::mem::take(&mut skipper.touched);
        if skipper.all_touched {
            keys = self.slots.keys().collect();
        } else {
            // All slots with these numbers are updated, including dynamic slots that the event has created.
            keys.iter_mut().for_each(|key| key.sub = 0);
            keys.sort_unstable();
            keys.dedup();
            let carved = |slot: &Slot| slot.kind != SlotKind::Static;
            if keys.iter().any(|key| self.slots.get(key).is_none_or(carved)) {
                let family = |key: &SlotKey| self.slots.slots_with_number(key.number).map(|slot| slot.key);
                keys = keys.iter().flat_map(family).collect();
            }
        }
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            let Some(slot) = self.slots.get_mut(key) else { continue };
            skipper.update_polled_count(slot);
            if let Some(until) = slot.idle_window.queue_evaluation() {
                skipper.next_evaluations.push(Reverse((until, *key)));
            }
            let timer = slot.next_timer(&self.core, &grid);
            if timer != slot.idle_window.queued_timer {
                slot.idle_window.queued_timer = timer;
                timer.into_iter().for_each(|at| skipper.timers.push(Reverse((at, *key))));
            }
            if slot.idle_window.fetch_mode == FetchMode::Futile
                && !slot.is_never_fetching()
                && let Some(at) = slot
                    .fetch
                    .state
                    .skipped_call_start()
                    .map(ClockReading::monotonic)
                    .or_else(|| slot.next_fetch_time(&grid))
            {
                skipper.futile_fetchers.push((
                    *key,
                    at.plus(skipper.fetch_duration),
                    slot.idle_window.window_number,
                ));
            }
        }
        skipper.touched = keys;
        skipper.touched.clear();
        skipper.all_touched = false;
        self.core.schedule.poll_skipper = Some(skipper);
        let next = self.next_needed_wake();
        if let Some(skipper) = &mut self.core.schedule.poll_skipper {
            skipper.next_wake = next;
        }
    }

    /// Returns when the next poll, update or timer is due, as far as this is known without reading all slots.
    fn next_needed_wake(&mut self) -> Option<MonotonicTime> {
        let grid = self.core.poll_schedule();
        let poll_at = self.core.schedule.poll_at.map(|alarm| alarm.at);
        let update_at = self.core.schedule.update_at.map(|alarm| alarm.at);
        let ExecutionPoint { core, slots, .. } = self;
        let skipper = core.schedule.poll_skipper.as_mut()?;
        while let Some(Reverse((until, key))) = skipper.next_evaluations.peek().copied() {
            if slots.get(&key).is_some_and(|slot| slot.idle_window.until == until) {
                break;
            }
            skipper.next_evaluations.pop();
            slots.get_mut(&key).map(|slot| slot.idle_window.dequeue_evaluation(until));
        }
        while let Some(Reverse((at, key))) = skipper.timers.peek().copied() {
            if slots.get(&key).is_some_and(|slot| slot.idle_window.queued_timer == Some(at)) {
                break;
            }
            skipper.timers.pop();
        }
        let next_evaluation = skipper
            .next_evaluations
            .peek()
            .and_then(|Reverse((until, _))| grid.first_in_second_or_later(*until));
        let timer = skipper.timers.peek().map(|Reverse((at, _))| *at);
        // Polling stops at the first poll after which no slot needs polling, and starts at the first update after which a slot
        // does.
        let changes = (skipper.polled_slots == 0) == poll_at.is_some();
        let turn = if changes { [poll_at, update_at].into_iter().flatten().min() } else { None };
        [next_evaluation, timer, turn].into_iter().flatten().min()
    }

    /// True if the fetch timer of some slot has expired.
    pub(super) fn is_any_fetch_due(&self) -> bool {
        let now = self.core.now.monotonic();
        let Some(skipper) = self.core.schedule.poll_skipper.as_deref() else { return false };
        let due = |Reverse((at, key)): &Reverse<(MonotonicTime, SlotKey)>| {
            let slot = self.slots.get(key).filter(|slot| slot.idle_window.queued_timer == Some(*at));
            *at <= now && slot.is_some_and(|slot| slot.is_fetch_due(&self.core, &skipper.schedule))
        };
        // The first entry of the heap has the earliest time; usually checking that entry is enough.
        skipper.timers.peek().is_some_and(|Reverse((at, _))| *at <= now) && skipper.timers.iter().any(due)
    }

    /// Returns the slots that the current poll or update must evaluate, in order.
    pub(super) fn take_slots_to_evaluate(&mut self) -> Vec<SlotKey> {
        let now = self.core.now.epoch();
        let mut keys = Vec::new();
        let ExecutionPoint { core, slots, .. } = self;
        let Some(skipper) = &mut core.schedule.poll_skipper else { return keys };
        while let Some(Reverse((until, key))) = skipper.next_evaluations.peek().copied() {
            if until > now {
                break;
            }
            skipper.next_evaluations.pop();
            if slots.get_mut(&key).is_some_and(|slot| slot.idle_window.dequeue_evaluation(until)) {
                keys.push(key);
            }
        }
        // Slots that the current event concerned are included.
        let all = if skipper.all_touched { slots.keys().collect() } else { Vec::new() };
        for key in skipper.touched.iter().chain(&all) {
            if slots.get(key).is_some_and(|slot| slot.idle_window.until <= now) {
                keys.push(*key);
            }
        }
        sorted_unique(keys)
    }

    /// Returns the resting slots that fetch work at the current poll or update, in order.
    pub(super) fn slots_due_to_fetch(&self) -> Vec<SlotKey> {
        let now = self.core.now.monotonic();
        let Some(skipper) = self.core.schedule.poll_skipper.as_deref() else { return Vec::new() };
        if skipper.timers.peek().is_none_or(|Reverse((at, _))| *at > now) {
            return Vec::new();
        }
        let is_due_to_fetch = |key: &SlotKey| {
            let slot = self.slots.get(key);
            slot.is_some_and(|slot| {
                slot.is_only_fetching_in_polls() && slot.is_fetch_due(&self.core, &skipper.schedule)
            })
        };
        let due = skipper.timers.iter().filter(|Reverse((at, _))| *at <= now).map(|Reverse((_, key))| *key);
        sorted_unique(due.filter(is_due_to_fetch).collect())
    }

    /// Lets a resting slot fetch work in the current poll.
    pub(super) fn let_slot_fetch(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.fetch.timer_set_at = core.now.monotonic_us;
        slot.try_fetch(core);
        if let Some(skipper) = &mut core.schedule.poll_skipper {
            skipper.touched.push(key);
        }
    }

    /// Updates the number of polled slots after a slot was removed.
    pub(super) fn forget_slot(&mut self, gone: &Slot) {
        if let Some(skipper) = self.core.schedule.poll_skipper.as_mut().filter(|_| gone.idle_window.is_polled)
        {
            skipper.polled_slots = skipper.polled_slots.saturating_sub(1);
        }
    }

    /// True if some slot must be evaluated at every poll. `evaluated` are the slots that were just evaluated.
    pub(super) fn is_any_slot_polled(&mut self, evaluated: &[SlotKey]) -> bool {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(skipper) = &mut core.schedule.poll_skipper else { return false };
        for key in evaluated {
            let Some(slot) = slots.get_mut(key) else { continue };
            skipper.update_polled_count(slot);
        }
        skipper.polled_slots > 0
    }

    /// Returns the slots whose timers have expired, in order.
    pub(super) fn take_due_timers(&mut self) -> Vec<SlotKey> {
        let now = self.core.now.monotonic();
        let mut keys = Vec::new();
        let ExecutionPoint { core, slots, .. } = self;
        let Some(skipper) = &mut core.schedule.poll_skipper else { return keys };
        while let Some(Reverse((at, key))) = skipper.timers.peek().copied() {
            if at > now {
                break;
            }
            skipper.timers.pop();
            if let Some(slot) = slots.get_mut(&key).filter(|slot| slot.idle_window.queued_timer == Some(at)) {
                slot.idle_window.queued_timer = None;
                keys.push(key);
            }
        }
        // A slot that was evaluated without a change continues to rest.
        let touched = skipper.touched.clone();
        keys.extend(
            touched.into_iter().filter(|key| slots.get(key).is_some_and(|slot| slot.has_expired_timer(core))),
        );
        sorted_unique(keys)
    }

    /// Records that a poll or update was made.
    pub(super) fn record_poll(&mut self) {
        let now = self.core.now;
        if let Some(skipper) = &mut self.core.schedule.poll_skipper {
            skipper.last_poll = now;
        }
    }

    /// Records that all timers due by now have been processed, including those of resting slots.
    pub(super) fn record_timers_run(&mut self) {
        let now = self.core.now.monotonic();
        if let Some(skipper) = &mut self.core.schedule.poll_skipper {
            skipper.timers_run_at = now;
        }
    }

    /// Evaluates the policy of a slot; if nothing changes, the slot rests until the result can change.
    pub(super) fn evaluate_slot(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        let before = (slot.state, slot.activity, slot.fetch.state.running_call());
        core.schedule.change_predictor.begin(slot.clock_context(core));
        slot.evaluate_policy(core);
        let lags = slot.has_stale_latches(core);
        let willing = !slot.is_waiting_to_fetch() || slot.is_willing_without_job(core);
        // A slot in Preempting tries to fetch every second, even if START is false.
        let tries = slot.state == SlotState::Preempting
            && slot.unable_fetch_decision(core).is_some_and(|asks| !asks.as_reference);
        // Each time the fetch timer of an unwilling slot expires, it is set to the current delay.
        let keeps_time = willing || tries || slot.is_fetch_delay_unchanged(core);
        let until = core.schedule.change_predictor.end();
        let is_unchanged = before == (slot.state, slot.activity, slot.fetch.state.running_call())
            && slot.changed_at != core.now.monotonic_us
            && !lags
            && keeps_time;
        slot.idle_window.window_number = slot.idle_window.window_number.wrapping_add(1);
        slot.idle_window.until = if is_unchanged { until } else { EVALUATE_AT_ONCE };
        slot.fetch.timer_set_at = core.now.monotonic_us;
        slot.idle_window.fetch_mode = match is_unchanged && slot.is_waiting_to_fetch() {
            true if willing && slot.is_fetch_futile(core) => FetchMode::Futile,
            true if !willing && !tries => FetchMode::Unwilling,
            _ => FetchMode::WhenDue,
        };
        if slot.idle_window.fetch_mode != FetchMode::Futile
            && let Some(since) = slot.fetch.state.take_skipped_call()
        {
            slot.idle_window.fetch_mode = FetchMode::WhenDue;
            slot.resume_fetch(core, since);
        }
        if let Some(skipper) = &mut core.schedule.poll_skipper {
            skipper.touched.push(key);
        }
    }

    /// Processes the end of a hook whose output is not used. Returns true if nothing else has to be done, because polls are
    /// skipped and nothing is due. A simulation calls this twice per job.
    pub fn skip_hook_end(&mut self, run: HookRunId) -> bool {
        let is_quiet = self.is_skipping_polls()
            && self.core.work.starting_starters == 0
            && self.queued_events.is_empty();
        let is_fetch = |skipper: &PollSkipper| skipper.fetching_slots.contains_key(&run);
        let is_skipped = is_quiet
            && !self.core.schedule.poll_skipper.as_deref().is_some_and(is_fetch)
            && !self.has_due_alarm();
        if is_skipped {
            self.core.work.running_hooks.remove(&run);
            self.record_timers_run();
        }
        is_skipped
    }

    /// True if a slot fetches work now. First counts the calls that a futile fetcher would have made up to now.
    pub(super) fn is_fetch_due(&mut self, key: SlotKey) -> bool {
        let grid = self.core.poll_schedule();
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return false };
        if let Some(skipper) = core
            .schedule
            .poll_skipper
            .as_deref_mut()
            .filter(|_| slot.idle_window.fetch_mode == FetchMode::Futile)
        {
            skipper.skipped_fetches += slot.catch_up_fetches(
                &skipper.schedule,
                skipper.fetch_duration,
                CatchUpPoint::before_polls_at(core.now),
            );
        }
        slot.is_fetch_due(core, &grid)
    }
}

#[cfg(test)]
pub(super) mod tests;
