//! Events that the reactor reports.

use bstr::BString;

use super::spawn_error::SpawnError;
use htc_base::process::{Exit, ProcessUsage};

/// Identifier of a child, which is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub(super) u64);

/// Identifier of a descriptor that the caller watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchToken(pub(super) u64);

/// Output stream of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Event that the reactor reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReactorEvent {
    /// A child has finished: it has been reaped, its pipes have been read to the end or the drain timeout has
    /// expired, and its leftover processes have ended or are listed. Reported once for each child.
    Exited {
        /// Child that has finished.
        child: ChildId,
        /// Exit status or signal.
        exit: Exit,
        /// Resource usage of the child and of the processes that it waited for.
        usage: ProcessUsage,
        /// Delivery of the child's standard input.
        stdin: StdinDelivery,
        /// Standard output, if it was captured with `Stdio::Capture`.
        stdout: CapturedOutput,
        /// Standard error, if it was captured with `Stdio::Capture`.
        stderr: CapturedOutput,
        /// Processes that outlived the child; they have been killed if the specification requires it.
        left_behind: Vec<LeftoverProcess>,
        /// Reason why the program was not executed. Set only if the failure occurred after the child had to
        /// wait for the other end of a FIFO.
        not_executed: Option<Box<SpawnError>>,
    },
    /// Bytes have arrived on an output with `Stdio::Stream`.
    Piece {
        /// Child that wrote the bytes.
        child: ChildId,
        /// Output on which the bytes arrived.
        stream: OutputStream,
        /// Bytes that arrived.
        bytes: Vec<u8>,
    },
    /// This process received the signal with this number.
    Signal(i32),
    /// A watched descriptor is ready for reading or writing, as requested, or its input has ended.
    Readable(WatchToken),
    /// The deadline has passed.
    Timeout,
}

/// Captured output of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Captured bytes, not more than the limit.
    pub bytes: Vec<u8>,
    /// True if the limit was reached, so that further output was lost.
    pub is_truncated: bool,
    /// True if another process still had the pipe open when reading ended.
    pub is_held_open: bool,
    /// Error that ended the reading, or `None`. After an error, output may be missing.
    pub read_error: Option<std::io::ErrorKind>,
}

impl CapturedOutput {
    /// Returns a message if an error ended the reading, or `None`.
    pub fn read_failure(&self) -> Option<String> {
        self.read_error.map(|kind| format!("its output could not be read completely: {kind}"))
    }
}

/// Delivery of a child's standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StdinDelivery {
    /// Number of bytes that were to be delivered.
    pub offered: usize,
    /// Number of bytes that the pipe accepted. The child has not necessarily read all of them.
    pub taken: usize,
    /// Number of accepted bytes that the child had not read when it ended.
    pub unread: usize,
}

/// Process that was still running when the child that created it had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverProcess {
    /// Process id.
    pub pid: i32,
    /// Name of the program as known to the kernel, at most 15 bytes.
    pub command: BString,
    /// True if the process still had the child's standard output open.
    pub holds_stdout: bool,
    /// True if the process still had the child's standard error open.
    pub holds_stderr: bool,
    /// True if the process has ended by now.
    pub killed: bool,
}
