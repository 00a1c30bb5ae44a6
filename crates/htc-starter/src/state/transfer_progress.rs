//! How far the moving of files has got.

use crate::start_failure::StartFailure;
use htc_base::process::Exit;

/// How far that has got.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferProgress {
    pub output_policy: OutputPolicy,
    /// Why the input could not be transferred, until that is reported: after the files for that case have gone back.
    pub input_failure: Option<StartFailure>,
    /// Checkpoints so far.
    pub checkpoints: u32,
    /// How the job ended, as far as that is known.
    pub exit: Option<Exit>,
}

/// What goes back at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputPolicy {
    /// What the job made, if its end is one that brings it back.
    #[default]
    ByJobEnd,
    /// Input could not be transferred: only files for that go back, and no failure of theirs counts.
    FailureFiles,
    /// Nothing more.
    Nothing,
}

impl TransferProgress {
    /// The job goes on from a checkpoint: it is not told that it runs.
    pub(crate) fn is_restarted(&self) -> bool {
        self.checkpoints > 0
    }
}
