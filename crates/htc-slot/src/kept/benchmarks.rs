//! What benchmarks have published, and for whom they run.

use crate::cron_ads::CronAds;
use crate::interface::SlotKey;
use htc_base::quirks::Quirks;

/// What benchmarks have published, and which slot has them run.
pub(crate) struct Benchmarks {
    /// What they print, for all slots.
    pub ads: CronAds,
    /// When all of them had ended last; 0 before the first time.
    pub last: i64,
    pub running: Option<SlotKey>,
}

impl Benchmarks {
    pub(crate) fn new(quirks: Quirks) -> Self {
        Benchmarks { ads: CronAds::new(quirks), last: 0, running: None }
    }
}
