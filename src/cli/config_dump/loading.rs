//! Loading of a configuration for output: secrets are masked on request, and errors have their location.

use bstr::ByteSlice;

use crate::cli::common::Problem;
use crate::config::LoadWarning;
use crate::config::{Config, ConfigError, LoadOptions, LookupContext, redact};
use crate::text::caret::LineCaret;
use crate::world::World;

/// Loads a configuration. If `redact` is true, its secrets are masked.
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

/// Returns the error for a configuration that cannot be loaded.
pub(super) fn config_problem(error: &ConfigError) -> Problem {
    if let Some(problem) = Problem::from_missing_config(error) {
        return problem;
    }
    let lines: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let mut problem = match &error.place {
        Some(place) => {
            let name = place.name.to_str_lossy();
            let caret =
                LineCaret { source: &name, line: place.line, text: &place.text, span: place.span, cut: 0 };
            Problem::unreadable(lines.join("\n")).at_line(&caret)
        }
        None => Problem::unreadable(lines.join("\n")),
    };
    if let Some(place) = &error.place {
        for (file, line) in &place.included_from {
            problem = problem.hint(format!("included from {file}, line {line}"));
        }
    }
    problem.maybe_hint(error.hint.as_deref())
}
