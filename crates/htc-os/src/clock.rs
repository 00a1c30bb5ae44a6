//! Wall clock and monotonic clock.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use htc_base::time::{ClockReading, MonotonicTime};

/// Reads the wall clock and the monotonic clock.
pub fn now() -> ClockReading {
    ClockReading {
        wall_us: i64::try_from(read_clock(ClockId::CLOCK_REALTIME).as_micros()).unwrap_or(i64::MAX),
        monotonic_us: monotonic_now().0,
    }
}

/// Reads the monotonic clock.
pub fn monotonic_now() -> MonotonicTime {
    MonotonicTime(u64::try_from(read_clock(ClockId::CLOCK_MONOTONIC).as_micros()).unwrap_or(u64::MAX))
}

/// Reads a clock. Both clocks exist on every Linux system, so reading them cannot fail.
fn read_clock(clock: ClockId) -> Duration {
    clock_gettime(clock).map(Duration::from).unwrap_or_default()
}
