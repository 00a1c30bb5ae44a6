//! `htc-router-status`: routed jobs in the queue and in history.

mod cell_text;
mod group_counts;
mod job_counts;
mod job_reader;
mod job_rows;
mod options;
mod output_form;
mod redirected_input;
mod shown_attributes;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use clap::FromArgMatches;
use serde_json::json;

use self::cell_text::age_text;
use self::group_counts::GroupCounts;
pub(super) use self::job_reader::read_configured_queue;
use self::job_reader::{HistoryAds, NeededJobs, read_queue_log_file};
use self::job_rows::{HISTORY_KEYS, JOB_PAIR_KEYS, render_jobs};
use self::options::{RoutedJobOptions, RouterStatusCli, RouterStatusVerb};
use self::output_form::{Renderable, StatusOutputForm};
use self::shown_attributes::{
    HISTORY_ATTRIBUTES, HISTORY_COLUMNS, PAIR_ATTRIBUTES, QUEUE_ATTRIBUTES, history_job_cells,
};
use super::common::{
    CompatTool, Example, Manual, NO_VERB, Painter, Problem, Program, ProgramContext, RowOrderOptions,
    SortKeys, Status, TableBuilder, UnusedOptions, VerbManual, exit_when_reader_is_gone, hide_unused_options,
    parse_expressions, program_command, render_table, write_metrics, write_to_stdout,
};
use super::compat::{condor_router_history, condor_router_q};
use crate::classad::stream::Projection;
use crate::classad::{ClassAd, Context, Dialect, Expr};
use crate::config::{Config, LookupContext};
use crate::job::JobStatus;
use crate::queue::list_history_files;
use crate::quirks::QuirkMode;
use crate::router::job_pairs::{self, JobPair, PairProblem};
use crate::router::{Route, RouteLoadContext, RouteTable, RouterParameters};
use crate::text::plural::counted;
use crate::world::World;

/// Number of bytes of a stream of ads that are written at once.
const OUTPUT_BLOCK_BYTES: usize = 1 << 16;

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: "htc-router-status",
    command: make_command,
    manual: &MANUAL,
    unused_options: UNUSED_OPTIONS,
    run: |matches, session| run(&RouterStatusCli::from_arg_matches(matches)?, session),
    compat: &[
        CompatTool { tool: "condor_router_history", run: condor_router_history::run },
        CompatTool { tool: "condor_router_q", run: condor_router_q::run },
    ],
};

/// Returns the clap definition; rarely used options appear only in `--help-all`.
fn make_command() -> clap::Command {
    let command = program_command::<RouterStatusCli>("htc-router-status", &MANUAL).mut_args(|arg| {
        match arg.get_id().as_str() {
            "ads" | "openmetrics" => arg.hide_short_help(true),
            // The verbs accept these options, too.
            "csv" | "tsv" | "null" => arg.global(true),
            _ => arg,
        }
    });
    hide_unused_options(command, UNUSED_OPTIONS)
}

/// Options that have no effect in some verbs.
const UNUSED_OPTIONS: &[UnusedOptions] = &[
    UnusedOptions { verbs: &[NO_VERB, "queue"], options: &["patience"] },
    UnusedOptions {
        verbs: &["history"],
        options: &["patience", "running", "idle", "held", "watch", "openmetrics"],
    },
    UnusedOptions {
        verbs: &["doctor"],
        options: &["count-by", "sum", "avg", "min", "max", "watch", "openmetrics"],
    },
];

const MANUAL: Manual = Manual {
    about: "show routed jobs in the queue and in the history, and find problems",
    description: &[
        "Reads the job_queue.log of a schedd (also while the schedd writes it), job ads in any format, such as the output of 'condor_q -long', or \
         history files, which may be compressed (.gz, .bz2, .xz, .zst). Prints each routed job with its route, its source job and its state. Without \
         a file, the queue log of the configuration is read, or standard input if there is no configuration.",
        "doctor finds routed jobs without a source job, source jobs whose routed job is gone, jobs that are claimed and \
         never submitted, held or not finalized routed jobs, and routes above their limits. It exits with 1 if there are any.",
        "Called as condor_router_q or condor_router_history, this program has the options, output and exit statuses of that tool. The \
         environment variable HTC_NOW (seconds since 1970) sets the end of the period of condor_router_history.",
    ],
    statuses: "0 done, 1 doctor found problems, 2 wrong options, 3 the queue cannot be read",
    examples: &[
        Example::new("Count jobs by route and state", "htc-router-status --by route job_queue.log"),
        Example::new("Find routed jobs that need attention", "htc-router-status doctor job_queue.log")
            .ends_with(1),
        Example::new("List all routed jobs of a queue", "htc-router-status job_queue.log"),
    ],
    verbs: &[
        VerbManual {
            verb: "queue",
            statuses: "0 done, 2 wrong options, 3 the queue cannot be read",
            examples: &[
                Example::new("List all routed jobs", "htc-router-status queue job_queue.log"),
                Example::new(
                    "Print the id and the site of held jobs",
                    "htc-router-status queue job_queue.log --held --af ClusterId GridResource",
                ),
            ],
        },
        VerbManual {
            verb: "doctor",
            statuses: "0 no problem, 1 problems, 2 wrong options, 3 the queue cannot be read",
            examples: &[
                Example::new(
                    "Find routed jobs that need attention",
                    "htc-router-status doctor job_queue.log",
                )
                .ends_with(1),
                Example::new(
                    "Report claimed jobs only after an hour",
                    "htc-router-status doctor --patience 3600 job_queue.log",
                )
                .ends_with(1),
            ],
        },
        VerbManual {
            verb: "history",
            statuses: "0 done, 2 wrong options, 3 the history cannot be read",
            examples: &[
                Example::new("List the newest ten records", "htc-router-status history --limit 10 jobs.ads"),
                Example::new("Count the jobs of each route", "htc-router-status history --by route jobs.ads"),
            ],
        },
    ],
    environment: &[("HTC_NOW", "Current time for condor_router_history, in seconds since 1970")],
    files: &[
        ("$(SPOOL)/job_queue.log", "Queue log of the schedd"),
        ("$(SPOOL)/history", "Jobs that have left the queue"),
    ],
    differences: &[
        "condor_router_history of 25.14 fails with a traceback if two sites have equal hours, if a site has no completed \
         job, or if a record lacks an attribute. Here the table is printed and the record is skipped with a message.",
        "condor_router_q asks no schedd: it reads the queue log of the configuration. In addition to its own options it supports the options of \
         condor_q that select jobs and formats (-af, -format, -long, -json, -xml, -attributes, -constraint, -limit, -nobatch, \
         -totals, -run, -hold, -hold-codes, -idle, -grid, -grid:ec2, -cputime, -currentrun, -cumulative-time, jobs, owners). \
         Lines of one job are not cut to the width of the terminal. It refuses options that do not concern routed jobs (-dag, -io, \
         -factory, -jobset, -userlog), options that a schedd or a collector must answer (-autocluster, -group-by, -unmatchable, \
         -better-analyze and similar ones), and formats from files (-print-format, -aaf).",
        "condor_router_q cuts a GridResource at its first comma and counts held jobs as idle (-I), as the script does; \
         htc-router-status does neither.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};

fn run(arguments: &RouterStatusCli, session: &ProgramContext) -> anyhow::Result<Status> {
    let common = &arguments.common;
    common.time_limit.start(session);
    let session = &session.with_input(common.input.from, common.input.strict_input, QuirkMode::Manual);
    let constraint = parse_expressions("--constraint", &common.constraint)?;
    let sort_keys = SortKeys::new(parse_expressions("--sort", &common.sort)?, common.reverse);
    let counts = GroupCounts::from_options(common)?;
    let is_doctor = matches!(arguments.verb, Some(RouterStatusVerb::Doctor(_)));
    let form = StatusOutputForm::from_options(common, is_doctor && common.by.is_none())?;
    let view = StatusView { common, constraint, sort_keys, counts, form, session };
    let verb_files = match &arguments.verb {
        Some(
            RouterStatusVerb::History(files)
            | RouterStatusVerb::Doctor(files)
            | RouterStatusVerb::Queue(files),
        ) => files.files.as_slice(),
        None => &[],
    };
    let mut files = [common.input.ads.as_slice(), &common.files, verb_files].concat();
    if files.is_empty() && redirected_input::is_read_without_files(common, session) {
        files.push("-".into());
    }
    match &arguments.verb {
        Some(RouterStatusVerb::History(_)) => view.show_history(&files),
        Some(RouterStatusVerb::Doctor(_)) => view.doctor(&files),
        Some(RouterStatusVerb::Queue(_)) | None => view.show_or_watch(&files),
    }
}

struct StatusView<'a> {
    common: &'a RoutedJobOptions,
    constraint: Vec<Expr>,
    sort_keys: SortKeys,
    counts: Option<GroupCounts>,
    form: StatusOutputForm,
    session: &'a ProgramContext,
}

impl StatusView<'_> {
    fn load_config(&self, world: &dyn World) -> anyhow::Result<Config> {
        let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
        let loaded = Config::load(world, &who, &self.common.load_options());
        let wanted =
            "name a job_queue.log, a history or a file of ads, or the configuration with --config-file";
        let stdin = (!std::io::stdin().is_terminal()).then_some("'-' reads standard input");
        Ok(loaded
            .map(|(config, _)| config)
            .map_err(|error| Problem::from_config_error(error).hint(wanted).maybe_hint(stdin))?)
    }

    /// Warns about columns that are names of existing files, because the user probably wanted to read the files.
    fn warn_of_files_among_columns(&self) {
        for word in self.common.af.iter().filter(|word| std::path::Path::new(word).exists()) {
            let what = if std::path::Path::new(word).is_dir() { "directory" } else { "file" };
            self.session.warn(&format!(
                "'{word}' is a column of -af, and a {what} has this name\n    hint: files are written before -af"
            ));
        }
    }

    /// Returns the attributes that the output needs, including `names`, or `None` if it may need any.
    fn projection(&self, names: &[&str]) -> Option<Projection> {
        let counted = self.counts.iter().flat_map(GroupCounts::exprs);
        let exprs =
            self.constraint.iter().chain(self.sort_keys.exprs()).chain(self.form.columns()).chain(counted);
        let mut projection = Projection::for_exprs(exprs)?;
        names.iter().for_each(|name| projection.add((*name).into()));
        Some(projection)
    }

    /// Reads the rows of the given files or, if there are none, of the queue log in the configuration.
    fn read_rows(&self, files: &[PathBuf], world: &dyn World) -> anyhow::Result<Vec<JobPair>> {
        let projection = match self.form {
            StatusOutputForm::Ads => None,
            _ => self.projection(&QUEUE_ATTRIBUTES),
        };
        let needed =
            NeededJobs { attributes: projection.as_ref().map(Projection::names), any_of: &PAIR_ATTRIBUTES };
        let mut jobs = Vec::new();
        let mut sources = None;
        if files.is_empty() {
            self.warn_of_files_among_columns();
            let config = self.load_config(world)?;
            let session = &self.session.with_dialect(Dialect::of_world(world).strict(config.is_strict()));
            let log = |copies: bool| job_pairs::queue_log_path(&config.view(world), copies);
            let copies = log(true).ok_or_else(|| {
                Problem::unreadable("no queue log is configured")
                    .hint("name a job_queue.log or a file of ads")
            })?;
            jobs = read_queue_log_file(&copies, needed, session)?;
            // Routed copies may be in another queue than their source jobs.
            if let Some(other) = log(false).filter(|other| *other != copies) {
                sources = Some(read_queue_log_file(&other, needed, session)?);
            }
        }
        for file in files {
            let strict = self.common.input.strict_input;
            jobs.extend(job_reader::read_jobs_of_file(file, strict, needed, self.session, world)?);
        }
        let patience = self.common.patience.as_secs() as i64;
        Ok(job_pairs::find_pairs(jobs, sources, patience, world))
    }

    fn selects(&self, row: &JobPair, world: &dyn World) -> bool {
        let common = self.common;
        let selects_states = common.running || common.idle || common.held;
        let has_state = (common.running
            && matches!(row.status, JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT))
            || (common.idle && row.status == JobStatus::IDLE)
            || (common.held && row.status == JobStatus::HELD);
        (!selects_states || has_state)
            && common.route.as_ref().is_none_or(|route| row.route == route.as_bytes())
            && self.constraint.iter().all(|expr| Context::new(world).my(&row.ad).holds(expr))
    }

    /// Returns the options for the order of rows that are not ads.
    fn row_order(&self) -> RowOrderOptions {
        let RoutedJobOptions { sort, reverse, limit, .. } = self.common;
        RowOrderOptions { sort: sort.clone(), reverse: *reverse, limit: *limit }
    }

    fn show_or_watch(&self, files: &[PathBuf]) -> anyhow::Result<Status> {
        if self.common.watch.is_some() {
            exit_when_reader_is_gone();
        }
        let mut has_shown_rows = false;
        loop {
            let world = self.common.clock.world();
            let mut rows = match (self.read_rows(files, &world), self.common.watch) {
                // A watched file may be missing for a moment; the next read may find it again.
                (Err(error), Some(period)) if has_shown_rows => {
                    self.session.report(&error);
                    std::thread::sleep(period);
                    continue;
                }
                (rows, _) => rows?,
            };
            has_shown_rows = true;
            rows.retain(|row| self.selects(row, &world));
            if let Some(file) = &self.common.openmetrics {
                write_metrics(file.as_deref(), job_counts::render_metrics(&rows))?;
                match self.common.watch {
                    Some(period) => std::thread::sleep(period),
                    None => return Ok(Status::Done),
                }
                continue;
            }
            if self.counts.is_none() && self.common.by.is_none() {
                self.sort_keys.sort(&mut rows, |row| &row.ad, &world, ("ad", self.session));
                rows.truncate(self.common.limit.unwrap_or(usize::MAX));
            }
            let clears = self.common.watch.is_some() && std::io::stdout().is_terminal();
            let mut out = if clears { b"\x1b[H\x1b[2J".to_vec() } else { Vec::new() };
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
        if let Some(counts) = &self.counts {
            return counts.render(rows.iter().map(|row| &row.ad), self.common, world, self.session);
        }
        match &self.common.by {
            Some(by) => self.render_counts(rows, by, world),
            None => self.form.render(rows, &JOB_PAIR_KEYS, world, |painter| render_jobs(rows, painter)),
        }
    }

    /// Formats the numbers of jobs by route, user or site.
    fn render_counts(&self, rows: &[JobPair], by: &str, world: &dyn World) -> anyhow::Result<Vec<u8>> {
        let counts = job_counts::count_by(rows, by);
        let counts =
            self.row_order().apply(counts, |row| serde_json::to_string(&row.to_object()), self.session)?;
        job_counts::render_counts(&counts, by, &self.form, world)
    }

    fn doctor(&self, files: &[PathBuf]) -> anyhow::Result<Status> {
        let world = self.common.clock.world();
        let rows = self.read_rows(files, &world)?;
        if let Some(by) = &self.common.by {
            return self.count_jobs_with_problems(by, rows, &world);
        }
        let mut findings: Vec<(String, BString, String)> = Vec::new();
        for row in rows.iter().filter(|row| self.selects(row, &world)) {
            let Some(trouble) = row.problem else { continue };
            let id = row.copy.or(row.source).map(|id| id.to_string()).unwrap_or_default();
            let mut text = trouble.description().to_owned();
            if row.age.is_some() {
                text += &format!(" (for {})", age_text(row.age));
            }
            if trouble == PairProblem::Held && !row.hold_reason.is_empty() {
                text = format!("{text}: {}", row.hold_reason);
            }
            findings.push((id, row.route.clone(), text));
        }
        findings.extend(self.routes_over_limits(&rows, &world));
        let is_healthy = findings.is_empty();
        let object = |(job, route, text): &(String, BString, String)| json!({ "job": job, "route": (!route.is_empty()).then(|| route.to_str_lossy()), "trouble": text });
        let findings =
            self.row_order().apply(findings, |row| serde_json::to_string(&object(row)), self.session)?;
        let text = || {
            if findings.is_empty() {
                return String::new();
            }
            let columns = ["<JOB", "<ROUTE", "<TROUBLE"];
            let lines = findings.iter().map(|(job, route, text)| {
                let route = if route.is_empty() { "-".into() } else { route.to_string() };
                [job.clone(), route, text.clone()]
            });
            render_table(&columns, lines, Painter::stdout(self.common.output.color))
        };
        let rows_found: Vec<serde_json::Value> = findings.iter().map(object).collect();
        let output = match self.common.rows.render(&rows_found, &["job", "route", "trouble"])? {
            Some(rows) => rows,
            None => self.common.output.render_json(&rows_found)?.unwrap_or_else(text).into_bytes(),
        };
        write_to_stdout(output)?;
        if is_healthy && !self.common.output.quiet {
            self.session.write_stderr(&format!("{}, no problem found\n", counted(rows.len(), "routed job")));
        }
        Ok(if is_healthy { Status::Done } else { Status::No })
    }

    /// Counts the jobs with problems by route, user or site. Problems of a route itself are reported separately.
    fn count_jobs_with_problems(
        &self,
        by: &str,
        mut rows: Vec<JobPair>,
        world: &dyn World,
    ) -> anyhow::Result<Status> {
        let full_routes = self.routes_over_limits(&rows, world);
        rows.retain(|row| row.problem.is_some() && self.selects(row, world));
        for (_, route, text) in &full_routes {
            self.session.write_stderr(&format!("{route}: {text}\n"));
        }
        write_to_stdout(self.render_counts(&rows, by, world)?)?;
        Ok(if rows.is_empty() && full_routes.is_empty() { Status::Done } else { Status::No })
    }

    /// Returns the routes that have more jobs than their limits allow. Without a configuration that sets limits, returns none.
    fn routes_over_limits(&self, rows: &[JobPair], world: &dyn World) -> Vec<(String, BString, String)> {
        let Ok(config) = self.load_config(world) else { return Vec::new() };
        let view = config.view(world);
        let router_parameters = RouterParameters::load(&view, &mut |_| {});
        let routes = RouteTable::load(
            RouteLoadContext {
                view: &view,
                parameters: &router_parameters,
                world,
                quirks: QuirkMode::Manual,
            },
            &mut |_| {},
        );
        let to_row = |(route, jobs): (&Route, i64)| {
            let text = format!("{}, but at most {} (MaxJobs)", counted(jobs, "job"), route.max_jobs);
            (String::new(), route.name.clone(), text)
        };
        job_pairs::routes_over_limit(rows, &routes).into_iter().map(to_row).collect()
    }

    /// Calls `keep` with the ad of each selected routed job that has left the queue, newest first.
    fn read_history_ads(
        &self,
        files: &[PathBuf],
        world: &dyn World,
        keep: &mut dyn FnMut(&ClassAd) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
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
            let of_route = |route: &String| job_pairs::from_history(ad, world).route == route.as_bytes();
            is_routed
                && self.common.route.as_ref().is_none_or(of_route)
                && self.constraint.iter().all(|expr| Context::new(world).my(ad).holds(expr))
        };
        // If ads are sorted or counted, all of them are needed before the output can be limited.
        let keeps_all = !self.sort_keys.is_empty() || self.common.by.is_some() || self.counts.is_some();
        let limit = self.common.limit.filter(|_| !keeps_all).unwrap_or(usize::MAX);
        let strict = self.common.input.strict_input;
        let projection = match self.form {
            StatusOutputForm::Ads | StatusOutputForm::Objects(_) => None,
            StatusOutputForm::Rows(_, ref columns) if columns.is_empty() => None,
            _ => self.projection(&HISTORY_ATTRIBUTES),
        };
        let mut past = HistoryAds { keep, kept: 0, projection, limit, strict, selects: &selects };
        for path in &paths {
            job_reader::read_history(path, world, self.session, &mut past)?;
        }
        Ok(())
    }

    fn show_history(&self, files: &[PathBuf]) -> anyhow::Result<Status> {
        let world = self.common.clock.world();
        let is_counted = self.counts.is_some() || self.common.by.is_some();
        if !is_counted && self.sort_keys.is_empty() {
            return self.stream_history(files, &world);
        }
        let mut ads = Vec::new();
        self.read_history_ads(files, &world, &mut |ad| {
            ads.push(ad.clone());
            Ok(())
        })?;
        if !is_counted {
            self.sort_keys.sort(&mut ads, |ad| ad, &world, ("ad", self.session));
            ads.truncate(self.common.limit.unwrap_or(usize::MAX));
        }
        let output = match (&self.counts, &self.common.by) {
            (Some(counts), _) => counts.render(&ads, self.common, &world, self.session)?,
            (None, Some(by)) => {
                let rows: Vec<JobPair> = ads.iter().map(|ad| job_pairs::from_history(ad, &world)).collect();
                self.render_counts(&rows, by, &world)?
            }
            (None, None) => self.form.render(&ads, &HISTORY_KEYS, &world, |painter| {
                let mut table = TableBuilder::new(&HISTORY_COLUMNS);
                ads.iter().for_each(|ad| table.push_row(history_job_cells(ad, &world)));
                table.render(painter)
            })?,
        };
        write_to_stdout(output)?;
        Ok(Status::Done)
    }

    /// Shows the records of a history in their order. Only the output is kept in memory.
    fn stream_history(&self, files: &[PathBuf], world: &dyn World) -> anyhow::Result<Status> {
        let mut text = Vec::new();
        if self.form.is_stream() {
            exit_when_reader_is_gone();
            self.form.push_header(&mut text);
            self.read_history_ads(files, world, &mut |ad| {
                self.form.push_item(ad, world, &mut text);
                if text.len() < OUTPUT_BLOCK_BYTES {
                    Ok(())
                } else {
                    write_to_stdout(std::mem::take(&mut text))
                }
            })?;
        } else if let StatusOutputForm::Table(painter) = &self.form {
            let mut table = TableBuilder::new(&HISTORY_COLUMNS);
            self.read_history_ads(files, world, &mut |ad| {
                table.push_row(history_job_cells(ad, world));
                Ok(())
            })?;
            text = table.render(*painter).into_bytes();
        } else {
            let mut ads = Vec::new();
            self.read_history_ads(files, world, &mut |ad| {
                ads.push(ad.clone());
                Ok(())
            })?;
            text = self.form.render(&ads, &HISTORY_KEYS, world, |_| String::new())?;
        }
        write_to_stdout(text)?;
        Ok(Status::Done)
    }
}
