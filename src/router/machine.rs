//! The router's life as a pure machine: what happens is an event, what is to be done an action.
//!
//! Reference: `JobRouter.cpp` (Poll, TakeOverJob, SubmitJob, CheckSubmittedJobStatus, FinalizeJob, CleanupJob,
//! CleanupRetiredJob, AdoptOrphans). Each action that can fail is answered by an event.

mod hooks;
mod orphans;
mod step;
mod submission;
mod watch;

use std::collections::{BTreeMap, VecDeque};
use std::mem::discriminant;

use bstr::BString;
use rustc_hash::FxHashMap;

use hooks::LONGEST_PAUSE;
use step::Step;

use super::choose::UmbrellaError;
use super::limits::throttle_text;
use super::routed_job::{Outcome, RoutedJob, Routing, Shown, State, Turn};
use super::{Choice, Chooser, HookVerdict, Knobs, Route, RouteState, RouteTable};
use crate::classad::{ClassAd, Expr};
use crate::config::MacroSource;
use crate::hook::{HookType, Knobs as HookKnobs};
use crate::job::JobId;
use crate::quirks::{Quirk, Quirks};
use crate::time::Now;
use crate::user_log::Body;
use crate::world::World;

/// The queue as the router sees it.
pub trait Queue {
    /// The ad of a job with its cluster's attributes.
    fn job(&self, id: JobId) -> Option<ClassAd>;
    /// All jobs in the order in which they entered.
    fn jobs(&self) -> Vec<JobId>;
}

/// What a step may look at.
pub struct Surroundings<'a> {
    /// The queue of the sources (SCHEDD1).
    pub queue: &'a dyn Queue,
    /// The queue of the copies (SCHEDD2): the same one where there is but one.
    pub copies: &'a dyn Queue,
    /// The configuration that `$(NAME)` of transforms falls back to.
    pub config: Option<&'a dyn MacroSource>,
    /// Where hooks and lists of attributes are configured.
    pub knobs: &'a dyn HookKnobs,
    /// What is outside; its clock stands at the time of the step.
    pub world: &'a dyn World,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The polling period is over.
    Poll,
    /// There will be no next poll: jobs whose next phase waits for one are dealt with now; no job is claimed.
    Settle,
    /// Periodic expressions of managed sources are due.
    Periodic,
    /// An answer to [`Action::Claim`]: whether the job is ours now.
    Claimed(JobId, Result<(), String>),
    /// A hook ended or could not be called.
    Hook(JobId, HookType, HookResult),
    /// An answer to [`Action::Submit`].
    Submitted(JobId, Result<JobId, String>),
    /// Another answer to it: nobody knows whether there is a copy, and why. The source stays claimed and is forgotten; its
    /// queue lists it no longer until somebody has looked.
    Unclear(JobId, String),
    /// A third: what has to be done before could not be done, such as copying a proxy, and why.
    Unprepared(JobId, String),
    /// A fourth: the files of the copy could not be spooled; the number that it had, and why.
    NotSpooled(JobId, JobId, String),
    /// An answer to [`Action::Edit`].
    Edited(JobId, Result<(), String>),
    /// An answer to [`Action::UpdateCopy`].
    CopyUpdated(JobId, Result<(), CopyError>),
    /// A copy, whose id it is, could not be removed ([`Action::Remove`]): it may be tried again.
    NotRemoved(JobId),
    /// An answer to [`Action::Finalize`].
    Finalized(JobId, Result<(), String>),
    /// An answer to [`Action::Yield`].
    Yielded(JobId, Result<(), YieldError>),
}

/// Why a source was not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YieldError {
    /// It is gone, or somebody else's: there is nothing to give back.
    #[error("the source is not ours")]
    NotOurs,
    /// It could not be written just now.
    #[error("the source could not be written")]
    Unwritten,
}

/// Why an answer does not stand in a copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The copy is gone, or its queue does not take the answer: the routing ends.
    #[error("{0}")]
    Refused(String),
    /// It could not be written just now: the copy goes on, and the hook answers again.
    #[error("{0}")]
    Unwritten(String),
}

/// What came of a hook.
#[derive(Debug)]
pub enum HookResult {
    /// There is none for this job.
    NotConfigured,
    /// It cannot be called, or was killed for taking too long.
    Failed(String),
    /// It ended.
    Ended(Box<HookVerdict>),
}

/// What is to be done. The id is the source's unless said otherwise.
#[derive(Debug)]
pub enum Action {
    /// Set Managed and ManagedManager if the job is idle and not managed.
    Claim(JobId),
    /// Call a hook.
    Hook {
        /// The source.
        source: JobId,
        /// Which.
        hook: HookType,
        /// What TRANSLATE_JOB is told of the route.
        route: BString,
        /// The source ad.
        source_ad: Box<ClassAd>,
        /// The routed ad.
        copy_ad: Box<ClassAd>,
        /// Whether the source is edited in place.
        in_place: bool,
    },
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

/// The router.
#[derive(Clone)]
pub struct Router {
    knobs: Knobs,
    table: RouteTable,
    states: Vec<RouteState>,
    jobs: BTreeMap<String, RoutedJob>,
    polls: u64,
    turn: u64,
    quirks: Quirks,
    /// Sources whose translation failed: how often, and when they may be tried again.
    paused: FxHashMap<JobId, (u32, i64)>,
    /// Keys of jobs whose hooks run, with the hooks; kept for the quirk alone.
    running: Vec<(String, HookType)>,
    /// Keys of the jobs whose turn has not come in this poll.
    turns: VecDeque<String>,
}

impl Router {
    /// A router that manages nothing yet.
    pub fn new(knobs: Knobs, table: RouteTable, quirks: Quirks, now: Now) -> Self {
        let states = vec![RouteState::new(now.epoch()); table.routes.len()];
        let (jobs, paused) = (BTreeMap::new(), FxHashMap::default());
        Router {
            knobs,
            table,
            states,
            jobs,
            polls: 0,
            turn: 0,
            quirks,
            paused,
            running: Vec::new(),
            turns: VecDeque::new(),
        }
    }

    /// The managed jobs, in the order of their keys as text.
    pub fn jobs(&self) -> impl Iterator<Item = &RoutedJob> {
        self.jobs.values()
    }

    /// The routes with their states.
    pub fn routes(&self) -> impl Iterator<Item = (&Route, &RouteState)> {
        self.table.routes.iter().zip(&self.states)
    }

    /// The router's parameters.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Whether the files of a source's copy are spooled.
    pub fn is_sandboxed(&self, source: JobId) -> bool {
        self.jobs.get(&source.to_string()).is_some_and(|job| job.routing == Routing::Spooled)
    }

    /// The managed job with this source.
    pub fn job(&self, source: JobId) -> Option<&RoutedJob> {
        self.jobs.get(&source.to_string())
    }

    /// The proxy that the route of a job lends to its copy, which gets a file of its own (`RoutedJob::PrepareSharedX509UserProxy`).
    pub fn lent_proxy(&self, job: &RoutedJob, world: &dyn World) -> Option<BString> {
        let route = &self.table.routes[self.table.find(&job.route)?];
        route.lent_proxy(&job.source, world).filter(|_| job.routing == Routing::Spooled)
    }

    /// Takes note of which tokens can be sent from now on: their names and files.
    pub fn set_tokens(&mut self, tokens: Vec<(BString, BString)>) {
        self.knobs.tokens = tokens;
    }

    /// Whether nothing is managed and no answer is awaited.
    pub fn is_idle(&self) -> bool {
        self.jobs.values().all(|job| job.is_retired() && job.turn == Turn::Resting)
    }

    /// Whether the next phase of a job waits for the next poll only because a hook has ended since the last.
    pub fn is_due(&self) -> bool {
        self.jobs.values().any(RoutedJob::is_due)
    }

    /// Takes in an event.
    pub fn step(&mut self, now: Now, event: Event, around: &Surroundings<'_>) -> Vec<Action> {
        let mut step = Step { now: now.epoch(), around, actions: Vec::new() };
        match event {
            Event::Poll => self.poll(&mut step),
            Event::Settle => {
                let due = self.jobs.iter().filter(|(_, job)| job.is_due());
                self.turns = due.map(|(key, _)| key.clone()).collect();
                self.go_on(&mut step);
            }
            Event::Periodic => self.periodic(&mut step),
            Event::Claimed(id, result) => self.with(id, &mut step, |router, job, step| match result {
                Ok(()) => {
                    // The mark stands in the queue alone: hooks and copies see the source as it was before.
                    job.state = State::Claimed { silences: 0 };
                    step.log(job, "claimed job");
                }
                Err(reason) => {
                    step.log(job, &format!("could not be claimed: {reason}"));
                    router.retire(job, step);
                }
            }),
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
            Event::Edited(id, result) => self.with(id, &mut step, |_, job, step| match result {
                Ok(()) => {
                    step.log(job, "Done editing job.");
                    job.ends(Outcome::Completed);
                }
                Err(reason) => {
                    step.log(job, &format!("Failed to edit job: {reason}"));
                    job.ends(Outcome::Failed);
                }
            }),
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
        // One that the end of a hook has retired is looked at again by the next poll: it is a candidate of the one after.
        if job.turn != Turn::Moving || !self.is_over(&job, step) {
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

    fn managed(&self) -> i64 {
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
            match chooser.choose(&umbrella, &ad, &mut self.states, &mut self.turn) {
                Choice::Route(at) => {
                    let route = &self.table.routes[at];
                    let ad = ad.flattened_chain();
                    let routing = Routing::of(route, &ad, world);
                    let job = RoutedJob::new(id, route.name.clone(), routing, ad);
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
                    Some(Shown::Seen | Shown::Told) => {
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
