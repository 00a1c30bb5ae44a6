//! Phases in the life of a job.

use crate::action::CallId;
use htc_base::quirks::Quirk;
use htc_base::time::MonotonicTime;
use htc_hook::HookType;
use htc_hook::transfer::TransferKind;

/// Phase in the life of a job, with the data that only this phase needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StarterPhase {
    /// The starter has not begun to work.
    New,
    /// The scratch directory is being created.
    MakingScratch {
        /// Reason why a file in the scratch directory could not be written, and the quirk because of which the job is
        /// then not started.
        unwritten: Option<(String, Quirk)>,
    },
    /// A prepare hook is running.
    Preparing { hook: HookType, call: CallId, limit: PrepareHookDeadline },
    /// Files are being transferred.
    Transferring(TransferKind),
    /// The starter waits for DeferralTime.
    Deferred { until: MonotonicTime },
    /// PreCmd is being started or runs.
    PreScript,
    /// A command of the container runtime is running: before the job, after the job, or before the clean-up.
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
        /// True if the job was started while JOB_EXIT was already running (quirk `job-started-while-ending`).
        late: bool,
    },
    /// A final step failed and will be retried.
    Retrying { step: EndStep, until: MonotonicTime },
    /// The scratch directory is being removed.
    Removing,
    /// The starter handles no more events.
    Finished,
}

/// Time limit of a prepare hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrepareHookDeadline {
    /// The hook has no time limit.
    None,
    /// The hook is killed at this time.
    Until(MonotonicTime),
    /// The hook has been killed; the starter continues at this time even if the hook has not ended.
    Killed(MonotonicTime),
}

impl PrepareHookDeadline {
    /// Returns the time at which the starter acts on the hook next, or `None` if there is no limit.
    pub(crate) fn expires_at(self) -> Option<MonotonicTime> {
        match self {
            PrepareHookDeadline::None => None,
            PrepareHookDeadline::Until(at) | PrepareHookDeadline::Killed(at) => Some(at),
        }
    }
}

impl StarterPhase {
    /// Returns the name of the phase in [`TRANSITIONS`].
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

/// Final step that can be retried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndStep {
    /// JOB_EXIT is started.
    #[default]
    ExitHook,
    /// Files are transferred back.
    Output(TransferKind),
    /// The scratch directory is removed.
    Removal,
}

/// Event in a phase, with the phases to which it may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTransition {
    /// Current phase.
    pub from: &'static str,
    /// Event, as named by [`crate::StarterEvent::name`].
    pub event: &'static str,
    /// Possible next phases.
    pub to: &'static [&'static str],
}

const fn transition(from: &'static str, event: &'static str, to: &'static [&'static str]) -> PhaseTransition {
    PhaseTransition { from, event, to }
}

/// Possible phases after a completed step on the way to the job: the next phase that applies, or the end.
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
/// Possible phases if the job will not run or has no processes any longer: JOB_EXIT, output transfer, removal of the
/// container, removal of the scratch directory.
const PHASES_AFTER_JOB: &[&str] = &["exiting", "moving", "container", "removing", "finished"];

/// Table of the phase transitions of a job. Any other event leaves the phase unchanged. Debug builds check each step against
/// this table.
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

/// Returns true if the table contains this transition.
pub(crate) fn is_known_transition(from: &str, event: &str, to: &str) -> bool {
    let row = TRANSITIONS.iter().find(|row| (row.from, row.event) == (from, event));
    from == to || row.is_some_and(|row| row.to.contains(&to))
}
