//! What is kept of a slot that rests.

use std::time::Duration;

use crate::change_prediction::HOLDS_FOREVER;
use htc_base::time::{ClockReading, MonotonicTime};

/// What is kept of one slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleWindow {
    /// Until this second nothing can be different; at once after an event.
    pub until: i64,
    /// The second that stands for it in the list of looks.
    pub queued_until: Option<i64>,
    /// When its ad was made, on the clock that never jumps.
    pub ad_made_at: u64,
    pub fetch_mode: FetchMode,
    /// Counts rests.
    pub window_number: u32,
    pub is_polled: bool,
    /// What stands in the calendar of timers.
    pub queued_timer: Option<MonotonicTime>,
}

/// How a slot that rests asks for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchMode {
    /// When its timer ends, or a poll lets it.
    WhenDue,
    /// The same, but in vain.
    Futile,
    /// Not before it is looked at again: START is false.
    Unwilling,
}

/// Up to when a slot that rests is made up for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatchUpPoint {
    pub now: ClockReading,
    /// Whether it would have seen a poll of this moment, or the end of its timer in it, too.
    pub includes_poll: bool,
}

impl CatchUpPoint {
    /// Before anything of this moment.
    pub(crate) fn before_polls_at(now: ClockReading) -> Self {
        CatchUpPoint { now, includes_poll: false }
    }
}

/// Look at once.
pub(crate) const LOOK_AT_ONCE: i64 = i64::MIN;

impl IdleWindow {
    /// What is to be put into the list of looks, unless that stands there.
    pub(crate) fn queue_look(&mut self) -> Option<i64> {
        let is_new = self.until != HOLDS_FOREVER && self.queued_until.replace(self.until) != Some(self.until);
        is_new.then_some(self.until)
    }

    /// It was taken out of the list of looks; returns whether it still counts.
    pub(crate) fn dequeue_look(&mut self, until: i64) -> bool {
        self.queued_until = self.queued_until.filter(|listed| *listed != until);
        self.until == until
    }
}

impl Default for IdleWindow {
    fn default() -> Self {
        IdleWindow {
            until: LOOK_AT_ONCE,
            queued_until: None,
            ad_made_at: 0,
            fetch_mode: FetchMode::WhenDue,
            window_number: 0,
            is_polled: false,
            queued_timer: None,
        }
    }
}

/// That long ago.
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
    fn a_slot_stands_in_the_list_of_looks_once() {
        let mut rest = IdleWindow::default();
        assert_eq!((rest.queue_look(), rest.queue_look()), (Some(LOOK_AT_ONCE), None));
        rest.until = 700;
        assert_eq!((rest.queue_look(), rest.queue_look()), (Some(700), None));
        // What stood there before counts no more, and what counts still stands there.
        assert!(!rest.dequeue_look(LOOK_AT_ONCE));
        assert_eq!(rest.queue_look(), None);
        assert!(rest.dequeue_look(700));
        assert_eq!(rest.queue_look(), Some(700));
        rest.until = HOLDS_FOREVER;
        assert_eq!(rest.queue_look(), None);
    }
}
