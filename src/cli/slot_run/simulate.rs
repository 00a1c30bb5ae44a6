//! Playing a scenario.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::load::{self, Loaded};
use super::options::Cli;
use crate::cli::common::{Problem, Session, Status, pipe_ends};
use crate::os::RealWorld;
use crate::runner::slot::{Scenario, Simulation};
use crate::text::Span;
use crate::text::caret::Caret;

pub(super) fn simulate(cli: &Cli, session: &Session, path: &Path) -> anyhow::Result<Status> {
    let text = std::fs::read_to_string(path)
        .with_context(|| Problem::unreadable(format!("cannot read '{}'", path.display())))?;
    let scenario: Scenario = toml::from_str(&text).map_err(|error| {
        let problem = Problem::unreadable(error.message().to_owned());
        let span = error.span().unwrap_or(0..0);
        let name = path.display().to_string();
        let caret = Caret { source: &name, text: text.as_bytes(), span: Span::new(span.start, span.end) };
        problem.at(&caret)
    })?;
    let Loaded { settings, warnings, .. } = load::load_with(cli, &scenario.knobs)?;
    // That hooks are missing does not matter: none is run.
    let of_hooks = |warning: &&String| !warning.contains("_HOOK_");
    load::warn(session, &warnings.iter().filter(of_hooks).cloned().collect::<Vec<_>>());
    let world = RealWorld::new().seeded(1);
    let simulation = Simulation::new(settings, &scenario, std::rc::Rc::new(world));
    let (_, mut output) = pipe_ends();
    let mut failed = None;
    let json = cli.output.json || cli.output.jsonl;
    let ran = simulation.run(scenario.until, |at, event| {
        let line = match json {
            true => serde_json::to_string(event).unwrap_or_default(),
            false => format!("{at:+10.3} {}", event.readable()),
        };
        if let Err(error) = writeln!(output, "{line}") {
            failed.get_or_insert(error);
        }
    });
    ran.map_err(|error| Problem::unreadable(format!("{}: {error}", path.display())))?;
    match failed {
        Some(error) => Err(error).context("standard output"),
        None => Ok(output.flush().map(|()| Status::Done).context("standard output")?),
    }
}
