//! Records of the items that this starter would leave if it were killed. Each is written before the item is created.

use super::run_state::RunState;
use super::state_file::{StateFile, pid_namespace};
use crate::journal::JournalError;
use htc_base::quirks::Quirk;
use htc_os::{ChildId, process_table};
use htc_starter::LeftoverRecord;

impl RunState<'_> {
    /// Creates the state file, which a starter of 25.14 does not have.
    pub(super) fn begin_state(&mut self, ad: &[u8]) {
        if self.context.quirks.reproduces(Quirk::LeftUnnoted) {
            return;
        }
        let top = &self.context.sandbox.top;
        match StateFile::new(top) {
            Ok(file) => self.state_file = Some(file),
            Err(error) => return self.warn_of_state_error(&error),
        }
        let own = std::process::id().cast_signed();
        let uid = self
            .context
            .sandbox
            .owner
            .as_ref()
            .map_or_else(|| nix::unistd::geteuid().as_raw(), |owner| owner.uid);
        let started = process_table::read_process(own).map_or(0, |own| own.start_ticks);
        let directory = self.context.sandbox.top.clone();
        let pid_namespace = pid_namespace();
        self.write_state_record(&LeftoverRecord::Starter {
            pid: own,
            started,
            directory,
            uid,
            pid_namespace,
        });
        let ad = String::from_utf8_lossy(ad).into_owned();
        self.write_state_record(&LeftoverRecord::Job { id: self.context.id.clone(), ad });
    }

    /// Records that an item in the state file could not be removed, so that the next cleanup tries again.
    pub(super) fn mark_leftovers(&mut self) {
        if let Some(state) = &mut self.state_file {
            state.mark_leftovers();
        }
    }

    /// Writes one record to the state file.
    pub(super) fn write_state_record(&mut self, left: &LeftoverRecord) {
        let written = self.state_file.as_mut().map_or(Ok(()), |state| state.append_record(left));
        if let Err(error) = written {
            self.warn_of_state_error(&error);
        }
    }

    /// Records a process that the next cleanup must kill if the starter is killed.
    pub(super) fn record_child(&mut self, child: ChildId) {
        let pid = self.pid(child).cast_signed();
        let started = process_table::read_process(pid).map_or(0, |one| one.start_ticks);
        self.write_state_record(&LeftoverRecord::Process { pid, started });
    }

    /// Records a new stage of the state machine before any action of that stage.
    pub(super) fn enter_stage(&mut self, stage: &'static str) {
        if std::mem::replace(&mut self.stage, stage) != stage {
            self.write_state_record(&LeftoverRecord::Stage { name: stage.to_owned() });
        }
    }

    fn warn_of_state_error(&mut self, error: &JournalError) {
        let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
        self.warn(format!(
            "if this starter is killed, its leftover processes and files cannot be cleaned up: {error}{cause}"
        ));
    }
}
