//! What the children of a daemon get of it that nobody means them to have: its hooks and its cron jobs.

use htc_base::process::Stdio;
use htc_base::quirks::{Quirk, QuirkMode};

/// How children are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpawnMode {
    /// As the daemon itself: nearly all signals blocked, SIGPIPE ignored, with its sockets and the key of its session, and TZ unset
    /// in the first.
    pub(crate) as_daemon: bool,
    closes_unused: bool,
}

impl SpawnMode {
    /// Those of 25.14, or such as programs expect.
    pub(crate) fn from_quirks(quirks: QuirkMode) -> Self {
        SpawnMode {
            as_daemon: quirks.reproduces(Quirk::HooksSpawnedAsDaemons),
            closes_unused: quirks.reproduces(Quirk::ClosedStdio),
        }
    }

    /// A descriptor that is not needed. In 25.14 it is not open at all: the first file that the child opens takes its place.
    pub(crate) fn unused_descriptor(self) -> Stdio {
        if self.closes_unused { Stdio::Closed } else { Stdio::Null }
    }
}
