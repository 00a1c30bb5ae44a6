//! Load of a slot's job, averaged as the machine's load is (`LoadQueue`).

/// Averaging period in seconds, as for the machine's load average.
const AVERAGED_SECONDS: usize = 60;

/// Resource use of a slot's job.
#[derive(Clone, Debug)]
pub(crate) struct SlotLoad {
    /// CPU use in each of the last seconds, in percent of one processor.
    seconds: [f64; AVERAGED_SECONDS],
    head: usize,
    pub last_sample_at: Option<i64>,
    /// Load average of the job.
    pub load_average: f64,
    /// Number of processors in use, or `None` if not measured.
    pub cpus_in_use: Option<f64>,
    /// Image size of the starter and its job, in KiB.
    pub image_kib: i64,
}

impl Default for SlotLoad {
    fn default() -> Self {
        SlotLoad {
            seconds: [0.0; AVERAGED_SECONDS],
            head: 0,
            last_sample_at: None,
            load_average: 0.0,
            cpus_in_use: None,
            image_kib: 0,
        }
    }
}

impl SlotLoad {
    /// Records that the job used `percent` percent of one processor for `seconds` seconds. `machine` is the load of the machine,
    /// `processors` its number of processors.
    pub(crate) fn add_samples(&mut self, seconds: u64, percent: f64, processors: f64, machine: f64) {
        for _ in 0..seconds.min(AVERAGED_SECONDS as u64) {
            self.seconds[self.head] = percent;
            self.head = (self.head + 1) % AVERAGED_SECONDS;
        }
        let average = self.seconds.iter().sum::<f64>() / AVERAGED_SECONDS as f64 / processors;
        // The load of a slot is at most the total load of the machine.
        self.load_average = (average * processors.max(machine) / 100.0).min(machine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_jobs_grows_over_a_minute_and_is_never_above_that_of_the_machine() {
        let mut load = SlotLoad::default();
        load.add_samples(30, 100.0, 2.0, 1.5);
        assert!((load.load_average - 0.5).abs() < 1e-9, "{}", load.load_average);
        load.add_samples(30, 100.0, 2.0, 1.5);
        assert!((load.load_average - 1.0).abs() < 1e-9, "{}", load.load_average);
        load.add_samples(60, 400.0, 2.0, 1.5);
        assert!((load.load_average - 1.5).abs() < 1e-9, "{}", load.load_average);
        load.add_samples(500, 0.0, 2.0, 1.5);
        assert_eq!(load.load_average, 0.0);
    }
}
