//! Senders of the signals that this program receives.

use htc_os::{Reactor, process_table};

/// Returns true if a process that this program started, or a descendant of one, sent the last signal with this number.
/// A sender that has ended is not such a process, so that a user can always end this program.
///
/// `hook` is the pid of a hook that may have ended in the meantime, or `None`.
pub(super) fn is_sent_by_hook(number: i32, hook: Option<i32>, reactor: &Reactor) -> bool {
    let Some(sender) = reactor.signal_sender(number) else { return false };
    if hook == Some(sender) {
        return true;
    }
    let own_pid = i32::try_from(std::process::id()).unwrap_or_default();
    sender != own_pid && is_in_family(own_pid, Some(sender))
}

/// Returns true if a process is the process `root` or one of its descendants.
pub(super) fn is_in_family(root: i32, process: Option<i32>) -> bool {
    process.is_some_and(|pid| {
        pid == root || process_table::descendants(root).iter().any(|descendant| descendant.pid == pid)
    })
}
