//! Events of jobs, recorded to trace one job or to compare two simulations.

use htc_slot::{EvaluatedCondition, PolicyValue};

/// Event of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedJobEvent {
    /// Seconds since the start.
    pub at: f64,
    /// Number of the job in the order of arrival.
    pub number: u32,
    /// The job as `cluster.proc`.
    pub job: String,
    /// Description of the event.
    pub description: String,
    /// Slot where the event happened, or `None` if no slot was involved.
    pub slot: Option<SlotIdentity>,
    /// Cause of the event, or `None` if it needs no explanation.
    pub cause: Option<JobEventCause>,
}

/// Slot at which an event happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotIdentity {
    /// Name of the slot.
    pub slot: String,
    /// Number of the slot type.
    pub slot_type: u32,
    /// Number of the machine's configuration, given by the function that created it.
    pub config_number: usize,
}

/// Cause of a job event.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEventCause {
    /// The slot of the job changed its state or activity.
    Change {
        /// Number of the turn of the simulation in which the slot changed.
        turn: u64,
        /// Value of a policy parameter that is the reason for the change, or `None` for another reason.
        policy: Option<PolicyValue>,
    },
    /// Conditions of the slot were not true for the job.
    Refused(Vec<EvaluatedCondition>),
}

impl SimulatedJobEvent {
    /// Returns true if both events are the same, ignoring their causes.
    pub fn is_same_event(&self, other: &SimulatedJobEvent) -> bool {
        self.at == other.at && self.number == other.number && self.description == other.description
    }
}

/// Jobs whose events are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedJobs {
    /// All jobs.
    All,
    /// The jobs with this id (`cluster.proc`).
    Named(String),
    /// The job with this number in the order of arrival.
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
