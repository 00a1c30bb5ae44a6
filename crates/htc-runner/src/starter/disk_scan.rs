//! Scan of a job's directory for its disk usage, and the events waiting for the result.

use std::path::Path;
use std::time::Duration;

use htc_base::time::MonotonicTime;
use htc_os::clock;
use htc_os::disk_usage::DirectoryWalk;
use htc_starter::StarterEvent;

/// Maximum total time of a scan.
const SCAN_LIMIT: Duration = Duration::from_secs(2);
/// Maximum time of one part of a scan, so that other events can be handled between the parts.
const SCAN_SLICE: Duration = Duration::from_millis(20);

/// Scan of a directory for its disk usage.
pub(super) struct DiskScan {
    walk: DirectoryWalk,
    deadline: MonotonicTime,
    /// Events to queue when the scan has ended.
    pub(super) events_to_queue: Vec<StarterEvent>,
}

/// Progress of a scan.
pub(super) enum DiskScanProgress {
    /// The scan has not reached its end.
    Unfinished,
    /// The scan has ended, with the number of bytes and of entries.
    Complete(u64, u64),
    /// The scan has exceeded its time limit.
    TooLong,
}

impl DiskScan {
    /// Starts a scan of `top`; `events` contains the events to queue when it has ended.
    pub(super) fn new(top: &Path, events: Vec<StarterEvent>) -> Self {
        DiskScan {
            walk: DirectoryWalk::new(top),
            deadline: clock::monotonic_now().plus(SCAN_LIMIT),
            events_to_queue: events,
        }
    }

    /// Continues the scan for at most `SCAN_SLICE`.
    pub(super) fn advance(&mut self) -> DiskScanProgress {
        match self.walk.continue_for(SCAN_SLICE) {
            Some(usage) => DiskScanProgress::Complete(usage.bytes, usage.entries),
            None if clock::monotonic_now() < self.deadline => DiskScanProgress::Unfinished,
            None => DiskScanProgress::TooLong,
        }
    }
}
