//! Inheritance of signals, descriptors and TZ by a daemon's hooks and cron jobs.

use htc_base::process::Stdio;
use htc_base::quirks::{Quirk, QuirkMode};

/// Mode of starting children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpawnMode {
    /// True to start children like the daemon itself: nearly all signals blocked, SIGPIPE ignored, with its sockets and
    /// its session key, and TZ unset in the first child.
    pub(crate) as_daemon: bool,
    closes_unused: bool,
}

impl SpawnMode {
    /// Returns the mode of 25.14, or the mode that programs expect.
    pub(crate) fn from_quirks(quirks: QuirkMode) -> Self {
        SpawnMode {
            as_daemon: quirks.reproduces(Quirk::HooksSpawnedAsDaemons),
            closes_unused: quirks.reproduces(Quirk::ClosedStdio),
        }
    }

    /// Returns an unused descriptor. In 25.14 it is closed, so the first file that the child opens takes its place.
    pub(crate) fn unused_descriptor(self) -> Stdio {
        if self.closes_unused { Stdio::Closed } else { Stdio::Null }
    }
}
