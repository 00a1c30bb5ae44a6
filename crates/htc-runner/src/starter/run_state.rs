//! State of a starter's run, used by the event loop and by the modules for single actions.

use std::collections::VecDeque;
use std::path::PathBuf;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::disk_scan::DiskScan;
use super::docker_socket::DockerWatch;
use super::execution_context::ExecutionContext;
use super::notice;
use super::observer::{StarterObservation, StarterObserver};
use super::reopened_directory::ReopenedDirectory;
use super::running_process::RunningProcess;
use super::state_file::StateFile;
use crate::control::ControlSocket;
use crate::events::{self, EventStream, RunnerEventKind};
use crate::parent_process::ParentWatch;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_os::terminal::TerminalGuard;
use htc_os::{ChildId, Reactor, clock};
use htc_starter::{CallId, JobOutcome, StarterEvent};

/// Sources of requests to a starter besides signals.
#[derive(Default)]
pub struct ControlInputs<'a> {
    /// Observer that acts as the access point.
    pub observer: Option<&'a mut (dyn StarterObserver + 'a)>,
    /// A control socket.
    pub control: Option<&'a mut ControlSocket>,
    /// Watches the process whose exit ends the job.
    pub parent: Option<&'a mut ParentWatch>,
}

/// Running call of a container runtime.
pub(super) struct RuntimeCall {
    pub(super) child: ChildId,
    pub(super) call: CallId,
    pub(super) deadline: MonotonicTime,
    /// The file that receives the standard error of the call.
    pub(super) errors: Option<PathBuf>,
}

/// Request for the end of the job by signal, order or `--timeout`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndRequest {
    #[default]
    NotRequested,
    /// Another request, such as a soft end or the removal of the job.
    Other,
    Soft,
    /// Request for a hard end, or a second request for a soft end.
    Hard,
}

/// State of a starter's run.
pub(super) struct RunState<'a> {
    pub(super) context: ExecutionContext,
    pub(super) world: &'a dyn World,
    pub(super) reactor: &'a mut Reactor,
    pub(super) stream: &'a mut EventStream,
    /// Sources of requests besides signals.
    pub(super) inputs: ControlInputs<'a>,
    /// Events to be passed to the state machine.
    pub(super) events: VecDeque<StarterEvent>,
    /// Current stage of the state machine, as a word.
    pub(super) stage: &'static str,
    /// State file that records what would be left if this program were killed.
    pub(super) state_file: Option<StateFile>,
    pub(super) hooks: HookCalls,
    pub(super) job: JobExecution<'a>,
    pub(super) disk: DiskUsage,
    pub(super) timers: RunTimers,
    pub(super) ending: RunEnding,
}

/// Hook calls of a run.
#[derive(Default)]
pub(super) struct HookCalls {
    /// Running calls of hooks.
    pub(super) calls: FxHashMap<ChildId, CallId>,
    /// True if any hook has been called.
    pub(super) any_called: bool,
    /// The scratch directory that is open only during the given call of JOB_EXIT.
    pub(super) reopened_directory: Option<(CallId, ReopenedDirectory)>,
}

/// Execution of the job: its process, container and runtime calls.
#[derive(Default)]
pub(super) struct JobExecution<'a> {
    pub(super) process: Option<RunningProcess>,
    /// The container of the job, or `None`.
    pub(super) container: Option<BString>,
    /// Periodic queries of docker about the container's usage.
    pub(super) docker: Option<DockerWatch<'a>>,
    /// Running calls of the container runtime.
    pub(super) runtime_calls: Vec<RuntimeCall>,
    /// The terminal, while an interactive shell uses it.
    pub(super) terminal: Option<TerminalGuard>,
}

/// Disk usage of the job's directory, and its measurement.
#[derive(Default)]
pub(super) struct DiskUsage {
    /// Last measured disk usage: bytes and entries.
    pub(super) last_usage: Option<(u64, u64)>,
    /// Scan that is running, or `None`.
    pub(super) scan: Option<DiskScan>,
}

/// Times at which the event loop acts although no event occurs.
pub(super) struct RunTimers {
    /// Time of the next step of the state machine.
    pub(super) wake_at: Option<MonotonicTime>,
    /// Time at which `--timeout` expires.
    pub(super) timeout_at: Option<MonotonicTime>,
}

/// Requests to end a run, and the results of its end.
#[derive(Default)]
pub(super) struct RunEnding {
    pub(super) request: EndRequest,
    pub(super) timed_out: bool,
    /// True if the job's process family was killed on request.
    pub(super) killed: bool,
    /// True if a child, hook or job, has ended.
    pub(super) child_has_ended: bool,
    /// Reason why the job was not started, or `None`.
    pub(super) not_started: Option<String>,
    /// The text of the final ad.
    pub(super) result: Vec<u8>,
    /// Reason why the final ad was not written, or `None`.
    pub(super) unwritten_reason: Option<String>,
    /// Last step of the state machine, or `None` before it.
    pub(super) finished: Option<FinishedRun>,
}

/// Results of the last step of the state machine.
pub(super) struct FinishedRun {
    /// Exit status for the starter program.
    pub(super) status: u8,
    pub(super) standing: JobOutcome,
    /// The job ad with its outcome merged in, or `None` if the job was not started.
    pub(super) outcome: Option<Vec<u8>>,
}

impl<'a> RunState<'a> {
    /// Creates the state of a run that is about to begin.
    pub(super) fn new(
        job: ExecutionContext,
        world: &'a dyn World,
        reactor: &'a mut Reactor,
        stream: &'a mut EventStream,
        inputs: ControlInputs<'a>,
    ) -> Self {
        RunState {
            timers: RunTimers {
                wake_at: None,
                timeout_at: job.timeout.map(|limit| clock::monotonic_now().plus(limit)),
            },
            context: job,
            world,
            reactor,
            stream,
            inputs,
            events: VecDeque::from([StarterEvent::Begin]),
            stage: "",
            state_file: None,
            hooks: HookCalls::default(),
            job: JobExecution::default(),
            disk: DiskUsage::default(),
            ending: RunEnding::default(),
        }
    }

    pub(super) fn now(&self) -> ClockReading {
        let now = clock::now();
        ClockReading { wall_us: now.wall_us.saturating_add(self.context.clock_skew_us), ..now }
    }

    pub(super) fn event(&self, kind: RunnerEventKind) -> events::RunnerEvent {
        let event = events::RunnerEvent::new(self.now(), kind).job(self.context.id.as_str());
        if self.context.slot.is_empty() { event } else { event.slot(self.context.slot.as_str()) }
    }

    pub(super) fn warn(&mut self, reason: String) {
        let event = self.event(RunnerEventKind::Warning).reason(reason);
        self.stream.report(&event);
    }

    /// Reports a warning, unless another starter of the slot runner has already reported the subject.
    pub(super) fn warn_once(&mut self, subject: &str, reason: impl FnOnce() -> String) {
        if notice::is_first_report(self.context.private_directory.as_deref(), subject) {
            self.warn(reason());
        }
    }

    /// Passes an observation to the observer, and queues the commands that the observer returns.
    pub(super) fn notify_observer(&mut self, now: ClockReading, observation: Option<StarterObservation<'_>>) {
        if let (Some(companion), Some(observation)) = (&mut self.inputs.observer, observation) {
            self.events.extend(companion.observe(now, observation).into_iter().map(StarterEvent::Requested));
        }
    }

    pub(super) fn pid(&self, child: ChildId) -> u32 {
        self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0)
    }
}
