//! How it stands with a slot's asking for work.

use super::alarm::Alarm;
use crate::events::HookRunId;
use htc_base::time::ClockReading;

/// How it stands with a slot's asking for work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum FetchState {
    /// It does not ask, and no timer runs.
    #[default]
    Inactive,
    /// It asks when the timer has run out.
    Waiting(Alarm),
    /// FETCH_WORK runs.
    Running(HookRunId),
    /// A call that is counted only is under way, since then.
    Skipped(ClockReading),
}

impl FetchState {
    /// The timer of the next call.
    pub(crate) fn next_call_alarm(self) -> Option<Alarm> {
        match self {
            FetchState::Waiting(alarm) => Some(alarm),
            FetchState::Inactive | FetchState::Running(_) | FetchState::Skipped(_) => None,
        }
    }

    /// The call that runs.
    pub(crate) fn running_call(self) -> Option<HookRunId> {
        match self {
            FetchState::Running(run) => Some(run),
            FetchState::Inactive | FetchState::Waiting(_) | FetchState::Skipped(_) => None,
        }
    }

    /// Since when a call is under way that is counted only.
    pub(crate) fn skipped_call_start(self) -> Option<ClockReading> {
        match self {
            FetchState::Skipped(since) => Some(since),
            FetchState::Inactive | FetchState::Waiting(_) | FetchState::Running(_) => None,
        }
    }

    /// The same; it is under way no longer.
    pub(crate) fn take_skipped_call(&mut self) -> Option<ClockReading> {
        let since = self.skipped_call_start();
        if since.is_some() {
            *self = FetchState::Inactive;
        }
        since
    }
}
