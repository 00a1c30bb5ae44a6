//! The caller's ends of a child's pipes: never blocking, always bounded.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use super::event::Captured;

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
pub(super) const DROPPED: usize = 256 << 20;

/// How the bytes of a stream are handed on.
pub(super) enum Sink {
    /// Collected up to the limit; then this many bytes more are read and dropped before the pipe is closed.
    Capture { limit: usize, captured: Vec<u8>, cut: bool, dropped: usize },
    /// As they come.
    Pieces,
}

/// One output of a child.
pub(super) struct Reader {
    end: Option<File>,
    sink: Sink,
}

/// What one turn of reading produced.
pub(super) enum Read1 {
    /// How many bytes were read, and those that are handed on as they come.
    Bytes(usize, Option<Vec<u8>>),
    /// Nothing now.
    Blocked,
    /// The stream is at its end, or closed by us at the limit.
    Ended,
}

impl Reader {
    pub(super) fn new(end: OwnedFd, sink: Sink) -> Self {
        Reader { end: Some(File::from(end)), sink }
    }

    /// The descriptor to wait for, while it is open.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    /// Reads once, at most a buffer full.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Read1 {
        let Some(end) = &mut self.end else { return Read1::Ended };
        let room = match &self.sink {
            Sink::Capture { limit, captured, dropped: 0, .. } => {
                buffer.len().min(limit.saturating_sub(captured.len()).max(1))
            }
            Sink::Capture { .. } | Sink::Pieces => buffer.len(),
        };
        match end.read(&mut buffer[..room]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Read1::Blocked,
            Err(error) if error.kind() == ErrorKind::Interrupted => Read1::Bytes(0, None),
            Ok(0) | Err(_) => {
                self.end = None;
                Read1::Ended
            }
            Ok(count) => self.take(&buffer[..count]),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Read1 {
        match &mut self.sink {
            Sink::Capture { limit, captured, cut, dropped } => {
                let kept = bytes.len().min(*limit - captured.len().min(*limit));
                captured.extend_from_slice(&bytes[..kept]);
                if captured.len() >= *limit {
                    *cut = true;
                    *dropped = dropped.saturating_sub(bytes.len() - kept);
                    if *dropped == 0 {
                        self.end = None;
                        return Read1::Ended;
                    }
                }
                Read1::Bytes(bytes.len(), None)
            }
            Sink::Pieces => Read1::Bytes(bytes.len(), Some(bytes.to_vec())),
        }
    }

    /// What was collected.
    pub(super) fn captured(self, held: bool) -> Captured {
        match self.sink {
            Sink::Capture { captured, cut, .. } => Captured { bytes: captured, cut, held },
            Sink::Pieces => Captured { held, ..Captured::default() },
        }
    }
}

/// The input of a child.
pub(super) struct Writer {
    end: Option<File>,
    /// The reader's end once more: by it one sees what nobody has read.
    probe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl Writer {
    /// Writes `bytes` into `end`; `probe` is a duplicate of the other end.
    pub(super) fn new(end: OwnedFd, probe: Option<OwnedFd>, bytes: Vec<u8>) -> Self {
        Writer { end: Some(File::from(end)), probe, bytes, written: 0 }
    }

    /// How many of the bytes nobody has read so far.
    pub(super) fn unread(&self) -> usize {
        let waiting = self.probe.as_ref().map_or(0, |probe| super::child::waiting(probe.as_fd()));
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
    pub(super) fn progress(&self) -> (usize, usize) {
        (self.bytes.len(), self.written)
    }
}
