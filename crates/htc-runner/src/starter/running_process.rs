//! Running process of a job or of a script around it, with the usage of its process family.

use std::time::Duration;

use super::control_group::JobControlGroup;
use htc_base::time::MonotonicTime;
use htc_os::tracking_group::TrackingGroup;
use htc_os::{ChildId, accounting};
use htc_starter::{FamilyUsage, JobProcess};

/// Delay before the first sample, because a process that has just been executed has not mapped its libraries yet.
pub(super) const FIRST_SNAPSHOT_DELAY: Duration = Duration::from_millis(50);

/// Resources that belong to one process of the job.
#[derive(Default)]
pub(super) struct ProcessResources {
    pub(super) group: Option<JobControlGroup>,
    /// Group for tracking, reserved while the process runs.
    pub(super) tracking: Option<TrackingGroup>,
}

/// Running process of a job or of a script around it.
pub(super) struct RunningProcess {
    pub(super) child: ChildId,
    pub(super) pid: u32,
    pub(super) usage: accounting::FamilyUsage,
    /// Memory in KiB, with shared pages divided among the processes that use them; `None` if a control group counts
    /// the memory.
    pub(super) proportional_kib: Option<u64>,
    pub(super) resources: ProcessResources,
    /// Description of the process.
    pub(super) attempt: Box<JobProcess>,
    /// Time of the next sample, or `None` if no sample has been taken yet.
    pub(super) next_sample: Option<MonotonicTime>,
}

impl RunningProcess {
    /// Returns the interval between samples: that of the control group if there is one, else `snapshot`, but at least
    /// [`FIRST_SNAPSHOT_DELAY`].
    pub(super) fn interval(&self, snapshot: Duration) -> Duration {
        self.resources.group.as_ref().map_or(snapshot.max(FIRST_SNAPSHOT_DELAY), JobControlGroup::interval)
    }

    /// Returns the usage of the last sample.
    pub(super) fn measured_usage(&self) -> FamilyUsage {
        let usage = FamilyUsage {
            processes: u32::try_from(self.usage.pids.len()).unwrap_or(u32::MAX),
            user: self.usage.user,
            system: self.usage.system,
            max_image_kib: self.usage.max_image_kib,
            resident_kib: self.usage.resident_kib,
            block_read_bytes: self.usage.block_io_bytes[0],
            block_write_bytes: self.usage.block_io_bytes[1],
            proportional_kib: self.proportional_kib,
            ..FamilyUsage::default()
        };
        match &self.resources.group {
            Some(group) => group.overlay_usage(usage),
            None => usage,
        }
    }
}
