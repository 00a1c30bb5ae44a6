//! States of a job in its queue.

/// Numbers of the job states (attribute `JobStatus`; reference: `proc.h`).
#[derive(Clone, Copy, Debug)]
pub enum JobStatus {}

impl JobStatus {
    /// Waits for a slot.
    pub const IDLE: i64 = 1;
    /// Runs.
    pub const RUNNING: i64 = 2;
    /// Removed by its user or by a policy.
    pub const REMOVED: i64 = 3;
    /// Completed.
    pub const COMPLETED: i64 = 4;
    /// Held until it is released.
    pub const HELD: i64 = 5;
    /// Transfers its output.
    pub const TRANSFERRING_OUTPUT: i64 = 6;
    /// Suspended in its slot.
    pub const SUSPENDED: i64 = 7;
}
