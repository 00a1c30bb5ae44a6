//! What became of jobs is remembered, where somebody asks after it.

use super::fate::{Fate, Happened, Memory, Place, Whose};
use super::simulation::Simulation;
use super::workload::Job;
use htc_slot::SlotKey;

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
