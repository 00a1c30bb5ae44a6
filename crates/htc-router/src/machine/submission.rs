//! What a submission does to the copy as the router keeps it (`submit_job`, submit_job.cpp): the cleanup hook
//! reads it where the queue has not shown the copy yet.

use bstr::{BString, ByteSlice};

use super::step::Step;
use crate::routed_job::{Outcome, RoutedCopy, RoutedJob, Routing, Shown, State};
use htc_base::job::{HoldCode, JobId, JobStatus};
use htc_classad::{ClassAd, Expr};

/// The copy is in its queue.
pub(super) fn succeeded(job: &mut RoutedJob, copy: JobId, step: &mut Step<'_>) {
    job.copy = Some(RoutedCopy { id: copy, shown: Shown::NotYet { since: step.now }, running: false });
    submitted(job, Some(copy), step);
    job.source.set("RoutedToJobId", copy.to_string().as_str());
    job.state = State::Submitted { answer: ClassAd::new() };
    step.log(job, "submitted job");
    // What the copy does is looked at in the next poll.
    job.rest();
}

/// There is no copy: it was refused, or its files could not be spooled; then it had a number already.
pub(super) fn failed(job: &mut RoutedJob, copy: Option<JobId>, reason: &str, step: &mut Step<'_>) {
    submitted(job, copy, step);
    step.log(job, &format!("failed to submit job: {reason}"));
    job.ends(Outcome::Failed);
}

/// The source was edited in place, or not.
pub(super) fn edited(job: &mut RoutedJob, result: Result<(), String>, step: &mut Step<'_>) {
    match result {
        Ok(()) => {
            step.log(job, "Done editing job.");
            job.ends(Outcome::Completed);
        }
        Err(reason) => {
            step.log(job, &format!("Failed to edit job: {reason}"));
            job.ends(Outcome::Failed);
        }
    }
}

/// What a submission does to the ad that is submitted, even one that fails. The number of a cluster that was given back is
/// not known.
pub(super) fn submitted(job: &mut RoutedJob, id: Option<JobId>, step: &Step<'_>) {
    let copy = &mut job.copy_ad;
    if let Some(id) = id {
        copy.set("ClusterId", i64::from(id.cluster));
        // Whose the copy is, its queue says.
        if let Some(user) = user(&job.source, step) {
            copy.set("User", user);
        }
    }
    copy.set("ProcId", id.map_or(0, |id| i64::from(id.proc)));
    note_submission(copy, step.now);
    if job.routing == Routing::Spooled {
        copy.set("JobStatus", JobStatus::HELD);
        copy.set("HoldReason", "Spooling input data files");
        copy.set("HoldReasonCode", HoldCode::SpoolingInput.number());
    }
}

/// What every copy says of its submission; it stays in the queue until what it leaves has been fetched.
pub fn note_submission(copy: &mut ClassAd, now: i64) {
    copy.set("QDate", now);
    copy.set("EnteredCurrentStatus", now);
    if let Ok(expr) = Expr::parse(format!("JobStatus == {}", JobStatus::COMPLETED).as_bytes()) {
        copy.insert("LeaveJobInQueue", expr);
    }
}

/// The user of a new job: its owner in the domain of the queue.
fn user(source: &ClassAd, step: &Step<'_>) -> Option<BString> {
    let owner = step.string(source, "Owner");
    let domain = step.around.knobs.get(b"UID_DOMAIN").or_else(|| {
        let user = step.string(source, "User");
        user.rfind_byte(b'@').map(|at| BString::from(&user[at + 1..]))
    })?;
    Some([owner.as_slice(), b"@", domain.as_slice()].concat().into())
}
