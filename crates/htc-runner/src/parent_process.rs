//! Whether whoever started us still lives (facts of the reference: every daemon checks its parent).

use std::time::Duration;

use nix::unistd::{Pid, getppid};

use htc_base::time::MonotonicTime;
use htc_os::clock;

/// How often the parent is looked for while nothing else happens.
///
/// 25.14 looks every 120 s (PARENT_CHECK_INTERVAL); what really ends its starters within 2.5 s is the lost connection to
/// the startd, of which we have none.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The process that started us.
#[derive(Debug)]
pub struct ParentWatch {
    pid: Pid,
    next_check: MonotonicTime,
    /// How long the job may go on without it.
    grace: Duration,
    /// When that is over.
    deadline: Option<MonotonicTime>,
}

impl ParentWatch {
    /// Remembers the present parent, which our job does not outlive by more than this.
    pub fn new(grace: Duration) -> Self {
        ParentWatch {
            pid: getppid(),
            next_check: clock::monotonic_now().plus(CHECK_INTERVAL),
            grace,
            deadline: None,
        }
    }

    /// When to look again at the latest.
    pub fn check_at(&self) -> MonotonicTime {
        self.next_check
    }

    /// Whether it has gone, for longer than it may: the kernel has given us another parent.
    pub fn is_gone(&mut self, now: MonotonicTime) -> bool {
        self.next_check = now.plus(CHECK_INTERVAL);
        if getppid() == self.pid {
            return false;
        }
        let until = *self.deadline.get_or_insert(now.plus(self.grace));
        self.next_check = self.next_check.min(until);
        until <= now
    }
}
