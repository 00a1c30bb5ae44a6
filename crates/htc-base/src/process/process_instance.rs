//! Identity of a process.

/// A process, identified by more than its pid, because the kernel reuses the pids of ended processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessInstance {
    /// Process id.
    pub pid: i32,
    /// Start time, in clock ticks since boot.
    pub start_ticks: u64,
}
