//! Calls of FETCH_WORK that are counted and not made, of slots that ask again and again in vain: what a simulation wants to know of them.

use std::time::Duration;

use super::execution_point::ExecutionPoint;
use super::interface::SlotKey;
use super::kept::rest::{Asks, Passed};
use htc_base::time::{Now, Tick};

impl ExecutionPoint {
    /// Slots that have begun to ask in vain: when the next call of each ends, and a number that says whether it still asks.
    pub fn take_waiting(&mut self) -> Vec<(SlotKey, Tick, u32)> {
        self.core.lazy.as_mut().map(|lazy| std::mem::take(&mut lazy.waiting)).unwrap_or_default()
    }

    /// When the next call of a slot that asks in vain ends, at or after `now`. `None` when it does not any more.
    pub fn asks_next(&mut self, key: SlotKey, turn: u32, now: Now) -> Option<Tick> {
        let slot = self
            .slots
            .get_mut(&key)
            .filter(|slot| slot.rest.asks == Asks::InVain && slot.rest.turn == turn)?;
        let lazy = self.core.lazy.as_mut()?;
        if slot.never_asks() {
            return None;
        }
        lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, Passed::before(now));
        let begins = match slot.fetching.counted() {
            Some(since) => Some(since.tick()),
            None => slot.next_fetch(&lazy.grid),
        };
        begins.map(|begins| begins.plus(lazy.fetch))
    }

    /// How many fetches were counted only, up to the end `since` microseconds after `begun`; what begins then is made.
    pub fn silent_fetches(&mut self, begun: Now, since: u64) -> u64 {
        let end = begun.plus(Duration::from_micros(since + 1));
        let Some(lazy) = &mut self.core.lazy else { return 0 };
        for slot in self.slots.values_mut() {
            lazy.silent += slot.catch_up(&lazy.grid, lazy.fetch, Passed::before(end));
            // One that is under way at the end was called, too.
            lazy.silent += u64::from(slot.fetching.take_counted().is_some());
        }
        lazy.silent
    }
}
