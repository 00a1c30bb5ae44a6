//! What has been asked of the starter so far, and what that means for the end of the job.

use super::event::Vacate;
use crate::quirks::{Quirk, Quirks};
use crate::time::Tick;

/// What has been asked for so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) graceful: bool,
    pub(super) fast: Fast,
    pub(super) remove: bool,
    /// It is ended so, and goes back into its queue.
    pub(super) requeue: bool,
    pub(super) hold: bool,
    /// The slot holds the job (WANT_HOLD).
    pub(super) held_by_slot: bool,
    /// Which of those that end the job softly came last.
    pub(super) last: LastRequest,
    /// Why, if somebody has said it.
    pub(super) vacate: Option<Vacate>,
    /// How long a soft end is waited for.
    pub(super) graceful_until: Option<Tick>,
}

/// Whether the job is ended at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fast {
    #[default]
    No,
    /// Because the slot holds it, and for nothing else.
    ForHold,
    Yes,
}

/// Which of the requests that end a job softly came last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastRequest {
    #[default]
    Graceful,
    Remove,
    Hold,
}

impl Asked {
    pub(super) fn any(&self) -> bool {
        self.graceful || self.is_fast() || self.remove || self.hold || self.held_by_slot
    }

    pub(super) fn is_fast(&self) -> bool {
        self.fast != Fast::No
    }

    /// The starter itself ends the job at once; whoever wanted that before keeps his reason.
    pub(super) fn end_fast(&mut self) {
        if self.fast == Fast::No {
            self.fast = Fast::Yes;
        }
    }

    /// The argument of JOB_EXIT (`getExitReasonString`). A hold by the slot counts as no request in 25.14 (quirk
    /// `slot-hold-unnoticed`).
    pub(super) fn word(&self, quirks: Quirks) -> &'static str {
        let unnoticed = quirks.has(Quirk::SlotHoldUnnoticed);
        match self {
            Asked { hold: true, .. } => "hold",
            Asked { held_by_slot: true, .. } if !unnoticed => "hold",
            Asked { remove: true, requeue: false, .. } => "remove",
            Asked { graceful: true, .. } | Asked { fast: Fast::Yes, .. } => "evict",
            _ => "exit",
        }
    }
}
