//! Deadline of `--timeout` for operations that wait for others, such as a pipe without a writer or a missing
//! reply.

use std::thread;

use super::{Problem, ProgramContext, Status};
use crate::os::clock;
use crate::time::MonotonicTime;

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
