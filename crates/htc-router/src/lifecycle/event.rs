//! Events that the router handles.

use crate::HookVerdict;
use htc_base::job::JobId;
use htc_hook::HookType;

/// Event that the router handles.
#[derive(Debug)]
pub enum RouterEvent {
    /// The polling period has elapsed.
    Poll,
    /// There will be no further poll: jobs whose next phase waits for a poll are processed now, and no job is claimed.
    FinalPoll,
    /// The interval between evaluations of the source jobs' periodic expressions has elapsed.
    PeriodicExpressionsDue,
    /// Result of [`super::RouterAction::Claim`]: success, or the reason why the job could not be claimed.
    ClaimResult(JobId, Result<(), String>),
    /// A hook ended or could not be called.
    HookEnded(JobId, HookType, RouterHookResult),
    /// Result of [`super::RouterAction::SubmitCopy`].
    SubmitResult(JobId, Result<JobId, String>),
    /// Result of a submission: it is unknown whether the routed job exists, for the given reason. The router forgets
    /// the source job, which stays claimed and is hidden from the router until a person has checked it.
    SubmitUncertain(JobId, String),
    /// Result of a submission: a preparation such as copying a proxy failed, for the given reason.
    SubmitNotPrepared(JobId, String),
    /// Result of a submission: the files of the routed job could not be spooled. Contains the source id, the id of the
    /// routed job and the reason.
    SpoolFailed(JobId, JobId, String),
    /// Result of [`super::RouterAction::EditSource`].
    EditResult(JobId, Result<(), String>),
    /// Result of [`super::RouterAction::UpdateCopy`].
    CopyUpdateResult(JobId, Result<(), CopyUpdateError>),
    /// The copy with this id could not be removed ([`super::RouterAction::RemoveCopy`]); the removal may be
    /// repeated.
    RemoveFailed(JobId),
    /// Result of [`super::RouterAction::FinalizeCopy`].
    FinalizeResult(JobId, Result<(), String>),
    /// Result of [`super::RouterAction::YieldSource`].
    YieldResult(JobId, Result<(), YieldError>),
}

/// Reason why a source job was not returned to the schedd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YieldError {
    /// The source job no longer exists or another manager manages it, so it cannot be returned.
    #[error("another manager has the source job")]
    NotOurs,
    /// The write failed; it may succeed later.
    #[error("the source job could not be changed")]
    WriteFailed,
}

/// Reason why hook output was not written to a copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyUpdateError {
    /// The routed job no longer exists, or its queue refuses the output: the routing ends.
    #[error("{0}")]
    Refused(String),
    /// The write failed: the copy continues, and the hook is called again.
    #[error("{0}")]
    WriteFailed(String),
}

/// Result of a hook call.
#[derive(Debug)]
pub enum RouterHookResult {
    /// The hook is not configured for this job.
    NotConfigured,
    /// The hook could not be started, or was killed because it took too long.
    Failed(String),
    /// The hook ended.
    Ended(Box<HookVerdict>),
}
