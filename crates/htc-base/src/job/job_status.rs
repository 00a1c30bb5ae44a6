//! States of a job in its queue.

/// Numbers of the job states (attribute `JobStatus`; reference: `proc.h`).
#[derive(Clone, Copy, Debug)]
pub enum JobStatus {}

impl JobStatus {
    /// The job is waiting for a slot.
    pub const IDLE: i64 = 1;
    /// The job is running.
    pub const RUNNING: i64 = 2;
    /// The job was removed by its user or by a policy.
    pub const REMOVED: i64 = 3;
    /// The job has completed.
    pub const COMPLETED: i64 = 4;
    /// The job is held until it is released.
    pub const HELD: i64 = 5;
    /// The job is transferring its output.
    pub const TRANSFERRING_OUTPUT: i64 = 6;
    /// The job is suspended in its slot.
    pub const SUSPENDED: i64 = 7;
}
