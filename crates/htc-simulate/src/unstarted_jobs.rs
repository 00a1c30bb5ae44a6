//! Jobs that were never started, by kind.

use std::collections::BTreeMap;

use super::workload::Job;

/// Jobs of one kind that were never started.
pub(super) struct UnstartedKind {
    pub(super) count: u64,
    /// One of these jobs as an example.
    pub(super) example: Job,
}

/// All jobs that were never started: those that wait at the end, and those that were dropped before.
#[derive(Default)]
pub(super) struct UnstartedJobs {
    /// The jobs by the number of their kind.
    pub(super) kinds: BTreeMap<u32, UnstartedKind>,
    /// Longest wait of these jobs, in microseconds.
    longest_micros: u64,
}

impl UnstartedJobs {
    /// Adds a job that waited until `until`, in microseconds since the start, if it was never started.
    pub(super) fn add(&mut self, job: &Job, until: u64) {
        if job.starts > 0 {
            return;
        }
        self.longest_micros = self.longest_micros.max(until.saturating_sub(job.arrives));
        let new = || UnstartedKind { count: 0, example: job.clone() };
        self.kinds.entry(job.kind).or_insert_with(new).count += 1;
    }

    /// Returns the longest wait in seconds.
    pub(super) fn longest_wait(&self) -> f64 {
        self.longest_micros as f64 / 1e6
    }
}
