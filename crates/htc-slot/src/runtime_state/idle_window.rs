//! State of a slot whose polls are skipped.

use std::time::Duration;

use crate::change_prediction::HOLDS_FOREVER;
use htc_base::time::{ClockReading, MonotonicTime};

/// Window in which polls of a slot are skipped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleWindow {
    /// Second before which nothing can change in the slot; `EVALUATE_AT_ONCE` after an event.
    pub until: i64,
    /// Second under which the slot is queued for evaluation, or `None` if it is not queued.
    pub queued_until: Option<i64>,
    /// Time when the slot's ad was refreshed, on the monotonic clock, in microseconds.
    pub ad_made_at: u64,
    pub fetch_mode: FetchMode,
    /// Sequence number of the window.
    pub window_number: u32,
    pub is_polled: bool,
    /// Expiry time under which the slot is in the timer queue, or `None` if it is not queued.
    pub queued_timer: Option<MonotonicTime>,
}

/// Mode of fetching work while polls are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchMode {
    /// The slot fetches when its timer expires, or at a poll.
    WhenDue,
    /// The slot fetches as with `WhenDue`, but cannot get a job.
    Futile,
    /// START is false, so the slot does not fetch before its next evaluation.
    Unwilling,
}

/// Time up to which a slot whose polls were skipped catches up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatchUpPoint {
    pub now: ClockReading,
    /// True if polls and timers at exactly this time are included.
    pub includes_poll: bool,
}

impl CatchUpPoint {
    /// Returns the point before all polls and timers at this time.
    pub(crate) fn before_polls_at(now: ClockReading) -> Self {
        CatchUpPoint { now, includes_poll: false }
    }
}

/// Value of [`IdleWindow::until`] for evaluating the slot at once.
pub(crate) const EVALUATE_AT_ONCE: i64 = i64::MIN;

impl IdleWindow {
    /// Returns the second under which to queue the slot for its next evaluation, or `None` if it is queued already or is never
    /// due.
    pub(crate) fn queue_evaluation(&mut self) -> Option<i64> {
        let is_new = self.until != HOLDS_FOREVER && self.queued_until.replace(self.until) != Some(self.until);
        is_new.then_some(self.until)
    }

    /// Removes the queue entry for `until`, and returns true if the entry was current.
    pub(crate) fn dequeue_evaluation(&mut self, until: i64) -> bool {
        self.queued_until = self.queued_until.filter(|listed| *listed != until);
        self.until == until
    }
}

impl Default for IdleWindow {
    fn default() -> Self {
        IdleWindow {
            until: EVALUATE_AT_ONCE,
            queued_until: None,
            ad_made_at: 0,
            fetch_mode: FetchMode::WhenDue,
            window_number: 0,
            is_polled: false,
            queued_timer: None,
        }
    }
}

/// Returns the clock reading of `by` before `now`.
pub(crate) fn earlier_by(now: ClockReading, by: Duration) -> ClockReading {
    let by = u64::try_from(by.as_micros()).unwrap_or(0);
    ClockReading {
        wall_us: now.wall_us.saturating_sub_unsigned(by),
        monotonic_us: now.monotonic_us.saturating_sub(by),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_queued_for_evaluation_once() {
        let mut rest = IdleWindow::default();
        assert_eq!((rest.queue_evaluation(), rest.queue_evaluation()), (Some(EVALUATE_AT_ONCE), None));
        rest.until = 700;
        assert_eq!((rest.queue_evaluation(), rest.queue_evaluation()), (Some(700), None));
        // The first entry is obsolete, and the second one is still queued.
        assert!(!rest.dequeue_evaluation(EVALUATE_AT_ONCE));
        assert_eq!(rest.queue_evaluation(), None);
        assert!(rest.dequeue_evaluation(700));
        assert_eq!(rest.queue_evaluation(), Some(700));
        rest.until = HOLDS_FOREVER;
        assert_eq!(rest.queue_evaluation(), None);
    }
}
