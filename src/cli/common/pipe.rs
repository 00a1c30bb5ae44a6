//! The two ends of a pipe: output is collected in blocks, and flushed before a read that would block, so that a slow
//! producer never waits behind our buffer and a fast one costs few system calls.

use std::cell::RefCell;
use std::io::{self, BufWriter, Read, Stdin, Stdout, Write};
use std::os::fd::AsFd;
use std::rc::Rc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How much is read and written at once.
const BLOCK: usize = 256 * 1024;

type Shared = Rc<RefCell<BufWriter<Stdout>>>;

/// Standard input and standard output, tied together. Wrap the input in a `BufReader` of [`Input::BLOCK`] bytes.
pub fn pipe_ends() -> (Input, Output) {
    let shared = Rc::new(RefCell::new(BufWriter::with_capacity(BLOCK, io::stdout())));
    (Input { stdin: io::stdin(), output: Some(Rc::clone(&shared)) }, Output { shared })
}

/// Standard input.
#[derive(Debug)]
pub struct Input {
    stdin: Stdin,
    output: Option<Shared>,
}

impl Input {
    /// The best size for a buffer around it, in bytes.
    pub const BLOCK: usize = BLOCK;
}

/// Whether a read would give something, or end of file, at once. Where `poll` cannot tell, it says yes.
fn is_ready(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(output) = &self.output
            && !output.borrow().buffer().is_empty()
            && !is_ready(&self.stdin)
        {
            output.borrow_mut().flush()?;
            io::stdout().flush()?;
        }
        // The handle of the standard library holds a buffer of its own, which is passed by for blocks of this size.
        self.stdin.lock().read(buffer)
    }
}

/// Standard output. What is written stays in the buffer until it is full, a read would block, or it is flushed; the
/// last handle flushes when it is dropped, but only [`Output::finish`] tells of errors.
#[derive(Clone, Debug)]
pub struct Output {
    shared: Shared,
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
        self.shared.borrow_mut().write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.shared.borrow_mut().write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.shared.borrow_mut().flush()
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
