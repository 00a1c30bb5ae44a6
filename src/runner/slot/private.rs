//! The private directory of a run. Whoever is killed leaves it; the next who starts removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use crate::os::tree;
use crate::slot::HookRun;

/// What its name begins with.
const PREFIX: &str = "htc-slot-run.";
/// What the names of notes on fetch hooks begin with; their slot stands in them.
const FETCH: &str = "fetch.";
/// The note on jobs that wait for their slots, a line each.
const WAITING: &str = "waiting";
/// The note in a starter's directory: its job and slot. The starter removes it when it has come to an end.
pub const JOB_NOTE: &str = "job";
/// The file in it that is locked as long as its owner lives.
const LOCK: &str = "lock";

/// A directory that nobody else uses; gone when this is dropped.
#[derive(Debug)]
pub struct Private {
    directory: TempDir,
    _lock: Flock<File>,
}

impl Private {
    /// Makes it below `place`, and removes those there whose owner is gone. Says also what these had under way.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(place: &Path) -> io::Result<(Self, Vec<String>)> {
        let lost = remove_abandoned(place);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        let lock = File::create(directory.path().join(LOCK))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)?;
        Ok((Private { directory, _lock: lock }, lost))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Notes in a private directory that a fetch hook runs: whoever is killed meanwhile loses the job that it hands out.
pub(super) fn note_fetch(private: &Path, run: HookRun, slot: &str) {
    // Without the note nothing is told, and nothing else is lost.
    drop(fs::write(fetch_note(private, run), slot));
}

/// It has ended, and what it brought is somebody else's business.
pub(super) fn forget_fetch(private: &Path, run: HookRun) {
    drop(fs::remove_file(fetch_note(private, run)));
}

/// Notes jobs that were accepted and have no starter yet: whoever is killed meanwhile loses them.
pub(super) fn note_waiting(private: &Path, jobs: &[String]) {
    let note = private.join(WAITING);
    drop(if jobs.is_empty() { fs::remove_file(note) } else { fs::write(note, jobs.join("\n")) });
}

fn fetch_note(private: &Path, run: HookRun) -> PathBuf {
    private.join(format!("{FETCH}{}", run.0))
}

/// What the owner of a directory had under way, by its notes.
fn under_way(directory: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(FETCH)
            && let Ok(slot) = fs::read_to_string(entry.path())
        {
            all.push(format!(
                "a run that was killed had FETCH_WORK of {slot} under way: a job that it handed out is lost, unless its \
                 queue takes it back"
            ));
        } else if entry.file_name() == WAITING {
            let jobs = fs::read_to_string(entry.path()).unwrap_or_default();
            let lost =
                |job| format!("a run that was killed had accepted {job}, which waited for it: it is lost");
            all.extend(jobs.lines().map(lost));
        } else if let Ok(job) = fs::read_to_string(entry.path().join(JOB_NOTE)) {
            all.push(format!("a run that was killed had accepted {job}: its starter did not come to an end"));
        }
    }
    all.sort();
    all
}

/// Removes directories of our account whose owner no longer holds the lock. One without the file is being made just now.
fn remove_abandoned(place: &Path) -> Vec<String> {
    let mut lost = Vec::new();
    let own = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own);
        if !ours {
            continue;
        }
        let lock = File::open(path.join(LOCK)).map(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock));
        if let Ok(Ok(_abandoned)) = lock {
            lost.extend(under_way(&path));
            drop(tree::remove_tree(&path));
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_has_left_is_removed_by_the_next() {
        let place = tempfile::tempdir().unwrap();
        let left = place.path().join("htc-slot-run.left");
        fs::create_dir_all(left.join("7")).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        fs::write(left.join("7").join(JOB_NOTE), "job 3.0 in slot2").unwrap();
        note_fetch(&left, HookRun(4), "slot1");
        note_fetch(&left, HookRun(5), "slot2");
        forget_fetch(&left, HookRun(5));
        note_waiting(&left, &["job 8.0 for slot3".to_owned(), "job 9.0 for slot4".to_owned()]);
        let new = place.path().join("htc-slot-run.new");
        fs::create_dir(&new).unwrap();
        let foreign = place.path().join("other");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(LOCK), "").unwrap();
        let (running, lost) = Private::new(place.path()).unwrap();
        assert_eq!(lost.len(), 4, "{lost:?}");
        assert!(lost[0].contains("FETCH_WORK of slot1") && lost[1].contains("job 3.0 in slot2"), "{lost:?}");
        assert!(lost[2].contains("job 8.0 for slot3") && lost[3].contains("job 9.0 for slot4"), "{lost:?}");
        assert!(!left.exists() && new.exists() && foreign.exists());
        let (second, lost) = Private::new(place.path()).unwrap();
        assert!(lost.is_empty() && running.path().exists() && second.path().exists());
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
