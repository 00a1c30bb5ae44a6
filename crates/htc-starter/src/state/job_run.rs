//! The processes of a job: its own and its scripts', how they ended, what the job uses and when that is looked at.

use std::time::Duration;

use super::usage::{CpuRate, UsageMeter};
use crate::event::FamilyUsage;
use crate::java::JavaState;
use crate::job_exit;
use crate::start_failure::StartFailure;
use htc_base::process::Exit;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_classad::ClassAd;

/// A process that was started, the job or a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartedProcess {
    pub(crate) pid: u32,
    pub(crate) started: ClockReading,
    pub(crate) ended: Option<ProcessEnd>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessEnd {
    pub(crate) at: ClockReading,
    pub(crate) exit: Exit,
    /// A core file was left.
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

    /// When it began and how it ended, with a prefix for scripts.
    pub(crate) fn publish(&self, ad: &mut ClassAd, prefix: &str) {
        ad.set(format!("{prefix}JobPid").as_str(), i64::from(self.pid));
        ad.set(format!("{prefix}JobStartDate").as_str(), self.started.epoch());
        self.publish_end(ad, prefix);
    }
}

/// PreCmd and PostCmd.
#[derive(Debug, Default)]
pub(crate) struct JobScripts {
    /// STARTER_ALLOW_JOB_PRE_AND_POST_CMD.
    pub(crate) allowed: bool,
    /// PreCmd, from when it runs until the job is started.
    pub(crate) pre: Option<StartedProcess>,
    /// PostCmd, from when it runs.
    pub(crate) post: Option<StartedProcess>,
}

impl JobScripts {
    /// What they tell of themselves.
    pub(crate) fn publish(&self, ad: &mut ClassAd) {
        for (script, prefix) in [(self.pre, "Pre"), (self.post, "Post")] {
            if let Some(script) = script {
                script.publish(ad, prefix);
            }
        }
    }
}

/// The job's process and what it uses.
#[derive(Default)]
pub(crate) struct JobRun {
    pub(crate) process: Option<StartedProcess>,
    /// It is stopped, or is to be as soon as it runs.
    pub(crate) suspended: bool,
    /// Whether the job's end had been asked for when it ended.
    pub(crate) evicted: bool,
    pub(crate) usage: FamilyUsage,
    pub(crate) meter: UsageMeter,
    pub(crate) cpu_rate: CpuRate,
    pub(crate) java: JavaState,
    /// The memory that the job was given, in MiB.
    pub(crate) memory_mib: i64,
    /// What measurements under way are for, the oldest first.
    pub(crate) pending_measurements: Vec<MeasurePurpose>,
    pub(crate) update_due: Option<MonotonicTime>,
    /// True once it is reported that 25.14 would round the times of updates.
    pub(crate) rounding_reported: bool,
    /// The limit of its directory.
    pub(crate) disk: Option<DiskLimit>,
    /// A setting about its control group that ends 25.14 as soon as it runs.
    pub(crate) group_fault: Option<StartFailure>,
    /// Whether what is written there is encrypted.
    pub(crate) encrypted: bool,
}

/// The limit of a job's directory and the next look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskLimit {
    pub(crate) bytes: u64,
    pub(crate) due: MonotonicTime,
}

/// How often the directory is looked at (`CheckLVUsage`).
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

/// Why the machine measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasurePurpose {
    /// For an update, which tells of a vacate only when it was asked for before.
    Update { vacating: bool },
    /// For event 010.
    Suspended,
    /// For the limit of the scratch directory.
    Disk,
}

impl JobRun {
    /// No process yet; `window` is that of recent statistics.
    pub(crate) fn new(window: (i64, i64)) -> Self {
        JobRun { meter: UsageMeter::new(0, window), ..JobRun::default() }
    }

    /// How it ended, if it has run and ended.
    pub(crate) fn process_end(&self) -> Option<ProcessEnd> {
        self.process?.ended
    }

    /// The process while it lives.
    pub(crate) fn live_process(&self) -> Option<StartedProcess> {
        self.process.filter(|process| process.ended.is_none())
    }

    /// It runs from now on.
    pub(crate) fn record_start(&mut self, process: StartedProcess) {
        self.process = Some(process);
        self.usage = FamilyUsage { processes: 1, ..FamilyUsage::default() };
    }

    /// It ended.
    pub(crate) fn record_end(&mut self, ended: ProcessEnd) {
        if let Some(process) = &mut self.process {
            process.ended = Some(ended);
        }
    }
}
