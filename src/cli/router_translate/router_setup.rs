//! Setup of a router for the verbs: configuration, routing table, and the states of the routes.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bstr::BString;
use clap::Args;
use rustc_hash::FxHashMap;

use crate::classad::{ClassAd, Context as Eval, Dialect};
use crate::cli::common::{
    ConfigOptions, InputKind, OpenInput, OutputOptions, Problem, ProgramContext, open_stdio_pipe,
    report_bad_records, shorten_message,
};
use crate::config::{Config, LookupContext};
use crate::queue::QueueLogReader;
use crate::quirks::QuirkMode;
use crate::router::{RouteLoadContext, RouteState, RouteTable, RouterParameters, RoutingPass};
use crate::text::plural::counted;
use crate::world::{FixedModeWorld, World};

/// Options for the states of routes before the first job.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RouteStateOptions {
    /// Count routed jobs in FILE (job_queue.log) towards the limits of routes
    #[arg(long, value_name = "FILE")]
    pub queue_log: Option<PathBuf>,
    /// Route only jobs of this user, as a router without root does [default: all]
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Treat every job as idle and never routed
    #[arg(long)]
    pub ignore_prior_routing: bool,
}

/// Configuration, parameters and routes of a router.
pub(super) struct RouterSetup {
    pub config: Config,
    pub parameters: RouterParameters,
    pub table: RouteTable,
}

impl RouterSetup {
    /// Reads the configuration and the routes. Errors in routes are printed to standard error.
    pub(super) fn load(
        options: &ConfigOptions,
        quirks: QuirkMode,
        world: &dyn World,
        program: &ProgramContext,
    ) -> anyhow::Result<RouterSetup> {
        let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
        let load = options.load_options(crate::config::CommandPolicy::BOUNDED_RUN);
        let (config, warnings) = Config::load(world, &who, &load).map_err(Problem::from_config_error)?;
        warnings.iter().for_each(|warning| program.warn(&warning.to_string()));
        let (parameters, table) = {
            let world: &dyn World = &FixedModeWorld { world, strict: config.is_strict() };
            let view = config.view(world);
            let mut complaints = Vec::new();
            let parameters = RouterParameters::load(&view, &mut |complaint| complaints.push(complaint.text));
            complaints.dedup();
            complaints.iter().for_each(|text| program.warn(text));
            let context = RouteLoadContext { view: &view, parameters: &parameters, world, quirks };
            let (table, messages) = RouteTable::load_with_old_routes(context);
            messages.iter().for_each(|text| program.warn(text));
            (parameters, table)
        };
        if parameters.name.is_empty() {
            return Err(Problem::unreadable("JOB_ROUTER_NAME must not be empty").into());
        }
        Ok(RouterSetup { config, parameters, table })
    }

    /// Creates a routing pass over jobs, which starts with the current states of the routes.
    pub(super) fn make_pass<'a>(
        &'a self,
        options: &RouteStateOptions,
        world: &'a dyn World,
        session: &ProgramContext,
    ) -> anyhow::Result<RoutingPass<'a>> {
        let states = self.states(options, world, session)?;
        let owner = options.owner.as_deref().map(BString::from);
        let pass = RoutingPass::new(&self.table, &self.parameters, owner, states, world);
        Ok(pass.map_err(|error| Problem::unreadable(shorten_message(&error.to_string()).into_owned()))?)
    }

    /// Returns the states of all routes. The routed jobs are counted in the queue log, if one is given; otherwise no
    /// jobs are routed.
    fn states(
        &self,
        options: &RouteStateOptions,
        world: &dyn World,
        session: &ProgramContext,
    ) -> anyhow::Result<Vec<RouteState>> {
        let log =
            options.queue_log.as_ref().map(|path| read_whole_queue_log(path, world, session)).transpose()?;
        Ok(self.table.states_from_queue(log.as_ref().map(QueueLogReader::queue), world.now().epoch(), world))
    }
}

/// Reads a whole queue log.
pub(super) fn read_whole_queue_log(
    path: &Path,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<QueueLogReader> {
    let OpenInput { reader: mut file, kind, name, .. } = OpenInput::open(path, open_stdio_pipe().0)?;
    let problem = || Problem::cannot_read(&name);
    let mut start = [0];
    let is_empty = kind != InputKind::QueueLog && file.read(&mut start).with_context(problem)? == 0;
    if kind != InputKind::QueueLog && !is_empty {
        return Err(problem()
            .caused_by("it is not a queue log")
            .hint("name a schedd's job_queue.log")
            .into());
    }
    let mut reader = QueueLogReader::new().with_dialect(Dialect::of_world(world));
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).with_context(problem)? {
            0 => break,
            length => reader.feed(&block[..length]),
        }
    }
    report_bad_records(&reader, &name, session)?;
    Ok(reader)
}

/// Returns the id of a job for messages, or `?` if the ad has no id.
pub(super) fn job_key(ad: &ClassAd, world: &dyn World) -> String {
    let context = Eval::new(world).my(ad);
    match (context.int("ClusterId"), context.int("ProcId")) {
        (Some(cluster), Some(proc)) => format!("{cluster}.{proc}"),
        _ => "?".into(),
    }
}

/// Counter of reasons. Only a limited number of different reasons is distinguished.
#[derive(Default)]
pub(super) struct ReasonCounts {
    counts: FxHashMap<String, u64>,
    total: u64,
}

impl ReasonCounts {
    const MAX_REASONS: usize = 10_000;

    pub(super) fn add(&mut self, reason: String) {
        self.total += 1;
        if self.counts.len() < Self::MAX_REASONS || self.counts.contains_key(&reason) {
            *self.counts.entry(reason).or_default() += 1;
        }
    }

    /// Returns a line such as `8112 jobs not routed`, followed by a line for each reason, the most frequent first.
    pub(super) fn to_lines(&self, what: &str) -> Vec<String> {
        let sorted = self.sorted();
        let mut lines = vec![format!("{} {what}", counted(self.total, "job"))];
        lines.extend(sorted.iter().take(20).map(|(reason, count)| format!("  {count}: {reason}")));
        if sorted.len() > 20 {
            lines.push(format!("  and {}", counted(sorted.len() - 20, "other reason")));
        }
        lines
    }

    /// Returns the reasons with their counts, the most frequent first.
    fn sorted(&self) -> Vec<(&String, &u64)> {
        let mut sorted: Vec<_> = self.counts.iter().collect();
        sorted.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        sorted
    }

    /// Returns the reasons as JSON objects, the most frequent first.
    pub(super) fn to_json(&self) -> Vec<serde_json::Value> {
        let object = |(reason, count)| serde_json::json!({ "jobs": count, "reason": reason });
        self.sorted().into_iter().map(object).collect()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

/// Writer of JSON objects, one per line or as one array.
pub(super) struct JsonObjectPrinter {
    array: bool,
    has_objects: bool,
}

impl JsonObjectPrinter {
    /// Creates a writer, or returns `None` if JSON is not requested.
    pub(super) fn new(output: &OutputOptions) -> Option<Self> {
        output.wants_json().then_some(JsonObjectPrinter { array: output.json, has_objects: false })
    }

    /// Writes one object.
    pub(super) fn print_object(&mut self, out: &mut dyn Write, value: &serde_json::Value) -> io::Result<()> {
        if self.array {
            out.write_all(if self.has_objects { b",\n" } else { b"[\n" })?;
        }
        serde_json::to_writer(&mut *out, value)?;
        self.has_objects = true;
        if self.array { Ok(()) } else { out.write_all(b"\n") }
    }

    /// Ends the array.
    pub(super) fn end(self, out: &mut dyn Write) -> io::Result<()> {
        match (self.array, self.has_objects) {
            (false, _) => Ok(()),
            (true, true) => out.write_all(b"\n]\n"),
            (true, false) => out.write_all(b"[]\n"),
        }
    }
}
