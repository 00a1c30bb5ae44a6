//! Processes of a job and of its scripts: their ends, resource usage and the schedule of measurements.

use std::time::Duration;

use super::usage::{CpuRate, UsageMeter};
use crate::event::FamilyUsage;
use crate::java::JavaState;
use crate::job_exit;
use crate::settings::RecentWindow;
use crate::start_failure::StartFailure;
use htc_base::process::Exit;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::ClassAd;

/// Started process of the job or of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartedProcess {
    pub(crate) pid: u32,
    pub(crate) started: ClockReading,
    pub(crate) ended: Option<ProcessEnd>,
}

/// End of a process, with the time of the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessEnd {
    pub(crate) at: ClockReading,
    pub(crate) exit: Exit,
    /// True if the process left a core file.
    pub(crate) core: bool,
}

impl StartedProcess {
    pub(crate) fn new(pid: u32, started: ClockReading) -> Self {
        StartedProcess { pid, started, ended: None }
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        self.ended.map(|ended| ended.exit)
    }

    fn publish_end(&self, ad: &mut ClassAd, prefix: &str) {
        let Some(ended) = self.ended else { return };
        let duration = job_exit::seconds_between(self.started, ended.at);
        ad.set(format!("{prefix}JobDuration").as_str(), duration);
        job_exit::publish_exit(ad, prefix, ended.exit);
    }

    /// Adds attributes about the start and the end of the process. Attributes of scripts have a prefix.
    pub(crate) fn publish(&self, ad: &mut ClassAd, prefix: &str) {
        ad.set(format!("{prefix}JobPid").as_str(), i64::from(self.pid));
        ad.set(format!("{prefix}JobStartDate").as_str(), self.started.epoch());
        self.publish_end(ad, prefix);
    }
}

/// State of PreCmd and PostCmd.
#[derive(Debug, Default)]
pub(crate) struct JobScripts {
    /// True if STARTER_ALLOW_JOB_PRE_AND_POST_CMD allows scripts.
    pub(crate) allowed: bool,
    /// PreCmd, from its start until the job is started; otherwise `None`.
    pub(crate) pre: Option<StartedProcess>,
    /// PostCmd, or `None` before its start.
    pub(crate) post: Option<StartedProcess>,
}

impl JobScripts {
    /// Adds the attributes of PreCmd and PostCmd.
    pub(crate) fn publish(&self, ad: &mut ClassAd) {
        for (script, prefix) in [(self.pre, "Pre"), (self.post, "Post")] {
            if let Some(script) = script {
                script.publish(ad, prefix);
            }
        }
    }
}

/// Process of the job and its resource usage.
#[derive(Default)]
pub(crate) struct JobRun {
    pub(crate) process: Option<StartedProcess>,
    /// True if the job is suspended, or will be suspended as soon as it runs.
    pub(crate) suspended: bool,
    /// True if the job ended after its end had been requested.
    pub(crate) evicted: bool,
    pub(crate) usage: FamilyUsage,
    pub(crate) meter: UsageMeter,
    pub(crate) cpu_rate: CpuRate,
    pub(crate) java: JavaState,
    /// Memory provisioned for the job, in MiB.
    pub(crate) memory_mib: i64,
    /// Purposes of the pending measurements, oldest first.
    pub(crate) pending_measurements: Vec<MeasurePurpose>,
    pub(crate) update_due: Option<MonotonicTime>,
    /// True if it has already been reported that 25.14 would round the times of updates.
    pub(crate) rounding_reported: bool,
    /// Limit on the size of the scratch directory, or `None` if there is no limit.
    pub(crate) disk: Option<DiskLimit>,
    /// Failure for an invalid control group parameter, because of which 25.14 exits as soon as the job runs.
    pub(crate) group_fault: Option<StartFailure>,
    /// True if the scratch directory is encrypted.
    pub(crate) encrypted: bool,
}

/// Limit on the size of a scratch directory, and the time of the next check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskLimit {
    pub(crate) bytes: u64,
    pub(crate) due: MonotonicTime,
}

/// Interval at which the size of the directory is checked (`CheckLVUsage`).
const DISK_CHECK_INTERVAL: Duration = Duration::from_secs(10);

impl DiskLimit {
    pub(crate) fn take_due(&mut self, now: MonotonicTime) -> bool {
        let is_due = self.due <= now;
        if is_due {
            self.due = now.plus(DISK_CHECK_INTERVAL);
        }
        is_due
    }
}

/// Purpose of a measurement of resource usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasurePurpose {
    /// The measurement is for an update. `vacating` is true if a vacate was requested before; the update then reports
    /// the vacate.
    Update { vacating: bool },
    /// The measurement is for event 010.
    Suspended,
    /// The measurement is for the limit on the scratch directory.
    Disk,
}

impl JobRun {
    /// Creates the state before the process is started. `window` has the parameters of the statistics about the recent
    /// past.
    pub(crate) fn new(window: RecentWindow) -> Self {
        JobRun { meter: UsageMeter::new(0, window), ..JobRun::default() }
    }

    /// Returns the end of the process, or `None` if it has not ended.
    pub(crate) fn process_end(&self) -> Option<ProcessEnd> {
        self.process?.ended
    }

    /// Returns the process while it is alive, otherwise `None`.
    pub(crate) fn live_process(&self) -> Option<StartedProcess> {
        self.process.filter(|process| process.ended.is_none())
    }

    /// Records that the process has started.
    pub(crate) fn record_start(&mut self, process: StartedProcess) {
        self.process = Some(process);
        self.usage = FamilyUsage { processes: 1, ..FamilyUsage::default() };
    }

    /// Records that the process has ended.
    pub(crate) fn record_end(&mut self, ended: ProcessEnd) {
        if let Some(process) = &mut self.process {
            process.ended = Some(ended);
        }
    }
}
