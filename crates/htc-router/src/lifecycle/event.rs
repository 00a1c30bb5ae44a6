//! What happens to a router.

use crate::HookVerdict;
use htc_base::job::JobId;
use htc_hook::HookType;

/// What happened.
#[derive(Debug)]
pub enum RouterEvent {
    /// The polling period is over.
    Poll,
    /// There will be no next poll: jobs whose next phase waits for one are dealt with now; no job is claimed.
    FinalPoll,
    /// Periodic expressions of managed sources are due.
    PeriodicExpressionsDue,
    /// An answer to [`super::RouterAction::Claim`]: whether the job is ours now.
    ClaimResult(JobId, Result<(), String>),
    /// A hook ended or could not be called.
    HookEnded(JobId, HookType, RouterHookResult),
    /// An answer to [`super::RouterAction::SubmitCopy`].
    SubmitResult(JobId, Result<JobId, String>),
    /// Another answer to it: nobody knows whether there is a copy, and why. The source stays claimed and is forgotten; its
    /// queue lists it no longer until somebody has looked.
    SubmitUncertain(JobId, String),
    /// A third: what has to be done before could not be done, such as copying a proxy, and why.
    SubmitNotPrepared(JobId, String),
    /// A fourth: the files of the copy could not be spooled; the number that it had, and why.
    SpoolFailed(JobId, JobId, String),
    /// An answer to [`super::RouterAction::EditSource`].
    EditResult(JobId, Result<(), String>),
    /// An answer to [`super::RouterAction::UpdateCopy`].
    CopyUpdateResult(JobId, Result<(), CopyUpdateError>),
    /// A copy, whose id it is, could not be removed ([`super::RouterAction::RemoveCopy`]): it may be tried again.
    RemoveFailed(JobId),
    /// An answer to [`super::RouterAction::FinalizeCopy`].
    FinalizeResult(JobId, Result<(), String>),
    /// An answer to [`super::RouterAction::YieldSource`].
    YieldResult(JobId, Result<(), YieldError>),
}

/// Why a source was not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YieldError {
    /// It is gone, or somebody else's: there is nothing to give back.
    #[error("the source is not ours")]
    NotOurs,
    /// It could not be written just now.
    #[error("the source could not be written")]
    WriteFailed,
}

/// Why an answer does not stand in a copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyUpdateError {
    /// The copy is gone, or its queue does not take the answer: the routing ends.
    #[error("{0}")]
    Refused(String),
    /// It could not be written just now: the copy goes on, and the hook answers again.
    #[error("{0}")]
    WriteFailed(String),
}

/// What came of a hook.
#[derive(Debug)]
pub enum RouterHookResult {
    /// There is none for this job.
    NotConfigured,
    /// It cannot be called, or was killed for taking too long.
    Failed(String),
    /// It ended.
    Ended(Box<HookVerdict>),
}
