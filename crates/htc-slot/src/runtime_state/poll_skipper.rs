//! State of poll skipping that is shared by all slots.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::poll_schedule::PollSchedule;
use crate::events::{HookRunId, SlotKey, StarterId};
use htc_base::time::{ClockReading, MonotonicTime};

/// State of poll skipping, shared by all slots.
pub(crate) struct PollSkipper {
    /// Duration of each FETCH_WORK call.
    pub fetch_duration: Duration,
    /// True if futile fetches are not made, only counted.
    pub skips_futile_fetches: bool,
    /// Time of the last poll or update that was made or skipped.
    pub last_poll: ClockReading,
    /// Queue of slots by the second from which each must be evaluated.
    pub next_evaluations: BinaryHeap<Reverse<(i64, SlotKey)>>,
    /// Queue of slots by the time their next timer expires.
    pub timers: BinaryHeap<Reverse<(MonotonicTime, SlotKey)>>,
    /// Slots that the current event concerns.
    pub touched: Vec<SlotKey>,
    pub all_touched: bool,
    /// Schedule of polls and updates as of the end of the last step.
    pub schedule: PollSchedule,
    /// Number of slots that must be evaluated at every poll.
    pub polled_slots: usize,
    /// Time up to which timers have been processed.
    pub timers_run_at: MonotonicTime,
    /// Slots that have become futile fetchers since the last query, with the end of their next call and the number of their
    /// window.
    pub futile_fetchers: Vec<(SlotKey, MonotonicTime, u32)>,
    /// Number of fetches that were not made, only counted.
    pub skipped_fetches: u64,
    /// Slot of each FETCH_WORK call in progress.
    pub fetching_slots: FxHashMap<HookRunId, SlotKey>,
    pub starter_slots: FxHashMap<StarterId, SlotKey>,
    /// Time when the next poll, update or timer is due, or `None`.
    pub next_wake: Option<MonotonicTime>,
}

impl PollSkipper {
    /// Records that the current event concerns this slot.
    pub(crate) fn mark_touched(&mut self, key: SlotKey) {
        self.touched.push(key);
    }
}
