//! The two ends of a pipe: output is collected in blocks, and flushed before a read that would block, so that a slow
//! producer never waits behind our buffer and a fast one costs few system calls.

use std::io::{self, BufWriter, Read, Stdin, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::stdout::{ProgramStdout, stdout};
use crate::os::StopFlag;

/// How much is read and written at once.
const BUFFER_SIZE: usize = 256 * 1024;

/// What both ends know.
#[derive(Debug)]
struct PipeState {
    output: Mutex<BufWriter<ProgramStdout>>,
    /// A read is about to block, or does; what is written meanwhile, by another thread, is flushed at once.
    blocks: AtomicBool,
}

impl PipeState {
    fn lock_output(&self) -> MutexGuard<'_, BufWriter<ProgramStdout>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Flushes what has been written if a read blocks.
    fn flush_if_reading(&self, mut output: MutexGuard<'_, BufWriter<ProgramStdout>>) -> io::Result<()> {
        if self.blocks.load(Ordering::SeqCst) { output.flush() } else { Ok(()) }
    }
}

/// Standard input and standard output, tied together. Wrap the input in a `BufReader` of [`PipedStdin::BUFFER_SIZE`] bytes.
pub fn open_stdio_pipe() -> (PipedStdin, PipedStdout) {
    let output = Mutex::new(BufWriter::with_capacity(BUFFER_SIZE, stdout()));
    let shared = Arc::new(PipeState { output, blocks: AtomicBool::new(false) });
    (
        PipedStdin { stdin: io::stdin(), shared: Arc::clone(&shared), enough: StopFlag::new() },
        PipedStdout { shared },
    )
}

/// Writes all of it to standard output.
pub(crate) fn write_to_stdout(text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let (_, mut output) = open_stdio_pipe();
    let written = output.write_all(text.as_ref()).and_then(|()| output.flush());
    written.context("cannot write to standard output")
}

/// Standard input.
#[derive(Debug)]
pub struct PipedStdin {
    stdin: Stdin,
    shared: Arc<PipeState>,
    enough: StopFlag,
}

impl PipedStdin {
    /// The best size for a buffer around it, in bytes.
    pub const BUFFER_SIZE: usize = BUFFER_SIZE;

    /// The same input, whose reads another flag ends.
    pub(crate) fn with_stop_flag(mut self, stop_flag: &StopFlag) -> Self {
        self.enough = stop_flag.clone();
        self
    }

    /// By what its reads are ended.
    pub(crate) fn stop_flag(&self) -> StopFlag {
        self.enough.clone()
    }
}

/// Whether a read would give something, or end of file, at once. Where `poll` cannot tell, it says yes.
fn is_ready(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
}

impl Read for PipedStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if is_ready(&self.stdin) {
            // The handle of the standard library holds a buffer of its own, which is passed by for blocks of this size.
            return self.stdin.lock().read(buffer);
        }
        self.shared.blocks.store(true, Ordering::SeqCst);
        self.shared.lock_output().flush()?;
        stdout().flush()?;
        let goes_on = self.enough.wait_for_input(&self.stdin);
        let read = if goes_on { self.stdin.lock().read(buffer) } else { Ok(0) };
        self.shared.blocks.store(false, Ordering::SeqCst);
        read
    }
}

/// Standard output. What is written stays in the buffer until it is full, a read would block, or it is flushed; the
/// last handle flushes when it is dropped, but only [`PipedStdout::finish`] tells of errors.
#[derive(Clone, Debug)]
pub struct PipedStdout {
    shared: Arc<PipeState>,
}

impl PipedStdout {
    /// Writes out what is left.
    ///
    /// # Errors
    /// The other end was closed, or the device is full.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Write for PipedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut output = self.shared.lock_output();
        let length = output.write(bytes)?;
        self.shared.flush_if_reading(output).map(|()| length)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut output = self.shared.lock_output();
        output.write_all(bytes)?;
        self.shared.flush_if_reading(output)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.shared.lock_output().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_ready_when_it_holds_something_or_is_closed() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert!(!is_ready(&reader));
        writer.write_all(b"x").unwrap();
        assert!(is_ready(&reader));
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        assert!(is_ready(&reader));
    }
}
