//! Skipped calls of FETCH_WORK. A simulation only counts these calls, because they cannot return a job.

use std::time::Duration;

use super::events::SlotKey;
use super::execution_point::ExecutionPoint;
use super::runtime_state::idle_window::{CatchUpPoint, FetchMode};
use htc_base::time::{ClockReading, MonotonicTime};

impl ExecutionPoint {
    /// Returns the slots that have become futile fetchers since the last query. For each, also returns when its next call ends,
    /// and its window number for `next_futile_fetch_end`.
    pub fn take_futile_fetchers(&mut self) -> Vec<(SlotKey, MonotonicTime, u32)> {
        self.core
            .schedule
            .poll_skipper
            .as_mut()
            .map(|skipper| std::mem::take(&mut skipper.futile_fetchers))
            .unwrap_or_default()
    }

    /// Returns when the next call of a futile fetcher ends, at or after `now`, or `None` if the slot is no longer a futile
    /// fetcher.
    pub fn next_futile_fetch_end(
        &mut self,
        key: SlotKey,
        turn: u32,
        now: ClockReading,
    ) -> Option<MonotonicTime> {
        let slot = self.slots.get_mut(&key).filter(|slot| {
            slot.idle_window.fetch_mode == FetchMode::Futile && slot.idle_window.window_number == turn
        })?;
        let skipper = self.core.schedule.poll_skipper.as_mut()?;
        if slot.is_never_fetching() {
            return None;
        }
        skipper.skipped_fetches += slot.catch_up_fetches(
            &skipper.schedule,
            skipper.fetch_duration,
            CatchUpPoint::before_polls_at(now),
        );
        let begins = match slot.fetch.state.skipped_call_start() {
            Some(since) => Some(since.monotonic()),
            None => slot.next_fetch_time(&skipper.schedule),
        };
        begins.map(|begins| begins.plus(skipper.fetch_duration))
    }

    /// Returns the number of calls skipped until `since` microseconds after `begun`. From then on, calls are made
    /// again.
    pub fn count_skipped_fetches(&mut self, begun: ClockReading, since: u64) -> u64 {
        let end = begun.plus(Duration::from_micros(since + 1));
        let Some(skipper) = &mut self.core.schedule.poll_skipper else { return 0 };
        for slot in self.slots.values_mut() {
            skipper.skipped_fetches += slot.catch_up_fetches(
                &skipper.schedule,
                skipper.fetch_duration,
                CatchUpPoint::before_polls_at(end),
            );
            // A call that is in progress at the end is included in the count.
            skipper.skipped_fetches += u64::from(slot.fetch.state.take_skipped_call().is_some());
        }
        skipper.skipped_fetches
    }
}
