//! One call of a hook of a queue.

use crate::CallDirectories;
use htc_classad::ClassAd;

/// What is to be called next, and for which slot.
pub(super) enum SlotStep {
    Fetch,
    Reply {
        job: Box<ClassAd>,
        id: String,
        accept: bool,
    },
    Exit {
        job: Box<ClassAd>,
        id: String,
        word: &'static str,
    },
    /// The claim is given up: there is no more work for it.
    Evict {
        job: Box<ClassAd>,
    },
}

/// A call of a step: whose, and whether it is to be killed.
pub(super) struct StepTag {
    pub slot: usize,
    pub step: SlotStep,
    /// It is killed if it has not ended by then.
    pub is_killed: bool,
    /// The directories of a hook of the starter; they go with the call.
    pub directories: Option<CallDirectories>,
}
