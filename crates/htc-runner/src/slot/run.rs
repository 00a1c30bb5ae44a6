//! Live event loop: children and signals become events of the state machine, and the actions of the state machine
//! start children and send signals.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

use super::control_protocol;
use super::image_cache::ImageCachePoll;
use super::last_verdicts::LastVerdicts;
use super::live_execution_point::{ExecutionPointOutcome, LiveExecutionPoint};
use super::machine_sampler::MachineSampler;
use super::notices;
use super::options::ExecutionPointSetup;
use super::run_counters::RunCounters;
use super::running_hook::RunningHook;
use super::sleep_progress::SleepProgress;
use crate::control::ControlSocket;
use crate::cron::{CronContext, CronRunner};
use crate::events::{EventStream, RunnerEvent, RunnerEventKind, UNKNOWN};
use htc_base::text::plural::counted;
use htc_hook::cron_job::CronManager;
use htc_os as os;
use htc_os::{OutputStream, Reactor, clock};
use htc_slot::{
    ExecutionPoint, JournalRecord, ShutdownMode, SlotHookType, SlotNotice, StartdAction, StartdEvent,
};

/// Maximum time for starting calls of FETCH_WORK before other events are handled.
const FETCH_BATCH_TIME: Duration = Duration::from_millis(20);
/// Interval between checks of the starters' configuration while they cannot run.
const CONFIG_RECHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Signals that the runner handles: two for a graceful end, one for a fast end, one for a reconfiguration, and two
/// that a daemon of HTCondor ignores but whose default action would kill this program.
pub(super) const SIGNALS: [i32; 6] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// Reason why an execution point cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionPointError {
    /// The control socket cannot be created.
    #[error("cannot listen on '{}'", .0.display())]
    Listen(PathBuf, #[source] io::Error),
    /// The reactor cannot be created, or `poll` fails.
    #[error("the main loop")]
    Reactor(#[from] io::Error),
}

/// Runs the execution point until it has ended.
///
/// # Errors
/// Fails if it cannot listen on its control socket, or cannot wait for events.
pub fn run(
    machine: ExecutionPoint,
    options: ExecutionPointSetup,
    measure: MachineSampler,
    events: &mut EventStream,
) -> Result<ExecutionPointOutcome, ExecutionPointError> {
    let (reactor, control) = match open_loop(&options) {
        Ok(opened) => opened,
        Err(error) => {
            // The events of the recovered run are no longer in a journal, so they are reported first.
            options.recovered.events.iter().for_each(|event| events.report(event));
            return Err(error);
        }
    };
    let runner = |manager| {
        CronRunner::new(CronContext {
            manager,
            environment: options.environment.for_hooks(options.quirks),
            directory: options.log_directory.clone().unwrap_or_else(|| ".".into()),
            identity: options.account.identity.clone(),
            quirks: options.quirks,
        })
    };
    let (cron, benchmarks) = (runner(CronManager::Startd), runner(CronManager::Benchmarks));
    let mut live = LiveExecutionPoint {
        machine,
        reactor,
        options,
        control,
        events,
        hooks: BTreeMap::new(),
        waiting_fetches: VecDeque::new(),
        starters: BTreeMap::new(),
        starters_checked_at: clock::monotonic_now(),
        starter_snapshots: Default::default(),
        cron,
        benchmarks,
        awaits_benchmarks: false,
        image_cache: ImageCachePoll::new(),
        cron_shutdown: None,
        waiting_events: VecDeque::new(),
        warned_attributes: BTreeSet::new(),
        verdicts: LastVerdicts::default(),
        counters: RunCounters { started_at: clock::now().epoch(), ..RunCounters::default() },
        reload_requested: false,
        refusals: Vec::new(),
        early_signals: Vec::new(),
        sleep: SleepProgress::default(),
        hold_reason: None,
        sampler: measure,
        outcome: ExecutionPointOutcome::default(),
        starter_problem: None,
        end_reason: None,
    };
    live.run_to_end()?;
    Ok(ExecutionPointOutcome { starter_problem: live.starter_problem, ..live.outcome })
}

/// Creates the reactor, and the control socket if one is configured.
fn open_loop(options: &ExecutionPointSetup) -> Result<(Reactor, Option<ControlSocket>), ExecutionPointError> {
    let signals: Vec<i32> = SIGNALS.into_iter().chain(os::ENDING_SIGNALS).collect();
    let mut reactor = Reactor::new(&signals)?;
    let Some(path) = &options.control else { return Ok((reactor, None)) };
    let control = ControlSocket::open(path, control_protocol::LISTENER_NAME, &mut reactor)
        .map_err(|error| ExecutionPointError::Listen(path.clone(), error))?;
    Ok((reactor, Some(control)))
}

impl LiveExecutionPoint<'_> {
    fn run_to_end(&mut self) -> io::Result<()> {
        let mut end = self.options.timeout.map(|after| clock::monotonic_now().plus(after));
        self.report(RunnerEvent::new(clock::now(), RunnerEventKind::Start));
        self.settle_last_run()?;
        if let Some(reason) = self.options.unusable.take() {
            self.end_reason = Some(reason.clone());
            self.starter_problem = Some(reason);
            self.report_shutdown();
            return Ok(());
        }
        self.process_measurements();
        self.configure_cron();
        self.configure_benchmarks();
        self.step(StartdEvent::Start);
        for signal in std::mem::take(&mut self.early_signals) {
            self.handle_signal(signal);
        }
        self.check_cron();
        self.call_waiting_fetches();
        while self.end_reason.is_none() || self.cron.running_count() + self.benchmarks.running_count() > 0 {
            let wakes = [
                self.machine.next_wake(),
                end,
                self.hooks.values().map(RunningHook::next_check).min(),
                self.cron.next_wake(),
                self.benchmarks.next_wake(),
                self.events.next_flush(clock::monotonic_now()),
                self.starter_problem.as_ref().map(|_| clock::monotonic_now().plus(CONFIG_RECHECK_INTERVAL)),
                self.control.as_ref().and_then(ControlSocket::next_deadline),
                self.sleep.wake_time(),
                self.image_cache.next_wake(self.machine.image_cache_settings()),
                self.waiting_fetches.front().map(|_| clock::monotonic_now()),
            ];
            let event = self.reactor.next_event(wakes.into_iter().flatten().min())?;
            self.events.flush();
            if end.take_if(|end| clock::monotonic_now() >= *end).is_some() {
                self.outcome.timed_out = true;
                self.warn(None, "the time limit (--timeout) expired: killing all jobs");
                self.step(StartdEvent::Shutdown(ShutdownMode::Fast));
            }
            if let Some(event) =
                self.take_cron_event(event).and_then(|event| self.take_benchmark_event(event))
            {
                self.handle_reactor_event(event);
            }
            self.check_running_hooks();
            self.continue_stopped_starters();
            if let Some(woke) = self.sleep.take_wake_event() {
                self.step(woke);
            }
            self.poll_image_cache();
            if let Some(control) = &mut self.control {
                control.check_timeouts(clock::monotonic_now(), &mut self.reactor);
            }
            if self.starter_problem.is_some() && (self.options.starter_config_check)().is_ok() {
                self.starter_problem = None;
                self.step(StartdEvent::StarterProblem(None));
            }
            if self.machine.next_wake().is_some_and(|wake| wake <= clock::monotonic_now()) {
                self.process_measurements();
                self.step(StartdEvent::Tick);
            }
            self.check_cron();
            self.call_waiting_fetches();
        }
        // The remaining children are hooks whose results are no longer needed, so they are killed.
        self.reactor.kill_all(Duration::ZERO);
        self.report_shutdown();
        Ok(())
    }

    /// Reports the children that were killed at the end.
    fn report_shutdown(&mut self) {
        for (_, hook) in std::mem::take(&mut self.hooks) {
            let event = RunnerEvent::new(clock::now(), RunnerEventKind::HookFailed)
                .slot(&hook.slot)
                .hook(hook.name)
                .pid(hook.pid)
                .verdict(UNKNOWN);
            let consequence = match hook.hook {
                SlotHookType::FetchWork => "a job that it has taken from the queue may be lost",
                SlotHookType::ReplyFetch | SlotHookType::EvictClaim => "its queue may not know about the job",
            };
            self.events.report(&event.reason(format!("killed, because the program stops; {consequence}")));
            if hook.hook == SlotHookType::FetchWork {
                self.outcome
                    .unknown_fetches
                    .push(format!("{}: FETCH_WORK was killed while it ran", hook.slot));
            }
            self.write_record_or_warn(JournalRecord::HookEnds { run: hook.run.0 });
        }
        let outcome = &self.outcome;
        let jobs = match outcome.jobs {
            0 => "no job".to_owned(),
            jobs => counted(jobs, "job"),
        };
        let failed = match outcome.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let rejected = match self.counters.fetches.get("rejected") {
            None => String::new(),
            Some(rejected) => format!(", {rejected} rejected"),
        };
        let text = format!("{}; {jobs}{failed}{rejected}", self.end_reason.take().unwrap_or_default());
        self.report(RunnerEvent::new(clock::now(), RunnerEventKind::Stop).reason(text));
    }

    fn poll_image_cache(&mut self) {
        let (options, settings) = (&self.options, self.machine.image_cache_settings());
        let environment = || options.environment.for_hooks(options.quirks);
        let known = self.image_cache.poll(settings, environment, &mut self.reactor, &*options.world);
        if let Some(known) = known {
            self.step(known);
        }
    }

    fn process_measurements(&mut self) {
        if let Some(mut measured) = self.sampler.take_sample() {
            for event in self.starter_snapshots.read_job_updates(&self.starters) {
                self.step(event);
            }
            measured.jobs = self.starter_snapshots.measure_usage(&self.starters, &mut self.reactor);
            self.step(StartdEvent::MeasurementsTaken(Box::new(measured)));
        }
    }

    /// Passes an event to the state machine and performs its actions until none are left.
    pub(super) fn step(&mut self, event: StartdEvent) {
        // If the configuration has become invalid, every job that is accepted from now on would fail.
        if self.starter_problem.is_none()
            && let Err(reason) = (self.options.starter_config_check)()
        {
            self.starter_problem = Some(reason.clone());
            self.waiting_events.push_back(StartdEvent::StarterProblem(Some(reason)));
        }
        self.waiting_events.push_back(event);
        self.process_waiting_events();
    }

    /// Passes the waiting events to the state machine and performs its actions.
    pub(super) fn process_waiting_events(&mut self) {
        while let Some(event) = self.waiting_events.pop_front() {
            let actions = self.machine.step(clock::now(), event);
            // From here on, the queue must be informed of the end of an accepted job, whatever happens to the other
            // actions.
            for action in &actions {
                if let StartdAction::AcceptJob { accepted, slot, ad } = action {
                    self.record_accepted_job(*accepted, *slot, ad);
                }
            }
            for action in actions {
                self.perform_action(action);
            }
        }
        if std::mem::take(&mut self.reload_requested)
            && let Err(error) = self.reload()
        {
            self.warn(None, &format!("the old configuration stays in use: {error}"));
        }
    }

    /// Starts waiting calls of FETCH_WORK, until a time limit.
    fn call_waiting_fetches(&mut self) {
        let until = clock::monotonic_now().plus(FETCH_BATCH_TIME);
        while let Some(call) = self.waiting_fetches.pop_front() {
            self.run_hook(call);
            self.process_waiting_events();
            if clock::monotonic_now() >= until {
                return;
            }
        }
    }

    fn perform_action(&mut self, action: StartdAction) {
        match action {
            StartdAction::RunHook(call) if call.hook == SlotHookType::FetchWork => {
                self.waiting_fetches.push_back(call)
            }
            StartdAction::RunHook(call) => self.run_hook(call),
            StartdAction::RunBenchmarks => self.run_benchmarks(),
            StartdAction::AcceptJob { .. } => {}
            StartdAction::GiveUpJob(accepted) => {
                self.write_record_or_warn(JournalRecord::GivenUp { accepted: accepted.0 })
            }
            StartdAction::SpawnStarter(call) => self.spawn_starter(call),
            StartdAction::SignalStarter { starter, signal, reason } => {
                self.signal_starter(starter, signal, reason)
            }
            StartdAction::Notify(notice) => {
                self.record_claim(&notice);
                self.verdicts.remember(&notice);
                self.counters.count_notice(&notice);
                if let SlotNotice::Refusal { text, .. } = &notice {
                    self.refusals.push(text.clone());
                }
                let event = notices::notice_to_event(&self.machine, clock::now(), notice);
                self.report(event);
            }
            StartdAction::Sleep { state, known } => {
                let sleeper = self.options.sleep_method.as_ref().filter(|_| known);
                let command = sleeper.and_then(|sleeper| sleeper.command(state));
                let command = command.ok_or_else(|| format!("this machine cannot {}", state.name()));
                self.sleep = SleepProgress::begin(command, &self.environment(), &mut self.reactor);
            }
            StartdAction::Reconfigure => self.reload_requested = true,
            StartdAction::Finished { reason, next } => {
                self.outcome.next = next;
                self.end_reason = Some(reason);
            }
        }
    }

    fn handle_reactor_event(&mut self, event: os::ReactorEvent) {
        match event {
            os::ReactorEvent::Exited { child, exit, .. } if self.sleep.handle_exit(child, exit) => {}
            os::ReactorEvent::Exited { child, exit, stdout, stderr, .. } => {
                if let Some(told) = self.image_cache.take_answer(child, exit, &stdout.bytes) {
                    self.step(told);
                } else if let Some(hook) = self.hooks.remove(&child) {
                    self.handle_hook_end(hook, exit, stdout, &stderr);
                } else if let Some(running) = self.starters.remove(&child) {
                    self.handle_starter_end(running, exit, &stdout.bytes);
                }
            }
            os::ReactorEvent::Signal(signal) => self.handle_signal(signal),
            os::ReactorEvent::Piece { child, stream: OutputStream::Stderr, bytes } => {
                if let Some(hook) = self.hooks.get_mut(&child) {
                    hook.collect_stderr(&bytes);
                }
            }
            os::ReactorEvent::Readable(token) => {
                let relays = self.starters.values_mut().filter_map(|running| running.relay.as_mut());
                match relays.into_iter().find(|relay| relay.token() == token) {
                    Some(relay) => relay.relay_lines(self.events),
                    None => self.handle_control_socket(token),
                }
            }
            os::ReactorEvent::Piece { .. } | os::ReactorEvent::Timeout => {}
        }
    }

    /// Reads the configuration again; if that fails, the old one is kept.
    pub(super) fn reload(&mut self) -> Result<(), String> {
        let (settings, warnings) = (self.options.config_reloader)()?;
        self.report(
            RunnerEvent::new(clock::now(), RunnerEventKind::Note).reason("the configuration was reread"),
        );
        for warning in warnings {
            self.warn(None, &warning);
        }
        self.step(StartdEvent::Reconfigure(Box::new(settings)));
        self.configure_cron();
        self.configure_benchmarks();
        Ok(())
    }

    fn handle_signal(&mut self, signal: i32) {
        match signal {
            libc::SIGHUP => {
                if let Err(error) = self.reload() {
                    self.warn(None, &format!("the old configuration stays in use: {error}"));
                }
            }
            libc::SIGUSR1 | libc::SIGUSR2 => {}
            libc::SIGQUIT => {
                self.outcome.signal = Some(signal);
                self.step(StartdEvent::Shutdown(ShutdownMode::Fast));
            }
            _ => {
                if os::ENDING_SIGNALS.contains(&signal) {
                    self.warn(None, &format!("signal {signal} shuts the slots down, as SIGTERM does"));
                }
                // A second request for a graceful end becomes a request for a fast end.
                let how =
                    if self.outcome.signal.is_some() { ShutdownMode::Fast } else { ShutdownMode::Graceful };
                self.outcome.signal = Some(signal);
                self.step(StartdEvent::Shutdown(how));
            }
        }
    }
}
