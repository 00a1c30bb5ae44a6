//! What the reactor reports.

use bstr::BString;

use super::spawn_error::SpawnError;
use htc_base::process::{Exit, Usage};

/// A child, by a number that is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub(super) u64);

/// A descriptor of the caller that the reactor watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub(super) u64);

/// One of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A child has finished: it is reaped, its pipes are drained (or their deadline has passed), and its family is
    /// gone, or known where it may stay. Each child is reported once.
    Exited {
        /// Which.
        child: ChildId,
        /// How it ended.
        exit: Exit,
        /// What it and the children it waited for used.
        usage: Usage,
        /// What became of its input.
        stdin: Given,
        /// What it wrote, where `Stdio::Capture` asked for it.
        stdout: Captured,
        /// The same of standard error.
        stderr: Captured,
        /// The processes it left behind; killed by now if the specification said so.
        left_behind: Vec<Leftover>,
        /// Why its program was not executed, when that came out only after it had waited for the other end of a FIFO.
        not_executed: Option<Box<SpawnError>>,
    },
    /// Bytes of a stream of `Stdio::Pieces`.
    Piece {
        /// Which child.
        child: ChildId,
        /// Which stream.
        stream: Stream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A signal came for the program.
    Signal(i32),
    /// A watched descriptor can be read (or written, whatever was asked for) or is at its end.
    Readable(Token),
    /// The deadline has passed.
    Timeout,
}

/// The collected output of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes, at most the limit.
    pub bytes: Vec<u8>,
    /// Whether the limit was reached: anything further was lost.
    pub cut: bool,
    /// Whether something else still held the pipe when the reading ended.
    pub held: bool,
}

/// What became of the bytes of standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// How many there were.
    pub offered: usize,
    /// How many the pipe took; the child has not necessarily read them.
    pub taken: usize,
    /// How many nobody had read when the child ended.
    pub unread: usize,
}

/// A process that outlived the child it descends from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
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
