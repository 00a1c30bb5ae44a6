//! Resource usage of a group as counted by the kernel.

use std::time::Duration;

/// Resource usage of a group and its subgroups. A value is `None` if the controller that counts it is
/// missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUsage {
    /// CPU time in user mode.
    pub user: Option<Duration>,
    /// CPU time in the kernel.
    pub system: Option<Duration>,
    /// Memory that cannot be written back to a file, in bytes.
    pub memory: Option<u64>,
    /// Peak memory usage including caches, in bytes.
    pub peak_memory: Option<u64>,
    /// Memory in caches and memory that has not been used recently, in bytes. The actual peak is below
    /// `peak_memory` by at most this amount.
    pub cache: u64,
    /// Bytes read from block devices.
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices.
    pub written_bytes: Option<u64>,
    /// Number of read operations.
    pub reads: Option<u64>,
    /// Number of write operations.
    pub writes: Option<u64>,
    /// Number of forks that failed because the limit of processes was reached.
    pub forks_refused: u64,
}
