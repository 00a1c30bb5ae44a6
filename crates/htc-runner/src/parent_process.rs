//! Detection of the end of the parent process (in the reference, every daemon checks its parent).

use std::time::Duration;

use nix::unistd::{Pid, getppid};

use htc_base::time::MonotonicTime;
use htc_os::clock;

/// Interval between checks of the parent while nothing else happens.
///
/// 25.14 checks every 120 s (PARENT_CHECK_INTERVAL), but its starters end within 2.5 s because they lose the connection
/// to the startd, which does not exist here.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Watch over the parent process.
#[derive(Debug)]
pub struct ParentWatch {
    pid: Pid,
    next_check: MonotonicTime,
    /// Time that the job may continue without its parent.
    grace: Duration,
    /// End of that time, or `None` while the parent is alive.
    deadline: Option<MonotonicTime>,
}

impl ParentWatch {
    /// Starts watching the current parent, which our job outlives by at most `grace`.
    pub fn new(grace: Duration) -> Self {
        ParentWatch {
            pid: getppid(),
            next_check: clock::monotonic_now().plus(CHECK_INTERVAL),
            grace,
            deadline: None,
        }
    }

    /// Returns the time by which to check again.
    pub fn check_at(&self) -> MonotonicTime {
        self.next_check
    }

    /// Returns true if the parent has been gone for longer than the grace period: the kernel has then assigned another
    /// parent.
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
