//! Where the job's life has got to.

use crate::action::CallId;
use htc_base::quirks::Quirk;
use htc_base::time::MonotonicTime;
use htc_hook::HookType;
use htc_hook::transfer::TransferKind;

/// Where the job's life has got to, with what belongs to that part of it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StarterPhase {
    /// Not begun.
    New,
    /// The scratch directory is being made.
    MakingScratch {
        /// Why a file in it could not be written, and the quirk by which the job does not start without it.
        unwritten: Option<(String, Quirk)>,
    },
    /// One of the prepare hooks runs.
    Preparing { hook: HookType, call: CallId, limit: PrepareHookDeadline },
    /// Files are moved.
    Transferring(TransferKind),
    /// Waiting for DeferralTime.
    Deferred { until: MonotonicTime },
    /// PreCmd is being started or runs.
    PreScript,
    /// The runtime of the job's container is asked, before the job, after it or before the clean-up.
    Container,
    /// The job is being started.
    Starting,
    /// The job runs.
    Running,
    /// PostCmd is being started or runs.
    PostScript,
    /// JOB_EXIT runs.
    Exiting {
        call: CallId,
        until: MonotonicTime,
        /// The job was started when JOB_EXIT ran already.
        late: bool,
    },
    /// A step of the ending failed and is tried again then.
    Retrying { step: EndStep, until: MonotonicTime },
    /// The scratch directory is being removed.
    Removing,
    /// Nothing follows.
    Finished,
}

/// How long a prepare hook is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrepareHookDeadline {
    /// As long as it takes.
    None,
    /// Then it is killed.
    Until(MonotonicTime),
    /// It has been, and then is not waited for any more.
    Killed(MonotonicTime),
}

impl PrepareHookDeadline {
    /// When something is to be done.
    pub(crate) fn expires_at(self) -> Option<MonotonicTime> {
        match self {
            PrepareHookDeadline::None => None,
            PrepareHookDeadline::Until(at) | PrepareHookDeadline::Killed(at) => Some(at),
        }
    }
}

impl StarterPhase {
    /// Its name in [`TRANSITIONS`].
    pub(crate) fn name(&self) -> &'static str {
        match self {
            StarterPhase::New => "new",
            StarterPhase::MakingScratch { .. } => "scratch",
            StarterPhase::Preparing { .. } => "preparing",
            StarterPhase::Transferring(_) => "moving",
            StarterPhase::Deferred { .. } => "deferred",
            StarterPhase::PreScript => "pre script",
            StarterPhase::Container => "container",
            StarterPhase::Starting => "starting",
            StarterPhase::Running => "running",
            StarterPhase::PostScript => "post script",
            StarterPhase::Exiting { .. } => "exiting",
            StarterPhase::Retrying { .. } => "again",
            StarterPhase::Removing => "removing",
            StarterPhase::Finished => "finished",
        }
    }
}

/// A step of the ending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndStep {
    /// JOB_EXIT could not be started.
    #[default]
    ExitHook,
    /// Files could not be brought back.
    Output(TransferKind),
    /// The scratch directory could not be removed.
    Removal,
}

/// An event that may lead from one phase to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTransition {
    /// The phase.
    pub from: &'static str,
    /// The event, as [`crate::StarterEvent::name`] calls it.
    pub event: &'static str,
    /// The phases that may follow.
    pub to: &'static [&'static str],
}

const fn transition(from: &'static str, event: &'static str, to: &'static [&'static str]) -> PhaseTransition {
    PhaseTransition { from, event, to }
}

/// What may follow when one step on the way to the job is done: the next one that there is, or the end.
const PHASES_TOWARDS_JOB: &[&str] = &[
    "preparing",
    "moving",
    "deferred",
    "pre script",
    "container",
    "starting",
    "exiting",
    "removing",
    "finished",
];
/// What may follow when the job is not to run, or no process of it is left: JOB_EXIT, output, the removal of what docker runs, of
/// the scratch directory.
const PHASES_AFTER_JOB: &[&str] = &["exiting", "moving", "container", "removing", "finished"];

/// The life of a job: which event leads from which phase where. Any other event leaves the phase as it is. Every step of a
/// debug build is held against this table.
#[rustfmt::skip]
pub const TRANSITIONS: &[PhaseTransition] = &[
    transition("new", "begin", &["scratch", "exiting", "finished"]),
    transition("scratch", "scratch made", PHASES_TOWARDS_JOB),
    transition("scratch", "scratch failed", PHASES_AFTER_JOB),
    transition("preparing", "call ended", PHASES_TOWARDS_JOB),
    transition("preparing", "call failed", PHASES_AFTER_JOB),
    transition("preparing", "timeout", PHASES_AFTER_JOB),
    transition("preparing", "asked", PHASES_AFTER_JOB),
    transition("moving", "transferred", &["preparing", "deferred", "pre script", "container", "starting", "exiting", "again", "removing", "finished"]),
    transition("moving", "asked", PHASES_AFTER_JOB),
    transition("moving", "timeout", PHASES_AFTER_JOB),
    transition("deferred", "timeout", &["pre script", "container", "starting", "exiting", "removing", "finished"]),
    transition("deferred", "asked", PHASES_AFTER_JOB),
    transition("pre script", "process ended", &["container", "starting", "exiting", "removing", "finished"]),
    transition("pre script", "process failed", PHASES_AFTER_JOB),
    transition("pre script", "asked", PHASES_AFTER_JOB),
    transition("pre script", "timeout", PHASES_AFTER_JOB),
    transition("container", "files opened", &["starting", "exiting", "moving", "removing", "finished"]),
    transition("container", "docker config", PHASES_AFTER_JOB),
    transition("container", "tool ended", &["starting", "running", "post script", "exiting", "moving", "removing", "finished"]),
    transition("container", "timeout", PHASES_AFTER_JOB),
    transition("container", "asked", PHASES_AFTER_JOB),
    transition("starting", "process started", &["running", "removing", "container"]),
    transition("starting", "process failed", PHASES_AFTER_JOB),
    transition("starting", "asked", PHASES_AFTER_JOB),
    transition("running", "process ended", &["starting", "container", "post script", "moving", "exiting", "removing", "finished"]),
    transition("running", "process failed", PHASES_AFTER_JOB),
    transition("running", "asked", &["removing", "container", "finished"]),
    transition("post script", "process ended", PHASES_AFTER_JOB),
    transition("post script", "process failed", PHASES_AFTER_JOB),
    transition("post script", "asked", PHASES_AFTER_JOB),
    transition("post script", "timeout", PHASES_AFTER_JOB),
    transition("exiting", "call ended", PHASES_AFTER_JOB),
    transition("exiting", "call failed", &["again", "moving", "container", "removing", "finished"]),
    transition("exiting", "timeout", PHASES_AFTER_JOB),
    transition("again", "timeout", &["exiting", "moving", "removing"]),
    transition("again", "asked", &["exiting", "moving", "removing"]),
    transition("removing", "scratch removed", &["again", "finished"]),
];

/// Whether the table knows of this way.
pub(crate) fn is_known_transition(from: &str, event: &str, to: &str) -> bool {
    let row = TRANSITIONS.iter().find(|row| (row.from, row.event) == (from, event));
    from == to || row.is_some_and(|row| row.to.contains(&to))
}
