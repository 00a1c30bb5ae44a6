//! A hook that runs.

use std::time::Duration;

use htc_base::time::MonotonicTime;
use htc_slot::{HookRunId, SlotHookType};

/// A user is told each minute of hooks that are waited for without end.
pub(super) const REMINDER_INTERVAL: Duration = Duration::from_secs(60);
/// How much of a hook's standard error is told.
pub(super) const MAX_STDERR_SHOWN: usize = 2000;

/// How long a hook may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookDeadline {
    /// As long as it wants.
    Unlimited,
    /// Up to then.
    Until(MonotonicTime),
    /// It ran too long and was killed.
    Exceeded,
}

/// A hook that runs.
#[derive(Debug)]
pub(super) struct RunningHook {
    pub(super) run: HookRunId,
    pub(super) slot: String,
    pub(super) hook: SlotHookType,
    pub(super) name: &'static str,
    pub(super) pid: u32,
    pub(super) deadline: HookDeadline,
    /// When a user is told next that it still runs.
    pub(super) next_reminder: MonotonicTime,
    pub(super) started: MonotonicTime,
    /// The beginning of its standard error.
    pub(super) stderr: Vec<u8>,
}

impl RunningHook {
    /// When it has to be looked at next.
    pub(super) fn next_check(&self) -> MonotonicTime {
        match self.deadline {
            HookDeadline::Until(deadline) => deadline.min(self.next_reminder),
            HookDeadline::Unlimited | HookDeadline::Exceeded => self.next_reminder,
        }
    }

    /// Takes what it complains of, as far as that is told.
    pub(super) fn collect_stderr(&mut self, bytes: &[u8]) {
        let room = MAX_STDERR_SHOWN.saturating_sub(self.stderr.len());
        self.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
