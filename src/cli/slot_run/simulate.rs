//! `simulate`: runs a scenario, and prints or draws the results.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;

use super::options::{SimulateOptions, SlotRunCli};
use super::simulate_output::{EventWriter, PictureFiles, unwritten_events_problem, waiting_stdout};
use super::simulate_progress::run_side_by_side;
use super::simulate_report::render_summary;
use super::simulate_setup::{PreparedSimulation, SimulationRun, prepare_simulation, start_simulation};
use super::{simulate_compare, simulate_why};
use crate::cli::common::{
    JsonLineWriter, Painter, Problem, ProgramContext, SimulationEvents, Status, find_scenario_and_events,
    write_to_stdout,
};
use crate::runner::events::RunnerEvent;
use crate::simulate::{EventSink, SimulationOptions, SimulationResult};
use crate::text::control_characters::mask_control_characters;

/// Keys of the summary of an owner.
const OWNER_KEYS: [&str; 15] = [
    "name",
    "arrived",
    "completed",
    "failed",
    "starts",
    "preempted",
    "suspended",
    "held",
    "dropped",
    "running",
    "waiting",
    "never_run",
    "goodput",
    "badput",
    "waits",
];

pub(super) fn simulate(
    cli: &SlotRunCli,
    session: &ProgramContext,
    arguments: &SimulateOptions,
) -> anyhow::Result<Status> {
    if arguments.init {
        cli.output.refuse_json("--init")?;
        return print_initial_scenario(arguments);
    }
    let (path, events) = find_scenario_and_events(arguments.scenario.as_deref(), arguments.events.as_ref())?;
    let files = (arguments.svg.as_deref(), arguments.html.as_deref());
    let pictures = PictureFiles::from_paths(files.0, files.1, cli.end, session)?;
    let prints_events = matches!(events, Some(SimulationEvents::Printed));
    let uses_stdout = events.is_some_and(SimulationEvents::use_stdout);
    pictures.refuse_stdout_conflict(uses_stdout, cli.output.wants_json())?;
    let has_rows = arguments.rows.given_option().or(arguments.order.given_option());
    let other = [
        ("--why", arguments.why.is_some()),
        ("--compare", arguments.compare.is_some()),
        ("--events", uses_stdout),
    ];
    if let (Some(option), Some((other, _))) = (has_rows, other.into_iter().find(|(_, is_given)| *is_given)) {
        return Err(Problem::usage(format!(
            "{option} applies to the owners of the summary; it cannot be used with {other}"
        ))
        .into());
    }
    let path = (path, arguments.seed);
    let ready = prepare_simulation(cli, session, path.0, path.1, None)?;
    let run_options = SimulationOptions { every_poll: arguments.every_poll };
    if let Some(what) = &arguments.why {
        return simulate_why::answer_why(cli, &SimulationRun { ready: &ready, run_options }, what);
    }
    if let Some(file) = &arguments.compare {
        let other = prepare_simulation(cli, session, path.0, path.1, Some(file))?;
        let runs = [&ready, &other].map(|ready| SimulationRun { ready, run_options });
        return simulate_compare::compare_simulations(cli, &runs, file);
    }
    pictures.check_writable()?;
    if prints_events {
        return stream_events(cli, &ready, run_options, &pictures);
    }
    let mut sink = match events {
        Some(SimulationEvents::Written(to)) => Some(EventWriter::open(to, cli.end)?),
        Some(SimulationEvents::Printed) | None => None,
    };
    let mut record_event = |_: f64, event: &RunnerEvent| {
        if let Some(sink) = &mut sink {
            sink.write(event);
        }
    };
    let record_event: Option<EventSink<'_>> = if events.is_some() { Some(&mut record_event) } else { None };
    let mut played = run_to_end(cli, &ready, run_options, pictures.are_wanted(), record_event, &|| true)?;
    played.explain_unfetched_jobs(ready.setting_locations());
    let owners = std::mem::take(&mut played.summary.owners);
    played.summary.owners = arguments.order.apply_to_rows(owners, session)?;
    if let (Some(rows), false) =
        (arguments.rows.render(&played.summary.owners, &OWNER_KEYS)?, pictures.uses_stdout())
    {
        write_to_stdout(rows)?;
    } else if !pictures.uses_stdout() {
        let text = cli.output.render_json(std::slice::from_ref(&played.summary))?;
        write_to_stdout(text.unwrap_or_else(|| {
            let text = render_summary(&played.summary, Painter::stdout(cli.output.color));
            if cli.output.quiet { without_notes(&text) } else { text }
        }))?;
    }
    // The pictures are drawn after the report, so that the report is printed even if a picture cannot be written.
    pictures.draw(&played)?;
    sink.map_or(Ok(()), EventWriter::end)?;
    Ok(Status::Done)
}

/// Returns a report without its notes.
fn without_notes(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("note: ")).collect()
}

/// Content of the scenario that `--init` writes.
const INITIAL_SCENARIO: &str = include_str!("scenario.toml");

fn print_initial_scenario(arguments: &SimulateOptions) -> anyhow::Result<Status> {
    match &arguments.scenario {
        None => write_to_stdout(INITIAL_SCENARIO)?,
        Some(path) if path == Path::new("-") => write_to_stdout(INITIAL_SCENARIO)?,
        Some(path) => {
            let fail = || Problem::new(Status::Failed, format!("cannot write '{}'", path.display()));
            let mut file = File::create_new(path).with_context(fail)?;
            file.write_all(INITIAL_SCENARIO.as_bytes()).with_context(fail)?;
        }
    }
    Ok(Status::Done)
}

/// Runs the simulation to its end, or until `should_continue` returns false. Records a timeline if a picture is
/// requested.
fn run_to_end<'a>(
    cli: &SlotRunCli,
    ready: &'a PreparedSimulation,
    run_options: SimulationOptions,
    draws: bool,
    event_sink: Option<EventSink<'a>>,
    should_continue: &dyn Fn() -> bool,
) -> anyhow::Result<SimulationResult> {
    let mut simulation = start_simulation(ready, run_options)?;
    if let Some(event_sink) = event_sink {
        simulation = simulation.with_event_sink(event_sink);
    }
    if draws {
        simulation = simulation.with_timeline();
    }
    run_side_by_side(cli, std::slice::from_mut(&mut simulation), &mut |_| should_continue())?;
    Ok(simulation.finish())
}

/// Runs the simulation, and prints all events to standard output.
fn stream_events(
    cli: &SlotRunCli,
    ready: &PreparedSimulation,
    run_options: SimulationOptions,
    pictures: &PictureFiles,
) -> anyhow::Result<Status> {
    let output = waiting_stdout(cli.end)?;
    let mut output = JsonLineWriter::new(output, cli.output.json);
    let failed = RefCell::new(None);
    let json = cli.output.wants_json();
    let mut print_event = |at: f64, event: &RunnerEvent| {
        let line = match json {
            true => serde_json::to_string(event).unwrap_or_default(),
            false => format!("{at:+10.3} {}", mask_control_characters(&event.to_readable_line())),
        };
        if failed.borrow().is_none() {
            *failed.borrow_mut() = writeln!(output, "{line}").err();
        }
    };
    // If the reader has closed the pipe and no picture is requested, the simulation can stop.
    let should_continue = || pictures.are_wanted() || failed.borrow().is_none();
    let played =
        run_to_end(cli, ready, run_options, pictures.are_wanted(), Some(&mut print_event), &should_continue)?;
    pictures.draw(&played)?;
    match failed.take().map_or_else(|| output.end(), Err) {
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            Err(unwritten_events_problem(error, "standard output"))
        }
        ended => ended.map(|()| Status::Done).context("standard output"),
    }
}
