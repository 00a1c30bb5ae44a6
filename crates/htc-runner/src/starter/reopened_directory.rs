//! Scratch directory that is opened while JOB_EXIT runs, because the job has removed its owner's access.
//!
//! A starter of 25.14 enters the directory before the job starts, and its hooks inherit that working directory
//! regardless of the mode.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use htc_base::process::ProcessIdentity;
use htc_os::identity::run_as;

/// Mode bits of the owner.
const OWNER_MODE_BITS: u32 = 0o700;

/// Directory whose owner had no access, with the mode that it had.
#[derive(Debug)]
pub(super) struct ReopenedDirectory {
    path: PathBuf,
    mode: u32,
}

impl ReopenedDirectory {
    /// Gives the owner access to a directory, as the job's account only. Returns `None` if the owner already has
    /// access or if the change fails.
    pub(super) fn open(path: &Path, identity: Option<&ProcessIdentity>) -> Option<Self> {
        let open = || {
            let mode = mode_of(path)?;
            match mode & OWNER_MODE_BITS == OWNER_MODE_BITS {
                true => Ok(None),
                false => set_mode(path, mode | OWNER_MODE_BITS).map(|()| Some(mode)),
            }
        };
        let mode = run_as(identity, open).and_then(|opened| opened).ok().flatten()?;
        Some(ReopenedDirectory { path: path.to_owned(), mode })
    }

    /// Restores the mode of the directory, unless the hook has set another one.
    pub(super) fn close(self, identity: Option<&ProcessIdentity>) {
        let close = || match mode_of(&self.path)? == self.mode | OWNER_MODE_BITS {
            true => set_mode(&self.path, self.mode),
            false => Ok(()),
        };
        drop(run_as(identity, close));
    }
}

/// Returns the mode of a directory, or an error if the path is a symbolic link.
fn mode_of(path: &Path) -> io::Result<u32> {
    let status = fs::symlink_metadata(path)?;
    match status.is_dir() {
        true => Ok(status.permissions().mode() & 0o7777),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}
