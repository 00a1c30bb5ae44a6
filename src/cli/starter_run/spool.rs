//! Where a job that is played with its shadow keeps files for its next run.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::runner::slot::{Private, remove_abandoned};

/// What the directories of spools begin with.
const SPOOLS: &str = "htc-spool.";

/// A directory for what a job leaves for its next run; gone with its owner.
pub(super) struct Spool {
    path: PathBuf,
    _owner: Private,
}

impl Spool {
    /// A new one; what runs that were killed have left goes first.
    pub(super) fn new() -> anyhow::Result<Self> {
        let made = Private::named(&std::env::temp_dir(), SPOOLS).and_then(|owner| {
            let path = owner.path().join("spool");
            std::fs::create_dir(&path)?;
            Ok(Spool { path, _owner: owner })
        });
        made.context("cannot make a directory for checkpoints")
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes those of runs that were killed.
    pub(super) fn remove_abandoned() {
        remove_abandoned(&std::env::temp_dir(), SPOOLS);
    }
}
