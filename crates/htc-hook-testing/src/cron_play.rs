//! Cron jobs played on a clock that runs while a program runs and skips the time between.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bstr::BString;

use htc_base::process::ChildSpec;
use htc_base::quirks::Quirks;
use htc_base::time::{Now, Tick};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_hook::Knobs;
use htc_hook::cron_job::{AutoPublish, CronJob, CronManager, CronMode, CronSkipped};
use htc_os::{Event, Reactor, RealWorld, clock};
use htc_runner::cron::{CronMoment, CronNotice, CronRunner, CronSurroundings};
use htc_slot::cron_ads::CronAds;
use htc_slot::cron_schedule::{CronEvent, CronNote, CronSchedule};

/// How long programs are given to end when the time is up.
const FAREWELL: Duration = Duration::from_secs(2);

/// The jobs, and the load they may make together.
#[derive(Clone, Debug)]
pub struct CronList {
    /// The jobs, in their order.
    pub jobs: Vec<CronJob>,
    /// MAX_JOB_LOAD of the manager.
    pub max_load: f64,
    /// AUTOPUBLISH of the manager.
    pub auto_publish: AutoPublish,
    /// Whether a job was left out.
    pub skipped: bool,
}

impl CronList {
    /// The jobs that the configuration of a manager names, or the only one of them that is wanted; with what is odd about each that
    /// is taken, and why others are left out.
    ///
    /// # Errors
    /// It names none.
    pub fn configured(
        manager: CronManager,
        knobs: &dyn Knobs,
        only: Option<&str>,
        quirks: Quirks,
    ) -> Result<(Self, Vec<Result<String, CronSkipped>>), String> {
        let mut names = manager.names(knobs);
        if let Some(only) = only {
            names.retain(|name| name.eq_ignore_ascii_case(only.as_bytes()));
        }
        if names.is_empty() {
            return Err(match only {
                Some(name) => format!("{}_JOBLIST does not name '{name}'", manager.prefix()),
                None => format!("{}_JOBLIST is empty: there are no jobs", manager.prefix()),
            });
        }
        let (auto_publish, odd) = manager.auto_publish(knobs);
        let mut told = Vec::new();
        told.extend(
            odd.map(|odd| Ok(format!("{}_AUTOPUBLISH = {odd}: it counts as Never", manager.prefix()))),
        );
        let (mut jobs, mut skipped) = (Vec::new(), false);
        for name in names {
            match CronJob::read(manager, &name, knobs, quirks) {
                Ok(job) => {
                    told.extend(job.warnings.iter().cloned().map(Ok));
                    jobs.push(job);
                }
                Err(error) => {
                    skipped = true;
                    told.push(Err(error));
                }
            }
        }
        let max_load = manager.max_load(knobs);
        Ok((CronList { jobs, max_load, auto_publish, skipped }, told))
    }
}

/// What is played.
#[derive(Clone, Debug)]
pub struct CronPlan {
    /// How often each job is run; an OneShot job once.
    pub runs: u64,
    /// How much time passes instead.
    pub seconds: Option<Duration>,
    /// When the configuration is read again.
    pub reconfig: Vec<Duration>,
    /// When a job begins, and in which of the slots (from 1).
    pub job_begins: Option<(Duration, usize)>,
    /// How long a program may take where no time is given.
    pub patience: Duration,
}

/// What else happens, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Reconfig,
    JobBegins,
    End,
}

/// What there is to tell.
#[derive(Clone, Debug)]
pub enum PlayEvent {
    /// What the runner says.
    Notice(CronNotice),
    /// A job of this mode is never started.
    OnDemand(BString),
    /// A job begins in the slot.
    JobBegins,
    /// The program has not ended in time and is killed.
    Killed(BString),
}

/// Where a play stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The configuration is to be read again: [`CronPlay::configure`], then it goes on.
    Reconfig,
    /// It is over; the signal that ended it early, if one came.
    Over(Option<i32>),
}

/// Cron jobs being played.
pub struct CronPlay<'a> {
    manager: CronManager,
    plan: CronPlan,
    slots: &'a [ClassAd],
    world: &'a RealWorld,
    runner: CronRunner,
    reactor: &'a mut Reactor,
    /// How often each job was let start.
    started: RefCell<BTreeMap<BString, u64>>,
    /// Jobs that wait for their CONDITION, or cannot be started.
    blocked: Vec<BString>,
    /// The real instant at which it began, and the time skipped since.
    began: Tick,
    base: Now,
    skipped: Duration,
    moments: Vec<(Duration, Moment)>,
    bad: bool,
    timed_out: bool,
}

impl<'a> CronPlay<'a> {
    /// A play in which nothing is configured yet.
    pub fn new(
        plan: CronPlan,
        surroundings: CronSurroundings,
        (slots, world): (&'a [ClassAd], &'a RealWorld),
        reactor: &'a mut Reactor,
    ) -> Self {
        let mut moments: Vec<_> = plan.reconfig.iter().map(|at| (*at, Moment::Reconfig)).collect();
        moments.extend(plan.job_begins.map(|(at, _)| (at, Moment::JobBegins)));
        moments.extend(plan.seconds.map(|at| (at, Moment::End)));
        moments.sort_by_key(|moment| moment.0);
        CronPlay {
            manager: surroundings.manager,
            plan,
            slots,
            world,
            runner: CronRunner::new(surroundings),
            reactor,
            started: RefCell::default(),
            blocked: Vec::new(),
            began: clock::tick(),
            base: world.now(),
            skipped: Duration::ZERO,
            moments,
            bad: false,
            timed_out: false,
        }
    }

    /// What was published.
    pub fn ads(&self) -> &CronAds {
        self.runner.ads()
    }

    /// The jobs as they are scheduled.
    pub fn schedule(&self) -> &CronSchedule {
        self.runner.schedule()
    }

    /// How the program of a job is called.
    pub fn child(&self, job: &CronJob) -> ChildSpec {
        self.runner.child(job, self.now(), self.world)
    }

    /// How much time has passed on the clock.
    pub fn elapsed(&self) -> Duration {
        clock::tick().since(self.began) + self.skipped
    }

    /// Whether a program could not be started, or printed lines that are no attributes.
    pub fn bad(&self) -> bool {
        self.bad
    }

    /// Whether a program was killed because it did not end.
    pub fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// Whether a job was started as often as it is to be, where no time is given.
    pub fn has_run_enough(&self, name: &BString) -> bool {
        let started = self.started.borrow().get(name).copied().unwrap_or(0);
        self.plan.seconds.is_none() && started >= self.plan.runs
    }

    fn now(&self) -> Now {
        self.base.plus(self.elapsed())
    }

    /// The real instant of a point on the clock.
    fn real(&self, at: Tick) -> Tick {
        let from_start = at.since(self.base.tick());
        self.began.plus(from_start.saturating_sub(self.skipped))
    }

    /// Plays to the next pause. `told` hears what happens.
    ///
    /// # Errors
    /// The loop itself fails.
    pub fn run(&mut self, told: &mut dyn FnMut(&Self, &PlayEvent)) -> io::Result<Pause> {
        let mut idle_since = clock::tick();
        loop {
            self.tell(told);
            if self.plan.seconds.is_none() && self.is_done() {
                return Ok(Pause::Over(None));
            }
            if self.moments.first().is_some_and(|moment| moment.0 <= self.elapsed()) {
                match self.moments.remove(0).1 {
                    Moment::Reconfig => return Ok(Pause::Reconfig),
                    Moment::JobBegins => self.job_begins(told),
                    Moment::End => return self.end(told),
                }
                continue;
            }
            let moment = self.moments.first().map(|moment| self.base.plus(moment.0).tick());
            let wake = self.runner.next_wake().into_iter().chain(moment).min();
            if self.runner.alive() == 0 {
                // Nothing to wait for but the clock, which is put forward.
                let Some(wake) = wake else { return Ok(Pause::Over(None)) };
                self.skipped += wake.since(self.now().tick());
                self.step(CronEvent::TimePasses);
                idle_since = clock::tick();
                continue;
            }
            // Where no time is given a program that does not end is not waited for without end.
            let limit = self.plan.seconds.is_none().then(|| idle_since.plus(self.plan.patience));
            let deadline = wake.map(|wake| self.real(wake)).into_iter().chain(limit).min();
            // A program that prints without end leaves no room for a time-out.
            let over = limit.is_some_and(|limit| limit <= clock::tick());
            let event = if over { Event::Timeout } else { self.reactor.next(deadline)? };
            match event {
                Event::Timeout if limit.is_some_and(|limit| limit <= clock::tick()) => {
                    self.timed_out = true;
                    for name in self.runner.running() {
                        told(self, &PlayEvent::Killed(name));
                    }
                    self.reactor.kill_all(Duration::ZERO);
                    return Ok(Pause::Over(None));
                }
                Event::Timeout => self.step(CronEvent::TimePasses),
                Event::Signal(number) => {
                    self.reactor.kill_all(FAREWELL);
                    return Ok(Pause::Over(Some(number)));
                }
                event => {
                    if matches!(event, Event::Exited { .. }) {
                        idle_since = clock::tick();
                    }
                    self.take(event);
                }
            }
        }
    }

    fn job_begins(&mut self, told: &mut dyn FnMut(&Self, &PlayEvent)) {
        let number = self.plan.job_begins.map_or(0, |(_, slot)| slot);
        if let Some(slot) = self.slots.get(number.saturating_sub(1)) {
            told(self, &PlayEvent::JobBegins);
            self.runner.ads_mut().job_begins(slot, self.world);
        }
    }

    /// The time is up: what runs is told to end, and killed if it does not.
    fn end(&mut self, told: &mut dyn FnMut(&Self, &PlayEvent)) -> io::Result<Pause> {
        self.step(CronEvent::ShutDown { fast: false });
        let deadline = clock::tick().plus(FAREWELL);
        while self.runner.alive() > 0 {
            match self.reactor.next(Some(deadline))? {
                Event::Timeout => break,
                Event::Signal(number) => return Ok(Pause::Over(Some(number))),
                event => self.take(event),
            }
        }
        self.reactor.kill_all(Duration::ZERO);
        self.tell(told);
        Ok(Pause::Over(None))
    }

    /// The configuration was read, for the first time or again.
    pub fn configure(&mut self, list: CronList, told: &mut dyn FnMut(&Self, &PlayEvent)) {
        self.bad |= list.skipped;
        let demanded = self.manager == CronManager::Benchmarks;
        for job in list.jobs.iter().filter(|job| job.mode == CronMode::OnDemand && !demanded) {
            told(self, &PlayEvent::OnDemand(job.name.clone()));
        }
        self.with_runner(|runner, at| {
            runner.configure(list.jobs, list.max_load, list.auto_publish, at);
            if demanded {
                runner.step(CronEvent::Demanded, at);
            }
        });
    }

    /// Has the runner do something.
    fn with_runner<T>(&mut self, act: impl FnOnce(&mut CronRunner, &mut CronMoment<'_>) -> T) -> T {
        let (daemon, now) = (self.daemon_ad(), self.now());
        let CronPlay { runner, reactor, started, plan, world, manager, .. } = self;
        let may_start = |job: &CronJob| {
            let wanted = plan.seconds.is_none().then(|| wanted(job, *manager, plan));
            let mut started = started.borrow_mut();
            let count = started.entry(job.name.clone()).or_default();
            let starts = wanted.is_none_or(|wanted| *count < wanted)
                // The schedd reads CONDITION and never evaluates it.
                && (*manager != CronManager::Startd || holds(job, &daemon, world));
            *count += u64::from(starts);
            starts
        };
        act(runner, &mut CronMoment { reactor, now, may_start: &may_start, world: *world })
    }

    fn step(&mut self, event: CronEvent) {
        self.with_runner(|runner, at| runner.step(event, at));
    }

    fn take(&mut self, event: Event) {
        self.with_runner(|runner, at| runner.take(event, at));
    }

    /// What CONDITION is evaluated in.
    fn daemon_ad(&self) -> ClassAd {
        let mut ad = self.slots.first().cloned().unwrap_or_default();
        self.runner.ads().merge_into(&mut ad, self.world);
        ad
    }

    /// Whether every job that can be started was started often enough.
    fn is_done(&self) -> bool {
        let started = self.started.borrow();
        self.runner.alive() == 0
            && self.runner.schedule().jobs().all(|job| {
                let wanted = wanted(job, self.manager, &self.plan);
                self.blocked.contains(&job.name) || started.get(&job.name).copied().unwrap_or(0) >= wanted
            })
    }

    /// Tells what has happened, and takes down what it means for the play.
    fn tell(&mut self, told: &mut dyn FnMut(&Self, &PlayEvent)) {
        let all: Vec<CronNotice> = self.runner.told().collect();
        for one in all {
            let event = PlayEvent::Notice(one);
            told(self, &event);
            let PlayEvent::Notice(one) = event else { continue };
            match one {
                CronNotice::NotStarted { name, .. } | CronNotice::Note(CronNote::NeverFits { name }) => {
                    self.bad = true;
                    self.blocked.push(name);
                }
                CronNotice::Published { block, .. } => {
                    self.bad |= !block.bad.is_empty() || block.attributes.is_none();
                }
                CronNotice::TooLarge { .. } => self.bad = true,
                CronNotice::Note(CronNote::Waits { name, for_load: false }) => {
                    if !self.has_run_enough(&name) {
                        self.blocked.push(name);
                    }
                }
                CronNotice::Started { .. }
                | CronNotice::Unended { .. }
                | CronNotice::Signalled { .. }
                | CronNotice::Ended { .. }
                | CronNotice::Dropped { .. }
                | CronNotice::Note(_) => {}
            }
        }
    }
}

/// How often a job is to be started where no time is given.
fn wanted(job: &CronJob, manager: CronManager, plan: &CronPlan) -> u64 {
    match job.mode {
        CronMode::OnDemand => u64::from(manager == CronManager::Benchmarks),
        CronMode::OneShot => plan.runs.min(1),
        CronMode::Periodic | CronMode::WaitForExit => plan.runs,
    }
}

/// Whether CONDITION permits the job to start.
fn holds(job: &CronJob, daemon: &ClassAd, world: &RealWorld) -> bool {
    let condition = job.condition.as_ref();
    condition.is_none_or(|it| Context::new(world).my(daemon).eval(it).truth() == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jobs_of_a_list_are_read_and_those_left_out_are_told() {
        let knobs = |name: &[u8]| -> Option<BString> {
            let value = match name {
                b"STARTD_CRON_JOBLIST" => "A B",
                b"STARTD_CRON_A_EXECUTABLE" => "/bin/a",
                b"STARTD_CRON_A_PERIOD" => "60",
                b"STARTD_CRON_AUTOPUBLISH" => "sometimes",
                _ => return None,
            };
            Some(value.into())
        };
        let read = |only| CronList::configured(CronManager::Startd, &knobs, only, Quirks::None);
        let (list, told) = read(None).unwrap();
        assert_eq!(list.jobs.iter().map(|job| job.name.to_string()).collect::<Vec<_>>(), ["A"]);
        assert!(list.skipped && list.auto_publish == AutoPublish::Never);
        assert_eq!(told[0], Ok("STARTD_CRON_AUTOPUBLISH = sometimes: it counts as Never".to_owned()));
        assert!(
            told[1].as_ref().is_err_and(|skipped| skipped.to_string().contains("STARTD_CRON_B_EXECUTABLE"))
        );
        assert!(!read(Some("a")).unwrap().0.skipped);
        assert_eq!(read(Some("C")).unwrap_err(), "STARTD_CRON_JOBLIST does not name 'C'");
    }
}
