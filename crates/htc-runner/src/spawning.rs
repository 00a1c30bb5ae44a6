//! What the children of a daemon get of it that nobody means them to have: its hooks and its cron jobs.

use htc_base::process::Stdio;
use htc_base::quirks::{Quirk, Quirks};

/// How children are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spawning {
    /// As the daemon itself: nearly all signals blocked, SIGPIPE ignored, with its sockets and the key of its session, and TZ unset
    /// in the first.
    pub(crate) as_daemon: bool,
    closes: bool,
}

impl Spawning {
    /// Those of 25.14, or such as programs expect.
    pub(crate) fn of(quirks: Quirks) -> Self {
        Spawning {
            as_daemon: quirks.has(Quirk::HooksSpawnedAsDaemons),
            closes: quirks.has(Quirk::ClosedStdio),
        }
    }

    /// A descriptor that is not needed. In 25.14 it is not open at all: the first file that the child opens takes its place.
    pub(crate) fn unused(self) -> Stdio {
        if self.closes { Stdio::Closed } else { Stdio::Null }
    }
}
