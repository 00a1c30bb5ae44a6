//! `simulate`: a scenario is played, and what came of it is printed or drawn.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;

use super::options::{Cli, SimulateOptions};
use super::simulate_out::{Pictures, Sink, standard_output, unwritten};
use super::simulate_play::play_side_by_side;
use super::simulate_ready::{Course, Ready, prepare, simulation};
use super::simulate_report::report;
use super::{simulate_compare, simulate_why};
use crate::cli::common::{EventsTo, JsonRows, Painter, Problem, Session, Status, print_out};
use crate::runner::events::Event as StreamEvent;
use crate::simulate::{Play, Played, Tell};
use crate::text::one_line::printable;

/// The scenario and where events go: the word behind `--events` may have been meant as the scenario.
fn scenario_and_events(options: &SimulateOptions) -> anyhow::Result<(&Path, Option<&EventsTo>)> {
    const OUT: &EventsTo = &EventsTo::Descriptor(1);
    match (&options.scenario, &options.events) {
        (Some(path), Some(EventsTo::File(file))) if file == Path::new("-") => Ok((path, Some(OUT))),
        (Some(path), events) => Ok((path, events.as_ref())),
        (None, Some(EventsTo::File(file))) if file != Path::new("-") => Ok((file, Some(OUT))),
        (None, _) => Err(Problem::usage("simulate: no scenario is given")
            .hint("'htc-slot-run simulate --init scenario.toml' writes one to begin with")
            .into()),
    }
}

pub(super) fn simulate(cli: &Cli, session: &Session, arguments: &SimulateOptions) -> anyhow::Result<Status> {
    if arguments.init {
        cli.output.is_text("--init")?;
        return init(arguments);
    }
    let (path, events) = scenario_and_events(arguments)?;
    let files = (arguments.svg.as_deref(), arguments.html.as_deref());
    let pictures = Pictures::to(files, (cli.end, session))?;
    let is_told = matches!(events, Some(EventsTo::Descriptor(1)));
    pictures.have_standard_output(is_told, cli.output.wants_json())?;
    let path = (path, arguments.seed);
    let ready = prepare((cli, session), path, None)?;
    let play = Play { every_poll: arguments.every_poll };
    if let Some(what) = &arguments.why {
        return simulate_why::why(cli, &Course { ready: &ready, play }, what);
    }
    if let Some(file) = &arguments.compare {
        let other = prepare((cli, session), path, Some(file))?;
        let courses = [&ready, &other].map(|ready| Course { ready, play });
        return simulate_compare::compare(cli, &courses, file);
    }
    pictures.open()?;
    if is_told {
        return stream(cli, &ready, play, &pictures);
    }
    let mut sink = events.map(|to| Sink::open(to, cli.end)).transpose()?;
    let mut tell = |_: f64, event: &StreamEvent| {
        if let Some(sink) = &mut sink {
            sink.write(event);
        }
    };
    let tell: Option<Tell<'_>> = if events.is_some() { Some(&mut tell) } else { None };
    let mut played = play_through(cli, &ready, (play, pictures.are_wanted()), (tell, &|| true))?;
    played.explain_silence(ready.origins());
    if !pictures.take_standard_output() {
        let text = cli.output.rows(std::slice::from_ref(&played.summary))?;
        print_out(text.unwrap_or_else(|| report(&played.summary, Painter::stdout(cli.output.color))))?;
    }
    // What is known is told, whatever cannot be written.
    pictures.draw(&played)?;
    sink.map_or(Ok(()), Sink::end)?;
    Ok(Status::Done)
}

/// The scenario that `--init` writes.
const FIRST: &str = include_str!("scenario.toml");

fn init(arguments: &SimulateOptions) -> anyhow::Result<Status> {
    match &arguments.scenario {
        None => print_out(FIRST)?,
        Some(path) => {
            let fail = || Problem::new(Status::Failed, format!("cannot write '{}'", path.display()));
            let mut file = File::create_new(path).with_context(fail)?;
            file.write_all(FIRST.as_bytes()).with_context(fail)?;
        }
    }
    Ok(Status::Done)
}

/// Plays it to its end, or as long as somebody listens; with a timeline if it is to be drawn.
fn play_through<'a>(
    cli: &Cli,
    ready: &'a Ready,
    (play, draws): (Play, bool),
    (tell, goes_on): (Option<Tell<'a>>, &dyn Fn() -> bool),
) -> anyhow::Result<Played> {
    let mut simulation = simulation(ready, play)?;
    if let Some(tell) = tell {
        simulation = simulation.telling(tell);
    }
    if draws {
        simulation = simulation.drawing();
    }
    play_side_by_side(cli, std::slice::from_mut(&mut simulation), &mut |_| goes_on())?;
    Ok(simulation.finish())
}

/// Tells all that happens on standard output.
fn stream(cli: &Cli, ready: &Ready, play: Play, pictures: &Pictures) -> anyhow::Result<Status> {
    let output = standard_output(cli.end)?;
    let mut output = JsonRows::new(output, cli.output.json);
    let failed = RefCell::new(None);
    let json = cli.output.wants_json();
    let mut tell = |at: f64, event: &StreamEvent| {
        let line = match json {
            true => serde_json::to_string(event).unwrap_or_default(),
            false => format!("{at:+10.3} {}", printable(&event.readable())),
        };
        if failed.borrow().is_none() {
            *failed.borrow_mut() = writeln!(output, "{line}").err();
        }
    };
    // Nothing is left to do for a reader who has seen enough.
    let goes_on = || pictures.are_wanted() || failed.borrow().is_none();
    let played = play_through(cli, ready, (play, pictures.are_wanted()), (Some(&mut tell), &goes_on))?;
    pictures.draw(&played)?;
    match failed.take().map_or_else(|| output.end(), Err) {
        Err(error) if error.kind() == ErrorKind::TimedOut => Err(unwritten(error, "standard output")),
        ended => ended.map(|()| Status::Done).context("standard output"),
    }
}
