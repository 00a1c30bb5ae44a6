//! Inputs of the checks.

use std::path::PathBuf;

use htc_base::world::World;
use htc_config::Config;
use htc_runner::slot::HookAccount;
use htc_runner::slot::StarterProgram;
use htc_runner::starter::CondorIdsError;
use htc_slot::{HostMeasurements, StartdSettings};

/// Inputs of the checks: the state with which a run would start.
pub struct DoctorInput<'a> {
    /// Configuration of the execution point.
    pub config: &'a Config,
    /// Access to the machine.
    pub world: &'a dyn World,
    /// Settings of the startd, including its slots.
    pub settings: &'a StartdSettings,
    /// Measurements of the machine.
    pub surroundings: &'a HostMeasurements,
    /// Account that runs the execution point's hooks, or the reason why there is none.
    pub account: Result<HookAccount, CondorIdsError>,
    /// Program that runs the jobs.
    pub starter: StarterProgram,
    /// Value of EXECUTE.
    pub execute: Option<PathBuf>,
    /// Value of LOG.
    pub log: Option<PathBuf>,
}

impl DoctorInput<'_> {
    pub(super) fn parameter_text(&self, name: &str) -> Option<String> {
        let view = self.config.view(self.world);
        view.text(name).map(|text| text.to_string())
    }
}
