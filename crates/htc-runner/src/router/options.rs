//! Options of a router run.

use std::path::Path;
use std::time::Duration;

use bstr::BString;

use crate::hook_environment::DaemonEnvironment;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_config::ConfigView;

/// Conditions under which the run ends by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopConditions {
    /// True to end after one poll, once its hooks have ended.
    pub once: bool,
    /// Time after which the run ends because there is no job to manage, or `None` to continue.
    pub idle_limit: Option<Duration>,
}

/// Options of a router run.
pub struct RouterOptions<'a> {
    /// The configuration.
    pub view: &'a ConfigView<'a>,
    /// The outside world.
    pub world: &'a dyn World,
    /// Environment that hooks and submit commands inherit.
    pub environment: DaemonEnvironment,
    /// Selection of quirks.
    pub quirks: QuirkMode,
    /// Maximum run time of a hook or a submit command, or `None` for no limit.
    pub hook_limit: Option<Duration>,
    /// The directory of the queue for the copies (SCHEDD2), or `None` for that of the sources.
    pub copies_directory: Option<&'a Path>,
    /// Command that submits copies instead of writing to the directory; it reads the ad and prints the id, or the
    /// output of condor_submit. `argv[0]` is a path.
    pub submit_command: Option<Vec<BString>>,
    /// Conditions that end the run.
    pub stop_conditions: StopConditions,
    /// Log function.
    pub log: &'a dyn Fn(&str),
}
