//! Jobs over time through the routes' limits, without files, hooks or waiting: the machine with a manual clock.

use std::collections::{BTreeMap, VecDeque};

use bstr::{BString, ByteSlice};
use serde::Deserialize;

use crate::classad::{ClassAd, Context};
use crate::config::View;
use crate::job::JobId;
use crate::router::{Action, Event, HookResult, Queue, Router, Surroundings};
use crate::time::Now;
use crate::world::{Frozen, World};

/// What happens in a simulation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// How long it lasts, in seconds.
    pub duration: u64,
    /// When it begins, in seconds since the epoch.
    #[serde(default)]
    pub start: i64,
    /// How often the state is noted, in seconds; every poll if absent.
    pub every: Option<u64>,
    /// Groups of jobs.
    pub jobs: Vec<Group>,
}

/// Jobs of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// When the first one arrives, in seconds from the start.
    #[serde(default)]
    pub at: u64,
    /// How long after it the next one comes, in seconds.
    #[serde(default)]
    pub every: f64,
    /// Attributes in the long form; Owner, JobStatus and JobUniverse have values of their own.
    #[serde(default)]
    pub ad: String,
    /// How long a copy waits at the destination, in seconds.
    #[serde(default)]
    pub wait: u64,
    /// How long it runs, in seconds.
    #[serde(default)]
    pub run: u64,
    /// How many of a hundred copies are removed there in place of ending.
    #[serde(default)]
    pub fail: u32,
    /// What the others exit with.
    #[serde(default)]
    pub exit: i64,
}

fn one() -> u32 {
    1
}

/// A route at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutePoint {
    /// Its name.
    pub name: BString,
    /// Its jobs.
    pub jobs: i64,
    /// Those that run.
    pub running: i64,
    /// Jobs in 600 seconds; 0 for no throttle.
    pub throttle: f64,
}

/// The state at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Seconds from the start.
    pub time: u64,
    /// Sources that wait.
    pub waiting: usize,
    /// Sources that have finished.
    pub finished: usize,
    /// Copies that were removed at the destination.
    pub failed: usize,
    /// All routes, by name.
    pub routes: Vec<RoutePoint>,
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A line of an ad is no attribute.
    #[error("jobs {group}: {reason}")]
    Ad {
        /// Number of the group, from 1.
        group: usize,
        /// What is wrong.
        reason: String,
    },
    /// A number is larger than anybody would wait for.
    #[error("{what} is {value}, at most {most} can be played")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// As given.
        value: u64,
        /// The limit.
        most: u64,
    },
    /// The reference would abort.
    #[error("25.14 would abort: {0}")]
    Abort(String),
}

/// The most jobs of a scenario, and the most looks at the queue.
const MOST: u64 = 2_000_000;

impl Scenario {
    /// # Errors
    /// What would take for ever, or all memory.
    fn check(&self, period: u64) -> Result<(), ScenarioError> {
        let within = |what, value: u64, most: u64| match value <= most {
            true => Ok(()),
            false => Err(ScenarioError::TooLarge { what, value, most }),
        };
        within("duration", self.duration, period.saturating_mul(MOST).min(1 << 40))?;
        within("start", self.start.unsigned_abs(), 1 << 40)?;
        within("the number of jobs", self.jobs.iter().map(|group| u64::from(group.count)).sum(), MOST)?;
        for group in &self.jobs {
            within("fail", u64::from(group.fail), 100)?;
            within("at", group.at, 1 << 40)?;
            within("wait", group.wait, 1 << 40)?;
            within("run", group.run, 1 << 40)?;
        }
        Ok(())
    }
}

struct Memory {
    jobs: BTreeMap<JobId, (u64, ClassAd)>,
    entered: u64,
    next: i32,
}

impl Queue for Memory {
    fn job(&self, id: JobId) -> Option<ClassAd> {
        self.jobs.get(&id).map(|(_, ad)| ad.clone())
    }

    fn jobs(&self) -> Vec<JobId> {
        let mut ids: Vec<(u64, JobId)> = self.jobs.iter().map(|(id, (entered, _))| (*entered, *id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }
}

impl Memory {
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

/// What a copy will do.
#[derive(Clone, Copy)]
enum Fate {
    Starts,
    Ends,
    Fails,
}

/// Plays a scenario; each noted state is handed to `note`, each line of the log to `log`.
///
/// # Errors
/// A bad ad in the scenario, or the reference would abort.
pub fn simulate(
    scenario: &Scenario,
    mut router: Router,
    view: &View<'_>,
    world: &dyn World,
    note: &mut dyn FnMut(&Point),
    log: &mut dyn FnMut(u64, &str),
) -> Result<(), ScenarioError> {
    let period = router.knobs().polling_period.as_secs().max(1);
    scenario.check(period)?;
    let arrivals = arrivals(scenario)?;
    let mut arrivals = VecDeque::from(arrivals);
    let mut queue = Memory { jobs: BTreeMap::new(), entered: 0, next: 1 };
    let mut fates: BTreeMap<(u64, JobId), Fate> = BTreeMap::new();
    let mut groups: BTreeMap<JobId, usize> = BTreeMap::new();
    let mut tries: Vec<u64> = vec![0; scenario.jobs.len()];
    let (mut finished, mut failed) = (0, 0);
    let every = scenario.every.unwrap_or(period).max(1);
    let mut next_note = 0;
    let mut time = 0;
    while time <= scenario.duration {
        let now = Now::at_epoch(scenario.start + time as i64);
        while arrivals.front().is_some_and(|(at, ..)| *at <= time) {
            if let Some((_, group, ad)) = arrivals.pop_front() {
                let id = queue.add(ad, now.epoch());
                groups.insert(id, group);
            }
        }
        while let Some(entry) = fates.first_entry() {
            let (at, id) = *entry.key();
            if at > time {
                break;
            }
            match entry.remove() {
                Fate::Starts => {
                    queue.set_status(id, 2, now.epoch());
                    let group = groups.get(&id).map(|&group| (group, &scenario.jobs[group]));
                    if let Some((number, group)) = group {
                        let failing = u64::from(group.fail);
                        tries[number] += 1;
                        // Spread evenly, so that a scenario needs no chance.
                        let fails = (tries[number] * failing) / 100 > ((tries[number] - 1) * failing) / 100;
                        let fate = if fails { Fate::Fails } else { Fate::Ends };
                        fates.insert((time + group.run, id), fate);
                    }
                }
                Fate::Ends => {
                    queue.set_status(id, 4, now.epoch());
                    let exit = groups.get(&id).map_or(0, |&group| scenario.jobs[group].exit);
                    if let Some((_, ad)) = queue.jobs.get_mut(&id) {
                        ad.set("ExitCode", exit);
                        ad.set("ExitBySignal", false);
                        ad.set("JobFinishedHookDone", now.epoch());
                    }
                }
                Fate::Fails => {
                    failed += 1;
                    queue.jobs.remove(&id);
                }
            }
        }
        let mut events = VecDeque::from([Event::Poll]);
        while let Some(event) = events.pop_front() {
            let frozen = Frozen { world, now };
            let around = Surroundings {
                queue: &queue,
                copies: &queue,
                config: Some(view),
                knobs: view,
                world: &frozen,
            };
            for action in router.step(now, event, &around) {
                let context_status = |ad: &ClassAd| Context::new(world).my(ad).int("JobStatus");
                match action {
                    Action::Log(text) => log(time, &text),
                    Action::Abort(text) => return Err(ScenarioError::Abort(text)),
                    Action::Claim(id) => {
                        if let Some((_, ad)) = queue.jobs.get_mut(&id) {
                            ad.set("Managed", "External");
                            ad.set("ManagedManager", router.knobs().name.clone());
                        }
                        events.push_back(Event::Claimed(id, Ok(())));
                    }
                    Action::Hook { source, hook, .. } => {
                        events.push_back(Event::Hook(source, hook, HookResult::NotConfigured));
                    }
                    Action::Submit(id, ad) => {
                        let copy = queue.add(*ad, now.epoch());
                        if let Some(&group) = groups.get(&id) {
                            groups.insert(copy, group);
                            fates.insert((time + scenario.jobs[group].wait, copy), Fate::Starts);
                        }
                        events.push_back(Event::Submitted(id, Ok(copy)));
                    }
                    Action::Edit(id, changes) => {
                        change(&mut queue, id, &changes, world);
                        events.push_back(Event::Edited(id, Ok(())));
                    }
                    Action::Update(id, changes) => change(&mut queue, id, &changes, world),
                    Action::UpdateCopy(source, copy, changes) => {
                        change(&mut queue, copy, &changes, world);
                        events.push_back(Event::CopyUpdated(source, Ok(())));
                    }
                    Action::Finalize(source, copy) => {
                        queue.jobs.remove(&copy);
                        events.push_back(Event::Finalized(source, Ok(())));
                    }
                    Action::Remove(copy, _) => {
                        queue.jobs.remove(&copy);
                    }
                    Action::Yield(id, done) => {
                        let mut gone = false;
                        if let Some((_, ad)) = queue.jobs.get_mut(&id) {
                            ad.set("Managed", if done { "ScheddDone" } else { "Schedd" });
                            ad.set("ManagedManager", "");
                            match context_status(ad) {
                                Some(4) => gone = true,
                                Some(1 | 5) => {}
                                _ => ad.set("JobStatus", 1),
                            }
                        }
                        if gone {
                            finished += 1;
                            queue.jobs.remove(&id);
                        }
                        events.push_back(Event::Yielded(id, Ok(())));
                    }
                    Action::UserLog(..) | Action::LeaveProxy(..) => {}
                }
            }
        }
        if time >= next_note {
            let waiting = queue.jobs.values().filter(|(_, ad)| !is_managed(ad, world)).count();
            let mut routes: Vec<RoutePoint> = router
                .routes()
                .map(|(route, state)| {
                    let mine = router.jobs().filter(|job| job.route == route.name);
                    let (mut jobs, mut running) = (0, 0);
                    mine.for_each(|job| {
                        jobs += 1;
                        running += i64::from(job.running);
                    });
                    RoutePoint { name: route.name.clone(), jobs, running, throttle: state.throttle }
                })
                .collect();
            routes.sort_by(|a, b| a.name.cmp(&b.name));
            note(&Point { time, waiting, finished, failed, routes });
            next_note += every;
        }
        time += period;
    }
    Ok(())
}

/// Whether an ad is a managed source or a copy.
fn is_managed(ad: &ClassAd, world: &dyn World) -> bool {
    let context = Context::new(world).my(ad);
    context.string("Managed").is_some_and(|managed| managed == "External") || ad.contains("RouteName")
}

fn change(
    queue: &mut Memory,
    id: JobId,
    changes: &[(BString, Option<crate::classad::Expr>)],
    world: &dyn World,
) {
    let Some((_, ad)) = queue.jobs.get_mut(&id) else { return };
    let ended = matches!(Context::new(world).my(ad).int("JobStatus"), Some(3 | 4));
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

/// All jobs with the second in which they come and the number of their group.
fn arrivals(scenario: &Scenario) -> Result<Vec<(u64, usize, ClassAd)>, ScenarioError> {
    let mut all = Vec::new();
    for (number, group) in scenario.jobs.iter().enumerate() {
        let mut ad = ClassAd::new();
        ad.set("Owner", "user");
        ad.set("JobStatus", 1);
        ad.set("JobUniverse", 5);
        for line in group.ad.as_bytes().lines().filter(|line| !line.trim().is_empty()) {
            ad.insert_line(line)
                .map_err(|error| ScenarioError::Ad { group: number + 1, reason: error.to_string() })?;
        }
        for at in 0..group.count {
            let time = group.at as f64 + group.every.max(0.0) * f64::from(at);
            all.push((time as u64, number, ad.clone()));
        }
    }
    all.sort_by_key(|(time, ..)| *time);
    Ok(all)
}
