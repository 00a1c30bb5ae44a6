//! Exit status and resource usage of a process.

use std::fmt;
use std::time::Duration;

/// Exit status of a process. A program that cannot be executed has no exit status; the error is reported when
/// the child is spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// The process exited with this status, 0 to 255.
    Code(u8),
    /// The process was killed by a signal.
    Signal {
        /// Number of the signal.
        number: i32,
        /// True if the kernel wrote a core file.
        core_dumped: bool,
    },
}

impl Exit {
    /// Returns true if the process exited with status 0.
    pub fn is_success(self) -> bool {
        self == Exit::Code(0)
    }

    /// Returns the status as encoded by `waitpid`.
    pub fn to_raw(self) -> i32 {
        match self {
            Exit::Code(code) => i32::from(code) << 8,
            Exit::Signal { number, core_dumped } => number | if core_dumped { 0x80 } else { 0 },
        }
    }

    /// Decodes a status of `waitpid`. Returns `None` if the process was only stopped or continued.
    pub fn from_raw(status: i32) -> Option<Self> {
        match status & 0x7f {
            0 => Some(Exit::Code(((status >> 8) & 0xff) as u8)),
            0x7f => None,
            number => Some(Exit::Signal { number, core_dumped: status & 0x80 != 0 }),
        }
    }
}

/// Formats `exited with status 3` or `died with signal 9`, as the reference's `status_string.cpp` does.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exited with status {code}"),
            Exit::Signal { number, .. } => write!(f, "died with signal {number}"),
        }
    }
}

/// Resource usage of a process and of the descendants that it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Maximum resident set size in KiB.
    pub max_rss_kib: u64,
    /// Number of block input operations (`ru_inblock` of `getrusage`).
    pub block_reads: u64,
    /// Number of block output operations (`ru_oublock` of `getrusage`).
    pub block_writes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_status_survives_a_round_trip() {
        for raw in [0, 0x300, 9, 11 | 0x80] {
            assert_eq!(Exit::from_raw(raw).map(Exit::to_raw), Some(raw));
        }
        assert_eq!(Exit::from_raw(0x137f), None);
    }
}
