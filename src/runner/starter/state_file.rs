//! The state file of a starter: what it has made, written before it is made, so that whoever comes after a kill can remove it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::live::Live;
use crate::os::process_table;
use crate::quirks::Quirk;
use crate::runner::journal::{JournalError, JournalFile};
use crate::starter::Left;

/// Where state files stand when EXECUTE is not root's alone, as where it belongs to the account `condor`.
pub(super) const OF_ROOT: &str = "/run/htc-hooks";

/// Behind the name of the slot's directory.
const SUFFIX: &str = ".left";

/// The state file of this starter.
pub(super) struct StateFile {
    path: PathBuf,
    journal: JournalFile,
}

impl StateFile {
    /// Begins it: beside the directory of the slot, else in a directory of root's own.
    fn new(top: &Path) -> Result<Self, JournalError> {
        let mut path = OsString::from(top);
        path.push(SUFFIX);
        let path = PathBuf::from(path);
        let open = |path: &Path| JournalFile::open::<Left>(path).map(|(journal, _)| journal);
        match open(&path) {
            Err(JournalError::Unsafe { .. }) if nix::unistd::geteuid().is_root() => {
                // Where it cannot be made that is what is told.
                drop(fs::DirBuilder::new().mode(0o700).create(OF_ROOT));
                let path = Path::new(OF_ROOT).join(path.file_name().unwrap_or_default());
                open(&path).map(|journal| StateFile { path, journal })
            }
            journal => journal.map(|journal| StateFile { path, journal }),
        }
    }

    /// Removes it with its lock.
    fn remove(self) {
        remove(&self.path);
    }
}

/// Removes a state file with its lock.
pub(super) fn remove(path: &Path) {
    drop(fs::remove_file(path));
    let mut lock = OsString::from(path);
    lock.push(".lock");
    drop(fs::remove_file(lock));
}

/// The state files in a directory, with the starters that they are of.
pub(super) fn all_in(directory: &Path) -> Vec<(PathBuf, i32)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let of_starter = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        let pid = crate::starter::starter_of(&name).filter(|_| name.ends_with(SUFFIX))?;
        Some((path, pid))
    };
    entries.filter_map(|entry| of_starter(entry.path())).collect()
}

impl Live<'_> {
    /// Begins the state file. 25.14 has none.
    pub(super) fn begin_state(&mut self) {
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
        self.note_left(&Left::Starter { pid: own, started, directory: self.job.sandbox.top.clone(), uid });
    }

    /// Writes one record.
    pub(super) fn note_left(&mut self, left: &Left) {
        let written = self.state.as_mut().map_or(Ok(()), |state| state.journal.append(left));
        if let Err(error) = written {
            self.warn_of_state(&error);
        }
    }

    /// Nothing is left: the file goes.
    pub(super) fn end_state(&mut self) {
        if let Some(state) = self.state.take() {
            state.remove();
        }
    }

    fn warn_of_state(&mut self, error: &JournalError) {
        let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
        self.warn(format!("what this starter leaves when it is killed will not be found: {error}{cause}"));
    }
}

/// Reads a state file whose starter is gone; nothing for one that is in use.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<Left>>> {
    match JournalFile::open::<Left>(path) {
        Ok((_, journal)) => Ok(Some(journal.records)),
        Err(JournalError::Held { .. }) => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}
