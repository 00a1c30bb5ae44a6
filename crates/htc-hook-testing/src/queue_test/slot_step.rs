//! Steps of a slot in a queue test, each of which is one hook call.

use crate::CallDirectories;
use htc_classad::ClassAd;

/// Next hook call of a slot in a queue test.
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
    /// Gives up the claim by EVICT_CLAIM, because the slot gets no more jobs.
    Evict {
        job: Box<ClassAd>,
    },
}

/// Slot and step of a call in the pool.
pub(super) struct StepTag {
    pub slot: usize,
    pub step: SlotStep,
    /// True if the test kills the hook before it ends on its own.
    pub is_killed: bool,
    /// Directories for a starter hook, which are removed after the call.
    pub directories: Option<CallDirectories>,
}
