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
    /// The job is about to execute, in this directory.
    Executing(BString),
    /// An update from the starter; the shadow evaluates periodic policies after it.
    Updated(Box<ClassAd>),
    /// Attributes that become known when a run starts or ends.
    AttributesKnown(Box<ClassAd>),
    /// The job's process has ended; the starter is still running.
    JobEnded,
    /// The job was suspended, with this number of processes.
    Suspended(u32),
    /// The job was continued.
    Continued,
    /// The starter reports an error or a message.
    Error {
        /// Error text with its hold code, or 0.
        why: HoldOrVacateReason,
        /// False if the error is only a message.
        critical: bool,
    },
    /// The starter has ended.
    Ended(StarterEnd),
    /// A user request that [`super::Shadow::refusal_reason`] accepts.
    UserRequested(UserRequest),
    /// The time of the last `WakeAt` has been reached.
    Timeout,
}

/// Result of SHADOW_PREPARE_JOB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShadowHookResult {
    /// Exit status and standard output.
    Exited(Exit, Vec<u8>),
    /// The hook could not be executed.
    NotExecuted,
    /// The credentials for the hook are missing.
    NoCredentials,
    /// The hook exceeded its time limit.
    TimedOut,
    /// This program is exiting; the job stays in the queue.
    Interrupted,
}

/// Result of a starter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StarterEnd {
    /// Exit of the job, or `None` if it was not started or did not end.
    pub exit: Option<Exit>,
    /// True if the end of the job was requested.
    pub end_requested: bool,
    /// Reason why the job was not started, if it has not been reported yet.
    pub reason: Option<String>,
    /// True if no further run is to follow because the user ended this program.
    pub is_last_run: bool,
}

/// Reason for which a job is held or vacated, with its codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldOrVacateReason {
    /// HoldReason or VacateReason.
    pub reason: BString,
    /// HoldReasonCode or VacateReasonCode.
    pub code: i64,
    /// HoldReasonSubCode or VacateReasonSubCode.
    pub subcode: i64,
}

impl HoldOrVacateReason {
    /// Creates a reason with subcode 0.
    pub fn new(reason: impl Into<BString>, code: i64) -> Self {
        HoldOrVacateReason { reason: reason.into(), code, subcode: 0 }
    }

    /// Returns the code and subcode as 32-bit numbers, as events contain them.
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

/// Request of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRequest {
    /// Hold the job.
    Hold(HoldOrVacateReason),
    /// Remove the job, for this reason.
    Remove(BString),
    /// Vacate the job; it is run again.
    Vacate {
        /// Reason.
        why: HoldOrVacateReason,
        /// True to vacate immediately: the shadow does not wait for the job's exit.
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
