//! State directory of a run in LOG, with its control socket and its journal.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use htc_os::identity;

/// Name of the directory, followed by the local name of the daemon, if there is one.
const DIRECTORY_NAME: &str = "htc-slot-run";

/// Returns the directory of an execution point with this LOG and local name.
pub fn state_directory(log: &Path, local_name: Option<&str>) -> PathBuf {
    match local_name {
        Some(local_name) => log.join(format!("{DIRECTORY_NAME}.{}", local_name.replace('/', "_"))),
        None => log.join(DIRECTORY_NAME),
    }
}

/// Returns the default path of the control socket in the state directory.
pub fn default_socket(log: &Path, local_name: Option<&str>) -> PathBuf {
    state_directory(log, local_name).join("control")
}

/// Creates the state directory, accessible only to this account. A directory that belongs to another account is not
/// used.
///
/// # Errors
/// Fails if the directory cannot be created, or if another account can write to it.
pub fn make_state_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let status = fs::symlink_metadata(path)?;
    let why = match () {
        () if status.is_symlink() => "it is a link",
        () if !status.is_dir() => "it is not a directory",
        () if status.uid() != identity::effective_uid() => "it belongs to another account",
        () if status.mode() & 0o077 != 0 => "other accounts can read it: chmod 700",
        () => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}
