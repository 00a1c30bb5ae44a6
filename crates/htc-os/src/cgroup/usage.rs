//! Resource usage of a group as counted by the kernel.

use std::time::Duration;

/// Resource usage of a group and its subgroups; `None` where the controller is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUsage {
    /// CPU time in user mode.
    pub user: Option<Duration>,
    /// CPU time in the kernel.
    pub system: Option<Duration>,
    /// Memory that cannot be written back to a file, in bytes.
    pub memory: Option<u64>,
    /// Peak memory usage, in bytes, including caches.
    pub peak_memory: Option<u64>,
    /// Caches and memory that has not been used recently, in bytes; the peak is too large by at most this
    /// amount.
    pub cache: u64,
    /// Bytes read from block devices.
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices.
    pub written_bytes: Option<u64>,
    /// Read operations.
    pub reads: Option<u64>,
    /// Write operations.
    pub writes: Option<u64>,
    /// Number of forks that the limit of processes prevented.
    pub forks_refused: u64,
}
