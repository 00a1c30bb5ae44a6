//! `htc-router-translate simulate`: simulates the routing of jobs over time, with limits, failure rates and polling periods of
//! routes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::router_setup::{JsonObjectPrinter, RouterSetup};
use crate::cli::common::{
    ConfigOptions, EventTarget, OutputOptions, Painter, Problem, ProgramContext, QuirksOptions, RowOptions,
    RowOrderOptions, SimulationEvents, Status, find_scenario_and_events, open_stdio_pipe, parse_event_target,
    read_jobs, read_scenario, render_table, write_report_file,
};
use crate::os::{LineOutput, RealWorld};
use crate::picture::{BandCount, BandSample, draw_band_chart};
use crate::router::Router;
use crate::router::limits::format_throttle;
use crate::runner::configured_world;
use crate::simulate::SimulationKind;
use crate::simulate::router::{RouteSnapshot, RouterSimulation, RouterSnapshot, RouterTotals, simulate};
use crate::simulate::times::format_span;
use crate::text::plural::counted;
use crate::time::ClockReading;
use crate::world::World;

/// Options of the verb `simulate`.
#[derive(Args, Debug)]
pub(super) struct SimulateArguments {
    /// Scenario file (TOML), see htc-scenario(5)
    #[arg(value_name = "SCENARIO")]
    scenario: Option<PathBuf>,
    /// Append JSON events to FILE or fd:N, or print them as text
    ///
    /// If FILE is not given, the state of all routes is printed as text at each poll, or at the interval 'every'
    /// of the scenario, instead of the summary. If FILE is given, the states are written as JSON, and the summary
    /// is printed.
    #[arg(
        long,
        value_name = "FILE|fd:N",
        value_parser = parse_event_target,
        num_args = 0..=1,
        default_missing_value = "-"
    )]
    events: Option<EventTarget>,
    /// Write a timeline of the jobs of each route to FILE, as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The default is the seed of the scenario.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the log messages of the router
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    rows: RowOptions,
    #[command(flatten)]
    order: RowOrderOptions,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    quirks: QuirksOptions,
}

/// Keys of the totals of a route.
const ROUTE_KEYS: [&str; 7] = ["name", "routed", "finished", "failed", "most", "mean", "throttled"];

/// Runs the verb `simulate`.
pub(super) fn run(arguments: &SimulateArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let (path, events) = find_scenario_and_events(arguments.scenario.as_deref(), arguments.events.as_ref())?;
    let prints_timeline = matches!(events, Some(SimulationEvents::Printed));
    let uses_stdout = events.is_some_and(SimulationEvents::use_stdout);
    if let (Some(option), true) = (arguments.rows.given_option(), uses_stdout) {
        return Err(Problem::usage(format!(
            "{option} applies to the routes of the summary; it cannot be used with --events"
        ))
        .into());
    }
    if uses_stdout {
        arguments.order.refuse("--events")?;
    }
    let draws_on_stdout = arguments.svg.as_deref() == Some(Path::new("-"));
    let has_rows = arguments.output.wants_json() || arguments.rows.given_option().is_some();
    if draws_on_stdout && (uses_stdout || has_rows) {
        return Err(Problem::usage("a picture and other output are both for standard output").into());
    }
    // The target of events is opened before other files, because one of them could otherwise get the number of the
    // requested descriptor.
    let mut sink = match events {
        Some(SimulationEvents::Written(target)) => Some(target.open()?),
        Some(SimulationEvents::Printed) | None => None,
    };
    let scenario = read_scenario(path, arguments.seed, SimulationKind::Routes, program)?;
    let quirks = arguments.quirks.quirks;
    let mut config = arguments.config.clone();
    // Parameters of the scenario override those of files, and parameters of the command line override both.
    config.param = scenario.knobs.0.clone().into_iter().chain(config.param).collect();
    let setup = RouterSetup::load(&config, quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    let start = scenario.start.to_epoch(|epoch| i64::from(world.zone(epoch).offset));
    let jobs = read_jobs(&scenario, path, start, None, &world, program)?;
    let router = Router::new(setup.parameters, setup.table, quirks, ClockReading::from_epoch(start));
    let keeps = events.is_some() || arguments.svg.is_some();
    let mut points: Vec<RouterSnapshot> = Vec::new();
    let mut note = |point: &RouterSnapshot| {
        if keeps {
            points.push(point.clone());
        }
    };
    let mut log = |time: u64, text: &str| {
        if arguments.trace {
            program.write_stderr(&format!("{time:>8} {text}\n"));
        }
    };
    let simulation = RouterSimulation { scenario: &scenario, jobs, start, view: &view, world: &world };
    let mut totals = simulate(simulation, router, &mut note, &mut log)
        .with_context(|| Problem::unreadable(format!("cannot play '{}'", path.display())))?;
    totals.routes = arguments.order.apply_to_rows(totals.routes, program)?;
    if let Some(path) = &arguments.svg {
        write_report_file(path, draw_svg(&points).as_bytes())?;
    }
    if let Some(sink) = &mut sink {
        write_events(sink, &points)?;
    }
    if draws_on_stdout {
        return Ok(Status::Done);
    }
    let mut out = open_stdio_pipe().1;
    let painter = Painter::stdout(arguments.output.color);
    if let Some(mut json) = JsonObjectPrinter::new(&arguments.output) {
        match prints_timeline {
            true => points.iter().try_for_each(|point| json.print_object(&mut out, &point_to_json(point)))?,
            false => json.print_object(&mut out, &serde_json::to_value(&totals)?)?,
        }
        json.end(&mut out)?;
    } else if let Some(rows) = arguments.rows.render(&totals.routes, &ROUTE_KEYS)? {
        out.write_all(&rows)?;
    } else if prints_timeline {
        out.write_all(render_timeline(&points, painter).as_bytes())?;
    } else {
        out.write_all(render_summary(&totals, painter).as_bytes())?;
    }
    out.finish()?;
    Ok(Status::Done)
}

/// Writes the states of all routes at each poll, as one JSON object per line.
fn write_events(sink: &mut LineOutput, points: &[RouterSnapshot]) -> anyhow::Result<()> {
    let problem = || Problem::new(Status::Failed, "cannot write the events");
    for point in points {
        let mut line = serde_json::to_vec(&point_to_json(point))?;
        line.push(b'\n');
        sink.write_line(line).with_context(problem)?;
        // If the reader of the events is slow, the program waits for it.
        while sink.has_pending_lines() && !sink.is_disk_full() {
            sink.finish(Duration::from_secs(1));
            sink.flush().with_context(problem)?;
        }
        if sink.is_disk_full() {
            return Err(anyhow::Error::from(io::Error::from(io::ErrorKind::StorageFull)).context(problem()));
        }
    }
    Ok(())
}

/// Formats a summary of the simulation that fits on one screen.
fn render_summary(totals: &RouterTotals, painter: Painter) -> String {
    let RouterTotals { length, arrived, finished, failed, waiting, mean_wait, longest_wait, routes, .. } =
        totals;
    let never = match totals.never_routed {
        0 => String::new(),
        never => format!("; {never} never got a route and are counted until the end"),
    };
    let mut text = format!(
        "{}: {} arrived, {finished} finished, {waiting} without a route at the end, {failed} removed as routed jobs\n\
         wait for a route: {} on average, {} at most{never}\n",
        format_span(*length),
        counted(*arrived, "job"),
        format_span(*mean_wait),
        format_span(*longest_wait)
    );
    for why in &totals.why_waiting {
        text += &format!("not routed: {}: {}\n", why.jobs, why.reason);
    }
    text.push('\n');
    let columns = ["<ROUTE", ">ROUTED", ">FINISHED", ">REMOVED", ">AT MOST", ">ON AVERAGE", ">THROTTLED"];
    let rows = routes.iter().map(|route| {
        [
            route.name.to_string(),
            route.routed.to_string(),
            route.finished.to_string(),
            route.failed.to_string(),
            route.most.to_string(),
            format!("{:.1}", route.mean),
            format_span(route.throttled),
        ]
    });
    text += &render_table(&columns, rows, painter);
    text
}

fn point_to_json(point: &RouterSnapshot) -> serde_json::Value {
    let routes: Vec<_> = point
        .routes
        .iter()
        .map(|route| {
            json!({
                "route": route.name.to_string(),
                "jobs": route.jobs,
                "running": route.running,
                "throttle": route.throttle,
            })
        })
        .collect();
    json!({
        "time": point.time,
        "waiting": point.waiting,
        "finished": point.finished,
        "failed": point.failed,
        "routes": routes,
    })
}

fn render_timeline(points: &[RouterSnapshot], painter: Painter) -> String {
    let columns = [">TIME", ">WAITING", ">FINISHED", ">FAILED", "<ROUTE", ">JOBS", ">RUNNING", "<THROTTLE"];
    let rows = points.iter().flat_map(|point| {
        point.routes.iter().enumerate().map(|(at, route)| {
            let head = |text: String| if at == 0 { text } else { String::new() };
            [
                head(point.time.to_string()),
                head(point.waiting.to_string()),
                head(point.finished.to_string()),
                head(point.failed.to_string()),
                route.name.to_string(),
                route.jobs.to_string(),
                route.running.to_string(),
                format_throttle(route.throttle).to_string(),
            ]
        })
    });
    render_table(&columns, rows, painter)
}

/// Draws one band per route. Its height is the number of the route's jobs; it is red while the route is throttled.
fn draw_svg(points: &[RouterSnapshot]) -> String {
    let names = points.first().map_or(&[][..], |point| &point.routes);
    let names: Vec<String> = names.iter().map(|route| route.name.to_string()).collect();
    let count = |route: &RouteSnapshot| BandCount {
        all: route.jobs,
        running: route.running,
        throttled: route.throttle > 0.0,
    };
    let moment = |point: &RouterSnapshot| BandSample {
        time: point.time,
        counts: point.routes.iter().map(count).collect(),
    };
    draw_band_chart(&names, &points.iter().map(moment).collect::<Vec<_>>())
}
