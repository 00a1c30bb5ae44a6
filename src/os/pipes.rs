//! The caller's ends of a child's pipes: never blocking, always bounded.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bstr::BString;
use memchr::memchr;
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
    /// Split at newlines.
    Lines { longest: usize, begun: Vec<u8> },
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
    /// Lines, or one piece, and how many bytes were read.
    Parts(Vec<BString>, usize),
    /// Nothing now.
    Blocked,
    /// The stream is at its end, or closed by us at the limit.
    Ended(Vec<BString>),
}

impl Reader {
    pub(super) fn new(end: OwnedFd, sink: Sink) -> Self {
        Reader { end: Some(File::from(end)), sink }
    }

    /// The descriptor to wait for, while it is open.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    /// Whether it is handed on without looking for lines.
    pub(super) fn is_pieces(&self) -> bool {
        matches!(self.sink, Sink::Pieces)
    }

    /// Reads once, at most a buffer full.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Read1 {
        let Some(end) = &mut self.end else { return Read1::Ended(Vec::new()) };
        let room = match &self.sink {
            Sink::Capture { limit, captured, dropped: 0, .. } => {
                buffer.len().min(limit.saturating_sub(captured.len()).max(1))
            }
            Sink::Capture { .. } | Sink::Lines { .. } | Sink::Pieces => buffer.len(),
        };
        match end.read(&mut buffer[..room]) {
            Ok(0) => Read1::Ended(self.close()),
            Ok(count) => self.take(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Read1::Blocked,
            Err(error) if error.kind() == ErrorKind::Interrupted => Read1::Parts(Vec::new(), 0),
            Err(_) => Read1::Ended(self.close()),
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
                        return Read1::Ended(Vec::new());
                    }
                }
                Read1::Parts(Vec::new(), bytes.len())
            }
            Sink::Lines { longest, begun } => {
                begun.extend_from_slice(bytes);
                Read1::Parts(split_lines(begun, (*longest).max(1)), bytes.len())
            }
            Sink::Pieces => Read1::Parts(vec![BString::from(bytes)], bytes.len()),
        }
    }

    /// Closes our end; a line without its newline is a line.
    pub(super) fn close(&mut self) -> Vec<BString> {
        self.end = None;
        match &mut self.sink {
            Sink::Lines { begun, .. } if !begun.is_empty() => vec![BString::from(std::mem::take(begun))],
            _ => Vec::new(),
        }
    }

    /// What was collected.
    pub(super) fn captured(self, held: bool) -> Captured {
        match self.sink {
            Sink::Capture { captured, cut, .. } => Captured { bytes: captured, cut, held },
            Sink::Lines { .. } | Sink::Pieces => Captured { held, ..Captured::default() },
        }
    }
}

/// Takes the whole lines out of `begun`, and pieces of `longest` bytes where a line is longer.
fn split_lines(begun: &mut Vec<u8>, longest: usize) -> Vec<BString> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < begun.len() {
        let rest = &begun[start..];
        let window = &rest[..rest.len().min(longest.saturating_add(1))];
        if let Some(newline) = memchr(b'\n', window) {
            lines.push(BString::from(&rest[..newline]));
            start += newline + 1;
        } else if rest.len() > longest {
            lines.push(BString::from(&rest[..longest]));
            start += longest;
        } else {
            break;
        }
    }
    begun.drain(..start);
    lines
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_come_in_pieces_and_the_rest_waits() {
        let mut begun = b"ab\nabcdef\n\nxy".to_vec();
        let lines = split_lines(&mut begun, 4);
        assert_eq!(lines, ["ab", "abcd", "ef", ""]);
        assert_eq!(begun, b"xy");
        let mut exact = b"abcd\n".to_vec();
        assert_eq!(split_lines(&mut exact, 4), ["abcd"]);
    }
}
