//! The router's life as a pure machine: what happens is an event, what is to be done an action.
//!
//! Reference: `JobRouter.cpp` (Poll, TakeOverJob, SubmitJob, CheckSubmittedJobStatus, FinalizeJob, CleanupJob,
//! CleanupRetiredJob, AdoptOrphans). Each action that can fail is answered by an event.

mod action;
mod event;
mod hooks;
mod orphans;
mod router;
mod step;
mod submission;
mod watch;

use std::mem::discriminant;

use bstr::BString;

use hooks::LONGEST_PAUSE;
use step::Step;

pub use action::{Action, Call};
pub use event::{CopyError, Event, HookResult, YieldError};
pub use router::Router;
pub use step::{Queue, Surroundings};
pub use submission::note_submission;

use super::limits::throttle_text;
use super::routed_job::{Outcome, RoutedJob, Routing, Shown, State, Turn};
use super::{Choice, Chooser, Knobs, Rounds};
use htc_base::job::JobId;
use htc_base::time::Now;
use htc_classad::ClassAd;
use htc_hook::HookType;

impl Router {
    /// Takes in an event.
    pub fn step(&mut self, now: Now, event: Event, around: &Surroundings<'_>) -> Vec<Action> {
        let mut step = Step { now: now.epoch(), around, actions: Vec::new() };
        self.note_failure(&event);
        match event {
            Event::Poll => self.poll(&mut step),
            Event::Settle => {
                let due = self.jobs.iter().filter(|(_, job)| job.is_due());
                self.turns = due.map(|(key, _)| key.clone()).collect();
                self.go_on(&mut step);
            }
            Event::Periodic => self.periodic(&mut step),
            Event::Claimed(id, result) => {
                self.with(id, &mut step, |router, job, step| router.claim_answered(job, result, step));
            }
            Event::Hook(id, hook, result) => self.with(id, &mut step, |router, job, step| {
                // What the end of a hook leads to is carried through; the next state is begun by the next poll.
                job.turn = match result {
                    HookResult::NotConfigured => Turn::Moving,
                    HookResult::Failed(_) | HookResult::Ended(_) => Turn::Resting,
                };
                router.hooked(job, hook, result, step);
            }),
            Event::Submitted(id, result) => self.with(id, &mut step, |_, job, step| match result {
                Ok(copy) => submission::succeeded(job, copy, step),
                Err(reason) => submission::failed(job, None, &reason, step),
            }),
            Event::NotSpooled(id, copy, reason) => self.with(id, &mut step, |_, job, step| {
                submission::failed(job, Some(copy), &reason, step);
            }),
            Event::Unprepared(id, reason) => self.with(id, &mut step, |_, job, step| {
                step.log(job, &reason);
                job.ends(Outcome::Failed);
            }),
            Event::Unclear(id, reason) => {
                if let Some(job) = self.jobs.remove(&id.to_string()) {
                    step.log(&job, &format!("job may have been submitted: {reason}"));
                    if let Some(at) = self.table.find(&job.route) {
                        self.states[at].ended(false);
                    }
                }
                self.go_on(&mut step);
            }
            Event::Edited(id, result) => {
                self.with(id, &mut step, |_, job, step| submission::edited(job, result, step));
            }
            Event::CopyUpdated(id, result) => {
                self.with(id, &mut step, |router, job, step| router.copy_updated(job, result, step));
            }
            Event::NotRemoved(copy) => {
                for job in self.jobs.values_mut().filter(|job| job.copy_id() == Some(copy)) {
                    if let State::Cleanup(cleanup) = &mut job.state {
                        cleanup.removes_copy = false;
                    }
                }
            }
            Event::Finalized(id, result) => {
                self.with(id, &mut step, |router, job, step| router.finalized(job, result, step));
            }
            Event::Yielded(id, result) => {
                self.with(id, &mut step, |router, job, step| router.yielded(job, result, step));
            }
        }
        step.actions
    }

    fn claim_answered(&mut self, job: &mut RoutedJob, result: Result<(), String>, step: &mut Step<'_>) {
        match result {
            Ok(()) => {
                // The mark stands in the queue alone: hooks and copies see the source as it was before.
                job.state = State::Claimed { silences: 0 };
                step.log(job, "claimed job");
            }
            Err(reason) => {
                step.log(job, &format!("could not be claimed: {reason}"));
                self.retire(job, step);
            }
        }
    }

    /// Answers for one job, then does what it can do next, unless it is to rest until the next poll.
    fn with(
        &mut self,
        id: JobId,
        step: &mut Step<'_>,
        handle: impl FnOnce(&mut Router, &mut RoutedJob, &mut Step<'_>),
    ) {
        let key = id.to_string();
        let Some(mut job) = self.jobs.remove(&key) else { return };
        job.turn = match job.turn {
            Turn::Moving | Turn::Asking { then_moves: true } => Turn::Moving,
            Turn::Resting | Turn::Asking { then_moves: false } | Turn::Calling => Turn::Resting,
        };
        handle(self, &mut job, step);
        self.advance(&mut job, step);
        let asks = job.is_asking();
        // One that waited for a hook and has retired is forgotten by the next poll: it is a candidate of the one after.
        if !self.is_over(&job, step) {
            self.jobs.insert(key, job);
        }
        if !asks {
            self.go_on(step);
        }
    }

    fn poll(&mut self, step: &mut Step<'_>) {
        self.polls += 1;
        if self.polls % 5 == 1 {
            self.adopt(step);
        }
        self.recount(step);
        self.candidates(step);
        self.turns = self.jobs.keys().cloned().collect();
        self.go_on(step);
    }

    /// Goes on with the jobs whose turn has not come in this poll. They are dealt with one after the other: a job that asks the
    /// queue for something keeps the others waiting for the answer, one whose hook runs does not.
    fn go_on(&mut self, step: &mut Step<'_>) {
        while let Some(key) = self.turns.pop_front() {
            let Some(mut job) = self.jobs.remove(&key) else { continue };
            if matches!(job.turn, Turn::Moving | Turn::Resting) {
                job.turn = Turn::Moving;
                self.advance(&mut job, step);
            }
            let asks = job.is_asking();
            if !self.is_over(&job, step) {
                self.jobs.insert(key, job);
            }
            if asks {
                return;
            }
        }
    }

    fn recount(&mut self, step: &mut Step<'_>) {
        for state in &mut self.states {
            (state.jobs, state.running) = (0, 0);
        }
        for job in self.jobs.values().filter(|job| !job.is_retired()) {
            if let Some(at) = self.table.find(&job.route) {
                self.states[at].jobs += 1;
                self.states[at].running += i64::from(job.is_running());
            }
        }
        for (route, state) in self.table.routes.iter().zip(&mut self.states) {
            if let Some((old, new)) = state.adjust(route.failure_rate_threshold, step.now, self.quirks) {
                let text = format!(
                    "JobRouter (route={}): adjusting throttle from {} to {}.",
                    route.name,
                    throttle_text(old),
                    throttle_text(new)
                );
                step.actions.push(Action::Log(text));
            }
        }
    }

    pub(super) fn managed(&self) -> i64 {
        self.jobs.values().filter(|job| !job.is_retired()).count() as i64
    }

    fn candidates(&mut self, step: &mut Step<'_>) {
        let mut managed = self.managed();
        let room = |managed: i64, knobs: &Knobs| knobs.max_jobs < 0 || managed < knobs.max_jobs;
        if !self.table.enabled || !room(managed, &self.knobs) {
            return;
        }
        self.paused.retain(|_, (_, until)| *until + LONGEST_PAUSE > step.now);
        let world = step.around.world;
        let mut chooser = Chooser::new(&self.table, &self.knobs, None, world);
        let umbrella = match chooser.umbrella(&self.states) {
            Ok(Some(umbrella)) => umbrella,
            Ok(None) => return,
            Err(error) => {
                step.actions.push(Action::Stop(error));
                return;
            }
        };
        let mut found = Vec::new();
        for id in step.around.queue.jobs() {
            if !room(managed, &self.knobs) {
                break;
            }
            let key = id.to_string();
            let paused = self.paused.get(&id).is_some_and(|(_, until)| *until > step.now);
            if self.jobs.contains_key(&key) || paused {
                continue;
            }
            let Some(ad) = step.around.queue.job(id) else { continue };
            let rounds = Rounds { states: &mut self.states, turn: &mut self.turn };
            match chooser.choose(&umbrella, &ad, rounds) {
                Choice::Route(at) => {
                    let route = &self.table.routes[at];
                    let ad = ad.flattened_chain();
                    let routing = Routing::of(route, &ad, world);
                    let job = RoutedJob::new(id, route.name.clone(), routing, ad, self.polls);
                    managed += 1;
                    found.push((key, job));
                }
                Choice::AllFull => break,
                Choice::NotCandidate | Choice::NoRoute | Choice::Stopped => {}
            }
        }
        for (key, job) in found {
            step.actions.push(Action::Log(format!("JobRouter: Found candidate job {}", job.description())));
            self.jobs.insert(key, job);
        }
    }

    /// Does what a job can do now, one state after the other, until an answer is needed or it is to rest.
    fn advance(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        for _ in 0..8 {
            if job.turn != Turn::Moving {
                return;
            }
            let before = discriminant(&job.state);
            match &job.state {
                State::Unclaimed if job.routing == Routing::InPlace => {
                    job.state = State::Claimed { silences: 0 };
                }
                State::Unclaimed => step.ask(job, Action::Claim(job.source_id)),
                State::Claimed { .. } => self.claimed(job, step),
                State::Submitted { .. } => match job.copy.map(|copy| copy.shown) {
                    Some(Shown::Seen | Shown::Announced) => {
                        self.call(job, HookType::RouterUpdateJobInfo, BString::default(), step);
                    }
                    Some(Shown::NotYet { .. }) | None => self.check(job, &ClassAd::new(), step),
                },
                State::Finished => self.call(job, HookType::JobFinalize, BString::default(), step),
                State::Cleanup(cleanup) if cleanup.not_before > step.now => return,
                State::Cleanup(_) if job.copy_ad.is_empty() => self.release(job, step),
                State::Cleanup(_) => self.call(job, HookType::JobCleanup, BString::default(), step),
                State::Retired { .. } => return,
            }
            if discriminant(&job.state) == before {
                return;
            }
        }
    }
}
