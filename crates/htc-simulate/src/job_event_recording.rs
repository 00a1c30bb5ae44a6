//! Recording of the events of jobs in a simulation.

use super::job_events::{JobEventRecorder, NewJobEvent, RecordedJobs, SimulatedJobEvent, SlotIdentity};
use super::simulation::Simulation;
use super::workload::Job;
use htc_slot::SlotKey;

impl Simulation<'_> {
    /// Starts recording the events of the given jobs.
    pub fn record_job_events(&mut self, jobs: RecordedJobs) {
        let fates = self.job_events.take().map(|memory| memory.events).unwrap_or_default();
        self.job_events = Some(JobEventRecorder { jobs, events: fates });
    }

    /// Returns the events recorded since the last call.
    pub fn take_job_events(&mut self) -> Vec<SimulatedJobEvent> {
        self.job_events.as_mut().map(|memory| std::mem::take(&mut memory.events)).unwrap_or_default()
    }

    /// Returns the kind of the waiting job with this id (`cluster.proc`), or `None` if no waiting job has it.
    pub fn waiting_job_kind(&self, name: &str) -> Option<u32> {
        self.queue.jobs().find(|job| job.name() == name).map(|job| job.kind)
    }

    /// Stops recording job events.
    pub fn stop_recording(&mut self) {
        self.job_events = None;
    }

    pub(super) fn slot_identity(&self, host: usize, key: SlotKey) -> SlotIdentity {
        let it = &self.hosts[host];
        let slot_type = it.machine.slot_type_id(key).unwrap_or(0);
        SlotIdentity { slot: it.slot_name(key), slot_type, config_number: it.config_number }
    }

    /// Returns true if the events of the job are recorded.
    pub(super) fn is_recorded(&self, job: &Job) -> bool {
        match self.job_events.as_ref().map(|memory| &memory.jobs) {
            None => false,
            Some(RecordedJobs::All) => true,
            Some(RecordedJobs::Named(name)) => *name == job.name(),
            Some(RecordedJobs::Number(number)) => *number == job.number,
        }
    }

    /// Records an event of a job, if the events of that job are recorded.
    pub(super) fn record_job_event(&mut self, job: &Job, make_event: impl FnOnce(&Self) -> NewJobEvent) {
        if !self.is_recorded(job) {
            return;
        }
        let NewJobEvent { description: what, slot, cause } = make_event(self);
        let at = self.elapsed_micros() as f64 / 1e6;
        if let Some(memory) = &mut self.job_events {
            memory.events.push(SimulatedJobEvent {
                at,
                number: job.number,
                job: job.name(),
                description: what,
                slot,
                cause,
            });
        }
    }
}
