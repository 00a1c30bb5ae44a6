//! Published benchmark results, and the slot that runs the benchmarks.

use crate::cron_ads::CronAds;
use crate::events::SlotKey;
use htc_base::quirks::QuirkMode;

/// Published benchmark results, and the slot that runs the benchmarks.
pub(crate) struct BenchmarkState {
    /// Benchmark results, which are published in all slot ads.
    pub ads: CronAds,
    /// Time in epoch seconds when all benchmarks had last ended; 0 if they never have.
    pub last_ended: i64,
    pub running_for: Option<SlotKey>,
    /// Results of a repeated run that has not ended, not yet averaged with `ads`.
    pub unaveraged: Option<CronAds>,
}

impl BenchmarkState {
    pub(crate) fn new(quirks: QuirkMode) -> Self {
        BenchmarkState { ads: CronAds::new(quirks), last_ended: 0, running_for: None, unaveraged: None }
    }
}
