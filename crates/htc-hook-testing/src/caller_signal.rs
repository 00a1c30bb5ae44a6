//! Signals that a hook sends to its caller.

use super::call::HookExecution;
use super::case::Case;
use super::finding::{Finding, Rule};
use htc_os::{Reactor, process_table};

const KILL_ADVICE: &str = "kill the processes that the hook has started by their pids; with set -m each job of a shell has its own group";

/// Returns true if a process that this program started, or a descendant of one, sent the last signal with this number.
/// A sender that has ended is not such a process, so that a user can always end this program.
///
/// `hook` is the pid of a hook that may have ended in the meantime, or `None`.
pub(super) fn is_sent_by_hook(number: i32, hook: Option<i32>, reactor: &Reactor) -> bool {
    let Some(sender) = reactor.signal_sender(number) else { return false };
    if hook == Some(sender) {
        return true;
    }
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    sender != own && is_in_family(own, Some(sender))
}

/// Returns true if a process is the process `root` or one of its descendants.
pub(super) fn is_in_family(root: i32, process: Option<i32>) -> bool {
    process.is_some_and(|pid| {
        pid == root || process_table::descendants(root).iter().any(|descendant| descendant.pid == pid)
    })
}

/// Reports a signal that the hook sent to its caller, or to its process group, which includes its caller.
pub(super) fn signals_caller_finding(case: &Case, ended: &HookExecution) -> Option<Finding> {
    let who = case.hook.caller().name();
    let message = match (ended.group_signal, ended.caller_signal) {
        (Some(number), _) => format!(
            "the hook sends signal {number} to its process group (kill 0), which includes the {who}: this ends the {who} and its job"
        ),
        (None, Some(number)) => {
            format!(
                "the hook sends signal {number} to its caller, the {who}: this ends the {who} and its job"
            )
        }
        (None, None) => return None,
    };
    Some(Finding::new(Rule::SignalsCaller, message, KILL_ADVICE))
}

/// Reports a signal that a cron job sent to its caller.
pub(super) fn cron_signals_caller_finding(number: i32) -> Finding {
    let message =
        format!("the program sends signal {number} to its caller, the daemon, and this ends the daemon");
    Finding::new(Rule::SignalsCaller, message, KILL_ADVICE)
}
