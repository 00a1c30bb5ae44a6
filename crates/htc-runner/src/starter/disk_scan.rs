//! The directory of a job that is being looked through, and those who wait for what it holds.

use std::path::Path;
use std::time::Duration;

use htc_base::time::MonotonicTime;
use htc_os::clock;
use htc_os::disk_usage::DirectoryWalk;
use htc_starter::StarterEvent;

/// How long the directory of a job is looked through at most.
const SCAN_LIMIT: Duration = Duration::from_secs(2);
/// How long at a time: nobody waits longer for an answer.
const SCAN_SLICE: Duration = Duration::from_millis(20);

/// A look through a directory.
pub(super) struct DiskScan {
    walk: DirectoryWalk,
    deadline: MonotonicTime,
    /// What is told once it is over.
    pub(super) events_to_queue: Vec<StarterEvent>,
}

/// What a part of it came to.
pub(super) enum DiskScanProgress {
    /// There is more.
    Unfinished,
    /// Bytes and entries.
    Complete(u64, u64),
    /// It takes too long.
    TooLong,
}

impl DiskScan {
    /// One that begins now.
    pub(super) fn new(top: &Path, then: Vec<StarterEvent>) -> Self {
        DiskScan {
            walk: DirectoryWalk::new(top),
            deadline: clock::monotonic_now().plus(SCAN_LIMIT),
            events_to_queue: then,
        }
    }

    /// Looks a little further.
    pub(super) fn advance(&mut self) -> DiskScanProgress {
        match self.walk.continue_for(SCAN_SLICE) {
            Some(usage) => DiskScanProgress::Complete(usage.bytes, usage.entries),
            None if clock::monotonic_now() < self.deadline => DiskScanProgress::Unfinished,
            None => DiskScanProgress::TooLong,
        }
    }
}
