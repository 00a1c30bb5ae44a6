//! Deadline of `--timeout` for operations that wait for other processes, for example a read from a pipe without a writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Problem, ProgramContext, Status};
use crate::os::clock;
use crate::time::MonotonicTime;

/// Shortest time between two checks of an [`InputWatch`].
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// True once [`terminate_at_deadline`] has asked this process to end.
static HAS_TIMED_OUT: AtomicBool = AtomicBool::new(false);

/// Sends SIGTERM to this process after the time `after`, so that it ends as if a user had sent the signal.
/// [`has_timed_out`] then returns true.
pub(crate) fn terminate_at_deadline(after: Duration, session: &ProgramContext) {
    let wait_and_terminate = move || {
        thread::sleep(after);
        HAS_TIMED_OUT.store(true, Ordering::SeqCst);
        // A process is always permitted to send itself a signal.
        let _ = kill(Pid::this(), Signal::SIGTERM);
    };
    if thread::Builder::new().spawn(wait_and_terminate).is_err() {
        session.warn("--timeout: no thread can be created, so the time is not limited");
    }
}

/// Returns true if `--timeout` has expired, so that this process was asked to end.
pub(crate) fn has_timed_out() -> bool {
    HAS_TIMED_OUT.load(Ordering::SeqCst)
}

/// Ends the program at the time `deadline` with status 124 and a message, even if a thread is blocked; does nothing for
/// `None`. Use it only for operations that leave nothing behind and whose children end with the program.
pub(crate) fn exit_at_deadline(
    deadline: Option<MonotonicTime>,
    session: &ProgramContext,
    message: &'static str,
) {
    let Some(deadline) = deadline else { return };
    let reporter = session.clone();
    let wait_and_exit = move || {
        thread::sleep(deadline.since(clock::monotonic_now()));
        reporter.report(&Problem::new(Status::TimedOut, message).into());
        #[allow(clippy::exit, reason = "cannot notify the waiting thread")]
        std::process::exit(i32::from(Status::TimedOut.code()))
    };
    if thread::Builder::new().spawn(wait_and_exit).is_err() {
        session.warn("--timeout: no thread can be created, so the time is not limited");
    }
}

/// Limit of the time for which the program waits for input. The time between two reads is not limited.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputWatch {
    /// Start of the current wait in microseconds of the monotonic clock, or 0 if the program does not wait.
    waiting_since: Arc<AtomicU64>,
    /// Sender without messages: when the last copy of the watch drops it, the thread ends.
    _thread: Option<Arc<Sender<()>>>,
}

impl InputWatch {
    /// Starts the watch, which ends the program with status 124 after a wait of `limit`; for `None` there is no limit.
    pub(crate) fn start(limit: Option<Duration>, session: &ProgramContext) -> Self {
        let mut watch = InputWatch::default();
        let Some(limit) = limit else { return watch };
        let (sender, receiver) = channel();
        let (waiting_since, reporter) = (Arc::clone(&watch.waiting_since), session.clone());
        let check_waits = move || {
            let interval = (limit / 10).max(MIN_CHECK_INTERVAL);
            while receiver.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let since = waiting_since.load(Ordering::SeqCst);
                let waited = clock::now().monotonic_us.saturating_sub(since);
                if since > 0 && u128::from(waited) >= limit.as_micros() {
                    let problem = "the time limit (--timeout) expired before all input was read";
                    reporter.report(&Problem::new(Status::TimedOut, problem).into());
                    #[allow(clippy::exit, reason = "a blocked read of another thread cannot be interrupted")]
                    std::process::exit(i32::from(Status::TimedOut.code()))
                }
            }
        };
        if thread::Builder::new().spawn(check_waits).is_err() {
            session.warn("--timeout: no thread can be created, so the wait for input is not limited");
        }
        watch._thread = Some(Arc::new(sender));
        watch
    }

    /// Runs the function `read`. Its duration is treated as time spent waiting for input.
    pub(crate) fn wait_for<T>(&self, read: impl FnOnce() -> T) -> T {
        self.waiting_since.store(clock::now().monotonic_us.max(1), Ordering::SeqCst);
        let result = read();
        self.waiting_since.store(0, Ordering::SeqCst);
        result
    }
}
