//! Membership of processes in the family of a child. Members are recognized even after they have changed
//! their session, group and environment.
//!
//! This process is a child subreaper, so that no descendant can leave its tree: a process that loses its
//! parent becomes our own child. Such an orphan belongs to the family of a child if it was earlier found
//! below the child, has the session or group of the child, or has HTCondor's ancestor marker of the child in
//! its environment. An orphan without any of these belongs to the only child that can have created it, if
//! there is only one such child.

use std::time::Duration;

use rustc_hash::FxHashSet;

use super::child;
use super::process_table::{self, Process};
use htc_base::process::ProcessInstance;

/// Set of processes to which a signal for a child is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalScope {
    /// The child alone.
    Process,
    /// The child and all its descendants.
    Family,
}

/// Maximum time during which an orphan without an environment is assumed to be in the middle of an exec.
pub(super) const EXEC_GRACE_PERIOD: Duration = Duration::from_millis(100);

/// Characteristics that identify a child's processes.
#[derive(Debug)]
pub(super) struct ProcessFamily {
    /// Pid of the child itself.
    pub(super) pid: i32,
    /// True if the child leads a session or group whose processes all descend from the child.
    pub(super) is_leader: bool,
    /// Ancestor marker in the child's environment, or `None`.
    pub(super) marker: Option<Vec<u8>>,
    /// Supplementary group that only processes of the family have, or `None`.
    pub(super) tracking_group: Option<u32>,
    /// Processes that were found below the child so far, identified by pid and start time.
    known_processes: FxHashSet<ProcessInstance>,
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

    /// Returns true if the child or one of its descendants created the orphan.
    pub(super) fn is_member(&self, orphan: &Process) -> bool {
        self.known_processes.contains(&orphan.instance())
            || (self.is_leader && (orphan.session == self.pid || orphan.group == self.pid))
            || self
                .marker
                .as_ref()
                .is_some_and(|marker| process_table::has_environment_variable(orphan.pid, marker))
            || self
                .tracking_group
                .is_some_and(|group| process_table::supplementary_groups(orphan.pid).contains(&group))
    }

    /// Returns the live descendants of the child and adds them to the known processes.
    pub(super) fn find_descendants(&mut self) -> Vec<Process> {
        let mut found = process_table::descendants(self.pid);
        found.retain(|process| !process.is_zombie());
        self.known_processes.extend(found.iter().map(|process| process.instance()));
        found
    }

    /// Adds an orphan and its descendants to `found` and to the known processes.
    pub(super) fn adopt_orphan(&mut self, orphan: Process, found: &mut Vec<Process>) {
        let mut all = process_table::descendants(orphan.pid);
        all.push(orphan);
        all.retain(|process| !process.is_zombie());
        self.known_processes.extend(all.iter().map(|process| process.instance()));
        found.extend(all);
    }
}

/// Returns true if an orphan has the ancestor marker of any child that this process has created, even if the
/// family is no longer known. Returns `None` if the orphan's environment cannot be determined at the moment.
pub(super) fn has_our_marker(orphan: &Process) -> Option<bool> {
    let marker = format!("_CONDOR_ANCESTOR_{}=", std::process::id());
    process_table::has_variable_with_prefix(orphan.pid, marker.as_bytes())
}

/// Returns the live children of this process that it did not create itself, and reaps those that have ended.
pub(super) fn find_orphans() -> Vec<Process> {
    let own = std::process::id() as i32;
    let mut live = Vec::new();
    let mut adopted = process_table::adopted_pids(own);
    child::exclude_own_children(&mut adopted);
    for pid in adopted {
        match process_table::read_process(pid) {
            Some(process) if process.is_zombie() => drop(child::reap_process(pid, false)),
            // Other code, such as `std::process`, may be creating a child of this process. Until the child executes its
            // program, it appears here as a fork of this process.
            Some(process) if process.parent == own => live.push(process),
            _ => {}
        }
    }
    live
}
