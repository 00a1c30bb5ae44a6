//! Published benchmark results, and the slot that runs the benchmarks.

use crate::cron_ads::CronAds;
use crate::events::SlotKey;
use htc_base::quirks::QuirkMode;

/// Published benchmark results, and the slot that runs the benchmarks.
pub(crate) struct BenchmarkState {
    /// Published ads, for all slots.
    pub ads: CronAds,
    /// Time when all benchmarks last ended, in epoch seconds; 0 before the first time.
    pub last_ended: i64,
    pub running_for: Option<SlotKey>,
    /// Results of a repeated run that has not ended.
    pub unaveraged: Option<CronAds>,
}

impl BenchmarkState {
    pub(crate) fn new(quirks: QuirkMode) -> Self {
        BenchmarkState { ads: CronAds::new(quirks), last_ended: 0, running_for: None, unaveraged: None }
    }
}
