//! Control group of a job, with its measurements.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use htc_base::process::{ControlGroupSpec, Exit};
use htc_os::cgroup::{ControlGroup, GroupCreationError, GroupSetting, GroupSettingResult, GroupUsage};
use htc_starter::{CgroupPlan, FamilyUsage};

/// Control group of a job, with its measurements.
pub(super) struct JobControlGroup {
    group: ControlGroup,
    plan: Box<CgroupPlan>,
    counts: GroupUsage,
    members: usize,
    /// Maximum memory use seen, in KiB.
    largest_kib: u64,
    /// Limit on the number of processes, or `None`.
    processes: Option<u64>,
}

impl JobControlGroup {
    /// Creates the planned control group; calls `note` with each directory before creating it. Also returns the
    /// result of setting each limit.
    ///
    /// # Errors
    /// Fails if this process cannot create a control group.
    pub(super) fn make(
        plan: &CgroupPlan,
        spec: &ControlGroupSpec,
        note: &mut dyn FnMut(&Path),
    ) -> Result<(Self, Vec<GroupSettingResult>), GroupCreationError> {
        let (group, set) = ControlGroup::create(spec, &plan.other_name, note)?;
        let processes = set
            .iter()
            .find(|set| set.setting == GroupSetting::Processes)
            .and_then(|set| set.actual.clone().ok());
        let made = JobControlGroup {
            group,
            plan: Box::new(plan.clone()),
            counts: GroupUsage::default(),
            members: 0,
            largest_kib: 0,
            processes,
        };
        Ok((made, set))
    }

    /// Returns the directories of the control group, one per hierarchy.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        self.group.process_directories()
    }

    /// Removes the control group when no process is left in it.
    ///
    /// # Errors
    /// Returns the directory that remains, and the reason.
    pub(super) fn remove(&mut self) -> Result<(), (PathBuf, io::Error)> {
        self.group.remove()
    }

    /// Returns the limit on the number of processes and the number of forks that were refused because of it, or
    /// `None` if no fork was refused.
    pub(super) fn refused_processes(&self) -> Option<(u64, u64)> {
        self.processes.zip(Some(self.counts.forks_refused).filter(|refused| *refused > 0))
    }

    /// Returns the interval of measurements.
    pub(super) fn interval(&self) -> Duration {
        self.plan.polling
    }

    /// Measures the usage of the control group.
    pub(super) fn sample(&mut self) {
        self.counts = self.group.usage();
        self.members = self.group.members().len();
        self.largest_kib = self.largest_kib.max(self.memory_kib());
    }

    /// Returns the memory use in KiB, counted as the configuration requires.
    fn memory_kib(&self) -> u64 {
        let counts = &self.counts;
        let now = counts.memory.unwrap_or(0);
        let bytes = match (self.plan.peak, counts.peak_memory) {
            (Some(true), Some(peak)) if peak > counts.cache => (peak - counts.cache).max(now),
            (Some(_), Some(peak)) => peak.max(now),
            _ => now,
        };
        bytes / 1024
    }

    /// Returns the usage counted by the kernel for the group. Values that the kernel does not count are taken from
    /// `process_usage`, the sum over the single processes.
    pub(super) fn overlay_usage(&self, process_usage: FamilyUsage) -> FamilyUsage {
        let counts = &self.counts;
        let memory = counts.memory.map(|_| self.memory_kib());
        FamilyUsage {
            processes: u32::try_from(self.members).unwrap_or(u32::MAX),
            user: counts.user.unwrap_or(process_usage.user),
            system: counts.system.unwrap_or(process_usage.system),
            resident_kib: memory.unwrap_or(process_usage.resident_kib),
            max_image_kib: if memory.is_some() { self.largest_kib } else { process_usage.max_image_kib },
            block_read_bytes: counts.read_bytes.unwrap_or(process_usage.block_read_bytes),
            block_write_bytes: counts.written_bytes.unwrap_or(process_usage.block_write_bytes),
            block_reads: counts.reads.unwrap_or(process_usage.block_reads),
            block_writes: counts.writes.unwrap_or(process_usage.block_writes),
            cgroup: true,
            ..process_usage
        }
    }

    /// Measures the control group after the job's process has ended, and kills the processes that remain in it.
    /// Returns their number, and true if the kernel killed a process because of memory.
    pub(super) fn take_final_sample(&mut self, exit: Exit) -> (usize, bool) {
        self.sample();
        let left = self.members;
        if left > 0 {
            self.group.kill();
        }
        let killed = matches!(exit, Exit::Signal { number: 9, .. });
        (left, self.group.has_been_oom_killed(killed))
    }

    /// Sends a signal to all processes in the control group.
    pub(super) fn signal(&self, number: i32) {
        self.group.send_signal(number);
    }
}
