//! `htc-router-translate convert`: routes of the old syntax as `JOB_ROUTER_ROUTE_<name>`, ready for a configuration.

use crate::classad::Dialect;
use std::io::Write;

use bstr::{BString, ByteSlice};
use clap::Args;
use serde::Serialize;

use crate::cli::common::{ConfigOptions, OutputOptions, Problem, Session as Program, Status, pipe_ends};
use crate::config::{CommandPolicy, Config, View, Who};
use crate::os::RealWorld;
use crate::quirks::Quirks;
use crate::router::deprecated::{self, OldRoute};
use crate::router::{Knobs, Reading, Route, RouteError, Subject};
use crate::transform::lint::{Runner, lint};

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigOptions,
    /// Write what became of each route as one JSON array
    #[arg(long, overrides_with = "jsonl", help_heading = "Output")]
    json: bool,
    /// The same as one JSON object a line
    #[arg(long, overrides_with = "json", help_heading = "Output")]
    jsonl: bool,
}

/// What became of a route, as `--json` tells it.
#[derive(Default, Serialize)]
struct Row {
    /// The parameter that the old route stands in.
    source: String,
    /// Its place there.
    number: usize,
    /// What the new route is called; without it there is none.
    name: Option<String>,
    /// The value of JOB_ROUTER_ROUTE_<name>.
    route: Option<String>,
    /// What is lost or to be looked at.
    problems: Vec<String>,
}

/// A name that can stand in a parameter's.
fn knob_name(name: &[u8], number: usize) -> String {
    let kept: String = name
        .iter()
        .map(|&byte| char::from(byte))
        .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '_' })
        .collect();
    if kept.trim_matches('_').is_empty() { format!("route{number}") } else { kept }
}

/// Carries it out: 0 when all routes were converted, 1 when one could not be.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let who = Who { subsystem: "JOB_ROUTER".into(), ..Who::default() };
    let load = arguments.config.load_options(CommandPolicy::BOUNDED);
    let (config, warnings) = Config::load(&world, &who, &load).map_err(Problem::of_config)?;
    warnings.iter().for_each(|warning| program.warn(&warning.to_string()));
    let world = world.strict(config.is_strict());
    let view = config.view(&world);
    let mut writer = Writer {
        view: &view,
        world: &world,
        program,
        out: Vec::new(),
        rows: Vec::new(),
        names: Vec::new(),
        failed: 0,
    };
    let routes = deprecated::routes(&view, &world, true, &mut |text| {
        writer.failed += 1;
        program.warn(&text);
    });
    if routes.is_empty() {
        program.warn(
            "there are no routes of the old syntax: JOB_ROUTER_ENTRIES, _FILE and _CMD are not set or empty",
        );
        return Ok(Status::No);
    }
    for route in &routes {
        let (source, number) = (route.source.to_string(), route.number);
        writer.rows.push(Row { source, number, ..Row::default() });
        writer.route(route);
    }
    let output = OutputOptions { json: arguments.json, jsonl: arguments.jsonl, ..OutputOptions::default() };
    if let Some(rows) = output.rows(&writer.rows)? {
        writer.out = rows.into_bytes();
    } else if !writer.names.is_empty() {
        writer.line(&[b"JOB_ROUTER_ROUTE_NAMES = ", writer.names.join(" ").as_bytes()]);
    }
    let mut stdout = pipe_ends().1;
    stdout.write_all(&writer.out)?;
    stdout.finish()?;
    Ok(if writer.failed > 0 { Status::No } else { Status::Done })
}

/// The new configuration while it is written.
struct Writer<'a> {
    view: &'a View<'a>,
    world: &'a RealWorld,
    program: &'a Program,
    out: Vec<u8>,
    rows: Vec<Row>,
    names: Vec<String>,
    failed: usize,
}

impl Writer<'_> {
    fn line(&mut self, parts: &[&[u8]]) {
        self.out.extend(parts.concat());
        self.out.push(b'\n');
    }

    /// Something is lost.
    fn fail(&mut self, text: &str) {
        self.failed += 1;
        self.warn(text);
    }

    /// Something about the present route is to be looked at.
    fn warn(&mut self, text: &str) {
        self.program.warn(text);
        if let Some(row) = self.rows.last_mut() {
            row.problems.push(text.to_owned());
        }
    }

    /// Writes a route that routers load, or says why there is none.
    fn route(&mut self, route: &OldRoute) {
        let place = format!("{} [{}]", route.source, route.number);
        let converted = match &route.converted {
            Ok(converted) => converted,
            Err(error) => return self.fail(&format!("{place}: {error}")),
        };
        for name in &converted.left_out {
            self.fail(&format!("{place}: '{name}' is left out: no statement can name it"));
        }
        let mut name = knob_name(&converted.name, self.names.len() + 1);
        if self.names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            self.warn(&format!(
                "{place}: a second route {name}; routers took the {}, here it gets a name of its own",
                if route.overrides == Some(false) { "first one" } else { "last one" }
            ));
            name = format!("{name}_{}", self.names.len() + 1);
        }
        let knobs = Knobs::load(self.view, &mut |_| {});
        let mut complaints = Vec::new();
        let mut say = |subject: Subject, _: BString| {
            if let Subject::Complaint(text) = subject {
                complaints.push(text);
            }
        };
        let (view, world) = (self.view, self.world);
        let with = Reading { view, knobs: &knobs, world, quirks: Quirks::None };
        let loaded = Route::load(name.as_bytes(), &converted.text, with, &mut say);
        complaints.iter().for_each(|text| self.warn(&format!("{place}: {text}")));
        if let Err(error) = loaded {
            let hint = match error {
                RouteError::NoRequirements => "; give it some, or set JOB_ROUTER_SOURCE_JOB_CONSTRAINT",
                _ => "",
            };
            let error = error.to_string();
            let text =
                format!("{place}: route {name} is left out, no router loads it: {}{hint}", error.trim_end());
            return self.fail(&text);
        }
        if let Ok(transform) = converted.transform(Dialect::of(world)) {
            let findings = lint(&transform, Runner::Router, Some(view), world);
            for finding in findings.iter().filter(|finding| finding.rule == "universe") {
                self.warn(&format!("{place}: {}; {}", finding.message, finding.fix));
            }
        }
        self.line(&[b"# from ", place.as_bytes()]);
        for comment in &route.comments {
            // A backslash at the end would draw the next line into the comment.
            let comment = comment.trim_end_with(|character| character == '\\').trim_end();
            self.line(&[b"# ", comment]);
        }
        self.line(&[format!("JOB_ROUTER_ROUTE_{name} @=route").as_bytes()]);
        let text: Vec<BString> = lines(&converted.text).collect();
        text.iter().for_each(|line| self.line(&[b"   ", line]));
        if let Some(row) = self.rows.last_mut() {
            row.route = Some(text.iter().map(|line| format!("{line}\n")).collect());
            row.name = Some(name.clone());
        }
        self.line(&[b"@route\n"]);
        self.names.push(name);
    }
}

/// The lines of a converted route without its name, which the parameter's says.
fn lines(text: &[u8]) -> impl Iterator<Item = BString> + '_ {
    text.lines()
        .map(ByteSlice::trim)
        .filter(|line| !line.is_empty() && !line.starts_with(b"NAME "))
        .map(Into::into)
}
