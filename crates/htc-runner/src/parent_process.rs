//! Detection of the end of the parent process (in the reference, every daemon checks its parent).

use std::time::Duration;

use nix::unistd::{Pid, getppid};

use htc_base::time::MonotonicTime;
use htc_os::clock;

/// Interval between checks of the parent if no other event occurs.
///
/// 25.14 checks every 120 s (PARENT_CHECK_INTERVAL), but its starters end within 2.5 s because they lose the
/// connection to the startd. Here there is no such connection.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Watcher of the parent process.
#[derive(Debug)]
pub struct ParentWatch {
    pid: Pid,
    next_check: MonotonicTime,
    /// Maximum time that the job may continue after its parent has ended.
    grace: Duration,
    /// Time at which the grace period ends, or `None` while the parent is alive.
    deadline: Option<MonotonicTime>,
}

impl ParentWatch {
    /// Starts watching the current parent; the job may continue for at most `grace` after the parent has ended.
    pub fn new(grace: Duration) -> Self {
        ParentWatch {
            pid: getppid(),
            next_check: clock::monotonic_now().plus(CHECK_INTERVAL),
            grace,
            deadline: None,
        }
    }

    /// Returns the time of the next check.
    pub fn check_at(&self) -> MonotonicTime {
        self.next_check
    }

    /// Returns true if the parent ended longer than the grace period ago. The kernel assigns another parent when the
    /// parent ends.
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
