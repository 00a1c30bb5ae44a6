//! What a router asks to be done.

use bstr::BString;

use crate::choose::UmbrellaError;
use htc_base::job::JobId;
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Expr};
use htc_hook::HookType;
use htc_user_log::Body;

/// A hook that is to be called.
#[derive(Debug)]
pub struct Call {
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
    pub in_place: bool,
}

/// What is to be done. The id is the source's unless said otherwise.
#[derive(Debug)]
pub enum Action {
    /// Set Managed and ManagedManager if the job is idle and not managed.
    Claim(JobId),
    /// Call a hook.
    Hook(Call),
    /// Submit a copy.
    Submit(JobId, Box<ClassAd>),
    /// Change the source in place.
    Edit(JobId, Vec<(BString, Option<Expr>)>),
    /// Set attributes of a source; JobStatus only if the queue's is neither removed nor completed.
    Update(JobId, Vec<(BString, Option<Expr>)>),
    /// Set attributes of a copy in the queue of copies; JobStatus likewise. The first id is the source's.
    UpdateCopy(JobId, JobId, Vec<(BString, Option<Expr>)>),
    /// Let the copy leave its queue: the first id is the source's.
    Finalize(JobId, JobId),
    /// Remove a copy, whose id it is, with the reason.
    Remove(JobId, String),
    /// Give the source back: done or not.
    Yield(JobId, bool),
    /// Write to a job's user log.
    UserLog(JobId, Box<ClassAd>, Body),
    /// Say what happened.
    Log(String),
    /// Say that 25.14 does otherwise with the job from here on: it aborts, or never gets any further. The router goes on as it
    /// does by default.
    Quirk(JobId, Quirk),
    /// Give up: no job can be looked for. 25.14 aborts.
    Stop(UmbrellaError),
}
