//! Simulation of jobs under the limits of routes, without files, hooks or waiting: the router's state machine runs on
//! a simulated clock. The scenario has the same format as one for slots (`htc-scenario(5)`).

use std::collections::{BTreeMap, VecDeque};

use bstr::BString;
use serde::Serialize;

use crate::{Job, Scenario, Workload};
use htc_base::job::{JobId, JobStatus};
use htc_base::time::ClockReading;
use htc_base::world::{FrozenClockWorld, World};
use htc_classad::{ClassAd, Context};
use htc_config::ConfigView;
use htc_router::route_choice::UmbrellaError;
use htc_router::{QueueView, Router, RouterAction, RouterContext, RouterEvent, RouterHookResult};

/// State of a route at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteSnapshot {
    /// Name of the route.
    pub name: BString,
    /// Number of jobs that the route currently has.
    pub jobs: i64,
    /// Number of the route's jobs that are running.
    pub running: i64,
    /// Maximum number of jobs per 600 seconds; 0 for no throttle.
    pub throttle: f64,
}

/// State of the router at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterSnapshot {
    /// Seconds since the start.
    pub time: u64,
    /// Number of waiting source jobs.
    pub waiting: usize,
    /// Number of finished source jobs.
    pub finished: usize,
    /// Number of routed jobs that were removed at the destination.
    pub failed: usize,
    /// State of all routes, sorted by name.
    pub routes: Vec<RouteSnapshot>,
}

/// Totals of one route.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RouteTotals {
    /// Name of the route.
    #[serde(serialize_with = "as_text")]
    pub name: BString,
    /// Number of jobs routed.
    pub routed: u64,
    /// Number of source jobs whose routed job has completed.
    pub finished: u64,
    /// Number of routed jobs that were removed at the destination.
    pub failed: u64,
    /// Maximum number of jobs that the route had at one time.
    pub most: i64,
    /// Mean number of jobs that the route had.
    pub mean: f64,
    /// Seconds during which the route was throttled.
    pub throttled: f64,
}

/// Totals of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RouterTotals {
    /// Length of the simulation in seconds.
    pub length: f64,
    /// Number of source jobs that arrived. The key in JSON has an older name.
    #[serde(rename = "came")]
    pub arrived: u64,
    /// Number of source jobs that have finished.
    pub finished: u64,
    /// Number of routed jobs that were removed at the destination.
    pub failed: u64,
    /// Number of source jobs that are waiting at the end.
    pub waiting: u64,
    /// Mean time in seconds from the arrival of a source job to its first routing; for a job that was never routed,
    /// the time to the end.
    pub mean_wait: f64,
    /// Maximum time in seconds that a source job waited for a route.
    pub longest_wait: f64,
    /// Number of source jobs that were never routed.
    pub never_routed: u64,
    /// Reasons why source jobs are waiting at the end, the most frequent first.
    pub why_waiting: Vec<WaitingReason>,
    /// Totals of all routes, sorted by name.
    pub routes: Vec<RouteTotals>,
}

/// Source jobs that are waiting at the end for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingReason {
    /// The reason.
    pub reason: String,
    /// Number of jobs.
    pub jobs: u64,
}

fn as_text<S: serde::Serializer>(name: &BString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

impl RouterTotals {
    /// Adds the wait of a source job to the totals: from its arrival at `arrives`, in microseconds, to `until`, in
    /// seconds.
    fn count_wait(&mut self, arrives: u64, until: u64) {
        let waited = (until as f64 - arrives as f64 / 1e6).max(0.0);
        self.mean_wait += waited;
        self.longest_wait = self.longest_wait.max(waited);
    }
}

/// Reason why a simulation cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RouterSimulationError {
    /// A number exceeds its limit, so that the simulation would take too long.
    #[error("{what} is {value}, but at most {most} can be simulated")]
    TooLarge {
        /// Description of the number.
        what: &'static str,
        /// Value of the number.
        value: u64,
        /// Maximum value of the number.
        most: u64,
    },
    /// The umbrella constraint is not valid, so that 25.14 would abort.
    #[error("25.14 would abort: {0}")]
    Umbrella(#[from] UmbrellaError),
}

/// Maximum number of jobs of a scenario, and of polls of the router.
const MAX_JOBS_AND_POLLS: u64 = 2_000_000;

/// Checks the number of jobs and polls.
///
/// # Errors
/// Fails if the simulation would take too long or too much memory.
fn check_limits(scenario: &Scenario, period: u64) -> Result<(), RouterSimulationError> {
    let check_limit = |what, value: u64, most: u64| match value <= most {
        true => Ok(()),
        false => Err(RouterSimulationError::TooLarge { what, value, most }),
    };
    check_limit("length", scenario.length.0 as u64, period.saturating_mul(MAX_JOBS_AND_POLLS))?;
    let count = |group: &crate::scenario::JobGroup| u64::from(group.count.unwrap_or(1));
    check_limit("the number of jobs", scenario.groups.iter().map(count).sum(), MAX_JOBS_AND_POLLS)
}

struct InMemoryQueue {
    jobs: BTreeMap<JobId, (u64, ClassAd)>,
    entered: u64,
    next: i32,
}

impl QueueView for InMemoryQueue {
    fn job(&self, id: JobId) -> Option<ClassAd> {
        self.jobs.get(&id).map(|(_, ad)| ad.clone())
    }

    fn jobs(&self) -> Vec<JobId> {
        let mut ids: Vec<(u64, JobId)> = self.jobs.iter().map(|(id, (entered, _))| (*entered, *id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }
}

impl InMemoryQueue {
    fn add(&mut self, mut ad: ClassAd, now: i64) -> JobId {
        let id = JobId::new(self.next, 0);
        self.next += 1;
        self.entered += 1;
        ad.set("ClusterId", i64::from(id.cluster));
        ad.set("ProcId", 0);
        ad.set("QDate", now);
        self.jobs.insert(id, (self.entered, ad));
        id
    }

    fn set_status(&mut self, id: JobId, status: i64, now: i64) {
        if let Some((_, ad)) = self.jobs.get_mut(&id) {
            ad.set("JobStatus", status);
            ad.set("EnteredCurrentStatus", now);
        }
    }
}

/// Future event of a routed job.
#[derive(Clone, Copy)]
enum CopyEvent {
    Starts,
    Ends,
    Fails,
}

/// Inputs of a simulation.
pub struct RouterSimulation<'a> {
    /// The scenario of the simulation.
    pub scenario: &'a Scenario,
    /// Jobs of the scenario.
    pub jobs: Workload,
    /// Start time, in epoch seconds.
    pub start: i64,
    /// The router's configuration.
    pub view: &'a ConfigView<'a>,
    /// Clock, files, accounts, environment and programs outside of this process.
    pub world: &'a dyn World,
}

/// Runs a simulation. Passes each recorded state to `note`, and each line of the router's log to `log`.
///
/// # Errors
/// Fails if the simulation would take too long, or if 25.14 would abort.
pub fn simulate(
    simulation: RouterSimulation<'_>,
    router: Router,
    note: &mut dyn FnMut(&RouterSnapshot),
    log: &mut dyn FnMut(u64, &str),
) -> Result<RouterTotals, RouterSimulationError> {
    let period = router.parameters().polling_period.as_secs().max(1);
    check_limits(simulation.scenario, period)?;
    let groups = simulation.scenario.groups.len();
    let mut game = RouterRun {
        simulation,
        router,
        queue: InMemoryQueue { jobs: BTreeMap::new(), entered: 0, next: 1 },
        due_events: BTreeMap::new(),
        tracked: BTreeMap::new(),
        copies_started: vec![0; groups],
        totals: RouterTotals::default(),
        time: 0,
    };
    let length = game.simulation.scenario.length.0 as u64;
    let every = game.simulation.scenario.every.map_or(period, |every| every.0 as u64).max(1);
    let mut next_note = 0;
    while game.time <= length {
        game.add_arrivals();
        game.advance_copies();
        game.poll(log)?;
        let point = game.snapshot();
        game.add_interval(&point, period.min(length - game.time));
        if game.time >= next_note {
            note(&point);
            next_note += every;
        }
        game.time += period;
    }
    Ok(game.finish(length))
}

/// Source job or routed job, with its job group and route.
#[derive(Clone)]
struct TrackedJob {
    job: Job,
    group: usize,
    route: BString,
}

struct RouterRun<'a> {
    simulation: RouterSimulation<'a>,
    router: Router,
    queue: InMemoryQueue,
    due_events: BTreeMap<(u64, JobId), CopyEvent>,
    tracked: BTreeMap<JobId, TrackedJob>,
    /// Number of routed jobs that have started, by job group.
    copies_started: Vec<u64>,
    totals: RouterTotals,
    /// Current time in seconds since the start.
    time: u64,
}

impl RouterRun<'_> {
    fn now(&self) -> ClockReading {
        ClockReading::from_epoch(self.simulation.start.saturating_add_unsigned(self.time))
    }

    fn add_arrivals(&mut self) {
        let now = self.now().epoch();
        while self.simulation.jobs.next_arrival().is_some_and(|at| at <= self.time.saturating_mul(1_000_000))
        {
            let Some(job) = self.simulation.jobs.take_next_job(self.simulation.world) else { break };
            let mut ad = self.simulation.jobs.job_ad(&job);
            if !ad.contains("Owner") {
                ad.set("Owner", "user");
            }
            // Every job arrives idle, whatever its status in the file is.
            ad.set("JobStatus", JobStatus::IDLE);
            let id = self.queue.add(ad, now);
            let group = self.simulation.jobs.kind(job.kind).group as usize;
            self.totals.arrived += 1;
            self.tracked.insert(id, TrackedJob { job, group, route: BString::default() });
        }
    }

    /// Starts, completes and removes the routed jobs that are due.
    fn advance_copies(&mut self) {
        let now = self.now().epoch();
        while let Some(entry) = self.due_events.first_entry() {
            let (at, id) = *entry.key();
            if at > self.time {
                break;
            }
            let fate = entry.remove();
            let Some(tracked_job) = self.tracked.get(&id).cloned() else { continue };
            match fate {
                CopyEvent::Starts => {
                    self.queue.set_status(id, JobStatus::RUNNING, now);
                    if let Some((_, ad)) = self.queue.jobs.get_mut(&id) {
                        ["JobStartDate", "JobCurrentStartDate"]
                            .into_iter()
                            .for_each(|name| ad.set(name, now));
                        ad.set("NumJobStarts", 1);
                    }
                    let failing = u64::from(self.simulation.scenario.groups[tracked_job.group].fail);
                    let tries = &mut self.copies_started[tracked_job.group];
                    *tries += 1;
                    // The failures are distributed evenly over the jobs, not at random.
                    let fails = (*tries * failing) / 100 > ((*tries - 1) * failing) / 100;
                    let fate = if fails { CopyEvent::Fails } else { CopyEvent::Ends };
                    self.due_events.insert((self.time + tracked_job.job.runs / 1_000_000, id), fate);
                }
                CopyEvent::Ends => {
                    self.queue.set_status(id, JobStatus::COMPLETED, now);
                    if let Some((_, ad)) = self.queue.jobs.get_mut(&id) {
                        ad.set("ExitCode", i64::from(tracked_job.job.exit));
                        ad.set("ExitBySignal", false);
                        ad.set("JobFinishedHookDone", now);
                        ad.set("CompletionDate", now);
                        // The schedd sets this attribute when a job has left its slot.
                        ad.set("RemoteWallClockTime", tracked_job.job.runs as f64 / 1e6);
                    }
                }
                CopyEvent::Fails => {
                    self.totals.failed += 1;
                    self.route_totals(&tracked_job.route).failed += 1;
                    self.remove_job(id);
                }
            }
        }
    }

    fn remove_job(&mut self, id: JobId) {
        self.queue.jobs.remove(&id);
        self.tracked.remove(&id);
    }

    fn route_totals(&mut self, name: &BString) -> &mut RouteTotals {
        let routes = &mut self.totals.routes;
        let at = routes.binary_search_by(|route| route.name.cmp(name)).unwrap_or_else(|at| {
            routes.insert(at, RouteTotals { name: name.clone(), ..RouteTotals::default() });
            at
        });
        &mut routes[at]
    }

    /// Lets the router poll its queue, and executes the resulting actions.
    fn poll(&mut self, log: &mut dyn FnMut(u64, &str)) -> Result<(), RouterSimulationError> {
        let now = self.now();
        let mut events = VecDeque::from([RouterEvent::Poll]);
        while let Some(event) = events.pop_front() {
            let frozen = FrozenClockWorld { world: self.simulation.world, now };
            let context = RouterContext {
                queue: &self.queue,
                copies: &self.queue,
                config: Some(self.simulation.view),
                parameters: self.simulation.view,
                world: &frozen,
            };
            for action in self.router.handle_event(now, event, &context) {
                match action {
                    RouterAction::Log(text) => log(self.time, &text),
                    RouterAction::Quirk(source, quirk) => {
                        let text = format!("{source}: {}", quirk.description());
                        log(self.time, &text);
                    }
                    RouterAction::Stop(error) => return Err(error.into()),
                    other => events.extend(self.execute_action(other)),
                }
            }
        }
        Ok(())
    }

    fn execute_action(&mut self, action: RouterAction) -> Option<RouterEvent> {
        let now = self.now().epoch();
        let world = self.simulation.world;
        match action {
            RouterAction::Claim(id) => {
                if let Some((_, ad)) = self.queue.jobs.get_mut(&id) {
                    ad.set("Managed", "External");
                    ad.set("ManagedManager", self.router.parameters().name.clone());
                }
                Some(RouterEvent::ClaimResult(id, Ok(())))
            }
            RouterAction::CallHook(call) => {
                Some(RouterEvent::HookEnded(call.source, call.hook, RouterHookResult::NotConfigured))
            }
            RouterAction::SubmitCopy(id, ad) => {
                let route = Context::new(world).my(&ad).string("RouteName").unwrap_or_default();
                let copy = self.queue.add(*ad, now);
                self.record_submission(id, copy, route);
                Some(RouterEvent::SubmitResult(id, Ok(copy)))
            }
            RouterAction::EditSource(id, changes) => {
                apply_changes(&mut self.queue, id, &changes, world);
                Some(RouterEvent::EditResult(id, Ok(())))
            }
            RouterAction::UpdateSource(id, changes) => {
                apply_changes(&mut self.queue, id, &changes, world);
                None
            }
            RouterAction::UpdateCopy(source, copy, changes) => {
                apply_changes(&mut self.queue, copy, &changes, world);
                Some(RouterEvent::CopyUpdateResult(source, Ok(())))
            }
            RouterAction::FinalizeCopy(source, copy) => {
                self.remove_job(copy);
                Some(RouterEvent::FinalizeResult(source, Ok(())))
            }
            RouterAction::RemoveCopy(copy, _) => {
                self.remove_job(copy);
                None
            }
            RouterAction::YieldSource(id, done) => {
                self.release_source(id, done);
                Some(RouterEvent::YieldResult(id, Ok(())))
            }
            RouterAction::UserLog(..)
            | RouterAction::Log(_)
            | RouterAction::Quirk(..)
            | RouterAction::Stop(_) => None,
        }
    }

    fn record_submission(&mut self, source: JobId, copy: JobId, route: BString) {
        let Some(tracked_job) = self.tracked.get_mut(&source) else { return };
        if tracked_job.route.is_empty() {
            self.totals.count_wait(tracked_job.job.arrives, self.time);
        }
        tracked_job.route.clone_from(&route);
        let tracked_job = tracked_job.clone();
        let waits = self.simulation.scenario.groups[tracked_job.group].wait.0 as u64;
        self.due_events.insert((self.time + waits, copy), CopyEvent::Starts);
        self.tracked.insert(copy, tracked_job);
        self.route_totals(&route).routed += 1;
    }

    /// Releases a source job from the router's management; `done` is true if the job has completed.
    fn release_source(&mut self, id: JobId, done: bool) {
        let world = self.simulation.world;
        let Some((_, ad)) = self.queue.jobs.get_mut(&id) else { return };
        ad.set("Managed", if done { "ScheddDone" } else { "Schedd" });
        ad.set("ManagedManager", "");
        match Context::new(world).my(ad).int("JobStatus") {
            Some(JobStatus::COMPLETED) => {
                self.totals.finished += 1;
                let route =
                    self.tracked.get(&id).map(|tracked_job| tracked_job.route.clone()).unwrap_or_default();
                self.route_totals(&route).finished += 1;
                self.remove_job(id);
            }
            Some(JobStatus::IDLE | JobStatus::HELD) => {}
            _ => ad.set("JobStatus", JobStatus::IDLE),
        }
    }

    /// Returns the current state of the router.
    fn snapshot(&self) -> RouterSnapshot {
        let world = self.simulation.world;
        let waiting = self.queue.jobs.values().filter(|(_, ad)| !is_managed(ad, world)).count();
        let of = |route: &htc_router::Route, throttle: f64| {
            let (mut jobs, mut running) = (0, 0);
            for job in self.router.jobs().filter(|job| job.route == route.name && !job.is_retired()) {
                jobs += 1;
                running += i64::from(job.is_running());
            }
            RouteSnapshot { name: route.name.clone(), jobs, running, throttle }
        };
        let mut routes: Vec<RouteSnapshot> =
            self.router.routes().map(|(route, state)| of(route, state.throttle)).collect();
        routes.sort_by(|a, b| a.name.cmp(&b.name));
        let RouterTotals { finished, failed, .. } = self.totals;
        RouterSnapshot {
            time: self.time,
            waiting,
            finished: finished as usize,
            failed: failed as usize,
            routes,
        }
    }

    /// Adds a state that lasted for `lasts` seconds to the totals.
    fn add_interval(&mut self, point: &RouterSnapshot, lasts: u64) {
        for route in &point.routes {
            let totals = self.route_totals(&route.name);
            totals.most = totals.most.max(route.jobs);
            totals.mean += route.jobs as f64 * lasts as f64;
            totals.throttled += if route.throttle > 0.0 { lasts as f64 } else { 0.0 };
        }
        self.totals.waiting = point.waiting as u64;
    }

    fn finish(mut self, length: u64) -> RouterTotals {
        let world = self.simulation.world;
        let mut waiting = Vec::new();
        for (id, (_, ad)) in &self.queue.jobs {
            if is_managed(ad, world) {
                continue;
            }
            waiting.push(ad.clone());
            if let Some(tracked_job) = self.tracked.get(id).filter(|tracked_job| tracked_job.route.is_empty())
            {
                self.totals.never_routed += 1;
                self.totals.count_wait(tracked_job.job.arrives, length);
            }
        }
        let reasons = self.router.waiting_reasons(waiting.into_iter(), world);
        let mut totals = self.totals;
        totals.why_waiting =
            reasons.into_iter().map(|(reason, jobs)| WaitingReason { reason, jobs }).collect();
        totals.length = length as f64;
        totals.mean_wait /= totals.arrived.max(1) as f64;
        totals.routes.iter_mut().for_each(|route| route.mean /= length.max(1) as f64);
        totals
    }
}

/// Returns true if an ad is that of a managed source job or of a routed job.
fn is_managed(ad: &ClassAd, world: &dyn World) -> bool {
    let context = Context::new(world).my(ad);
    context.string("Managed").is_some_and(|managed| managed == "External") || ad.contains("RouteName")
}

fn apply_changes(
    queue: &mut InMemoryQueue,
    id: JobId,
    changes: &[(BString, Option<htc_classad::Expr>)],
    world: &dyn World,
) {
    let Some((_, ad)) = queue.jobs.get_mut(&id) else { return };
    let ended = matches!(
        Context::new(world).my(ad).int("JobStatus"),
        Some(JobStatus::REMOVED | JobStatus::COMPLETED)
    );
    for (name, expr) in changes {
        match expr {
            _ if ended && name.eq_ignore_ascii_case(b"JobStatus") => {}
            Some(expr) => ad.insert(name, expr.clone()),
            None => {
                ad.remove(name);
            }
        }
    }
}
