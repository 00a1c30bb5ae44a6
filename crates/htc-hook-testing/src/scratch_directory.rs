//! Temporary directories of hook calls and suite cases.

use std::io;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;

use htc_os::directory_tree::remove_tree;
use tempfile::TempDir;

/// Number of attempts to remove a directory, because an error may not occur again at the next attempt.
const REMOVAL_ATTEMPTS: usize = 3;

/// Directory that is removed with all its contents when dropped.
#[derive(Debug)]
pub(crate) struct ScratchDirectory(TempDir);

impl ScratchDirectory {
    /// Creates a directory that every account can enter, because hooks may run as another account.
    ///
    /// # Errors
    /// Returns errors of the file system.
    pub(crate) fn create(prefix: &str) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix(prefix).tempdir()?;
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))?;
        Ok(ScratchDirectory(directory))
    }
}

impl Deref for ScratchDirectory {
    type Target = TempDir;

    fn deref(&self) -> &TempDir {
        &self.0
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        for _ in 0..REMOVAL_ATTEMPTS {
            if remove_tree(self.0.path()).is_empty() {
                break;
            }
        }
    }
}
