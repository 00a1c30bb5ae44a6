//! Groups for tracking the processes of jobs, one for each job (`USE_GID_PROCESS_TRACKING`). All starters of
//! the machine share the range of groups.
//!
//! Reference: `gid_pool.linux.cpp` of condor_procd, where one daemon assigns the groups. Here each starter
//! takes the first free group of the range. A group is free if no starter has locked the lock file of the
//! group and no process is in the group; the latter is checked because processes may outlive the starter.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use super::file_lock::ExclusiveLock;
use super::process_table;

/// Group that is reserved until this value is dropped.
#[derive(Debug)]
pub struct TrackingGroup {
    /// Id of the group.
    pub gid: u32,
    path: PathBuf,
    _lock: ExclusiveLock,
}

impl TrackingGroup {
    /// Reserves the first free group of a range, or returns `None` if no group is free. Only root may have
    /// write access to `directory`.
    ///
    /// # Errors
    /// The directory or a file in it cannot be created.
    pub fn acquire(range: RangeInclusive<u32>, directory: &Path) -> io::Result<Option<Self>> {
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let used: Vec<u32> =
            process_table::all_pids().flat_map(process_table::supplementary_groups).collect();
        for gid in range.filter(|gid| !used.contains(gid)) {
            let path = directory.join(format!("tracking-group-{gid}"));
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            let file = options.open(&path)?;
            let Ok(lock) = ExclusiveLock::try_acquire(file) else { continue };
            // Between opening and locking, the previous owner may have removed the file and another starter
            // may have created a new file.
            if is_same_file(&lock, &path) {
                return Ok(Some(TrackingGroup { gid, path, _lock: lock }));
            }
        }
        Ok(None)
    }
}

/// Returns true if a path still refers to the open file.
fn is_same_file(file: &File, path: &Path) -> bool {
    let (Ok(opened), Ok(current)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (opened.dev(), opened.ino()) == (current.dev(), current.ino())
}

impl Drop for TrackingGroup {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_on_a_removed_file_does_not_lock_its_replacement() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let first = File::create(&path).unwrap();
        assert!(is_same_file(&first, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_same_file(&first, &path));
        let second = File::create(&path).unwrap();
        assert!(!is_same_file(&first, &path) && is_same_file(&second, &path));
    }

    #[test]
    fn each_group_is_used_once_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let take = || TrackingGroup::acquire(3_000_000_001..=3_000_000_002, home.path()).unwrap();
        let (first, second) = (take().unwrap(), take().unwrap());
        assert_eq!((first.gid, second.gid), (3_000_000_001, 3_000_000_002));
        assert!(take().is_none(), "none is left");
        drop(first);
        assert_eq!(take().unwrap().gid, 3_000_000_001);
    }
}
