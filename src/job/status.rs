//! The states of a job in its queue.

use std::fmt;

/// The states (attribute `JobStatus`; reference: `proc.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobStatus {
    /// 1: waits for a slot.
    Idle = 1,
    /// 2: runs.
    Running = 2,
    /// 3: removed by its user or a policy.
    Removed = 3,
    /// 4: done.
    Completed = 4,
    /// 5: waits until somebody releases it.
    Held = 5,
    /// 6: its output is on the way.
    TransferringOutput = 6,
    /// 7: suspended in its slot.
    Suspended = 7,
    /// 8: reserved in 25.14.
    Failed = 8,
    /// 9: reserved in 25.14.
    Blocked = 9,
    /// 10: its common input is being prepared.
    Preparing = 10,
}

impl JobStatus {
    /// All states in the order of their numbers.
    pub const ALL: [JobStatus; 10] = [
        JobStatus::Idle,
        JobStatus::Running,
        JobStatus::Removed,
        JobStatus::Completed,
        JobStatus::Held,
        JobStatus::TransferringOutput,
        JobStatus::Suspended,
        JobStatus::Failed,
        JobStatus::Blocked,
        JobStatus::Preparing,
    ];

    /// The number of [`JobStatus::Idle`], to compare with.
    pub const IDLE: i64 = JobStatus::Idle as i64;
    /// That of [`JobStatus::Running`].
    pub const RUNNING: i64 = JobStatus::Running as i64;
    /// That of [`JobStatus::Removed`].
    pub const REMOVED: i64 = JobStatus::Removed as i64;
    /// That of [`JobStatus::Completed`].
    pub const COMPLETED: i64 = JobStatus::Completed as i64;
    /// That of [`JobStatus::Held`].
    pub const HELD: i64 = JobStatus::Held as i64;
    /// That of [`JobStatus::TransferringOutput`].
    pub const TRANSFERRING_OUTPUT: i64 = JobStatus::TransferringOutput as i64;
    /// That of [`JobStatus::Suspended`].
    pub const SUSPENDED: i64 = JobStatus::Suspended as i64;

    /// The value of `JobStatus`.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// The state with that number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.number() == number)
    }

    /// The word the reference uses, in capitals.
    pub fn name(self) -> &'static str {
        match self {
            JobStatus::Idle => "IDLE",
            JobStatus::Running => "RUNNING",
            JobStatus::Removed => "REMOVED",
            JobStatus::Completed => "COMPLETED",
            JobStatus::Held => "HELD",
            JobStatus::TransferringOutput => "TRANSFERRING_OUTPUT",
            JobStatus::Suspended => "SUSPENDED",
            JobStatus::Failed => "FAILED",
            JobStatus::Blocked => "BLOCKED",
            JobStatus::Preparing => "PREPARING",
        }
    }

    /// The state with that word, in any case.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|status| crate::text::caseless::eq(status.name().as_bytes(), name))
    }
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_go_both_ways() {
        for status in JobStatus::ALL {
            assert_eq!(JobStatus::from_number(status.number()), Some(status));
            assert_eq!(JobStatus::from_name(status.name().to_lowercase().as_bytes()), Some(status));
        }
        assert_eq!(JobStatus::from_number(0), None);
        assert_eq!(JobStatus::from_number(11), None);
        assert_eq!(JobStatus::Preparing.number(), 10);
    }
}
