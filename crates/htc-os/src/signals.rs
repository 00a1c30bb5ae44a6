//! Delivery of signals as bytes in a pipe, which the main loop reads when it is ready. No other module installs permanent
//! signal handlers.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

/// Signals that end a program by default although no one asked it to end: timers, resource limits, power failure. A
/// program that runs jobs handles these signals and shuts down in an orderly way.
pub const ENDING_SIGNALS: [i32; 7] = [
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGXCPU,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
];

/// Blocks SIGXFSZ in this thread and in the threads that it starts, so that writing beyond `ulimit -f` fails with EFBIG
/// instead of ending the program. Children get their own signal mask and do not inherit the block.
pub fn block_file_size_signal() {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGXFSZ);
    // Blocking cannot fail, because the set is valid.
    let _ = mask.thread_block();
}

/// Returns true if SIGPIPE was ignored when this program was started, as it is in children of HTCondor daemons. The
/// current action cannot show this, because the Rust runtime always ignores SIGPIPE.
pub fn sigpipe_was_ignored() -> bool {
    super::own_process::sigpipe_was_ignored()
}

/// Receiver of signals. Each signal is counted, up to about five of the same number between two reads.
pub(super) struct SignalReceiver {
    numbers: Vec<i32>,
    delivery: SignalDelivery<UnixStream, WithRawSiginfo>,
}

impl SignalReceiver {
    /// Installs handlers for the signals with these numbers.
    pub(super) fn new(numbers: &[i32]) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, WithRawSiginfo, numbers)?;
        // The caller may have blocked the signals, as HTCondor does in hooks, and they would never arrive. Unblocking
        // delivers the pending signals.
        let mut mask = SigSet::empty();
        numbers
            .iter()
            .filter_map(|&number| Signal::try_from(number).ok())
            .for_each(|signal| mask.add(signal));
        mask.thread_unblock()?;
        Ok(SignalReceiver { numbers: numbers.to_vec(), delivery })
    }

    /// Returns the descriptor that becomes readable when a signal arrives.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// Returns the signals that have arrived, in the order of the numbers passed to `new`.
    pub(super) fn take_signals(&mut self) -> Vec<ReceivedSignal> {
        let mut received: Vec<ReceivedSignal> = self.delivery.pending().map(ReceivedSignal::new).collect();
        received.sort_by_key(|signal| self.numbers.iter().position(|number| *number == signal.number));
        received
    }
}

/// Signal that this process has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceivedSignal {
    pub(super) number: i32,
    /// Process that sent the signal, or `None` if the kernel sent it, as for Ctrl-C.
    pub(super) sender: Option<i32>,
}

impl ReceivedSignal {
    fn new(info: libc::siginfo_t) -> Self {
        let is_sent = matches!(info.si_code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL);
        // SAFETY: the kernel has filled the record; with these codes it has the pid of the sender.
        let sender = is_sent.then(|| unsafe { info.si_pid() }).filter(|pid| *pid > 0);
        ReceivedSignal { number: info.si_signo, sender }
    }
}
