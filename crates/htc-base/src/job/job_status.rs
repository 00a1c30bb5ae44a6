//! The states of a job in its queue.

/// The numbers of the states (attribute `JobStatus`; reference: `proc.h`).
#[derive(Clone, Copy, Debug)]
pub enum JobStatus {}

impl JobStatus {
    /// It waits for a slot.
    pub const IDLE: i64 = 1;
    /// It runs.
    pub const RUNNING: i64 = 2;
    /// Its user or a policy has removed it.
    pub const REMOVED: i64 = 3;
    /// It is done.
    pub const COMPLETED: i64 = 4;
    /// It waits until somebody releases it.
    pub const HELD: i64 = 5;
    /// Its output is on the way.
    pub const TRANSFERRING_OUTPUT: i64 = 6;
    /// It is suspended in its slot.
    pub const SUSPENDED: i64 = 7;
}
