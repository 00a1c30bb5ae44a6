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
    /// True to end after one poll and the hooks that it started.
    pub once: bool,
    /// Time without a job to manage after which the run ends, or `None` to continue.
    pub idle_limit: Option<Duration>,
}

/// Options of a router run.
pub struct RouterOptions<'a> {
    /// The configuration.
    pub view: &'a ConfigView<'a>,
    /// Access to the outside world: time, files, accounts, environment, programs.
    pub world: &'a dyn World,
    /// Environment that hooks and submit commands inherit.
    pub environment: DaemonEnvironment,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Maximum run time of a hook or a submit command, or `None` for no limit.
    pub hook_limit: Option<Duration>,
    /// The directory used as the queue of routed jobs (SCHEDD2), or `None` to use that of the source jobs.
    pub copies_directory: Option<&'a Path>,
    /// Command that submits routed jobs instead of writing them to the directory. It reads the ad from standard input
    /// and prints the job id, or the output of condor_submit. The first element is a path.
    pub submit_command: Option<Vec<BString>>,
    /// Conditions that end the run.
    pub stop_conditions: StopConditions,
    /// Function that writes a line to the log.
    pub log: &'a dyn Fn(&str),
}
