//! Private directory of a run. If the run is killed, the next run removes the directory. The journal, not this
//! directory, contains the state of running actions.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::TempDir;

use htc_os::file_lock::ExclusiveLock;
use htc_os::{directory_tree, process_table};

/// Prefix of the directory's name.
const DIRECTORY_PREFIX: &str = "htc-slot-run.";
/// Name of the file in the directory that is locked while the owner of the directory runs.
const LOCK_FILE: &str = "lock";
/// Name of the lock file before it is locked.
const UNLOCKED_FILE: &str = "lock.new";

/// Directory that only this process uses; removed when dropped.
#[derive(Debug)]
pub struct PrivateDirectory {
    directory: TempDir,
    _lock: ExclusiveLock,
}

impl PrivateDirectory {
    /// Creates the directory below `place`, and removes private directories below `place` whose owners have ended.
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub fn new(place: &Path) -> io::Result<Self> {
        Self::with_prefix(place, DIRECTORY_PREFIX)
    }

    /// Creates the directory below `place` with a name that begins with `prefix`, and removes directories with that
    /// prefix whose owners have ended.
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub fn with_prefix(place: &Path, prefix: &str) -> io::Result<Self> {
        remove_abandoned_directories(place, prefix);
        let prefix = format!("{prefix}{}.", std::process::id());
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(place)?;
        // The lock file is renamed after it is locked, so that no other process can lock it first.
        let unnamed = directory.path().join(UNLOCKED_FILE);
        let lock = File::create(&unnamed)?;
        let lock = ExclusiveLock::try_acquire(lock).map_err(|(_, errno)| errno)?;
        fs::rename(unnamed, directory.path().join(LOCK_FILE))?;
        Ok(PrivateDirectory { directory, _lock: lock })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes directories of this account whose owner has ended, as shown by its process id or by the free lock. A
/// directory without a lock file is kept, because its owner is just creating it.
pub fn remove_abandoned_directories(place: &Path, prefix: &str) {
    let own = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(prefix)
            && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own);
        if !ours {
            continue;
        }
        let lock = File::open(path.join(LOCK_FILE)).map(ExclusiveLock::try_acquire);
        let name = entry.file_name().to_string_lossy().into_owned();
        // A child of the owner that has not executed its program yet may still hold the lock.
        if is_owner_gone(&name[prefix.len()..]) {
            drop(directory_tree::remove_tree(&path));
        } else if let Ok(Ok(_abandoned)) = lock {
            drop(directory_tree::remove_tree(&path));
        }
    }
}

/// Returns true if a name begins with the id of a process that has ended, whether or not that process held the lock.
fn is_owner_gone(name: &str) -> bool {
    let pid = name.split_once('.').and_then(|(pid, _)| pid.parse().ok());
    pid.is_some_and(|pid: i32| process_table::read_process(pid).is_none_or(|one| one.is_zombie()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_removes_leftovers_of_a_killed_one() {
        let place = tempfile::tempdir().unwrap();
        let left = place.path().join("htc-slot-run.left");
        fs::create_dir_all(left.join("7")).unwrap();
        fs::write(left.join(LOCK_FILE), "").unwrap();
        let new = place.path().join("htc-slot-run.new");
        fs::create_dir(&new).unwrap();
        let foreign = place.path().join("other");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(LOCK_FILE), "").unwrap();
        let running = PrivateDirectory::new(place.path()).unwrap();
        assert!(!left.exists() && new.exists() && foreign.exists());
        let second = PrivateDirectory::new(place.path()).unwrap();
        assert!(running.path().exists() && second.path().exists());
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
