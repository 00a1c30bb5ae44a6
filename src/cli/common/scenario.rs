//! Scenarios of simulations, of slots and of routes: read from a file, and the jobs that they name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;

use super::{Problem, Session};
use crate::classad::references::Names;
use crate::runner::simulate::scenario::LARGEST;
use crate::runner::simulate::{Players, Scenario, Workload, WorkloadError};
use crate::text::Span;
use crate::text::caret::Caret;
use crate::world::World;

/// Reads a scenario (`-` is standard input); what it says to other players is told once.
pub(crate) fn read_scenario(
    path: &Path,
    seed: Option<u64>,
    players: Players,
    session: &Session,
) -> anyhow::Result<Scenario> {
    let name = path.display().to_string();
    let cannot = || Problem::unreadable(format!("cannot read '{name}'"));
    let mut bytes = Vec::new();
    let input: Box<dyn Read> =
        if name == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path).with_context(cannot)?) };
    input.take(LARGEST + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > LARGEST {
        let cause = io::Error::other(format!("a scenario has at most {} MiB", LARGEST >> 20));
        return Err(cannot().caused_by(cause).into());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let caret = Caret { source: &name, text: error.as_bytes(), span: Span::new(at, at + 1) };
        Problem::unreadable("a scenario is text (TOML in UTF-8)").at(&caret)
    })?;
    let mut scenario = Scenario::read(&text).map_err(|error| {
        let problem = Problem::unreadable(error.message.clone());
        let span = Span::new(error.span.start, error.span.end);
        let problem = problem.at(&Caret { source: &name, text: text.as_bytes(), span });
        match error.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    })?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    let others = match players {
        Players::Slots => "for routes (htc-router-translate simulate)",
        Players::Routes => "for slots (htc-slot-run simulate)",
    };
    for key in scenario.idle_keys(players) {
        session.warn(&format!("{name}: '{key}' is {others} and means nothing here"));
    }
    Ok(scenario)
}

/// The jobs of a scenario; files are looked for in `directory`, and of their ads what `asked` names is kept.
pub(crate) fn read_jobs(
    (scenario, start): (&Scenario, i64),
    directory: &Path,
    asked: Option<&Names>,
    world: &dyn World,
) -> anyhow::Result<Workload> {
    let mut open = |path: &Path| -> io::Result<Box<dyn BufRead>> {
        let file = File::open(directory.join(path))?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Box::new(BufReader::with_capacity(1 << 18, file)))
    };
    Workload::new(scenario, start, asked, world, &mut open).map_err(|error| {
        let text = error.to_string();
        match error {
            WorkloadError::File { source, .. } => Problem::unreadable(text).caused_by(source).into(),
            WorkloadError::Line { .. } | WorkloadError::Content { .. } => Problem::unreadable(text).into(),
        }
    })
}
