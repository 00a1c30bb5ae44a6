//! State of the starter at the end of a job.

use super::phase::EndStep;
use htc_base::time::ClockReading;
use htc_classad::ClassAd;

/// State of the starter at the end of a job.
#[derive(Debug, Default)]
pub(crate) struct JobEnd {
    /// Exit status with which the program will exit.
    pub status: u8,
    /// True if the job ends at a point where 25.14 exits with an exception.
    pub ended_by_exception: bool,
    /// True if JOB_EXIT has been called or will not be called.
    pub exit_hook_done: bool,
    /// Input of JOB_EXIT, which is created once and kept for retries.
    pub exit_ad: Option<ClassAd>,
    /// True if a scratch directory, or a part of it, exists and has to be removed.
    pub scratch_made: bool,
    /// Time at which the job missed its deferral time, or `None` if it did not.
    pub missed_deferral: Option<ClockReading>,
    /// Failures of the current step.
    pub retries: StepRetries,
}

/// Step that failed, with the number of its consecutive failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepRetries {
    pub step: EndStep,
    pub failed: u32,
    /// True if a request for an immediate end arrived, so that the step is not retried further.
    pub hurried: bool,
}

impl JobEnd {
    /// Returns the job ad as it was when the job ended, or `None` before that.
    pub(crate) fn exit_ad(&self) -> Option<&ClassAd> {
        self.exit_ad.as_ref()
    }
}
