//! Life cycle of routed jobs as a pure state machine: events in, actions out.
//!
//! Reference: `JobRouter.cpp` (Poll, TakeOverJob, SubmitJob, CheckSubmittedJobStatus, FinalizeJob,
//! CleanupJob, CleanupRetiredJob, AdoptOrphans). The result of each action that can fail comes back as an
//! event.

mod action;
mod copy_status;
mod event;
mod hooks;
mod orphans;
mod router;
mod router_step;
mod submission;

use std::mem::discriminant;

use bstr::BString;

use hooks::MAX_RETRY_PAUSE_SECONDS;
use router_step::RouterStep;

pub use action::{RouterAction, RouterHookCall};
pub use event::{CopyUpdateError, RouterEvent, RouterHookResult, YieldError};
pub use router::Router;
pub use router_step::{QueueView, RouterContext};
pub use submission::set_submission_attributes;

use super::limits::format_throttle;
use super::routed_job::{CopyVisibility, JobTurn, RoutedJob, RoutedJobOutcome, RoutedJobState, RoutingMode};
use super::{RouteChoice, RouteChooser, RouterParameters, RoutingState};
use htc_base::job::JobId;
use htc_base::time::ClockReading;
use htc_classad::ClassAd;
use htc_hook::HookType;

impl Router {
    /// Handles an event and returns the actions to carry out.
    pub fn handle_event(
        &mut self,
        now: ClockReading,
        event: RouterEvent,
        context: &RouterContext<'_>,
    ) -> Vec<RouterAction> {
        let mut step = RouterStep { now: now.epoch(), context, actions: Vec::new() };
        self.note_failure(&event);
        match event {
            RouterEvent::Poll => self.handle_poll(&mut step),
            RouterEvent::FinalPoll => {
                let due = self.jobs.iter().filter(|(_, job)| job.is_due());
                self.waiting_keys = due.map(|(key, _)| key.clone()).collect();
                self.advance_waiting_jobs(&mut step);
            }
            RouterEvent::PeriodicExpressionsDue => self.evaluate_periodic_expressions(&mut step),
            RouterEvent::ClaimResult(id, result) => {
                self.handle_for_job(id, &mut step, |router, job, step| {
                    router.handle_claim_result(job, result, step)
                });
            }
            RouterEvent::HookEnded(id, hook, result) => {
                self.handle_for_job(id, &mut step, |router, job, step| {
                    // The effects of the hook's output are applied now; the job's next state begins at the next poll.
                    job.turn = match result {
                        RouterHookResult::NotConfigured => JobTurn::Advancing,
                        RouterHookResult::Failed(_) | RouterHookResult::Ended(_) => JobTurn::WaitingForPoll,
                    };
                    router.handle_hook_result(job, hook, result, step);
                })
            }
            RouterEvent::SubmitResult(id, result) => {
                self.handle_for_job(id, &mut step, |_, job, step| match result {
                    Ok(copy) => submission::handle_submit_success(job, copy, step),
                    Err(reason) => submission::handle_submit_failure(job, None, &reason, step),
                })
            }
            RouterEvent::SpoolFailed(id, copy, reason) => {
                self.handle_for_job(id, &mut step, |_, job, step| {
                    submission::handle_submit_failure(job, Some(copy), &reason, step);
                })
            }
            RouterEvent::SubmitNotPrepared(id, reason) => {
                self.handle_for_job(id, &mut step, |_, job, step| {
                    step.log_for_job(job, &reason);
                    job.begin_cleanup(RoutedJobOutcome::Failed);
                })
            }
            RouterEvent::SubmitUncertain(id, reason) => {
                if let Some(job) = self.jobs.remove(&id.to_string()) {
                    step.log_for_job(&job, &format!("job may have been submitted: {reason}"));
                    if let Some(at) = self.table.index_of(&job.route) {
                        self.route_states[at].count_ended(false);
                    }
                }
                self.advance_waiting_jobs(&mut step);
            }
            RouterEvent::EditResult(id, result) => {
                self.handle_for_job(id, &mut step, |_, job, step| {
                    submission::handle_edit_result(job, result, step)
                });
            }
            RouterEvent::CopyUpdateResult(id, result) => {
                self.handle_for_job(id, &mut step, |router, job, step| {
                    router.handle_copy_update_result(job, result, step)
                });
            }
            RouterEvent::RemoveFailed(copy) => {
                for job in self.jobs.values_mut().filter(|job| job.copy_id() == Some(copy)) {
                    if let RoutedJobState::Cleanup(cleanup) = &mut job.state {
                        cleanup.removal_requested = false;
                    }
                }
            }
            RouterEvent::FinalizeResult(id, result) => {
                self.handle_for_job(id, &mut step, |router, job, step| {
                    router.handle_finalize_result(job, result, step)
                });
            }
            RouterEvent::YieldResult(id, result) => {
                self.handle_for_job(id, &mut step, |router, job, step| {
                    router.handle_yield_result(job, result, step)
                });
            }
        }
        step.actions
    }

    fn handle_claim_result(
        &mut self,
        job: &mut RoutedJob,
        result: Result<(), String>,
        step: &mut RouterStep<'_>,
    ) {
        match result {
            Ok(()) => {
                // Only the queue contains Managed and ManagedManager; hooks and routed jobs get the source ad as it was
                // before the claim.
                job.state = RoutedJobState::Claimed { silences: 0 };
                step.log_for_job(job, "claimed job");
            }
            Err(reason) => {
                step.log_for_job(job, &format!("could not be claimed: {reason}"));
                self.retire_job(job, step);
            }
        }
    }

    /// Handles an event that concerns one job, then advances the job unless it has to wait for the next poll.
    fn handle_for_job(
        &mut self,
        id: JobId,
        step: &mut RouterStep<'_>,
        handle: impl FnOnce(&mut Router, &mut RoutedJob, &mut RouterStep<'_>),
    ) {
        let key = id.to_string();
        let Some(mut job) = self.jobs.remove(&key) else { return };
        job.turn = match job.turn {
            JobTurn::Advancing | JobTurn::WaitingForQueue { then_advances: true } => JobTurn::Advancing,
            JobTurn::WaitingForPoll
            | JobTurn::WaitingForQueue { then_advances: false }
            | JobTurn::WaitingForHook => JobTurn::WaitingForPoll,
        };
        handle(self, &mut job, step);
        self.advance_job(&mut job, step);
        let asks = job.is_waiting_for_queue();
        // A retired job that waited for a hook is forgotten at the next poll, and is a candidate again at the poll
        // after that.
        if !self.can_forget(&job, step) {
            self.jobs.insert(key, job);
        }
        if !asks {
            self.advance_waiting_jobs(step);
        }
    }

    fn handle_poll(&mut self, step: &mut RouterStep<'_>) {
        self.poll_count += 1;
        if self.poll_count % 5 == 1 {
            self.adopt_orphans(step);
        }
        self.recount_jobs(step);
        self.add_candidates(step);
        self.waiting_keys = self.jobs.keys().cloned().collect();
        self.advance_waiting_jobs(step);
    }

    /// Advances the jobs that were not yet processed in this poll, one after the other. A job that waits for
    /// a reply of the queue blocks the jobs after it; a job that waits for a hook does not.
    fn advance_waiting_jobs(&mut self, step: &mut RouterStep<'_>) {
        while let Some(key) = self.waiting_keys.pop_front() {
            let Some(mut job) = self.jobs.remove(&key) else { continue };
            if matches!(job.turn, JobTurn::Advancing | JobTurn::WaitingForPoll) {
                job.turn = JobTurn::Advancing;
                self.advance_job(&mut job, step);
            }
            let asks = job.is_waiting_for_queue();
            if !self.can_forget(&job, step) {
                self.jobs.insert(key, job);
            }
            if asks {
                return;
            }
        }
    }

    fn recount_jobs(&mut self, step: &mut RouterStep<'_>) {
        for state in &mut self.route_states {
            (state.jobs, state.running) = (0, 0);
        }
        for job in self.jobs.values().filter(|job| !job.is_retired()) {
            if let Some(at) = self.table.index_of(&job.route) {
                self.route_states[at].jobs += 1;
                self.route_states[at].running += i64::from(job.is_running());
            }
        }
        for (route, state) in self.table.routes.iter().zip(&mut self.route_states) {
            if let Some((old, new)) =
                state.adjust_throttle(route.failure_rate_threshold, step.now, self.quirks)
            {
                let text = format!(
                    "JobRouter (route={}): adjusting throttle from {} to {}.",
                    route.name,
                    format_throttle(old),
                    format_throttle(new)
                );
                step.actions.push(RouterAction::Log(text));
            }
        }
    }

    pub(super) fn managed_count(&self) -> i64 {
        self.jobs.values().filter(|job| !job.is_retired()).count() as i64
    }

    fn add_candidates(&mut self, step: &mut RouterStep<'_>) {
        let mut managed = self.managed_count();
        let has_room = |managed: i64, parameters: &RouterParameters| {
            parameters.max_jobs < 0 || managed < parameters.max_jobs
        };
        if !self.table.enabled || !has_room(managed, &self.parameters) {
            return;
        }
        self.paused_sources.retain(|_, (_, until)| *until + MAX_RETRY_PAUSE_SECONDS > step.now);
        let world = step.context.world;
        let mut chooser = RouteChooser::new(&self.table, &self.parameters, None, world);
        let umbrella = match chooser.build_umbrella(&self.route_states) {
            Ok(Some(umbrella)) => umbrella,
            Ok(None) => return,
            Err(error) => {
                step.actions.push(RouterAction::Stop(error));
                return;
            }
        };
        let mut found = Vec::new();
        for id in step.context.queue.jobs() {
            if !has_room(managed, &self.parameters) {
                break;
            }
            let key = id.to_string();
            let paused = self.paused_sources.get(&id).is_some_and(|(_, until)| *until > step.now);
            if self.jobs.contains_key(&key) || paused {
                continue;
            }
            let Some(ad) = step.context.queue.job(id) else { continue };
            let rounds =
                RoutingState { route_states: &mut self.route_states, choices_made: &mut self.choices_made };
            match chooser.choose(&umbrella, &ad, rounds) {
                RouteChoice::Route(at) => {
                    let route = &self.table.routes[at];
                    let ad = ad.flattened_chain();
                    let routing = RoutingMode::from_route(route, &ad, world);
                    let job = RoutedJob::new(id, route.name.clone(), routing, ad, self.poll_count);
                    managed += 1;
                    found.push((key, job));
                }
                RouteChoice::AllFull => break,
                RouteChoice::NotCandidate | RouteChoice::NoRoute | RouteChoice::Stopped => {}
            }
        }
        for (key, job) in found {
            step.actions
                .push(RouterAction::Log(format!("JobRouter: Found candidate job {}", job.description())));
            self.jobs.insert(key, job);
        }
    }

    /// Advances a job through its states until it needs a reply or has to wait for the next poll.
    fn advance_job(&mut self, job: &mut RoutedJob, step: &mut RouterStep<'_>) {
        for _ in 0..8 {
            if job.turn != JobTurn::Advancing {
                return;
            }
            let before = discriminant(&job.state);
            match &job.state {
                RoutedJobState::Unclaimed if job.routing == RoutingMode::InPlace => {
                    job.state = RoutedJobState::Claimed { silences: 0 };
                }
                RoutedJobState::Unclaimed => step.request_action(job, RouterAction::Claim(job.source_id)),
                RoutedJobState::Claimed { .. } => self.start_translation(job, step),
                RoutedJobState::Submitted { .. } => match job.copy.map(|copy| copy.visibility) {
                    Some(CopyVisibility::Seen | CopyVisibility::Announced) => {
                        self.call_hook(job, HookType::RouterUpdateJobInfo, BString::default(), step);
                    }
                    Some(CopyVisibility::NotYet { .. }) | None => self.check_copy(job, &ClassAd::new(), step),
                },
                RoutedJobState::Finished => {
                    self.call_hook(job, HookType::JobFinalize, BString::default(), step)
                }
                RoutedJobState::Cleanup(cleanup) if cleanup.not_before > step.now => return,
                RoutedJobState::Cleanup(_) if job.copy_ad.is_empty() => self.release_source(job, step),
                RoutedJobState::Cleanup(_) => {
                    self.call_hook(job, HookType::JobCleanup, BString::default(), step)
                }
                RoutedJobState::Retired { .. } => return,
            }
            if discriminant(&job.state) == before {
                return;
            }
        }
    }
}
