//! `htc-router-translate simulate`: jobs over time through the routes' limits, failure rates and polling periods.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::router::{JsonRows, Setup};
use crate::cli::common::{
    Column, ConfigOptions, OutputOptions, Painter, Problem, QuirksOptions, Session as Program, Status,
    pipe_ends, table,
};
use crate::os::RealWorld;
use crate::router::Router;
use crate::router::limits::throttle_text;
use crate::runner::router::{Point, Scenario, simulate};
use crate::time::Now;

/// The largest scenario, in bytes.
const LARGEST: u64 = 16 << 20;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The scenario (TOML): duration, and [[jobs]] with count, at, every, ad, wait, run, fail, exit
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Draw a timeline of the jobs of each route
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
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

/// Carries it out.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let name = arguments.scenario.display().to_string();
    let text = scenario_text(&arguments.scenario)
        .with_context(|| Problem::unreadable(format!("cannot read '{name}'")))?;
    let scenario: Scenario =
        toml::from_str(&text).map_err(|error| Problem::unreadable(format!("{name}: {error}")))?;
    let quirks = arguments.quirks.quirks;
    let setup = Setup::load(&arguments.config, quirks, &world, program)?;
    let view = setup.config.view(&world);
    let router = Router::new(setup.knobs, setup.table, quirks, Now::at_epoch(scenario.start));
    let mut points: Vec<Point> = Vec::new();
    let mut log = |time: u64, text: &str| {
        if arguments.trace {
            program.tell(&format!("{time:>8} {text}\n"));
        }
    };
    simulate(&scenario, router, &view, &world, &mut |point| points.push(point.clone()), &mut log)
        .with_context(|| Problem::unreadable(format!("cannot play '{name}'")))?;
    if let Some(path) = &arguments.svg {
        fs::write(path, svg(&points))
            .with_context(|| Problem::new(Status::Failed, format!("cannot write '{}'", path.display())))?;
    }
    let mut out = pipe_ends().1;
    if let Some(mut json) = JsonRows::new(&arguments.output) {
        for point in &points {
            json.row(&mut out, &object(point))?;
        }
        json.end(&mut out)?;
    } else {
        out.write_all(rows(&points, Painter::stdout(arguments.output.color)).as_bytes())?;
    }
    out.finish()?;
    Ok(Status::Done)
}

/// The text of a scenario, as far as one is read.
fn scenario_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LARGEST {
        true => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a scenario has at most {} MiB", LARGEST >> 20),
        )),
        false => Ok(text),
    }
}

fn object(point: &Point) -> serde_json::Value {
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

fn rows(points: &[Point], painter: Painter) -> String {
    let columns = [
        Column::right("TIME"),
        Column::right("WAITING"),
        Column::right("FINISHED"),
        Column::right("FAILED"),
        Column::left("ROUTE"),
        Column::right("JOBS"),
        Column::right("RUNNING"),
        Column::left("THROTTLE"),
    ];
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
                throttle_text(route.throttle).to_string(),
            ]
        })
    });
    table(&columns, rows, painter)
}

/// A drawing: one line a route, its height the number of its jobs; red where it is throttled.
fn svg(points: &[Point]) -> String {
    const WIDTH: f64 = 900.0;
    const BAND: f64 = 80.0;
    let last = points.last().map_or(1, |point| point.time.max(1)) as f64;
    let routes = points.first().map_or(0, |point| point.routes.len());
    let height = BAND * routes as f64 + 30.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n",
        WIDTH + 120.0
    );
    for at in 0..routes {
        let most = points.iter().map(|point| point.routes[at].jobs).max().unwrap_or(0).max(1) as f64;
        let base = BAND * (at as f64 + 1.0);
        let name = points[0].routes[at].name.to_string();
        let name = name.replace('&', "&amp;").replace('<', "&lt;");
        out.push_str(&format!("<text x=\"4\" y=\"{}\">{name} (up to {most})</text>\n", base - BAND + 14.0));
        for (kind, color) in [(false, "#7aa6d8"), (true, "#3f6fa8")] {
            let mut path = format!("M 100 {base}");
            for point in points {
                let value = if kind { point.routes[at].running } else { point.routes[at].jobs } as f64;
                let (x, y) = (100.0 + WIDTH * point.time as f64 / last, base - value / most * (BAND - 24.0));
                path.push_str(&format!(" L {x:.1} {y:.1}"));
            }
            path.push_str(&format!(" L {} {base} Z", 100.0 + WIDTH));
            out.push_str(&format!("<path d=\"{path}\" fill=\"{color}\"/>\n"));
        }
        for pair in points.windows(2).filter(|pair| pair[0].routes[at].throttle > 0.0) {
            let x = |point: &Point| 100.0 + WIDTH * point.time as f64 / last;
            out.push_str(&format!(
                "<rect x=\"{:.1}\" y=\"{}\" width=\"{:.1}\" height=\"3\" fill=\"#c33\"/>\n",
                x(&pair[0]),
                base - 3.0,
                x(&pair[1]) - x(&pair[0])
            ));
        }
    }
    out.push_str(&format!("<text x=\"100\" y=\"{}\">0 s</text>\n", height - 10.0));
    out.push_str(&format!("<text x=\"{}\" y=\"{}\">{last} s</text>\n</svg>\n", WIDTH + 50.0, height - 10.0));
    out
}
