//! Run of one job from its submission to its end: the loop that calls the hook and runs starters as the shadow's
//! state machine requires.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use nix::libc;

use super::credentials::HookCredentials;
use super::hook::{self, HookCallContext, HookWaiter, ShadowHookOutcome, WaitAborted};
use super::observer::{FinalUpdate, RunObservations, ShadowObserver};
use super::run_history::RunHistory;
use crate::control::ControlSocket;
use crate::events::EventStream;
use crate::hook_environment::HookEnvironment;
use crate::parent_process::ParentWatch;
use crate::starter::{
    self, ControlCommand, ControlInputs, Plan, StarterObserver as _, StarterOutcome, StarterReply, UserLog,
    parse_client_command,
};
use htc_base::job::attr;
use htc_base::process::{Exit, ProcessIdentity};
use htc_base::quirks::QuirkMode;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::{ClassAd, Context};
use htc_os as os;
use htc_os::{Reactor, clock};
use htc_starter::shadow::{
    Shadow, ShadowAction, ShadowEvent, ShadowHook, ShadowHookResult, ShadowSetup, StarterEnd,
};
use htc_starter::{JobOutcome, job_exit};

/// Inputs of the run of a job.
pub struct ShadowRunInputs<'w> {
    /// Setup of the shadow's state machine.
    pub setup: ShadowSetup<'w>,
    /// The slot ad, or `None` to run without one.
    pub machine: Option<ClassAd>,
    /// The job's log (UserLog).
    pub log: Option<UserLog>,
    /// The job's owner, or `None` for the account of this program.
    pub owner: Option<ProcessIdentity>,
    /// The environment of the hook.
    pub environment: HookEnvironment,
    /// Maximum time to wait for the hook.
    pub hook_limit: Option<Duration>,
    /// Provider of the hook's credentials.
    pub hook_credentials: HookCredentialsProvider<'w>,
    /// Maximum time that a job may take to end when asked to (MachineMaxVacateTime).
    pub max_vacate_time: Duration,
    /// Offset added to the wall clock, in microseconds.
    pub clock_skew_us: i64,
    /// Socket for commands to hold, remove or release the job.
    pub control: Option<ControlSocket>,
    /// Watches the process whose exit ends the job.
    pub parent: Option<ParentWatch>,
    /// Maximum total time of the run.
    pub timeout: Option<Duration>,
}

/// Outcome of the run of a job.
#[derive(Debug)]
pub struct ShadowRunOutcome {
    /// The final job ad of the queue.
    pub ad: ClassAd,
    /// Outcome of the last starter, or `None` if none was run.
    pub last_run: Option<StarterOutcome>,
    /// Exit status of the job, or `None` if the job did not run to its end.
    pub exit: Option<Exit>,
    /// True if the maximum total time was exceeded.
    pub timed_out: bool,
}

/// Function that writes the user's credentials for the hook of a job.
pub type HookCredentialsProvider<'w> = Box<dyn Fn(&ClassAd) -> Result<Option<HookCredentials>, String> + 'w>;

/// Function that makes the plan of a run from the current job ad.
type RunPlanner<'p, 'w> = &'p mut dyn FnMut(ClassAd) -> Result<Plan<'w>, String>;

/// Runs a job.
///
/// # Errors
/// Fails if the reactor cannot wait.
pub fn run<'w>(
    inputs: ShadowRunInputs<'w>,
    planner: RunPlanner<'_, 'w>,
    reactor: &mut Reactor,
    stream: &mut EventStream,
    say: &mut dyn FnMut(&str),
) -> io::Result<ShadowRunOutcome> {
    let mut playing = ShadowRun::new(inputs);
    playing.handle_event(ShadowEvent::Begin);
    loop {
        playing.observer.messages.drain(..).for_each(|line| say(&line));
        let next = match playing.observer.pending_actions.is_empty() {
            true => None,
            false => Some(playing.observer.pending_actions.remove(0)),
        };
        match next {
            Some(ShadowAction::Finish(ad)) => {
                return Ok(playing.into_outcome(*ad));
            }
            Some(ShadowAction::CallHook(hook)) => playing.call(&hook, reactor)?,
            Some(ShadowAction::RunStarter(ad)) => playing.run_starter_once(*ad, planner, reactor, stream)?,
            // The observer performed all other actions when the state machine requested them.
            Some(_) => {}
            None if playing.observer.wake_at.is_none() && playing.control.is_none() => {
                let ad = playing.observer.shadow.ad().clone();
                return Ok(playing.into_outcome(ad));
            }
            None => playing.wait(reactor)?,
        }
    }
}

struct ShadowRun<'w> {
    observer: ShadowObserver<'w>,
    machine: Option<ClassAd>,
    owner: Option<ProcessIdentity>,
    environment: HookEnvironment,
    hook_limit: Option<Duration>,
    hook_credentials: HookCredentialsProvider<'w>,
    quirks: QuirkMode,
    clock_skew_us: i64,
    control: Option<ControlSocket>,
    parent: Option<ParentWatch>,
    ends_at: Option<MonotonicTime>,
    timed_out: bool,
    last_run: Option<StarterOutcome>,
    exit: Option<Exit>,
}

impl<'w> ShadowRun<'w> {
    /// Creates the run of a job, before its first starter.
    fn new(inputs: ShadowRunInputs<'w>) -> Self {
        let ShadowRunInputs {
            mut setup,
            machine,
            mut log,
            owner,
            environment,
            hook_limit,
            hook_credentials,
            ..
        } = inputs;
        let ShadowRunInputs {
            max_vacate_time: vacate, clock_skew_us: skew_us, control, parent, timeout, ..
        } = inputs;
        let (world, quirks, local) = (setup.world, setup.quirks, setup.local);
        let mut messages = Vec::new();
        if let Some(opened) = &mut log
            && let Err(error) = opened.open(owner.as_ref())
        {
            messages.push(format!("the job's log '{}' cannot be opened: {error}", opened.path().display()));
            // Without the job's own log, the event log of all jobs is still written.
            setup.log_unavailable = true;
        }
        let (history, unrecorded) = match local {
            true => Default::default(),
            false => RunHistory::from_parameters(setup.parameters, world),
        };
        messages.extend(unrecorded);
        let companion = ShadowObserver {
            shadow: Shadow::new(setup),
            log,
            world,
            local,
            scratch: BString::default(),
            pending_actions: Vec::new(),
            wake_at: None,
            max_vacate_time: vacate,
            messages,
            history,
            observations: RunObservations::default(),
        };
        ShadowRun {
            observer: companion,
            machine,
            owner,
            environment,
            hook_limit,
            hook_credentials,
            quirks,
            clock_skew_us: skew_us,
            control,
            parent,
            ends_at: timeout.map(|limit| clock::monotonic_now().plus(limit)),
            timed_out: false,
            last_run: None,
            exit: None,
        }
    }

    fn now(&self) -> ClockReading {
        let now = clock::now();
        ClockReading { wall_us: now.wall_us.saturating_add(self.clock_skew_us), ..now }
    }

    fn into_outcome(self, ad: ClassAd) -> ShadowRunOutcome {
        let timed_out = self.timed_out || self.last_run.as_ref().is_some_and(|last| last.timed_out);
        ShadowRunOutcome { ad, last_run: self.last_run, exit: self.exit, timed_out }
    }

    /// Handles an event while no starter is running. The resulting commands are dropped because no starter could
    /// receive them.
    fn handle_event(&mut self, event: ShadowEvent) {
        let now = self.now();
        drop(self.observer.handle_event(now, event));
    }

    fn call(&mut self, hook: &ShadowHook, reactor: &mut Reactor) -> io::Result<()> {
        let ad = self.observer.shadow.run_ad();
        let iwd = Context::new(self.observer.world).my(&ad).string(attr::IWD);
        let directory = iwd.map(|iwd| iwd.to_path_lossy().into_owned()).filter(|iwd| iwd.is_dir());
        let credentials = match (self.hook_credentials)(&ad) {
            Ok(credentials) => credentials,
            Err(why) => {
                // As in the reference, the hook is not called without its job's credentials
                // (`ShadowHookMgr::tryHookPrepareJob`).
                let message = format!("SHADOW_PREPARE_JOB is not called: no credentials for it: {why}");
                self.observer.messages.push(message);
                self.handle_event(ShadowEvent::HookEnded(ShadowHookResult::NoCredentials));
                return Ok(());
            }
        };
        let variable = credentials.as_ref().map(HookCredentials::environment_variable);
        let (environment, identity) = (self.environment.clone().with_variables(variable), self.owner.clone());
        let calling = HookCallContext {
            environment: &environment,
            identity: identity.as_ref(),
            directory: directory.unwrap_or_else(|| PathBuf::from("/")),
            limit: self.hook_limit,
            quirks: self.quirks,
        };
        let answer = hook::call_hook(hook, &ad, &calling, self, reactor)?;
        self.observer.messages.extend(credentials.and_then(HookCredentials::remove));
        let stderr_message =
            |said: &str| Some(format!("it printed on standard error: {said}")).filter(|_| !said.is_empty());
        let text = match &answer {
            ShadowHookOutcome::Failed(reason) | ShadowHookOutcome::TimedOut(reason) => Some(reason.clone()),
            ShadowHookOutcome::Stopped(_, complaint) if complaint.is_empty() => {
                Some("it was asked to end".to_owned())
            }
            ShadowHookOutcome::Stopped(_, complaint) => {
                Some(format!("it was asked to end; it printed on standard error: {complaint}"))
            }
            ShadowHookOutcome::Ended { complaint, .. } => stderr_message(complaint),
        };
        let describe = |text| format!("SHADOW_PREPARE_JOB '{}': {text}", hook::display_path(hook));
        self.observer.messages.extend(text.map(describe));
        match answer {
            ShadowHookOutcome::Ended { exit, stdout, .. } => {
                self.handle_event(ShadowEvent::HookEnded(ShadowHookResult::Exited(exit, stdout)))
            }
            ShadowHookOutcome::Failed(_) => {
                self.handle_event(ShadowEvent::HookEnded(ShadowHookResult::NotExecuted))
            }
            ShadowHookOutcome::TimedOut(_) => {
                self.handle_event(ShadowEvent::HookEnded(ShadowHookResult::TimedOut))
            }
            // The command has already been passed to the state machine.
            ShadowHookOutcome::Stopped(WaitAborted::Order, _) => {}
            ShadowHookOutcome::Stopped(..) => {
                self.handle_event(ShadowEvent::HookEnded(ShadowHookResult::Interrupted));
                self.leave_in_queue();
            }
        }
        Ok(())
    }

    /// Returns true if the maximum total time was exceeded.
    fn has_timed_out(&mut self) -> bool {
        self.timed_out |= self.ends_at.is_some_and(|at| at <= clock::monotonic_now());
        self.timed_out
    }

    /// Ends the run because the user asked for it; the job stays in the queue unchanged.
    fn leave_in_queue(&mut self) {
        if self.observer.pending_actions.is_empty() {
            let ad = self.observer.shadow.ad().clone();
            self.observer.pending_actions.push(ShadowAction::Finish(Box::new(ad)));
        }
    }

    fn run_starter_once(
        &mut self,
        ad: ClassAd,
        planner: RunPlanner<'_, 'w>,
        reactor: &mut Reactor,
        stream: &mut EventStream,
    ) -> io::Result<()> {
        if let Some(machine) = &self.machine {
            let provisioned = job_exit::provisioned_resources(machine, self.observer.world);
            self.handle_event(ShadowEvent::AttributesKnown(Box::new(provisioned)));
        }
        if self.has_timed_out() {
            self.handle_event(ShadowEvent::Ended(StarterEnd {
                end_requested: true,
                is_last_run: true,
                ..StarterEnd::default()
            }));
            return Ok(());
        }
        // The processes that the previous run left have ended by now, and the new run uses the same state file.
        self.last_run = None;
        let Some(plan) = self.plan_run(ad, planner) else { return Ok(()) };
        let world = self.observer.world;
        let control_inputs = ControlInputs {
            observer: Some(&mut self.observer),
            control: self.control.as_mut(),
            parent: self.parent.as_mut(),
        };
        let finished =
            starter::run_starter(plan.machine, plan.context, world, reactor, stream, control_inputs)?;
        self.handle_starter_end(finished);
        Ok(())
    }

    /// Plans a run of the starter, or returns `None` if the job cannot be run.
    fn plan_run(&mut self, ad: ClassAd, planner: RunPlanner<'_, 'w>) -> Option<Plan<'w>> {
        let mut plan = match planner(ad) {
            Ok(plan) => plan,
            Err(reason) => {
                self.observer.messages.push(format!("the job is not started: {reason}"));
                self.handle_event(ShadowEvent::Ended(StarterEnd {
                    reason: Some(reason),
                    is_last_run: true,
                    ..StarterEnd::default()
                }));
                return None;
            }
        };
        self.observer.messages.append(&mut plan.warnings);
        plan.context.timeout = self.ends_at.map(|at| at.since(clock::monotonic_now()));
        self.observer.scratch = plan.context.sandbox.scratch.as_os_str().as_bytes().into();
        self.observer.observations = RunObservations::default();
        if let Some(held) = plan.hold.take() {
            let now = self.now();
            drop(self.observer.handle_order(now, ControlCommand::Vacate(Some(held), false)));
            self.observer.observations.hard_kill_at = None;
            self.handle_event(ShadowEvent::Ended(StarterEnd {
                end_requested: true,
                ..StarterEnd::default()
            }));
            return None;
        }
        Some(plan)
    }

    fn handle_starter_end(&mut self, finished: StarterOutcome) {
        // The attributes about the end of the job are part of the final update.
        if let Some(outcome) = &finished.outcome {
            let mut outcome = htc_classad::format::long::parse(outcome).0;
            if self.observer.observations.final_update == FinalUpdate::Lost {
                // The shadow sets this attribute to false before it holds the job.
                outcome.set(attr::JOB_CORE_DUMPED, false);
            }
            for name in self.observer.unreported_attributes() {
                drop(outcome.remove(name));
            }
            self.handle_event(ShadowEvent::AttributesKnown(Box::new(outcome)));
        }
        let exit = match finished.standing {
            JobOutcome::Ran(exit) => Some(exit),
            JobOutcome::NotStarted => None,
        };
        let was_requested = self.observer.observations.evicted || finished.requested;
        self.exit = exit.filter(|_| !was_requested);
        let last = finished.requested;
        let reason = finished.not_started.clone();
        self.last_run = Some(finished);
        self.handle_event(ShadowEvent::Ended(StarterEnd {
            exit,
            end_requested: was_requested,
            reason,
            is_last_run: last,
        }));
    }

    /// Waits until the time that the state machine requested, or until the user ends the run.
    fn wait(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        match reactor.next_event([self.observer.wake_at, self.next_check()].into_iter().flatten().min())? {
            os::ReactorEvent::Readable(token) => drop(self.handle_readable(token, reactor)),
            os::ReactorEvent::Signal(libc::SIGTERM | libc::SIGINT | libc::SIGQUIT) => self.leave_in_queue(),
            _ => {
                if self.should_stop_waiting(reactor) {
                    self.leave_in_queue();
                    return Ok(());
                }
                if self.observer.wake_at.is_some_and(|at| at <= clock::monotonic_now()) {
                    self.observer.wake_at = None;
                    self.handle_event(ShadowEvent::Timeout);
                }
            }
        }
        Ok(())
    }
}

impl HookWaiter for ShadowRun<'_> {
    fn next_check(&self) -> Option<MonotonicTime> {
        let control = self.control.as_ref().and_then(ControlSocket::next_deadline);
        let parent = self.parent.as_ref().map(ParentWatch::check_at);
        [control, parent, self.ends_at].into_iter().flatten().min()
    }

    fn should_stop_waiting(&mut self, reactor: &mut Reactor) -> bool {
        let now = clock::monotonic_now();
        if let Some(control) = &mut self.control {
            control.check_timeouts(now, reactor);
        }
        let is_gone = self.parent.as_mut().is_some_and(|parent| parent.is_gone(now));
        if is_gone {
            self.observer.messages.push(
                "the process that started this program has ended: the job stays in the queue".to_owned(),
            );
            self.parent = None;
        }
        is_gone || self.has_timed_out()
    }

    /// Handles a command that arrives while no starter is running.
    fn handle_readable(&mut self, token: os::WatchToken, reactor: &mut Reactor) -> bool {
        let Some(said) = self.control.as_mut().and_then(|control| control.handle_readiness(token, reactor))
        else {
            return false;
        };
        let client = said.client;
        let now = self.now();
        let (reply, taken) = match parse_client_command(said) {
            Ok(ControlCommand::Status) => {
                let ad = self.observer.shadow.ad();
                let number = |name| Context::new(self.observer.world).my(ad).int(name).unwrap_or(0);
                let id = format!("{}.{}", number(attr::CLUSTER_ID), number(attr::PROC_ID));
                (StarterReply::status(&id, self.observer.shadow.state()), false)
            }
            // No starter is running that could receive the command.
            Ok(command) => {
                let taken = self.observer.handle_order(now, command).map(drop);
                let is_taken = taken.is_ok();
                (StarterReply::from_result(taken), is_taken)
            }
            Err(error) => (StarterReply::from_result(Err(error)), false),
        };
        if let Some(control) = &mut self.control {
            control.answer(client, &reply, reactor);
        }
        taken
    }
}
