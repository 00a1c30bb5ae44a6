//! What became of jobs, for whoever asks after one of them or compares two courses.

use htc_slot::Clause;

/// Something that became of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Fate {
    /// In seconds since the start.
    pub at: f64,
    /// The job's number, in the order in which jobs come.
    pub number: u32,
    /// The job as `cluster.proc`.
    pub job: String,
    /// What, in words.
    pub what: String,
    /// On which slot.
    pub slot: Option<Place>,
    /// What decided it.
    pub cause: Option<Cause>,
}

/// The slot at which something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name.
    pub slot: String,
    /// Its type.
    pub slot_type: u32,
    /// Which configuration its machine had: the number of the call that made it.
    pub config: usize,
}

/// What decided about a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A change of its slot.
    Change {
        /// The turn of the simulation in which it took place.
        turn: u64,
        /// What the machine said.
        reason: String,
    },
    /// Conditions of the slot that are not true for it.
    Refused(Vec<Clause>),
}

impl Fate {
    /// Whether it is the same that happens, whatever led to it.
    pub fn is_as(&self, other: &Fate) -> bool {
        self.at == other.at && self.number == other.number && self.what == other.what
    }
}

/// Whose fate is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// That of all jobs.
    All,
    /// That of the jobs of this name, as `cluster.proc`.
    Named(String),
    /// That of one job, by its number.
    Number(u32),
}

/// What is remembered.
pub(super) struct Memory {
    pub(super) whose: Whose,
    pub(super) fates: Vec<Fate>,
}

/// Something that becomes of a job now.
pub(super) struct Happened {
    pub what: String,
    pub slot: Option<Place>,
    pub cause: Option<Cause>,
}

impl Happened {
    pub(super) fn simply(what: impl Into<String>) -> Self {
        Happened { what: what.into(), slot: None, cause: None }
    }
}
