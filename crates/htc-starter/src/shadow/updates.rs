//! What a shadow takes over from the ads that its starter sends (`RemoteResource::updateFromStarter`).
//!
//! Everything else that stands there is for the starter's own hooks.

use super::state_machine::Shadow;
use htc_classad::{ClassAd, Context};

/// Copied as they are.
const COPIED_ATTRIBUTES: [&str; 34] = [
    "JobVMCpuUtilization",
    "NetworkInputMb",
    "NetworkOutputMb",
    "StdoutMtime",
    "StderrMtime",
    "BlockReadKbytes",
    "BlockWriteKbytes",
    "RecentBlockReadKbytes",
    "RecentBlockWriteKbytes",
    "BlockReadBytes",
    "BlockWriteBytes",
    "RecentBlockReadBytes",
    "RecentBlockWriteBytes",
    "BlockReads",
    "BlockWrites",
    "RecentBlockReads",
    "RecentBlockWrites",
    "IOWait",
    "CPUInstructions",
    "PreExitCode",
    "PreExitSignal",
    "PreExitBySignal",
    "PostExitCode",
    "PostExitSignal",
    "PostExitBySignal",
    "StatsLastUpdateTimeStarter",
    "StatsLifetimeStarter",
    "RecentStatsLifetimeStarter",
    "RecentWindowMaxStarter",
    "RecentStatsTickTimeStarter",
    "ExecuteDirWasEncrypted",
    "VacateReason",
    "VacateReasonCode",
    "VacateReasonSubCode",
];
/// How the job ended: it comes into the queue when its shadow hears of the end, and so not where an error ended the shadow first.
const JOB_END_ATTRIBUTES: [&str; 9] = [
    "ExceptionHierarchy",
    "ExceptionName",
    "ExceptionType",
    "ExitBySignal",
    "ExitSignal",
    "ExitCode",
    "ExitReason",
    "JobCoreDumped",
    "SpooledOutputFiles",
];
/// How often the job was started.
pub(super) const NUM_JOB_STARTS: &str = "NumJobStarts";
/// The name that statistics of a starter have in the queue, beside those of the schedd's own.
const STARTER_PREFIX: &str = "Starter";
/// Of which the largest counts that was told.
const PEAK_ATTRIBUTES: [&str; 3] = ["ImageSize", "ResidentSetSize", "ProportionalSetSizeKb"];
/// Of which the largest of this run counts.
const PEAK_OF_RUN_ATTRIBUTES: [&str; 2] = ["DiskUsage", "ScratchDirFileCount"];
/// Processor time of a run, which grows, and that of all runs.
const CPU_TIME_ATTRIBUTES: [(&str, &str); 2] =
    [("RemoteSysCpu", "CumulativeRemoteSysCpu"), ("RemoteUserCpu", "CumulativeRemoteUserCpu")];

impl Shadow<'_> {
    /// What the queue takes over from an update.
    pub(super) fn apply_update(&mut self, update: &ClassAd) {
        for name in COPIED_ATTRIBUTES {
            let source = name.strip_suffix(STARTER_PREFIX).unwrap_or(name);
            if let Some(value) = update.get(source) {
                self.ad.insert(name, value);
            }
        }
        for name in JOB_END_ATTRIBUTES {
            if let Some(value) = update.get(name) {
                self.this_run.end.insert(name, value);
            }
        }
        for name in PEAK_ATTRIBUTES {
            self.apply_larger(name, update);
        }
        for (at, name) in PEAK_OF_RUN_ATTRIBUTES.into_iter().enumerate() {
            let told = Context::new(self.setup.world).my(update).int(name);
            if let Some(told) = told.filter(|told| *told > self.this_run.peak_disk[at]) {
                self.this_run.peak_disk[at] = told;
                self.ad.set(name, told);
            }
        }
        self.apply_memory_usage(update);
        for (at, (name, all)) in CPU_TIME_ATTRIBUTES.into_iter().enumerate() {
            self.apply_cpu_time(at, (name, all), update);
        }
        for (name, value) in update.iter().filter(|(name, _)| is_resource_attribute(name)) {
            self.ad.insert(name, value);
        }
    }

    /// What the queue takes over from the starter's own ad in the local universe: how the job ended only when it leaves the queue as done
    /// (`QmgrJobUpdater::updateJob`). Starts are counted in the queue alone.
    pub(super) fn apply_local_update(&mut self, update: &ClassAd) {
        let starts = self.ad.get(NUM_JOB_STARTS);
        for (name, value) in update.iter() {
            let of_end = JOB_END_ATTRIBUTES.iter().any(|end| name.eq_ignore_ascii_case(end.as_bytes()));
            if of_end { &mut self.this_run.end } else { &mut self.ad }.insert(name, value);
        }
        if let Some(starts) = starts {
            self.ad.insert(NUM_JOB_STARTS, starts);
        }
    }

    /// The ad in which policies are evaluated: in the local universe that of the starter, which knows how the job ended, but not that
    /// its start was counted (`JICLocalSchedd::notifyJobPreSpawn`).
    pub(super) fn policy_ad(&self) -> ClassAd {
        let mut ad = self.ad.clone();
        if self.setup.local && self.this_run.executing.is_some() {
            match &self.this_run.starts_before {
                Some(starts) => ad.insert(NUM_JOB_STARTS, starts.clone()),
                None => drop(ad.remove(NUM_JOB_STARTS)),
            }
            ad.update(&self.this_run.end);
        }
        ad
    }

    fn apply_larger(&mut self, name: &str, update: &ClassAd) {
        let Some(told) = Context::new(self.setup.world).my(update).int(name) else { return };
        if self.job_int(name).is_none_or(|known| known < told) {
            self.ad.set(name, told);
        }
    }

    /// An expression stands for itself; of numbers the largest.
    fn apply_memory_usage(&mut self, update: &ClassAd) {
        let Some(told) = update.get("MemoryUsage") else { return };
        match told.as_literal() {
            Some(_) => self.apply_larger("MemoryUsage", update),
            None => self.ad.insert("MemoryUsage", told),
        }
    }

    /// Counted in whole seconds, as far as it has grown.
    fn apply_cpu_time(&mut self, at: usize, (name, all): (&str, &str), update: &ClassAd) {
        let Some(told) = Context::new(self.setup.world).my(update).real(name) else { return };
        let before = self.this_run.cpu_seconds[at] as f64;
        if told > before {
            let sum = self.job_context().real(all).unwrap_or(0.0);
            self.ad.set(all, sum + told - before);
            self.this_run.cpu_seconds[at] = told as i64;
            self.ad.set(name, told);
        }
        // As condor_submit makes them.
        for name in [name, all] {
            if !self.ad.contains(name) {
                self.ad.set(name, 0.0);
            }
        }
    }
}

/// What is told of the slot's resources and of a container's services.
fn is_resource_attribute(name: &[u8]) -> bool {
    let taken_otherwise =
        [&b"MemoryUsage"[..], b"DiskUsage"].iter().any(|known| name.eq_ignore_ascii_case(known));
    let ends = [&b"Usage"[..], b"Provisioned", b"_HostPort"].iter().any(|end| name.ends_with(end));
    (ends && !taken_otherwise) || name.starts_with(b"Assigned")
}
