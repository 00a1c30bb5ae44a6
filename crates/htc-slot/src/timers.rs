//! What time brings: the first looks, polls, updates, leases, and when the next of them is due.

use super::execution_point::ExecutionPoint;
use super::interface::Shutdown;
use super::kept::alarm::Alarm;
use super::kept::fetching::Fetching;
use htc_base::quirks::Quirk;
use htc_base::time::Tick;

impl ExecutionPoint {
    /// When the next thing is due, to be answered by `Event::Tick`; `None` when nothing is.
    pub fn next_wake(&self) -> Option<Tick> {
        if self.finished {
            return None;
        }
        let core = &self.core;
        if let Some(lazy) = core.lazy.as_ref().filter(|_| self.is_lazy()) {
            return lazy.next;
        }
        let wakes = |alarm: Option<Alarm>| alarm.map(|alarm| alarm.wakes(core.now, core.quirks()));
        let shared = [
            wakes(core.poll_at),
            wakes(core.update_at),
            wakes(core.power.check_at),
            core.backfill.ending_at(),
            core.backfill.dies_at(),
            self.graceful_until,
            self.hooks_until,
            self.idle_end().filter(|_| !core.idle_over),
        ];
        let slots = self.slots.values().flat_map(|slot| {
            let lease = slot.current.as_ref().and_then(|claim| claim.lease_ends);
            let fetch = wakes(slot.fetching.alarm()).filter(|_| core.no_more_fetching.is_none());
            [fetch, slot.ending_at(), lease, wakes(slot.match_ends)]
        });
        shared.into_iter().chain(slots).flatten().min()
    }

    /// How long it takes at most until slots are looked at again, in microseconds.
    pub fn longest_poll(&self) -> u64 {
        let settings = &self.core.settings;
        let longest = settings.update_interval.max(settings.polling_interval);
        u64::try_from(longest.as_micros()).unwrap_or(u64::MAX)
    }

    pub(super) fn start(&mut self) {
        self.core.start_updating();
        self.core.start_power();
        self.tell_backfill();
        self.evaluate_all();
        // By the manual a fresh slot asks at once.
        let keys: Vec<_> = self.slots.keys().collect();
        for key in keys {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            let asks = slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
            if asks && !self.core.has(Quirk::FirstFetchLate, key) {
                slot.try_fetch(&mut self.core);
            }
        }
    }

    /// Whether a timer has run out that nothing has looked at yet.
    pub(super) fn alarms_are_due(&self) -> bool {
        let core = &self.core;
        if self.is_lazy() {
            return core.is_due(core.poll_at) || core.is_due(core.update_at) || self.a_fetch_is_due();
        }
        let of_slots = self.slots.values().map(|slot| slot.fetching.alarm());
        [core.poll_at, core.update_at, core.power.check_at]
            .into_iter()
            .chain(of_slots)
            .any(|alarm| core.is_due(alarm))
    }

    pub(super) fn tick(&mut self) {
        let tick = self.core.now.tick();
        let due = |at: Option<Tick>| at.is_some_and(|at| at <= tick);
        if due(self.graceful_until) {
            self.graceful_until = None;
            self.shut_down(Shutdown::Fast, "SHUTDOWN_GRACEFUL_TIMEOUT is over");
        }
        if due(self.core.backfill.dies_at()) {
            self.client_exited();
        }
        self.core.client_due();
        if self.core.is_due(self.core.update_at) {
            self.core.update_at = Some(self.core.alarm(self.core.settings.update_interval));
            self.evaluate_all();
            self.check_daemon_shutdown();
        }
        if self.core.is_due(self.core.poll_at) {
            self.core.poll_at = Some(self.core.alarm(self.core.settings.polling_interval));
            self.evaluate_all();
        }
        let lazy = self.is_lazy();
        if self.core.is_due(self.core.power.check_at) && !lazy {
            self.check_power();
        }
        let keys: Vec<_> = if lazy { self.due_timers() } else { self.slots.keys().collect() };
        // Before they are woken: a poll would have let them ask.
        let asking: Vec<bool> = keys.iter().map(|key| lazy && self.asks_now(*key)).collect();
        for (key, asks) in keys.into_iter().zip(asking) {
            if lazy {
                self.touch(key);
            }
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            slot.ending_due(&mut self.core);
            if slot.current.as_ref().is_some_and(|claim| due(claim.lease_ends)) {
                let Some(claim) = &mut slot.current else { continue };
                claim.lease_ends = None;
                let busy = claim.busy_lease(self.core.quirks()).filter(|_| claim.is_active());
                if let Some(renewed) = busy {
                    self.core.told(renewed, key);
                }
                slot.kill_claim(&mut self.core, None, "the claim's lease is over");
            }
            if self.core.is_due(slot.match_ends) {
                slot.match_timed_out(&mut self.core);
            }
            if asks || self.core.is_due(slot.fetching.alarm()) {
                if let Fetching::Waits(_) = slot.fetching {
                    slot.fetching = Fetching::No;
                }
                slot.try_fetch(&mut self.core);
            }
        }
    }
}
