//! Sampling of a job's resource usage: its process family and the disk usage of its directory.

use super::disk_scan::{DiskScan, DiskScanProgress};
use super::run_state::RunState;
use super::running_process::{FIRST_SNAPSHOT_DELAY, RunningProcess};
use htc_base::time::MonotonicTime;
use htc_hook::transfer::{JOB_STDERR_FILE, JOB_STDOUT_FILE};
use htc_os::{accounting, clock};
use htc_starter::{FamilyUsage, StarterEvent};

impl RunState<'_> {
    /// Takes the first sample of a process that has just been started.
    pub(super) fn sample_new_process(&mut self) {
        if self.job.process.as_ref().is_some_and(|process| process.next_sample.is_none()) {
            self.sample();
            if let Some(process) = &mut self.job.process {
                process.next_sample = Some(clock::monotonic_now().plus(FIRST_SNAPSHOT_DELAY));
            }
        }
    }

    /// Returns the time of the next sample, or `None` if no process is running.
    pub(super) fn next_sample(&self) -> Option<MonotonicTime> {
        self.job.process.as_ref()?.next_sample
    }

    /// Takes a sample if it is due.
    pub(super) fn sample_if_due(&mut self, now: MonotonicTime) {
        if self.next_sample().is_some_and(|at| at <= now) {
            self.sample();
            if let Some(process) = &mut self.job.process {
                process.next_sample = Some(now.plus(process.interval(self.context.snapshot_interval)));
            }
        }
    }

    /// Samples the resource usage of the process family.
    pub(super) fn sample(&mut self) {
        if let Some(process) = &mut self.job.process
            && let Some(usage) = self.reactor.family_usage(process.child)
        {
            // In 25.14 only the procd measures this value, and the procd is not used with control groups
            // (`procapi.cpp`, `getPSSInfo`).
            if process.resources.group.is_none() && self.context.uses_pss {
                process.proportional_kib = usage
                    .pids
                    .iter()
                    .filter_map(|pid| accounting::proportional_set_size_kib(*pid))
                    .reduce(|sum, one| sum + one);
            }
            process.usage = usage;
            if let Some(group) = &mut process.resources.group {
                group.sample();
            }
        }
    }

    pub(super) fn measured_usage(&self) -> FamilyUsage {
        let usage =
            self.job.process.as_ref().map_or_else(FamilyUsage::default, RunningProcess::measured_usage);
        FamilyUsage { docker: self.job.docker.as_ref().and_then(|watch| watch.usage), ..usage }
    }

    /// Measures the disk usage of the job's directory and queues an event with the result. A measurement that began
    /// before the end of a process is discarded.
    pub(super) fn queue_with_disk_usage(&mut self, event: StarterEvent) {
        if !self.context.measures_disk {
            return self.events.push_back(event);
        }
        let before = self.disk.scan.take_if(|_| matches!(event, StarterEvent::ProcessEnded { .. }));
        let events = before.map(|looking| looking.events_to_queue).unwrap_or_default();
        let top = &self.context.sandbox.top;
        self.disk.scan.get_or_insert_with(|| DiskScan::new(top, events)).events_to_queue.push(event);
        self.advance_disk_scan();
    }

    /// Continues the scan of the job's directory. If it takes too long, the last known usage is used.
    pub(super) fn advance_disk_scan(&mut self) {
        let Some(looking) = &mut self.disk.scan else { return };
        match looking.advance() {
            DiskScanProgress::Unfinished => return,
            DiskScanProgress::Complete(bytes, entries) => self.disk.last_usage = Some((bytes, entries)),
            DiskScanProgress::TooLong => self.warn_once("disk-usage", || {
                "the scratch directory has too many files to measure: DiskUsage is updated less often"
                    .to_owned()
            }),
        }
        let written =
            [JOB_STDOUT_FILE, JOB_STDERR_FILE].map(|name| self.context.sandbox.modification_time(name));
        let events = self.disk.scan.take().map(|looking| looking.events_to_queue).unwrap_or_default();
        for mut event in events {
            if let StarterEvent::Measured(usage) | StarterEvent::ProcessEnded { usage, .. } = &mut event {
                usage.disk = self.disk.last_usage;
                usage.written = written;
            }
            self.events.push_back(event);
        }
    }
}
