//! How it stands with a slot's asking for work.

use super::alarm::Alarm;
use crate::interface::HookRun;
use htc_base::time::Now;

/// How it stands with a slot's asking for work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Fetching {
    /// It does not ask, and no timer runs.
    #[default]
    No,
    /// It asks when the timer has run out.
    Waits(Alarm),
    /// FETCH_WORK runs.
    Runs(HookRun),
    /// A call that is counted only is under way, since then.
    Counted(Now),
}

impl Fetching {
    /// The timer of the next call.
    pub(crate) fn alarm(self) -> Option<Alarm> {
        match self {
            Fetching::Waits(alarm) => Some(alarm),
            Fetching::No | Fetching::Runs(_) | Fetching::Counted(_) => None,
        }
    }

    /// The call that runs.
    pub(crate) fn run(self) -> Option<HookRun> {
        match self {
            Fetching::Runs(run) => Some(run),
            Fetching::No | Fetching::Waits(_) | Fetching::Counted(_) => None,
        }
    }

    /// Since when a call is under way that is counted only.
    pub(crate) fn counted(self) -> Option<Now> {
        match self {
            Fetching::Counted(since) => Some(since),
            Fetching::No | Fetching::Waits(_) | Fetching::Runs(_) => None,
        }
    }

    /// The same; it is under way no longer.
    pub(crate) fn take_counted(&mut self) -> Option<Now> {
        let since = self.counted();
        if since.is_some() {
            *self = Fetching::No;
        }
        since
    }
}
