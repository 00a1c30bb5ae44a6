//! What the reactor reports.

use bstr::BString;

use super::spawn_error::SpawnError;
use htc_base::process::{Exit, ProcessUsage};

/// A child, by a number that is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub(super) u64);

/// A descriptor of the caller that the reactor watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchToken(pub(super) u64);

/// One of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReactorEvent {
    /// A child has finished: it is reaped, its pipes are drained (or their deadline has passed), and its family is
    /// gone, or known where it may stay. Each child is reported once.
    Exited {
        /// Which.
        child: ChildId,
        /// How it ended.
        exit: Exit,
        /// What it and the children it waited for used.
        usage: ProcessUsage,
        /// What became of its input.
        stdin: StdinDelivery,
        /// What it wrote, where `Stdio::Capture` asked for it.
        stdout: CapturedOutput,
        /// The same of standard error.
        stderr: CapturedOutput,
        /// The processes it left behind; killed by now if the specification said so.
        left_behind: Vec<LeftoverProcess>,
        /// Why its program was not executed, when that came out only after it had waited for the other end of a FIFO.
        not_executed: Option<Box<SpawnError>>,
    },
    /// Bytes of a stream of `Stdio::Pieces`.
    Piece {
        /// Which child.
        child: ChildId,
        /// Which stream.
        stream: OutputStream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A signal came for the program.
    Signal(i32),
    /// A watched descriptor can be read (or written, whatever was asked for) or is at its end.
    Readable(WatchToken),
    /// The deadline has passed.
    Timeout,
}

/// The collected output of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The bytes, at most the limit.
    pub bytes: Vec<u8>,
    /// Whether the limit was reached: anything further was lost.
    pub is_truncated: bool,
    /// Whether something else still held the pipe when the reading ended.
    pub is_held_open: bool,
}

/// What became of the bytes of standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StdinDelivery {
    /// How many there were.
    pub offered: usize,
    /// How many the pipe took; the child has not necessarily read them.
    pub taken: usize,
    /// How many nobody had read when the child ended.
    pub unread: usize,
}

/// A process that outlived the child it descends from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverProcess {
    /// Its id.
    pub pid: i32,
    /// The name of its program as the kernel has it, at most 15 bytes.
    pub command: BString,
    /// Whether it still held the child's standard output.
    pub holds_stdout: bool,
    /// The same of standard error.
    pub holds_stderr: bool,
    /// Whether it is gone by now.
    pub killed: bool,
}
