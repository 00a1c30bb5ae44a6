//! Fetch state of a slot.

use super::alarm::Alarm;
use crate::events::HookRunId;
use htc_base::time::ClockReading;

/// Fetch state of a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum FetchState {
    /// No call runs and no timer is set.
    #[default]
    Inactive,
    /// The timer is set: FETCH_WORK is called when it expires.
    Waiting(Alarm),
    /// The hook FETCH_WORK runs.
    Running(HookRunId),
    /// A call that is not made, only counted, has been in progress since this time.
    Skipped(ClockReading),
}

impl FetchState {
    /// Returns the timer of the next call, or `None` if no timer is set.
    pub(crate) fn next_call_alarm(self) -> Option<Alarm> {
        match self {
            FetchState::Waiting(alarm) => Some(alarm),
            FetchState::Inactive | FetchState::Running(_) | FetchState::Skipped(_) => None,
        }
    }

    /// Returns the call in progress, or `None` if the hook does not run.
    pub(crate) fn running_call(self) -> Option<HookRunId> {
        match self {
            FetchState::Running(run) => Some(run),
            FetchState::Inactive | FetchState::Waiting(_) | FetchState::Skipped(_) => None,
        }
    }

    /// Returns the start time of a counted call in progress, or `None`.
    pub(crate) fn skipped_call_start(self) -> Option<ClockReading> {
        match self {
            FetchState::Skipped(since) => Some(since),
            FetchState::Inactive | FetchState::Waiting(_) | FetchState::Running(_) => None,
        }
    }

    /// Ends a counted call in progress and returns its start time, or `None` if there is no such call.
    pub(crate) fn take_skipped_call(&mut self) -> Option<ClockReading> {
        let since = self.skipped_call_start();
        if since.is_some() {
            *self = FetchState::Inactive;
        }
        since
    }
}
