//! Recording of job events.

use super::job_events::{JobEventRecorder, NewJobEvent, RecordedJobs, SimulatedJobEvent, SlotIdentity};
use super::simulation::Simulation;
use super::workload::Job;
use htc_slot::SlotKey;

impl Simulation<'_> {
    /// Starts recording the events of these jobs.
    pub fn record_job_events(&mut self, whose: RecordedJobs) {
        let fates = self.job_events.take().map(|memory| memory.events).unwrap_or_default();
        self.job_events = Some(JobEventRecorder { jobs: whose, events: fates });
    }

    /// Returns the events recorded since the last call.
    pub fn take_job_events(&mut self) -> Vec<SimulatedJobEvent> {
        self.job_events.as_mut().map(|memory| std::mem::take(&mut memory.events)).unwrap_or_default()
    }

    /// Returns the kind of a waiting job with this id, as `cluster.proc`.
    pub fn kind_of_waiting(&self, name: &str) -> Option<u32> {
        self.queue.jobs().find(|job| job.name() == name).map(|job| job.kind)
    }

    /// Stops recording.
    pub fn stop_recording(&mut self) {
        self.job_events = None;
    }

    pub(super) fn slot_identity(&self, host: usize, key: SlotKey) -> SlotIdentity {
        let it = &self.hosts[host];
        let slot_type = it.machine.slot_type_id(key).unwrap_or(0);
        SlotIdentity { slot: it.slot_name(key), slot_type, config_number: it.config_number }
    }

    /// True if the job's events are recorded.
    pub(super) fn is_recorded(&self, job: &Job) -> bool {
        match self.job_events.as_ref().map(|memory| &memory.jobs) {
            None => false,
            Some(RecordedJobs::All) => true,
            Some(RecordedJobs::Named(name)) => *name == job.name(),
            Some(RecordedJobs::Number(number)) => *number == job.number,
        }
    }

    /// Records an event of a job, if its events are recorded.
    pub(super) fn record_job_event(&mut self, job: &Job, happened: impl FnOnce(&Self) -> NewJobEvent) {
        if !self.is_recorded(job) {
            return;
        }
        let NewJobEvent { description: what, slot, cause } = happened(self);
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
