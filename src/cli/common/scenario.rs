//! Reading of scenarios, and of the jobs that they name, for simulations of slots and routes.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::Path;

use anyhow::Context;

use super::{
    EventTarget, OpenInput, Problem, ProgramContext, malformed_ad_problem, open_input, open_stdio_pipe,
};
use crate::classad::Dialect;
use crate::classad::references::AttrNames;
use crate::os::{RealWorld, read_at_most};
use crate::simulate::scenario::MAX_SCENARIO_BYTES;
use crate::simulate::{
    JobFiles, Scenario, ScenarioError, SimulationKind, SkippedAd, Workload, WorkloadError,
};
use crate::text::Span;
use crate::text::caret::Caret;
use crate::world::World;

/// Output mode for the events of a simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SimulationEvents<'a> {
    /// Events are printed as text instead of the summary (`--events` without a value).
    Printed,
    /// Events are written as JSON to this target.
    Written(&'a EventTarget),
}

impl SimulationEvents<'_> {
    /// True if the events are written to standard output.
    pub(crate) fn use_stdout(self) -> bool {
        matches!(self, SimulationEvents::Printed | SimulationEvents::Written(EventTarget::Descriptor(1)))
    }
}

/// Returns the scenario of a simulation, and the output mode of its events. If `--events` precedes the scenario, clap takes the
/// scenario as its optional value; the events are then printed.
///
/// # Errors
/// Returns an error if no scenario is given.
pub(crate) fn find_scenario_and_events<'a>(
    scenario: Option<&'a Path>,
    events: Option<&'a EventTarget>,
) -> anyhow::Result<(&'a Path, Option<SimulationEvents<'a>>)> {
    match (scenario, events) {
        (Some(path), Some(EventTarget::File(file))) if file == Path::new("-") => {
            Ok((path, Some(SimulationEvents::Printed)))
        }
        (Some(path), events) => Ok((path, events.map(SimulationEvents::Written))),
        (None, Some(EventTarget::File(file))) if file != Path::new("-") => {
            Ok((file, Some(SimulationEvents::Printed)))
        }
        (None, _) => Err(Problem::usage("simulate: no scenario is given")
            .hint("'htc-slot-run simulate --init scenario.toml' writes a first one")
            .into()),
    }
}

/// Reads a scenario; `-` is standard input. Warns once about each key that only the other kind of simulation uses.
pub(crate) fn read_scenario(
    path: &Path,
    seed: Option<u64>,
    kind: SimulationKind,
    session: &ProgramContext,
) -> anyhow::Result<Scenario> {
    let name = path.display().to_string();
    let cannot_read = || Problem::cannot_read(&name);
    let input = OpenInput::open(path, open_stdio_pipe().0)?;
    let bytes = read_at_most(input.reader, MAX_SCENARIO_BYTES).with_context(cannot_read)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let caret = Caret { source: &name, text: error.as_bytes(), span: Span::new(at, at + 1) };
        Problem::unreadable("a scenario is text (TOML in UTF-8)").at(&caret)
    })?;
    let to_problem = |error: ScenarioError| {
        let span = Span::new(error.span.start, error.span.end);
        let caret = Caret { source: &name, text: text.as_bytes(), span };
        let problem = Problem::unreadable(error.message).at(&caret);
        problem.maybe_hint(error.hint)
    };
    let mut scenario = Scenario::parse(&text).map_err(&to_problem)?;
    let world = RealWorld::new();
    let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
    scenario.validate_times(&offset).map_err(&to_problem)?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    let others = match kind {
        SimulationKind::Slots => "for routes (htc-router-translate simulate)",
        SimulationKind::Routes => "for slots (htc-slot-run simulate)",
    };
    for key in scenario.unused_keys(kind) {
        session.warn(&format!("{name}: '{key}' is {others} and has no effect here"));
    }
    for key in scenario.keys_ignored_with_from() {
        session.warn(&format!("{name}: '{key}' has no effect with 'from': the ads of the file set it"));
    }
    Ok(scenario)
}

/// Creates the problem for a value in a table of a scenario, with its location.
pub(crate) fn scenario_problem(
    message: String,
    scenario: &Scenario,
    path: &Path,
    table: &str,
    index: usize,
    key: &str,
) -> Problem {
    let span = scenario.span_of_key(table, index, key);
    let name = path.display().to_string();
    let caret =
        Caret { source: &name, text: scenario.text().as_bytes(), span: Span::new(span.start, span.end) };
    Problem::unreadable(message).at(&caret)
}

/// Returns the file and line of the scenario that set a parameter to this value.
pub(crate) fn find_param_line(
    scenario: &Scenario,
    path: &Path,
    name: &str,
    value: &str,
) -> Option<(String, usize)> {
    Some((path.display().to_string(), scenario.line_of_parameter(name, value)?))
}

/// Maximum number of skipped ads that are reported individually.
const MAX_SKIPPED_AD_WARNINGS: u64 = 5;

/// Reads the jobs of the scenario. Relative file names are resolved in the directory of the scenario. Only the
/// attributes in `referenced_names` are kept. Skipped ads are reported.
pub(crate) fn read_jobs(
    scenario: &Scenario,
    path: &Path,
    start: i64,
    referenced_names: Option<&AttrNames>,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Workload> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let session = session.with_dialect(Dialect::of_world(world));
    let mut failed = None;
    let mut open = |file: &Path| -> io::Result<Box<dyn BufRead>> {
        match open_input(&directory.join(file), open_stdio_pipe().0, &session) {
            Ok((reader, _)) => Ok(Box::new(reader)),
            Err(error) => {
                failed = Some(error);
                Err(io::Error::other("it cannot be opened"))
            }
        }
    };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut report_skipped = |file: &str, reason: SkippedAd<'_>| {
        let count = counts.entry(file.to_owned()).or_default();
        *count += 1;
        if *count > MAX_SKIPPED_AD_WARNINGS {
            return;
        }
        match reason {
            // An ad with an invalid attribute is skipped as a whole.
            SkippedAd::InvalidAttribute(error) => session.report(&malformed_ad_problem(error, file).into()),
            SkippedAd::NoQueueDate { line } => {
                session.warn(&format!(
                    "{file}:{line}: this ad has no QDate, so the arrival of its job is unknown"
                ));
            }
        }
    };
    let files = JobFiles { open: &mut open, on_skipped: &mut report_skipped };
    let jobs = Workload::new(scenario, start, referenced_names, world, files);
    for (file, count) in counts {
        let (ads, are) = if count == 1 { ("ad", "is") } else { ("ads", "are") };
        session.warn(&format!("{file}: {count} {ads} cannot be simulated and {are} left out"));
    }
    let jobs = jobs.map_err(|error| workload_problem(error, scenario, path, failed))?;
    for note in jobs.notes() {
        session.warn(note);
    }
    Ok(jobs)
}

/// Creates the error for jobs that cannot be read. `failed` is the error of a file that could not be opened, or `None`.
fn workload_problem(
    error: WorkloadError,
    scenario: &Scenario,
    path: &Path,
    failed: Option<anyhow::Error>,
) -> anyhow::Error {
    let text = error.to_string();
    match (error, failed) {
        (WorkloadError::Line { group, .. }, _) => {
            scenario_problem(text, scenario, path, "jobs", group - 1, "ad").into()
        }
        (WorkloadError::File { group, .. }, Some(failed)) => scenario_problem(
            format!("jobs {group}: 'from': {failed:#}"),
            scenario,
            path,
            "jobs",
            group - 1,
            "from",
        )
        .into(),
        (WorkloadError::File { group, source, .. }, None) => {
            scenario_problem(format!("{text}: {source}"), scenario, path, "jobs", group - 1, "from").into()
        }
        (WorkloadError::Content { group, .. }, _) => {
            scenario_problem(text, scenario, path, "jobs", group - 1, "from").into()
        }
    }
}
