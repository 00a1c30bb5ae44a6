//! Conversion of the state machine's notices to events of the event stream.

use std::fs;
use std::io;
use std::path::Path;

use crate::events::{NOT_STARTED, RunnerEvent, RunnerEventKind, describe_exit};
use htc_starter::StarterNotice;

/// Returns true if no starter of the slot runner has reported the subject yet. The starters share one marker file per
/// subject next to their private directories.
pub(super) fn is_first_report(private: Option<&Path>, subject: &str) -> bool {
    let Some(common) = private.and_then(Path::parent) else { return true };
    let mark = common.join(format!("told-{subject}"));
    let made = fs::OpenOptions::new().write(true).create_new(true).open(mark);
    !made.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
}

/// Returns the warning about a directory of MOUNT_UNDER_SCRATCH over which nothing could be mounted.
pub(super) fn unbound_directory_warning(target: &Path, why: &str) -> String {
    format!("the job sees the machine's own {} (MOUNT_UNDER_SCRATCH): {why}", target.display())
}

/// Completes an event from a notice; `event` has the slot, job and time. Returns `None` for notices that are not
/// reported.
pub(super) fn notice_to_event(event: RunnerEvent, notice: StarterNotice) -> Option<RunnerEvent> {
    let kind = |kind: RunnerEventKind| RunnerEvent { kind, ..event.clone() };
    Some(match notice {
        StarterNotice::RuntimeChosen(_)
        | StarterNotice::ContainerPlanned(_)
        | StarterNotice::DeferralMissed => return None,
        StarterNotice::NotMounted { is_default: true, .. } => return None,
        StarterNotice::NotMounted { target, why, .. } => {
            kind(RunnerEventKind::Warning).reason(unbound_directory_warning(&target, why))
        }
        StarterNotice::HookStarted { hook, pid } => {
            kind(RunnerEventKind::HookStart).hook(hook.name()).pid(pid)
        }
        StarterNotice::HookEnded { hook, exit } => {
            kind(RunnerEventKind::HookEnd).hook(hook.name()).exit(describe_exit(exit))
        }
        StarterNotice::HookFailed { hook, reason } => {
            kind(RunnerEventKind::HookFailed).hook(hook.name()).reason(reason)
        }
        StarterNotice::HookStderr { hook, text } => {
            kind(RunnerEventKind::HookStderr).hook(hook.name()).reason(text)
        }
        StarterNotice::Verdict { hook, verdict, reason } => {
            kind(RunnerEventKind::Verdict).hook(hook.name()).verdict(verdict).reason(reason)
        }
        StarterNotice::JobStarted { pid } => kind(RunnerEventKind::Job).pid(pid).verdict("started"),
        StarterNotice::JobSuspended(true) => kind(RunnerEventKind::Job).verdict("suspended"),
        StarterNotice::JobSuspended(false) => kind(RunnerEventKind::Job).verdict("continued"),
        StarterNotice::JobEnded { exit, requested: asked } => {
            let event = kind(RunnerEventKind::Job).exit(describe_exit(exit));
            match asked {
                Some(asked) => event.verdict(asked),
                None => event,
            }
        }
        StarterNotice::NotStarted { reason } => {
            kind(RunnerEventKind::Job).verdict(NOT_STARTED).reason(reason)
        }
        StarterNotice::Warning(reason) | StarterNotice::WarningOnce { reason, .. } => {
            kind(RunnerEventKind::Warning).reason(reason)
        }
        StarterNotice::Quirk { quirk, reason } => {
            kind(RunnerEventKind::Warning).reason(format!("{reason}; {}", quirk.description()))
        }
    })
}
