//! Clocks: wall time for records, monotonic time for deadlines.

use std::time::Duration;

/// Point in time, read from both clocks together. State machines get a reading with each event and never read
/// a clock themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockReading {
    /// Microseconds since the Unix epoch.
    pub wall_us: i64,
    /// Microseconds on a monotonic clock; its zero is arbitrary.
    pub monotonic_us: u64,
}

impl ClockReading {
    /// Returns whole seconds since the Unix epoch, like HTCondor's `time(nullptr)`.
    pub fn epoch(self) -> i64 {
        self.wall_us.div_euclid(1_000_000)
    }

    /// Returns the seconds since the epoch, including the fraction.
    pub fn epoch_seconds_f64(self) -> f64 {
        self.wall_us as f64 / 1e6
    }

    /// Returns the monotonic part of the reading.
    pub fn monotonic(self) -> MonotonicTime {
        MonotonicTime(self.monotonic_us)
    }

    /// Returns the reading with both clocks advanced by `by`.
    pub fn plus(self, by: Duration) -> Self {
        let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        ClockReading {
            wall_us: self.wall_us.saturating_add_unsigned(by),
            monotonic_us: self.monotonic_us.saturating_add(by),
        }
    }

    /// Returns a reading for tests and simulations: `epoch` seconds on both clocks.
    pub fn from_epoch(epoch: i64) -> Self {
        let wall_us = epoch.saturating_mul(1_000_000);
        ClockReading { wall_us, monotonic_us: u64::try_from(wall_us).unwrap_or(0) }
    }
}

/// Instant on the monotonic clock in microseconds, used for deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicTime(pub u64);

impl MonotonicTime {
    /// Returns the instant `by` later.
    pub fn plus(self, by: Duration) -> Self {
        MonotonicTime(self.0.saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Returns the time from `earlier` to this instant, or zero if this instant is not later than `earlier`.
    pub fn since(self, earlier: MonotonicTime) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}
