//! What a shadow hears: of its starter, and of users.

use bstr::BString;

use crate::classad::ClassAd;
use crate::process::Exit;
use crate::transfer::{Transferred, Way};

/// `VacateReasonCode` of a job that its schedd has vacated.
const VACATED: i64 = 1022;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Begin.
    Begin,
    /// SHADOW_PREPARE_JOB ended: how, and what it printed. `None`: it could not be executed or ran too long.
    HookEnded(Option<(Exit, Vec<u8>)>),
    /// The starter begins to move files.
    Transfer(Way),
    /// It has moved them.
    Transferred(Box<Transferred>),
    /// The job is about to run, in this directory.
    Executing(BString),
    /// An update of the starter.
    Updated(Box<ClassAd>),
    /// The job's process has ended; its starter goes on.
    JobEnded,
    /// The job was stopped, so many processes.
    Suspended(u32),
    /// It goes on.
    Continued,
    /// The starter tells of an error, or only a message.
    Error {
        /// What it says.
        text: BString,
        /// Hold code; 0 for none.
        code: i64,
        /// Its subcode.
        subcode: i64,
        /// False: a message.
        critical: bool,
    },
    /// The starter has ended. How the job did, if it ran to its end.
    Ended {
        /// How; `None`: it was not started, or not to its end.
        exit: Option<Exit>,
        /// Whether somebody had asked for its end.
        asked: bool,
        /// Why it was not started, where nobody was told.
        reason: Option<String>,
        /// Whether nothing more is to be run: a person ends this.
        last: bool,
    },
    /// A user asks for something that [`super::Shadow::refuses`] does not.
    Ordered(Order),
    /// The time of the last `WakeAt` has come.
    Timeout,
}

/// What a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Hold the job.
    Hold {
        /// HoldReason.
        reason: BString,
        /// HoldReasonCode.
        code: i64,
        /// HoldReasonSubCode.
        subcode: i64,
    },
    /// Remove it, for this reason.
    Remove(BString),
    /// Send it back; it is run again.
    Vacate {
        /// Why.
        reason: BString,
        /// VacateReasonCode.
        code: i64,
        /// VacateReasonSubCode.
        subcode: i64,
        /// At once: the shadow does not wait to hear how the job ends.
        fast: bool,
    },
    /// Release a job that is held, for this reason.
    Release(BString),
}

impl Order {
    /// A vacate as a schedd asks for it.
    pub fn vacate(fast: bool) -> Self {
        Order::Vacate { reason: "Job vacated by schedd".into(), code: VACATED, subcode: 0, fast }
    }
}
