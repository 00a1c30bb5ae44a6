//! Supervision of a routed job until it ends, and release of source and routed job
//! (`CheckSubmittedJobStatus`, `FinalizeJob`, `CleanupJob`, `CleanupRetiredJob`).

use bstr::BString;

use super::action::RouterAction;
use super::event::YieldError;
use super::router::Router;
use super::router_step::RouterStep;
use crate::RoutedJob;
use crate::mirror::{ExtraAttributes, MirrorInput, SourceLogEvent, is_hold_copied, mirror_copy_state};
use crate::routed_job::{CopyVisibility, JobTurn, RoutedCopy, RoutedJobOutcome, RoutedJobState, RoutingMode};
use htc_base::job::{JobId, JobStatus};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Expr};
use htc_hook::keyword;
use htc_user_log::EventBody;

impl Router {
    /// Reads the source job and the routed job, and mirrors the state of the routed job. `update` contains the
    /// attributes that a hook just wrote to the routed job.
    pub(super) fn check_copy(&mut self, job: &mut RoutedJob, update: &ClassAd, step: &mut RouterStep<'_>) {
        let Some(queued) = step.context.queue.job(job.source_id).map(|ad| ad.flattened_chain()) else {
            step.log_for_job(job, "failed to find src ad in job collection mirror.");
            return job.begin_cleanup(RoutedJobOutcome::Interrupted);
        };
        if let Some(text) = stop_reason(job.source_id, &queued, step) {
            step.log_for_job(job, text);
            return job.begin_cleanup(RoutedJobOutcome::Interrupted);
        }
        let Some(copy) = job.copy else { return job.begin_cleanup(RoutedJobOutcome::Failed) };
        let Some(mut ad) = step.context.copies.job(copy.id).map(|ad| ad.flattened_chain()) else {
            if !matches!(copy.visibility, CopyVisibility::NotYet { .. }) {
                step.log_for_job(job, "dest job was removed!");
                job.begin_cleanup(RoutedJobOutcome::Failed);
            } else if job.is_copy_overdue(step.now, &self.parameters) {
                step.log_for_job(job, "giving up, because submitted job is still not in job queue mirror");
                job.begin_cleanup(RoutedJobOutcome::Failed);
            }
            // Until it is overdue, the routed job may still appear in the queue.
            return job.wait_for_poll();
        };
        ad.update(update);
        job.copy_ad = ad;
        let visibility = self.mirror_copy(job, copy.visibility, &queued, step);
        let Some(status) = step.evaluate_int(&job.copy_ad, "JobStatus") else {
            step.log_for_job(job, "cannot evaluate JobStatus in target job");
            return job.begin_cleanup(RoutedJobOutcome::Failed);
        };
        job.copy = Some(RoutedCopy { visibility, running: step.is_running(&job.copy_ad), ..copy });
        if status == JobStatus::COMPLETED
            && step.evaluate_int(&job.copy_ad, "JobFinishedHookDone").unwrap_or(0) != 0
        {
            step.log_for_job(job, "found target job finished");
            job.state = RoutedJobState::Finished;
        } else {
            // The next poll checks the routed job again.
            job.wait_for_poll();
        }
    }

    /// Mirrors the state of the routed job into the source job and logs the change. Returns the new visibility of the
    /// routed job.
    fn mirror_copy(
        &self,
        job: &mut RoutedJob,
        visibility: CopyVisibility,
        queued: &ClassAd,
        step: &mut RouterStep<'_>,
    ) -> CopyVisibility {
        let attributes = keyword::router_keyword(&job.source_ad, step.context.parameters, step.context.world)
            .keyword
            .and_then(|keyword| {
                step.context.parameters.get(&[keyword.as_slice(), b"_ATTRS_TO_COPY"].concat())
            })
            .unwrap_or_default();
        let extra =
            ExtraAttributes { configured_names: &attributes, chirp_patterns: &self.parameters.chirp_prefix };
        let visibility =
            if visibility == CopyVisibility::Announced { visibility } else { CopyVisibility::Seen };
        let input = MirrorInput {
            queued_source: queued,
            copy_ad: &job.copy_ad,
            extra,
            now: step.now,
            world: step.context.world,
        };
        let mirrored = mirror_copy_state(&mut job.source_ad, input);
        let mut mirrored = match mirrored {
            Ok(mirrored) => mirrored,
            Err(error) => {
                step.log_for_job(job, &format!("failed to update job status: {error}"));
                return visibility;
            }
        };
        match mirrored.event {
            Some(SourceLogEvent::Execute) => match self.quirks.reproduces(Quirk::ExecuteEventFormerCopy) {
                true => step.log_execute_event(job.source_id, queued),
                false => step.log_execute_event(job.source_id, &job.source_ad),
            },
            Some(SourceLogEvent::Evicted) => step.log_evict_event(job.source_id, &job.source_ad),
            None => {}
        }
        // The first check writes the routed job's id into the source job, which may still contain the id of an earlier
        // routed job.
        let name = job.source_ad.get("RoutedToJobId").filter(|_| visibility == CopyVisibility::Seen);
        let new_id = name.filter(|name| queued.get("RoutedToJobId").as_ref() != Some(name));
        let visibility = if new_id.is_some() { CopyVisibility::Announced } else { visibility };
        mirrored.changes.extend(new_id.map(|expr| (BString::from("RoutedToJobId"), Some(expr))));
        if !mirrored.changes.is_empty() {
            step.actions.push(RouterAction::UpdateSource(job.source_id, mirrored.changes));
            step.log_for_job(job, "updated job status");
        }
        visibility
    }

    pub(super) fn handle_finalize_result(
        &mut self,
        job: &mut RoutedJob,
        result: Result<(), String>,
        step: &mut RouterStep<'_>,
    ) {
        if let Err(reason) = result {
            step.log_for_job(job, &format!("failed to finalize job: {reason}"));
            step.set_source_idle(job);
            return job.begin_cleanup(RoutedJobOutcome::Failed);
        }
        let body = step.terminated_event(&job.source_ad);
        step.actions.push(RouterAction::UserLog(job.source_id, Box::new(job.source_ad.clone()), body));
        step.log_for_job(job, "finalized job");
        let route = self.table.index_of(&job.route).map(|at| &self.table.routes[at]);
        if route.is_some_and(|route| route.job_failure_test.is_true(&job.source_ad, step.context.world)) {
            step.log_for_job(job, "JobFailureTest is true, so job will count as a failure");
            return job.begin_cleanup(RoutedJobOutcome::Unsuccessful);
        }
        job.begin_cleanup(RoutedJobOutcome::Completed);
    }

    /// Releases the source job: removes the routed job unless the source job is done, and returns the source job to the
    /// schedd.
    pub(super) fn release_source(&mut self, job: &mut RoutedJob, step: &mut RouterStep<'_>) {
        if job.routing == RoutingMode::InPlace {
            return self.retire_job(job, step);
        }
        let RoutedJobState::Cleanup(cleanup) = &mut job.state else { return };
        let is_done = cleanup.outcome.is_source_done();
        // A failed removal is repeated at the next attempt to return the source job (`RouterEvent::RemoveFailed`).
        if !is_done
            && !cleanup.removal_requested
            && let Some(copy) = job.copy
        {
            cleanup.removal_requested = true;
            step.actions.push(RouterAction::RemoveCopy(copy.id, "JobRouter aborted job".into()));
        }
        if step.is_running(&job.source_ad) {
            step.log_evict_event(job.source_id, &job.source_ad);
            job.source_ad.set("JobStatus", JobStatus::IDLE);
        }
        step.request_action(job, RouterAction::YieldSource(job.source_id, is_done));
    }

    pub(super) fn handle_yield_result(
        &mut self,
        job: &mut RoutedJob,
        result: Result<(), YieldError>,
        step: &mut RouterStep<'_>,
    ) {
        match (result, &job.state) {
            (Ok(()), RoutedJobState::Cleanup(cleanup)) => {
                let done = u8::from(cleanup.outcome.is_source_done());
                step.log_for_job(job, &format!("yielded job (done={done})"));
            }
            (Ok(()), _) => {}
            (Err(error), _) => {
                step.log_for_job(job, "failed to yield job");
                // The next poll tries again if the source job still exists.
                if error == YieldError::WriteFailed && step.context.queue.job(job.source_id).is_some() {
                    return job.wait_for_poll();
                }
            }
        }
        self.retire_job(job, step);
    }

    /// Marks a job as retired: the router no longer manages its source job.
    pub(super) fn retire_job(&mut self, job: &mut RoutedJob, step: &mut RouterStep<'_>) {
        let outcome = match &job.state {
            RoutedJobState::Cleanup(cleanup) => cleanup.outcome,
            _ => RoutedJobOutcome::Interrupted,
        };
        if let Some(at) = self.table.index_of(&job.route) {
            match outcome {
                RoutedJobOutcome::Completed => {
                    self.route_states[at].count_ended(true);
                    self.paused_sources.remove(&job.source_id);
                }
                RoutedJobOutcome::Unsuccessful | RoutedJobOutcome::Failed => {
                    self.route_states[at].count_ended(false)
                }
                RoutedJobOutcome::Interrupted => {}
            }
        }
        step.log_for_job(job, "Cleaned up and removed routed job.");
        // 25.14 looks for new candidates before it forgets retired jobs, and it reads the queue as it was one poll ago.
        // Another job therefore takes this job's place in the route before this job can be a candidate again. If a job
        // fails in the poll in which it was chosen, the older state of the queue never showed it as claimed, so it can
        // be forgotten in the same poll.
        let is_unseen = job.chosen_in_poll == self.poll_count && job.turn == JobTurn::Advancing;
        let forgotten_at = if is_unseen { self.poll_count } else { self.poll_count + 1 };
        job.state = RoutedJobState::Retired { since: step.now, forgotten_at };
        job.wait_for_poll();
    }

    /// Returns true if a job is retired and the queue shows the end of its routing, or the allowed delay of the queue
    /// log has passed.
    pub(super) fn can_forget(&self, job: &RoutedJob, step: &RouterStep<'_>) -> bool {
        let RoutedJobState::Retired { since, forgotten_at } = job.state else { return false };
        if self.poll_count < forgotten_at {
            return false;
        }
        let source = step.context.queue.job(job.source_id).is_none_or(|ad| {
            step.evaluate_string(&ad, "Managed") != "External"
                || step.evaluate_string(&ad, "ManagedManager") != self.parameters.name
        });
        let copy = job.copy.is_none_or(|copy| {
            step.context
                .copies
                .job(copy.id)
                .is_none_or(|ad| step.evaluate_string(&ad, "RoutedBy") != self.parameters.name)
        });
        (source && copy) || step.now - since >= self.parameters.mirror_lag.as_secs() as i64
    }
}

/// Returns the text that is logged as the reason to stop routing a source job, or `None` to continue. Logs a removal to
/// the job's user log as well.
fn stop_reason(id: JobId, queued: &ClassAd, step: &mut RouterStep<'_>) -> Option<&'static str> {
    match step.evaluate_int(queued, "JobStatus") {
        None => Some("cannot evaluate JobStatus in src job"),
        Some(JobStatus::REMOVED) => {
            let body = EventBody::Aborted(step.evaluate_string(queued, "RemoveReason"));
            step.actions.push(RouterAction::UserLog(id, Box::new(queued.clone()), body));
            Some("found src job marked for removal")
        }
        Some(JobStatus::HELD) if !is_hold_copied(queued, step.context.world) => Some("found src job on hold"),
        Some(_) => None,
    }
}

/// Converts the attributes of hook output to the changes that an action requests.
pub(super) fn to_changes(answer: &ClassAd) -> Vec<(BString, Option<Expr>)> {
    answer.sorted().into_iter().map(|(name, expr)| (BString::from(name), Some(expr))).collect()
}
