//! The router's life as a pure machine: what happens is an event, what is to be done an action.
//!
//! Reference: `JobRouter.cpp` (Poll, TakeOverJob, SubmitJob, CheckSubmittedJobStatus, FinalizeJob, CleanupJob,
//! CleanupRetiredJob, AdoptOrphans); router.md 8 to 10. Each action that can fail is answered by an event.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use super::mirror::{Extra, Told, is_hold_copied, mirror};
use super::routed_job::{Phase, RoutedJob};
use super::translate::{Unwatched, difference};
use super::{
    Choice, Chooser, HookDecision, HookVerdict, Knobs, RouteState, RouteTable, TranslateError, Translator,
};
use crate::classad::{ClassAd, Context, Expr};
use crate::config::MacroSource;
use crate::hook::{HookType, Knobs as HookKnobs, keyword};
use crate::job::JobId;
use crate::quirks::{Quirk, Quirks};
use crate::time::Now;
use crate::user_log::{Body, Ending, Evicted, Share, Terminated};
use crate::world::World;

const IDLE: i64 = 1;
const RUNNING: i64 = 2;
const REMOVED: i64 = 3;
const COMPLETED: i64 = 4;
const HELD: i64 = 5;
const TRANSFERRING_OUTPUT: i64 = 6;

/// After so many failures of a cleanup hook its job is released all the same.
const CLEANUP_TRIES: u32 = 5;
/// The longest pause before a failed translation is tried again, in seconds.
const LONGEST_PAUSE: i64 = 3600;

/// The queue as the router sees it.
pub trait Queue {
    /// The ad of a job with its cluster's attributes.
    fn job(&self, id: JobId) -> Option<ClassAd>;
    /// All jobs in the order in which they entered.
    fn jobs(&self) -> Vec<JobId>;
}

/// What a step may look at.
pub struct Surroundings<'a> {
    /// The queue; one for sources and copies.
    pub queue: &'a dyn Queue,
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
    /// Periodic expressions of managed sources are due.
    Periodic,
    /// An answer to [`Action::Claim`]: whether the job is ours now.
    Claimed(JobId, Result<(), String>),
    /// A hook ended or could not be called.
    Hook(JobId, HookType, HookResult),
    /// An answer to [`Action::Submit`].
    Submitted(JobId, Result<JobId, String>),
    /// An answer to [`Action::Edit`].
    Edited(JobId, Result<(), String>),
    /// An answer to [`Action::Finalize`].
    Finalized(JobId, Result<(), String>),
    /// An answer to [`Action::Yield`]; an error with false need not be tried again.
    Yielded(JobId, Result<(), bool>),
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
    /// Set attributes of any job, source or copy; JobStatus only if the queue's is neither removed nor completed.
    Update(JobId, Vec<(BString, Option<Expr>)>),
    /// Let the copy leave its queue: the first id is the source's.
    Finalize(JobId, JobId),
    /// Remove a copy, with the reason.
    Remove(JobId, String),
    /// Give the source back: done or not.
    Yield(JobId, bool),
    /// Write to a job's user log.
    UserLog(JobId, Box<ClassAd>, Body),
    /// Say what happened.
    Log(String),
    /// 25.14 aborts here.
    Abort(String),
}

/// The router.
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
}

impl Router {
    /// A router that manages nothing yet.
    pub fn new(knobs: Knobs, table: RouteTable, quirks: Quirks, now: Now) -> Self {
        let states = vec![RouteState::new(now.epoch()); table.routes.len()];
        let (jobs, paused) = (BTreeMap::new(), FxHashMap::default());
        Router { knobs, table, states, jobs, polls: 0, turn: 0, quirks, paused }
    }

    /// The managed jobs, in the order of their keys as text.
    pub fn jobs(&self) -> impl Iterator<Item = &RoutedJob> {
        self.jobs.values()
    }

    /// The routes with their states.
    pub fn routes(&self) -> impl Iterator<Item = (&super::Route, &RouteState)> {
        self.table.routes.iter().zip(&self.states)
    }

    /// The router's parameters.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Whether nothing is managed and no answer is awaited.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether an answer is awaited.
    pub fn is_waiting(&self) -> bool {
        self.jobs.values().any(|job| job.waiting)
    }

    /// Takes in an event.
    pub fn step(&mut self, now: Now, event: Event, around: &Surroundings<'_>) -> Vec<Action> {
        let mut step = Step { now: now.epoch(), around, actions: Vec::new(), parked: false };
        match event {
            Event::Poll => self.poll(&mut step),
            Event::Periodic => self.periodic(&mut step),
            Event::Claimed(id, result) => self.with(id, &mut step, |router, job, step| match result {
                Ok(()) => {
                    job.claimed = true;
                    job.source.set("Managed", "External");
                    job.source.set("ManagedManager", router.knobs.name.clone());
                    job.phase = Phase::Claimed;
                    step.log(job, "claimed job");
                }
                Err(reason) => {
                    step.log(job, &format!("could not be claimed: {reason}"));
                    job.interrupted = true;
                    job.phase = Phase::Cleanup;
                }
            }),
            Event::Hook(id, hook, result) => {
                self.with(id, &mut step, |router, job, step| router.hooked(job, hook, result, step));
            }
            Event::Submitted(id, result) => self.with(id, &mut step, |_, job, step| match result {
                Ok(copy) => {
                    job.copy_id = Some(copy);
                    job.source.set("RoutedToJobId", copy.to_string().as_str());
                    job.phase = Phase::Submitted;
                    job.since = step.now;
                    step.log(job, "submitted job");
                    // What the copy does is looked at in the next poll.
                    step.parked = true;
                }
                Err(reason) => {
                    step.log(job, &format!("failed to submit job: {reason}"));
                    job.phase = Phase::Cleanup;
                }
            }),
            Event::Edited(id, result) => self.with(id, &mut step, |_, job, step| {
                match result {
                    Ok(()) => {
                        (job.success, job.done) = (true, true);
                        step.log(job, "Done editing job.");
                    }
                    Err(reason) => step.log(job, &format!("Failed to edit job: {reason}")),
                }
                job.phase = Phase::Cleanup;
            }),
            Event::Finalized(id, result) => self.with(id, &mut step, |router, job, step| {
                match result {
                    Ok(()) => router.finalized(job, step),
                    Err(reason) => {
                        step.log(job, &format!("failed to finalize job: {reason}"));
                        step.set_idle(job);
                    }
                }
                job.phase = Phase::Cleanup;
            }),
            Event::Yielded(id, result) => self.with(id, &mut step, |router, job, step| match result {
                Ok(()) => {
                    job.claimed = false;
                    step.log(job, "yielded job");
                    router.clean(job, step);
                }
                Err(again) => {
                    step.log(job, "failed to yield job");
                    // Tried again at the next poll while the source is there.
                    if again && step.around.queue.job(job.source_id).is_some() {
                        step.parked = true;
                    } else {
                        job.claimed = false;
                        router.clean(job, step);
                    }
                }
            }),
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
        job.waiting = false;
        step.parked = false;
        handle(self, &mut job, step);
        if !job.waiting && !step.parked {
            self.advance(&mut job, step);
        }
        if job.phase != Phase::Retired || !self.is_over(&job, step) {
            self.jobs.insert(key, job);
        }
    }

    fn poll(&mut self, step: &mut Step<'_>) {
        self.polls += 1;
        if self.polls % 5 == 1 {
            self.adopt(step);
        }
        self.recount(step);
        self.candidates(step);
        let keys: Vec<String> = self.jobs.keys().cloned().collect();
        for key in keys {
            let Some(mut job) = self.jobs.remove(&key) else { continue };
            step.parked = false;
            if !job.waiting {
                self.advance(&mut job, step);
            }
            if job.phase != Phase::Retired || !self.is_over(&job, step) {
                self.jobs.insert(key, job);
            }
        }
    }

    fn recount(&mut self, step: &mut Step<'_>) {
        for state in &mut self.states {
            (state.jobs, state.running) = (0, 0);
        }
        for job in self.jobs.values() {
            if let Some(at) = self.table.find(&job.route).filter(|_| !job.route.is_empty()) {
                self.states[at].jobs += 1;
                self.states[at].running += i64::from(job.running);
            }
        }
        for (route, state) in self.table.routes.iter().zip(&mut self.states) {
            if let Some((old, new)) = state.adjust(route.failure_rate_threshold, step.now, self.quirks) {
                let text = format!(
                    "JobRouter (route={}): adjusting throttle from {} to {}.",
                    route.name,
                    super::limits::throttle_text(old),
                    super::limits::throttle_text(new)
                );
                step.actions.push(Action::Log(text));
            }
        }
    }

    fn managed(&self) -> i64 {
        self.jobs.values().filter(|job| job.phase != Phase::Retired).count() as i64
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
                step.actions.push(Action::Abort(error.to_string()));
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
                    let mut job = RoutedJob::new(id, route.name.clone(), ad);
                    job.sandboxed = route.job_should_be_sandboxed.truth(&job.source, world);
                    job.in_place = route.edit_job_in_place.truth(&job.source, world);
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

    /// Does what a job can do now, one phase after the other, until an answer is needed.
    fn advance(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        for _ in 0..8 {
            let before = job.phase;
            match job.phase {
                Phase::Unclaimed if job.in_place => job.phase = Phase::Claimed,
                Phase::Unclaimed => step.ask(job, Action::Claim(job.source_id)),
                Phase::Claimed => self.claimed(job, step),
                Phase::Submitted if job.seen => {
                    step.hook(job, HookType::RouterUpdateJobInfo, BString::default())
                }
                Phase::Submitted => self.check(job, step),
                Phase::Finished => step.hook(job, HookType::JobFinalize, BString::default()),
                Phase::Cleanup if job.not_before > step.now => return,
                Phase::Cleanup if job.copy.is_empty() => self.clean(job, step),
                Phase::Cleanup => step.hook(job, HookType::JobCleanup, BString::default()),
                Phase::Retired => return,
            }
            if job.waiting || step.parked || job.phase == before {
                return;
            }
        }
    }

    fn claimed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        // A source that is removed meanwhile is let go.
        let removed =
            step.around.queue.job(job.source_id).is_none_or(|ad| step.int(&ad, "JobStatus") == Some(REMOVED));
        if removed && !self.quirks.has(Quirk::SourceRemovalUnseen) {
            job.interrupted = true;
            job.phase = Phase::Cleanup;
            return;
        }
        if job.not_before > step.now {
            return;
        }
        match self.table.find(&job.route) {
            Some(at) => {
                let description = self.table.routes[at].description();
                step.hook(job, HookType::TranslateJob, description);
            }
            None => {
                step.log(job, "route has been removed before job could be submitted.");
                job.phase = Phase::Cleanup;
            }
        }
    }

    fn hooked(&mut self, job: &mut RoutedJob, hook: HookType, result: HookResult, step: &mut Step<'_>) {
        let verdict = match result {
            HookResult::NotConfigured => None,
            HookResult::Failed(reason) => {
                step.log(job, &format!("{}: {reason}", hook.name()));
                match hook {
                    HookType::TranslateJob => self.translation_failed(job, step),
                    HookType::RouterUpdateJobInfo => self.check(job, step),
                    HookType::JobFinalize => self.reroute(job, step),
                    _ => self.cleanup_failed(job, step),
                }
                return;
            }
            HookResult::Ended(verdict) => Some(*verdict),
        };
        if let Some(verdict) = &verdict {
            let reason =
                if verdict.reason.is_empty() { String::new() } else { format!(" ({})", verdict.reason) };
            step.log(job, &format!("{}: {}{reason}", hook.name(), verdict.decision.word()));
        }
        let decision = verdict.as_ref().map(|verdict| verdict.decision);
        let answer = verdict.map(|verdict| verdict.answer);
        match hook {
            HookType::TranslateJob => match decision {
                None => self.make(job, job.source.clone(), step),
                Some(HookDecision::Routed | HookDecision::Edited) => {
                    self.make(job, answer.unwrap_or_default(), step);
                }
                Some(HookDecision::Stuck) => {
                    job.silences += 1;
                    if job.silences >= 2 && !self.quirks.has(Quirk::TranslateSilenceLoops) {
                        self.translation_failed(job, step);
                    } else {
                        // Asked again at the next poll.
                        step.parked = true;
                    }
                }
                Some(HookDecision::RouterAbort) => {
                    step.actions.push(Action::Abort("VanillaToGrid: job ad lacks universe".into()));
                }
                Some(_) => self.translation_failed(job, step),
            },
            HookType::RouterUpdateJobInfo => match decision {
                Some(HookDecision::Dropped) => job.phase = Phase::Cleanup,
                Some(HookDecision::Failed) if self.quirks.has(Quirk::UpdateFailureFreezes) => {
                    step.parked = true
                }
                Some(HookDecision::Updated) => {
                    let answer = answer.unwrap_or_default();
                    let changes: Vec<_> =
                        answer.sorted().into_iter().map(|(name, expr)| (name.into(), Some(expr))).collect();
                    if let Some(copy) = job.copy_id {
                        step.actions.push(Action::Update(copy, changes));
                    }
                    job.copy.update(&answer);
                    self.check_with(job, Some(&answer), step);
                }
                _ => self.check(job, step),
            },
            HookType::JobFinalize => match decision {
                None | Some(HookDecision::Finalized) => {
                    let answer = answer.unwrap_or_default();
                    let changes: Vec<_> = answer
                        .sorted()
                        .into_iter()
                        .map(|(name, expr)| (BString::from(name), Some(expr)))
                        .collect();
                    job.source.update(&answer);
                    if !changes.is_empty() {
                        step.actions.push(Action::Update(job.source_id, changes));
                    }
                    match job.copy_id {
                        Some(copy) => step.ask(job, Action::Finalize(job.source_id, copy)),
                        None => job.phase = Phase::Cleanup,
                    }
                }
                Some(_) => self.reroute(job, step),
            },
            _ => match decision {
                Some(HookDecision::Failed) => self.cleanup_failed(job, step),
                _ => self.clean(job, step),
            },
        }
    }

    fn cleanup_failed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        job.cleanup_failures += 1;
        if self.quirks.has(Quirk::CleanupFailureKeepsJob) {
            step.parked = true;
        } else if job.cleanup_failures >= CLEANUP_TRIES {
            step.log(job, "cleanup hook keeps failing, the job is released all the same");
            self.clean(job, step);
        } else {
            let pause = self.knobs.polling_period.as_secs() as i64;
            job.not_before = step.now + (pause << job.cleanup_failures.min(10)).min(LONGEST_PAUSE);
            step.parked = true;
        }
    }

    fn translation_failed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        if !self.quirks.has(Quirk::TranslateFailureNoBackoff) {
            let pause = (self.knobs.polling_period.as_secs() as i64).max(1);
            let (failures, until) = self.paused.entry(job.source_id).or_default();
            *failures += 1;
            *until = step.now + (pause << (*failures).min(10)).min(LONGEST_PAUSE);
        }
        job.phase = Phase::Cleanup;
    }

    /// Makes the copy, or edits the source.
    fn make(&mut self, job: &mut RoutedJob, mut ad: ClassAd, step: &mut Step<'_>) {
        let Some(at) = self.table.find(&job.route) else {
            job.phase = Phase::Cleanup;
            return;
        };
        let route = &self.table.routes[at];
        let translator = Translator {
            table: &self.table,
            knobs: &self.knobs,
            config: step.around.config,
            world: step.around.world,
            quirks: self.quirks,
        };
        let key = job.source_id.to_string();
        let made = match job.in_place {
            true => translator.apply(route, &mut ad, &mut Unwatched::default()),
            false => {
                translator.copy(route, &job.source, &key, job.sandboxed, &mut ad, &mut Unwatched::default())
            }
        };
        match made {
            Err(TranslateError::NoUniverse) if self.quirks.has(Quirk::RouterAbortsNoUniverse) => {
                step.actions.push(Action::Abort("VanillaToGrid: job ad lacks universe".into()));
            }
            Err(error) => {
                let text = error.reference_text(&job.description(), route.name.as_bstr());
                step.actions.push(Action::Log(text));
                self.translation_failed(job, step);
            }
            Ok(()) if job.in_place => {
                let changes = difference(&job.source, &ad);
                step.ask(job, Action::Edit(job.source_id, changes));
            }
            Ok(()) if !job.source.contains("Owner") => job.phase = Phase::Cleanup,
            Ok(()) => {
                job.copy = ad.clone();
                step.ask(job, Action::Submit(job.source_id, Box::new(ad)));
            }
        }
    }

    fn check(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        self.check_with(job, None, step);
    }

    /// Looks at source and copy and takes the copy's state over (8.5). `update` is what a hook just wrote to the copy.
    fn check_with(&mut self, job: &mut RoutedJob, update: Option<&ClassAd>, step: &mut Step<'_>) {
        let Some(queued) = step.around.queue.job(job.source_id).map(|ad| ad.flattened_chain()) else {
            step.log(job, "failed to find src ad in job collection mirror.");
            job.interrupted = true;
            job.phase = Phase::Cleanup;
            return;
        };
        let status = step.int(&queued, "JobStatus");
        let stop = match status {
            None => Some("cannot evaluate JobStatus in src job"),
            Some(REMOVED) => {
                step.actions.push(Action::UserLog(
                    job.source_id,
                    Box::new(queued.clone()),
                    Body::Aborted(step.string(&queued, "RemoveReason")),
                ));
                Some("found src job marked for removal")
            }
            Some(HELD) if !is_hold_copied(&queued, step.around.world) => Some("found src job on hold"),
            _ => None,
        };
        if let Some(text) = stop {
            step.log(job, text);
            job.interrupted = true;
            job.phase = Phase::Cleanup;
            return;
        }
        let copy = job.copy_id.and_then(|id| step.around.queue.job(id));
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
                    Some(Told::Execute) => step.executes(job),
                    Some(Told::Evict) => step.evicts(job),
                    None => {}
                }
                // The first look tells the source which job is its copy.
                if !queued.contains("RoutedToJobId")
                    && let Some(expr) = job.source.get("RoutedToJobId")
                {
                    mirrored.changes.push(("RoutedToJobId".into(), Some(expr)));
                }
                if !mirrored.changes.is_empty() {
                    step.actions.push(Action::Update(job.source_id, mirrored.changes));
                }
            }
        }
        let Some(status) = step.int(&job.copy, "JobStatus") else {
            step.log(job, "cannot evaluate JobStatus in target job");
            job.phase = Phase::Cleanup;
            return;
        };
        job.running = status == RUNNING || status == TRANSFERRING_OUTPUT;
        if status == COMPLETED && step.int(&job.copy, "JobFinishedHookDone").unwrap_or(0) != 0 {
            step.log(job, "found target job finished");
            job.phase = Phase::Finished;
        } else {
            // Looked at again at the next poll.
            step.parked = true;
        }
    }

    fn finalized(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
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
    fn reroute(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        if self.quirks.has(Quirk::FinalizeRerouteLost) {
            // The queue keeps it completed: it leaves as that.
            job.phase = Phase::Cleanup;
            return;
        }
        step.set_idle(job);
        job.phase = Phase::Cleanup;
    }

    fn clean(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        if !job.done
            && !job.copy_removed
            && let Some(copy) = job.copy_id
        {
            job.copy_removed = true;
            step.actions.push(Action::Remove(copy, "JobRouter aborted job".into()));
        }
        if job.claimed {
            if matches!(step.int(&job.source, "JobStatus"), Some(RUNNING | TRANSFERRING_OUTPUT)) {
                step.evicts(job);
                job.source.set("JobStatus", IDLE);
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
    fn is_over(&self, job: &RoutedJob, step: &Step<'_>) -> bool {
        let source = step.around.queue.job(job.source_id).is_none_or(|ad| {
            step.string(&ad, "Managed") != "External" || step.string(&ad, "ManagedManager") != self.knobs.name
        });
        let copy = job.copy_id.is_none_or(|id| {
            step.around.queue.job(id).is_none_or(|ad| step.string(&ad, "RoutedBy") != self.knobs.name)
        });
        (source && copy) || step.now - job.since >= self.knobs.mirror_lag.as_secs() as i64
    }

    /// Takes up jobs of a former life (8.8).
    fn adopt(&mut self, step: &mut Step<'_>) {
        let name = self.knobs.name.clone();
        let ids = step.around.queue.jobs();
        for &id in &ids {
            let Some(copy) = step.around.queue.job(id) else { continue };
            if step.string(&copy, "RoutedBy") != name || !copy.contains("Owner") {
                continue;
            }
            let (from, route) = (step.string(&copy, "RoutedFromJobId"), step.string(&copy, "RouteName"));
            let Some(source_id) = JobId::parse_key(&from).filter(|_| !route.is_empty()) else { continue };
            let key = source_id.to_string();
            match self.jobs.get(&key) {
                Some(known) if known.copy_id.is_none_or(|known| known == id) => continue,
                _ => {}
            }
            let source = step.around.queue.job(source_id);
            let ours = source.as_ref().is_some_and(|_| !self.jobs.contains_key(&key));
            let (Some(source), true) = (source, ours) else {
                let text = format!("JobRouter (src={from},dest={id}): removing orphaned destination job");
                step.actions.push(Action::Log(text));
                step.actions.push(Action::Remove(id, "JobRouter orphan".into()));
                continue;
            };
            let mut job = RoutedJob::new(source_id, route, source.flattened_chain());
            job.phase = Phase::Submitted;
            job.copy_id = Some(id);
            job.claimed = true;
            job.seen = true;
            job.since = step.now;
            job.sandboxed = copy.contains("SUBMIT_Iwd");
            job.copy = copy.flattened_chain();
            job.source.set("RoutedToJobId", id.to_string().as_str());
            step.log(&job, "adopted orphaned job (from previous run?)");
            self.jobs.insert(key, job);
        }
        for id in ids {
            let key = id.to_string();
            if self.jobs.contains_key(&key) {
                continue;
            }
            let Some(ad) = step.around.queue.job(id) else { continue };
            if step.string(&ad, "Managed") != "External"
                || step.string(&ad, "ManagedManager") != name
                || !ad.contains("Owner")
            {
                continue;
            }
            // A copy carries its source's claim; what it is a copy of tells the two apart.
            if step.string(&ad, "RoutedBy") == name {
                continue;
            }
            let mut job = RoutedJob::new(id, BString::default(), ad.flattened_chain());
            step.log(&job, "found orphan with no routed destination job; yielding management of it.");
            job.claimed = true;
            job.interrupted = true;
            job.phase = Phase::Cleanup;
            self.jobs.insert(key, job);
        }
    }

    /// Evaluates the periodic expressions of managed sources (10.1).
    fn periodic(&mut self, step: &mut Step<'_>) {
        for job in self.jobs.values_mut().filter(|job| job.phase != Phase::Retired) {
            let status = step.int(&job.source, "JobStatus").unwrap_or(IDLE);
            if let Some(queued) = step.around.queue.job(job.source_id)
                && let Some(timer) = step.int(&queued, "TimerRemove")
            {
                job.source.set("TimerRemove", timer);
            }
            let context = Context::new(step.around.world).my(&job.source);
            let fired = |name: &str| context.boolean(name) == Some(true);
            let text = |name: &str| {
                let expr = job.source.get(name).map(|expr| expr.unparse()).unwrap_or_default();
                format!("The job attribute {name} expression '{expr}' evaluated to TRUE")
            };
            let reason = |name: &str| {
                context
                    .string(format!("{name}Reason"))
                    .filter(|reason| !reason.is_empty())
                    .unwrap_or_else(|| text(name).into())
            };
            let timer = context.int("TimerRemove").filter(|&at| at >= 0 && at < step.now);
            if timer.is_some() || fired("PeriodicRemove") {
                if status != REMOVED {
                    let reason =
                        if timer.is_some() { text("TimerRemove").into() } else { reason("PeriodicRemove") };
                    let changes = vec![
                        ("JobStatus".into(), Some(Expr::literal(REMOVED))),
                        ("EnteredCurrentStatus".into(), Some(Expr::literal(step.now))),
                        ("RemoveReason".into(), Some(Expr::literal(reason))),
                    ];
                    step.actions.push(Action::Update(job.source_id, changes));
                }
            } else if fired("PeriodicHold") && ![HELD, REMOVED, COMPLETED].contains(&status) {
                let reason = reason("PeriodicHold");
                let subcode = context.int("PeriodicHoldSubCode").unwrap_or(0);
                let holds = context.int("NumSystemHolds").unwrap_or(0);
                let mut changes: Vec<(BString, Option<Expr>)> = vec![
                    ("JobStatus".into(), Some(Expr::literal(HELD))),
                    ("EnteredCurrentStatus".into(), Some(Expr::literal(step.now))),
                    ("HoldReason".into(), Some(Expr::literal(reason.clone()))),
                    ("HoldReasonCode".into(), Some(Expr::literal(3))),
                    ("HoldReasonSubCode".into(), Some(Expr::literal(subcode))),
                    ("ReleaseReason".into(), Some(Expr::literal("Undefined"))),
                    ("NumSystemHolds".into(), Some(Expr::literal(holds + 1))),
                ];
                if let Some(release) = context.string("ReleaseReason") {
                    changes.push(("LastReleaseReason".into(), Some(Expr::literal(release))));
                }
                for (name, expr) in &changes {
                    if let Some(expr) = expr {
                        job.source.insert(name, expr.clone());
                    }
                }
                let subcode = i32::try_from(subcode).unwrap_or(0);
                let body = Body::Held { reason, code: 3, subcode };
                step.actions.push(Action::UserLog(job.source_id, Box::new(job.source.clone()), body));
                step.actions.push(Action::Update(job.source_id, changes));
            }
        }
    }
}

/// One step under way.
struct Step<'a> {
    now: i64,
    around: &'a Surroundings<'a>,
    actions: Vec<Action>,
    /// The job at hand rests until the next poll.
    parked: bool,
}

impl Step<'_> {
    fn int(&self, ad: &ClassAd, name: &str) -> Option<i64> {
        Context::new(self.around.world).my(ad).int(name)
    }

    fn string(&self, ad: &ClassAd, name: &str) -> BString {
        Context::new(self.around.world).my(ad).string(name).unwrap_or_default()
    }

    fn log(&mut self, job: &RoutedJob, text: &str) {
        self.actions.push(Action::Log(format!("JobRouter ({}): {text}", job.description())));
    }

    /// Does something that is answered by an event.
    fn ask(&mut self, job: &mut RoutedJob, action: Action) {
        job.waiting = true;
        self.actions.push(action);
    }

    fn hook(&mut self, job: &mut RoutedJob, hook: HookType, route: BString) {
        let action = Action::Hook {
            source: job.source_id,
            hook,
            route,
            source_ad: Box::new(job.source.clone()),
            copy_ad: Box::new(job.copy.clone()),
            in_place: job.in_place,
        };
        self.ask(job, action);
    }

    fn set_idle(&mut self, job: &mut RoutedJob) {
        let old = self.int(&job.source, "JobStatus").unwrap_or(IDLE);
        if old == IDLE {
            return;
        }
        if old == RUNNING || old == TRANSFERRING_OUTPUT {
            self.evicts(job);
        }
        job.source.set("JobStatus", IDLE);
        let changes = vec![("JobStatus".into(), Some(Expr::literal(IDLE)))];
        self.actions.push(Action::Update(job.source_id, changes));
    }

    fn executes(&mut self, job: &RoutedJob) {
        let host = self.string(&job.source, "RoutedToJobId");
        let body = Body::Execute { host, slot_name: BString::default(), properties: Vec::new() };
        self.actions.push(Action::UserLog(job.source_id, Box::new(job.source.clone()), body));
    }

    fn evicts(&mut self, job: &RoutedJob) {
        let evicted = Evicted {
            code: (0, 0),
            checkpointed: false,
            requeued: None,
            run: Share::default(),
            reason: BString::default(),
            resources: None,
        };
        let body = Body::Evicted(Box::new(evicted));
        self.actions.push(Action::UserLog(job.source_id, Box::new(job.source.clone()), body));
    }

    fn ending(&self, source: &ClassAd) -> Body {
        let by_signal = Context::new(self.around.world).my(source).boolean("ExitBySignal").unwrap_or(false);
        let number = |name: &str| i32::try_from(self.int(source, name).unwrap_or(0)).unwrap_or(0);
        let ending = if by_signal {
            Ending::Signalled(number("ExitSignal"), None)
        } else {
            Ending::Exited(number("ExitCode"))
        };
        let resources = crate::user_log::ResourceTable::from_job_ad(source);
        let (run, total) = (Share::default(), Share::default());
        Body::Terminated(Box::new(Terminated { ending, run, total, resources }))
    }
}
