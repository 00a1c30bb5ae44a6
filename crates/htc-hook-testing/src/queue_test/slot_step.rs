//! One hook call of a slot.

use crate::CallDirectories;
use htc_classad::ClassAd;

/// Next hook call of a slot.
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
    /// Gives up the claim, because there is no more work for it.
    Evict {
        job: Box<ClassAd>,
    },
}

/// Call of a step, with its slot.
pub(super) struct StepTag {
    pub slot: usize,
    pub step: SlotStep,
    /// True if the call is killed before it ends by itself.
    pub is_killed: bool,
    /// Directories of a starter hook; they are removed after the call.
    pub directories: Option<CallDirectories>,
}
