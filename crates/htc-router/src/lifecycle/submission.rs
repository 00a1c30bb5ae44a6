//! Effects of a submission on the router's own ad of the routed job (`submit_job`, submit_job.cpp). The
//! cleanup hook reads this ad if the routed job has not appeared in the queue yet.

use bstr::{BString, ByteSlice};

use super::router_step::RouterStep;
use crate::routed_job::{
    CopyVisibility, RoutedCopy, RoutedJob, RoutedJobOutcome, RoutedJobState, RoutingMode,
};
use htc_base::job::{HoldCode, JobId, JobStatus};
use htc_classad::{ClassAd, Expr};

/// Handles a successful submission of the routed job.
pub(super) fn handle_submit_success(job: &mut RoutedJob, copy: JobId, step: &mut RouterStep<'_>) {
    job.copy =
        Some(RoutedCopy { id: copy, visibility: CopyVisibility::NotYet { since: step.now }, running: false });
    mark_submitted(job, Some(copy), step);
    job.source_ad.set("RoutedToJobId", copy.to_string().as_str());
    job.state = RoutedJobState::Submitted { answer: ClassAd::new() };
    step.log_for_job(job, "submitted job");
    // The next poll checks the state of the routed job.
    job.wait_for_poll();
}

/// Handles a failed submission: the schedd refused the routed job, or its files could not be spooled after it had got
/// an id.
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

/// Handles the result of editing the source job in place.
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

/// Sets the attributes that a submission sets in the submitted ad even if it fails. `id` is `None` if the cluster
/// number is unknown.
pub(super) fn mark_submitted(job: &mut RoutedJob, id: Option<JobId>, step: &RouterStep<'_>) {
    let copy = &mut job.copy_ad;
    if let Some(id) = id {
        copy.set("ClusterId", i64::from(id.cluster));
        // The queue sets User of the routed job.
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

/// Sets the submission attributes of a routed job. LeaveJobInQueue keeps the completed job in the queue until its
/// output has been fetched.
pub fn set_submission_attributes(copy: &mut ClassAd, now: i64) {
    copy.set("QDate", now);
    copy.set("EnteredCurrentStatus", now);
    if let Ok(expr) = Expr::parse(format!("JobStatus == {}", JobStatus::COMPLETED).as_bytes()) {
        copy.insert("LeaveJobInQueue", expr);
    }
}

/// Returns the user of a new job: its owner with the domain of the queue.
fn queue_user(source: &ClassAd, step: &RouterStep<'_>) -> Option<BString> {
    let owner = step.evaluate_string(source, "Owner");
    let domain = step.context.parameters.get(b"UID_DOMAIN").or_else(|| {
        let user = step.evaluate_string(source, "User");
        user.rfind_byte(b'@').map(|at| BString::from(&user[at + 1..]))
    })?;
    Some([owner.as_slice(), b"@", domain.as_slice()].concat().into())
}
