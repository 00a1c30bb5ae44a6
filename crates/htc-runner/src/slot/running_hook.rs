//! State of a running hook.

use std::time::Duration;

use htc_base::time::MonotonicTime;
use htc_slot::{HookRunId, SlotHookType};

/// Interval between reminders that a hook without a time limit is still running.
pub(super) const REMINDER_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of bytes of a hook's standard error that are printed.
pub(super) const MAX_STDERR_SHOWN: usize = 2000;

/// Time limit of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookDeadline {
    /// No limit.
    Unlimited,
    /// The hook is killed at this time.
    Until(MonotonicTime),
    /// The limit was exceeded and the hook was killed.
    Exceeded,
}

/// Hook that is running.
#[derive(Debug)]
pub(super) struct RunningHook {
    pub(super) run: HookRunId,
    pub(super) slot: String,
    pub(super) hook: SlotHookType,
    pub(super) name: &'static str,
    pub(super) pid: u32,
    pub(super) deadline: HookDeadline,
    /// Time of the next message that the hook is still running.
    pub(super) next_reminder: MonotonicTime,
    pub(super) started: MonotonicTime,
    /// Beginning of the hook's standard error.
    pub(super) stderr: Vec<u8>,
}

impl RunningHook {
    /// Returns the time of the next check: the end of the time limit, or the next reminder.
    pub(super) fn next_check(&self) -> MonotonicTime {
        match self.deadline {
            HookDeadline::Until(deadline) => deadline.min(self.next_reminder),
            HookDeadline::Unlimited | HookDeadline::Exceeded => self.next_reminder,
        }
    }

    /// Collects standard error, up to the maximum number of bytes that is printed.
    pub(super) fn collect_stderr(&mut self, bytes: &[u8]) {
        let room = MAX_STDERR_SHOWN.saturating_sub(self.stderr.len());
        self.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
