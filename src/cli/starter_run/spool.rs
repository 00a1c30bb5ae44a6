//! Where a job that is played with its shadow keeps files for its next run.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::runner::slot::{PrivateDirectory, remove_abandoned_directories};

/// What the directories of spools begin with.
const SPOOL_PREFIX: &str = "htc-spool.";

/// A directory for what a job leaves for its next run; gone with its owner.
pub(super) struct SpoolDirectory {
    path: PathBuf,
    _owner: PrivateDirectory,
}

impl SpoolDirectory {
    /// A new one; what runs that were killed have left goes first.
    pub(super) fn new() -> anyhow::Result<Self> {
        let made = PrivateDirectory::with_prefix(&std::env::temp_dir(), SPOOL_PREFIX).and_then(|owner| {
            let path = owner.path().join("spool");
            std::fs::create_dir(&path)?;
            Ok(SpoolDirectory { path, _owner: owner })
        });
        made.context("cannot make a directory for checkpoints")
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes those of runs that were killed.
    pub(super) fn remove_abandoned() {
        remove_abandoned_directories(&std::env::temp_dir(), SPOOL_PREFIX);
    }
}
