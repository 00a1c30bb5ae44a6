//! Actions that the router requests.

use bstr::BString;

use crate::route_choice::UmbrellaError;
use htc_base::job::JobId;
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Expr};
use htc_hook::HookType;
use htc_user_log::EventBody;

/// Hook call to be made.
#[derive(Debug)]
pub struct RouterHookCall {
    /// Id of the source job.
    pub source: JobId,
    /// Type of the hook.
    pub hook: HookType,
    /// Description of the route, which TRANSLATE_JOB reads.
    pub route: BString,
    /// The source ad.
    pub source_ad: Box<ClassAd>,
    /// The routed ad.
    pub copy_ad: Box<ClassAd>,
    /// True if the source job is edited in place.
    pub is_in_place: bool,
}

/// Action that the router requests. The id is that of the source job unless stated otherwise.
#[derive(Debug)]
pub enum RouterAction {
    /// Set Managed and ManagedManager if the job is idle and not managed.
    Claim(JobId),
    /// Call a hook.
    CallHook(RouterHookCall),
    /// Submit a copy.
    SubmitCopy(JobId, Box<ClassAd>),
    /// Edit the source job in place.
    EditSource(JobId, Vec<(BString, Option<Expr>)>),
    /// Set attributes of a source job; JobStatus only if the queue's value is neither removed nor completed.
    UpdateSource(JobId, Vec<(BString, Option<Expr>)>),
    /// Set attributes of a copy in the queue of copies; JobStatus under the condition of `UpdateSource`. The first id
    /// is the source job's.
    UpdateCopy(JobId, JobId, Vec<(BString, Option<Expr>)>),
    /// Finalize the routed job, which then leaves its queue. The first id is the source job's.
    FinalizeCopy(JobId, JobId),
    /// Remove the copy with this id, for the given reason.
    RemoveCopy(JobId, String),
    /// Return the source job to the schedd. The second value is true if the job is done.
    YieldSource(JobId, bool),
    /// Write to a job's user log.
    UserLog(JobId, Box<ClassAd>, EventBody),
    /// Write a log message.
    Log(String),
    /// Report that 25.14 treats the job differently from this point: it aborts, or the job never advances. The router
    /// continues with its default behaviour.
    Quirk(JobId, Quirk),
    /// Stop the router because the search for jobs is impossible. 25.14 aborts.
    Stop(UmbrellaError),
}
