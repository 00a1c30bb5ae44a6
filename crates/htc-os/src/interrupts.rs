//! Postponement of the signals that would end this program while it waits for a command.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::own_process;

/// Receiver of SIGINT, SIGTERM and SIGHUP for this thread: the signals are blocked and read from a
/// descriptor, and unblocked on drop. A signal that the program already ignores, blocks or handles is not
/// included, so a program with its own handler waits until the command has ended.
pub(super) struct InterruptSignals {
    descriptor: SignalFd,
    blocked: SigSet,
}

impl InterruptSignals {
    pub(super) fn new() -> io::Result<Self> {
        let blocked = SigSet::thread_get_mask()?;
        let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
            .into_iter()
            .filter(|&signal| !blocked.contains(signal) && own_process::has_default_action(signal as i32))
            .collect();
        let descriptor = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        signals.thread_block()?;
        Ok(InterruptSignals { descriptor, blocked: signals })
    }

    /// Returns the descriptor that becomes readable when a signal arrives.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Returns a signal that has arrived, or `None`.
    pub(super) fn take_signal(&self) -> Option<Signal> {
        let record = self.descriptor.read_signal().ok().flatten()?;
        Signal::try_from(i32::try_from(record.ssi_signo).ok()?).ok()
    }
}

impl Drop for InterruptSignals {
    fn drop(&mut self) {
        let _ = self.blocked.thread_unblock();
    }
}
