//! Where the job's life has got to.

use crate::action::CallId;
use htc_base::quirks::Quirk;
use htc_base::time::Tick;
use htc_hook::HookType;
use htc_hook::transfer::Way;

/// Where the job's life has got to, with what belongs to that part of it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not begun.
    New,
    /// The scratch directory is being made.
    Scratch {
        /// Why a file in it could not be written, and the quirk by which the job does not start without it.
        unwritten: Option<(String, Quirk)>,
    },
    /// One of the prepare hooks runs.
    Preparing { hook: HookType, call: CallId, limit: Limit },
    /// Files are moved.
    Moving(Way),
    /// Waiting for DeferralTime.
    Deferred { until: Tick },
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
        until: Tick,
        /// The job was started when JOB_EXIT ran already.
        late: bool,
    },
    /// A step of the ending failed and is tried again then.
    Again { step: EndStep, until: Tick },
    /// The scratch directory is being removed.
    Removing,
    /// Nothing follows.
    Finished,
}

/// How long a prepare hook is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// As long as it takes.
    None,
    /// Then it is killed.
    Until(Tick),
    /// It has been, and then is not waited for any more.
    Killed(Tick),
}

impl Limit {
    /// When something is to be done.
    pub(crate) fn ends(self) -> Option<Tick> {
        match self {
            Limit::None => None,
            Limit::Until(at) | Limit::Killed(at) => Some(at),
        }
    }
}

impl Phase {
    /// Its name in [`TRANSITIONS`].
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Phase::New => "new",
            Phase::Scratch { .. } => "scratch",
            Phase::Preparing { .. } => "preparing",
            Phase::Moving(_) => "moving",
            Phase::Deferred { .. } => "deferred",
            Phase::PreScript => "pre script",
            Phase::Container => "container",
            Phase::Starting => "starting",
            Phase::Running => "running",
            Phase::PostScript => "post script",
            Phase::Exiting { .. } => "exiting",
            Phase::Again { .. } => "again",
            Phase::Removing => "removing",
            Phase::Finished => "finished",
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
    Output(Way),
    /// The scratch directory could not be removed.
    Removal,
}

/// An event that may lead from one phase to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The phase.
    pub from: &'static str,
    /// The event, as [`crate::Event::name`] calls it.
    pub event: &'static str,
    /// The phases that may follow.
    pub to: &'static [&'static str],
}

const fn leads(from: &'static str, event: &'static str, to: &'static [&'static str]) -> Transition {
    Transition { from, event, to }
}

/// What may follow when one step on the way to the job is done: the next one that there is, or the end.
const ONWARD: &[&str] = &[
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
const ENDING: &[&str] = &["exiting", "moving", "container", "removing", "finished"];

/// The life of a job: which event leads from which phase where. Any other event leaves the phase as it is. Every step of a
/// debug build is held against this table.
#[rustfmt::skip]
pub const TRANSITIONS: &[Transition] = &[
    leads("new", "begin", &["scratch", "exiting", "finished"]),
    leads("scratch", "scratch made", ONWARD),
    leads("scratch", "scratch failed", ENDING),
    leads("preparing", "call ended", ONWARD),
    leads("preparing", "call failed", ENDING),
    leads("preparing", "timeout", ENDING),
    leads("preparing", "asked", ENDING),
    leads("moving", "transferred", &["preparing", "deferred", "pre script", "container", "starting", "exiting", "again", "removing", "finished"]),
    leads("moving", "asked", ENDING),
    leads("moving", "timeout", ENDING),
    leads("deferred", "timeout", &["pre script", "container", "starting", "exiting", "removing", "finished"]),
    leads("deferred", "asked", ENDING),
    leads("pre script", "process ended", &["container", "starting", "exiting", "removing", "finished"]),
    leads("pre script", "process failed", ENDING),
    leads("pre script", "asked", ENDING),
    leads("pre script", "timeout", ENDING),
    leads("container", "files opened", &["starting", "exiting", "moving", "removing", "finished"]),
    leads("container", "docker config", ENDING),
    leads("container", "tool ended", &["starting", "running", "post script", "exiting", "moving", "removing", "finished"]),
    leads("container", "timeout", ENDING),
    leads("container", "asked", ENDING),
    leads("starting", "process started", &["running", "removing", "container"]),
    leads("starting", "process failed", ENDING),
    leads("starting", "asked", ENDING),
    leads("running", "process ended", &["starting", "container", "post script", "moving", "exiting", "removing", "finished"]),
    leads("running", "process failed", ENDING),
    leads("running", "asked", &["removing", "container", "finished"]),
    leads("post script", "process ended", ENDING),
    leads("post script", "process failed", ENDING),
    leads("post script", "asked", ENDING),
    leads("post script", "timeout", ENDING),
    leads("exiting", "call ended", ENDING),
    leads("exiting", "call failed", &["again", "moving", "container", "removing", "finished"]),
    leads("exiting", "timeout", ENDING),
    leads("again", "timeout", &["exiting", "moving", "removing"]),
    leads("again", "asked", &["exiting", "moving", "removing"]),
    leads("removing", "scratch removed", &["again", "finished"]),
];

/// Whether the table knows of this way.
pub(crate) fn is_known(from: &str, event: &str, to: &str) -> bool {
    let row = TRANSITIONS.iter().find(|row| (row.from, row.event) == (from, event));
    from == to || row.is_some_and(|row| row.to.contains(&to))
}
