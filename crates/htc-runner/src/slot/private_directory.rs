//! The private directory of a run. Whoever is killed leaves it; the next who starts removes it. What was under way stands in the
//! journal, not here.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use htc_os::{directory_tree, process_table};

/// What its name begins with.
const DIRECTORY_PREFIX: &str = "htc-slot-run.";
/// The file in it that is locked as long as its owner lives.
const LOCK_FILE: &str = "lock";
/// Its name before it is locked.
const UNLOCKED_FILE: &str = "lock.new";

/// A directory that nobody else uses; gone when this is dropped.
#[derive(Debug)]
pub struct PrivateDirectory {
    directory: TempDir,
    _lock: Flock<File>,
}

impl PrivateDirectory {
    /// Makes it below `place`, and removes those there whose owner is gone.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(place: &Path) -> io::Result<Self> {
        Self::with_prefix(place, DIRECTORY_PREFIX)
    }

    /// The same under a name of its own.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn with_prefix(place: &Path, prefix: &str) -> io::Result<Self> {
        remove_abandoned_directories(place, prefix);
        let prefix = format!("{prefix}{}.", std::process::id());
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(place)?;
        // It gets its name when we have the lock: nobody else can take it before.
        let unnamed = directory.path().join(UNLOCKED_FILE);
        let lock = File::create(&unnamed)?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)?;
        fs::rename(unnamed, directory.path().join(LOCK_FILE))?;
        Ok(PrivateDirectory { directory, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes directories of our account whose owner is gone, as its number tells or the lock that nobody holds. One without the file
/// is being made just now.
pub fn remove_abandoned_directories(place: &Path, prefix: &str) {
    let own = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(prefix)
            && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own);
        if !ours {
            continue;
        }
        let lock =
            File::open(path.join(LOCK_FILE)).map(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock));
        let name = entry.file_name().to_string_lossy().into_owned();
        // The lock may be held by a child of his that has executed nothing yet.
        if is_owner_gone(&name[prefix.len()..]) {
            drop(directory_tree::remove_tree(&path));
        } else if let Ok(Ok(_abandoned)) = lock {
            drop(directory_tree::remove_tree(&path));
        }
    }
}

/// Whether a name begins with the number of a process that is gone, whether it had the lock or not.
fn is_owner_gone(name: &str) -> bool {
    let pid = name.split_once('.').and_then(|(pid, _)| pid.parse().ok());
    pid.is_some_and(|pid: i32| process_table::read_process(pid).is_none_or(|one| one.is_zombie()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_has_left_is_removed_by_the_next() {
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
