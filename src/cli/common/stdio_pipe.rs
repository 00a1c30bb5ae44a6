//! Standard input and output of a filter. Output is collected in blocks, and flushed before a read that would block. So
//! output appears immediately if input arrives slowly, and few system calls are made if input arrives fast.

use std::io::{self, BufWriter, Read, Stdin, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::stdout::{ProgramStdout, stdout};
use crate::os::StopFlag;

/// Number of bytes that are read or written at once.
const BUFFER_SIZE: usize = 256 * 1024;

/// State shared by the reader of standard input and the writers of standard output.
#[derive(Debug)]
struct PipeState {
    output: Mutex<BufWriter<ProgramStdout>>,
    /// True while a read blocks or is about to block. Other threads then flush their output immediately.
    blocks: AtomicBool,
}

impl PipeState {
    fn lock_output(&self) -> MutexGuard<'_, BufWriter<ProgramStdout>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Flushes the output if a read blocks.
    fn flush_if_reading(&self, mut output: MutexGuard<'_, BufWriter<ProgramStdout>>) -> io::Result<()> {
        if self.blocks.load(Ordering::SeqCst) { output.flush() } else { Ok(()) }
    }
}

/// Opens standard input and standard output as a pair: a read that blocks flushes the output. The input should be wrapped in a
/// `BufReader` of [`PipedStdin::BUFFER_SIZE`] bytes.
pub fn open_stdio_pipe() -> (PipedStdin, PipedStdout) {
    let output = Mutex::new(BufWriter::with_capacity(BUFFER_SIZE, stdout()));
    let shared = Arc::new(PipeState { output, blocks: AtomicBool::new(false) });
    (
        PipedStdin { stdin: io::stdin(), shared: Arc::clone(&shared), stop_flag: StopFlag::new() },
        PipedStdout { shared },
    )
}

/// Writes the whole text to standard output.
pub(crate) fn write_to_stdout(text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let (_, mut output) = open_stdio_pipe();
    let written = output.write_all(text.as_ref()).and_then(|()| output.flush());
    written.context("cannot write to standard output")
}

/// Standard input; a read that would block first flushes standard output.
#[derive(Debug)]
pub struct PipedStdin {
    stdin: Stdin,
    shared: Arc<PipeState>,
    stop_flag: StopFlag,
}

impl PipedStdin {
    /// Recommended size in bytes of a `BufReader` around standard input.
    pub const BUFFER_SIZE: usize = BUFFER_SIZE;

    /// Returns the same input with another flag that can cancel its reads.
    pub(crate) fn with_stop_flag(mut self, stop_flag: &StopFlag) -> Self {
        self.stop_flag = stop_flag.clone();
        self
    }

    /// Returns the flag that cancels a blocked read.
    pub(crate) fn stop_flag(&self) -> StopFlag {
        self.stop_flag.clone()
    }
}

/// Returns true if a read would return data or the end of file immediately, or if `poll` fails.
fn is_ready(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
}

impl Read for PipedStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if is_ready(&self.stdin) {
            // Blocks of this size bypass the buffer in the standard library's handle.
            return self.stdin.lock().read(buffer);
        }
        self.shared.blocks.store(true, Ordering::SeqCst);
        self.shared.lock_output().flush()?;
        stdout().flush()?;
        let has_input = self.stop_flag.wait_for_input(&self.stdin);
        let read = if has_input { self.stdin.lock().read(buffer) } else { Ok(0) };
        self.shared.blocks.store(false, Ordering::SeqCst);
        read
    }
}

/// Standard output. Bytes stay in the buffer until it is full, is flushed, or a read of standard input would block. The last
/// handle flushes the buffer when it is dropped, but only [`PipedStdout::finish`] returns errors.
#[derive(Clone, Debug)]
pub struct PipedStdout {
    shared: Arc<PipeState>,
}

impl PipedStdout {
    /// Writes the rest of the buffer.
    ///
    /// # Errors
    /// Returns an error if the reader has closed the pipe, or the device is full.
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
    fn a_pipe_is_ready_if_it_has_data_or_is_closed() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert!(!is_ready(&reader));
        writer.write_all(b"x").unwrap();
        assert!(is_ready(&reader));
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        assert!(is_ready(&reader));
    }
}
