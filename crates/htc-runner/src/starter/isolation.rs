//! Isolation of a job's process: prepared before the process starts, and evaluated after it has ended.

use std::os::unix::fs::symlink;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::run_state::RunState;
use super::state_file::ROOT_DIRECTORY;
use crate::events::RunnerEventKind;
use htc_os::files;
use htc_os::identity::run_as;
use htc_os::namespace_init::{NamespaceJobStatus, parse_status_file};
use htc_os::process_table;
use htc_os::tracking_group::TrackingGroup;
use htc_starter::{FamilyTracking, JobProcess, LeftoverRecord, StartFailure};

/// Error message of the reference's `OsProc::StartJob` if the process cannot be tracked.
const NOT_REGISTERED_REASON: &str = "Create_Process failed to register the job with the ProcD";

impl RunState<'_> {
    /// Reserves a supplementary group id that only this job's processes will have.
    pub(super) fn take_tracking(
        &mut self,
        process: &JobProcess,
    ) -> Result<Option<TrackingGroup>, Vec<StartFailure>> {
        let Some(range) = process.isolation.tracking.clone().filter(|_| self.context.identity.is_some())
        else {
            return Ok(None);
        };
        let (least, most) = (*range.start(), *range.end());
        let why = match TrackingGroup::acquire(range, ROOT_DIRECTORY.as_ref()) {
            Ok(Some(group)) => {
                self.write_state_record(&LeftoverRecord::TrackingGroup { gid: group.gid });
                return Ok(Some(group));
            }
            Ok(None) => format!("all groups from {least} to {most} are in use"),
            Err(error) => format!("no group can be reserved in '{ROOT_DIRECTORY}': {error}"),
        };
        self.warn(format!("the job cannot have its own group (USE_GID_PROCESS_TRACKING): {why}"));
        Err(vec![StartFailure::exception(NOT_REGISTERED_REASON).after_event()])
    }

    /// Creates the link through which this program becomes the first process of a PID namespace.
    pub(super) fn make_init_link(&mut self, process: &JobProcess) {
        let Some(link) = &process.isolation.init_link else { return };
        let make = || {
            drop(std::fs::remove_file(link));
            // If the directories of the job are not nested, the directory for the link does not exist yet.
            drop(link.parent().map(std::fs::create_dir));
            std::env::current_exe().and_then(|own| symlink(own, link))
        };
        // The link is created as the account of the directory's owner, because a hook of the job may have replaced
        // the directory.
        let nested = link.parent().is_some_and(|parent| parent.ends_with("htcondor"));
        let owner =
            if nested { self.context.sandbox.outer_owner() } else { self.context.sandbox.owner.as_ref() };
        if let Err(error) = run_as(owner, make).flatten() {
            self.warn(format!("cannot make '{}': {error}", link.display()));
        }
    }

    /// Reads, as the job's account, the job's exit status from the file that the first process of the PID namespace
    /// wrote as that account.
    pub(super) fn read_init_status(&self, process: &JobProcess) -> Option<NamespaceJobStatus> {
        let path = process.isolation.status_file.as_ref()?;
        let text = run_as(self.context.identity.as_ref(), || files::read_regular_file(path, 64)).ok()?;
        parse_status_file(&text.ok()?)
    }

    /// Kills all processes of a dedicated account, except hooks of this program and their descendants.
    pub(super) fn kill_account_processes(&mut self) {
        let daemons = self.context.sandbox.condor.as_ref().map(|condor| condor.uid);
        let own = nix::unistd::geteuid().as_raw();
        let Some(uid) = self.context.dedicated_uid.filter(|uid| *uid != own && Some(*uid) != daemons) else {
            return;
        };
        let job = self.job.process.as_ref().map(|process| process.child);
        let others: Vec<i32> = self
            .reactor
            .child_ids()
            .filter(|child| Some(*child) != job)
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|child| self.reactor.pid(child))
            .collect();
        let spared: Vec<i32> = others
            .iter()
            .flat_map(|pid| process_table::descendants(*pid).into_iter().map(|one| one.pid).chain([*pid]))
            .collect();
        // Processes that are forked during one round are found in the next round.
        for _ in 0..50 {
            let found: Vec<i32> = process_table::all_pids()
                .filter(|pid| process_table::owner_uid(*pid) == Some(uid) && !spared.contains(pid))
                .filter(|pid| process_table::read_process(*pid).is_some_and(|one| !one.is_zombie()))
                .collect();
            if found.is_empty() {
                return;
            }
            for pid in found {
                let _ = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }

    /// Reports how the job's processes are tracked if that method may miss some of them.
    pub(super) fn report_tracking_method(&mut self, process: &JobProcess, grouped: bool) {
        let known_by = process.isolation.family_tracking(grouped);
        if known_by == FamilyTracking::ProcessMarks && !process.script {
            let line = format!("the job's processes are recognized by {}", known_by.description());
            let event = self.event(RunnerEventKind::Job).verdict("tracked").reason(line);
            self.stream.report_as_json(&event);
        }
    }
}
