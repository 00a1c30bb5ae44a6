//! Schedule of cron jobs: when they are started, signalled and restarted.
//!
//! A state machine for one cron manager. Its inputs are the configured jobs, the time, and the results of runs; its outputs are
//! jobs to start and runs to signal. Runs are identified by numbers, not by processes.
//!
//! Reference: `cron_job.cpp`, `cron_job_mgr.cpp`, `cron_job_list.cpp`.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::time::{ClockReading, MonotonicTime};
use htc_hook::cron_job::{CronJob, CronMode};

const SIGHUP: i32 = 1;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
/// Time between SIGTERM and SIGKILL.
const TERM_TO_KILL_DELAY: Duration = Duration::from_secs(1);

/// Id of one run of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CronRunId(pub u64);

/// Input of a cron manager.
#[derive(Clone, Debug)]
pub enum CronEvent {
    /// The configuration was read.
    Configured {
        /// All jobs that are listed and valid, in order.
        jobs: Vec<CronJob>,
        /// Maximum total load of running jobs.
        max_load: f64,
    },
    /// Time has passed, and a timer may have expired.
    Tick,
    /// Benchmarks have ended, so jobs that waited for their end may start.
    ConditionsChanged,
    /// All jobs with mode OnDemand are to run.
    RunOnDemand,
    /// A run could not be started.
    StartFailed(CronRunId),
    /// A run has completed a block of output.
    Published(CronRunId),
    /// A run has ended, successfully or not. Its last block of output was reported before.
    Ended(CronRunId),
    /// The daemon shuts down: running jobs are signalled, and no more jobs are started.
    ShutDown {
        /// True to send SIGKILL, false to send SIGTERM.
        fast: bool,
    },
}

/// Output of a cron manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CronAction {
    /// Start the job of this name. The run is treated as running from now on.
    Start {
        /// Name of the job, for [`CronSchedule::job`].
        name: BString,
        /// Id of the new run.
        run: CronRunId,
    },
    /// Send a signal to the process of a run, not to its children.
    Signal {
        /// Id of the run.
        run: CronRunId,
        /// Number of the signal.
        signal: i32,
    },
    /// The job was removed from the configuration or restarts in another mode: remove its ads.
    Dropped {
        /// Name of the cron job.
        name: BString,
    },
    /// Report this in the log.
    Note(CronNote),
}

/// Log message about a cron job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CronNote {
    /// The job is due, but its previous run has not ended; with KILL, the previous run is killed.
    StillRunning {
        /// Name of the cron job.
        name: BString,
    },
    /// The job waits because the load would be too high, its CONDITION is not true, or benchmarks run.
    Waiting {
        /// Name of the cron job.
        name: BString,
        /// True if the job waits because of the load.
        for_load: bool,
    },
    /// JOB_LOAD alone is above MAX_JOB_LOAD: the job never starts. The reference does not report this.
    NeverFits {
        /// Name of the cron job.
        name: BString,
    },
    /// A job with RECONFIG gets no SIGHUP because it has not printed its first output.
    HangUpTooEarly {
        /// Name of the cron job.
        name: BString,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CronJobState {
    #[default]
    Idle,
    Ready,
    Running,
    TermSent,
    KillSent,
}

#[derive(Clone, Copy, Debug)]
struct CronTimer {
    due: MonotonicTime,
    every: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
struct ScheduledJob {
    job: CronJob,
    old_period: i64,
    state: CronJobState,
    run: Option<CronRunId>,
    /// Earlier runs that are still running, and that the reference forgets with RECONFIG_RERUN.
    lost_runs: Vec<CronRunId>,
    runs: u64,
    failures: u64,
    blocks: u64,
    last_start: Option<MonotonicTime>,
    last_end: Option<MonotonicTime>,
    timer: Option<CronTimer>,
    kill_at: Option<MonotonicTime>,
    /// Current load of the job.
    load: f64,
    /// True to start another run as soon as the current run has ended.
    rerun: bool,
    reported_waiting: bool,
}

impl ScheduledJob {
    fn is_alive(&self) -> bool {
        matches!(self.state, CronJobState::Running | CronJobState::TermSent | CronJobState::KillSent)
    }

    fn owns_run(&self, run: CronRunId) -> bool {
        self.run == Some(run) || self.lost_runs.contains(&run)
    }
}

/// Condition for a job to start now: its CONDITION is true and no benchmark runs.
pub type StartCondition<'a> = dyn Fn(&CronJob) -> bool + 'a;

/// Cron jobs of one manager.
#[derive(Clone, Debug)]
pub struct CronSchedule {
    entries: Vec<ScheduledJob>,
    max_load: f64,
    next_run: u64,
    stopping: bool,
    /// Quirk decision: true if a job that is not periodic is never tried again after a failed start.
    failed_start: QuirkDecision,
    quirks: QuirkMode,
}

fn period_duration(period: i64) -> Duration {
    Duration::from_secs(u64::try_from(period).unwrap_or(0))
}

impl CronSchedule {
    /// Creates a manager without jobs.
    pub fn new(quirks: QuirkMode) -> Self {
        let failed_start = quirks.decide(Quirk::CronFailedStartFinal);
        CronSchedule {
            entries: Vec::new(),
            max_load: 0.1,
            next_run: 0,
            stopping: false,
            failed_start,
            quirks,
        }
    }

    /// Returns the quirk decision on whether a job that is not periodic is never tried again after a failed start.
    pub fn failed_start_decision(&self) -> QuirkDecision {
        self.failed_start
    }

    /// Processes an event and returns the actions to take, in order.
    pub fn step(
        &mut self,
        now: ClockReading,
        event: CronEvent,
        may_start: &StartCondition<'_>,
    ) -> Vec<CronAction> {
        let now = now.monotonic();
        let mut out = Vec::new();
        match event {
            CronEvent::Configured { jobs, max_load } => {
                self.configure(now, jobs, max_load, may_start, &mut out)
            }
            CronEvent::Tick => self.advance_time(now, may_start, &mut out),
            CronEvent::ConditionsChanged => self.start_ready_jobs(now, may_start, &mut out),
            CronEvent::RunOnDemand => {
                for entry in &mut self.entries {
                    if entry.job.mode == CronMode::OnDemand && entry.state == CronJobState::Idle {
                        entry.state = CronJobState::Ready;
                    }
                }
                self.start_ready_jobs(now, may_start, &mut out);
            }
            CronEvent::StartFailed(run) => self.handle_failed_start(now, run, may_start, &mut out),
            CronEvent::Published(run) => {
                if let Some(entry) = self.entries.iter_mut().find(|entry| entry.owns_run(run)) {
                    entry.blocks += 1;
                }
            }
            CronEvent::Ended(run) => self.handle_run_end(now, run, may_start, &mut out),
            CronEvent::ShutDown { fast } => {
                self.stopping = true;
                for at in 0..self.entries.len() {
                    if self.entries[at].state == CronJobState::Ready {
                        self.entries[at].state = CronJobState::Idle;
                    }
                    self.kill(at, now, fast, &mut out);
                }
            }
        }
        out
    }

    /// Returns when the next [`CronEvent::Tick`] is due, or `None` if no timer is set.
    pub fn next_wake(&self) -> Option<MonotonicTime> {
        let timers =
            self.entries.iter().filter(|_| !self.stopping).filter_map(|entry| Some(entry.timer?.due));
        timers.chain(self.entries.iter().filter_map(|entry| entry.kill_at)).min()
    }

    /// Returns the jobs, in configured order.
    pub fn jobs(&self) -> impl Iterator<Item = &CronJob> {
        self.entries.iter().map(|entry| &entry.job)
    }

    /// Returns the job of this name.
    pub fn job(&self, name: &[u8]) -> Option<&CronJob> {
        self.jobs().find(|job| job.name == name)
    }

    /// Returns the job that a run belongs to.
    pub fn job_of(&self, run: CronRunId) -> Option<&CronJob> {
        self.entries.iter().find(|entry| entry.owns_run(run)).map(|entry| &entry.job)
    }

    /// True if the job of this run was ended by KILL and restarts as soon as the run has ended.
    pub fn will_restart(&self, run: CronRunId) -> bool {
        let told =
            |entry: &&ScheduledJob| matches!(entry.state, CronJobState::TermSent | CronJobState::KillSent);
        let entry = self.entries.iter().find(|entry| entry.run == Some(run)).filter(told);
        !self.stopping && entry.is_some_and(|entry| entry.job.mode == CronMode::Periodic)
    }

    /// True if any job runs or waits to run.
    pub fn is_busy(&self) -> bool {
        self.entries.iter().any(|entry| entry.state != CronJobState::Idle)
    }

    /// Returns the total load of all running jobs.
    pub fn running_load(&self) -> f64 {
        self.entries.iter().map(|entry| entry.load).sum()
    }

    fn configure(
        &mut self,
        now: MonotonicTime,
        jobs: Vec<CronJob>,
        max_load: f64,
        may_start: &StartCondition<'_>,
        out: &mut Vec<CronAction>,
    ) {
        self.max_load = max_load;
        // A job with the same name but another mode is treated as a new job.
        let same = |entry: &ScheduledJob| {
            jobs.iter().any(|job| job.name == entry.job.name && job.mode == entry.job.mode)
        };
        for at in 0..self.entries.len() {
            if !same(&self.entries[at]) {
                self.kill(at, now, true, out);
                out.push(CronAction::Dropped { name: self.entries[at].job.name.clone() });
            }
        }
        self.entries.retain(same);
        for job in jobs {
            if job.load > max_load {
                out.push(CronAction::Note(CronNote::NeverFits { name: job.name.clone() }));
            }
            match self.entries.iter_mut().find(|entry| entry.job.name == job.name) {
                Some(entry) => {
                    entry.old_period = entry.job.period;
                    entry.job = job;
                    if !self.failed_start.as_reference {
                        entry.failures = 0;
                    }
                }
                None => self.entries.push(ScheduledJob { job, ..ScheduledJob::default() }),
            }
        }
        for at in 0..self.entries.len() {
            self.reconfigure_job(at, now, out);
        }
        self.start_ready_jobs(now, may_start, out);
    }

    /// Applies a reconfiguration to one job (`CronJob::HandleReconfig`).
    fn reconfigure_job(&mut self, at: usize, now: MonotonicTime, out: &mut Vec<CronAction>) {
        let quirks = self.quirks;
        // In the reference, a new period only applies to a job that waits for its next start, and only to that start.
        let stale = quirks.reproduces(Quirk::CronPeriodStale);
        let entry = &mut self.entries[at];
        if entry.job.rerun && entry.runs > 0 {
            if entry.is_alive() && !quirks.reproduces(Quirk::CronRerunDoubles) {
                entry.rerun = true;
            } else {
                entry.state = CronJobState::Ready;
            }
            if stale {
                return;
            }
        } else if entry.state == CronJobState::Running && entry.job.reconfig {
            match (entry.blocks, entry.run) {
                (1.., Some(run)) => out.push(CronAction::Signal { run, signal: SIGHUP }),
                _ => out.push(CronAction::Note(CronNote::HangUpTooEarly { name: entry.job.name.clone() })),
            }
            if stale {
                return;
            }
        }
        if entry.job.period == entry.old_period {
            return;
        }
        let period = period_duration(entry.job.period);
        match entry.job.mode {
            CronMode::Periodic if entry.state == CronJobState::Idle => {
                // The next start is one new period after the last start. In the reference, later starts again use the old period.
                let every =
                    if stale && entry.old_period > 0 { period_duration(entry.old_period) } else { period };
                let due = entry.last_start.map(|last| last.plus(period)).filter(|due| *due >= now);
                entry.timer = Some(CronTimer { due: due.unwrap_or(now.plus(every)), every: Some(every) });
                if due.is_none() {
                    entry.state = CronJobState::Ready;
                }
            }
            CronMode::Periodic if entry.old_period > 0 && !stale => {
                let due = entry.last_start.map_or(now, |last| last.plus(period)).max(now);
                entry.timer = Some(CronTimer { due, every: Some(period) });
            }
            CronMode::WaitForExit if entry.state == CronJobState::Idle => {
                match entry.last_end.map(|last| last.plus(period)).filter(|due| *due >= now) {
                    Some(due) => entry.timer = Some(CronTimer { due, every: None }),
                    None => {
                        entry.timer = None;
                        entry.state = CronJobState::Ready;
                    }
                }
            }
            _ => {}
        }
    }

    /// Starts all jobs that are ready, including jobs that have never run (`CronJob::Schedule`).
    fn start_ready_jobs(
        &mut self,
        now: MonotonicTime,
        may_start: &StartCondition<'_>,
        out: &mut Vec<CronAction>,
    ) {
        for at in 0..self.entries.len() {
            let entry = &self.entries[at];
            let fresh = entry.runs == 0 && entry.failures == 0 && entry.job.mode != CronMode::OnDemand;
            if entry.state == CronJobState::Ready || (fresh && entry.state == CronJobState::Idle) {
                self.start(at, now, may_start, out);
            }
        }
    }

    fn start(
        &mut self,
        at: usize,
        now: MonotonicTime,
        may_start: &StartCondition<'_>,
        out: &mut Vec<CronAction>,
    ) {
        let load = self.running_load();
        let entry = &mut self.entries[at];
        if self.stopping || !matches!(entry.state, CronJobState::Idle | CronJobState::Ready) {
            return;
        }
        let for_load = entry.job.load + load > self.max_load;
        if for_load || !may_start(&entry.job) {
            entry.state = CronJobState::Ready;
            if !std::mem::replace(&mut entry.reported_waiting, true) {
                let name = entry.job.name.clone();
                out.push(CronAction::Note(CronNote::Waiting { name, for_load }));
            }
            return;
        }
        self.next_run += 1;
        let run = CronRunId(self.next_run);
        entry.lost_runs.extend(entry.run.replace(run));
        entry.state = CronJobState::Running;
        entry.runs += 1;
        entry.last_start = Some(now);
        entry.load = entry.job.load;
        entry.reported_waiting = false;
        out.push(CronAction::Start { name: entry.job.name.clone(), run });
    }

    /// Runs a job that is due. If its last run has not ended, this run is skipped or, with KILL, the last run is killed
    /// (`CronJob::RunJob`).
    fn run_due_job(
        &mut self,
        at: usize,
        now: MonotonicTime,
        may_start: &StartCondition<'_>,
        out: &mut Vec<CronAction>,
    ) {
        if !self.entries[at].is_alive() {
            return self.start(at, now, may_start, out);
        }
        out.push(CronAction::Note(CronNote::StillRunning { name: self.entries[at].job.name.clone() }));
        if self.entries[at].job.kill {
            self.kill(at, now, false, out);
        }
    }

    fn kill(&mut self, at: usize, now: MonotonicTime, hard: bool, out: &mut Vec<CronAction>) {
        let entry = &mut self.entries[at];
        let Some(run) = entry.run else { return };
        let signal = match entry.state {
            CronJobState::Running if !hard => SIGTERM,
            CronJobState::Running | CronJobState::TermSent => SIGKILL,
            CronJobState::KillSent if hard => SIGKILL,
            _ => return,
        };
        (entry.state, entry.kill_at) = match signal {
            SIGTERM => (CronJobState::TermSent, Some(now.plus(TERM_TO_KILL_DELAY))),
            _ => (CronJobState::KillSent, None),
        };
        out.push(CronAction::Signal { run, signal });
    }

    fn advance_time(
        &mut self,
        now: MonotonicTime,
        may_start: &StartCondition<'_>,
        out: &mut Vec<CronAction>,
    ) {
        for at in 0..self.entries.len() {
            if self.entries[at].kill_at.is_some_and(|due| due <= now) {
                self.entries[at].kill_at = None;
                self.kill(at, now, false, out);
            }
            let Some(timer) = self.entries[at].timer.filter(|timer| timer.due <= now && !self.stopping)
            else {
                continue;
            };
            // The next period begins when the end of the last run is processed, as in the reference.
            self.entries[at].timer =
                timer.every.map(|every| CronTimer { due: now.plus(every), every: Some(every) });
            match self.entries[at].job.mode {
                CronMode::Periodic => self.run_due_job(at, now, may_start, out),
                _ => self.start(at, now, may_start, out),
            }
        }
    }

    fn handle_failed_start(
        &mut self,
        now: MonotonicTime,
        run: CronRunId,
        may_start: &StartCondition<'_>,
        out: &mut Vec<CronAction>,
    ) {
        let Some(at) = self.entries.iter().position(|entry| entry.run == Some(run)) else { return };
        let entry = &mut self.entries[at];
        (entry.run, entry.state, entry.load, entry.kill_at) = (None, CronJobState::Idle, 0.0, None);
        entry.runs -= 1;
        entry.failures += 1;
        if entry.job.mode == CronMode::WaitForExit && !self.failed_start.as_reference {
            // At least one second passes before the next try, so that a program that cannot be started causes no tight loop.
            let due = now.plus(period_duration(entry.job.period.max(1)));
            entry.timer = Some(CronTimer { due, every: None });
        }
        if self.running_load() < self.max_load {
            self.start_ready_jobs(now, may_start, out);
        }
    }

    fn handle_run_end(
        &mut self,
        now: MonotonicTime,
        run: CronRunId,
        may_start: &StartCondition<'_>,
        out: &mut Vec<CronAction>,
    ) {
        let Some(at) = self.entries.iter().position(|entry| entry.owns_run(run)) else { return };
        let entry = &mut self.entries[at];
        entry.lost_runs.retain(|lost| *lost != run);
        if entry.run != Some(run) {
            return;
        }
        let was_signalled = matches!(entry.state, CronJobState::TermSent | CronJobState::KillSent);
        (entry.run, entry.load, entry.kill_at, entry.last_end) = (None, 0.0, None, Some(now));
        entry.state = CronJobState::Idle;
        let period = period_duration(entry.job.period);
        match entry.job.mode {
            CronMode::WaitForExit if period.is_zero() => self.start(at, now, may_start, out),
            CronMode::WaitForExit => entry.timer = Some(CronTimer { due: now.plus(period), every: None }),
            CronMode::Periodic if was_signalled => self.start(at, now, may_start, out),
            _ => {}
        }
        let entry = &mut self.entries[at];
        if std::mem::take(&mut entry.rerun) && entry.state == CronJobState::Idle {
            entry.state = CronJobState::Ready;
        }
        if self.running_load() < self.max_load {
            self.start_ready_jobs(now, may_start, out);
        }
    }
}

impl std::fmt::Display for CronNote {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CronNote::StillRunning { name } => {
                write!(out, "CronJob: Job '{}' is still running!", name.as_bstr())
            }
            CronNote::Waiting { name, for_load: true } => {
                write!(out, "CronJob: Too busy to run job '{}'", name.as_bstr())
            }
            CronNote::Waiting { name, for_load: false } => {
                write!(out, "CronJob: job '{}' CONDITION evaluated to false", name.as_bstr())
            }
            CronNote::NeverFits { name } => {
                write!(
                    out,
                    "CronJob: Job '{}': JOB_LOAD is above MAX_JOB_LOAD: it never starts",
                    name.as_bstr()
                )
            }
            CronNote::HangUpTooEarly { name } => {
                write!(out, "Not HUPing '{}' before it's first output", name.as_bstr())
            }
        }
    }
}

#[cfg(test)]
mod tests;
