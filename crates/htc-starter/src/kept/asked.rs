//! What has been asked of the starter so far, and what that means for the end of the job.

use crate::event::{ShadowReason, Vacate};
use htc_base::time::Tick;

/// What has been asked for so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) graceful: bool,
    pub(crate) fast: Fast,
    pub(crate) removal: Option<Removal>,
    pub(crate) hold: Hold,
    /// What the shadow ends the job for, where JOB_EXIT is called with it.
    pub(crate) for_shadow: Option<ShadowReason>,
    /// Which of those that end the job softly came last.
    pub(crate) last: LastRequest,
    /// Why, if somebody has said it.
    pub(crate) vacate: Option<Vacate>,
    /// How long a soft end is waited for.
    pub(crate) graceful_until: Option<Tick>,
}

/// Whether the job is held; the later is the stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    #[default]
    No,
    /// By the slot (WANT_HOLD), which counts as no request in 25.14.
    Unnoticed,
    /// By whoever asked for it, of which JOB_EXIT is told.
    Told,
}

/// Whether the job is ended at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fast {
    #[default]
    No,
    /// Because the slot holds it, and for nothing else.
    ForHold,
    Yes,
}

/// Whether a job that is ended as one that is removed is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    ForGood,
    /// It goes back into its queue.
    Requeued,
}

/// Which of the requests that end a job softly came last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastRequest {
    #[default]
    Graceful,
    Remove,
    Hold,
}

impl Asked {
    pub(crate) fn any(&self) -> bool {
        self.graceful || self.is_fast() || self.removal.is_some() || self.hold != Hold::No
    }

    pub(crate) fn is_fast(&self) -> bool {
        self.fast != Fast::No
    }

    /// The starter itself ends the job at once; whoever wanted that before keeps his reason.
    pub(crate) fn end_fast(&mut self) {
        if self.fast == Fast::No {
            self.fast = Fast::Yes;
        }
    }

    /// The argument of JOB_EXIT (`getExitReasonString`).
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Asked { hold: Hold::Told, .. } | Asked { for_shadow: Some(ShadowReason::Hold), .. } => "hold",
            Asked { removal: Some(Removal::ForGood), .. }
            | Asked { for_shadow: Some(ShadowReason::Remove), .. } => "remove",
            Asked { graceful: true, .. } | Asked { fast: Fast::Yes, .. } => "evict",
            _ => "exit",
        }
    }
}
