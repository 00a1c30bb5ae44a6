//! `htc-router-translate simulate`: jobs over time with the routes' limits, failure rates and polling
//! periods.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::router_setup::{JsonObjectPrinter, RouterSetup};
use crate::cli::common::{
    ConfigOptions, OutputOptions, Painter, Problem, ProgramContext as Program, QuirksOptions, Status,
    open_stdio_pipe, read_jobs, read_scenario, render_table,
};
use crate::os::RealWorld;
use crate::picture::{BandCount, BandSample, draw_band_chart};
use crate::router::Router;
use crate::router::limits::format_throttle;
use crate::runner::configured_world;
use crate::simulate::SimulationKind;
use crate::simulate::router::{RouteSnapshot, RouterSimulation, RouterSnapshot, RouterTotals, simulate};
use crate::simulate::times::format_span;
use crate::time::ClockReading;
use crate::world::World;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct SimulateArguments {
    /// The scenario, in TOML: htc-scenario(5); 'htc-slot-run simulate --init' writes one to begin with
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Tell how all routes stand at each poll, or as often as 'every' in the scenario says, instead of a summary
    #[arg(long)]
    events: bool,
    /// Draw a timeline of the jobs of each route
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Random seed [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Tell what the router would log
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    quirks: QuirksOptions,
}

/// Runs the verb.
pub(super) fn run(arguments: &SimulateArguments, program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let path = &arguments.scenario;
    let scenario = read_scenario(path, arguments.seed, SimulationKind::Routes, program)?;
    let quirks = arguments.quirks.quirks;
    let mut config = arguments.config.clone();
    // Parameters of the scenario override those of files; those of the command line override both.
    config.param = scenario.knobs.0.clone().into_iter().chain(config.param).collect();
    let setup = RouterSetup::load(&config, quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    let start = scenario.start.to_epoch(|epoch| i64::from(world.zone(epoch).offset));
    let jobs = read_jobs((&scenario, path), start, (None, &world), program)?;
    let router = Router::new(setup.knobs, setup.table, quirks, ClockReading::from_epoch(start));
    let keeps = arguments.events || arguments.svg.is_some();
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
    let totals = simulate(simulation, router, &mut note, &mut log)
        .with_context(|| Problem::unreadable(format!("cannot play '{}'", path.display())))?;
    if let Some(path) = &arguments.svg {
        fs::write(path, draw_svg(&points))
            .with_context(|| Problem::new(Status::Failed, format!("cannot write '{}'", path.display())))?;
    }
    let mut out = open_stdio_pipe().1;
    let painter = Painter::stdout(arguments.output.color);
    if let Some(mut json) = JsonObjectPrinter::new(&arguments.output) {
        match arguments.events {
            true => points.iter().try_for_each(|point| json.print_object(&mut out, &point_to_json(point)))?,
            false => json.print_object(&mut out, &serde_json::to_value(&totals)?)?,
        }
        json.end(&mut out)?;
    } else if arguments.events {
        out.write_all(render_timeline(&points, painter).as_bytes())?;
    } else {
        out.write_all(render_summary(&totals, painter).as_bytes())?;
    }
    out.finish()?;
    Ok(Status::Done)
}

/// Formats the results on one screen.
fn render_summary(totals: &RouterTotals, painter: Painter) -> String {
    let RouterTotals { length, came, finished, failed, waiting, mean_wait, longest_wait, routes, .. } =
        totals;
    let never = match totals.never_routed {
        0 => String::new(),
        never => format!("; {never} never got one, counted to the end"),
    };
    let mut text = format!(
        "{}: {came} jobs came, {finished} finished, {waiting} wait for a route at the end; {failed} copies were removed\n\
         they waited for a route {} on average, {} at most{never}\n",
        format_span(*length),
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

/// Draws one band per route whose height is the number of its jobs; red while the route is throttled.
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
