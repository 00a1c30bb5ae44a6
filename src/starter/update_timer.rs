//! When the periodic update is due, and what other updates there are.

use std::time::Duration;

use crate::time::{Now, Tick};

/// Why there is an update. One of the timer's is made for the hook anew; any other is the shadow's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    Time,
    Change,
}

/// The moment of the next update, `delay` after the one at `now`: the daemon rounds it to the nearest whole second of the
/// clock (`Timeslice::updateNextStartTime`), so that 4 s show as 4 or 5 (s01).
pub(super) fn next_update(now: Now, delay: Duration) -> Tick {
    const SECOND: i64 = 1_000_000;
    let exact = now.wall_us.saturating_add(i64::try_from(delay.as_micros()).unwrap_or(i64::MAX));
    let whole = exact.saturating_add(SECOND / 2).div_euclid(SECOND).saturating_mul(SECOND);
    now.tick().plus(Duration::from_micros(u64::try_from(whole.saturating_sub(now.wall_us)).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_due_at_the_nearest_whole_second() {
        let at = |wall_us| Now { wall_us, monotonic_us: 5_000_000 };
        let due = |wall_us, delay| next_update(at(wall_us), Duration::from_secs(delay)).0;
        assert_eq!(due(14_475_000, 2), 5_000_000 + 1_525_000);
        assert_eq!(due(20_583_000, 2), 5_000_000 + 2_417_000);
        assert_eq!(due(20_000_000, 4), 5_000_000 + 4_000_000);
        assert_eq!(due(20_700_000, 0), 5_000_000 + 300_000);
    }
}
