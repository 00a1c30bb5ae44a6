//! What starters use with their jobs, and what they tell of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::starters::Running;
use crate::starter::UPDATE;
use htc_base::time::Tick;
use htc_classad::format::long;
use htc_os::{ChildId, Reactor, clock};
use htc_slot::{Event, JobUsage};

/// How much of an update is read, in bytes.
const LIMIT: u64 = 4 << 20;

/// What was seen of starters when they were looked at last.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Processor time in seconds, and when.
    used: BTreeMap<ChildId, (f64, Tick)>,
    /// The file of the newest update.
    updates: BTreeMap<ChildId, u64>,
}

impl Seen {
    /// What each starter has used since the last look. Of one that has just been started nothing is known.
    pub(super) fn usages(
        &mut self,
        starters: &BTreeMap<ChildId, Running>,
        reactor: &mut Reactor,
    ) -> Vec<JobUsage> {
        let now = clock::tick();
        self.used.retain(|child, _| starters.contains_key(child));
        let mut usages = Vec::new();
        for (&child, running) in starters {
            let Some(usage) = reactor.usage(child) else { continue };
            let used = (usage.user + usage.system).as_secs_f64();
            let before = self.used.insert(child, (used, now));
            let percent_cpu = before.map_or(0.0, |(then, at)| {
                let passed = now.since(at).as_secs_f64();
                if passed > 0.0 { (used - then).max(0.0) / passed * 100.0 } else { 0.0 }
            });
            let image_kib = i64::try_from(usage.image_kib).unwrap_or(i64::MAX);
            usages.push(JobUsage { starter: running.starter, percent_cpu, image_kib });
        }
        usages
    }

    /// What starters have told of their jobs since.
    pub(super) fn job_updates(&mut self, starters: &BTreeMap<ChildId, Running>) -> Vec<Event> {
        let mut events = Vec::new();
        self.updates.retain(|child, _| starters.contains_key(child));
        for (child, running) in starters {
            let path = running.directory.join(UPDATE);
            // Each update is a file of its own that takes the place of the last.
            let Ok(inode) = fs::metadata(&path).map(|status| status.ino()) else { continue };
            if self.updates.insert(*child, inode) == Some(inode) {
                continue;
            }
            let Ok(text) = htc_os::files::read_plain(&path, LIMIT) else { continue };
            let (ad, _) = long::parse(&text);
            events.push(Event::JobUpdate { starter: running.starter, ad: Box::new(ad) });
        }
        events
    }
}
