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
pub struct Enough {
    /// Without a descriptor reads wait as they always do.
    said: Option<Arc<EventFd>>,
}

impl Default for Enough {
    fn default() -> Self {
        Enough::new()
    }
}

impl Enough {
    /// Nothing has been said yet.
    pub fn new() -> Self {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Enough { said: EventFd::from_flags(flags).ok().map(Arc::new) }
    }

    /// Says it, for good.
    pub fn say(&self) {
        if let Some(said) = &self.said {
            // It cannot be full: nobody counts so far.
            let _ = said.write(1);
        }
    }

    /// Waits until an input has more or has ended, or cannot be waited for; false once enough has been said.
    pub fn goes_on(&self, input: &impl AsFd) -> bool {
        let Some(said) = &self.said else { return true };
        let mut fds =
            [PollFd::new(said.as_fd(), PollFlags::POLLIN), PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        while poll(&mut fds, PollTimeout::NONE) == Err(Errno::EINTR) {}
        fds[0].any() != Some(true)
    }
}

/// An input that ends where enough has been said.
#[derive(Debug)]
pub struct Until<R> {
    read: R,
    enough: Enough,
}

impl<R: Read + AsFd> Until<R> {
    /// As long as nobody says it.
    pub fn new(read: R, enough: &Enough) -> Self {
        Until { read, enough: enough.clone() }
    }
}

impl<R: Read + AsFd> Read for Until<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.enough.goes_on(&self.read) { self.read.read(buffer) } else { Ok(0) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_read_that_waits_ends_when_another_thread_has_enough() {
        let (reader, mut writer) = io::pipe().unwrap();
        let enough = Enough::new();
        let mut until = Until::new(reader, &enough);
        writer.write_all(b"x").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(until.read(&mut buffer).unwrap(), 1);
        std::thread::scope(|scope| {
            scope.spawn(|| enough.say());
            assert_eq!(until.read(&mut buffer).unwrap(), 0);
        });
        writer.write_all(b"y").unwrap();
        assert_eq!(until.read(&mut buffer).unwrap(), 0);
    }
}
