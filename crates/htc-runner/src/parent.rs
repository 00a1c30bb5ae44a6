//! Whether whoever started us still lives (facts of the reference: every daemon checks its parent).

use std::time::Duration;

use nix::unistd::{Pid, getppid};

use htc_base::time::Tick;
use htc_os::clock;

/// How often the parent is looked for while nothing else happens.
///
/// 25.14 looks every 120 s (PARENT_CHECK_INTERVAL); what really ends its starters within 2.5 s is the lost connection to
/// the startd, of which we have none.
const CHECK: Duration = Duration::from_secs(1);

/// The process that started us.
#[derive(Debug)]
pub struct Parent {
    pid: Pid,
    check_at: Tick,
    /// How long the job may go on without it.
    grace: Duration,
    /// When that is over.
    until: Option<Tick>,
}

impl Parent {
    /// Remembers the present parent, which our job does not outlive by more than this.
    pub fn new(grace: Duration) -> Self {
        Parent { pid: getppid(), check_at: clock::tick().plus(CHECK), grace, until: None }
    }

    /// When to look again at the latest.
    pub fn check_at(&self) -> Tick {
        self.check_at
    }

    /// Whether it has gone, for longer than it may: the kernel has given us another parent.
    pub fn is_gone(&mut self, now: Tick) -> bool {
        self.check_at = now.plus(CHECK);
        if getppid() == self.pid {
            return false;
        }
        let until = *self.until.get_or_insert(now.plus(self.grace));
        self.check_at = self.check_at.min(until);
        until <= now
    }
}
