//! What a run would begin with.

use std::path::PathBuf;

use htc_base::world::World;
use htc_config::Config;
use htc_runner::slot::HookAccount;
use htc_runner::slot::StarterProgram;
use htc_slot::{Settings, Surroundings};

/// What a run would begin with.
pub struct Patient<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Where all else is asked.
    pub world: &'a dyn World,
    /// The slots.
    pub settings: &'a Settings,
    /// What was found of the machine.
    pub around: &'a Surroundings,
    /// Who runs the execution point's hooks, or why nobody can.
    pub account: Result<HookAccount, String>,
    /// What runs the jobs.
    pub starter: StarterProgram,
    /// EXECUTE.
    pub execute: Option<PathBuf>,
    /// LOG.
    pub log: Option<PathBuf>,
}

impl Patient<'_> {
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let view = self.config.view(self.world);
        view.text(name).map(|text| text.to_string())
    }
}
