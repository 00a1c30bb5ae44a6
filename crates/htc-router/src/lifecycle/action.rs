//! What a router asks to be done.

use bstr::BString;

use crate::route_choice::UmbrellaError;
use htc_base::job::JobId;
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Expr};
use htc_hook::HookType;
use htc_user_log::EventBody;

/// A hook that is to be called.
#[derive(Debug)]
pub struct RouterHookCall {
    /// The source.
    pub source: JobId,
    /// Which.
    pub hook: HookType,
    /// What TRANSLATE_JOB is told of the route.
    pub route: BString,
    /// The source ad.
    pub source_ad: Box<ClassAd>,
    /// The routed ad.
    pub copy_ad: Box<ClassAd>,
    /// Whether the source is edited in place.
    pub is_in_place: bool,
}

/// What is to be done. The id is the source's unless said otherwise.
#[derive(Debug)]
pub enum RouterAction {
    /// Set Managed and ManagedManager if the job is idle and not managed.
    Claim(JobId),
    /// Call a hook.
    CallHook(RouterHookCall),
    /// Submit a copy.
    SubmitCopy(JobId, Box<ClassAd>),
    /// Change the source in place.
    EditSource(JobId, Vec<(BString, Option<Expr>)>),
    /// Set attributes of a source; JobStatus only if the queue's is neither removed nor completed.
    UpdateSource(JobId, Vec<(BString, Option<Expr>)>),
    /// Set attributes of a copy in the queue of copies; JobStatus likewise. The first id is the source's.
    UpdateCopy(JobId, JobId, Vec<(BString, Option<Expr>)>),
    /// Let the copy leave its queue: the first id is the source's.
    FinalizeCopy(JobId, JobId),
    /// Remove a copy, whose id it is, with the reason.
    RemoveCopy(JobId, String),
    /// Give the source back: done or not.
    YieldSource(JobId, bool),
    /// Write to a job's user log.
    UserLog(JobId, Box<ClassAd>, EventBody),
    /// Say what happened.
    Log(String),
    /// Say that 25.14 does otherwise with the job from here on: it aborts, or never gets any further. The router goes on as it
    /// does by default.
    Quirk(JobId, Quirk),
    /// Give up: no job can be looked for. 25.14 aborts.
    Stop(UmbrellaError),
}
