//! Calls of FETCH_WORK that are counted and not made, of slots that ask again and again in vain: what a simulation wants to know of them.

use std::time::Duration;

use super::events::SlotKey;
use super::execution_point::ExecutionPoint;
use super::runtime_state::idle_window::{CatchUpPoint, FetchMode};
use htc_base::time::{ClockReading, MonotonicTime};

impl ExecutionPoint {
    /// Slots that have begun to ask in vain: when the next call of each ends, and a number that says whether it still asks.
    pub fn take_futile_fetchers(&mut self) -> Vec<(SlotKey, MonotonicTime, u32)> {
        self.core
            .poll_skipper
            .as_mut()
            .map(|lazy| std::mem::take(&mut lazy.futile_fetchers))
            .unwrap_or_default()
    }

    /// When the next call of a slot that asks in vain ends, at or after `now`. `None` when it does not any more.
    pub fn next_futile_fetch_end(
        &mut self,
        key: SlotKey,
        turn: u32,
        now: ClockReading,
    ) -> Option<MonotonicTime> {
        let slot = self.slots.get_mut(&key).filter(|slot| {
            slot.idle_window.fetch_mode == FetchMode::Futile && slot.idle_window.window_number == turn
        })?;
        let lazy = self.core.poll_skipper.as_mut()?;
        if slot.is_never_fetching() {
            return None;
        }
        lazy.skipped_fetches +=
            slot.catch_up_fetches(&lazy.schedule, lazy.fetch_duration, CatchUpPoint::before_polls_at(now));
        let begins = match slot.fetch_state.skipped_call_start() {
            Some(since) => Some(since.monotonic()),
            None => slot.next_fetch_time(&lazy.schedule),
        };
        begins.map(|begins| begins.plus(lazy.fetch_duration))
    }

    /// How many fetches were counted only, up to the end `since` microseconds after `begun`; what begins then is made.
    pub fn count_skipped_fetches(&mut self, begun: ClockReading, since: u64) -> u64 {
        let end = begun.plus(Duration::from_micros(since + 1));
        let Some(lazy) = &mut self.core.poll_skipper else { return 0 };
        for slot in self.slots.values_mut() {
            lazy.skipped_fetches += slot.catch_up_fetches(
                &lazy.schedule,
                lazy.fetch_duration,
                CatchUpPoint::before_polls_at(end),
            );
            // One that is under way at the end was called, too.
            lazy.skipped_fetches += u64::from(slot.fetch_state.take_skipped_call().is_some());
        }
        lazy.skipped_fetches
    }
}
