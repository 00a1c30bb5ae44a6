//! Watching a copy until it ends, and letting source and copy go (`CheckSubmittedJobStatus`, `FinalizeJob`, `CleanupJob`,
//! `CleanupRetiredJob`).

use bstr::BString;

use super::action::Action;
use super::event::YieldError;
use super::router::Router;
use super::step::Step;
use crate::RoutedJob;
use crate::mirror::{Extra, Look, SourceEvent, is_hold_copied, mirror};
use crate::routed_job::{Outcome, RoutedCopy, Routing, Shown, State, Turn};
use htc_base::job::{JobId, JobStatus};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Expr};
use htc_hook::keyword;
use htc_user_log::Body;

impl Router {
    /// Looks at source and copy and takes the copy's state over. `update` is what a hook just wrote to the copy.
    pub(super) fn check(&mut self, job: &mut RoutedJob, update: &ClassAd, step: &mut Step<'_>) {
        let Some(queued) = step.around.queue.job(job.source_id).map(|ad| ad.flattened_chain()) else {
            step.log(job, "failed to find src ad in job collection mirror.");
            return job.ends(Outcome::Interrupted);
        };
        if let Some(text) = why_to_stop(job.source_id, &queued, step) {
            step.log(job, text);
            return job.ends(Outcome::Interrupted);
        }
        let Some(copy) = job.copy else { return job.ends(Outcome::Failed) };
        let Some(mut ad) = step.around.copies.job(copy.id).map(|ad| ad.flattened_chain()) else {
            if !matches!(copy.shown, Shown::NotYet { .. }) {
                step.log(job, "dest job was removed!");
                job.ends(Outcome::Failed);
            } else if job.is_overdue(step.now, &self.knobs) {
                step.log(job, "giving up, because submitted job is still not in job queue mirror");
                job.ends(Outcome::Failed);
            }
            // Otherwise it is still to appear.
            return job.rest();
        };
        ad.update(update);
        job.copy_ad = ad;
        let shown = self.mirror(job, copy.shown, &queued, step);
        let Some(status) = step.int(&job.copy_ad, "JobStatus") else {
            step.log(job, "cannot evaluate JobStatus in target job");
            return job.ends(Outcome::Failed);
        };
        job.copy = Some(RoutedCopy { shown, running: step.runs(&job.copy_ad), ..copy });
        if status == JobStatus::COMPLETED && step.int(&job.copy_ad, "JobFinishedHookDone").unwrap_or(0) != 0 {
            step.log(job, "found target job finished");
            job.state = State::Finished;
        } else {
            // Looked at again at the next poll.
            job.rest();
        }
    }

    /// Takes the copy's state over into the source, and tells what has become known of the copy.
    fn mirror(&self, job: &mut RoutedJob, shown: Shown, queued: &ClassAd, step: &mut Step<'_>) -> Shown {
        let attributes = keyword::router(&job.source, step.around.knobs, step.around.world)
            .keyword
            .and_then(|keyword| step.around.knobs.get(&[keyword.as_slice(), b"_ATTRS_TO_COPY"].concat()))
            .unwrap_or_default();
        let extra = Extra { attributes: &attributes, chirp: &self.knobs.chirp_prefix };
        let shown = if shown == Shown::Announced { shown } else { Shown::Seen };
        let look = Look { queued, routed: &job.copy_ad, extra, now: step.now, world: step.around.world };
        let mirrored = mirror(&mut job.source, look);
        let mut mirrored = match mirrored {
            Ok(mirrored) => mirrored,
            Err(error) => {
                step.log(job, &format!("failed to update job status: {error}"));
                return shown;
            }
        };
        match mirrored.event {
            Some(SourceEvent::Execute) => match self.quirks.has(Quirk::ExecuteEventFormerCopy) {
                true => step.executes(job.source_id, queued),
                false => step.executes(job.source_id, &job.source),
            },
            Some(SourceEvent::Evicted) => step.evicts(job.source_id, &job.source),
            None => {}
        }
        // The first look tells the source which job is its copy; a former one may still stand there.
        let name = job.source.get("RoutedToJobId").filter(|_| shown == Shown::Seen);
        let told = name.filter(|name| queued.get("RoutedToJobId").as_ref() != Some(name));
        let shown = if told.is_some() { Shown::Announced } else { shown };
        mirrored.changes.extend(told.map(|expr| (BString::from("RoutedToJobId"), Some(expr))));
        if !mirrored.changes.is_empty() {
            step.actions.push(Action::Update(job.source_id, mirrored.changes));
            step.log(job, "updated job status");
        }
        shown
    }

    pub(super) fn finalized(&mut self, job: &mut RoutedJob, result: Result<(), String>, step: &mut Step<'_>) {
        if let Err(reason) = result {
            step.log(job, &format!("failed to finalize job: {reason}"));
            step.set_idle(job);
            return job.ends(Outcome::Failed);
        }
        let body = step.ending(&job.source);
        step.actions.push(Action::UserLog(job.source_id, Box::new(job.source.clone()), body));
        step.log(job, "finalized job");
        let route = self.table.find(&job.route).map(|at| &self.table.routes[at]);
        if route.is_some_and(|route| route.job_failure_test.truth(&job.source, step.around.world)) {
            step.log(job, "JobFailureTest is true, so job will count as a failure");
            return job.ends(Outcome::Unsuccessful);
        }
        job.ends(Outcome::Completed);
    }

    /// Lets the source go: what is left of the routing is removed, and the source given back.
    pub(super) fn release(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        if job.routing == Routing::InPlace {
            return self.retire(job, step);
        }
        let State::Cleanup(cleanup) = &mut job.state else { return };
        let is_done = cleanup.outcome.is_done();
        // A removal that fails is tried again with the next attempt to give the source back (`Event::NotRemoved`).
        if !is_done
            && !cleanup.removes_copy
            && let Some(copy) = job.copy
        {
            cleanup.removes_copy = true;
            step.actions.push(Action::Remove(copy.id, "JobRouter aborted job".into()));
        }
        if step.runs(&job.source) {
            step.evicts(job.source_id, &job.source);
            job.source.set("JobStatus", JobStatus::IDLE);
        }
        step.ask(job, Action::Yield(job.source_id, is_done));
    }

    pub(super) fn yielded(
        &mut self,
        job: &mut RoutedJob,
        result: Result<(), YieldError>,
        step: &mut Step<'_>,
    ) {
        match (result, &job.state) {
            (Ok(()), State::Cleanup(cleanup)) => {
                let done = u8::from(cleanup.outcome.is_done());
                step.log(job, &format!("yielded job (done={done})"));
            }
            (Ok(()), _) => {}
            (Err(error), _) => {
                step.log(job, "failed to yield job");
                // Tried again at the next poll while the source is there.
                if error == YieldError::Unwritten && step.around.queue.job(job.source_id).is_some() {
                    return job.rest();
                }
            }
        }
        self.retire(job, step);
    }

    /// The source is nobody's business here any more.
    pub(super) fn retire(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        let outcome = match &job.state {
            State::Cleanup(cleanup) => cleanup.outcome,
            _ => Outcome::Interrupted,
        };
        if let Some(at) = self.table.find(&job.route) {
            match outcome {
                Outcome::Completed => {
                    self.states[at].ended(true);
                    self.paused.remove(&job.source_id);
                }
                Outcome::Unsuccessful | Outcome::Failed => self.states[at].ended(false),
                Outcome::Interrupted => {}
            }
        }
        step.log(job, "Cleaned up and removed routed job.");
        // A router looks for candidates before it forgets retired jobs, and its copy of the queue is a poll old: others get
        // the room of a job first. One that fails in the poll that has chosen it was never seen as claimed there.
        let is_unseen = job.chosen_in == self.polls && job.turn == Turn::Moving;
        let forgotten_at = if is_unseen { self.polls } else { self.polls + 1 };
        job.state = State::Retired { since: step.now, forgotten_at };
        job.rest();
    }

    /// Whether a job is retired and need not be remembered any more.
    pub(super) fn is_over(&self, job: &RoutedJob, step: &Step<'_>) -> bool {
        let State::Retired { since, forgotten_at } = job.state else { return false };
        if self.polls < forgotten_at {
            return false;
        }
        let source = step.around.queue.job(job.source_id).is_none_or(|ad| {
            step.string(&ad, "Managed") != "External" || step.string(&ad, "ManagedManager") != self.knobs.name
        });
        let copy = job.copy.is_none_or(|copy| {
            step.around.copies.job(copy.id).is_none_or(|ad| step.string(&ad, "RoutedBy") != self.knobs.name)
        });
        (source && copy) || step.now - since >= self.knobs.mirror_lag.as_secs() as i64
    }
}

/// Why a source is to be routed no longer, as the log says it; its removal is told to its user.
fn why_to_stop(id: JobId, queued: &ClassAd, step: &mut Step<'_>) -> Option<&'static str> {
    match step.int(queued, "JobStatus") {
        None => Some("cannot evaluate JobStatus in src job"),
        Some(JobStatus::REMOVED) => {
            let body = Body::Aborted(step.string(queued, "RemoveReason"));
            step.actions.push(Action::UserLog(id, Box::new(queued.clone()), body));
            Some("found src job marked for removal")
        }
        Some(JobStatus::HELD) if !is_hold_copied(queued, step.around.world) => Some("found src job on hold"),
        Some(_) => None,
    }
}

/// The attributes of a hook's answer, as changes.
pub(super) fn changes(answer: &ClassAd) -> Vec<(BString, Option<Expr>)> {
    answer.sorted().into_iter().map(|(name, expr)| (BString::from(name), Some(expr))).collect()
}
