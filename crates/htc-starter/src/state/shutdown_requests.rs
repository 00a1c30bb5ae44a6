//! What has been asked of the starter so far, and what that means for the end of the job.

use crate::event::{ShadowReason, StarterVacateReason};
use htc_base::time::MonotonicTime;

/// What has been asked for so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShutdownRequests {
    pub(crate) graceful: bool,
    pub(crate) fast: FastKill,
    pub(crate) removal: Option<RemovalKind>,
    pub(crate) hold: HoldRequest,
    /// What the shadow ends the job for, where JOB_EXIT is called with it.
    pub(crate) shadow_reason: Option<ShadowReason>,
    /// Which of those that end the job softly came last.
    pub(crate) last_soft_request: LastSoftRequest,
    /// Why, if somebody has said it.
    pub(crate) vacate: Option<StarterVacateReason>,
    /// How long a soft end is waited for.
    pub(crate) graceful_until: Option<MonotonicTime>,
}

/// Whether the job is held; the later is the stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HoldRequest {
    #[default]
    No,
    /// By the slot (WANT_HOLD), which counts as no request in 25.14.
    BySlot,
    /// By whoever asked for it, of which JOB_EXIT is told.
    ByRequest,
}

/// Whether the job is ended at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FastKill {
    #[default]
    No,
    /// Because the slot holds it, and for nothing else.
    ForHold,
    Yes,
}

/// Whether a job that is ended as one that is removed is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalKind {
    Permanent,
    /// It goes back into its queue.
    Requeued,
}

/// Which of the requests that end a job softly came last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastSoftRequest {
    #[default]
    Graceful,
    Remove,
    Hold,
}

impl ShutdownRequests {
    pub(crate) fn has_any(&self) -> bool {
        self.graceful || self.is_fast() || self.removal.is_some() || self.hold != HoldRequest::No
    }

    pub(crate) fn is_fast(&self) -> bool {
        self.fast != FastKill::No
    }

    /// The starter itself ends the job at once; whoever wanted that before keeps his reason.
    pub(crate) fn request_fast_end(&mut self) {
        if self.fast == FastKill::No {
            self.fast = FastKill::Yes;
        }
    }

    /// The argument of JOB_EXIT (`getExitReasonString`).
    pub(crate) fn exit_hook_argument(&self) -> &'static str {
        match self {
            ShutdownRequests { hold: HoldRequest::ByRequest, .. }
            | ShutdownRequests { shadow_reason: Some(ShadowReason::Hold), .. } => "hold",
            ShutdownRequests { removal: Some(RemovalKind::Permanent), .. }
            | ShutdownRequests { shadow_reason: Some(ShadowReason::Remove), .. } => "remove",
            ShutdownRequests { graceful: true, .. } | ShutdownRequests { fast: FastKill::Yes, .. } => "evict",
            _ => "exit",
        }
    }
}
