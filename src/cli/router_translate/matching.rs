//! `htc-router-translate match`: shows which route each job gets, and why.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use bstr::ByteSlice;
use clap::Args;
use serde_json::json;

use super::ad_pipeline::for_each_ad;
use super::options::RouterVerbOptions;
use super::route_set::RouteSet;
use super::router_setup::{self, JsonObjectPrinter, ReasonCounts, RouteStateOptions, RouterSetup};
use crate::classad::{ClassAd, Context, Expr, Truth};
use crate::cli::common::{
    PipedStdout, Problem, ProgramContext, RowForm, RowOptions, Status, open_stdio_pipe,
};
use crate::cli::explain::ExplanationReport;
use crate::router::explain::JobExplanation;
use crate::router::{Route, RouteChoice, RouteState, RoutingPass, forget_routing};
use crate::runner::configured_world;
use crate::text::plural::counted;
use crate::why::matching::{Analysis, JobGrouper, SlotSet, letter_case_hint};
use crate::world::World;

/// Options of the verb `match`.
#[derive(Args, Debug)]
pub(super) struct MatchArguments {
    /// Print for each job which routes match, and why the others do not
    #[arg(long)]
    explain: bool,
    /// Prints only counts: the jobs of each route, and why the others got none; with --explain one screen of causes and changes.
    #[arg(long)]
    summary: bool,
    /// Write the result of --explain as a web page, with a table and a bar for each clause
    #[arg(long, value_name = "FILE", requires = "explain")]
    html: Option<PathBuf>,
    /// A job is accepted if it gets a route.
    #[arg(long)]
    any: bool,
    #[command(flatten)]
    rows: RowOptions,
    #[command(flatten)]
    state: RouteStateOptions,
    #[command(flatten)]
    pub(super) options: RouterVerbOptions,
}

/// Runs the verb `match`. The exit status is 0 if every job got a route, otherwise 1.
pub(super) fn run(arguments: &MatchArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    if let (Some(option), true, false) = (arguments.rows.given_option(), arguments.explain, arguments.summary)
    {
        return Err(Problem::usage(format!("{option} cannot be used with --explain"))
            .hint("--jsonl prints the reasons as objects")
            .into());
    }
    let world = arguments.options.clock.world();
    let setup =
        RouterSetup::load(&arguments.options.config, arguments.options.quirks.quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let pass = setup.make_pass(&arguments.state, &world, program)?;
    if arguments.explain && (arguments.summary || arguments.html.is_some()) {
        return explain_every_job(arguments, &RouteSet::new(&setup, pass.route_states(), &world), program);
    }
    let (stdin, stdout) = open_stdio_pipe();
    let mut report = MatchReport {
        arguments,
        setup: &setup,
        world: &world,
        out: BufWriter::with_capacity(64 << 10, stdout),
        json: JsonObjectPrinter::new(&arguments.options.output),
        counts: vec![0; setup.table.routes.len()],
        reasons: ReasonCounts::default(),
        pass,
    };
    report.print_header()?;
    let malformed = for_each_ad(&arguments.options.inputs, &world, program, Some(stdin), |mut job| {
        if arguments.state.ignore_prior_routing {
            forget_routing(&mut job);
        }
        report.match_job(&router_setup::job_key(&job, &world), &job)
    })?;
    let missed = report.reasons.total();
    let is_any_routed = report.counts.iter().any(|count| *count > 0);
    report.end(program)?;
    let is_yes = if arguments.any { is_any_routed } else { missed + malformed == 0 };
    Ok(if is_yes { Status::Done } else { Status::No })
}

/// Explains all jobs: on one screen, as rows, or as a web page. The exit status is 0 if every job gets a route.
fn explain_every_job(
    arguments: &MatchArguments,
    routes: &RouteSet<'_>,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let mut jobs = JobGrouper::new(routes);
    let options = &arguments.options;
    let stdin = open_stdio_pipe().0;
    let malformed = for_each_ad(&options.inputs, routes.world(), program, Some(stdin), |mut job| {
        if arguments.state.ignore_prior_routing {
            forget_routing(&mut job);
        }
        jobs.add(router_setup::job_key(&job, routes.world()), job);
        Ok(())
    })?;
    let analysis = Analysis::new(routes, jobs);
    let html = arguments.html.as_deref();
    let report = ExplanationReport {
        output: &options.output,
        rows: arguments.rows,
        by_slot: false,
        html,
        any: arguments.any,
    };
    match report.print(&analysis)? {
        Status::Done if malformed > 0 && !arguments.any => Ok(Status::No),
        status => Ok(status),
    }
}

/// Report about the routes of all jobs.
struct MatchReport<'a> {
    arguments: &'a MatchArguments,
    setup: &'a RouterSetup,
    world: &'a dyn World,
    pass: RoutingPass<'a>,
    out: BufWriter<PipedStdout>,
    json: Option<JsonObjectPrinter>,
    /// Number of jobs that got each route.
    counts: Vec<u64>,
    reasons: ReasonCounts,
}

impl MatchReport<'_> {
    /// Prints the header of separated rows.
    fn print_header(&mut self) -> io::Result<()> {
        let Some(form) = self.arguments.rows.report_form() else { return Ok(()) };
        let names: &[&str] =
            if self.arguments.summary { &["route", "jobs"] } else { &["job", "route", "reason"] };
        let mut header = Vec::new();
        form.push_header(names, &mut header);
        self.out.write_all(&header)
    }

    /// Finds the route of a job and prints it.
    fn match_job(&mut self, key: &str, job: &ClassAd) -> anyhow::Result<()> {
        let MatchArguments { summary, explain, .. } = *self.arguments;
        let wants_explanation = !summary && (explain || self.json.is_some());
        // The explanation needs the states of the routes before this job is counted.
        let before = wants_explanation.then(|| self.pass.route_states().to_vec());
        let choice = self.pass.choose(job);
        let explanation = before.map(|states| self.explain_job(&states, job));
        let chosen = match choice {
            RouteChoice::Route(at) => Ok(at),
            _ => Err(self.pass.unrouted_reason(choice, job, explanation.as_ref())),
        };
        match &chosen {
            Ok(at) => self.counts[*at] += 1,
            Err(reason) => self.reasons.add(reason.clone()),
        }
        // If all routes are full, the daemon rebuilds the umbrella constraint in its next cycle.
        if choice == RouteChoice::AllFull {
            self.pass.mark_all_full();
        }
        if summary {
            return Ok(());
        }
        let route = chosen.as_ref().map(|at| self.setup.table.routes[*at].name.as_bstr());
        if let Some(json) = &mut self.json {
            if let Some(explanation) = &explanation {
                let (name, reason) =
                    (route.as_deref().ok(), route.as_ref().err().map(|reason| reason.as_str()));
                json.print_object(
                    &mut self.out,
                    &route_search_to_json(key, name.map(|name| &**name), reason, explanation),
                )?;
            }
        } else if let Some(form) = self.arguments.rows.report_form() {
            let mut row = Vec::new();
            let (route, reason): (&[u8], &str) = match &route {
                Ok(route) => (route.as_bytes(), ""),
                Err(reason) => (b"", reason.as_str()),
            };
            form.push_row([key.as_bytes(), route, reason.as_bytes()], &mut row);
            self.out.write_all(&row)?;
        } else if let Some(explanation) = explanation {
            let lines = explanation.to_report_lines(key, route.ok().map(|name| &**name));
            lines.into_iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
        } else {
            match route {
                Ok(route) => writeln!(self.out, "{key}\t{route}")?,
                Err(reason) => writeln!(self.out, "{key}\t-\t{reason}")?,
            }
        }
        Ok(())
    }

    /// Explains the route of a job. Adds hints about string comparisons that are false only because of the case of
    /// letters.
    fn explain_job(&self, states: &[RouteState], job: &ClassAd) -> JobExplanation {
        let mut explanation = self.pass.explain(states, job, usize::MAX);
        let context = Context::new(self.world).my(job).without_enclosing_ad();
        for route in explanation.routes.iter_mut().filter(|route| route.hint.is_none()) {
            let clause = route.clause.as_ref().and_then(|clause| Expr::parse(&clause.text).ok());
            route.hint = clause.and_then(|clause| letter_case_hint(&context, &clause));
        }
        explanation
    }

    /// Prints the summary of all jobs.
    fn end(mut self, program: &ProgramContext) -> io::Result<()> {
        let MatchArguments { summary, ref options, .. } = *self.arguments;
        let is_json = self.json.is_some();
        if let Some(mut json) = self.json.take() {
            if summary {
                let summary = self.summary();
                json.print_object(&mut self.out, &summary)?;
            }
            json.end(&mut self.out)?;
        }
        if summary && is_json {
            return self.out.flush();
        }
        let mut lines = Vec::new();
        if let (true, Some(form)) = (summary, self.arguments.rows.report_form()) {
            return self.print_summary_rows(form);
        }
        if summary {
            let jobs =
                |(at, route): (usize, &Route)| format!("{}: {}", route.name, counted(self.counts[at], "job"));
            lines.extend(self.setup.table.routes_in_order().map(jobs));
        }
        if self.reasons.total() > 0 {
            lines.extend(self.reasons.to_lines("not routed"));
        }
        if summary {
            lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
        } else if !options.output.quiet && !lines.is_empty() {
            self.out.flush()?;
            program.write_stderr(&format!("{}\n", lines.join("\n")));
        }
        self.out.flush()
    }

    /// Prints the number of jobs of each route, and of jobs without a route, as rows.
    fn print_summary_rows(&mut self, form: RowForm) -> io::Result<()> {
        let mut rows = Vec::new();
        for (at, route) in self.setup.table.routes_in_order() {
            form.push_row([route.name.as_slice(), self.counts[at].to_string().as_bytes()], &mut rows);
        }
        form.push_row([b"", self.reasons.total().to_string().as_bytes()], &mut rows);
        self.out.write_all(&rows)?;
        self.out.flush()
    }

    /// Returns the counts as JSON.
    fn summary(&self) -> serde_json::Value {
        let count = |(at, route): (usize, &Route)| json!({ "route": route.name.to_string(), "jobs": self.counts[at] });
        let routes: Vec<_> = self.setup.table.routes_in_order().map(count).collect();
        json!({ "routes": routes, "not_routed": self.reasons.total(), "reasons": self.reasons.to_json() })
    }
}

fn truth_word(truth: Truth) -> &'static str {
    match truth {
        Truth::True => "true",
        Truth::False => "false",
        Truth::Undefined => "undefined",
        Truth::Error => "error",
    }
}

/// Returns the search for one job's route as a JSON object. `reason` is set if the job gets no route.
fn route_search_to_json(
    job: &str,
    chosen: Option<&[u8]>,
    reason: Option<&str>,
    explanation: &JobExplanation,
) -> serde_json::Value {
    let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
    let routes: Vec<_> = explanation
        .routes
        .iter()
        .map(|seen| {
            json!({
                "route": text(&seen.route),
                "accepts": seen.full_reason.is_none() && seen.matches == Truth::True,
                "limit": seen.full_reason.map(|full| full.to_string()),
                "requirements": truth_word(seen.matches),
                "clause": seen.clause.as_ref().map(|clause| text(&clause.text)),
                "because": seen.clause.as_ref().map(|clause| clause.explanation.clone()),
                "note": seen.hint,
            })
        })
        .collect();
    // A job that is not a candidate would not get these routes either.
    let full_routes: Vec<String> = match explanation.excluded_by {
        Some(_) => Vec::new(),
        None => explanation.full_matching_routes().into_iter().map(|name| text(name)).collect(),
    };
    json!({
        "job": job,
        "route": chosen.map(text),
        "candidate": truth_word(explanation.umbrella),
        "left_out": explanation.excluded_by.as_ref().map(|(name, clause)| {
            json!({ "by": name, "clause": text(&clause.text), "because": clause.explanation })
        }),
        "reason": reason,
        "full_routes": full_routes,
        "routes": routes,
    })
}
