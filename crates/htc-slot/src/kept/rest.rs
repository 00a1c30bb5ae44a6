//! What is kept of a slot that rests.

use std::time::Duration;

use crate::watch::ALWAYS;
use htc_base::time::{Now, Tick};

/// What is kept of one slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// Until this second nothing can be different; at once after an event.
    pub until: i64,
    /// The second that stands for it in the list of looks.
    pub listed: Option<i64>,
    /// When its ad was made, on the clock that never jumps.
    pub made: u64,
    pub asks: Asks,
    /// Counts rests.
    pub turn: u32,
    pub is_polled: bool,
    /// What stands in the calendar of timers.
    pub timer: Option<Tick>,
}

/// How a slot that rests asks for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// When its timer ends, or a poll lets it.
    AtWill,
    /// The same, but in vain.
    InVain,
    /// Not before it is looked at again: START is false.
    Unwilling,
}

/// Up to when a slot that rests is made up for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub now: Now,
    /// Whether it would have seen a poll of this moment, or the end of its timer in it, too.
    pub polled: bool,
}

impl Passed {
    /// Before anything of this moment.
    pub(crate) fn before(now: Now) -> Self {
        Passed { now, polled: false }
    }
}

/// Look at once.
pub(crate) const NOW: i64 = i64::MIN;

impl Rest {
    /// What is to be put into the list of looks, unless that stands there.
    pub(crate) fn enlist(&mut self) -> Option<i64> {
        let is_new = self.until != ALWAYS && self.listed.replace(self.until) != Some(self.until);
        is_new.then_some(self.until)
    }

    /// It was taken out of the list of looks; returns whether it still counts.
    pub(crate) fn delist(&mut self, until: i64) -> bool {
        self.listed = self.listed.filter(|listed| *listed != until);
        self.until == until
    }
}

impl Default for Rest {
    fn default() -> Self {
        Rest { until: NOW, listed: None, made: 0, asks: Asks::AtWill, turn: 0, is_polled: false, timer: None }
    }
}

/// That long ago.
pub(crate) fn back(now: Now, by: Duration) -> Now {
    let by = u64::try_from(by.as_micros()).unwrap_or(0);
    Now {
        wall_us: now.wall_us.saturating_sub_unsigned(by),
        monotonic_us: now.monotonic_us.saturating_sub(by),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_stands_in_the_list_of_looks_once() {
        let mut rest = Rest::default();
        assert_eq!((rest.enlist(), rest.enlist()), (Some(NOW), None));
        rest.until = 700;
        assert_eq!((rest.enlist(), rest.enlist()), (Some(700), None));
        // What stood there before counts no more, and what counts still stands there.
        assert!(!rest.delist(NOW));
        assert_eq!(rest.enlist(), None);
        assert!(rest.delist(700));
        assert_eq!(rest.enlist(), Some(700));
        rest.until = ALWAYS;
        assert_eq!(rest.enlist(), None);
    }
}
