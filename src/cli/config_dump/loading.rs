//! Reading a configuration that is shown: its secrets are masked where that is wanted, and what is wrong is told with its place.

use bstr::ByteSlice;

use crate::cli::common::Problem;
use crate::config::load::LoadWarning;
use crate::config::{Config, ConfigError, LoadOptions, LookupContext, redact};
use crate::text::caret::LineCaret;
use crate::world::World;

/// Reads a configuration, and masks its secrets where that is wanted.
pub(super) fn load(
    world: &dyn World,
    who: &LookupContext,
    options: &LoadOptions,
    redacting: bool,
) -> Result<(Config, Vec<LoadWarning>), ConfigError> {
    let mut attempt = Config::load_partially(world, who, options);
    if redacting {
        redact::redact_attempt(&mut attempt, world);
    }
    match attempt.error {
        Some(error) => Err(error),
        None => Ok((attempt.config, attempt.warnings)),
    }
}

/// A configuration that cannot be read, as this program tells it.
pub(super) fn config_problem(error: &ConfigError) -> Problem {
    if let Some(problem) = Problem::from_missing_config(error) {
        return problem;
    }
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let mut problem = match &error.place {
        Some(place) => {
            let name = place.name.to_str_lossy();
            let caret =
                LineCaret { source: &name, line: place.line, text: &place.text, span: place.span, cut: 0 };
            Problem::unreadable(said.join("\n")).at_line(&caret)
        }
        None => Problem::unreadable(said.join("\n")),
    };
    if let Some(place) = &error.place {
        for (file, line) in &place.included_from {
            problem = problem.hint(format!("included from {file}, line {line}"));
        }
    }
    problem.maybe_hint(error.hint.as_deref())
}
