//! What is kept for all slots where they rest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::poll_schedule::PollSchedule;
use crate::events::{HookRunId, SlotKey, StarterId};
use htc_base::time::{ClockReading, MonotonicTime};

/// What is kept for all slots.
pub(crate) struct PollSkipper {
    /// How long a FETCH_WORK takes.
    pub fetch_duration: Duration,
    /// Whether fetches in vain are counted only.
    pub skips_futile_fetches: bool,
    /// The last poll or update that was made or passed over.
    pub last_poll: ClockReading,
    /// From which second on each slot is to be looked at.
    pub next_looks: BinaryHeap<Reverse<(i64, SlotKey)>>,
    /// When each slot has something to do by itself.
    pub timers: BinaryHeap<Reverse<(MonotonicTime, SlotKey)>>,
    /// Slots that the present event concerns.
    pub touched: Vec<SlotKey>,
    pub all_touched: bool,
    /// The polls as they were at the end of the last step.
    pub schedule: PollSchedule,
    /// How many slots are looked at in polls.
    pub polled_slots: usize,
    /// The moment whose timers have had their turn.
    pub timers_run_at: MonotonicTime,
    /// Slots that ask in vain, since they were last told of.
    pub futile_fetchers: Vec<(SlotKey, MonotonicTime, u32)>,
    /// Fetches that were counted only.
    pub skipped_fetches: u64,
    /// Which slot a call or a starter belongs to.
    pub fetching_slots: FxHashMap<HookRunId, SlotKey>,
    pub starter_slots: FxHashMap<StarterId, SlotKey>,
    /// When something is due next.
    pub next_wake: Option<MonotonicTime>,
}

impl PollSkipper {
    /// The present event concerns this slot.
    pub(crate) fn mark_touched(&mut self, key: SlotKey) {
        self.touched.push(key);
    }
}
