//! Findings about signals that a hook sends to its caller.

use super::call::HookExecution;
use super::case::Case;
use super::finding::{Finding, Rule};

const KILL_ADVICE: &str = "kill the processes that the hook has started by their pids; with set -m each job of a shell has its own group";

/// Reports a signal that the hook sent to its caller, or to its process group, which includes its caller.
pub(super) fn signals_caller_finding(case: &Case, ended: &HookExecution) -> Option<Finding> {
    let caller = case.hook.caller().name();
    let message = match (ended.group_signal, ended.caller_signal) {
        (Some(number), _) => format!(
            "the hook sends signal {number} to its process group (kill 0), which includes the {caller}: this ends the {caller} and its job"
        ),
        (None, Some(number)) => {
            format!(
                "the hook sends signal {number} to its caller, the {caller}: this ends the {caller} and its job"
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
