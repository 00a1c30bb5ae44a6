//! The load that jobs make: what of the machine's load is theirs, slot by slot.
//!
//! Reference: `Resource::compute_condor_usage`, `Claim::updateUsage`, `LoadQueue`.

use super::core::Core;
use super::execution_point::ExecutionPoint;
use super::interface::JobUsage;
use super::single::Slot;

/// Seconds that are averaged over, as the machine's own load average does.
const SECONDS: usize = 60;

/// What the job of a slot uses.
#[derive(Clone, Debug)]
pub(super) struct SlotLoad {
    /// Percent of one processor in each of the last seconds.
    seconds: [f64; SECONDS],
    head: usize,
    last: Option<i64>,
    /// Share of the machine's load.
    pub(super) of_jobs: f64,
    /// Processors in use; nothing where that is not measured.
    pub(super) cpus: Option<f64>,
    /// Image of the starter and its job, in KiB.
    pub(super) image_kib: i64,
}

impl Default for SlotLoad {
    fn default() -> Self {
        SlotLoad { seconds: [0.0; SECONDS], head: 0, last: None, of_jobs: 0.0, cpus: None, image_kib: 0 }
    }
}

impl Slot {
    /// Takes what was measured of the slot's job; a slot without one has used nothing since.
    fn take_usage(&mut self, core: &Core, usage: Option<&JobUsage>) {
        let percent = usage.map_or(0.0, |usage| usage.percent_cpu.max(0.0));
        let load = &mut self.load;
        (load.cpus, load.image_kib) = match usage {
            Some(usage) => (Some(percent / 100.0), usage.image_kib),
            None => (None, 0),
        };
        let most = i64::try_from(core.settings.polling_interval.as_secs()).unwrap_or(i64::MAX).max(1);
        let since = load.last.map_or(1, |last| (core.now.epoch() - last).clamp(1, most));
        load.last = Some(core.now.epoch());
        let processors = f64::from(core.measured.processors.max(1));
        load.push(since.unsigned_abs(), percent, (processors, core.measured.load.max(0.0)));
    }
}

impl SlotLoad {
    /// So many seconds at so many percent of one processor, on a machine with this load.
    fn push(&mut self, seconds: u64, percent: f64, (processors, machine): (f64, f64)) {
        for _ in 0..seconds.min(SECONDS as u64) {
            self.seconds[self.head] = percent;
            self.head = (self.head + 1) % SECONDS;
        }
        let average = self.seconds.iter().sum::<f64>() / SECONDS as f64 / processors;
        // Never more than the machine has altogether.
        self.of_jobs = (average * processors.max(machine) / 100.0).min(machine);
    }
}

impl ExecutionPoint {
    /// Gives each slot what was measured of its job.
    pub(super) fn take_usages(&mut self, usages: &[JobUsage]) {
        for slot in self.slots.values_mut() {
            let starter =
                slot.current.as_ref().and_then(|claim| claim.starter.as_ref()).map(|starter| starter.id);
            let usage = usages.iter().find(|usage| Some(usage.starter) == starter);
            slot.take_usage(&self.core, usage);
        }
        self.core.load_of_jobs = self.slots.values().map(|slot| slot.load.of_jobs).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_jobs_grows_over_a_minute_and_is_never_above_that_of_the_machine() {
        let mut load = SlotLoad::default();
        load.push(30, 100.0, (2.0, 1.5));
        assert!((load.of_jobs - 0.5).abs() < 1e-9, "{}", load.of_jobs);
        load.push(30, 100.0, (2.0, 1.5));
        assert!((load.of_jobs - 1.0).abs() < 1e-9, "{}", load.of_jobs);
        load.push(60, 400.0, (2.0, 1.5));
        assert!((load.of_jobs - 1.5).abs() < 1e-9, "{}", load.of_jobs);
        load.push(500, 0.0, (2.0, 1.5));
        assert_eq!(load.of_jobs, 0.0);
    }
}
