//! What a submission does to the copy as the router keeps it (`submit_job`, submit_job.cpp): the cleanup hook
//! reads it where the queue has not shown the copy yet.

use bstr::{BString, ByteSlice};

use super::router_step::RouterStep;
use crate::routed_job::{
    CopyVisibility, RoutedCopy, RoutedJob, RoutedJobOutcome, RoutedJobState, RoutingMode,
};
use htc_base::job::{HoldCode, JobId, JobStatus};
use htc_classad::{ClassAd, Expr};

/// The copy is in its queue.
pub(super) fn handle_submit_success(job: &mut RoutedJob, copy: JobId, step: &mut RouterStep<'_>) {
    job.copy =
        Some(RoutedCopy { id: copy, visibility: CopyVisibility::NotYet { since: step.now }, running: false });
    mark_submitted(job, Some(copy), step);
    job.source_ad.set("RoutedToJobId", copy.to_string().as_str());
    job.state = RoutedJobState::Submitted { answer: ClassAd::new() };
    step.log_for_job(job, "submitted job");
    // What the copy does is looked at in the next poll.
    job.wait_for_poll();
}

/// There is no copy: it was refused, or its files could not be spooled; then it had a number already.
pub(super) fn handle_submit_failure(
    job: &mut RoutedJob,
    copy: Option<JobId>,
    reason: &str,
    step: &mut RouterStep<'_>,
) {
    mark_submitted(job, copy, step);
    step.log_for_job(job, &format!("failed to submit job: {reason}"));
    job.begin_cleanup(RoutedJobOutcome::Failed);
}

/// The source was edited in place, or not.
pub(super) fn handle_edit_result(job: &mut RoutedJob, result: Result<(), String>, step: &mut RouterStep<'_>) {
    match result {
        Ok(()) => {
            step.log_for_job(job, "Done editing job.");
            job.begin_cleanup(RoutedJobOutcome::Completed);
        }
        Err(reason) => {
            step.log_for_job(job, &format!("Failed to edit job: {reason}"));
            job.begin_cleanup(RoutedJobOutcome::Failed);
        }
    }
}

/// What a submission does to the ad that is submitted, even one that fails. The number of a cluster that was given back is
/// not known.
pub(super) fn mark_submitted(job: &mut RoutedJob, id: Option<JobId>, step: &RouterStep<'_>) {
    let copy = &mut job.copy_ad;
    if let Some(id) = id {
        copy.set("ClusterId", i64::from(id.cluster));
        // Whose the copy is, its queue says.
        if let Some(user) = queue_user(&job.source_ad, step) {
            copy.set("User", user);
        }
    }
    copy.set("ProcId", id.map_or(0, |id| i64::from(id.proc)));
    set_submission_attributes(copy, step.now);
    if job.routing == RoutingMode::Spooled {
        copy.set("JobStatus", JobStatus::HELD);
        copy.set("HoldReason", "Spooling input data files");
        copy.set("HoldReasonCode", HoldCode::SpoolingInput.number());
    }
}

/// What every copy says of its submission; it stays in the queue until what it leaves has been fetched.
pub fn set_submission_attributes(copy: &mut ClassAd, now: i64) {
    copy.set("QDate", now);
    copy.set("EnteredCurrentStatus", now);
    if let Ok(expr) = Expr::parse(format!("JobStatus == {}", JobStatus::COMPLETED).as_bytes()) {
        copy.insert("LeaveJobInQueue", expr);
    }
}

/// The user of a new job: its owner in the domain of the queue.
fn queue_user(source: &ClassAd, step: &RouterStep<'_>) -> Option<BString> {
    let owner = step.evaluate_string(source, "Owner");
    let domain = step.context.parameters.get(b"UID_DOMAIN").or_else(|| {
        let user = step.evaluate_string(source, "User");
        user.rfind_byte(b'@').map(|at| BString::from(&user[at + 1..]))
    })?;
    Some([owner.as_slice(), b"@", domain.as_slice()].concat().into())
}
