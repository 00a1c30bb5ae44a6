//! Progress of the file transfers of a job.

use crate::start_failure::StartFailure;
use htc_base::process::Exit;

/// Progress of the file transfers of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferProgress {
    pub output_policy: OutputPolicy,
    /// Failure of the input transfer that has not been reported yet. It is reported only after the failure files have
    /// been transferred back.
    pub input_failure: Option<StartFailure>,
    /// Number of checkpoints that the job has written so far.
    pub checkpoints: u32,
    /// Exit of the job, or `None` while it is unknown.
    pub exit: Option<Exit>,
}

/// Selection of the files that are transferred back at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputPolicy {
    /// The output of the job, if the job ended in a way after which output is transferred.
    #[default]
    ByJobEnd,
    /// Only failure files, because the input transfer failed. Errors of their transfer are ignored.
    FailureFiles,
    /// No files.
    Nothing,
}

impl TransferProgress {
    /// Returns true if the job continues from a checkpoint. The start of the job is then not reported.
    pub(crate) fn is_restarted(&self) -> bool {
        self.checkpoints > 0
    }
}
