//! The configuration as a tool of the reference loads it: without options of ours, and a bad one ends the tool.

use crate::cli::common::{ProgramContext as Program, Status};
use crate::config::{Config, LoadOptions, LookupContext};
use crate::world::World;

/// Loads the configuration of a subsystem, and tells what is odd about it; where that fails the error has been told and the tool ends with the status.
pub(super) fn load(subsystem: &str, world: &dyn World, program: &Program) -> Result<Config, Status> {
    let who = LookupContext { subsystem: subsystem.into(), ..LookupContext::default() };
    let read = Config::load_partially(world, &who, &LoadOptions::default());
    match read.error {
        None => {
            read.warnings.iter().for_each(|warning| program.write_stderr(&format!("{warning}\n")));
            Ok(read.config)
        }
        Some(error) => {
            program.report(&anyhow::Error::new(error));
            Err(Status::Tool(1))
        }
    }
}
