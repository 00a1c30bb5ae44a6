//! Configuration of a starter.

use bstr::ByteSlice;

use super::options::StarterRunCli;
use crate::cli::common::{Problem, ProgramContext};
use crate::config::{CommandPolicy, Config, LookupContext};
use crate::world::World;

/// Loads the configuration. If no configuration exists, uses the defaults, unless `--quirks reference` is given.
pub(super) fn load(
    cli: &StarterRunCli,
    strict: bool,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Config> {
    let local_name = cli.job.local_name.clone().unwrap_or_default();
    let context = LookupContext { subsystem: "STARTER".into(), local_name: local_name.into() };
    let mut options = cli.config.load_options(CommandPolicy::BOUNDED_RUN);
    if !strict && Config::is_missing(world, &options) {
        options.file = Some("ONLY_ENV".into());
    }
    let (config, warnings) = Config::load(world, &context, &options).map_err(|error| {
        let text = error.reference_text().to_str_lossy().trim().to_owned();
        let explanation = error.explanation();
        let explained = if explanation.is_empty() { text } else { format!("{text}\n{explanation}") };
        Problem::unreadable(format!("the configuration cannot be read: {explained}"))
    })?;
    for warning in warnings {
        session.warn(&warning.text.to_string());
    }
    Ok(config)
}
