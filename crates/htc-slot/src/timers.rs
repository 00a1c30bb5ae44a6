//! Timers: the first evaluation, polls, updates and leases, and the computation of which is due next.

use super::events::ShutdownMode;
use super::execution_point::ExecutionPoint;
use super::runtime_state::alarm::Alarm;
use super::runtime_state::fetch_state::FetchState;
use htc_base::quirks::Quirk;
use htc_base::time::MonotonicTime;

impl ExecutionPoint {
    /// Returns when the next `StartdEvent::Tick` is due, or `None` if no timer is set.
    pub fn next_wake(&self) -> Option<MonotonicTime> {
        if self.finished {
            return None;
        }
        let core = &self.core;
        if let Some(skipper) = core.schedule.poll_skipper.as_ref().filter(|_| self.is_skipping_polls()) {
            return skipper.next_wake;
        }
        let wakes = |alarm: Option<Alarm>| alarm.map(|alarm| alarm.wake_time(core.now, core.quirks()));
        let shared = [
            wakes(core.schedule.poll_at),
            wakes(core.schedule.update_at),
            wakes(core.power.check_at),
            core.backfill.kill_deadline(),
            core.backfill.dead_client_end(),
            self.graceful_until,
            self.hooks_until,
            self.idle_exit_time().filter(|_| !core.ending.idle_exit_due),
        ];
        let slots = self.slots.values().flat_map(|slot| {
            let lease = slot.claims.current.as_ref().and_then(|claim| claim.lease_ends);
            let fetch =
                wakes(slot.fetch.state.next_call_alarm()).filter(|_| core.ending.no_more_fetching.is_none());
            [fetch, slot.kill_deadline(), lease, wakes(slot.claims.match_expiry)]
        });
        shared.into_iter().chain(slots).flatten().min()
    }

    /// Returns the longest time between two policy evaluations, in microseconds.
    pub fn longest_poll_interval(&self) -> u64 {
        let settings = &self.core.settings;
        let longest = settings.update_interval.max(settings.polling_interval);
        u64::try_from(longest.as_micros()).unwrap_or(u64::MAX)
    }

    pub(super) fn start_execution_point(&mut self) {
        self.core.start_updating();
        self.core.schedule_hibernation_check();
        self.report_backfill_quirk();
        self.evaluate_all();
        // According to the manual, a new slot fetches work at once.
        let keys: Vec<_> = self.slots.keys().collect();
        for key in keys {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            let has_fetch_hook = slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
            if has_fetch_hook && !self.core.decide_and_report(Quirk::FirstFetchLate, key) {
                slot.try_fetch(&mut self.core);
            }
        }
    }

    /// True if a timer has expired and was not yet processed.
    pub(super) fn has_due_alarm(&self) -> bool {
        let core = &self.core;
        if self.is_skipping_polls() {
            return core.is_due(core.schedule.poll_at)
                || core.is_due(core.schedule.update_at)
                || self.is_any_fetch_due();
        }
        let of_slots = self.slots.values().map(|slot| slot.fetch.state.next_call_alarm());
        [core.schedule.poll_at, core.schedule.update_at, core.power.check_at]
            .into_iter()
            .chain(of_slots)
            .any(|alarm| core.is_due(alarm))
    }

    pub(super) fn run_due_timers(&mut self) {
        let tick = self.core.now.monotonic();
        let due = |at: Option<MonotonicTime>| at.is_some_and(|at| at <= tick);
        if due(self.graceful_until) {
            self.graceful_until = None;
            self.shut_down(ShutdownMode::Fast, "SHUTDOWN_GRACEFUL_TIMEOUT has expired");
        }
        if due(self.core.backfill.dead_client_end()) {
            self.handle_client_exit();
        }
        self.core.kill_overdue_client();
        if self.core.is_due(self.core.schedule.update_at) {
            self.core.schedule.update_at = Some(self.core.alarm(self.core.settings.update_interval));
            self.evaluate_all();
            self.check_daemon_shutdown();
        }
        if self.core.is_due(self.core.schedule.poll_at) {
            self.core.schedule.poll_at = Some(self.core.alarm(self.core.settings.polling_interval));
            self.evaluate_all();
        }
        let skipper = self.is_skipping_polls();
        if self.core.is_due(self.core.power.check_at) && !skipper {
            self.check_hibernation();
        }
        let keys: Vec<_> = if skipper { self.take_due_timers() } else { self.slots.keys().collect() };
        // This check comes before the slots are woken, because waking resets their timers.
        let asking: Vec<bool> = keys.iter().map(|key| skipper && self.is_fetch_due(*key)).collect();
        for (key, asks) in keys.into_iter().zip(asking) {
            if skipper {
                self.wake_slot_family(key);
            }
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            slot.escalate_overdue_kill(&mut self.core);
            if slot.claims.current.as_ref().is_some_and(|claim| due(claim.lease_ends)) {
                let Some(claim) = &mut slot.claims.current else { continue };
                claim.lease_ends = None;
                let busy = claim.busy_lease_decision(self.core.quirks()).filter(|_| claim.is_active());
                if let Some(renewed) = busy {
                    self.core.report(renewed, key);
                }
                slot.kill_claim(&mut self.core, None, "the claim's lease has expired");
            }
            if self.core.is_due(slot.claims.match_expiry) {
                slot.handle_match_timeout(&mut self.core);
            }
            if asks || self.core.is_due(slot.fetch.state.next_call_alarm()) {
                if let FetchState::Waiting(_) = slot.fetch.state {
                    slot.fetch.state = FetchState::Inactive;
                }
                slot.try_fetch(&mut self.core);
            }
        }
    }
}
