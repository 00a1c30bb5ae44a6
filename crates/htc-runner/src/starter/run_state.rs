//! State of a starter's run, shared by the event loop and the code for single actions.

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
    /// An observer.
    pub observer: Option<&'a mut (dyn StarterObserver + 'a)>,
    /// A control socket.
    pub control: Option<&'a mut ControlSocket>,
    /// A watch over the process that the job does not outlive.
    pub parent: Option<&'a mut ParentWatch>,
}

/// Running call of a container runtime.
pub(super) struct RuntimeCall {
    pub(super) child: ChildId,
    pub(super) call: CallId,
    pub(super) deadline: MonotonicTime,
    /// The file that receives its standard error.
    pub(super) errors: Option<PathBuf>,
}

/// Request for the end of the job by signal, order or `--timeout`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndRequest {
    #[default]
    NotRequested,
    /// Another request, such as removing the job.
    Other,
    Soft,
    /// A hard end, or a second request for a soft one.
    Hard,
}

/// State of a run.
pub(super) struct RunState<'a> {
    pub(super) context: ExecutionContext,
    pub(super) world: &'a dyn World,
    pub(super) reactor: &'a mut Reactor,
    pub(super) stream: &'a mut EventStream,
    /// Observer and other sources of requests.
    pub(super) inputs: ControlInputs<'a>,
    /// Events to be passed to the state machine.
    pub(super) events: VecDeque<StarterEvent>,
    /// Current stage of the state machine, as a word.
    pub(super) stage: &'static str,
    /// Record of leftovers if this program is killed.
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
    /// Running calls.
    pub(super) calls: FxHashMap<ChildId, CallId>,
    /// True if a hook has been called.
    pub(super) any_called: bool,
    /// The scratch directory that is open for this call of JOB_EXIT only.
    pub(super) reopened_directory: Option<(CallId, ReopenedDirectory)>,
}

/// The job's process and what belongs to it.
#[derive(Default)]
pub(super) struct JobExecution<'a> {
    pub(super) process: Option<RunningProcess>,
    /// The container of the job, or `None`.
    pub(super) container: Option<BString>,
    /// Queries of docker about the container's usage.
    pub(super) docker: Option<DockerWatch<'a>>,
    /// Running calls of a container runtime.
    pub(super) runtime_calls: Vec<RuntimeCall>,
    /// The terminal, while a shell uses it.
    pub(super) terminal: Option<TerminalGuard>,
}

/// Disk usage of the job's directory.
#[derive(Default)]
pub(super) struct DiskUsage {
    /// Last disk usage: bytes and entries.
    pub(super) last_usage: Option<(u64, u64)>,
    /// Running scan.
    pub(super) scan: Option<DiskScan>,
}

/// Times at which a run continues without an event.
pub(super) struct RunTimers {
    /// Time of the next step of the state machine.
    pub(super) wake_at: Option<MonotonicTime>,
    /// End of `--timeout`.
    pub(super) timeout_at: Option<MonotonicTime>,
}

/// Requests to end a run, and its results.
#[derive(Default)]
pub(super) struct RunEnding {
    pub(super) request: EndRequest,
    pub(super) timed_out: bool,
    /// True if the process family was killed on request.
    pub(super) killed: bool,
    /// True if a child, hook or job, has ended.
    pub(super) child_has_ended: bool,
    /// Reason why the job was not started, or `None`.
    pub(super) not_started: Option<String>,
    /// The final ad as text.
    pub(super) result: Vec<u8>,
    /// Reason why the final ad was not written, or `None`.
    pub(super) unwritten_reason: Option<String>,
    /// Last step of the state machine, once it was made.
    pub(super) finished: Option<FinishedRun>,
}

/// Last step of the state machine.
pub(super) struct FinishedRun {
    /// Exit status of the program.
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
        beside: ControlInputs<'a>,
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
            inputs: beside,
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

    /// Warns, unless another starter of the slot runner has given the same warning.
    pub(super) fn warn_once(&mut self, subject: &str, reason: impl FnOnce() -> String) {
        if notice::is_first_report(self.context.private_directory.as_deref(), subject) {
            self.warn(reason());
        }
    }

    /// Passes an observation to the observer, and queues its requests.
    pub(super) fn notify_observer(&mut self, now: ClockReading, seen: Option<StarterObservation<'_>>) {
        if let (Some(companion), Some(seen)) = (&mut self.inputs.observer, seen) {
            self.events.extend(companion.observe(now, seen).into_iter().map(StarterEvent::Requested));
        }
    }

    pub(super) fn pid(&self, child: ChildId) -> u32 {
        self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0)
    }
}
