//! Attributes that a shadow copies from its starter's updates (`RemoteResource::updateFromStarter`).
//!
//! All other attributes of an update are only for the starter's own hooks.

use super::state_machine::Shadow;
use htc_classad::{ClassAd, Context};

/// Attributes that are copied unchanged.
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
/// Attributes of the job's exit. The shadow copies them when it handles the exit, which it does not do if an error ends
/// the shadow first.
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
/// Attribute with the number of times the job was started.
pub(super) const NUM_JOB_STARTS: &str = "NumJobStarts";
/// Suffix that the starter's statistics get in the queue, to distinguish them from the schedd's own statistics.
const STARTER_SUFFIX: &str = "Starter";
/// Attributes whose largest value over all runs is kept.
const PEAK_ATTRIBUTES: [&str; 3] = ["ImageSize", "ResidentSetSize", "ProportionalSetSizeKb"];
/// Attributes whose largest value in the current run is kept.
const PEAK_OF_RUN_ATTRIBUTES: [&str; 2] = ["DiskUsage", "ScratchDirFileCount"];
/// Attributes of CPU time: the name for the current run, and the name for the sum over all runs.
const CPU_TIME_ATTRIBUTES: [(&str, &str); 2] =
    [("RemoteSysCpu", "CumulativeRemoteSysCpu"), ("RemoteUserCpu", "CumulativeRemoteUserCpu")];

impl Shadow<'_> {
    /// Copies attributes from an update of the starter to the job ad.
    pub(super) fn apply_update(&mut self, update: &ClassAd) {
        for name in COPIED_ATTRIBUTES {
            let source = name.strip_suffix(STARTER_SUFFIX).unwrap_or(name);
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
            self.raise_integer_attribute(name, update);
        }
        for (at, name) in PEAK_OF_RUN_ATTRIBUTES.into_iter().enumerate() {
            let value = Context::new(self.setup.world).my(update).int(name);
            if let Some(value) = value.filter(|value| *value > self.this_run.peak_disk[at]) {
                self.this_run.peak_disk[at] = value;
                self.ad.set(name, value);
            }
        }
        self.apply_memory_usage(update);
        for (at, (name, all)) in CPU_TIME_ATTRIBUTES.into_iter().enumerate() {
            self.apply_cpu_time(at, name, all, update);
        }
        for (name, value) in update.iter().filter(|(name, _)| is_resource_attribute(name)) {
            self.ad.insert(name, value);
        }
    }

    /// Copies the starter's own ad in the local universe; the exit attributes are copied only when the job leaves the
    /// queue as completed (`QmgrJobUpdater::updateJob`). NumJobStarts is not copied, because only the queue counts the
    /// starts.
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

    /// Returns the ad in which policies are evaluated. In the local universe it is the starter's ad, which includes the
    /// job's exit but does not count the current start (`JICLocalSchedd::notifyJobPreSpawn`).
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

    fn raise_integer_attribute(&mut self, name: &str, update: &ClassAd) {
        let Some(value) = Context::new(self.setup.world).my(update).int(name) else { return };
        if self.job_int(name).is_none_or(|known| known < value) {
            self.ad.set(name, value);
        }
    }

    /// Copies MemoryUsage. An expression is copied unchanged, a number only if it is larger.
    fn apply_memory_usage(&mut self, update: &ClassAd) {
        let Some(value) = update.get("MemoryUsage") else { return };
        match value.as_literal() {
            Some(_) => self.raise_integer_attribute("MemoryUsage", update),
            None => self.ad.insert("MemoryUsage", value),
        }
    }

    /// Adds the growth of the CPU time to the sum over all runs. Previous values are truncated to whole seconds.
    fn apply_cpu_time(&mut self, at: usize, name: &str, all: &str, update: &ClassAd) {
        let Some(value) = Context::new(self.setup.world).my(update).real(name) else { return };
        let before = self.this_run.cpu_seconds[at] as f64;
        if value > before {
            let sum = self.job_context().real(all).unwrap_or(0.0);
            self.ad.set(all, sum + value - before);
            self.this_run.cpu_seconds[at] = value as i64;
            self.ad.set(name, value);
        }
        // condor_submit sets the CPU times to 0 as well.
        for name in [name, all] {
            if !self.ad.contains(name) {
                self.ad.set(name, 0.0);
            }
        }
    }
}

/// Returns true for attributes about resources of the slot and services of a container.
fn is_resource_attribute(name: &[u8]) -> bool {
    let is_other = [&b"MemoryUsage"[..], b"DiskUsage"].iter().any(|known| name.eq_ignore_ascii_case(known));
    let ends = [&b"Usage"[..], b"Provisioned", b"_HostPort"].iter().any(|end| name.ends_with(end));
    (ends && !is_other) || name.starts_with(b"Assigned")
}
