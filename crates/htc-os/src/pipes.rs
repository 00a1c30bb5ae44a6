//! Pipes to a child's standard files; the ends of this process are always non-blocking, and the amount of
//! data is limited.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use super::reactor_event::CapturedOutput;

/// Pipe between this process and a child. Our end becomes non-blocking; both ends are closed at exec.
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

/// Makes our end of a pipe non-blocking; the child's end is not affected.
pub(super) fn set_nonblocking(end: &OwnedFd) -> nix::Result<()> {
    nix::fcntl::fcntl(end, nix::fcntl::FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map(drop)
}

/// Maximum number of bytes that are read and discarded, in addition to the captured output, so that a child
/// can run to its end. No child that terminates is expected to print more.
pub(super) const MAX_DISCARDED_BYTES: usize = 256 << 20;

/// Destination of the bytes that a child writes to an output.
pub(super) enum OutputSink {
    /// Collects bytes up to `limit`, and then reads and discards `dropped` more bytes before the pipe is
    /// closed.
    Capture { limit: usize, captured: Vec<u8>, cut: bool, dropped: usize },
    /// Passes each piece of output to the caller when it arrives.
    Pieces,
}

/// Maximum number of consecutive failed reads. After one more failure, reading of the output ends with the
/// error.
const MAX_READ_FAILURES: u32 = 5;

/// Reader of one output (standard output or error) of a child.
pub(super) struct OutputReader {
    end: Option<File>,
    sink: OutputSink,
    /// Number of failed reads since the last successful read.
    failures: u32,
    /// Error that ended the reading, or `None`.
    error: Option<ErrorKind>,
}

/// Result of one read from a pipe.
pub(super) enum PipeReadOutcome {
    /// Number of bytes read. The bytes themselves are included if the output is passed on in pieces.
    Bytes(usize, Option<Vec<u8>>),
    /// No data is available now.
    Blocked,
    /// The output has ended, or we have closed the pipe at the limit.
    Ended,
}

impl OutputReader {
    pub(super) fn new(end: OwnedFd, sink: OutputSink) -> Self {
        OutputReader { end: Some(File::from(end)), sink, failures: 0, error: None }
    }

    /// Returns the descriptor to poll, or `None` if the pipe is closed.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    /// Reads from the pipe once, at most one buffer.
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
            // The error may not occur again at the next read, and the output should not be lost.
            Err(error) if self.failures < MAX_READ_FAILURES => {
                self.failures += 1;
                self.error = Some(error.kind());
                PipeReadOutcome::Bytes(0, None)
            }
            Err(_) => {
                self.end = None;
                PipeReadOutcome::Ended
            }
            Ok(count) => {
                (self.failures, self.error) = (0, None);
                if count == 0 {
                    self.end = None;
                    return PipeReadOutcome::Ended;
                }
                self.accept_bytes(&buffer[..count])
            }
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

    /// Returns the captured output. `held` is true if another process still has the pipe open.
    pub(super) fn into_captured(self, held: bool) -> CapturedOutput {
        let read_error = self.error;
        match self.sink {
            OutputSink::Capture { captured, cut, .. } => {
                CapturedOutput { bytes: captured, is_truncated: cut, is_held_open: held, read_error }
            }
            OutputSink::Pieces => {
                CapturedOutput { is_held_open: held, read_error, ..CapturedOutput::default() }
            }
        }
    }
}

/// Writer of the bytes that a child reads from its standard input.
pub(super) struct InputWriter {
    end: Option<File>,
    /// Duplicate of the child's end of the pipe, used to count the unread bytes.
    probe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl InputWriter {
    /// Creates a writer of `bytes` to our end of a pipe; `probe` is a duplicate of the child's end.
    pub(super) fn new(end: OwnedFd, probe: Option<OwnedFd>, bytes: Vec<u8>) -> Self {
        InputWriter { end: Some(File::from(end)), probe, bytes, written: 0 }
    }

    /// Returns the number of bytes that the child has not read yet.
    pub(super) fn unread_bytes(&self) -> usize {
        let waiting = self.probe.as_ref().map_or(0, |probe| super::own_process::pending_bytes(probe.as_fd()));
        self.bytes.len() - self.written + waiting
    }

    /// Returns the descriptor to poll, or `None` if all bytes have been written.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    /// Writes as many bytes as the pipe accepts, and closes the pipe when all bytes are written. It is not an
    /// error if the child does not read its input.
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

    /// Returns the total number of bytes to write, and the number of bytes that the pipe has accepted.
    pub(super) fn write_progress(&self) -> (usize, usize) {
        (self.bytes.len(), self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the write end of a pipe, from which every read fails.
    #[test]
    fn an_unreadable_stream_ends_with_its_error() {
        let pipe = Pipe::new().unwrap();
        let sink = OutputSink::Capture { limit: 100, captured: Vec::new(), cut: false, dropped: 0 };
        let mut reader = OutputReader::new(pipe.write, sink);
        let mut reads = 0;
        while !matches!(reader.read(&mut [0; 10]), PipeReadOutcome::Ended) {
            reads += 1;
        }
        assert_eq!(reads, MAX_READ_FAILURES);
        assert!(reader.into_captured(false).read_failure().is_some());
    }
}
