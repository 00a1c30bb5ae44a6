//! Relay for a starter's events if the destination is a descriptor that only this program has (`--events fd:N`).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::stat::Mode;

use crate::events::EventStream;
use htc_os::{Interest, Reactor, WatchToken};

/// Maximum length of a line in bytes; a longer line is passed on in parts.
const MAX_LINE_LENGTH: usize = 1 << 20;

/// FIFO in the private directory of a starter, from which this program reads the starter's events.
#[derive(Debug)]
pub(super) struct EventRelay {
    path: PathBuf,
    file: File,
    token: WatchToken,
    /// The beginning of a line whose end has not been received.
    partial_line: Vec<u8>,
}

impl EventRelay {
    /// Creates the FIFO. It is opened for reading before the starter runs. It is also opened for writing, so that it
    /// never reports an end of file.
    pub(super) fn open(directory: &Path, reactor: &mut Reactor) -> io::Result<Self> {
        let path = directory.join("events");
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?;
        let mut options = File::options();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&path)?;
        let token = reactor.watch(file.as_fd(), Interest::Read)?;
        Ok(EventRelay { path, file, token, partial_line: Vec::new() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn token(&self) -> WatchToken {
        self.token
    }

    /// Passes on the complete lines that have been received.
    pub(super) fn relay_lines(&mut self, events: &mut EventStream) {
        let mut piece = [0; 16 * 1024];
        while let Ok(count) = (&self.file).read(&mut piece)
            && count > 0
        {
            self.partial_line.extend_from_slice(&piece[..count]);
            let end = match memchr::memrchr(b'\n', &self.partial_line) {
                Some(end) => end + 1,
                None if self.partial_line.len() > MAX_LINE_LENGTH => self.partial_line.len(),
                None => continue,
            };
            let rest = self.partial_line.split_off(end);
            for line in std::mem::replace(&mut self.partial_line, rest).split_inclusive(|byte| *byte == b'\n')
            {
                events.relay_json_lines(line.to_vec());
            }
        }
    }

    /// Closes the FIFO; data that was not passed on is lost.
    pub(super) fn close(self, reactor: &mut Reactor) {
        reactor.unwatch(self.token);
    }
}
