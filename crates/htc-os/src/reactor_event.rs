//! Events that the reactor reports.

use bstr::BString;

use super::spawn_error::SpawnError;
use htc_base::process::{Exit, ProcessUsage};

/// Child, identified by a number that is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub(super) u64);

/// Watched descriptor of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchToken(pub(super) u64);

/// Output stream of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// Event of the reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReactorEvent {
    /// A child has finished: it is reaped, its pipes are drained or their timeout has expired, and its
    /// leftover processes are gone or recorded. Each child is reported once.
    Exited {
        /// The child.
        child: ChildId,
        /// Exit status or signal.
        exit: Exit,
        /// Resource usage of the child and of the processes that it waited for.
        usage: ProcessUsage,
        /// Delivery of its standard input.
        stdin: StdinDelivery,
        /// Standard output, if it was captured with `Stdio::Capture`.
        stdout: CapturedOutput,
        /// Standard error, if it was captured.
        stderr: CapturedOutput,
        /// Processes left behind by the child; already killed if the specification requires it.
        left_behind: Vec<LeftoverProcess>,
        /// Reason why the program was not executed, if this was discovered only after the child had waited
        /// for the other end of a FIFO.
        not_executed: Option<Box<SpawnError>>,
    },
    /// Bytes arrived on a stream of `Stdio::Stream`.
    Piece {
        /// The child.
        child: ChildId,
        /// The stream.
        stream: OutputStream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// This process received a signal.
    Signal(i32),
    /// A watched descriptor is ready for the requested operation, or has ended.
    Readable(WatchToken),
    /// The deadline has passed.
    Timeout,
}

/// Captured output of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Captured bytes, at most up to the limit.
    pub bytes: Vec<u8>,
    /// True if the limit was reached, so that further output was lost.
    pub is_truncated: bool,
    /// True if another process still had the pipe open when reading ended.
    pub is_held_open: bool,
    /// Error that ended the reading, or `None`: output may have been lost.
    pub read_error: Option<std::io::ErrorKind>,
}

impl CapturedOutput {
    /// Returns a message if the output could not be read to its end, or `None`.
    pub fn read_failure(&self) -> Option<String> {
        self.read_error.map(|kind| format!("its output could not be read completely: {kind}"))
    }
}

/// Delivery of the bytes for standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StdinDelivery {
    /// Number of bytes to deliver.
    pub offered: usize,
    /// Number of bytes that the pipe accepted; the child has not necessarily read them.
    pub taken: usize,
    /// Number of bytes not read when the child ended.
    pub unread: usize,
}

/// Process that outlived the child it descends from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverProcess {
    /// Process id.
    pub pid: i32,
    /// Name of the program in the kernel, at most 15 bytes.
    pub command: BString,
    /// True if the process still had the child's standard output open.
    pub holds_stdout: bool,
    /// True if the process still had the child's standard error open.
    pub holds_stderr: bool,
    /// True if the process is gone by now.
    pub killed: bool,
}
