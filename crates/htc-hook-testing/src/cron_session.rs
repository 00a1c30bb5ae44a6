//! Session of cron jobs with its own clock, which runs in real time while a program runs, and skips the time between
//! the runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bstr::BString;

use super::signal_sender::is_sent_by_hook;
use htc_base::process::ChildSpec;
use htc_base::quirks::QuirkMode;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_hook::ParameterSource;
use htc_hook::cron_job::{AutoPublish, CronJob, CronJobError, CronManager, CronMode};
use htc_os::{Reactor, ReactorEvent, RealWorld, clock};
use htc_runner::cron::{CronContext, CronNotice, CronRunner, CronStepInputs};
use htc_slot::cron_ads::CronAds;
use htc_slot::cron_schedule::{CronEvent, CronNote, CronSchedule};

/// Time that programs have to end by themselves when the session ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Cron jobs of a manager, with its settings.
#[derive(Clone, Debug)]
pub struct CronList {
    /// Jobs in the configured order.
    pub jobs: Vec<CronJob>,
    /// Maximum total load of the running jobs (MAX_JOB_LOAD of the manager).
    pub max_load: f64,
    /// AUTOPUBLISH of the manager.
    pub auto_publish: AutoPublish,
    /// True if a job was skipped because its configuration is not valid.
    pub skipped: bool,
}

impl CronList {
    /// Reads the cron jobs of a manager from the configuration, or only the job named `only`. Also returns warnings
    /// about the jobs, and errors about jobs that were skipped.
    ///
    /// # Errors
    /// The configuration names no cron job, or not the job `only`.
    pub fn from_config(
        manager: CronManager,
        parameters: &dyn ParameterSource,
        only: Option<&str>,
        quirks: QuirkMode,
    ) -> Result<(Self, Vec<Result<String, CronJobError>>), String> {
        let mut names = manager.job_names(parameters);
        if let Some(only) = only {
            names.retain(|name| name.eq_ignore_ascii_case(only.as_bytes()));
        }
        if names.is_empty() {
            return Err(match only {
                Some(name) => format!("{}_JOBLIST does not name '{name}'", manager.parameter_prefix()),
                None => format!("{}_JOBLIST is empty: there are no jobs", manager.parameter_prefix()),
            });
        }
        let (auto_publish, invalid_word) = manager.read_auto_publish(parameters);
        let mut messages = Vec::new();
        messages.extend(invalid_word.map(|word| {
            Ok(format!("{}_AUTOPUBLISH = {word}: HTCondor treats it as Never", manager.parameter_prefix()))
        }));
        let (mut jobs, mut skipped) = (Vec::new(), false);
        for name in names {
            match CronJob::read(manager, &name, parameters, quirks) {
                Ok(job) => {
                    messages.extend(job.warnings.iter().cloned().map(Ok));
                    jobs.push(job);
                }
                Err(error) => {
                    skipped = true;
                    messages.push(Err(error));
                }
            }
        }
        let max_load = manager.max_load(parameters);
        Ok((CronList { jobs, max_load, auto_publish, skipped }, messages))
    }
}

/// Plan of a session.
#[derive(Clone, Debug)]
pub struct CronPlan {
    /// Number of times that each cron job is run; a OneShot job runs at most once.
    pub runs: u64,
    /// Duration of the session; if it is given, `runs` has no effect.
    pub seconds: Option<Duration>,
    /// Times at which the configuration is read again.
    pub reconfig: Vec<Duration>,
    /// Time at which a job begins in a slot, and the number of the slot (from 1).
    pub job_begins: Option<(Duration, usize)>,
    /// Time limit for a program if `seconds` is `None`.
    pub patience: Duration,
    /// Time limit of the whole session, or `None`.
    pub time_limit: Option<Duration>,
}

/// Action at a given time of the session.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TimedAction {
    Reconfig,
    JobBegins,
    End,
}

/// Event of a session.
#[derive(Clone, Debug)]
pub enum CronSessionEvent {
    /// Event reported by the cron runner.
    Notice(CronNotice),
    /// A cron job has the mode OnDemand, so that it is never started.
    OnDemand(BString),
    /// A job begins in the slot.
    JobBegins,
    /// A program has exceeded its time limit and is killed.
    Killed(BString),
    /// A program sent this signal to its caller.
    SignalsCaller(i32),
}

/// Reason why [`CronSession::run`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPause {
    /// The configuration is due to be read again. The caller passes the new configuration to
    /// [`CronSession::configure`] and then continues the session.
    Reconfig,
    /// The session has ended; contains the signal that interrupted it, or `None`.
    Ended(Option<i32>),
}

/// Session of cron jobs.
pub struct CronSession<'a> {
    manager: CronManager,
    plan: CronPlan,
    slots: &'a [ClassAd],
    world: &'a RealWorld,
    runner: CronRunner,
    reactor: &'a mut Reactor,
    /// Number of times each cron job was started.
    started: RefCell<BTreeMap<BString, u64>>,
    /// Cron jobs that are waiting for their CONDITION to become true, or that cannot be started.
    blocked: Vec<BString>,
    /// Real time at which the session started.
    began: MonotonicTime,
    /// Time at the start of the session on the session's clock.
    clock_start: ClockReading,
    /// Total time that the session's clock has skipped.
    skipped: Duration,
    timed_actions: Vec<(Duration, TimedAction)>,
    failed: bool,
    timed_out: bool,
}

impl<'a> CronSession<'a> {
    /// Creates a session that has no cron jobs yet.
    pub fn new(
        plan: CronPlan,
        surroundings: CronContext,
        slots: &'a [ClassAd],
        world: &'a RealWorld,
        reactor: &'a mut Reactor,
    ) -> Self {
        let mut moments: Vec<_> = plan.reconfig.iter().map(|at| (*at, TimedAction::Reconfig)).collect();
        moments.extend(plan.job_begins.map(|(at, _)| (at, TimedAction::JobBegins)));
        moments.extend(plan.seconds.map(|at| (at, TimedAction::End)));
        moments.sort_by_key(|moment| moment.0);
        CronSession {
            manager: surroundings.manager,
            plan,
            slots,
            world,
            runner: CronRunner::new(surroundings),
            reactor,
            started: RefCell::default(),
            blocked: Vec::new(),
            began: clock::monotonic_now(),
            clock_start: world.now(),
            skipped: Duration::ZERO,
            timed_actions: moments,
            failed: false,
            timed_out: false,
        }
    }

    /// Returns the ads that the cron jobs have published.
    pub fn published_ads(&self) -> &CronAds {
        self.runner.ads()
    }

    /// Returns the schedule of the cron jobs.
    pub fn schedule(&self) -> &CronSchedule {
        self.runner.schedule()
    }

    /// Describes the child process of a cron job.
    pub fn child_spec(&self, job: &CronJob) -> ChildSpec {
        self.runner.child(job, self.now(), self.world)
    }

    /// Returns the time that has passed on the session's clock.
    pub fn elapsed(&self) -> Duration {
        clock::monotonic_now().since(self.began) + self.skipped
    }

    /// Returns true if a program could not be started, or printed lines that are not valid attributes.
    pub fn has_failures(&self) -> bool {
        self.failed
    }

    /// Returns true if a program was killed because it exceeded its time limit.
    pub fn has_timed_out(&self) -> bool {
        self.timed_out
    }

    /// Returns true if the plan gives a number of runs and the cron job was started that number of times.
    pub fn has_run_enough(&self, name: &BString) -> bool {
        let started = self.started.borrow().get(name).copied().unwrap_or(0);
        self.plan.seconds.is_none() && started >= self.plan.runs
    }

    fn now(&self) -> ClockReading {
        self.clock_start.plus(self.elapsed())
    }

    /// Converts a time on the clock of the session to real time.
    fn to_real_tick(&self, at: MonotonicTime) -> MonotonicTime {
        let from_start = at.since(self.clock_start.monotonic());
        self.began.plus(from_start.saturating_sub(self.skipped))
    }

    /// Runs the session to its next pause. Calls `report` with each event.
    ///
    /// # Errors
    /// The event loop fails.
    pub fn run(&mut self, report: &mut dyn FnMut(&Self, &CronSessionEvent)) -> io::Result<SessionPause> {
        let mut idle_since = clock::monotonic_now();
        loop {
            self.report_notices(report);
            let end = self.plan.time_limit.map(|limit| self.began.plus(limit));
            if end.is_some_and(|end| end <= clock::monotonic_now()) {
                return Ok(self.give_up(report));
            }
            if self.plan.seconds.is_none() && self.has_finished() {
                return Ok(SessionPause::Ended(None));
            }
            if self.timed_actions.first().is_some_and(|moment| moment.0 <= self.elapsed()) {
                match self.timed_actions.remove(0).1 {
                    TimedAction::Reconfig => return Ok(SessionPause::Reconfig),
                    TimedAction::JobBegins => self.begin_job(report),
                    TimedAction::End => return self.shut_down(report),
                }
                continue;
            }
            let moment = self.timed_actions.first().map(|moment| self.clock_start.plus(moment.0).monotonic());
            let wake = self.runner.next_wake().into_iter().chain(moment).min();
            if self.runner.running_count() == 0 {
                // No program is running, so the clock of the session skips to the next event.
                let Some(wake) = wake else { return Ok(SessionPause::Ended(None)) };
                self.skipped += wake.since(self.now().monotonic());
                self.send_event(CronEvent::Tick);
                idle_since = clock::monotonic_now();
                continue;
            }
            // If the plan has no duration, a program that does not end is killed after `patience`.
            let limit = self.plan.seconds.is_none().then(|| idle_since.plus(self.plan.patience));
            let deadline = wake.map(|wake| self.to_real_tick(wake)).into_iter().chain(limit).chain(end).min();
            // A program that prints without pause keeps the reactor from timing out, so the limit is also checked
            // here.
            let is_expired = limit.is_some_and(|limit| limit <= clock::monotonic_now());
            let event = if is_expired { ReactorEvent::Timeout } else { self.reactor.next_event(deadline)? };
            match event {
                ReactorEvent::Timeout if limit.is_some_and(|limit| limit <= clock::monotonic_now()) => {
                    return Ok(self.give_up(report));
                }
                ReactorEvent::Timeout => self.send_event(CronEvent::Tick),
                ReactorEvent::Signal(number) if is_sent_by_hook(number, None, self.reactor) => {
                    report(self, &CronSessionEvent::SignalsCaller(number));
                }
                ReactorEvent::Signal(number) => {
                    self.reactor.kill_all(SHUTDOWN_GRACE);
                    return Ok(SessionPause::Ended(Some(number)));
                }
                event => {
                    if matches!(event, ReactorEvent::Exited { .. }) {
                        idle_since = clock::monotonic_now();
                    }
                    self.forward_event(event);
                }
            }
        }
    }

    /// Kills all programs because one has exceeded its time limit.
    fn give_up(&mut self, report: &mut dyn FnMut(&Self, &CronSessionEvent)) -> SessionPause {
        self.timed_out = true;
        for name in self.runner.running_jobs() {
            report(self, &CronSessionEvent::Killed(name));
        }
        self.reactor.kill_all(Duration::ZERO);
        SessionPause::Ended(None)
    }

    fn begin_job(&mut self, report: &mut dyn FnMut(&Self, &CronSessionEvent)) {
        let number = self.plan.job_begins.map_or(0, |(_, slot)| slot);
        if let Some(slot) = self.slots.get(number.saturating_sub(1)) {
            report(self, &CronSessionEvent::JobBegins);
            self.runner.ads_mut().begin_job_usage(slot, self.world);
        }
    }

    /// Ends the session: asks the programs to end, and kills those that are still running after `SHUTDOWN_GRACE`.
    fn shut_down(&mut self, report: &mut dyn FnMut(&Self, &CronSessionEvent)) -> io::Result<SessionPause> {
        self.send_event(CronEvent::ShutDown { fast: false });
        let deadline = clock::monotonic_now().plus(SHUTDOWN_GRACE);
        while self.runner.running_count() > 0 {
            match self.reactor.next_event(Some(deadline))? {
                ReactorEvent::Timeout => break,
                ReactorEvent::Signal(number) => return Ok(SessionPause::Ended(Some(number))),
                event => self.forward_event(event),
            }
        }
        self.reactor.kill_all(Duration::ZERO);
        self.report_notices(report);
        Ok(SessionPause::Ended(None))
    }

    /// Applies a configuration, at the start or after [`SessionPause::Reconfig`].
    pub fn configure(&mut self, list: CronList, report: &mut dyn FnMut(&Self, &CronSessionEvent)) {
        self.failed |= list.skipped;
        let demanded = self.manager == CronManager::Benchmarks;
        for job in list.jobs.iter().filter(|job| job.mode == CronMode::OnDemand && !demanded) {
            report(self, &CronSessionEvent::OnDemand(job.name.clone()));
        }
        self.call_runner(|runner, at| {
            runner.configure(list.jobs, list.max_load, list.auto_publish, at);
            if demanded {
                runner.handle_event(CronEvent::RunOnDemand, at);
            }
        });
    }

    /// Calls a function of the runner with the inputs that a step of the runner needs.
    fn call_runner<T>(&mut self, act: impl FnOnce(&mut CronRunner, &mut CronStepInputs<'_>) -> T) -> T {
        let (daemon, now) = (self.daemon_ad(), self.now());
        let CronSession { runner, reactor, started, plan, world, manager, .. } = self;
        let may_start = |job: &CronJob| {
            let wanted = plan.seconds.is_none().then(|| wanted_starts(job, *manager, plan));
            let mut started = started.borrow_mut();
            let count = started.entry(job.name.clone()).or_default();
            let starts = wanted.is_none_or(|wanted| *count < wanted)
                // The schedd reads CONDITION but never evaluates it.
                && (*manager != CronManager::Startd || condition_holds(job, &daemon, world));
            *count += u64::from(starts);
            starts
        };
        act(runner, &mut CronStepInputs { reactor, now, may_start: &may_start, world: *world })
    }

    fn send_event(&mut self, event: CronEvent) {
        self.call_runner(|runner, at| runner.handle_event(event, at));
    }

    fn forward_event(&mut self, event: ReactorEvent) {
        self.call_runner(|runner, at| runner.take_reactor_event(event, at));
    }

    /// Returns the ad in which the CONDITION of a cron job is evaluated.
    fn daemon_ad(&self) -> ClassAd {
        let mut ad = self.slots.first().cloned().unwrap_or_default();
        self.runner.ads().merge_into(&mut ad, self.world);
        ad
    }

    /// Returns true if no program is running, and every cron job that can be started was started as often as the plan
    /// requires.
    fn has_finished(&self) -> bool {
        let started = self.started.borrow();
        self.runner.running_count() == 0
            && self.runner.schedule().jobs().all(|job| {
                let wanted = wanted_starts(job, self.manager, &self.plan);
                self.blocked.contains(&job.name) || started.get(&job.name).copied().unwrap_or(0) >= wanted
            })
    }

    /// Passes on the events of the runner, and updates the state of the session.
    fn report_notices(&mut self, report: &mut dyn FnMut(&Self, &CronSessionEvent)) {
        let all: Vec<CronNotice> = self.runner.take_notices().collect();
        for one in all {
            let event = CronSessionEvent::Notice(one);
            report(self, &event);
            let CronSessionEvent::Notice(one) = event else { continue };
            match one {
                CronNotice::NotStarted { name, .. } | CronNotice::Note(CronNote::NeverFits { name }) => {
                    self.failed = true;
                    self.blocked.push(name);
                }
                CronNotice::Published { block, .. } => {
                    self.failed |= !block.bad_lines.is_empty() || block.attributes.is_none();
                }
                CronNotice::TooLarge { .. } => self.failed = true,
                CronNotice::Note(CronNote::Waiting { name, for_load: false }) => {
                    if !self.has_run_enough(&name) {
                        self.blocked.push(name);
                    }
                }
                CronNotice::Started { .. }
                | CronNotice::UnterminatedLine { .. }
                | CronNotice::Signalled { .. }
                | CronNotice::Ended { .. }
                | CronNotice::Dropped { .. }
                | CronNotice::Note(_) => {}
            }
        }
    }
}

/// Returns the number of times that a cron job is to be started if the plan has no duration.
fn wanted_starts(job: &CronJob, manager: CronManager, plan: &CronPlan) -> u64 {
    match job.mode {
        CronMode::OnDemand => u64::from(manager == CronManager::Benchmarks),
        CronMode::OneShot => plan.runs.min(1),
        CronMode::Periodic | CronMode::WaitForExit => plan.runs,
    }
}

/// Returns true if CONDITION permits the cron job to start.
fn condition_holds(job: &CronJob, daemon: &ClassAd, world: &RealWorld) -> bool {
    let condition = job.condition.as_ref();
    condition.is_none_or(|it| Context::new(world).my(daemon).eval(it).truth() == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_jobs_are_read_and_skipped_ones_reported() {
        let parameters = |name: &[u8]| -> Option<BString> {
            let value = match name {
                b"STARTD_CRON_JOBLIST" => "A B",
                b"STARTD_CRON_A_EXECUTABLE" => "/bin/a",
                b"STARTD_CRON_A_PERIOD" => "60",
                b"STARTD_CRON_AUTOPUBLISH" => "sometimes",
                _ => return None,
            };
            Some(value.into())
        };
        let read = |only| CronList::from_config(CronManager::Startd, &parameters, only, QuirkMode::Manual);
        let (list, messages) = read(None).unwrap();
        assert_eq!(list.jobs.iter().map(|job| job.name.to_string()).collect::<Vec<_>>(), ["A"]);
        assert!(list.skipped && list.auto_publish == AutoPublish::Never);
        assert_eq!(
            messages[0],
            Ok("STARTD_CRON_AUTOPUBLISH = sometimes: HTCondor treats it as Never".to_owned())
        );
        assert!(
            messages[1]
                .as_ref()
                .is_err_and(|skipped| skipped.to_string().contains("STARTD_CRON_B_EXECUTABLE"))
        );
        assert!(!read(Some("a")).unwrap().0.skipped);
        assert_eq!(read(Some("C")).unwrap_err(), "STARTD_CRON_JOBLIST does not name 'C'");
    }
}
