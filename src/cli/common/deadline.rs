//! The end of the time that `--timeout` gives, for work that waits for others: a pipe that nobody writes to, somebody who does not answer.

use std::thread;

use super::{Problem, ProgramContext, Status};
use crate::os::clock;
use crate::time::MonotonicTime;

/// Ends the program at that instant with status 124 and this message, whatever it waits for; never without an instant. It is for work that
/// leaves nothing behind and whose children end with it.
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
