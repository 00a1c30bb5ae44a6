//! Configuration as the condor tools load it: without options of these programs. An invalid configuration ends the tool.

use crate::cli::common::{ProgramContext, Status};
use crate::config::{Config, LoadOptions, LookupContext};
use crate::world::World;

/// Loads the configuration of a subsystem and prints its warnings. If that fails, prints the error and
/// returns the exit status of the tool.
pub(super) fn load(subsystem: &str, world: &dyn World, program: &ProgramContext) -> Result<Config, Status> {
    let context = LookupContext { subsystem: subsystem.into(), ..LookupContext::default() };
    let loaded = Config::load_partially(world, &context, &LoadOptions::default());
    match loaded.error {
        None => {
            loaded.warnings.iter().for_each(|warning| program.write_stderr(&format!("{warning}\n")));
            Ok(loaded.config)
        }
        Some(error) => {
            program.report(&anyhow::Error::new(error));
            Err(Status::Tool(1))
        }
    }
}
