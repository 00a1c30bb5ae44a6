//! Load that the job of each slot causes, which is a part of the machine's load.
//!
//! Reference: `Resource::compute_condor_usage`, `Claim::updateUsage`, `LoadQueue`.

use super::events::JobUsage;
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::slot::Slot;

impl Slot {
    /// Records the measured usage of the slot's job. Without a job, the usage is zero.
    fn record_job_usage(&mut self, core: &ExecutionPointState, usage: Option<&JobUsage>) {
        let percent = usage.map_or(0.0, |usage| usage.percent_cpu.max(0.0));
        let load = &mut self.usage.job;
        (load.cpus_in_use, load.image_kib) = match usage {
            Some(usage) => (Some(percent / 100.0), usage.image_kib),
            None => (None, 0),
        };
        let most = i64::try_from(core.settings.polling_interval.as_secs()).unwrap_or(i64::MAX).max(1);
        let since = load.last_sample_at.map_or(1, |last| (core.now.epoch() - last).clamp(1, most));
        load.last_sample_at = Some(core.now.epoch());
        let processors = f64::from(core.load.measured.processors.max(1));
        load.add_samples(since.unsigned_abs(), percent, processors, core.load.measured.load.max(0.0));
    }
}

impl ExecutionPoint {
    /// Records the measured usage of the jobs of all slots.
    pub(super) fn record_job_usages(&mut self, usages: &[JobUsage]) {
        for slot in self.slots.values_mut() {
            let starter = slot.starter();
            let usage = usages.iter().find(|usage| Some(usage.starter) == starter);
            slot.record_job_usage(&self.core, usage);
        }
        self.core.load.of_jobs = self.slots.values().map(|slot| slot.usage.job.load_average).sum();
    }
}
