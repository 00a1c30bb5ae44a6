//! Temporary directories of calls and cases.

use std::io;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;

use htc_os::directory_tree::remove_tree;
use tempfile::TempDir;

/// Number of attempts to remove a directory: an error may be gone at the next one.
const REMOVAL_ATTEMPTS: usize = 3;

/// Directory that is removed on drop.
#[derive(Debug)]
pub(crate) struct ScratchDirectory(TempDir);

impl ScratchDirectory {
    /// Creates a directory that every account can enter, because hooks may have another one.
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
