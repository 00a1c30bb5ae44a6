//! What a run would begin with.

use std::path::PathBuf;

use htc_base::world::World;
use htc_config::Config;
use htc_runner::slot::HookAccount;
use htc_runner::slot::StarterProgram;
use htc_slot::{HostMeasurements, StartdSettings};

/// What a run would begin with.
pub struct DoctorInput<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Where all else is asked.
    pub world: &'a dyn World,
    /// The slots.
    pub settings: &'a StartdSettings,
    /// What was found of the machine.
    pub surroundings: &'a HostMeasurements,
    /// Who runs the execution point's hooks, or why nobody can.
    pub account: Result<HookAccount, String>,
    /// What runs the jobs.
    pub starter: StarterProgram,
    /// EXECUTE.
    pub execute: Option<PathBuf>,
    /// LOG.
    pub log: Option<PathBuf>,
}

impl DoctorInput<'_> {
    pub(super) fn parameter_text(&self, name: &str) -> Option<String> {
        let view = self.config.view(self.world);
        view.text(name).map(|text| text.to_string())
    }
}
