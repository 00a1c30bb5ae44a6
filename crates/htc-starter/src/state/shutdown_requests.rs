//! Requests that a starter has received, and their effects on the end of the job.

use crate::event::{ShadowReason, StarterVacateReason};
use htc_base::time::MonotonicTime;

/// Requests that the starter has received so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShutdownRequests {
    pub(crate) graceful: bool,
    pub(crate) fast: FastKill,
    pub(crate) removal: Option<RemovalKind>,
    pub(crate) hold: HoldRequest,
    /// Reason for which the shadow ends the job, if JOB_EXIT is called with this reason.
    pub(crate) shadow_reason: Option<ShadowReason>,
    /// The last request that ends the job gracefully.
    pub(crate) last_soft_request: LastSoftRequest,
    /// Reason of a vacate request, or `None` if no request gave a reason.
    pub(crate) vacate: Option<StarterVacateReason>,
    /// Time at which a graceful shutdown becomes a fast one.
    pub(crate) graceful_until: Option<MonotonicTime>,
}

/// Request to hold the job; later variants are stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HoldRequest {
    #[default]
    No,
    /// The slot holds the job (WANT_HOLD), which 25.14 does not treat as a request.
    BySlot,
    /// A request holds the job, and JOB_EXIT is called with `hold`.
    ByRequest,
}

/// Request to end the job immediately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FastKill {
    #[default]
    No,
    /// The slot holds the job, and there is no other request.
    ForHold,
    Yes,
}

/// Kind of removal of a job. A job that is requeued ends like a removed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalKind {
    Permanent,
    /// The job is requeued.
    Requeued,
}

/// The last request that ends a job gracefully.
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

    /// Requests an immediate end of the job on behalf of the starter. The reason of an earlier request is kept.
    pub(crate) fn request_fast_end(&mut self) {
        if self.fast == FastKill::No {
            self.fast = FastKill::Yes;
        }
    }

    /// Returns the argument of JOB_EXIT (`getExitReasonString`).
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
