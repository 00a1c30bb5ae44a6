//! What benchmarks have published, and for whom they run.

use crate::cron_ads::CronAds;
use crate::events::SlotKey;
use htc_base::quirks::QuirkMode;

/// What benchmarks have published, and which slot has them run.
pub(crate) struct BenchmarkState {
    /// What they print, for all slots.
    pub ads: CronAds,
    /// When all of them had ended last; 0 before the first time.
    pub last_ended: i64,
    pub running_for: Option<SlotKey>,
}

impl BenchmarkState {
    pub(crate) fn new(quirks: QuirkMode) -> Self {
        BenchmarkState { ads: CronAds::new(quirks), last_ended: 0, running_for: None }
    }
}
