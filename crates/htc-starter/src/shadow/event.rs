//! Events that a shadow receives from its starter and from users.

use bstr::BString;

use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_classad::ClassAd;
use htc_hook::transfer::{TransferKind, TransferOutcome};
use htc_hook::user_policy;

/// Event that a shadow receives.
#[derive(Clone, Debug, PartialEq)]
pub enum ShadowEvent {
    /// The shadow starts.
    Begin,
    /// SHADOW_PREPARE_JOB has ended.
    HookEnded(ShadowHookResult),
    /// The starter begins to transfer files.
    Transfer(TransferKind),
    /// The starter has transferred the files.
    Transferred(Box<TransferOutcome>),
    /// The connection to the starter was lost and made again.
    Reconnected,
    /// The job is about to be executed, in this directory.
    Executing(BString),
    /// The starter sent an update, after which the shadow evaluates periodic policies.
    Updated(Box<ClassAd>),
    /// Attributes became known at the start or the end of a run.
    AttributesKnown(Box<ClassAd>),
    /// The job's process has ended, but the starter is still running.
    JobEnded,
    /// The job was suspended. Contains the number of suspended processes.
    Suspended(u32),
    /// The job was continued.
    Continued,
    /// The starter reported an error or a message.
    Error {
        /// Text of the error and its hold code; the code is 0 for an error without one.
        why: HoldOrVacateReason,
        /// True for an error, false for a message.
        critical: bool,
    },
    /// The starter has ended.
    Ended(StarterEnd),
    /// A user made a request that [`super::Shadow::refusal_reason`] accepts.
    UserRequested(UserRequest),
    /// The time of the last `WakeAt` has been reached.
    Timeout,
}

/// Result of SHADOW_PREPARE_JOB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShadowHookResult {
    /// The hook ended. Contains its exit and its standard output.
    Exited(Exit, Vec<u8>),
    /// The hook could not be executed.
    NotExecuted,
    /// The hook was not run because its credentials are missing.
    NoCredentials,
    /// The hook exceeded its time limit.
    TimedOut,
    /// The hook was interrupted because this program is exiting; the job stays in the queue.
    Interrupted,
}

/// Result of a run, as the starter reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StarterEnd {
    /// Exit of the job, or `None` if it was not started or did not end.
    pub exit: Option<Exit>,
    /// True if the end of the job was requested.
    pub end_requested: bool,
    /// Reason why the job was not started, if it has not been reported yet.
    pub reason: Option<String>,
    /// True if no further run follows because the user ended this program.
    pub is_last_run: bool,
}

/// Reason to hold or vacate a job, with its codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldOrVacateReason {
    /// Value of HoldReason or VacateReason.
    pub reason: BString,
    /// Value of HoldReasonCode or VacateReasonCode.
    pub code: i64,
    /// Value of HoldReasonSubCode or VacateReasonSubCode.
    pub subcode: i64,
}

impl HoldOrVacateReason {
    /// Creates a reason with subcode 0.
    pub fn new(reason: impl Into<BString>, code: i64) -> Self {
        HoldOrVacateReason { reason: reason.into(), code, subcode: 0 }
    }

    /// Returns the code and the subcode as 32-bit numbers, the form that events use.
    pub(super) fn codes(&self) -> (i32, i32) {
        let small = |number: i64| i32::try_from(number).unwrap_or(0);
        (small(self.code), small(self.subcode))
    }
}

impl From<user_policy::PolicyReason> for HoldOrVacateReason {
    fn from(why: user_policy::PolicyReason) -> Self {
        HoldOrVacateReason { reason: why.reason, code: why.code as i64, subcode: why.subcode }
    }
}

/// Request of a user for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRequest {
    /// Hold the job.
    Hold(HoldOrVacateReason),
    /// Remove the job, for this reason.
    Remove(BString),
    /// Vacate the job, which is then run again.
    Vacate {
        /// Reason for the vacate.
        why: HoldOrVacateReason,
        /// True to vacate immediately: the shadow then does not wait for the job's exit.
        fast: bool,
    },
    /// Release a held job, for this reason.
    Release(BString),
}

impl UserRequest {
    /// Returns a vacate request with the reason and code that a schedd uses.
    pub fn vacate(fast: bool) -> Self {
        UserRequest::Vacate {
            why: HoldOrVacateReason::new("Job vacated by schedd", HoldCode::ScheddVacate.number()),
            fast,
        }
    }
}
