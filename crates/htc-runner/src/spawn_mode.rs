//! Signals, descriptors and TZ that a daemon's hooks and cron jobs inherit.

use htc_base::process::Stdio;
use htc_base::quirks::{Quirk, QuirkMode};

/// Mode of starting hooks and cron jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpawnMode {
    /// True to start children as 25.14's daemons do: nearly all signals blocked, SIGPIPE ignored, the daemon's
    /// sockets and session key inherited, and TZ unset in the first child.
    pub(crate) as_daemon: bool,
    closes_unused: bool,
}

impl SpawnMode {
    /// Returns the mode of 25.14, or the mode that programs expect, depending on the reproduced quirks.
    pub(crate) fn from_quirks(quirks: QuirkMode) -> Self {
        SpawnMode {
            as_daemon: quirks.reproduces(Quirk::HooksSpawnedAsDaemons),
            closes_unused: quirks.reproduces(Quirk::ClosedStdio),
        }
    }

    /// Returns an unused descriptor. In 25.14 the descriptor is closed, so the first file that the child opens gets
    /// its number.
    pub(crate) fn unused_descriptor(self) -> Stdio {
        if self.closes_unused { Stdio::Closed } else { Stdio::Null }
    }
}
