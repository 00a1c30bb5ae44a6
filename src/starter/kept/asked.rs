//! What has been asked of the starter so far, and what that means for the end of the job.

use crate::quirks::{Quirk, Quirks};
use crate::starter::event::Vacate;
use crate::time::Tick;

/// What has been asked for so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) graceful: bool,
    pub(crate) fast: Fast,
    pub(crate) removal: Option<Removal>,
    pub(crate) hold: bool,
    /// The slot holds the job (WANT_HOLD).
    pub(crate) held_by_slot: bool,
    /// Which of those that end the job softly came last.
    pub(crate) last: LastRequest,
    /// Why, if somebody has said it.
    pub(crate) vacate: Option<Vacate>,
    /// How long a soft end is waited for.
    pub(crate) graceful_until: Option<Tick>,
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
        self.graceful || self.is_fast() || self.removal.is_some() || self.hold || self.held_by_slot
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

    /// The argument of JOB_EXIT (`getExitReasonString`). A hold by the slot counts as no request in 25.14 (quirk
    /// `slot-hold-unnoticed`).
    pub(crate) fn word(&self, quirks: Quirks) -> &'static str {
        let unnoticed = quirks.has(Quirk::SlotHoldUnnoticed);
        match self {
            Asked { hold: true, .. } => "hold",
            Asked { held_by_slot: true, .. } if !unnoticed => "hold",
            Asked { removal: Some(Removal::ForGood), .. } => "remove",
            Asked { graceful: true, .. } | Asked { fast: Fast::Yes, .. } => "evict",
            _ => "exit",
        }
    }
}
