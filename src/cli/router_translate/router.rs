//! The router as the verbs see it: configuration, routing table, what was wrong with it, where the routes stand.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bstr::BString;
use clap::Args;
use rustc_hash::FxHashMap;

use crate::classad::{ClassAd, Context as Eval, Dialect};
use crate::cli::common::{ConfigOptions, OutputOptions, Problem, Session as Program, brief};
use crate::config::{Config, Who};
use crate::queue::QueueLogReader;
use crate::quirks::Quirks;
use crate::router::{Knobs, Pass, Reading, RouteState, RouteTable};
use crate::world::{InMode, World};

/// Where routes stand before the first job.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct StateOptions {
    /// Count the routed jobs of this job_queue.log against the limits of their routes
    #[arg(long, value_name = "FILE")]
    pub queue_log: Option<PathBuf>,
    /// Route only jobs of this user, as a router does that is not root
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Take every job for idle and never routed before
    #[arg(long)]
    pub ignore_prior_routing: bool,
}

/// Configuration, parameters and routes.
pub(super) struct Setup {
    pub config: Config,
    pub knobs: Knobs,
    pub table: RouteTable,
}

impl Setup {
    /// Reads everything; what is wrong with routes is told on standard error.
    pub(super) fn load(
        options: &ConfigOptions,
        quirks: Quirks,
        world: &dyn World,
        program: &Program,
    ) -> anyhow::Result<Setup> {
        let who = Who { subsystem: "JOB_ROUTER".into(), ..Who::default() };
        let load = options.load_options(crate::config::CommandPolicy::BOUNDED);
        let (config, warnings) = Config::load(world, &who, &load).map_err(Problem::of_config)?;
        warnings.iter().for_each(|warning| program.warn(&warning.to_string()));
        let (knobs, table) = {
            let world: &dyn World = &InMode { world, strict: config.is_strict() };
            let view = config.view(world);
            let mut complaints = Vec::new();
            let knobs = Knobs::load(&view, &mut |complaint| complaints.push(complaint.text));
            complaints.dedup();
            complaints.iter().for_each(|text| program.warn(text));
            let with = Reading { view: &view, knobs: &knobs, world, quirks };
            let (table, told) = RouteTable::load_whole(with);
            told.iter().for_each(|text| program.warn(text));
            (knobs, table)
        };
        if knobs.name.is_empty() {
            return Err(Problem::unreadable("JOB_ROUTER_NAME must not be empty").into());
        }
        Ok(Setup { config, knobs, table })
    }

    /// A pass over jobs, with the routes as they stand.
    pub(super) fn pass<'a>(
        &'a self,
        options: &StateOptions,
        world: &'a dyn World,
    ) -> anyhow::Result<Pass<'a>> {
        let states = self.states(options, world)?;
        let owner = options.owner.as_deref().map(BString::from);
        let pass = Pass::new((&self.table, &self.knobs), owner, states, world);
        Ok(pass.map_err(|error| Problem::unreadable(brief(&error.to_string()).into_owned()))?)
    }

    /// The states of all routes: nothing routed yet, or what a queue log says.
    fn states(&self, options: &StateOptions, world: &dyn World) -> anyhow::Result<Vec<RouteState>> {
        let log = options.queue_log.as_ref().map(|path| read_log(path, world)).transpose()?;
        Ok(self.table.states(log.as_ref().map(QueueLogReader::queue), world.now().epoch(), world))
    }
}

/// Reads a whole queue log.
pub(super) fn read_log(path: &Path, world: &dyn World) -> anyhow::Result<QueueLogReader> {
    let problem = || Problem::cannot_read(path.display());
    let mut file = File::open(path).with_context(problem)?;
    let mut reader = QueueLogReader::new().dialect(Dialect::of(world));
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).with_context(problem)? {
            0 => return Ok(reader),
            length => reader.feed(&block[..length]),
        }
    }
}

/// The id of a job for messages; `?` where the ad has none.
pub(super) fn job_key(ad: &ClassAd, world: &dyn World) -> String {
    let context = Eval::new(world).my(ad);
    match (context.int("ClusterId"), context.int("ProcId")) {
        (Some(cluster), Some(proc)) => format!("{cluster}.{proc}"),
        _ => "?".into(),
    }
}

/// Counts reasons, at most so many different ones.
#[derive(Default)]
pub(super) struct Reasons {
    counts: FxHashMap<String, u64>,
    total: u64,
}

impl Reasons {
    const MOST: usize = 10_000;

    pub(super) fn add(&mut self, reason: String) {
        self.total += 1;
        if self.counts.len() < Self::MOST || self.counts.contains_key(&reason) {
            *self.counts.entry(reason).or_default() += 1;
        }
    }

    /// Lines such as `8112 jobs not routed` with the reasons below, the commonest first.
    pub(super) fn lines(&self, what: &str) -> Vec<String> {
        let jobs = |count: u64| if count == 1 { "1 job".to_owned() } else { format!("{count} jobs") };
        let sorted = self.sorted();
        let mut lines = vec![format!("{} {what}", jobs(self.total))];
        lines.extend(sorted.iter().take(20).map(|(reason, count)| format!("  {count}: {reason}")));
        if sorted.len() > 20 {
            lines.push(format!("  and {} other reasons", sorted.len() - 20));
        }
        lines
    }

    /// The reasons with their counts, the commonest first.
    fn sorted(&self) -> Vec<(&String, &u64)> {
        let mut sorted: Vec<_> = self.counts.iter().collect();
        sorted.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        sorted
    }

    /// The reasons as JSON objects, the commonest first.
    pub(super) fn json(&self) -> Vec<serde_json::Value> {
        let object = |(reason, count)| serde_json::json!({ "jobs": count, "reason": reason });
        self.sorted().into_iter().map(object).collect()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

/// JSON objects one after the other: one a line, or one array of them.
pub(super) struct JsonRows {
    array: bool,
    some: bool,
}

impl JsonRows {
    /// `None` where no JSON is asked for.
    pub(super) fn new(output: &OutputOptions) -> Option<Self> {
        output.wants_json().then_some(JsonRows { array: output.json, some: false })
    }

    /// Writes one object.
    pub(super) fn row(&mut self, out: &mut dyn Write, value: &serde_json::Value) -> io::Result<()> {
        if self.array {
            out.write_all(if self.some { b",\n" } else { b"[\n" })?;
        }
        serde_json::to_writer(&mut *out, value)?;
        self.some = true;
        if self.array { Ok(()) } else { out.write_all(b"\n") }
    }

    /// Ends the array.
    pub(super) fn end(self, out: &mut dyn Write) -> io::Result<()> {
        match (self.array, self.some) {
            (false, _) => Ok(()),
            (true, true) => out.write_all(b"\n]\n"),
            (true, false) => out.write_all(b"[]\n"),
        }
    }
}
