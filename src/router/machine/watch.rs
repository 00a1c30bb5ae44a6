//! Watching a copy until it ends, and letting source and copy go (8.5 to 8.8).

use super::*;

impl Router {
    pub(super) fn check(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        self.check_with(job, None, step);
    }

    /// Looks at source and copy and takes the copy's state over (8.5). `update` is what a hook just wrote to the copy.
    pub(super) fn check_with(&mut self, job: &mut RoutedJob, update: Option<&ClassAd>, step: &mut Step<'_>) {
        let Some(queued) = step.around.queue.job(job.source_id).map(|ad| ad.flattened_chain()) else {
            step.log(job, "failed to find src ad in job collection mirror.");
            job.interrupted = true;
            job.phase = Phase::Cleanup;
            return;
        };
        let status = step.int(&queued, "JobStatus");
        let stop = match status {
            None => Some("cannot evaluate JobStatus in src job"),
            Some(JobStatus::REMOVED) => {
                step.actions.push(Action::UserLog(
                    job.source_id,
                    Box::new(queued.clone()),
                    Body::Aborted(step.string(&queued, "RemoveReason")),
                ));
                Some("found src job marked for removal")
            }
            Some(JobStatus::HELD) if !is_hold_copied(&queued, step.around.world) => {
                Some("found src job on hold")
            }
            _ => None,
        };
        if let Some(text) = stop {
            step.log(job, text);
            job.interrupted = true;
            job.phase = Phase::Cleanup;
            return;
        }
        let copy = job.copy_id.and_then(|id| step.around.copies.job(id));
        let Some(mut copy) = copy.map(|ad| ad.flattened_chain()) else {
            if job.seen {
                step.log(job, "dest job was removed!");
                job.phase = Phase::Cleanup;
            } else if step.now - job.since > self.knobs.mirror_lag.as_secs() as i64 {
                step.log(job, "giving up, because submitted job is still not in job queue mirror");
                job.phase = Phase::Cleanup;
            }
            // Otherwise it is still to appear.
            step.parked = true;
            return;
        };
        if let Some(update) = update {
            copy.update(update);
        }
        job.copy = copy;
        job.seen = true;
        let attributes = keyword::router(&job.source, step.around.knobs, step.around.world)
            .keyword
            .and_then(|keyword| step.around.knobs.get(&[keyword.as_slice(), b"_ATTRS_TO_COPY"].concat()))
            .unwrap_or_default();
        let extra = Extra { attributes: &attributes, chirp: &self.knobs.chirp_prefix };
        let world = step.around.world;
        match mirror(&queued, &job.copy, &mut job.source, extra, step.now, world) {
            Err(error) => step.log(job, &format!("failed to update job status: {error}")),
            Ok(mut mirrored) => {
                match mirrored.told {
                    Some(Told::Execute) => match self.quirks.has(Quirk::ExecuteEventFormerCopy) {
                        true => step.executes(job.source_id, &queued),
                        false => step.executes(job.source_id, &job.source),
                    },
                    Some(Told::Evict) => step.evicts(job),
                    None => {}
                }
                // The first look tells the source which job is its copy; a former one may still stand there.
                if let Some(expr) = job.source.get("RoutedToJobId")
                    && queued.get("RoutedToJobId").as_ref() != Some(&expr)
                    && !job.told
                {
                    job.told = true;
                    mirrored.changes.push(("RoutedToJobId".into(), Some(expr)));
                }
                if !mirrored.changes.is_empty() {
                    step.actions.push(Action::Update(job.source_id, mirrored.changes));
                    step.log(job, "updated job status");
                }
            }
        }
        let Some(status) = step.int(&job.copy, "JobStatus") else {
            step.log(job, "cannot evaluate JobStatus in target job");
            job.phase = Phase::Cleanup;
            return;
        };
        job.running = status == JobStatus::RUNNING || status == JobStatus::TRANSFERRING_OUTPUT;
        if status == JobStatus::COMPLETED && step.int(&job.copy, "JobFinishedHookDone").unwrap_or(0) != 0 {
            step.log(job, "found target job finished");
            job.phase = Phase::Finished;
        } else {
            // Looked at again at the next poll.
            step.parked = true;
        }
    }

    pub(super) fn finalized(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        let body = step.ending(&job.source);
        step.actions.push(Action::UserLog(job.source_id, Box::new(job.source.clone()), body));
        step.log(job, "finalized job");
        job.done = true;
        let failed = self
            .table
            .find(&job.route)
            .is_some_and(|at| self.table.routes[at].job_failure_test.truth(&job.source, step.around.world));
        job.success = !failed;
        if failed {
            step.log(job, "JobFailureTest is true, so job will count as a failure");
        }
    }

    /// A failed finalize hook: the source is to be routed again.
    pub(super) fn reroute(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        if self.quirks.has(Quirk::FinalizeRerouteLost) {
            // The queue keeps it completed: it leaves as that.
            job.phase = Phase::Cleanup;
            return;
        }
        step.set_idle(job);
        job.phase = Phase::Cleanup;
    }

    pub(super) fn clean(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        // A removal that fails is tried again with the next attempt to give the source back (`Event::NotRemoved`).
        if !job.done
            && job.claimed
            && !job.copy_removed
            && let Some(copy) = job.copy_id
        {
            job.copy_removed = true;
            step.actions.push(Action::Remove(copy, "JobRouter aborted job".into()));
        }
        if job.claimed {
            if matches!(
                step.int(&job.source, "JobStatus"),
                Some(JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT)
            ) {
                step.evicts(job);
                job.source.set("JobStatus", JobStatus::IDLE);
            }
            step.ask(job, Action::Yield(job.source_id, job.done));
            return;
        }
        if let Some(at) = self.table.find(&job.route) {
            if job.success {
                self.states[at].ended(true);
                self.paused.remove(&job.source_id);
            } else if !job.interrupted {
                self.states[at].ended(false);
            }
        }
        step.log(job, "Cleaned up and removed routed job.");
        job.phase = Phase::Retired;
        job.since = step.now;
        job.route.clear();
    }

    /// Whether a retired job need not be remembered any more.
    pub(super) fn is_over(&self, job: &RoutedJob, step: &Step<'_>) -> bool {
        let source = step.around.queue.job(job.source_id).is_none_or(|ad| {
            step.string(&ad, "Managed") != "External" || step.string(&ad, "ManagedManager") != self.knobs.name
        });
        let copy = job.copy_id.is_none_or(|id| {
            step.around.copies.job(id).is_none_or(|ad| step.string(&ad, "RoutedBy") != self.knobs.name)
        });
        (source && copy) || step.now - job.since >= self.knobs.mirror_lag.as_secs() as i64
    }
}
