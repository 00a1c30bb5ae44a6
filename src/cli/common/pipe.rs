//! The two ends of a pipe: output is collected in blocks, and flushed before a read that would block, so that a slow
//! producer never waits behind our buffer and a fast one costs few system calls.

use std::io::{self, BufWriter, Read, Stdin, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::stdout::{Stdout, stdout};
use crate::os::Enough;

/// How much is read and written at once.
const BLOCK: usize = 256 * 1024;

/// What both ends know.
#[derive(Debug)]
struct Shared {
    output: Mutex<BufWriter<Stdout>>,
    /// A read is about to block, or does; what is written meanwhile, by another thread, is flushed at once.
    blocks: AtomicBool,
}

impl Shared {
    fn output(&self) -> MutexGuard<'_, BufWriter<Stdout>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Flushes what has been written if a read blocks.
    fn written(&self, mut output: MutexGuard<'_, BufWriter<Stdout>>) -> io::Result<()> {
        if self.blocks.load(Ordering::SeqCst) { output.flush() } else { Ok(()) }
    }
}

/// Standard input and standard output, tied together. Wrap the input in a `BufReader` of [`Input::BLOCK`] bytes.
pub fn pipe_ends() -> (Input, Output) {
    let output = Mutex::new(BufWriter::with_capacity(BLOCK, stdout()));
    let shared = Arc::new(Shared { output, blocks: AtomicBool::new(false) });
    (Input { stdin: io::stdin(), shared: Arc::clone(&shared), enough: Enough::new() }, Output { shared })
}

/// Writes all of it to standard output.
pub(crate) fn print_out(text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let (_, mut output) = pipe_ends();
    let written = output.write_all(text.as_ref()).and_then(|()| output.flush());
    written.context("cannot write to standard output")
}

/// Standard input.
#[derive(Debug)]
pub struct Input {
    stdin: Stdin,
    shared: Arc<Shared>,
    enough: Enough,
}

impl Input {
    /// The best size for a buffer around it, in bytes.
    pub const BLOCK: usize = BLOCK;

    /// By what its reads are ended.
    pub(crate) fn enough(&self) -> Enough {
        self.enough.clone()
    }
}

/// Whether a read would give something, or end of file, at once. Where `poll` cannot tell, it says yes.
fn is_ready(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if is_ready(&self.stdin) {
            // The handle of the standard library holds a buffer of its own, which is passed by for blocks of this size.
            return self.stdin.lock().read(buffer);
        }
        self.shared.blocks.store(true, Ordering::SeqCst);
        self.shared.output().flush()?;
        stdout().flush()?;
        let goes_on = self.enough.goes_on(&self.stdin);
        let read = if goes_on { self.stdin.lock().read(buffer) } else { Ok(0) };
        self.shared.blocks.store(false, Ordering::SeqCst);
        read
    }
}

/// Standard output. What is written stays in the buffer until it is full, a read would block, or it is flushed; the
/// last handle flushes when it is dropped, but only [`Output::finish`] tells of errors.
#[derive(Clone, Debug)]
pub struct Output {
    shared: Arc<Shared>,
}

impl Output {
    /// Writes out what is left.
    ///
    /// # Errors
    /// The other end was closed, or the device is full.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut output = self.shared.output();
        let length = output.write(bytes)?;
        self.shared.written(output).map(|()| length)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut output = self.shared.output();
        output.write_all(bytes)?;
        self.shared.written(output)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.shared.output().flush()
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
