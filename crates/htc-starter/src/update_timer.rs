//! Times of the periodic updates, and the triggers of other updates.

use std::time::Duration;

use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::time::{ClockReading, MonotonicTime};

/// Trigger of an update. In a periodic update, the hook gets an ad that is made only for it. In any other update, it
/// gets the ad that a shadow gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateTrigger {
    Periodic,
    StateChange,
}

/// Longest interval in seconds for which rounding is reported. One second is less than a tenth of a longer interval.
const MAX_VISIBLE_INTERVAL: u64 = 10;

/// Decides if the times of updates are rounded to whole seconds, as in 25.14, or the exact interval is kept.
pub(super) fn decide_update_rounding(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::UpdateTimerRounded)
}

/// Returns true if rounding visibly changes the interval.
pub(super) fn is_rounding_visible(interval: Duration) -> bool {
    interval.as_secs() <= MAX_VISIBLE_INTERVAL
}

/// Returns the time of the first update, `delay` after the start of the job.
pub(super) fn first_update(now: ClockReading, delay: Duration, rounded: bool) -> MonotonicTime {
    match rounded {
        _ if delay.is_zero() => now.monotonic(),
        true => round_to_second(now, delay),
        false => now.monotonic().plus(delay),
    }
}

/// Returns the time of the next update. The current update was due at `due` and is sent now.
pub(super) fn next_update(
    now: ClockReading,
    due: MonotonicTime,
    interval: Duration,
    rounded: bool,
) -> MonotonicTime {
    if rounded {
        return round_to_second(now, interval);
    }
    let next = due.plus(interval);
    // Updates that were missed while the machine was suspended are not sent later.
    if next > now.monotonic() { next } else { now.monotonic().plus(interval) }
}

/// Returns the time at which to wake up for an update. A daemon of 25.14 sleeps whole seconds from the moment it last
/// checked its timers.
pub(super) fn wake_time(due: MonotonicTime, now: ClockReading, rounded: bool) -> MonotonicTime {
    let awake = Duration::from_micros(now.wall_us.rem_euclid(1_000_000).unsigned_abs());
    if rounded { due.plus(awake) } else { due }
}

/// Rounds a time to the nearest whole second of the clock (`Timeslice::updateNextStartTime`), so that an interval of 4
/// s becomes 4 or 5 s.
fn round_to_second(now: ClockReading, delay: Duration) -> MonotonicTime {
    const SECOND: i64 = 1_000_000;
    let exact = now.wall_us.saturating_add(i64::try_from(delay.as_micros()).unwrap_or(i64::MAX));
    let whole = exact.saturating_add(SECOND / 2).div_euclid(SECOND).saturating_mul(SECOND);
    now.monotonic().plus(Duration::from_micros(u64::try_from(whole.saturating_sub(now.wall_us)).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn at(wall_us: i64) -> ClockReading {
        ClockReading { wall_us, monotonic_us: 5 * SECOND }
    }

    #[test]
    fn updates_of_the_reference_are_due_at_the_nearest_whole_second() {
        let due = |wall_us, delay| round_to_second(at(wall_us), Duration::from_secs(delay)).0;
        assert_eq!(due(14_475_000, 2), 5_000_000 + 1_525_000);
        assert_eq!(due(20_583_000, 2), 5_000_000 + 2_417_000);
        assert_eq!(due(20_000_000, 4), 5_000_000 + 4_000_000);
        assert_eq!(due(20_700_000, 0), 5_000_000 + 300_000);
    }

    #[test]
    fn updates_keep_their_interval_for_any_fraction_of_the_start_second() {
        for interval in [1, 3, 5, 300] {
            for start in [14_360_000, 14_500_000, 14_720_000] {
                let interval = Duration::from_secs(interval);
                let mut now = at(start);
                let mut due = first_update(now, interval, false);
                let mut before = now.monotonic();
                for _ in 0..5 {
                    let woken = wake_time(due, now, false);
                    assert_eq!(woken, before.plus(interval), "{start} {interval:?}");
                    // Each wake-up is three milliseconds late.
                    let passed = woken.0 + 3_000 - now.monotonic_us;
                    now.monotonic_us += passed;
                    now.wall_us += i64::try_from(passed).unwrap();
                    before = woken;
                    due = next_update(now, due, interval, false);
                }
            }
        }
    }

    #[test]
    fn updates_missed_during_a_pause_are_not_repeated() {
        let interval = Duration::from_secs(5);
        let now = at(20_000_000);
        assert_eq!(
            next_update(now, MonotonicTime(0), Duration::from_secs(1), false),
            now.monotonic().plus(Duration::from_secs(1))
        );
        assert_eq!(next_update(now, MonotonicTime(4 * SECOND), interval, false), MonotonicTime(9 * SECOND));
    }
}
