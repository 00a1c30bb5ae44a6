//! Executes the actions of a cron manager: starts the jobs' programs, reads their output blocks, sends signals.
//!
//! The owner of the event loop passes each event of its reactor to [`CronRunner::take_reactor_event`] and calls it
//! again at [`CronRunner::next_wake`]. The owner also supplies the current time, because the clock may be simulated.
//!
//! Reference: `cron_job.cpp` (StartJobProcess, StdoutHandler, Reaper), `startd_cron_job_mgr.cpp`,
//! `classad_cron_job.cpp`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use super::hook_call::HookCall;
use super::hook_environment::HookEnvironment;
use super::spawn_mode::SpawnMode;
use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, ProcessIdentity, SessionMode, Stdio};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_hook::cron_job::{AutoPublish, CronJob, CronManager};
use htc_hook::cron_output::CronOutput;
use htc_os::{ChildId, LeftoverProcess, OutputStream, Reactor, ReactorEvent, SignalScope};
use htc_slot::cron_ads::{CronAds, CronPublication};
use htc_slot::cron_schedule::{CronAction, CronEvent, CronNote, CronRunId, CronSchedule, StartCondition};

/// Maximum number of bytes kept of the standard error of one run.
const MAX_STDERR_KEPT: usize = 64 * 1024;

/// Properties of the daemon that the jobs' programs inherit.
#[derive(Clone, Debug)]
pub struct CronContext {
    /// Manager of the jobs.
    pub manager: CronManager,
    /// The daemon's environment, without variables that hold private keys.
    pub environment: HookEnvironment,
    /// LOG: the working directory of jobs without CWD.
    pub directory: PathBuf,
    /// The account that the jobs run as, or `None` for the account of this program.
    pub identity: Option<ProcessIdentity>,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

/// Inputs of one step of a runner.
pub struct CronStepInputs<'a> {
    /// Reactor that starts and signals programs.
    pub reactor: &'a mut Reactor,
    /// Current time.
    pub now: ClockReading,
    /// Function that decides whether a job may start.
    pub may_start: &'a StartCondition<'a>,
    /// Access to the outside world: time, files, accounts, environment, programs.
    pub world: &'a dyn World,
}

/// Event of a cron job to be reported.
#[derive(Clone, Debug)]
pub enum CronNotice {
    /// A run has begun.
    Started {
        /// Name of the cron job.
        name: BString,
        /// Process id of the run.
        pid: i32,
    },
    /// A run could not be started.
    NotStarted {
        /// Name of the cron job.
        name: BString,
        /// Reason.
        reason: String,
    },
    /// A block of output was processed.
    Published {
        /// Name of the cron job.
        job: BString,
        /// Effect of the block on the published ads.
        block: CronPublication,
    },
    /// The output ended with an incomplete line, which 25.14 adds to the output of the next run.
    UnterminatedLine {
        /// The incomplete line.
        line: BString,
        /// Quirk that keeps the line for the next run.
        leaks: Quirk,
    },
    /// A block of output is too large: its further lines are dropped.
    TooLarge {
        /// Name of the cron job.
        name: BString,
    },
    /// A signal was sent to the program of a job.
    Signalled {
        /// The job; empty if the job is being removed from the list.
        name: BString,
        /// The signal.
        signal: i32,
    },
    /// A run has ended.
    Ended {
        /// Name of the cron job.
        name: BString,
        /// Exit status.
        exit: Exit,
        /// Duration of the run.
        took: Duration,
        /// Standard error of the run.
        stderr: Vec<u8>,
        /// Processes that the run left behind, which are not killed.
        left_behind: Vec<LeftoverProcess>,
    },
    /// The job and its ads were removed from the list.
    Dropped {
        /// Name of the cron job.
        name: BString,
    },
    /// A line for the log.
    Note(CronNote),
}

struct RunningCronJob {
    run: CronRunId,
    name: BString,
    began: ClockReading,
    stderr: Vec<u8>,
}

/// Runner of the jobs of one cron manager.
pub struct CronRunner {
    context: CronContext,
    schedule: CronSchedule,
    ads: CronAds,
    auto_publish: AutoPublish,
    outputs: FxHashMap<BString, CronOutput>,
    running: FxHashMap<ChildId, RunningCronJob>,
    notices: VecDeque<CronNotice>,
}

impl CronRunner {
    /// Creates a runner without jobs.
    pub fn new(context: CronContext) -> Self {
        let quirks = context.quirks;
        CronRunner {
            context,
            schedule: CronSchedule::new(quirks),
            ads: CronAds::new(quirks),
            auto_publish: AutoPublish::default(),
            outputs: FxHashMap::default(),
            running: FxHashMap::default(),
            notices: VecDeque::new(),
        }
    }

    /// Returns the jobs and their schedule.
    pub fn schedule(&self) -> &CronSchedule {
        &self.schedule
    }

    /// Returns the ads that the jobs have published.
    pub fn ads(&self) -> &CronAds {
        &self.ads
    }

    /// Returns the published ads for changes, to notify monitors when a job of the slot begins or ends.
    pub fn ads_mut(&mut self) -> &mut CronAds {
        &mut self.ads
    }

    /// Returns the number of running programs, including those of dropped jobs.
    pub fn running_count(&self) -> usize {
        self.running.len()
    }

    /// Returns the jobs whose programs are running, sorted by name.
    pub fn running_jobs(&self) -> Vec<BString> {
        let mut names: Vec<_> = self.running.values().map(|running| running.name.clone()).collect();
        names.sort();
        names
    }

    /// Returns the time at which [`CronEvent::Tick`] is due, or `None` if nothing is scheduled.
    pub fn next_wake(&self) -> Option<htc_base::time::MonotonicTime> {
        self.schedule.next_wake()
    }

    /// Returns the events since the last call.
    pub fn take_notices(&mut self) -> impl Iterator<Item = CronNotice> {
        std::mem::take(&mut self.notices).into_iter()
    }

    /// Applies the configuration, read for the first time or again.
    pub fn configure(
        &mut self,
        jobs: Vec<CronJob>,
        max_load: f64,
        auto_publish: AutoPublish,
        at: &mut CronStepInputs<'_>,
    ) {
        self.auto_publish = auto_publish;
        let prefixes: Vec<(BString, BString)> =
            jobs.iter().map(|job| (job.name.clone(), job.prefix.clone())).collect();
        for (name, prefix) in prefixes {
            let quirks = self.context.quirks;
            let fresh = || CronOutput::new(&prefix, quirks);
            self.outputs.entry(name).or_insert_with(fresh).set_prefix(&prefix);
        }
        let before: Vec<CronJob> = jobs.clone();
        self.handle_event(CronEvent::Configured { jobs, max_load }, at);
        self.ads.configure(&before);
    }

    /// Handles an event that does not come from the reactor.
    pub fn handle_event(&mut self, event: CronEvent, at: &mut CronStepInputs<'_>) {
        let mut actions: VecDeque<CronAction> = self.schedule.step(at.now, event, at.may_start).into();
        while let Some(action) = actions.pop_front() {
            match action {
                CronAction::Start { name, run } => {
                    if let Err(reason) = self.start(&name, run, at) {
                        self.notices.push_back(CronNotice::NotStarted { name, reason });
                        let event = CronEvent::StartFailed(run);
                        actions.extend(self.schedule.step(at.now, event, at.may_start));
                    }
                }
                CronAction::Signal { run, signal } => {
                    let Some((&child, running)) = self.running.iter().find(|(_, known)| known.run == run)
                    else {
                        continue;
                    };
                    at.reactor.send_signal(child, signal, SignalScope::Process);
                    self.notices.push_back(CronNotice::Signalled { name: running.name.clone(), signal });
                }
                CronAction::Dropped { name } => {
                    self.ads.drop_job(&name);
                    self.outputs.remove(&name);
                    self.notices.push_back(CronNotice::Dropped { name });
                }
                CronAction::Note(note) => self.notices.push_back(CronNotice::Note(note)),
            }
        }
    }

    fn start(&mut self, name: &BString, run: CronRunId, at: &mut CronStepInputs<'_>) -> Result<(), String> {
        let Some(job) = self.schedule.job(name) else { return Ok(()) };
        let spec = self.child(job, at.now, at.world);
        if let Some(output) = self.outputs.get_mut(name) {
            output.begin_run();
        }
        let child = at.reactor.spawn(spec).map_err(|error| match error.interpreter {
            Some(_) => error.to_string(),
            None => format!("{error}: {}", error.reason()),
        })?;
        let pid = at.reactor.pid(child).unwrap_or_default();
        self.notices.push_back(CronNotice::Started { name: name.clone(), pid });
        let running = RunningCronJob { run, name: name.clone(), began: at.now, stderr: Vec::new() };
        self.running.insert(child, running);
        Ok(())
    }

    /// Describes the child process as the daemon creates it: `argv[0]` is the job's name, standard input is not
    /// provided, and the session is the daemon's own.
    pub fn child(&self, job: &CronJob, now: ClockReading, world: &dyn World) -> ChildSpec {
        let CronContext { manager, environment, directory, identity, quirks } = &self.context;
        let mut environment = environment.clone();
        environment.variables.merge(&job.environment);
        if *manager == CronManager::Schedd || !quirks.reproduces(Quirk::CronEnvMissing) {
            let name = manager.parameter_prefix().split('_').next().unwrap_or_default();
            environment.variables.set(format!("{name}_INTERFACE_VERSION"), "1");
            environment.variables.set(format!("{name}_CRON_NAME"), name);
            if !job.config_val.is_empty() {
                environment.variables.set(format!("{name}_CONFIG_VAL"), job.config_val.clone());
            }
        }
        if !job.manager_config_val.is_empty() {
            let name = format!("{}_CONFIG_VAL", manager.parameter_prefix());
            environment.variables.set(name, job.manager_config_val.clone());
        }
        let spawning = SpawnMode::from_quirks(*quirks);
        let directory = match job.directory.is_empty() {
            true => directory.clone(),
            false => job.directory.to_path_lossy().into_owned(),
        };
        ChildSpec {
            argv: std::iter::once(job.name.clone()).chain(job.arguments.iter().cloned()).collect(),
            env: environment.entries(),
            cwd: Some(directory),
            identity: identity.clone(),
            stdio: [spawning.unused_descriptor(), Stdio::Stream, Stdio::Stream],
            session: SessionMode::Inherit,
            ignore_sigpipe: spawning.as_daemon,
            limits: super::hook_limits::default_daemon_limits(),
            ancestor_stamp: Some(HookCall::new_family_marker(now, world.random())),
            leftover_policy: LeftoverPolicy::Keep,
            ..ChildSpec::new(job.executable.to_path_lossy().into_owned())
        }
    }

    /// Handles an event of the reactor; returns events of other children.
    pub fn take_reactor_event(
        &mut self,
        event: ReactorEvent,
        at: &mut CronStepInputs<'_>,
    ) -> Option<ReactorEvent> {
        match event {
            ReactorEvent::Piece { child, stream, bytes } if self.running.contains_key(&child) => {
                match stream {
                    OutputStream::Stdout => self.handle_output(child, Some(&bytes), at),
                    OutputStream::Stderr => {
                        if let Some(running) = self.running.get_mut(&child) {
                            let room = MAX_STDERR_KEPT.saturating_sub(running.stderr.len());
                            running.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
                        }
                    }
                }
                None
            }
            ReactorEvent::Exited { child, exit, left_behind, .. } if self.running.contains_key(&child) => {
                self.handle_output(child, None, at);
                let RunningCronJob { run, name, began, stderr } = self.running.remove(&child)?;
                let took = at.now.monotonic().since(began.monotonic());
                self.notices.push_back(CronNotice::Ended { name, exit, took, stderr, left_behind });
                self.handle_event(CronEvent::Ended(run), at);
                None
            }
            other => Some(other),
        }
    }

    /// Processes output, or the end of the output if `bytes` is `None`, and publishes the completed blocks.
    fn handle_output(&mut self, child: ChildId, bytes: Option<&[u8]>, at: &CronStepInputs<'_>) {
        let Some(running) = self.running.get(&child) else { return };
        // The output of removed cron jobs is discarded.
        let Some(job) = self.schedule.job_of(running.run).cloned() else { return };
        let Some(output) = self.outputs.get_mut(&running.name) else { return };
        let mut blocks = output.push_output(bytes.unwrap_or_default());
        if output.has_overflowed() {
            self.notices.push_back(CronNotice::TooLarge { name: job.name.clone() });
        }
        // A program that was ended with KILL is restarted, so the unfinished block of the old process is discarded.
        if bytes.is_none() && !self.schedule.will_restart(running.run) {
            blocks.extend(output.finish_run());
            if let Some((line, leaks)) = output.leaked_line() {
                self.notices.push_back(CronNotice::UnterminatedLine { line: line.into(), leaks });
            }
        }
        for block in blocks {
            let published = match self.context.manager {
                CronManager::Startd | CronManager::Benchmarks => {
                    self.ads.publish(&job, &block, self.auto_publish, at.now, at.world)
                }
                CronManager::Schedd => self.ads.publish_untagged(&job, &block, at.now),
            };
            self.notices.push_back(CronNotice::Published { job: job.name.clone(), block: published });
            // A published block never makes another job start, so the condition passed here does not matter.
            self.schedule.step(at.now, CronEvent::Published(running.run), &|_| true);
        }
    }
}
