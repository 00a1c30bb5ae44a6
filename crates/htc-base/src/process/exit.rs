//! How a process ended and what it used.

use std::fmt;
use std::time::Duration;

/// How a process ended. A failure to execute is not an exit: spawning reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It ended by itself with this status, 0 to 255.
    Code(u8),
    /// A signal ended it.
    Signal {
        /// The signal's number.
        number: i32,
        /// Whether the kernel wrote a core file.
        core_dumped: bool,
    },
}

impl Exit {
    /// Whether it ended with status 0.
    pub fn is_success(self) -> bool {
        self == Exit::Code(0)
    }

    /// The status as `waitpid` packs it.
    pub fn to_raw(self) -> i32 {
        match self {
            Exit::Code(code) => i32::from(code) << 8,
            Exit::Signal { number, core_dumped } => number | if core_dumped { 0x80 } else { 0 },
        }
    }

    /// The exit that `waitpid` packed; `None` for a stop or a continuation.
    pub fn from_raw(status: i32) -> Option<Self> {
        match status & 0x7f {
            0 => Some(Exit::Code(((status >> 8) & 0xff) as u8)),
            0x7f => None,
            number => Some(Exit::Signal { number, core_dumped: status & 0x80 != 0 }),
        }
    }
}

/// `exited with status 3`, `died with signal 9`: the words of the reference's `status_string.cpp`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exited with status {code}"),
            Exit::Signal { number, .. } => write!(f, "died with signal {number}"),
        }
    }
}

/// What a process and its reaped children used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// Largest resident set in KiB.
    pub max_rss_kib: u64,
    /// Block reads and writes as `getrusage` counts them.
    pub block_reads: u64,
    /// See `block_reads`.
    pub block_writes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_status_round_trips() {
        for raw in [0, 0x300, 9, 11 | 0x80] {
            assert_eq!(Exit::from_raw(raw).map(Exit::to_raw), Some(raw));
        }
        assert_eq!(Exit::from_raw(0x137f), None);
    }
}
