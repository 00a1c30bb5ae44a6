//! What is kept for all slots where they rest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::grid::Grid;
use crate::interface::{HookRun, SlotKey, StarterId};
use htc_base::time::{Now, Tick};

/// What is kept for all slots.
pub(crate) struct Lazy {
    /// How long a FETCH_WORK takes.
    pub fetch: Duration,
    /// Whether fetches in vain are counted only.
    pub counts: bool,
    /// The last poll or update that was made or passed over.
    pub last: Now,
    /// From which second on each slot is to be looked at.
    pub looks: BinaryHeap<Reverse<(i64, SlotKey)>>,
    /// When each slot has something to do by itself.
    pub timers: BinaryHeap<Reverse<(Tick, SlotKey)>>,
    /// Slots that the present event concerns.
    pub touched: Vec<SlotKey>,
    pub all_touched: bool,
    /// The polls as they were at the end of the last step.
    pub grid: Grid,
    /// How many slots are looked at in polls.
    pub polled: usize,
    /// The moment whose timers have had their turn.
    pub timers_over: Tick,
    /// Slots that ask in vain, since they were last told of.
    pub waiting: Vec<(SlotKey, Tick, u32)>,
    /// Fetches that were counted only.
    pub silent: u64,
    /// Which slot a call or a starter belongs to.
    pub fetches: FxHashMap<HookRun, SlotKey>,
    pub starters: FxHashMap<StarterId, SlotKey>,
    /// When something is due next.
    pub next: Option<Tick>,
}

impl Lazy {
    /// The present event concerns this slot.
    pub(crate) fn concern(&mut self, key: SlotKey) {
        self.touched.push(key);
    }
}
