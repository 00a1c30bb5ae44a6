//! What a job's directory holds: told in updates, and held against the limit of the slot.
//!
//! Reference: `JICShadow::publishUpdateAd` of `jic_shadow.cpp`; `Starter::CheckLVUsage` of `starter.cpp`, which needs a logical volume. By
//! default the directory is watched where there is none.

use std::time::Duration;

use super::action::Action;
use super::event::{Request, Vacate};
use super::failure::StartFailure;
use super::kept::job_run::DiskLimit;
use super::machine::Starter;
use super::settings::Settings;
use htc_base::job::{HoldCode, attr};
use htc_base::quirks::{Quirk, Quirks};
use htc_base::time::Now;
use htc_classad::{ClassAd, Context};

/// How soon the first time: a job that writes fast has not filled the machine by then.
const FIRST: Duration = Duration::from_secs(1);

/// The limit that STARTD_ENFORCE_DISK_LIMITS sets, in KiB: Disk of the slot, without a slot RequestDisk.
pub fn limit_kib(machine: &ClassAd, ad: &ClassAd, world: &dyn htc_base::world::World) -> Option<i64> {
    let of_slot = Context::new(world).my(machine).int(attr::DISK);
    of_slot.or_else(|| Context::new(world).my(ad).int(attr::REQUEST_DISK)).filter(|kib| *kib > 0)
}

/// Whether what the job's directory holds has a limit.
pub fn is_watched(settings: &Settings, quirks: Quirks) -> bool {
    settings.enforce_disk && !quirks.has(Quirk::DiskUnwatched)
}

/// What only a shadow is told of how full the directory is and how busy the job was.
pub const ONLY_SHADOW: [&str; 6] =
    ["CpusUsage", "DiskUsage", "ExecuteDirWasEncrypted", "ScratchDirFileCount", "StderrMtime", "StdoutMtime"];

impl Starter<'_> {
    /// Begins to watch the directory of a job that runs.
    pub(super) fn watch_disk(&mut self, now: Now) {
        if !is_watched(&self.setup.settings, self.setup.quirks) {
            return;
        }
        let limit = limit_kib(&self.machine, &self.ad, &self.frozen(now));
        let bytes = limit.and_then(|kib| u64::try_from(kib).ok()).map(|kib| kib.saturating_mul(1024));
        self.run.disk = bytes.map(|bytes| DiskLimit { bytes, due: now.tick().plus(FIRST) });
    }

    /// Holds a job whose directory holds more than it may.
    pub(super) fn held_for_disk(&mut self, now: Now, out: &mut Vec<Action>) {
        let (Some(limit), Some((used, _))) = (self.run.disk, self.run.usage.disk) else { return };
        if used < limit.bytes || self.asked.any() {
            return;
        }
        self.run.disk = None;
        let text = format!(
            "Job has exceeded allocated disk ({}). Consider increasing the value of request_disk.",
            byte_units(limit.bytes)
        );
        let (code, subcode) = (HoldCode::JobOutOfResources.number(), 104);
        self.asked.vacate = Some(Vacate { reason: text.clone().into(), code, subcode });
        self.report(StartFailure::new(text, code, subcode), out);
        self.asked.graceful_until = Some(now.tick().plus(self.setup.settings.graceful_timeout));
        self.asked(now, Request::Hold(None), out);
    }

    /// What a shadow is told of the scratch directory; how full it is, of a job whose files are transferred.
    pub(super) fn publish_disk(&self, ad: &mut ClassAd) {
        if self.setup.moves.is_some() {
            ad.set("ExecuteDirWasEncrypted", self.run.encrypted);
        }
        let transfers = self.setup.moves.is_some() && self.setup.job.as_ref().is_ok_and(|job| job.transfers);
        let Some((bytes, entries)) = self.run.usage.disk.filter(|_| transfers) else { return };
        ad.set("DiskUsage", i64::try_from(bytes.div_ceil(1024)).unwrap_or(i64::MAX));
        for (name, at) in ["StdoutMtime", "StderrMtime"].into_iter().zip(self.run.usage.written) {
            if let Some(at) = at {
                ad.set(name, at);
            }
        }
        ad.set("ScratchDirFileCount", i64::try_from(entries).unwrap_or(i64::MAX));
    }

    /// Takes out again what only a shadow is told: the ad of JOB_EXIT has none of it, nor has that of an update which is no periodic
    /// one (s23b, s23d).
    pub(super) fn untell_shadow(&self, ad: &mut ClassAd) {
        if self.setup.moves.is_none() {
            return;
        }
        for name in ONLY_SHADOW {
            match self.ad.get(name) {
                Some(before) => ad.insert(name, before),
                None => drop(ad.remove(name)),
            }
        }
    }
}

/// As `to_string_byte_units` writes a size.
fn byte_units(bytes: u64) -> String {
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
    fn sizes_have_two_digits_and_the_unit_that_fits() {
        let shown = [5, 1024, 1_048_576, 10 << 20, 3 << 40, 5000 << 40].map(byte_units);
        assert_eq!(shown, ["5 B", "1.00 KB", "1.00 MB", "10.00 MB", "3.00 TB", "5000.00 TB"]);
    }
}
