//! What a job's process has for itself, made before it and asked after it.

use std::os::unix::fs::symlink;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::live::Live;
use super::state_file::OF_ROOT;
use crate::events::Kind;
use htc_os::files;
use htc_os::identity::acting_as;
use htc_os::namespace_init::{Said, parse};
use htc_os::process_table;
use htc_os::tracking::TrackingGroup;
use htc_starter::{JobProcess, KnownBy, Left, StartFailure};

/// What the reference's `OsProc::StartJob` says when the process cannot be tracked.
const NOT_REGISTERED: &str = "Create_Process failed to register the job with the ProcD";

impl Live<'_> {
    /// Takes a group that only this job's processes are to have.
    pub(super) fn take_tracking(
        &mut self,
        process: &JobProcess,
    ) -> Result<Option<TrackingGroup>, Vec<StartFailure>> {
        let Some(range) = process.isolation.tracking.clone().filter(|_| self.job.identity.is_some()) else {
            return Ok(None);
        };
        let (least, most) = (*range.start(), *range.end());
        let why = match TrackingGroup::take(range, OF_ROOT.as_ref()) {
            Ok(Some(group)) => {
                self.note_left(&Left::TrackingGroup { gid: group.gid });
                return Ok(Some(group));
            }
            Ok(None) => format!("all groups from {least} to {most} are in use"),
            Err(error) => format!("no group can be taken in '{OF_ROOT}': {error}"),
        };
        self.warn(format!("the job cannot have a group of its own (USE_GID_PROCESS_TRACKING): {why}"));
        Err(vec![StartFailure::exception(NOT_REGISTERED).after_event()])
    }

    /// Makes the link by which we are the first process of a PID namespace.
    pub(super) fn link_init(&mut self, process: &JobProcess) {
        let Some(link) = &process.isolation.init_link else { return };
        let make = || {
            drop(std::fs::remove_file(link));
            // A scratch directory that is not nested has no place for it yet.
            drop(link.parent().map(std::fs::create_dir));
            std::env::current_exe().and_then(|own| symlink(own, link))
        };
        // With the rights of whoever the directory belongs to: a hook of the job may have put another in its place.
        let nested = link.parent().is_some_and(|parent| parent.ends_with("htcondor"));
        let owner = if nested { self.job.sandbox.daemon() } else { self.job.sandbox.owner.as_ref() };
        if let Err(error) = acting_as(owner, make).flatten() {
            self.warn(format!("cannot make '{}': {error}", link.display()));
        }
    }

    /// How the job ended, as the first process of its PID namespace wrote it with the job's rights.
    pub(super) fn said_by_init(&self, process: &JobProcess) -> Option<Said> {
        let path = process.isolation.status_file.as_ref()?;
        let text = acting_as(self.job.identity.as_ref(), || files::read_plain(path, 64)).ok()?;
        parse(&text.ok()?)
    }

    /// Kills whatever a dedicated account runs, but our own hooks and what they have started.
    pub(super) fn kill_account(&mut self) {
        let daemons = self.job.sandbox.condor.as_ref().map(|condor| condor.uid);
        let own = nix::unistd::geteuid().as_raw();
        let Some(uid) = self.job.dedicated.filter(|uid| *uid != own && Some(*uid) != daemons) else { return };
        let job = self.process.as_ref().map(|process| process.child);
        let others: Vec<i32> = self
            .reactor
            .children()
            .filter(|child| Some(*child) != job)
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|child| self.reactor.pid(child))
            .collect();
        let spared: Vec<i32> = others
            .iter()
            .flat_map(|pid| process_table::descendants(*pid).into_iter().map(|one| one.pid).chain([*pid]))
            .collect();
        // What was forked while the last round ran is found by the next.
        for _ in 0..50 {
            let found: Vec<i32> = process_table::pids()
                .filter(|pid| process_table::owner(*pid) == Some(uid) && !spared.contains(pid))
                .filter(|pid| process_table::read(*pid).is_some_and(|one| !one.is_zombie()))
                .collect();
            if found.is_empty() {
                return;
            }
            for pid in found {
                let _ = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }

    /// Tells programs what the job's family is known by where something may be missed.
    pub(super) fn note_known_by(&mut self, process: &JobProcess, grouped: bool) {
        let known_by = process.isolation.known_by(grouped);
        if known_by == KnownBy::Marks && !process.script {
            let line = format!("the job's processes are known by {}", known_by.line());
            let event = self.event(Kind::Job).verdict("tracked").reason(line);
            self.stream.note(&event);
        }
    }
}
