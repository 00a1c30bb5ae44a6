//! Signals as bytes in a pipe, so that they are read when it suits the loop: the only place that installs handlers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::sys::signal::{SigSet, Signal};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

/// Whether this program was started with SIGPIPE ignored, as daemons of HTCondor start their children. The runtime ignores
/// it in any case.
pub fn sigpipe_was_ignored() -> bool {
    super::child::sigpipe_was_ignored()
}

/// What has come of some signals, each told as often as it came, up to some five between two looks.
pub(super) struct SignalReceiver {
    numbers: Vec<i32>,
    delivery: SignalDelivery<UnixStream, WithRawSiginfo>,
}

impl SignalReceiver {
    /// Installs handlers for these signals.
    pub(super) fn new(numbers: &[i32]) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, WithRawSiginfo, numbers)?;
        // A caller may have blocked them, as HTCondor does in its hooks: then they would never come. Those that came before are
        // delivered now.
        let mut mask = SigSet::empty();
        numbers
            .iter()
            .filter_map(|&number| Signal::try_from(number).ok())
            .for_each(|signal| mask.add(signal));
        mask.thread_unblock()?;
        Ok(SignalReceiver { numbers: numbers.to_vec(), delivery })
    }

    /// What to wait for.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// The signals that have come, in the order they were asked for.
    pub(super) fn take_signals(&mut self) -> Vec<i32> {
        let mut came: Vec<i32> = self.delivery.pending().map(|one| one.si_signo).collect();
        came.sort_by_key(|signal| self.numbers.iter().position(|number| number == signal));
        came
    }
}
