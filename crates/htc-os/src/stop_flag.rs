//! Ends reads that wait for more, once enough has been read: a thread that finds a mistake, or cannot write, would else wait for
//! the one that waits for input.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// Says that enough has been read, to all threads.
#[derive(Clone, Debug)]
pub struct StopFlag {
    /// Without a descriptor reads wait as they always do.
    event_fd: Option<Arc<EventFd>>,
}

impl Default for StopFlag {
    fn default() -> Self {
        StopFlag::new()
    }
}

impl StopFlag {
    /// Nothing has been said yet.
    pub fn new() -> Self {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        StopFlag { event_fd: EventFd::from_flags(flags).ok().map(Arc::new) }
    }

    /// Says it, for good.
    pub fn set(&self) {
        if let Some(said) = &self.event_fd {
            // It cannot be full: nobody counts so far.
            let _ = said.write(1);
        }
    }

    /// Waits until an input has more or has ended, or cannot be waited for; false once enough has been said.
    pub fn wait_for_input(&self, input: &impl AsFd) -> bool {
        let Some(said) = &self.event_fd else { return true };
        let mut fds =
            [PollFd::new(said.as_fd(), PollFlags::POLLIN), PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        while poll(&mut fds, PollTimeout::NONE) == Err(Errno::EINTR) {}
        fds[0].any() != Some(true)
    }
}

/// An input that ends where enough has been said.
#[derive(Debug)]
pub struct StoppableReader<R> {
    input: R,
    stop_flag: StopFlag,
}

impl<R: Read + AsFd> StoppableReader<R> {
    /// As long as nobody says it.
    pub fn new(read: R, enough: &StopFlag) -> Self {
        StoppableReader { input: read, stop_flag: enough.clone() }
    }
}

impl<R: Read + AsFd> Read for StoppableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop_flag.wait_for_input(&self.input) { self.input.read(buffer) } else { Ok(0) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_read_that_waits_ends_when_another_thread_has_enough() {
        let (reader, mut writer) = io::pipe().unwrap();
        let enough = StopFlag::new();
        let mut until = StoppableReader::new(reader, &enough);
        writer.write_all(b"x").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(until.read(&mut buffer).unwrap(), 1);
        std::thread::scope(|scope| {
            scope.spawn(|| enough.set());
            assert_eq!(until.read(&mut buffer).unwrap(), 0);
        });
        writer.write_all(b"y").unwrap();
        assert_eq!(until.read(&mut buffer).unwrap(), 0);
    }
}
