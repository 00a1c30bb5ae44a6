//! Event loop that executes the actions of one job's state machine, with real processes and the real clock.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

use super::credentials::Credentials;
use super::docker_socket::DockerWatch;
use super::execution_context::ExecutionContext;
use super::job_child;
use super::notice;
use super::observer::{self, StarterObservation};
use super::run_state::{ControlInputs, EndRequest, FinishedRun, RunState};
use super::state_file::StateFile;
use crate::events::{EventStream, RunnerEventKind};
use crate::hook_limits;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_os as os;
use htc_os::{Reactor, clock};
use htc_starter::{
    JobOutcome, LeftoverRecord, Starter, StarterAction, StarterCommand, StarterEvent, StarterNotice,
};

/// Signals by which a starter receives requests.
const REQUEST_SIGNALS: [i32; 8] = [
    libc::SIGTERM,
    libc::SIGQUIT,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// Returns the signals that a starter handles; pass them to [`Reactor::new`].
pub fn handled_signals() -> Vec<i32> {
    REQUEST_SIGNALS.into_iter().chain(htc_os::ENDING_SIGNALS).collect()
}

/// Time to wait at the end of a run for processes that were killed.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Time after `--timeout` between the request for a soft end of a job and that for a hard end.
const TIMEOUT_GRACE: Duration = Duration::from_secs(10);

/// Outcome of the run of a starter.
#[derive(Debug)]
pub struct StarterOutcome {
    /// Exit status of the starter, as in the reference.
    pub status: u8,
    /// Outcome of the job, as seen by the queue.
    pub standing: JobOutcome,
    /// The job ad with its outcome merged in, or `None` if the job was not started.
    pub outcome: Option<Vec<u8>>,
    /// The scratch directory of the job, which has been removed.
    pub scratch: PathBuf,
    /// The ad for `-job-output-ad`, byte for byte as in the reference; empty if no ad is written.
    pub result: Vec<u8>,
    /// Reason why the ad for `-job-output-ad` could not be written, or `None`.
    pub unwritten_reason: Option<String>,
    /// Reason why the job was not started, or `None`.
    pub not_started: Option<String>,
    /// True if `--timeout` ended the job.
    pub timed_out: bool,
    /// True if a signal, an order or `--timeout` requested the end of the job.
    pub requested: bool,
    /// The state file, which is kept until the job's outcome has been reported.
    pub state: Option<StateFile>,
}

/// Runs the state machine to its end, with an optional observer that may request actions.
///
/// # Errors
/// Fails if the reactor cannot wait; all other errors are passed to the state machine or the stream.
pub fn run_starter<'a>(
    mut machine: Starter<'_>,
    job: ExecutionContext,
    world: &'a dyn World,
    reactor: &'a mut Reactor,
    stream: &'a mut EventStream,
    inputs: ControlInputs<'a>,
) -> io::Result<StarterOutcome> {
    let mut live = RunState { stage: machine.state(), ..RunState::new(job, world, reactor, stream, inputs) };
    let FinishedRun { status, standing, outcome } = loop {
        while let Some(event) = live.events.pop_front() {
            let now = live.now();
            live.notify_observer(now, observer::observation_of_event(&event));
            let actions = machine.step(now, event);
            live.enter_stage(machine.state());
            for action in actions {
                live.notify_observer(now, observer::observation_of_action(&action));
                live.carry_out(now, action);
            }
        }
        if let Some(finished) = live.ending.finished.take() {
            break finished;
        }
        live.sample_new_process();
        live.wait()?;
    };
    live.wait_for_calls()?;
    live.reactor.kill_all(KILL_WAIT);
    Ok(StarterOutcome {
        status,
        standing,
        outcome,
        scratch: live.context.sandbox.scratch.clone(),
        result: live.ending.result,
        unwritten_reason: live.ending.unwritten_reason,
        not_started: live.ending.not_started,
        timed_out: live.ending.timed_out,
        requested: live.ending.request != EndRequest::NotRequested,
        state: live.state_file,
    })
}

impl RunState<'_> {
    /// Waits for the next event and handles it, which may pass an event to the state machine.
    fn wait(&mut self) -> io::Result<()> {
        let ControlInputs { observer: companion, control, parent } = &self.inputs;
        let deadlines = [
            self.disk.scan.as_ref().map(|_| clock::monotonic_now()),
            self.job.docker.as_ref().map(DockerWatch::next_deadline),
            control.as_ref().and_then(|control| control.next_deadline()),
            companion.as_ref().and_then(|companion| companion.wake_at()),
            self.timers.wake_at,
            self.next_sample(),
            self.timers.timeout_at,
            parent.as_ref().map(|parent| parent.check_at()),
            self.stream.next_flush(clock::monotonic_now()),
            self.runtime_calls_deadline(),
            self.transfer_child_deadline(),
            self.context.credentials.as_ref().and_then(Credentials::next_refresh),
        ];
        let event = self.reactor.next_event(deadlines.into_iter().flatten().min())?;
        self.stream.flush();
        match event {
            os::ReactorEvent::Exited {
                child,
                exit,
                usage,
                stdout,
                stderr,
                left_behind,
                not_executed,
                ..
            } => {
                if self.hooks.calls.contains_key(&child) {
                    self.ending.child_has_ended = true;
                    self.call_ended(child, exit, stdout, stderr);
                } else if self.handle_transfer_child_end(child, exit, &stdout, &stderr) {
                } else if self.job.runtime_calls.iter().any(|tool| tool.child == child) {
                    self.handle_runtime_call_end(child, exit, stdout);
                } else if self.job.process.as_ref().is_some_and(|process| process.child == child)
                    && let Some(process) = self.job.process.take()
                {
                    self.ending.child_has_ended = true;
                    match not_executed {
                        Some(error) => {
                            let failures = job_child::start_failures(&process.attempt, &error);
                            self.report_start_failure(process.resources, failures);
                        }
                        None => self.handle_process_end(process, exit, &usage, left_behind.len()),
                    }
                }
            }
            os::ReactorEvent::Signal(number) => self.handle_signal(number),
            os::ReactorEvent::Timeout => self.handle_timeout(),
            os::ReactorEvent::Readable(token) => match &mut self.job.docker {
                Some(docker) if docker.is_answer_socket(token) => {
                    let ports = docker.read_answer(self.reactor);
                    self.events.extend(ports.map(|ports| StarterEvent::ServicePorts(Box::new(ports))));
                }
                _ => self.handle_control_socket(token),
            },
            os::ReactorEvent::Piece { .. } => {}
        }
        self.advance_disk_scan();
        if self.inputs.parent.as_mut().is_some_and(|parent| parent.is_gone(clock::monotonic_now())) {
            self.inputs.parent = None;
            let parent_name = if self.context.private_directory.is_some() {
                "htc-slot-run"
            } else {
                "the process that started this program"
            };
            self.warn(format!("{parent_name} has ended: ending the job"));
            self.handle_signal(libc::SIGQUIT);
        }
        Ok(())
    }

    fn handle_timeout(&mut self) {
        let now = clock::monotonic_now();
        let due = |at: Option<MonotonicTime>| at.is_some_and(|at| at <= now);
        if due(self.timers.wake_at) {
            self.timers.wake_at = None;
            self.events.push_back(StarterEvent::Timeout);
        }
        self.sample_if_due(now);
        self.kill_slow_runtime_calls(now);
        if let Some(docker) = &mut self.job.docker {
            docker.query_if_due(now, self.reactor);
        }
        self.kill_slow_plugin(now);
        self.refresh_credentials(now);
        if let Some(control) = &mut self.inputs.control {
            control.check_timeouts(now, self.reactor);
        }
        let moment = self.now();
        self.notify_observer(moment, Some(StarterObservation::WakeTime));
        if due(self.timers.timeout_at) {
            let request = if self.ending.timed_out {
                StarterCommand::Fast(None)
            } else {
                StarterCommand::Graceful(None)
            };
            // The request is repeated: a process that survives the first signal may exit on the second.
            self.timers.timeout_at = Some(now.plus(TIMEOUT_GRACE));
            if !self.ending.timed_out {
                let event = self
                    .event(RunnerEventKind::Warning)
                    .reason("the time limit (--timeout) expired: ending the job");
                self.stream.report(&event);
            }
            self.ending.timed_out = true;
            self.ending.request = self.ending.request.max(EndRequest::Other);
            self.events.push_back(StarterEvent::Requested(request));
        }
    }

    fn carry_out(&mut self, now: ClockReading, action: StarterAction) {
        match action {
            StarterAction::MakeScratch { files } => self.make_scratch(&files),
            StarterAction::OpenLog => {
                self.open_log();
                self.write_visa();
                self.context.hook_limits =
                    hook_limits::starter_limits(&self.context.sandbox.scratch, self.context.hook_stack);
            }
            StarterAction::WriteFile(file) => self.write_file(&file),
            StarterAction::Call(call) => self.start_hook_call(now, call),
            StarterAction::RunTool(call, tool) => self.start_runtime_call(call, *tool),
            StarterAction::OpenFiles(files) => self.open_files(&files),
            StarterAction::MakeDirectory { path, mode } => self.make_directory(&path, mode),
            StarterAction::RememberContainer { container } => self.write_recovery_file(&container),
            StarterAction::RememberPull { image, own } => {
                self.write_state_record(&LeftoverRecord::Pull {
                    image: image.to_string(),
                    own: own.to_string(),
                });
            }
            StarterAction::DockerConfig(config) => self.write_docker_config(config.as_deref()),
            StarterAction::StartProcess(process) => self.start(now, &process),
            StarterAction::Transfer(way) => self.transfer(way),
            StarterAction::AbortTransfer => self.abort_transfer(),
            // Only the observer, which acts as the shadow, handles this action.
            StarterAction::ReconnectShadow => {}
            StarterAction::Manifest { directory, name, content } => {
                self.write_manifest(&directory, name, content)
            }
            StarterAction::Measure => {
                self.sample();
                let usage = self.measured_usage();
                self.queue_with_disk_usage(StarterEvent::Measured(usage));
            }
            StarterAction::SignalJob(number) => self.signal_job(number),
            StarterAction::KillFamily => {
                self.ending.killed = true;
                self.signal_family(libc::SIGKILL);
            }
            StarterAction::StopFamily => self.signal_family(libc::SIGSTOP),
            StarterAction::ContinueFamily => self.signal_family(libc::SIGCONT),
            StarterAction::KillCall(call) => self.kill_call(call),
            StarterAction::KillCalls => self.kill_calls(),
            StarterAction::WakeAt(at) => self.timers.wake_at = at,
            StarterAction::WriteUpdateAd(bytes) => self.write_update(&bytes),
            StarterAction::WriteResultAd(bytes) => self.write_result(bytes),
            StarterAction::Log(event) => self.log(now, &event),
            StarterAction::Report(notice) => self.report_notice(notice),
            StarterAction::RemoveScratch => self.remove_scratch(),
            StarterAction::Finish { status, job_outcome: standing, outcome_ad: outcome } => {
                self.ending.finished = Some(FinishedRun { status, standing, outcome })
            }
        }
    }

    fn report_notice(&mut self, notice: StarterNotice) {
        if let StarterNotice::NotStarted { reason } = &notice {
            self.ending.not_started.get_or_insert_with(|| reason.clone());
        }
        let subject = match &notice {
            StarterNotice::Quirk { quirk, .. } => Some(quirk.id()),
            StarterNotice::WarningOnce { subject, .. } => Some(*subject),
            _ => None,
        };
        if subject.is_some_and(|subject| {
            !notice::is_first_report(self.context.private_directory.as_deref(), subject)
        }) {
            return;
        }
        if let Some(event) = notice::notice_to_event(self.event(RunnerEventKind::Warning), notice) {
            self.stream.report(&event);
        }
    }
}
