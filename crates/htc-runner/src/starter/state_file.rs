//! State file of a starter: each item is recorded before it is created, so that it can be removed if the starter is
//! killed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::journal::{JournalError, JournalFile};
use htc_os::process_table;
use htc_starter::LeftoverRecord;

/// Directory of state files if accounts other than root can write to EXECUTE, for example because it belongs to the
/// account `condor`.
pub(super) const ROOT_DIRECTORY: &str = "/run/htc-hooks";

/// Suffix of a state file, appended to the name of the directory in EXECUTE.
const FILE_SUFFIX: &str = ".left";

/// Maximum number of state files in the shared directory for one process id.
const MAX_FILES_PER_PID: u32 = 100;

/// State file that this starter writes.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    journal: JournalFile,
    /// True if the file is kept at the end because the job's outcome was not reported.
    keeps_file: bool,
    /// True if the file is kept at the end because a recorded item could not be removed.
    has_leftovers: bool,
    /// True if writing the file has failed; the failure was reported.
    is_broken: bool,
}

impl StateFile {
    /// Creates the file next to the directory `top`, or in a directory that belongs to root.
    pub(super) fn new(top: &Path) -> Result<Self, JournalError> {
        let root = nix::unistd::geteuid().is_root();
        // If jobs can write to EXECUTE, whether or not it is sticky, a directory that belongs to root is safer.
        let execute = top.parent().and_then(|execute| fs::metadata(execute).ok());
        if root
            && execute.is_some_and(|execute| execute.mode() & 0o022 != 0)
            && let Ok(file) = Self::create_in_shared_directory(Path::new(ROOT_DIRECTORY))
        {
            return Ok(file);
        }
        let mut path = OsString::from(top);
        path.push(FILE_SUFFIX);
        let path = PathBuf::from(path);
        match JournalFile::open::<LeftoverRecord>(&path) {
            Err(JournalError::Unsafe { .. }) if root => {
                Self::create_in_shared_directory(Path::new(ROOT_DIRECTORY))
            }
            opened => opened.map(|(journal, _)| StateFile::from_journal(path, journal)),
        }
    }

    fn from_journal(path: PathBuf, journal: JournalFile) -> Self {
        StateFile { path, journal, keeps_file: false, has_leftovers: false, is_broken: false }
    }

    /// Creates the file in the directory that is shared by all EXECUTE directories and PID namespaces. Another
    /// starter with the same process id may have a file there, or may have left one that is still needed, so a number
    /// is appended.
    fn create_in_shared_directory(directory: &Path) -> Result<Self, JournalError> {
        // If creating the directory fails, creating the file fails as well, and that failure is reported.
        drop(fs::DirBuilder::new().mode(0o700).create(directory));
        let pid = std::process::id().cast_signed();
        let mut number = 0_u32;
        loop {
            let path = match number {
                0 => directory.join(name_of(pid)),
                _ => directory.join(format!("dir_{pid}.{number}{FILE_SUFFIX}")),
            };
            match JournalFile::open::<LeftoverRecord>(&path) {
                Ok((journal, before)) if before.records.is_empty() => {
                    return Ok(Self::from_journal(path, journal));
                }
                Ok(_) | Err(JournalError::InUse { .. }) if number < MAX_FILES_PER_PID => number += 1,
                opened => return opened.map(|(journal, _)| Self::from_journal(path, journal)),
            }
        }
    }
}

impl StateFile {
    /// Writes one record.
    pub(super) fn append_record(&mut self, left: &LeftoverRecord) -> Result<(), JournalError> {
        let noted = self.journal.append(left);
        // After the first failure, no further failures are reported.
        if noted.is_err() && std::mem::replace(&mut self.is_broken, true) { Ok(()) } else { noted }
    }

    /// Records that an item in the file could not be removed, so that the next cleanup tries again.
    pub(super) fn mark_leftovers(&mut self) {
        self.has_leftovers = true;
    }

    /// Keeps the file because the job's outcome could not be reported; the next cleanup reports it.
    pub fn keep_file(mut self, ad: &[u8]) {
        let ad = String::from_utf8_lossy(ad).into_owned();
        self.keeps_file = self.journal.append(&LeftoverRecord::Untold { ad }).is_ok();
    }
}

impl Drop for StateFile {
    /// Removes the file if no recorded item remains and the job's outcome was reported.
    fn drop(&mut self) {
        if self.keeps_file || (self.has_leftovers && self.journal.append(&LeftoverRecord::Reported).is_ok()) {
            return;
        }
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

/// Returns the name of a starter's state file, to which a number may be appended.
pub(super) fn name_of(starter: i32) -> String {
    format!("dir_{starter}{FILE_SUFFIX}")
}

/// Removes lock files without a state file, left by starters that were killed between removing the state file and the
/// lock file.
pub(super) fn remove_orphaned_locks(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let of_gone = || {
            htc_starter::starter_pid_from_name(&name)
                .is_some_and(|pid| process_table::read_process(pid).is_none())
        };
        let path = entry.path();
        if name.ends_with(".left.lock") && of_gone() && !path.with_extension("").exists() {
            drop(fs::remove_file(path));
        }
    }
}

/// Returns the state files of this account in a directory, with the starters' process ids. Files of other accounts
/// are not trusted.
pub(super) fn list_state_files(directory: &Path) -> Vec<(PathBuf, i32)> {
    let own = nix::unistd::geteuid().as_raw();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.metadata().is_ok_and(|status| status.uid() == own));
    let of_starter = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        let pid = htc_starter::starter_pid_from_name(&name).filter(|_| name.ends_with(FILE_SUFFIX))?;
        Some((path, pid))
    };
    entries.filter_map(|entry| of_starter(entry.path())).collect()
}

/// Reads the state file of a starter that has ended. Returns `None` if the file is in use or does not exist.
pub(super) fn read(path: &Path, starter: i32) -> io::Result<Option<Vec<LeftoverRecord>>> {
    let is_gone = || process_table::read_process(starter).is_none_or(|one| one.is_zombie());
    // Opening a file that another process has just removed would create it again.
    if !path.exists() {
        return Ok(None);
    }
    match JournalFile::open::<LeftoverRecord>(path) {
        Ok((_, journal)) => Ok(Some(journal.records)),
        // A job that has not been executed yet, because it waits for the other end of a FIFO, holds the lock of its
        // starter, although the starter has ended. Process ids of another PID namespace cannot be checked here.
        Err(JournalError::InUse { .. }) if is_gone() => {
            let elsewhere = |record: &LeftoverRecord| matches!(record, LeftoverRecord::Starter { pid_namespace: Some(of), .. } if Some(*of) != pid_namespace());
            Ok(peek(path)?.filter(|records| !records.iter().any(elsewhere)))
        }
        Err(JournalError::InUse { .. }) => Ok(None),
        Err(error) => none_if_not_found(error),
    }
}

/// Reads a state file after locking it.
fn peek(path: &Path) -> io::Result<Option<Vec<LeftoverRecord>>> {
    JournalFile::peek(path).map(|journal| Some(journal.records)).or_else(none_if_not_found)
}

/// Returns `None` for a file that does not exist, because its starter has ended and removed it; returns other errors.
fn none_if_not_found(error: JournalError) -> io::Result<Option<Vec<LeftoverRecord>>> {
    match error {
        JournalError::System { source, .. } if source.kind() == io::ErrorKind::NotFound => Ok(None),
        error => Err(io::Error::other(error)),
    }
}

/// Returns the kernel's number of the PID namespace of this process.
pub(super) fn pid_namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|status| status.ino())
}

/// Returns true if a starter holds the lock of its state file, in any PID namespace.
pub fn is_starter_alive(execute: &Path, starter: i32) -> bool {
    let held = |directory: &Path| matches!(read(&directory.join(name_of(starter)), starter), Ok(None));
    [execute, Path::new(ROOT_DIRECTORY)]
        .iter()
        .any(|directory| directory.join(name_of(starter)).exists() && held(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: a starter may remove its file at the moment when another process reads it.
    #[test]
    fn a_file_that_is_removed_while_it_is_read_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        assert!(peek(&home.path().join("dir_7.left")).unwrap().is_none());
    }

    #[test]
    fn starters_with_the_same_pid_write_separate_files() {
        let home = tempfile::tempdir().unwrap();
        let name = |file: &StateFile| file.path.file_name().unwrap().to_string_lossy().into_owned();
        let pid = std::process::id();
        // The file is in use by a starter in another PID namespace.
        let mut first = StateFile::create_in_shared_directory(home.path()).unwrap();
        assert_eq!(name(&first), format!("dir_{pid}.left"));
        let second = StateFile::create_in_shared_directory(home.path()).unwrap();
        assert_eq!(name(&second), format!("dir_{pid}.1.left"));
        drop(second);
        // The file was left by a starter that was killed, and is about another EXECUTE.
        first.journal.append(&LeftoverRecord::Stage { name: "run".into() }).unwrap();
        let StateFile { path, journal, .. } = &mut first;
        let records = |path: &Path| peek(path).unwrap().unwrap().len();
        let kept = records(path);
        let place = path.clone();
        *journal = JournalFile::open::<LeftoverRecord>(&home.path().join("other")).unwrap().0;
        let third = StateFile::create_in_shared_directory(home.path()).unwrap();
        assert_eq!(name(&third), format!("dir_{pid}.1.left"));
        assert_eq!((records(&place), kept), (1, 1));
        assert_eq!(list_state_files(home.path()).len(), 2);
        drop(third);
        drop(first);
        assert!(list_state_files(home.path()).is_empty());
    }

    #[test]
    fn a_starter_in_another_pid_namespace_is_alive_while_its_file_is_locked() {
        let home = tempfile::tempdir().unwrap();
        let gone = 4_194_002;
        for (pid_namespace, there) in [(Some(1), false), (super::pid_namespace(), true), (None, true)] {
            let path = home.path().join(name_of(gone));
            let (mut journal, _) = JournalFile::open::<LeftoverRecord>(&path).unwrap();
            let starter = LeftoverRecord::Starter {
                pid: gone,
                started: 1,
                directory: home.path().join("x"),
                uid: 0,
                pid_namespace,
            };
            journal.append(&starter).unwrap();
            assert_eq!(read(&path, gone).unwrap().is_some(), there);
            assert_eq!(is_starter_alive(home.path(), gone), !there);
            drop(journal);
            assert!(read(&path, gone).unwrap().is_some());
            remove(&path);
        }
    }

    #[test]
    fn foreign_files_next_to_state_files_are_ignored() {
        if !nix::unistd::geteuid().is_root() {
            println!("skipped: not root");
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(name_of(4_194_003));
        fs::write(&path, "x").unwrap();
        assert_eq!(list_state_files(home.path()).len(), 1);
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        assert_eq!(list_state_files(home.path()).len(), 0);
    }

    #[test]
    fn a_state_file_kept_for_leftovers_does_not_report_the_job_again() {
        let home = tempfile::tempdir().unwrap();
        let mut file = StateFile::new(&home.path().join("dir_7")).unwrap();
        let path = file.path.clone();
        file.journal.append(&LeftoverRecord::Job { id: "1.0".into(), ad: String::new() }).unwrap();
        file.has_leftovers = true;
        drop(file);
        let records = JournalFile::open::<LeftoverRecord>(&path).unwrap().1.records;
        assert_eq!(records.len(), 2);
        assert!(htc_starter::find_unfinished_job(&records).is_none());
    }

    #[test]
    fn the_lock_of_a_starter_killed_during_removal_is_removed_too() {
        let home = tempfile::tempdir().unwrap();
        let lock = |pid: u32| home.path().join(format!("dir_{pid}.left.lock"));
        let (gone, own) = (4_194_001, std::process::id());
        for pid in [gone, own] {
            fs::write(lock(pid), "").unwrap();
        }
        remove_orphaned_locks(home.path());
        assert!(!lock(gone).exists() && lock(own).exists());
    }
}
