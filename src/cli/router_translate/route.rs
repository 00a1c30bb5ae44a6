//! `htc-router-translate route`: reads source jobs, and writes the ads that the router would submit.

use bstr::{BString, ByteSlice};
use clap::Args;

use super::ad_pipeline::{AdPrinter, for_each_ad};
use super::options::RouterVerbOptions;
use super::router_setup::{self, ReasonCounts, RouteStateOptions, RouterSetup};
use crate::classad::ClassAd;
use crate::cli::common::{Problem, ProgramContext, Status, open_stdio_pipe, parse_seconds};
use crate::cli::transform_report as report;
use crate::config::MacroSource;
use crate::router::explain::MAX_NAMED_ROUTES;
use crate::router::translate::{TransformPosition, TransformProgress, TranslationWatcher, changes_of_edit};
use crate::router::{Route, RouteChoice, RoutingPass, Translator, forget_routing};
use crate::runner::configured_world;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::router::{HookRunner, RoutingNotice, RoutingOutcome, SingleJobRouter};
use crate::transform::{Observer, RuleLine, Transform, TransformEvent};

/// Options of the verb `route`.
#[derive(Args, Debug)]
pub(super) struct RouteArguments {
    /// Also print to standard error which routes match each job, and the result
    #[arg(long)]
    explain: bool,
    /// Print what each transform statement did to standard error
    #[arg(long)]
    trace: bool,
    /// Print each source job, as the router would change it, before its copy
    #[arg(long)]
    pairs: bool,
    /// Do not call TRANSLATE_JOB hooks
    #[arg(long)]
    no_hooks: bool,
    /// HTCondor waits forever.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "60")]
    hook_timeout: std::time::Duration,
    /// A job is accepted if it is routed.
    #[arg(long)]
    any: bool,
    /// Use this route for every job, ignoring its requirements and limits
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    #[command(flatten)]
    state: RouteStateOptions,
    #[command(flatten)]
    pub(super) options: RouterVerbOptions,
}

/// Observer that prints each step of a transform.
struct TransformTracer<'a> {
    program: &'a ProgramContext,
    trace: bool,
}

impl TranslationWatcher for TransformTracer<'_> {
    fn note_progress(&mut self, part: TransformPosition, transform: &Transform, stage: TransformProgress) {
        if !self.trace {
            return;
        }
        let kind = match part {
            TransformPosition::Pre => "before the route",
            TransformPosition::Route => "route",
            TransformPosition::Post => "after the route",
        };
        match stage {
            TransformProgress::Begins => {
                self.program.write_stderr(&format!("  {} ({kind})\n", transform.name))
            }
            TransformProgress::Skipped => {
                self.program.write_stderr(&format!("  {} ({kind}) does not apply\n", transform.name))
            }
            TransformProgress::Ended => {}
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }
}

impl Observer for TransformTracer<'_> {
    fn wants_steps(&self) -> bool {
        self.trace
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        match event {
            TransformEvent::Problem(problem) => {
                self.program.report(&report::statement_problem(line, &problem, Status::Failed));
            }
            TransformEvent::Changed { attribute, old, new } if self.trace => {
                let side = |expr: Option<&crate::classad::Expr>| {
                    expr.map_or("(none)".into(), |expr| expr.unparse().to_str_lossy().into_owned())
                };
                let text = format!("    {}: {} -> {}\n", attribute.as_bstr(), side(old), side(new));
                self.program.write_stderr(&text);
            }
            _ => {}
        }
    }
}

struct RoutingRun<'a> {
    arguments: &'a RouteArguments,
    program: &'a ProgramContext,
    setup: &'a RouterSetup,
    pass: RoutingPass<'a>,
    /// Index of the route that `--route` sets for every job, or `None` if routes are chosen.
    forced: Option<usize>,
    ads: AdPrinter,
    reasons: ReasonCounts,
    routed_count: u64,
    jobs: SingleJobRouter<'a>,
}

/// Runs the verb `route`. The exit status is 0 if every job was routed, otherwise 1.
pub(super) fn run(arguments: &RouteArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    let world = arguments.options.clock.world();
    let quirks = arguments.options.quirks.quirks;
    let setup = RouterSetup::load(&arguments.options.config, quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    let pass = setup.make_pass(&arguments.state, &world, program)?;
    let forced = arguments.route.as_deref().map(|name| setup.find_route_number(name)).transpose()?;
    let (stdin, stdout) = open_stdio_pipe();
    let macros: &dyn MacroSource = &view;
    let translator = Translator {
        table: &setup.table,
        parameters: &setup.parameters,
        config: Some(macros),
        world: &world,
        quirks,
    };
    let hooks = HookRunner {
        knobs: &view,
        world: &world,
        environment: DaemonEnvironment::from_program(&world, &arguments.options.config.to_config_choice())
            .for_hooks(quirks),
        limit: Some(arguments.hook_timeout),
        directory: None,
        quirks,
    };
    let mut work = RoutingRun {
        arguments,
        program,
        jobs: SingleJobRouter::new(translator, hooks, !arguments.no_hooks),
        setup: &setup,
        pass,
        forced,
        ads: AdPrinter::new(&arguments.options.output, stdout),
        reasons: ReasonCounts::default(),
        routed_count: 0,
    };
    let malformed = for_each_ad(&arguments.options.inputs, &world, program, Some(stdin), |mut job| {
        if arguments.state.ignore_prior_routing {
            forget_routing(&mut job);
        }
        work.process_job(&router_setup::job_key(&job, &world), &job)
    })?;
    let RoutingRun { ads, reasons, routed_count, .. } = work;
    ads.finish(&arguments.options.output, program)?;
    // These jobs are missing from the output, so --quiet does not suppress the message.
    if reasons.total() > 0 {
        program.write_stderr(&format!("{}\n", reasons.to_lines("not routed").join("\n")));
    }
    let is_yes = if arguments.any { routed_count > 0 } else { reasons.total() + malformed == 0 };
    Ok(if is_yes { Status::Done } else { Status::No })
}

impl RouterSetup {
    /// Returns the index of the route that `--route` names.
    pub(super) fn find_route_number(&self, name: &str) -> anyhow::Result<usize> {
        Ok(self.table.index_of(name.as_bytes()).ok_or_else(|| {
            let names = self.table.routes_in_order().take(10).map(|(_, route)| route.name.to_string());
            let hint = format!("routes are: {}", names.collect::<Vec<_>>().join(", "));
            Problem::usage(format!("there is no route '{name}'")).hint(hint)
        })?)
    }
}

impl<'a> RoutingRun<'a> {
    /// Finds the route of a job, and processes the job as the router would.
    fn process_job(&mut self, key: &str, job: &ClassAd) -> anyhow::Result<()> {
        let Some(route) = self.choose_route(key, job) else { return Ok(()) };
        let outcome = self.route_one_job(route, key, job)?;
        self.routed_count +=
            u64::from(matches!(outcome, RoutingOutcome::Routed(_) | RoutingOutcome::Edited(_)));
        match outcome {
            RoutingOutcome::Routed(pair) if self.arguments.pairs => self.ads.write_pair(&pair.0, &pair.1)?,
            RoutingOutcome::Routed(pair) => self.ads.write(&pair.1)?,
            RoutingOutcome::Edited(edited) => self.ads.write(&edited)?,
            RoutingOutcome::GivenBack(reason) => {
                self.program.warn(&format!("{key}: released: {reason}"));
                self.reasons.add(format!("released by route {}: {reason}", route.name));
            }
            RoutingOutcome::Stuck(what, reason) => {
                self.program.warn(&format!("{key}: {what}: {reason}"));
                self.reasons.add(format!("{what}, in route {}: {reason}", route.name));
            }
        }
        Ok(())
    }

    /// Returns the route of a job. If the job gets no route, counts the reason and returns `None`.
    fn choose_route(&mut self, key: &str, job: &ClassAd) -> Option<&'a Route> {
        let explains = self.arguments.explain;
        let before = explains.then(|| self.pass.route_states().to_vec());
        let choice = match self.forced {
            Some(at) => RouteChoice::Route(at),
            None => self.pass.choose(job),
        };
        let chosen = match choice {
            RouteChoice::Route(at) => Some(&self.setup.table.routes[at]),
            _ => None,
        };
        if explains || chosen.is_none() {
            let states = before.as_deref().unwrap_or(self.pass.route_states());
            let explanation =
                self.pass.explain(states, job, if explains { usize::MAX } else { MAX_NAMED_ROUTES });
            if explains {
                let lines = explanation.to_report_lines(key, chosen.map(|route| route.name.as_slice()));
                self.program.write_stderr(&format!("{}\n", lines.join("\n")));
            }
            if chosen.is_none() {
                self.reasons.add(self.pass.unrouted_reason(choice, job, Some(&explanation)));
            }
        }
        chosen
    }

    /// Processes a job with a route as the router would.
    fn route_one_job(&mut self, route: &Route, key: &str, job: &ClassAd) -> std::io::Result<RoutingOutcome> {
        let (program, arguments) = (self.program, self.arguments);
        let mut tracer = TransformTracer { program, trace: arguments.trace };
        let explains = arguments.explain || arguments.trace;
        let mut report_notice = |notice: RoutingNotice<'_>| match notice {
            RoutingNotice::WouldCall(path) => {
                program.warn(&format!("{key}: the router would call {path} (TRANSLATE_JOB) here"));
            }
            RoutingNotice::HookStderr(text) => {
                program.write_stderr(&format!("{key}: TRANSLATE_JOB printed on standard error: {text}\n"))
            }
            RoutingNotice::TransformFailure(failure) => {
                program.report(&report::problem_from_failure(failure, Status::Failed))
            }
            RoutingNotice::Edited(before, after) if explains => {
                for (name, expr) in changes_of_edit(before, after) {
                    let value = expr.map_or(BString::from("(deleted)"), |expr| expr.unparse_old());
                    program.write_stderr(&format!("{key}  edits {name} = {value}\n"));
                }
            }
            RoutingNotice::Edited(..) => {}
        };
        self.jobs.route(route, key, job, &mut tracer, &mut report_notice)
    }
}
