//! Which processes belong to a child, also after they have left its session, its group and its environment.
//!
//! We are a child subreaper, so no descendant can leave our tree: what loses its parent becomes our own child. Such an
//! orphan is known again by having been seen before below the child, by its session or group, or by HTCondor's ancestor
//! marker in its environment. One that shed all of them belongs to the only child that can have made it, if there is
//! only one.

use std::time::Duration;

use rustc_hash::FxHashSet;

use super::child;
use super::process_table::{self, Process};

/// Which processes of a child a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalScope {
    /// The child alone.
    Process,
    /// The child and all that descends from it.
    Family,
}

/// How long an orphan without any environment may be in the middle of an exec.
pub(super) const EXEC_GRACE_PERIOD: Duration = Duration::from_millis(100);

/// What a child's processes are known by.
#[derive(Debug)]
pub(super) struct ProcessFamily {
    /// The child itself.
    pub(super) pid: i32,
    /// Whether it was made the leader of its own session or group.
    pub(super) is_leader: bool,
    /// Its ancestor marker.
    pub(super) marker: Option<Vec<u8>>,
    /// A group that only its processes have.
    pub(super) tracking_group: Option<u32>,
    /// Those seen below it so far, by pid and start time.
    known_processes: FxHashSet<(i32, u64)>,
}

impl ProcessFamily {
    pub(super) fn new(pid: i32, leader: bool, marker: Option<Vec<u8>>) -> Self {
        ProcessFamily {
            pid,
            is_leader: leader,
            marker,
            tracking_group: None,
            known_processes: FxHashSet::default(),
        }
    }

    /// Whether the orphan was made by this child or a descendant of it.
    pub(super) fn is_member(&self, orphan: &Process) -> bool {
        self.known_processes.contains(&(orphan.pid, orphan.start_ticks))
            || (self.is_leader && (orphan.session == self.pid || orphan.group == self.pid))
            || self
                .marker
                .as_ref()
                .is_some_and(|marker| process_table::has_environment_variable(orphan.pid, marker))
            || self
                .tracking_group
                .is_some_and(|group| process_table::supplementary_groups(orphan.pid).contains(&group))
    }

    /// The live processes below the child, without it, remembered for later.
    pub(super) fn find_descendants(&mut self) -> Vec<Process> {
        let mut found = process_table::descendants(self.pid);
        found.retain(|process| !process.is_zombie());
        self.known_processes.extend(found.iter().map(|process| (process.pid, process.start_ticks)));
        found
    }

    /// Adds an orphan and everything below it to `found`, remembering them.
    pub(super) fn adopt_orphan(&mut self, orphan: Process, found: &mut Vec<Process>) {
        let mut all = process_table::descendants(orphan.pid);
        all.push(orphan);
        all.retain(|process| !process.is_zombie());
        self.known_processes.extend(all.iter().map(|process| (process.pid, process.start_ticks)));
        found.extend(all);
    }
}

/// Whether an orphan carries the marker of any child that this process has ever made, whoever else has lost sight of it; `None`
/// while that cannot be told.
pub(super) fn has_our_marker(orphan: &Process) -> Option<bool> {
    let marker = format!("_CONDOR_ANCESTOR_{}=", std::process::id());
    process_table::has_variable_with_prefix(orphan.pid, marker.as_bytes())
}

/// Our orphans: children that nobody here made. Those that have ended are reaped on the way.
pub(super) fn find_orphans() -> Vec<Process> {
    let own = std::process::id() as i32;
    let mut live = Vec::new();
    let mut adopted = process_table::adopted_pids(own);
    child::exclude_own_children(&mut adopted);
    for pid in adopted {
        match process_table::read_process(pid) {
            Some(process) if process.is_zombie() => drop(child::reap_process(pid, false)),
            // A program of the same process that is run by other means shows as a fork of us until it executes.
            Some(process) if process.parent == own => live.push(process),
            _ => {}
        }
    }
    live
}
