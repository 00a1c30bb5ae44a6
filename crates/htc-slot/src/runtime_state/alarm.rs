//! Timers of the daemon: when they expire, and when the daemon wakes up for them.

use std::time::Duration;

use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::time::{ClockReading, MonotonicTime};

/// Timer of the daemon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    /// Instant at which the daemon wakes up for the timer.
    pub at: MonotonicTime,
    /// Second of the wall clock from which on the timer is treated as expired.
    second: i64,
}

impl Alarm {
    /// Creates a timer that expires at `at`, which is in the second `second` of the wall clock.
    pub(crate) fn new(at: MonotonicTime, second: i64) -> Self {
        Alarm { at, second }
    }

    /// Returns the second in which the timer expires in the reference, whose timers count whole seconds; `None` if the
    /// quirk is not reproduced.
    fn reference_deadline(self, quirks: QuirkMode) -> Option<i64> {
        quirks.reproduces(Quirk::TimersWholeSeconds).then_some(self.second)
    }

    /// True if the timer has expired. In the reference, a timer has expired as soon as the daemon wakes up for any reason in the
    /// timer's second.
    pub(crate) fn is_due(self, now: ClockReading, quirks: QuirkMode) -> bool {
        self.at <= now.monotonic()
            || self.reference_deadline(quirks).is_some_and(|second| second <= now.epoch())
    }

    /// Returns when the timer wakes the daemon, if the daemon last woke up at `now`. The reference sleeps for the whole
    /// seconds left (`TimerManager::Timeout`), so it wakes up to one second too early or too late. It wakes only once
    /// for all timers of the same second.
    pub(crate) fn wake_time(self, now: ClockReading, quirks: QuirkMode) -> MonotonicTime {
        let Some(second) = self.reference_deadline(quirks) else { return self.at };
        let left = u64::try_from(second.saturating_sub(now.epoch())).unwrap_or(0);
        now.monotonic().plus(Duration::from_secs(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_of_the_reference_ends_with_the_second() {
        let at = |milliseconds| ClockReading::from_epoch(100).plus(Duration::from_millis(milliseconds));
        let alarm = Alarm { at: at(1900).monotonic(), second: 101 };
        let due = |now, quirks| alarm.is_due(now, quirks);
        assert!(!due(at(999), QuirkMode::Reference) && due(at(1000), QuirkMode::Reference));
        assert!(!due(at(1899), QuirkMode::Manual) && due(at(1900), QuirkMode::Manual));
    }

    #[test]
    fn a_timer_of_the_reference_sleeps_whole_seconds_from_the_last_wake() {
        let at =
            |hundredths: u64| ClockReading::from_epoch(1000).plus(Duration::from_millis(hundredths * 10));
        // A timer of five seconds that was set at 0.05 s.
        let alarm = Alarm { at: at(505).monotonic(), second: at(505).epoch() };
        for (woken, wakes) in [(5, 505), (105, 505), (390, 590), (301, 501), (499, 599)] {
            assert_eq!(
                alarm.wake_time(at(woken), QuirkMode::Reference),
                at(wakes).monotonic(),
                "woken at {woken}"
            );
            assert_eq!(alarm.wake_time(at(woken), QuirkMode::Manual), at(505).monotonic());
        }
        assert!(alarm.is_due(at(501), QuirkMode::Reference) && !alarm.is_due(at(501), QuirkMode::Manual));
        assert!(!alarm.is_due(at(499), QuirkMode::Reference));
    }
}
