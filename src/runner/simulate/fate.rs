//! What became of jobs, for whoever asks after one of them or compares two courses.

use super::engine::Simulation;
use super::workload::Job;
use crate::slot::{Clause, SlotKey};

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
    whose: Whose,
    fates: Vec<Fate>,
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

impl Simulation<'_> {
    /// What becomes of jobs is remembered from now on.
    pub fn remember(&mut self, whose: Whose) {
        let fates = self.memory.take().map(|memory| memory.fates).unwrap_or_default();
        self.memory = Some(Memory { whose, fates });
    }

    /// What has become of jobs since this was asked last.
    pub fn take_fates(&mut self) -> Vec<Fate> {
        self.memory.as_mut().map(|memory| std::mem::take(&mut memory.fates)).unwrap_or_default()
    }

    /// The kind of a job of this name, as `cluster.proc`, that waits now.
    pub fn kind_of_waiting(&self, name: &str) -> Option<u32> {
        self.queue.jobs().find(|job| job.name() == name).map(|job| job.kind)
    }

    /// Nothing is remembered any more.
    pub fn forget(&mut self) {
        self.memory = None;
    }

    pub(super) fn place(&self, host: usize, key: SlotKey) -> Place {
        let it = &self.hosts[host];
        let slot_type = it.machine.type_id(key).unwrap_or(0);
        Place { slot: it.slot_name(key), slot_type, config: it.config }
    }

    /// Whether the job's fate is to be known.
    pub(super) fn remembers(&self, job: &Job) -> bool {
        match self.memory.as_ref().map(|memory| &memory.whose) {
            None => false,
            Some(Whose::All) => true,
            Some(Whose::Named(name)) => *name == job.name(),
            Some(Whose::Number(number)) => *number == job.number,
        }
    }

    /// Notes what becomes of a job, where that is to be known.
    pub(super) fn note(&mut self, job: &Job, happened: impl FnOnce(&Self) -> Happened) {
        if !self.remembers(job) {
            return;
        }
        let Happened { what, slot, cause } = happened(self);
        let at = self.since() as f64 / 1e6;
        if let Some(memory) = &mut self.memory {
            memory.fates.push(Fate { at, number: job.number, job: job.name(), what, slot, cause });
        }
    }
}
