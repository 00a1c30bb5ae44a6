//! What the machine tells the user, as events of the stream.

use std::fs;
use std::io;
use std::path::Path;

use crate::events::{Event, Kind, exit_words};
use htc_starter::Notice;

/// Whether nobody has told of this yet: the starters of one slot runner tell once between them, by a mark beside their
/// private directories.
pub(super) fn is_news(private: Option<&Path>, subject: &str) -> bool {
    let Some(common) = private.and_then(Path::parent) else { return true };
    let mark = common.join(format!("told-{subject}"));
    let made = fs::OpenOptions::new().write(true).create_new(true).open(mark);
    !made.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
}

/// What is said of a directory that stays the machine's.
pub(super) fn unbound(target: &Path, why: &str) -> String {
    format!("the job sees the machine's own {} (MOUNT_UNDER_SCRATCH): {why}", target.display())
}

/// Fills an event, which has slot, job and time, from a notice; how a job is planned is none.
pub(super) fn event(event: Event, notice: Notice) -> Option<Event> {
    let kind = |kind: Kind| Event { kind, ..event.clone() };
    Some(match notice {
        Notice::Runtime(_) | Notice::Contained(_) | Notice::Missed => return None,
        Notice::Unbound { usual: true, .. } => return None,
        Notice::Unbound { target, why, .. } => kind(Kind::Warning).reason(unbound(&target, why)),
        Notice::HookStarted { hook, pid } => kind(Kind::HookStart).hook(hook).pid(pid),
        Notice::HookEnded { hook, exit } => kind(Kind::HookEnd).hook(hook).exit(exit_words(exit)),
        Notice::HookFailed { hook, reason } => kind(Kind::HookFailed).hook(hook).reason(reason),
        Notice::HookStderr { hook, text } => kind(Kind::HookStderr).hook(hook).reason(text),
        Notice::Verdict { hook, verdict, reason } => {
            kind(Kind::Verdict).hook(hook).verdict(verdict).reason(reason)
        }
        Notice::JobStarted { pid } => kind(Kind::Job).pid(pid).verdict("started"),
        Notice::JobSuspended(true) => kind(Kind::Job).verdict("suspended"),
        Notice::JobSuspended(false) => kind(Kind::Job).verdict("continued"),
        Notice::JobEnded { exit, asked } => {
            let event = kind(Kind::Job).exit(exit_words(exit));
            match asked {
                Some(asked) => event.verdict(asked),
                None => event,
            }
        }
        Notice::NotStarted { reason } => kind(Kind::Job).verdict("not started").reason(reason),
        Notice::Warning(reason) | Notice::Once { reason, .. } => kind(Kind::Warning).reason(reason),
        Notice::Quirk { quirk, reason } => kind(Kind::Warning).reason(format!("{reason}; {}", quirk.told())),
    })
}
