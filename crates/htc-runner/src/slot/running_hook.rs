//! A hook that runs.

use std::time::Duration;

use htc_base::time::Tick;
use htc_slot::{HookRun, SlotHook};

/// A user is told each minute of hooks that are waited for without end.
pub(super) const REMIND: Duration = Duration::from_secs(60);
/// How much of a hook's standard error is told.
pub(super) const STDERR_SHOWN: usize = 2000;

/// How long a hook may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// As long as it wants.
    None,
    /// Up to then.
    Until(Tick),
    /// It ran too long and was killed.
    Passed,
}

/// A hook that runs.
#[derive(Debug)]
pub(super) struct RunningHook {
    pub(super) run: HookRun,
    pub(super) slot: String,
    pub(super) hook: SlotHook,
    pub(super) name: &'static str,
    pub(super) pid: u32,
    pub(super) limit: Limit,
    /// When a user is told next that it still runs.
    pub(super) remind: Tick,
    pub(super) started: Tick,
    /// The beginning of its standard error.
    pub(super) stderr: Vec<u8>,
}

impl RunningHook {
    /// When it has to be looked at next.
    pub(super) fn next_look(&self) -> Tick {
        match self.limit {
            Limit::Until(deadline) => deadline.min(self.remind),
            Limit::None | Limit::Passed => self.remind,
        }
    }

    /// Takes what it complains of, as far as that is told.
    pub(super) fn complains(&mut self, bytes: &[u8]) {
        let room = STDERR_SHOWN.saturating_sub(self.stderr.len());
        self.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
