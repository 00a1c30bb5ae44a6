//! Spool directory, in which a job with a shadow keeps files for its next run.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::runner::slot::{PrivateDirectory, remove_abandoned_directories};

/// Prefix of the names of spool directories.
const SPOOL_PREFIX: &str = "htc-spool.";

/// Spool directory for the files that a job keeps for its next run. It is removed when dropped.
pub(super) struct SpoolDirectory {
    path: PathBuf,
    _owner: PrivateDirectory,
}

impl SpoolDirectory {
    /// Removes the spool directories of killed runs, and creates a new one.
    pub(super) fn new() -> anyhow::Result<Self> {
        let result = PrivateDirectory::with_prefix(&std::env::temp_dir(), SPOOL_PREFIX).and_then(|owner| {
            let path = owner.path().join("spool");
            std::fs::create_dir(&path)?;
            Ok(SpoolDirectory { path, _owner: owner })
        });
        result.context("cannot make a directory for checkpoints")
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the spool directories of killed runs.
    pub(super) fn remove_abandoned() {
        remove_abandoned_directories(&std::env::temp_dir(), SPOOL_PREFIX);
    }
}
