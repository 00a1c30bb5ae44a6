//! Disk usage of a job's directory, which updates contain and which is compared with the limit of the slot.
//!
//! Reference: `JICShadow::publishUpdateAd` of `jic_shadow.cpp`; `Starter::CheckLVUsage` of `starter.cpp`, which only
//! checks logical volumes. If the quirk of 25.14 is not reproduced, a directory without a logical volume is checked as
//! well.

use std::time::Duration;

use super::action::StarterAction;
use super::event::{StarterCommand, StarterVacateReason};
use super::settings::StarterSettings;
use super::start_failure::StartFailure;
use super::state::job_run::DiskLimit;
use super::state_machine::Starter;
use htc_base::job::{HoldCode, attr};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::time::ClockReading;
use htc_classad::{ClassAd, Context};

/// Delay of the first check of the disk usage. It is short so that a job that writes fast cannot fill the disk before
/// the check.
const FIRST_CHECK_DELAY: Duration = Duration::from_secs(1);

/// Returns the limit that STARTD_ENFORCE_DISK_LIMITS sets, in KiB: Disk of the slot, or RequestDisk if there
/// is no slot.
pub fn disk_limit_kib(machine: &ClassAd, ad: &ClassAd, world: &dyn htc_base::world::World) -> Option<i64> {
    let of_slot = Context::new(world).my(machine).int(attr::DISK);
    of_slot.or_else(|| Context::new(world).my(ad).int(attr::REQUEST_DISK)).filter(|kib| *kib > 0)
}

/// Returns true if the disk usage of the job's directory is limited.
pub fn has_disk_limit(settings: &StarterSettings, quirks: QuirkMode) -> bool {
    settings.enforce_disk && !quirks.reproduces(Quirk::DiskUnwatched)
}

/// Attributes about disk usage and CPU usage that only a shadow gets.
pub const SHADOW_ONLY_ATTRIBUTES: [&str; 6] =
    ["CpusUsage", "DiskUsage", "ExecuteDirWasEncrypted", "ScratchDirFileCount", "StderrMtime", "StdoutMtime"];

impl Starter<'_> {
    /// Starts the checks of a running job's directory.
    pub(super) fn start_disk_checks(&mut self, now: ClockReading) {
        if !has_disk_limit(&self.setup.settings, self.setup.quirks) {
            return;
        }
        let limit = disk_limit_kib(&self.machine, &self.ad, &self.world_at(now));
        let bytes = limit.and_then(|kib| u64::try_from(kib).ok()).map(|kib| kib.saturating_mul(1024));
        self.job_run.disk =
            bytes.map(|bytes| DiskLimit { bytes, due: now.monotonic().plus(FIRST_CHECK_DELAY) });
    }

    /// Holds the job if the size of its directory exceeds the limit.
    pub(super) fn hold_if_over_disk_limit(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let (Some(limit), Some((used, _))) = (self.job_run.disk, self.job_run.usage.disk) else { return };
        if used < limit.bytes || self.shutdown_requests.has_any() {
            return;
        }
        self.job_run.disk = None;
        let text = format!(
            "Job has exceeded allocated disk ({}). Consider increasing the value of request_disk.",
            format_byte_units(limit.bytes)
        );
        let (code, subcode) = (HoldCode::JobOutOfResources.number(), 104);
        self.shutdown_requests.vacate =
            Some(StarterVacateReason { reason: text.clone().into(), code, subcode });
        self.report_start_failure(StartFailure::new(text, code, subcode), out);
        self.shutdown_requests.graceful_until =
            Some(now.monotonic().plus(self.setup.settings.graceful_timeout));
        self.on_request(now, StarterCommand::Hold(None), out);
    }

    /// Adds the attributes about the scratch directory that are sent to a shadow. The usage of the directory is only
    /// included if the job's files are transferred.
    pub(super) fn publish_disk_usage(&self, ad: &mut ClassAd) {
        if self.setup.transfer.is_some() {
            ad.set("ExecuteDirWasEncrypted", self.job_run.encrypted);
        }
        let transfers =
            self.setup.transfer.is_some() && self.setup.job.as_ref().is_ok_and(|job| job.transfers_files);
        let Some((bytes, entries)) = self.job_run.usage.disk.filter(|_| transfers) else { return };
        ad.set("DiskUsage", i64::try_from(bytes.div_ceil(1024)).unwrap_or(i64::MAX));
        for (name, at) in ["StdoutMtime", "StderrMtime"].into_iter().zip(self.job_run.usage.written) {
            if let Some(at) = at {
                ad.set(name, at);
            }
        }
        ad.set("ScratchDirFileCount", i64::try_from(entries).unwrap_or(i64::MAX));
    }

    /// Removes the attributes that only a shadow gets. The ad of JOB_EXIT and updates that are not periodic do not have
    /// these attributes.
    pub(super) fn remove_shadow_only_attributes(&self, ad: &mut ClassAd) {
        if self.setup.transfer.is_none() {
            return;
        }
        for name in SHADOW_ONLY_ATTRIBUTES {
            match self.ad.get(name) {
                Some(before) => ad.insert(name, before),
                None => drop(ad.remove(name)),
            }
        }
    }
}

/// Formats a size as `to_string_byte_units` does.
fn format_byte_units(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "K";
    for larger in ["K", "M", "G", "T"] {
        (value, unit) = (value / 1024.0, larger);
        if value < 1024.0 {
            break;
        }
    }
    format!("{value:.2} {unit}B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits_and_a_suitable_unit() {
        let shown = [5, 1024, 1_048_576, 10 << 20, 3 << 40, 5000 << 40].map(format_byte_units);
        assert_eq!(shown, ["5 B", "1.00 KB", "1.00 MB", "10.00 MB", "3.00 TB", "5000.00 TB"]);
    }
}
