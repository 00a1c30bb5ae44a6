//! `htc-router-status`: routed jobs in the queue and in history.

mod cell_text;
mod job_counts;
mod job_reader;
mod options;
mod output_form;

use std::borrow::Cow;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use clap::FromArgMatches;
use serde_json::json;

use self::cell_text::{age_text, status_letter};
pub(super) use self::job_reader::read_configured_queue;
use self::job_reader::{PastAds, read_queue_log_file};
use self::options::{RoutedJobOptions, RouterStatusCli, RouterStatusVerb};
use self::output_form::{Renderable, StatusOutputForm};
use super::common::{
    CompatTool, Example, Manual, Painter, Problem, Program, ProgramContext, Status, exit_when_reader_is_gone,
    program_command, render_objects, render_table, write_to_stdout,
};
use super::compat::{condor_router_history, condor_router_q};
use crate::classad::format::json::{self, JsonLayout};
use crate::classad::{ClassAd, Context, Dialect, Expr};
use crate::config::{Config, LookupContext};
use crate::job::JobStatus;
use crate::queue::list_history_files;
use crate::router::job_pairs::{self, JobPair, PairProblem, flattened_jobs};
use crate::router::{Route, RouteLoadContext, RouteTable, RouterParameters};
use crate::text::calendar::CivilTime;
use crate::world::World;

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: "htc-router-status",
    command: make_command,
    manual: &MANUAL,
    run: |matches, session| run(&RouterStatusCli::from_arg_matches(matches)?, session),
    compat: &[
        CompatTool { tool: "condor_router_history", run: condor_router_history::run },
        CompatTool { tool: "condor_router_q", run: condor_router_q::run },
    ],
};

/// Returns the clap definition; rarely used options appear only in `--help-all`.
fn make_command() -> clap::Command {
    const RARE_OPTIONS: [&str; 12] = [
        "ads",
        "strict_input",
        "param",
        "no_env",
        "long",
        "jsonl",
        "quiet",
        "color",
        "now",
        "seed",
        "limit",
        "patience",
    ];
    program_command::<RouterStatusCli>("htc-router-status", &MANUAL).mut_args(|arg| {
        if RARE_OPTIONS.contains(&arg.get_id().as_str()) { arg.hide_short_help(true) } else { arg }
    })
}

const MANUAL: Manual = Manual {
    about: "show routed jobs in the queue and in history, and what is wrong with them",
    description: &[
        "Reads a schedd's job_queue.log (also while it is written), ads in any form such as those of 'condor_q -long', or \
         history files, packed ones too (.gz, .bz2, .xz, .zst), and shows each routed job with its route, its source and where it stands. Without a file the queue \
         log that the configuration names is read.",
        "'doctor' finds what is wrong: a routed job without its source, a source whose copy is gone, a job that is claimed and \
         never submitted, held or not finalized copies, routes over their limits; it ends with 1 if there is anything.",
        "Called as condor_router_q or condor_router_history it has that tool's options, output and exit statuses. The \
         environment variable HTC_NOW (seconds since the epoch) ends the period of condor_router_history.",
    ],
    examples: &[
        Example { what: "all routed jobs of a queue", line: "htc-router-status job_queue.log", status: 0 },
        Example {
            what: "jobs by route and state",
            line: "htc-router-status --by route job_queue.log",
            status: 0,
        },
        Example { what: "is anything wrong?", line: "htc-router-status doctor job_queue.log", status: 1 },
    ],
    environment: &[("HTC_NOW", "for condor_router_history: the present, in seconds since the epoch")],
    files: &[("$(SPOOL)/job_queue.log", "the queue"), ("$(SPOOL)/history", "jobs that have left it")],
    differences: &[
        "condor_router_history of 25.14 ends in a traceback when two sites have equal hours, when a site has no completed \
         job, and when a record lacks an attribute; here the table is printed and the record is left out with a message.",
        "condor_router_q asks no schedd: it reads the queue log of the configuration. Behind its own options it knows those of \
         condor_q that choose jobs and forms (-af, -format, -long, -json, -xml, -attributes, -constraint, -limit, -nobatch, \
         -totals, -run, -hold, -hold-codes, -idle, -grid, -grid:ec2, -cputime, -currentrun, -cumulative-time, jobs, owners). \
         Lines of one job are not cut to a terminal's width. Refused are what is no business of routed jobs (-dag, -io, \
         -factory, -jobset, -userlog), what a schedd or a collector answers (-autocluster, -group-by, -unmatchable, \
         -better-analyze and its like), and formats from files (-print-format, -aaf).",
        "condor_router_q cuts a GridResource at its first comma and counts held jobs as idle (-I), as the script does; \
         htc-router-status does neither.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};

fn run(arguments: &RouterStatusCli, session: &ProgramContext) -> anyhow::Result<Status> {
    let common = &arguments.common;
    common.time_limit.start(session);
    let constraint = common
        .constraint
        .iter()
        .map(|text| Expr::parse(text.as_bytes()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Problem::usage(format!("--constraint: {error}")))?;
    let findings = matches!(arguments.verb, Some(RouterStatusVerb::Doctor(_))) && common.by.is_none();
    let view =
        StatusView { common, constraint, form: StatusOutputForm::from_options(common, findings)?, session };
    let verb_files = match &arguments.verb {
        Some(
            RouterStatusVerb::History(files)
            | RouterStatusVerb::Doctor(files)
            | RouterStatusVerb::Queue(files),
        ) => files.files.as_slice(),
        None => &[],
    };
    let files = [common.input.ads.as_slice(), &common.files, verb_files].concat();
    match &arguments.verb {
        Some(RouterStatusVerb::History(_)) => view.show_history(&files),
        Some(RouterStatusVerb::Doctor(_)) => view.doctor(&files),
        Some(RouterStatusVerb::Queue(_)) | None => view.show_or_watch(&files),
    }
}

struct StatusView<'a> {
    common: &'a RoutedJobOptions,
    constraint: Vec<Expr>,
    form: StatusOutputForm,
    session: &'a ProgramContext,
}

impl StatusView<'_> {
    fn load_config(&self, world: &dyn World) -> anyhow::Result<Config> {
        let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
        let load = self.common.config.load_options(crate::config::CommandPolicy::BOUNDED_RUN);
        let loaded = Config::load(world, &who, &load);
        let wanted =
            "name a job_queue.log, a history or a file of ads, or the configuration with --config-file";
        Ok(loaded
            .map(|(config, _)| config)
            .map_err(|error| Problem::from_config_error(error).hint(wanted))?)
    }

    /// Reads all rows of the files, or of the configuration's queue log.
    fn read_rows(&self, files: &[PathBuf], world: &dyn World) -> anyhow::Result<Vec<JobPair>> {
        let mut jobs = Vec::new();
        let mut sources = None;
        if files.is_empty() {
            let config = self.load_config(world)?;
            let session = &self.session.with_dialect(Dialect::of_world(world).strict(config.is_strict()));
            let log = |copies: bool| job_pairs::queue_log_path(&config.view(world), copies);
            let copies = log(true).ok_or_else(|| {
                Problem::unreadable("no queue log is configured")
                    .hint("name a job_queue.log or a file of ads")
            })?;
            jobs = flattened_jobs(&read_queue_log_file(&copies, session)?);
            // The copies may have a queue of their own.
            if let Some(other) = log(false).filter(|other| *other != copies) {
                sources = Some(flattened_jobs(&read_queue_log_file(&other, session)?));
            }
        }
        for file in files {
            let strict = self.common.input.strict_input;
            jobs.extend(job_reader::read_jobs_of_file(file, strict, self.session, world)?);
        }
        let patience = self.common.patience.as_secs() as i64;
        Ok(job_pairs::find_pairs(jobs, sources, patience, world))
    }

    fn selects(&self, row: &JobPair, world: &dyn World) -> bool {
        let common = self.common;
        let any = common.running || common.idle || common.held;
        let state = (common.running
            && matches!(row.status, JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT))
            || (common.idle && row.status == JobStatus::IDLE)
            || (common.held && row.status == JobStatus::HELD);
        (!any || state)
            && common.route.as_ref().is_none_or(|route| row.route == route.as_bytes())
            && self.constraint.iter().all(|expr| Context::new(world).my(&row.ad).holds(expr))
    }

    fn show_or_watch(&self, files: &[PathBuf]) -> anyhow::Result<Status> {
        if self.common.watch.is_some() {
            exit_when_reader_is_gone();
        }
        let mut seen = false;
        loop {
            let world = self.common.clock.world();
            let mut rows = match (self.read_rows(files, &world), self.common.watch) {
                // A watched file may be missing for a moment; the next read finds it again.
                (Err(error), Some(period)) if seen => {
                    self.session.report(&error);
                    std::thread::sleep(period);
                    continue;
                }
                (rows, _) => rows?,
            };
            seen = true;
            rows.retain(|row| self.selects(row, &world));
            let mut out = if self.common.watch.is_some() { b"\x1b[H\x1b[2J".to_vec() } else { Vec::new() };
            out.extend(self.render_rows(&rows, &world)?);
            write_to_stdout(out)?;
            match self.common.watch {
                Some(period) => std::thread::sleep(period),
                None => return Ok(Status::Done),
            }
        }
    }

    /// Formats jobs in the requested form.
    fn render_rows(&self, rows: &[JobPair], world: &dyn World) -> anyhow::Result<Vec<u8>> {
        match &self.common.by {
            Some(by) => job_counts::render_counts(rows, by, &self.form, world),
            None => self.form.render(rows, world, |painter| render_jobs(rows, painter)),
        }
    }

    fn doctor(&self, files: &[PathBuf]) -> anyhow::Result<Status> {
        let world = self.common.clock.world();
        let rows = self.read_rows(files, &world)?;
        if let Some(by) = &self.common.by {
            return self.count_troubled(by, rows, &world);
        }
        let mut found: Vec<(String, BString, String)> = Vec::new();
        for row in rows.iter().filter(|row| self.selects(row, &world)) {
            let Some(trouble) = row.problem else { continue };
            let id = row.copy.or(row.source).map(|id| id.to_string()).unwrap_or_default();
            let mut text = format!("{} for {}", trouble.description(), age_text(row.age));
            if trouble == PairProblem::Held && !row.hold_reason.is_empty() {
                text = format!("{text}: {}", row.hold_reason);
            }
            found.push((id, row.route.clone(), text));
        }
        found.extend(self.routes_over_limits(&rows, &world));
        let object = |(job, route, text): &(String, BString, String)| json!({ "job": job, "route": route.to_str_lossy(), "trouble": text });
        let text = || {
            if found.is_empty() {
                return String::new();
            }
            let columns = ["<JOB", "<ROUTE", "<TROUBLE"];
            let lines = found.iter().map(|(job, route, text)| {
                let route = if route.is_empty() { "-".into() } else { route.to_string() };
                [job.clone(), route, text.clone()]
            });
            render_table(&columns, lines, Painter::stdout(self.common.output.color))
        };
        let rows_found: Vec<serde_json::Value> = found.iter().map(object).collect();
        let output = match self.common.rows.form() {
            Some(form) => render_objects(form, &rows_found),
            None => self.common.output.render_json(&rows_found)?.unwrap_or_else(text).into_bytes(),
        };
        write_to_stdout(output)?;
        if found.is_empty() && !self.common.output.quiet {
            self.session.write_stderr(&format!("{} routed jobs, nothing is wrong\n", rows.len()));
        }
        Ok(if found.is_empty() { Status::Done } else { Status::No })
    }

    /// Counts the jobs with problems by route, user or site; problems of a route itself are reported
    /// separately.
    fn count_troubled(&self, by: &str, mut rows: Vec<JobPair>, world: &dyn World) -> anyhow::Result<Status> {
        let over = self.routes_over_limits(&rows, world);
        rows.retain(|row| row.problem.is_some() && self.selects(row, world));
        for (_, route, text) in &over {
            self.session.write_stderr(&format!("{route}: {text}\n"));
        }
        write_to_stdout(job_counts::render_counts(&rows, by, &self.form, world)?)?;
        Ok(if rows.is_empty() && over.is_empty() { Status::Done } else { Status::No })
    }

    /// Returns the routes that have more jobs than their limits allow, if there is a configuration with
    /// limits.
    fn routes_over_limits(&self, rows: &[JobPair], world: &dyn World) -> Vec<(String, BString, String)> {
        let Ok(config) = self.load_config(world) else { return Vec::new() };
        let view = config.view(world);
        let knobs = RouterParameters::load(&view, &mut |_| {});
        let routes = RouteTable::load(
            RouteLoadContext {
                view: &view,
                parameters: &knobs,
                world,
                quirks: crate::quirks::QuirkMode::Manual,
            },
            &mut |_| {},
        );
        let told = |(route, jobs): (&Route, i64)| {
            let text = format!("{jobs} jobs, {} are allowed (MaxJobs)", route.max_jobs);
            (String::new(), route.name.clone(), text)
        };
        job_pairs::routes_over_limit(rows, &routes).into_iter().map(told).collect()
    }

    /// Returns the ads of routed jobs that have left the queue, the newest first.
    fn read_past_ads(&self, files: &[PathBuf], world: &dyn World) -> anyhow::Result<Vec<ClassAd>> {
        let mut paths = files.to_vec();
        if paths.is_empty() {
            let config = self.load_config(world)?;
            let view = config.view(world);
            let history = view
                .text("HISTORY")
                .or_else(|| view.text("SPOOL").map(|spool| [spool.as_slice(), b"/history"].concat().into()))
                .ok_or_else(|| Problem::unreadable("no history is configured").hint("name a history file"))?;
            paths = list_history_files(&history.to_path_lossy(), world);
        }
        let selects = |ad: &ClassAd| {
            let is_routed = ad.contains("RouteName") || ad.contains("RoutedFromRoute");
            is_routed && self.constraint.iter().all(|expr| Context::new(world).my(ad).holds(expr))
        };
        let limit = self.common.limit.unwrap_or(usize::MAX);
        let strict = self.common.input.strict_input;
        let mut past = PastAds { ads: Vec::new(), broken: 0, limit, strict, selects: &selects };
        for path in &paths {
            job_reader::read_history(path, world, self.session, &mut past)?;
        }
        if past.broken > 0 {
            self.session.warn(&format!("{} records have lines that are not attributes", past.broken));
        }
        Ok(past.ads)
    }

    fn show_history(&self, files: &[PathBuf]) -> anyhow::Result<Status> {
        let world = self.common.clock.world();
        let ads = self.read_past_ads(files, &world)?;
        let shown = match &self.common.by {
            Some(by) => {
                let rows: Vec<JobPair> = ads.iter().map(|ad| job_pairs::from_history(ad, &world)).collect();
                job_counts::render_counts(&rows, by, &self.form, &world)?
            }
            None => self.form.render(&ads, &world, |painter| render_past_jobs(&ads, painter, &world))?,
        };
        write_to_stdout(shown)?;
        Ok(Status::Done)
    }
}

impl Renderable for ClassAd {
    fn to_ad(&self) -> Cow<'_, ClassAd> {
        Cow::Borrowed(self)
    }

    fn to_object(&self) -> serde_json::Value {
        let mut text = Vec::new();
        json::push(self, JsonLayout::OneLine, &mut text);
        serde_json::from_slice(&text).unwrap_or(serde_json::Value::Null)
    }
}

impl Renderable for JobPair {
    fn to_ad(&self) -> Cow<'_, ClassAd> {
        Cow::Borrowed(&self.ad)
    }

    fn to_object(&self) -> serde_json::Value {
        let text = |bytes: &BString| (!bytes.is_empty()).then(|| bytes.to_str_lossy().into_owned());
        json!({
            "copy": self.copy.map(|id| id.to_string()),
            "source": self.source.map(|id| id.to_string()),
            "route": text(&self.route),
            "owner": text(&self.owner),
            "resource": text(&self.grid_resource),
            "job_status": self.status,
            "state": self.state,
            "seconds": self.age,
            "hold_reason": text(&self.hold_reason),
            "trouble": self.problem.map(PairProblem::description),
        })
    }
}

fn render_jobs(rows: &[JobPair], painter: Painter) -> String {
    let columns = ["<JOB", "<SOURCE", "<ROUTE", "<OWNER", "<ST", "<STATE", ">FOR", "<RESOURCE"];
    let or_dash = |text: &BString| if text.is_empty() { "-".to_owned() } else { text.to_string() };
    let rows = rows.iter().map(|row| {
        [
            row.copy.map_or_else(|| "-".into(), |id| id.to_string()),
            row.source.map_or_else(|| "-".into(), |id| id.to_string()),
            or_dash(&row.route),
            or_dash(&row.owner),
            status_letter(row.status),
            row.state.to_owned(),
            age_text(row.age),
            or_dash(&row.grid_resource),
        ]
    });
    render_table(&columns, rows, painter)
}

fn render_past_jobs(ads: &[ClassAd], painter: Painter, world: &dyn World) -> String {
    let columns = ["<JOB", "<SOURCE", "<ROUTE", "<OWNER", "<ST", "<COMPLETED", ">RUNTIME"];
    let rows = ads.iter().map(|ad| {
        let context = Context::new(world).my(ad);
        let int = |name: &str| context.int(name);
        let string = |name: &str| context.string(name).map_or_else(|| "-".into(), |text| text.to_string());
        let id = match (int("ClusterId"), int("ProcId")) {
            (Some(cluster), Some(proc)) => format!("{cluster}.{proc}"),
            _ => "?".into(),
        };
        let completed = int("CompletionDate").filter(|&at| at > 0).map_or_else(
            || "-".into(),
            |at| {
                let CivilTime { year, month, day, hour, minute, .. } =
                    CivilTime::from_seconds(at, i64::from(world.zone(at).offset));
                format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
            },
        );
        let wall = context.real("RemoteWallClockTime").unwrap_or(0.0).max(0.0) as i64;
        let route = context.string("RouteName").or_else(|| context.string("RoutedFromRoute"));
        [
            id,
            string("RoutedFromJobId"),
            route.map_or_else(|| "-".into(), |route| route.to_string()),
            string("Owner"),
            int("JobStatus").map_or_else(|| "?".into(), status_letter),
            completed,
            format!("{}:{:02}:{:02}", wall / 3600, wall / 60 % 60, wall % 60),
        ]
    });
    render_table(&columns, rows, painter)
}
