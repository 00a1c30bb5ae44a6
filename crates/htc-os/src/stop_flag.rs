//! Flag that cancels blocked reads in all threads. Without it, a thread that finds an error or cannot write
//! would have to wait for another thread that is blocked on input.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// Flag that cancels blocked reads in all threads.
#[derive(Clone, Debug)]
pub struct StopFlag {
    /// Event descriptor that becomes readable when the flag is set. `None` if it could not be created; reads
    /// then block as usual.
    event_fd: Option<Arc<EventFd>>,
}

impl Default for StopFlag {
    fn default() -> Self {
        StopFlag::new()
    }
}

impl StopFlag {
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        StopFlag { event_fd: EventFd::from_flags(flags).ok().map(Arc::new) }
    }

    /// Sets the flag. It cannot be cleared again.
    pub fn set(&self) {
        if let Some(event_fd) = &self.event_fd {
            // The write could only fail if the counter were full, and the flag would then be set already.
            let _ = event_fd.write(1);
        }
    }

    /// Waits until an input has data, has ended, or cannot be polled. Returns false if the flag is set.
    pub fn wait_for_input(&self, input: &impl AsFd) -> bool {
        let Some(event_fd) = &self.event_fd else { return true };
        let mut fds =
            [PollFd::new(event_fd.as_fd(), PollFlags::POLLIN), PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        while poll(&mut fds, PollTimeout::NONE) == Err(Errno::EINTR) {}
        fds[0].any() != Some(true)
    }
}

/// Reader that reports the end of its input when the flag is set.
#[derive(Debug)]
pub struct StoppableReader<R> {
    input: R,
    stop_flag: StopFlag,
}

impl<R: Read + AsFd> StoppableReader<R> {
    /// Creates a reader that stops when the flag `stop` is set.
    pub fn new(read: R, stop: &StopFlag) -> Self {
        StoppableReader { input: read, stop_flag: stop.clone() }
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
    fn a_blocked_read_ends_when_another_thread_stops_it() {
        let (reader, mut writer) = io::pipe().unwrap();
        let stop = StopFlag::new();
        let mut stoppable = StoppableReader::new(reader, &stop);
        writer.write_all(b"x").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(stoppable.read(&mut buffer).unwrap(), 1);
        std::thread::scope(|scope| {
            scope.spawn(|| stop.set());
            assert_eq!(stoppable.read(&mut buffer).unwrap(), 0);
        });
        writer.write_all(b"y").unwrap();
        assert_eq!(stoppable.read(&mut buffer).unwrap(), 0);
    }
}
