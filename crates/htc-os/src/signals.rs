//! Delivery of signals as bytes in a pipe, so that the main loop reads them when it is ready. Only this
//! module installs permanent handlers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

/// Signals that end a program by default without being a request to do so: timers, limits, power. A program that runs
/// jobs receives them, and ends as if it had been asked to.
pub const ENDING_SIGNALS: [i32; 7] = [
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGXCPU,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
];

/// Blocks SIGXFSZ in this thread and those that it starts, so that a write beyond `ulimit -f` fails with EFBIG instead of
/// ending the program. Children start with a signal mask of their own.
pub fn block_file_size_signal() {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGXFSZ);
    // This cannot fail: the set is valid.
    let _ = mask.thread_block();
}

/// Returns true if this program was started with SIGPIPE ignored, as HTCondor daemons start their children.
/// The Rust runtime always ignores it.
pub fn sigpipe_was_ignored() -> bool {
    super::own_process::sigpipe_was_ignored()
}

/// Receiver of signals. Each occurrence is reported, up to about five between two reads.
pub(super) struct SignalReceiver {
    numbers: Vec<i32>,
    delivery: SignalDelivery<UnixStream, WithRawSiginfo>,
}

impl SignalReceiver {
    /// Installs handlers for these signals.
    pub(super) fn new(numbers: &[i32]) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, WithRawSiginfo, numbers)?;
        // A caller may have blocked these signals, as HTCondor does in its hooks; they would then never
        // arrive. Pending ones are delivered now.
        let mut mask = SigSet::empty();
        numbers
            .iter()
            .filter_map(|&number| Signal::try_from(number).ok())
            .for_each(|signal| mask.add(signal));
        mask.thread_unblock()?;
        Ok(SignalReceiver { numbers: numbers.to_vec(), delivery })
    }

    /// Returns the descriptor to wait for.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// Returns the signals that have arrived, in the order in which they were requested.
    pub(super) fn take_signals(&mut self) -> Vec<i32> {
        let mut came: Vec<i32> = self.delivery.pending().map(|one| one.si_signo).collect();
        came.sort_by_key(|signal| self.numbers.iter().position(|number| number == signal));
        came
    }
}
