//! Progress of the file transfer of a job.

use crate::start_failure::StartFailure;
use htc_base::process::Exit;

/// Progress of the file transfer.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferProgress {
    pub output_policy: OutputPolicy,
    /// Failure of the input transfer, until it is reported: only after the failure files have been transferred back.
    pub input_failure: Option<StartFailure>,
    /// Number of checkpoints so far.
    pub checkpoints: u32,
    /// Exit of the job, once known.
    pub exit: Option<Exit>,
}

/// Files to transfer back at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputPolicy {
    /// The output of the job, if its end is one after which output is transferred.
    #[default]
    ByJobEnd,
    /// The input transfer failed: only failure files are transferred back, and errors of that transfer are ignored.
    FailureFiles,
    /// No files.
    Nothing,
}

impl TransferProgress {
    /// Returns true if the job continues from a checkpoint; its start is then not reported.
    pub(crate) fn is_restarted(&self) -> bool {
        self.checkpoints > 0
    }
}
