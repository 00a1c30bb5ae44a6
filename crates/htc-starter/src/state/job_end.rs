//! What the ending needs to know.

use super::phase::EndStep;
use htc_base::time::ClockReading;
use htc_classad::ClassAd;

/// What the ending needs to know.
#[derive(Debug, Default)]
pub(crate) struct JobEnd {
    /// The status of the program.
    pub status: u8,
    /// 25.14 ends by an exception.
    pub ended_by_exception: bool,
    /// JOB_EXIT has been called, or is not to be.
    pub exit_hook_done: bool,
    /// What JOB_EXIT reads: made once and kept for later tries.
    pub exit_ad: Option<ClassAd>,
    /// There is a scratch directory to remove, or a part of one.
    pub scratch_made: bool,
    /// When the job missed the time at which it was to start.
    pub missed_deferral: Option<ClockReading>,
    /// How often the step that is under way has failed.
    pub retries: StepRetries,
}

/// How often a step has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepRetries {
    pub step: EndStep,
    pub failed: u32,
    /// Somebody wants the end at once.
    pub hurried: bool,
}

impl JobEnd {
    /// The ad of the job as it ended, if it has come so far.
    pub(crate) fn exit_ad(&self) -> Option<&ClassAd> {
        self.exit_ad.as_ref()
    }
}
