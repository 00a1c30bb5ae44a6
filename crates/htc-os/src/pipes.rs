//! The caller's ends of a child's pipes: never blocking, always bounded.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use super::reactor_event::CapturedOutput;

/// A pipe whose end on our side does not block; both are closed at exec.
pub(super) struct Pipe {
    pub(super) read: OwnedFd,
    pub(super) write: OwnedFd,
}

impl Pipe {
    pub(super) fn new() -> nix::Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
        Ok(Pipe { read, write })
    }
}

/// Makes our end non-blocking; the child's end of the same pipe stays as it is.
pub(super) fn set_nonblocking(end: &OwnedFd) -> nix::Result<()> {
    nix::fcntl::fcntl(end, nix::fcntl::FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map(drop)
}

/// How much is read and dropped at most for a child that is to come to its end though nobody listens: more than any has
/// to say that ends at all.
pub(super) const MAX_DISCARDED_BYTES: usize = 256 << 20;

/// How the bytes of a stream are handed on.
pub(super) enum OutputSink {
    /// Collected up to the limit; then this many bytes more are read and dropped before the pipe is closed.
    Capture { limit: usize, captured: Vec<u8>, cut: bool, dropped: usize },
    /// As they come.
    Pieces,
}

/// One output of a child.
pub(super) struct OutputReader {
    end: Option<File>,
    sink: OutputSink,
}

/// What one turn of reading produced.
pub(super) enum PipeReadOutcome {
    /// How many bytes were read, and those that are handed on as they come.
    Bytes(usize, Option<Vec<u8>>),
    /// Nothing now.
    Blocked,
    /// The stream is at its end, or closed by us at the limit.
    Ended,
}

impl OutputReader {
    pub(super) fn new(end: OwnedFd, sink: OutputSink) -> Self {
        OutputReader { end: Some(File::from(end)), sink }
    }

    /// The descriptor to wait for, while it is open.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    /// Reads once, at most a buffer full.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> PipeReadOutcome {
        let Some(end) = &mut self.end else { return PipeReadOutcome::Ended };
        let room = match &self.sink {
            OutputSink::Capture { limit, captured, dropped: 0, .. } => {
                buffer.len().min(limit.saturating_sub(captured.len()).max(1))
            }
            OutputSink::Capture { .. } | OutputSink::Pieces => buffer.len(),
        };
        match end.read(&mut buffer[..room]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => PipeReadOutcome::Blocked,
            Err(error) if error.kind() == ErrorKind::Interrupted => PipeReadOutcome::Bytes(0, None),
            Ok(0) | Err(_) => {
                self.end = None;
                PipeReadOutcome::Ended
            }
            Ok(count) => self.accept_bytes(&buffer[..count]),
        }
    }

    fn accept_bytes(&mut self, bytes: &[u8]) -> PipeReadOutcome {
        match &mut self.sink {
            OutputSink::Capture { limit, captured, cut, dropped } => {
                let kept = bytes.len().min(*limit - captured.len().min(*limit));
                captured.extend_from_slice(&bytes[..kept]);
                if captured.len() >= *limit {
                    *cut = true;
                    *dropped = dropped.saturating_sub(bytes.len() - kept);
                    if *dropped == 0 {
                        self.end = None;
                        return PipeReadOutcome::Ended;
                    }
                }
                PipeReadOutcome::Bytes(bytes.len(), None)
            }
            OutputSink::Pieces => PipeReadOutcome::Bytes(bytes.len(), Some(bytes.to_vec())),
        }
    }

    /// What was collected.
    pub(super) fn into_captured(self, held: bool) -> CapturedOutput {
        match self.sink {
            OutputSink::Capture { captured, cut, .. } => {
                CapturedOutput { bytes: captured, is_truncated: cut, is_held_open: held }
            }
            OutputSink::Pieces => CapturedOutput { is_held_open: held, ..CapturedOutput::default() },
        }
    }
}

/// The input of a child.
pub(super) struct InputWriter {
    end: Option<File>,
    /// The reader's end once more: by it one sees what nobody has read.
    probe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl InputWriter {
    /// Writes `bytes` into `end`; `probe` is a duplicate of the other end.
    pub(super) fn new(end: OwnedFd, probe: Option<OwnedFd>, bytes: Vec<u8>) -> Self {
        InputWriter { end: Some(File::from(end)), probe, bytes, written: 0 }
    }

    /// How many of the bytes nobody has read so far.
    pub(super) fn unread_bytes(&self) -> usize {
        let waiting = self.probe.as_ref().map_or(0, |probe| super::child::pending_bytes(probe.as_fd()));
        self.bytes.len() - self.written + waiting
    }

    /// The descriptor to wait for, while there is something to write.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    /// Writes what the pipe takes and closes it when all is written. A child that does not read is no error.
    pub(super) fn write(&mut self) {
        while let Some(end) = &mut self.end {
            match end.write(&self.bytes[self.written..]) {
                Ok(count) => {
                    self.written += count;
                    if self.written == self.bytes.len() {
                        self.end = None;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.end = None,
            }
        }
    }

    /// Bytes offered and bytes the pipe took.
    pub(super) fn write_progress(&self) -> (usize, usize) {
        (self.bytes.len(), self.written)
    }
}
