//! The two clocks: wall time for what is written down, monotonic time for what is waited for.

use std::time::Duration;

/// A point in time on both clocks, taken together. Machines get it with each event and never ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockReading {
    /// Microseconds since the Unix epoch.
    pub wall_us: i64,
    /// Microseconds on a clock that never jumps; its zero is arbitrary.
    pub monotonic_us: u64,
}

impl ClockReading {
    /// Whole seconds since the Unix epoch, as HTCondor's `time(nullptr)` gives them.
    pub fn epoch(self) -> i64 {
        self.wall_us.div_euclid(1_000_000)
    }

    /// Seconds since the epoch with their fraction.
    pub fn epoch_seconds_f64(self) -> f64 {
        self.wall_us as f64 / 1e6
    }

    /// The instant of the monotonic clock.
    pub fn monotonic(self) -> MonotonicTime {
        MonotonicTime(self.monotonic_us)
    }

    /// Both clocks moved on by `by`.
    pub fn plus(self, by: Duration) -> Self {
        let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        ClockReading {
            wall_us: self.wall_us.saturating_add_unsigned(by),
            monotonic_us: self.monotonic_us.saturating_add(by),
        }
    }

    /// A point for tests and simulations: `epoch` seconds on both clocks.
    pub fn from_epoch(epoch: i64) -> Self {
        let wall_us = epoch.saturating_mul(1_000_000);
        ClockReading { wall_us, monotonic_us: u64::try_from(wall_us).unwrap_or(0) }
    }
}

/// An instant of the monotonic clock in microseconds: what deadlines are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicTime(pub u64);

impl MonotonicTime {
    /// The instant `by` later.
    pub fn plus(self, by: Duration) -> Self {
        MonotonicTime(self.0.saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }

    /// How long it is from `earlier` to this instant; zero when it is not later.
    pub fn since(self, earlier: MonotonicTime) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}
