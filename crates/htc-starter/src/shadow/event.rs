//! What a shadow hears: of its starter, and of users.

use bstr::BString;

use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_classad::ClassAd;
use htc_hook::transfer::{TransferKind, TransferOutcome};
use htc_hook::user_policy;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum ShadowEvent {
    /// Begin.
    Begin,
    /// SHADOW_PREPARE_JOB has ended.
    HookEnded(ShadowHookResult),
    /// The starter begins to move files.
    Transfer(TransferKind),
    /// It has moved them.
    Transferred(Box<TransferOutcome>),
    /// The job is about to run, in this directory.
    Executing(BString),
    /// An update of the starter, after which a shadow evaluates periodic policies.
    Updated(Box<ClassAd>),
    /// Attributes that are known when a run begins or has ended.
    AttributesKnown(Box<ClassAd>),
    /// The job's process has ended; its starter goes on.
    JobEnded,
    /// The job was stopped, so many processes.
    Suspended(u32),
    /// It goes on.
    Continued,
    /// The starter tells of an error, or only a message.
    Error {
        /// What it says, with a hold code or 0 for none.
        why: HoldOrVacateReason,
        /// False: a message.
        critical: bool,
    },
    /// The starter has ended.
    Ended(StarterEnd),
    /// A user asks for something that [`super::Shadow::refusal_reason`] does not.
    UserRequested(UserRequest),
    /// The time of the last `WakeAt` has come.
    Timeout,
}

/// How SHADOW_PREPARE_JOB ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShadowHookResult {
    /// Its status, and what it printed.
    Exited(Exit, Vec<u8>),
    /// It could not be executed.
    NotExecuted,
    /// There are no credentials for it.
    NoCredentials,
    /// It ran longer than the shadow waits.
    TimedOut,
    /// This program is to end: the job stays in the queue.
    Interrupted,
}

/// How a starter ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StarterEnd {
    /// How its job did; `None`: it was not started, or not to its end.
    pub exit: Option<Exit>,
    /// Whether somebody had asked for its end.
    pub end_requested: bool,
    /// Why it was not started, where nobody was told.
    pub reason: Option<String>,
    /// Whether nothing more is to be run: a person ends this.
    pub is_last_run: bool,
}

/// Why a job is held or vacated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldOrVacateReason {
    /// HoldReason or VacateReason.
    pub reason: BString,
    /// Its code.
    pub code: i64,
    /// Its subcode.
    pub subcode: i64,
}

impl HoldOrVacateReason {
    /// A reason without subcode.
    pub fn new(reason: impl Into<BString>, code: i64) -> Self {
        HoldOrVacateReason { reason: reason.into(), code, subcode: 0 }
    }

    /// Both codes as events have them.
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

/// What a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRequest {
    /// Hold the job.
    Hold(HoldOrVacateReason),
    /// Remove it, for this reason.
    Remove(BString),
    /// Send it back; it is run again.
    Vacate {
        /// Why.
        why: HoldOrVacateReason,
        /// At once: the shadow does not wait to hear how the job ends.
        fast: bool,
    },
    /// Release a job that is held, for this reason.
    Release(BString),
}

impl UserRequest {
    /// A vacate as a schedd asks for it.
    pub fn vacate(fast: bool) -> Self {
        UserRequest::Vacate {
            why: HoldOrVacateReason::new("Job vacated by schedd", HoldCode::ScheddVacate.number()),
            fast,
        }
    }
}
