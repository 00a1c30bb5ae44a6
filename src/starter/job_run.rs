//! The processes of a job: its own and its scripts', how they ended, what the job uses and when that is looked at.

use super::disk::DiskLimit;
use super::ending;
use super::event::FamilyUsage;
use super::failure::StartFailure;
use super::java::Java;
use super::usage::{Meter, Pace};
use crate::classad::ClassAd;
use crate::process::Exit;
use crate::time::{Now, Tick};

/// A process that was started, the job or a script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) started: Now,
    pub(super) ended: Option<Ended>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) at: Now,
    pub(super) exit: Exit,
    /// A core file was left.
    pub(super) core: bool,
}

impl Process {
    pub(super) fn new(pid: u32, started: Now) -> Self {
        Process { pid, started, ended: None }
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.ended.map(|ended| ended.exit)
    }

    fn publish_end(&self, ad: &mut ClassAd, prefix: &str) {
        let Some(ended) = self.ended else { return };
        let duration = ending::seconds_between(self.started, ended.at);
        ad.set(format!("{prefix}JobDuration").as_str(), duration);
        ending::publish_exit(ad, prefix, ended.exit);
    }

    /// When it began and how it ended, with a prefix for scripts.
    pub(super) fn publish(&self, ad: &mut ClassAd, prefix: &str) {
        ad.set(format!("{prefix}JobPid").as_str(), i64::from(self.pid));
        ad.set(format!("{prefix}JobStartDate").as_str(), self.started.epoch());
        self.publish_end(ad, prefix);
    }
}

/// PreCmd and PostCmd.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    /// STARTER_ALLOW_JOB_PRE_AND_POST_CMD.
    pub(super) allowed: bool,
    /// PreCmd, until the job is started.
    pub(super) pre: Option<Process>,
    pub(super) post: Option<Process>,
}

impl Scripts {
    /// What they tell of themselves.
    pub(super) fn publish(&self, ad: &mut ClassAd) {
        for (script, prefix) in [(self.pre, "Pre"), (self.post, "Post")] {
            if let Some(script) = script {
                script.publish(ad, prefix);
            }
        }
    }
}

/// The job's process and what it uses.
#[derive(Default)]
pub(super) struct JobRun {
    pub(super) process: Option<Process>,
    /// It is stopped, or is to be as soon as it runs.
    pub(super) suspended: bool,
    /// Whether the job's end had been asked for when it ended.
    pub(super) evicted: bool,
    pub(super) usage: FamilyUsage,
    pub(super) meter: Meter,
    pub(super) pace: Pace,
    pub(super) java: Java,
    /// The memory that the job was given, in MiB.
    pub(super) memory_mib: i64,
    /// What measurements under way are for, the oldest first.
    pub(super) measuring: Vec<Measuring>,
    pub(super) update_due: Option<Tick>,
    /// The limit of its directory.
    pub(super) disk: DiskLimit,
    /// A setting about its control group that ends 25.14 as soon as it runs.
    pub(super) group_fault: Option<StartFailure>,
    /// Whether what is written there is encrypted.
    pub(super) encrypted: bool,
}

/// Why the machine measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measuring {
    /// For an update, which tells of a vacate only when it was asked for before.
    Update { vacating: bool },
    /// For event 010.
    Suspended,
    /// For the limit of the scratch directory.
    Disk,
}

impl JobRun {
    /// No process yet; `window` is that of recent statistics.
    pub(super) fn new(window: (i64, i64)) -> Self {
        JobRun { meter: Meter::new(0, window), ..JobRun::default() }
    }

    /// How it ended, if it has run and ended.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.process?.ended
    }

    /// The process while it lives.
    pub(super) fn alive(&self) -> Option<Process> {
        self.process.filter(|process| process.ended.is_none())
    }

    /// It runs from now on.
    pub(super) fn starts(&mut self, process: Process) {
        self.process = Some(process);
        self.usage = FamilyUsage { processes: 1, ..FamilyUsage::default() };
    }

    /// It ended.
    pub(super) fn ends(&mut self, ended: Ended) {
        if let Some(process) = &mut self.process {
            process.ended = Some(ended);
        }
    }
}
