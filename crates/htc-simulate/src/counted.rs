//! Calls of FETCH_WORK that are counted and not made: what an idle slot asks for in vain every few minutes of a month.
//!
//! Such a call is put off to its end, when it is known whether there is a job for it. Calls that end in the same moment are answered in
//! the order of machines and slots, as they are where each is made; so one job wakes one slot, however many ask for it.

use std::cmp::Reverse;

use super::simulation::{Due, Fetch, Simulation};
use htc_base::time::Tick;
use htc_slot::{Event, SlotKey};

impl Simulation<'_> {
    /// Jobs wait: the call that ends next may bring one of them.
    pub(super) fn wake_who_waits(&mut self) {
        let now = self.since();
        while let Some((at, host, key, turn)) = self.asks.peek() {
            if self.asking.is_some_and(|asking| asking <= (at, host, key)) {
                return;
            }
            self.asks.pop();
            let Some(mut ends) = self.counted_fetch(host, key, turn) else { continue };
            if ends == now && self.answered.is_some_and(|answered| (now, host, key) <= answered) {
                // There was nothing when it was its turn.
                ends += 1;
            }
            let ends = ends.max(at);
            if ends > at {
                self.asks.push((ends, host, key, turn));
                continue;
            }
            self.asking = Some((ends, host, key));
            self.calendar.push(Reverse((ends, Due::Hook(host, key, Fetch::Counted(turn)))));
        }
    }

    /// When the slot's next call ends that is counted only, now or later; none if it does not ask in vain any more.
    fn counted_fetch(&mut self, host: u32, key: SlotKey, turn: u32) -> Option<u64> {
        let Tick(ends) = self.hosts[host as usize].machine.asks_next(key, turn, self.now)?;
        Some(ends.saturating_sub(self.begun.monotonic_us))
    }

    pub(super) fn counted_fetch_ends(&mut self, host: u32, key: SlotKey, turn: u32) {
        let now = self.since();
        if self.asking == Some((now, host, key)) {
            self.asking = None;
        }
        let Some(ends) = self.counted_fetch(host, key, turn) else { return };
        if self.queue.is_empty() || ends > now {
            if ends == now {
                self.answered = Some((now, host, key));
            }
            self.asks.push((ends.max(now + 1), host, key, turn));
            return;
        }
        self.step(host as usize, Event::Asks { slot: key });
        self.ask_to_be_woken(host as usize);
    }
}
