//! Identity of a process.

/// A process, identified beyond its end: ids of ended processes are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessInstance {
    /// Process id.
    pub pid: i32,
    /// Start time, in clock ticks since the machine was started.
    pub start_ticks: u64,
}
