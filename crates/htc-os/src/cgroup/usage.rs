//! What the kernel counts of a group.

use std::time::Duration;

/// Everything that is counted of a group and what is below it, as far as there are controllers for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUsage {
    /// Processor time in user mode.
    pub user: Option<Duration>,
    /// Processor time in the kernel.
    pub system: Option<Duration>,
    /// Memory that cannot be written back to a file, in bytes.
    pub memory: Option<u64>,
    /// The largest use of memory, in bytes: caches count as well.
    pub peak_memory: Option<u64>,
    /// Caches and memory that has not been used for long, in bytes: what a peak is too large by at most.
    pub cache: u64,
    /// Bytes read from block devices.
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices.
    pub written_bytes: Option<u64>,
    /// Read operations.
    pub reads: Option<u64>,
    /// Write operations.
    pub writes: Option<u64>,
    /// How often the limit of processes kept one from being made.
    pub forks_refused: u64,
}
