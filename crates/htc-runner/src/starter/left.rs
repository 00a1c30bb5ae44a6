//! What this starter would leave if it were killed, noted before it is made.

use super::live::Live;
use super::state_file::{StateFile, pid_namespace};
use crate::journal::JournalError;
use htc_base::quirks::Quirk;
use htc_os::{ChildId, process_table};
use htc_starter::Left;

impl Live<'_> {
    /// Begins the state file. 25.14 has none.
    pub(super) fn begin_state(&mut self, ad: &[u8]) {
        if self.job.quirks.has(Quirk::LeftUnnoted) {
            return;
        }
        let top = &self.job.sandbox.top;
        match StateFile::new(top) {
            Ok(file) => self.state = Some(file),
            Err(error) => return self.warn_of_state(&error),
        }
        let own = std::process::id().cast_signed();
        let uid = self
            .job
            .sandbox
            .owner
            .as_ref()
            .map_or_else(|| nix::unistd::geteuid().as_raw(), |owner| owner.uid);
        let started = process_table::read(own).map_or(0, |own| own.started);
        let directory = self.job.sandbox.top.clone();
        let pid_namespace = pid_namespace();
        self.note_left(&Left::Starter { pid: own, started, directory, uid, pid_namespace });
        let ad = String::from_utf8_lossy(ad).into_owned();
        self.note_left(&Left::Job { id: self.job.id.clone(), ad });
    }

    /// Something that the state file names could not be removed: whoever cleans tries again.
    pub(super) fn remains(&mut self) {
        if let Some(state) = &mut self.state {
            state.remains();
        }
    }

    /// Writes one record.
    pub(super) fn note_left(&mut self, left: &Left) {
        let written = self.state.as_mut().map_or(Ok(()), |state| state.note(left));
        if let Err(error) = written {
            self.warn_of_state(&error);
        }
    }

    /// A process that is to end with the starter, should that be killed.
    pub(super) fn note_child(&mut self, child: ChildId) {
        let pid = self.pid(child).cast_signed();
        let started = process_table::read(pid).map_or(0, |one| one.started);
        self.note_left(&Left::Process { pid, started });
    }

    /// The machine goes on to another stage, if that is one; noted before anything is done in it.
    pub(super) fn enter(&mut self, stage: &'static str) {
        if std::mem::replace(&mut self.doing, stage) != stage {
            self.note_left(&Left::Stage { name: stage.to_owned() });
        }
    }

    fn warn_of_state(&mut self, error: &JournalError) {
        let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
        self.warn(format!("what this starter leaves when it is killed will not be found: {error}{cause}"));
    }
}
