//! Counted calls of FETCH_WORK: futile calls of idle slots every few minutes, which are counted and not made.
//!
//! Such a call gets a job only if there is one at its end. Calls that end at the same time are processed in the order of
//! machines and slots, as if each were made; so one job wakes one slot, however many fetch it.

use std::cmp::Reverse;

use super::simulation::{DueEvent, FetchCall, Simulation};
use htc_base::time::MonotonicTime;
use htc_slot::{SlotKey, StartdEvent};

impl Simulation<'_> {
    /// Schedules the next counted call to end, which may return a waiting job.
    pub(super) fn schedule_counted_fetches(&mut self) {
        let now = self.elapsed_micros();
        while let Some((at, host, key, turn)) = self.counted_fetches.peek() {
            if self.scheduled_fetch.is_some_and(|asking| asking <= (at, host, key)) {
                return;
            }
            self.counted_fetches.pop();
            let Some(mut ends) = self.next_counted_fetch_end(host, key, turn) else { continue };
            if ends == now && self.last_answered.is_some_and(|answered| (now, host, key) <= answered) {
                // There was no job when the call was processed.
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

    /// Returns when the slot's next counted call ends, now or later; `None` if the slot is no longer a futile fetcher.
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
