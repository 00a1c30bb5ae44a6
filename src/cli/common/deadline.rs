//! Deadline of `--timeout` for operations that wait for others, such as a pipe without a writer or a missing
//! reply.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Problem, ProgramContext, Status};
use crate::os::clock;
use crate::time::MonotonicTime;

/// True once [`terminate_at_deadline`] has asked this process to end.
static TIME_IS_OVER: AtomicBool = AtomicBool::new(false);

/// Sends SIGTERM to this process after that time, so that it ends as on request. The outcome is then [`time_is_over`].
pub(crate) fn terminate_at_deadline(after: Duration, session: &ProgramContext) {
    let waits = move || {
        thread::sleep(after);
        TIME_IS_OVER.store(true, Ordering::SeqCst);
        // A process may always send itself a signal.
        let _ = kill(Pid::this(), Signal::SIGTERM);
    };
    if thread::Builder::new().spawn(waits).is_err() {
        session.warn("--timeout: no thread can be created, so the time is not limited");
    }
}

/// Returns true if the time given with `--timeout` has ended this program.
pub(crate) fn time_is_over() -> bool {
    TIME_IS_OVER.load(Ordering::SeqCst)
}

/// Ends the program at that time with status 124 and this message, whatever it is waiting for; does nothing
/// for `None`. Only for operations that leave nothing behind and whose children end with the program.
pub(crate) fn exit_at_deadline(
    until: Option<MonotonicTime>,
    session: &ProgramContext,
    message: &'static str,
) {
    let Some(until) = until else { return };
    let teller = session.clone();
    let waits = move || {
        thread::sleep(until.since(clock::monotonic_now()));
        teller.report(&Problem::new(Status::TimedOut, message).into());
        #[allow(clippy::exit, reason = "the thread that waits cannot be told")]
        std::process::exit(i32::from(Status::TimedOut.code()))
    };
    if thread::Builder::new().spawn(waits).is_err() {
        session.warn("--timeout: no thread can be made, so that nothing ends by it");
    }
}
