//! Signals as bytes in pipes, so that they are read when it suits the loop: the only place that installs handlers.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::sys::signal::{SigSet, Signal};
use signal_hook::SigId;
use signal_hook::low_level::{pipe, unregister};

/// Whether this program was started with SIGPIPE ignored, as daemons of HTCondor start their children. The runtime ignores
/// it in any case.
pub fn sigpipe_was_ignored() -> bool {
    super::child::sigpipe_was_ignored()
}

/// One pipe a signal, so that no delivery is taken for another.
pub(super) struct Signals {
    watched: Vec<Watched>,
}

struct Watched {
    number: i32,
    read: UnixStream,
    id: SigId,
}

impl Signals {
    /// Installs handlers for these signals.
    pub(super) fn new(numbers: &[i32]) -> io::Result<Self> {
        let mut signals = Signals { watched: Vec::new() };
        for &number in numbers {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            let id = pipe::register(number, write)?;
            signals.watched.push(Watched { number, read, id });
        }
        // A caller may have blocked them, as HTCondor does in its hooks: then they would never come. Those that came before are
        // delivered now.
        let mut mask = SigSet::empty();
        numbers
            .iter()
            .filter_map(|&number| Signal::try_from(number).ok())
            .for_each(|signal| mask.add(signal));
        mask.thread_unblock()?;
        Ok(signals)
    }

    /// What to wait for.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.watched.iter().map(|watched| watched.read.as_fd())
    }

    /// The signals that have come, each as often as it came. `ready` says of each descriptor whether it is worth a look.
    pub(super) fn take(&mut self, ready: &[bool]) -> Vec<i32> {
        let mut came = Vec::new();
        let watched = self.watched.iter_mut().zip(ready).filter(|(_, ready)| **ready);
        for (watched, _) in watched {
            let mut buffer = [0; 64];
            loop {
                match watched.read.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => came.extend(std::iter::repeat_n(watched.number, count)),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        }
        came
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for watched in &self.watched {
            unregister(watched.id);
        }
    }
}
