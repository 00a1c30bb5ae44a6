//! What happens to a router.

use crate::HookVerdict;
use htc_base::job::JobId;
use htc_hook::HookType;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The polling period is over.
    Poll,
    /// There will be no next poll: jobs whose next phase waits for one are dealt with now; no job is claimed.
    Settle,
    /// Periodic expressions of managed sources are due.
    Periodic,
    /// An answer to [`super::Action::Claim`]: whether the job is ours now.
    Claimed(JobId, Result<(), String>),
    /// A hook ended or could not be called.
    Hook(JobId, HookType, HookResult),
    /// An answer to [`super::Action::Submit`].
    Submitted(JobId, Result<JobId, String>),
    /// Another answer to it: nobody knows whether there is a copy, and why. The source stays claimed and is forgotten; its
    /// queue lists it no longer until somebody has looked.
    Unclear(JobId, String),
    /// A third: what has to be done before could not be done, such as copying a proxy, and why.
    Unprepared(JobId, String),
    /// A fourth: the files of the copy could not be spooled; the number that it had, and why.
    NotSpooled(JobId, JobId, String),
    /// An answer to [`super::Action::Edit`].
    Edited(JobId, Result<(), String>),
    /// An answer to [`super::Action::UpdateCopy`].
    CopyUpdated(JobId, Result<(), CopyError>),
    /// A copy, whose id it is, could not be removed ([`super::Action::Remove`]): it may be tried again.
    NotRemoved(JobId),
    /// An answer to [`super::Action::Finalize`].
    Finalized(JobId, Result<(), String>),
    /// An answer to [`super::Action::Yield`].
    Yielded(JobId, Result<(), YieldError>),
}

/// Why a source was not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YieldError {
    /// It is gone, or somebody else's: there is nothing to give back.
    #[error("the source is not ours")]
    NotOurs,
    /// It could not be written just now.
    #[error("the source could not be written")]
    Unwritten,
}

/// Why an answer does not stand in a copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The copy is gone, or its queue does not take the answer: the routing ends.
    #[error("{0}")]
    Refused(String),
    /// It could not be written just now: the copy goes on, and the hook answers again.
    #[error("{0}")]
    Unwritten(String),
}

/// What came of a hook.
#[derive(Debug)]
pub enum HookResult {
    /// There is none for this job.
    NotConfigured,
    /// It cannot be called, or was killed for taking too long.
    Failed(String),
    /// It ended.
    Ended(Box<HookVerdict>),
}
