//! What became of jobs, for whoever asks after one of them or compares two courses.

use htc_slot::EvaluatedCondition;

/// Something that became of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedJobEvent {
    /// In seconds since the start.
    pub at: f64,
    /// The job's number, in the order in which jobs come.
    pub number: u32,
    /// The job as `cluster.proc`.
    pub job: String,
    /// What, in words.
    pub description: String,
    /// On which slot.
    pub slot: Option<SlotIdentity>,
    /// What decided it.
    pub cause: Option<JobEventCause>,
}

/// The slot at which something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotIdentity {
    /// Its name.
    pub slot: String,
    /// Its type.
    pub slot_type: u32,
    /// Which configuration its machine had: the number of the call that made it.
    pub config_number: usize,
}

/// What decided about a job.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEventCause {
    /// A change of its slot.
    Change {
        /// The turn of the simulation in which it took place.
        turn: u64,
        /// What the machine said.
        reason: String,
    },
    /// Conditions of the slot that are not true for it.
    Refused(Vec<EvaluatedCondition>),
}

impl SimulatedJobEvent {
    /// Whether it is the same that happens, whatever led to it.
    pub fn is_same_event(&self, other: &SimulatedJobEvent) -> bool {
        self.at == other.at && self.number == other.number && self.description == other.description
    }
}

/// Whose fate is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedJobs {
    /// That of all jobs.
    All,
    /// That of the jobs of this name, as `cluster.proc`.
    Named(String),
    /// That of one job, by its number.
    Number(u32),
}

/// What is remembered.
pub(super) struct JobEventRecorder {
    pub(super) jobs: RecordedJobs,
    pub(super) events: Vec<SimulatedJobEvent>,
}

/// Something that becomes of a job now.
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
