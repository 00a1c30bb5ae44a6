//! Thread that forwards one stream between a caller and a recorded hook, and captures the beginning of the stream.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Maximum number of bytes that are captured of a stream; the whole stream is forwarded.
const MAX_CAPTURED_BYTES: usize = 8 << 20;
/// Maximum number of bytes that are read from an output after the hook has ended. This is the largest size of a pipe.
const MAX_BYTES_AFTER_END: usize = 1 << 20;

/// Captured beginning of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamCapture {
    bytes: Vec<u8>,
    cut: bool,
}

impl StreamCapture {
    fn append(&mut self, bytes: &[u8]) {
        let room = MAX_CAPTURED_BYTES - self.bytes.len();
        self.cut |= bytes.len() > room;
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns true if the whole stream was captured.
    pub(super) fn is_complete(&self) -> bool {
        !self.cut
    }

    /// Returns the captured bytes. If the capture is truncated, they end with the marker that recordings use.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        if self.cut {
            self.bytes.extend_from_slice(b"\n@@ cut here\n");
        }
        self.bytes
    }
}

/// Stream that a thread of its own forwards, so that a blocked reader delays neither other streams nor signals.
pub(super) struct StreamPump {
    kept: Arc<Mutex<StreamCapture>>,
    done: Arc<AtomicBool>,
    /// Pipe end that is closed when the hook has ended. Closing it informs the thread.
    alive: Option<OwnedFd>,
}

impl StreamPump {
    /// Starts to forward the stream. If writing fails, the source is closed; but if `read_on` is true, the rest of
    /// the source is read and captured.
    pub(super) fn start(from: File, to: File, read_on: bool) -> std::io::Result<Self> {
        let (ended, alive) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        let (kept, done) = (Arc::new(Mutex::new(StreamCapture::default())), Arc::new(AtomicBool::new(false)));
        let (capture, set_done) = (Arc::clone(&kept), Arc::clone(&done));
        std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
            forward_stream(from, to, read_on, &capture, &ended);
            set_done.store(true, Ordering::Release);
        })?;
        Ok(StreamPump { kept, done, alive: Some(alive) })
    }

    /// Informs the thread that the hook has ended.
    pub(super) fn note_hook_end(&mut self) {
        self.alive = None;
    }

    /// Returns true if the stream has been forwarded to its end.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Returns the bytes captured so far.
    pub(super) fn take_capture(&self) -> StreamCapture {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn forward_stream(mut from: File, to: File, read_on: bool, kept: &Mutex<StreamCapture>, ended: &OwnedFd) {
    let mut to = Some(to);
    let mut buffer = vec![0; 64 << 10];
    // For an input, reading one byte more than the maximum shows that the capture is truncated.
    let mut left = if read_on { MAX_CAPTURED_BYTES + 1 } else { MAX_BYTES_AFTER_END };
    loop {
        let (ready, has_ended) = {
            let mut set =
                [PollFd::new(from.as_fd(), PollFlags::POLLIN), PollFd::new(ended.as_fd(), PollFlags::POLLIN)];
            match poll(&mut set, PollTimeout::NONE) {
                Ok(_) => (set[0].any().unwrap_or(true), set[1].any().unwrap_or(true)),
                Err(nix::errno::Errno::EINTR) => continue,
                Err(_) => return,
            }
        };
        if !ready || left == 0 {
            return;
        }
        let count = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if has_ended {
            left = left.saturating_sub(count);
        }
        kept.lock().unwrap_or_else(PoisonError::into_inner).append(&buffer[..count]);
        if to.as_mut().is_some_and(|to| to.write_all(&buffer[..count]).is_err()) {
            to = None;
            if !read_on {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_is_recorded_partly_with_a_mark() {
        let mut kept = StreamCapture::default();
        kept.append(&vec![b'x'; MAX_CAPTURED_BYTES]);
        assert!(kept.is_complete());
        kept.append(b"y");
        kept.append(b"y");
        assert!(!kept.is_complete());
        assert_eq!(kept.into_bytes().len(), MAX_CAPTURED_BYTES + b"\n@@ cut here\n".len());
    }
}
