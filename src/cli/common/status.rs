//! Exit statuses: the same table for all programs.

use std::process::ExitCode;

use crate::process::Exit;

/// Exit status of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0: success, or the answer is yes.
    Done,
    /// 1: the answer is no or, for runners, a job failed.
    No,
    /// 2: the command line is invalid.
    Usage,
    /// 3: input or configuration cannot be read.
    Unreadable,
    /// 4: the value is undefined.
    Undefined,
    /// 5: the value is an error.
    ErrorValue,
    /// 99: DAEMON_SHUTDOWN or a drain ended the program, and its parent must not start it again (`DAEMON_NO_RESTART`).
    StaysDown,
    /// 124: the time limit expired.
    TimedOut,
    /// 125: the program itself failed.
    Failed,
    /// 126: a child could not be executed.
    NotExecutable,
    /// 127: a child does not exist.
    NotFound,
    /// Exit status of a child that is passed on, or 128 plus the number of the signal that ended the child.
    Relayed(Exit),
    /// Exit status of a condor tool that the program imitates.
    Tool(u8),
}

impl Status {
    /// Returns the exit status as a number.
    pub fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::No => 1,
            Status::Usage => 2,
            Status::Unreadable => 3,
            Status::Undefined => 4,
            Status::ErrorValue => 5,
            Status::StaysDown => 99,
            Status::TimedOut => 124,
            Status::Failed => 125,
            Status::NotExecutable => 126,
            Status::NotFound => 127,
            Status::Relayed(Exit::Code(code)) => code,
            Status::Relayed(Exit::Signal { number, .. }) => {
                u8::try_from(number).map_or(255, |number| number.saturating_add(128))
            }
            Status::Tool(code) => code,
        }
    }

    /// Table of exit statuses for man pages.
    pub const MANUAL_TABLE: &[(&str, &str)] = &[
        ("0", "Done, or the answer is yes"),
        ("1", "The answer is no; for runners, a job failed"),
        ("2", "The command line is wrong"),
        ("3", "Input or configuration cannot be read"),
        ("4", "The value is undefined"),
        ("5", "The value is an error"),
        ("99", "DAEMON_SHUTDOWN or a drain stopped the program: do not start it again"),
        ("124", "Timed out"),
        ("125", "The program itself failed"),
        ("126, 127, 128+n", "Status of a child, as timeout(1) returns it"),
    ];
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_child_is_relayed_as_by_timeout() {
        assert_eq!(Status::Relayed(Exit::Code(7)).code(), 7);
        assert_eq!(Status::Relayed(Exit::Signal { number: 9, core_dumped: true }).code(), 137);
    }
}
