//! Measurements of the starters' processes, and the updates that the starters write.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::running_starter::RunningStarter;
use crate::starter::UPDATE_FILE;
use htc_base::time::MonotonicTime;
use htc_classad::format::long;
use htc_os::{ChildId, Reactor, clock};
use htc_slot::{JobUsage, StartdEvent};

/// Maximum number of bytes read of an update.
const MAX_UPDATE_SIZE: u64 = 4 << 20;

/// Last measurements of starters.
#[derive(Debug, Default)]
pub(super) struct StarterSnapshots {
    /// Processor time used by each starter in seconds, and the time of the measurement.
    cpu_seconds: BTreeMap<ChildId, (f64, MonotonicTime)>,
    /// Inode of the file with the newest update of each starter.
    update_inodes: BTreeMap<ChildId, u64>,
}

impl StarterSnapshots {
    /// Returns the resource usage of each starter since the last measurement, except of starters measured for the
    /// first time.
    pub(super) fn measure_usage(
        &mut self,
        starters: &BTreeMap<ChildId, RunningStarter>,
        reactor: &mut Reactor,
    ) -> Vec<JobUsage> {
        let now = clock::monotonic_now();
        self.cpu_seconds.retain(|child, _| starters.contains_key(child));
        let mut usages = Vec::new();
        for (&child, running) in starters {
            let Some(usage) = reactor.family_usage(child) else { continue };
            let used = (usage.user + usage.system).as_secs_f64();
            let before = self.cpu_seconds.insert(child, (used, now));
            let percent_cpu = before.map_or(0.0, |(then, at)| {
                let passed = now.since(at).as_secs_f64();
                if passed > 0.0 { (used - then).max(0.0) / passed * 100.0 } else { 0.0 }
            });
            let image_kib = i64::try_from(usage.image_kib).unwrap_or(i64::MAX);
            usages.push(JobUsage { starter: running.starter, percent_cpu, image_kib });
        }
        usages
    }

    /// Returns events for the updates that starters have written since the last call.
    pub(super) fn read_job_updates(
        &mut self,
        starters: &BTreeMap<ChildId, RunningStarter>,
    ) -> Vec<StartdEvent> {
        let mut events = Vec::new();
        self.update_inodes.retain(|child, _| starters.contains_key(child));
        for (child, running) in starters {
            let path = running.directory.join(UPDATE_FILE);
            // Each update is a new file that replaces the previous one, so its inode differs.
            let Ok(inode) = fs::metadata(&path).map(|status| status.ino()) else { continue };
            if self.update_inodes.insert(*child, inode) == Some(inode) {
                continue;
            }
            let Ok(text) = htc_os::files::read_regular_file(&path, MAX_UPDATE_SIZE) else { continue };
            let (ad, _) = long::parse(&text);
            events.push(StartdEvent::JobUpdate { starter: running.starter, ad: Box::new(ad) });
        }
        events
    }
}
