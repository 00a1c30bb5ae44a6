//! What the run of a router is given.

use std::path::Path;
use std::time::Duration;

use bstr::BString;

use crate::hook_environment::DaemonEnvironment;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_config::ConfigView;

/// When the run ends by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopConditions {
    /// After one poll, once its hooks have ended.
    pub once: bool,
    /// When a poll finds nothing to manage.
    pub when_idle: bool,
}

/// How the run is done.
pub struct RouterOptions<'a> {
    /// The configuration.
    pub view: &'a ConfigView<'a>,
    /// What is outside.
    pub world: &'a dyn World,
    /// What hooks and submit commands inherit.
    pub environment: DaemonEnvironment,
    /// Deviations.
    pub quirks: QuirkMode,
    /// How long a hook or a submit command may take.
    pub hook_limit: Option<Duration>,
    /// The directory of the queue that copies go to (SCHEDD2); that of the sources without.
    pub copies_directory: Option<&'a Path>,
    /// The command that copies are submitted through in place of the directory; it reads the ad and prints the id, or what
    /// condor_submit prints. `argv[0]` is a path.
    pub submit_command: Option<Vec<BString>>,
    /// When it ends.
    pub stop_conditions: StopConditions,
    /// Told what happens.
    pub log: &'a dyn Fn(&str),
}
