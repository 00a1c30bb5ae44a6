//! Events of jobs, for tracing one of them or comparing two simulations.

use htc_slot::EvaluatedCondition;

/// Event of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedJobEvent {
    /// Seconds since the start.
    pub at: f64,
    /// Number of the job in order of arrival.
    pub number: u32,
    /// The job as `cluster.proc`.
    pub job: String,
    /// Description.
    pub description: String,
    /// Slot where the event happened, or `None`.
    pub slot: Option<SlotIdentity>,
    /// Cause of the simulated job event, or `None`.
    pub cause: Option<JobEventCause>,
}

/// Slot at which an event happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotIdentity {
    /// Name of the slot.
    pub slot: String,
    /// Number of the slot type.
    pub slot_type: u32,
    /// Number of the machine's configuration, given by the call that created it.
    pub config_number: usize,
}

/// Cause of a job's event.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEventCause {
    /// The state of its slot changed.
    Change {
        /// The turn of the simulation in which this happened.
        turn: u64,
        /// Reason given by the machine.
        reason: String,
    },
    /// Conditions of the slot were not true for the job.
    Refused(Vec<EvaluatedCondition>),
}

impl SimulatedJobEvent {
    /// True if both are the same event, whatever their causes.
    pub fn is_same_event(&self, other: &SimulatedJobEvent) -> bool {
        self.at == other.at && self.number == other.number && self.description == other.description
    }
}

/// Jobs whose events are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedJobs {
    /// All jobs.
    All,
    /// The jobs with this id, as `cluster.proc`.
    Named(String),
    /// The job with this number.
    Number(u32),
}

/// Recorder of job events.
pub(super) struct JobEventRecorder {
    pub(super) jobs: RecordedJobs,
    pub(super) events: Vec<SimulatedJobEvent>,
}

/// Event to be recorded for a job.
pub(super) struct NewJobEvent {
    pub description: String,
    pub slot: Option<SlotIdentity>,
    pub cause: Option<JobEventCause>,
}

impl NewJobEvent {
    pub(super) fn without_slot(what: impl Into<String>) -> Self {
        NewJobEvent { description: what.into(), slot: None, cause: None }
    }
}
