//! The directory of a job that is being looked through, and those who wait for what it holds.

use std::path::Path;
use std::time::Duration;

use htc_base::time::Tick;
use htc_os::clock;
use htc_os::disk_usage::Walk;
use htc_starter::Event;

/// How long the directory of a job is looked through at most.
const LOOK_THROUGH: Duration = Duration::from_secs(2);
/// How long at a time: nobody waits longer for an answer.
const SLICE: Duration = Duration::from_millis(20);

/// A look through a directory.
pub(super) struct Looking {
    walk: Walk,
    until: Tick,
    /// What is told once it is over.
    pub(super) then: Vec<Event>,
}

/// What a part of it came to.
pub(super) enum Looked {
    /// There is more.
    Further,
    /// Bytes and entries.
    All(u64, u64),
    /// It takes too long.
    TooLong,
}

impl Looking {
    /// One that begins now.
    pub(super) fn new(top: &Path, then: Vec<Event>) -> Self {
        Looking { walk: Walk::new(top), until: clock::tick().plus(LOOK_THROUGH), then }
    }

    /// Looks a little further.
    pub(super) fn go_on(&mut self) -> Looked {
        match self.walk.go_on(SLICE) {
            Some(usage) => Looked::All(usage.bytes, usage.entries),
            None if clock::tick() < self.until => Looked::Further,
            None => Looked::TooLong,
        }
    }
}
