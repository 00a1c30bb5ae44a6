//! What the kernel counts of a family, and what its directory holds, in the measures of the machine.

use std::time::Duration;

use super::live::Live;
use super::notice;
use crate::os::disk_usage::Walk;
use crate::os::{accounting, clock};
use crate::starter::{Event, FamilyUsage};
use crate::time::Tick;
use crate::transfer::{STDERR, STDOUT};

/// How long the directory of a job is looked through at most.
const LOOK_THROUGH: Duration = Duration::from_secs(2);
/// How long at a time: nobody waits longer for an answer.
const SLICE: Duration = Duration::from_millis(20);

/// A directory that is being looked through, and those who wait for what it holds.
pub(super) struct Looking {
    walk: Walk,
    until: Tick,
    then: Vec<Event>,
}

impl Live<'_> {
    /// Tells the machine something with what the job's directory holds, once that is known. `anew`: what was seen before counts no more.
    pub(super) fn with_disk(&mut self, event: Event, anew: bool) {
        if !self.job.measures_disk {
            return self.events.push_back(event);
        }
        let mut then = Vec::new();
        if anew && let Some(looking) = self.looking.take() {
            then = looking.then;
        }
        let top = &self.job.sandbox.top;
        let looking = self.looking.get_or_insert_with(|| Looking {
            walk: Walk::new(top),
            until: clock::tick().plus(LOOK_THROUGH),
            then,
        });
        looking.then.push(event);
        self.look_on();
    }

    /// Looks a little further. A directory that takes too long is as it was the last time.
    pub(super) fn look_on(&mut self) {
        let Some(looking) = &mut self.looking else { return };
        let found = looking.walk.go_on(SLICE);
        if found.is_none() && clock::tick() < looking.until {
            return;
        }
        match found {
            Some(usage) => self.disk = Some((usage.bytes, usage.entries)),
            None if notice::is_news(self.job.private.as_deref(), "disk-usage") => self.warn(
                "the job's directory holds too much to be looked through: DiskUsage is not always new"
                    .to_owned(),
            ),
            None => {}
        }
        let written = [STDOUT, STDERR].map(|name| self.job.sandbox.written(name));
        let then = self.looking.take().map(|looking| looking.then).unwrap_or_default();
        for mut event in then {
            if let Event::Measured(usage) | Event::ProcessEnded { usage, .. } = &mut event {
                usage.disk = self.disk;
                usage.written = written;
            }
            self.events.push_back(event);
        }
    }
}

/// The use of a family as the machine is told of it.
pub(super) fn family_usage(usage: &accounting::FamilyUsage) -> FamilyUsage {
    FamilyUsage {
        processes: u32::try_from(usage.pids.len()).unwrap_or(u32::MAX),
        user: usage.user,
        system: usage.system,
        max_image_kib: usage.max_image_kib,
        resident_kib: usage.resident_kib,
        block_read_bytes: usage.blocks[0],
        block_write_bytes: usage.blocks[1],
        ..FamilyUsage::default()
    }
}
