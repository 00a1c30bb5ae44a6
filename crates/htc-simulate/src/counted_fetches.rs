//! Counted calls of FETCH_WORK. An idle slot calls the hook every few minutes although no job is waiting; such calls
//! are only counted, not simulated one by one.
//!
//! A counted call gets a job only if one is waiting at the end of the call. Calls that end at the same time are
//! processed in the order of machines and slots, as if each call were simulated. So one waiting job wakes one slot,
//! however many slots fetch.

use std::cmp::Reverse;

use super::simulation::{DueEvent, FetchCall, Simulation};
use htc_base::time::MonotonicTime;
use htc_slot::{SlotKey, StartdEvent};

impl Simulation<'_> {
    /// Puts the end of the next counted call into the calendar. That call may return a waiting job.
    pub(super) fn schedule_counted_fetches(&mut self) {
        let now = self.elapsed_micros();
        while let Some((at, host, key, turn)) = self.counted_fetches.peek() {
            if self.scheduled_fetch.is_some_and(|asking| asking <= (at, host, key)) {
                return;
            }
            self.counted_fetches.pop();
            let Some(mut ends) = self.next_counted_fetch_end(host, key, turn) else { continue };
            if ends == now && self.last_answered.is_some_and(|answered| (now, host, key) <= answered) {
                // No job was waiting when a call at this time was processed.
                ends += 1;
            }
            let ends = ends.max(at);
            if ends > at {
                self.counted_fetches.push((ends, host, key, turn));
                continue;
            }
            self.scheduled_fetch = Some((ends, host, key));
            self.calendar.push(Reverse((ends, DueEvent::FetchEnd(host, key, FetchCall::Counted(turn)))));
        }
    }

    /// Returns the time when the slot's next counted call ends, now or later. Returns `None` if the calls of the slot
    /// are no longer only counted.
    fn next_counted_fetch_end(&mut self, host: u32, key: SlotKey, turn: u32) -> Option<u64> {
        let MonotonicTime(ends) =
            self.hosts[host as usize].machine.next_futile_fetch_end(key, turn, self.now)?;
        Some(ends.saturating_sub(self.started_at.monotonic_us))
    }

    pub(super) fn finish_counted_fetch(&mut self, host: u32, key: SlotKey, turn: u32) {
        let now = self.elapsed_micros();
        if self.scheduled_fetch == Some((now, host, key)) {
            self.scheduled_fetch = None;
        }
        let Some(ends) = self.next_counted_fetch_end(host, key, turn) else { return };
        if self.queue.is_empty() || ends > now {
            if ends == now {
                self.last_answered = Some((now, host, key));
            }
            self.counted_fetches.push((ends.max(now + 1), host, key, turn));
            return;
        }
        self.handle_event(host as usize, StartdEvent::SkippedFetchEnds { slot: key });
        self.schedule_wake(host as usize);
    }
}
