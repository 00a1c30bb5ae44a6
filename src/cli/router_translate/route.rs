//! `htc-router-translate route`: source jobs in, the ads that the router would submit out.

use bstr::{BString, ByteSlice};
use clap::Args;

use super::options::VerbOptions;
use super::router::{self, Reasons, Setup, StateOptions};
use super::stream::{Ads, each_ad};
use crate::classad::ClassAd;
use crate::cli::common::{Problem, Session as Program, Status, pipe_ends, seconds};
use crate::cli::transform_report as report;
use crate::config::MacroSource;
use crate::router::explain::NAMED;
use crate::router::translate::{Part, Stage, Watcher, difference};
use crate::router::{Choice, Pass, Route, Translator, forget_routing};
use crate::runner::configured_world;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::router::{HookRunner, OneByOne, Outcome, Told};
use crate::transform::{Event, Line, Observer, Transform};

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Tell on standard error for each job what each route said to it, and what became of it
    #[arg(long)]
    explain: bool,
    /// Tell on standard error what each statement of the transforms did
    #[arg(long)]
    trace: bool,
    /// Write each source job too, as the router would leave it, in front of its copy
    #[arg(long)]
    pairs: bool,
    /// Do not call TRANSLATE_JOB hooks
    #[arg(long)]
    no_hooks: bool,
    /// Kill a hook that takes longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    hook_limit: std::time::Duration,
    /// Give every job this route, whatever its requirements and limits
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    #[command(flatten)]
    state: StateOptions,
    #[command(flatten)]
    options: VerbOptions,
}

/// Tells what transforms do.
struct Tracer<'a> {
    program: &'a Program,
    trace: bool,
}

impl Watcher for Tracer<'_> {
    fn stage(&mut self, part: Part, transform: &Transform, stage: Stage) {
        if !self.trace {
            return;
        }
        let kind = match part {
            Part::Pre => "before the route",
            Part::Route => "route",
            Part::Post => "after the route",
        };
        match stage {
            Stage::Begins => self.program.tell(&format!("  {} ({kind})\n", transform.name)),
            Stage::Skipped => self.program.tell(&format!("  {} ({kind}) does not apply\n", transform.name)),
            Stage::Ended => {}
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }
}

impl Observer for Tracer<'_> {
    fn wants_steps(&self) -> bool {
        self.trace
    }

    fn event(&mut self, line: &Line, event: Event<'_>) {
        match event {
            Event::Problem(problem) => {
                self.program.report(&report::problem(line, &problem, Status::Failed));
            }
            Event::Changed { attribute, old, new } if self.trace => {
                let side = |expr: Option<&crate::classad::Expr>| {
                    expr.map_or("(none)".into(), |expr| expr.unparse().to_str_lossy().into_owned())
                };
                let text = format!("    {}: {} -> {}\n", attribute.as_bstr(), side(old), side(new));
                self.program.tell(&text);
            }
            _ => {}
        }
    }
}

struct Work<'a> {
    arguments: &'a Arguments,
    program: &'a Program,
    setup: &'a Setup,
    pass: Pass<'a>,
    /// The route that every job gets.
    forced: Option<usize>,
    ads: Ads,
    reasons: Reasons,
    jobs: OneByOne<'a>,
}

/// Carries it out: 0 when every job was routed, 1 when one was not.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = arguments.options.clock.world();
    let quirks = arguments.options.quirks.quirks;
    let setup = Setup::load(&arguments.options.config, quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    let pass = setup.pass(&arguments.state, &world)?;
    let forced = arguments.route.as_deref().map(|name| setup.named(name)).transpose()?;
    let (stdin, stdout) = pipe_ends();
    let knobs: &dyn MacroSource = &view;
    let translator =
        Translator { table: &setup.table, knobs: &setup.knobs, config: Some(knobs), world: &world, quirks };
    let hooks = HookRunner {
        knobs: &view,
        world: &world,
        environment: DaemonEnvironment::of_program(&world, &arguments.options.config.choice())
            .for_hooks(quirks),
        limit: Some(arguments.hook_limit),
        directory: None,
        quirks,
    };
    let mut work = Work {
        arguments,
        program,
        jobs: OneByOne::new(translator, hooks, !arguments.no_hooks),
        setup: &setup,
        pass,
        forced,
        ads: Ads::new(&arguments.options.output, stdout),
        reasons: Reasons::default(),
    };
    let malformed = each_ad((&arguments.options.inputs, &world), program, Some(stdin), |mut job| {
        if arguments.state.ignore_prior_routing {
            forget_routing(&mut job);
        }
        work.job(&router::job_key(&job, &world), &job)
    })?;
    let Work { ads, reasons, .. } = work;
    ads.finish()?;
    if reasons.total() > 0 && !arguments.options.output.quiet {
        program.tell(&format!("{}\n", reasons.lines("not routed").join("\n")));
    }
    Ok(if reasons.total() + malformed > 0 { Status::No } else { Status::Done })
}

impl Setup {
    /// The number of the route that `--route` names.
    fn named(&self, name: &str) -> anyhow::Result<usize> {
        Ok(self.table.find(name.as_bytes()).ok_or_else(|| {
            let names = self.table.in_order().take(10).map(|(_, route)| route.name.to_string());
            let hint = format!("routes are: {}", names.collect::<Vec<_>>().join(", "));
            Problem::usage(format!("there is no route '{name}'")).hint(hint)
        })?)
    }
}

impl<'a> Work<'a> {
    /// Finds the route of a job, and does what the router does with it.
    fn job(&mut self, key: &str, job: &ClassAd) -> anyhow::Result<()> {
        let Some(route) = self.route(key, job) else { return Ok(()) };
        match self.one(route, key, job)? {
            Outcome::Routed(pair) if self.arguments.pairs => self.ads.pair(&pair.0, &pair.1)?,
            Outcome::Routed(pair) => self.ads.write(&pair.1)?,
            Outcome::Edited(edited) => self.ads.write(&edited)?,
            Outcome::GivenBack(reason) => {
                self.program.warn(&format!("{key}: given back: {reason}"));
                self.reasons.add(format!("given back by route {}: {reason}", route.name));
            }
            Outcome::Kept(what, reason) => {
                self.program.warn(&format!("{key}: {what}: {reason}"));
                self.reasons.add(format!("{what}, in route {}: {reason}", route.name));
            }
        }
        Ok(())
    }

    /// The route of a job; why it has none is counted.
    fn route(&mut self, key: &str, job: &ClassAd) -> Option<&'a Route> {
        let is_told = self.arguments.explain;
        let before = is_told.then(|| self.pass.states().to_vec());
        let choice = match self.forced {
            Some(at) => Choice::Route(at),
            None => self.pass.choose(job),
        };
        let chosen = match choice {
            Choice::Route(at) => Some(&self.setup.table.routes[at]),
            _ => None,
        };
        if is_told || chosen.is_none() {
            let states = before.as_deref().unwrap_or(self.pass.states());
            let story = self.pass.explain(states, job, if is_told { usize::MAX } else { NAMED });
            if is_told {
                let lines = story.lines(key, chosen.map(|route| route.name.as_slice()));
                self.program.tell(&format!("{}\n", lines.join("\n")));
            }
            if chosen.is_none() {
                self.reasons.add(self.pass.reason(choice, job, Some(&story)));
            }
        }
        chosen
    }

    /// What the router would do with it.
    fn one(&mut self, route: &Route, key: &str, job: &ClassAd) -> std::io::Result<Outcome> {
        let (program, arguments) = (self.program, self.arguments);
        let mut tracer = Tracer { program, trace: arguments.trace };
        let is_told = arguments.explain || arguments.trace;
        let mut tell = |told: Told<'_>| match told {
            Told::WouldCall(path) => {
                program.warn(&format!("{key}: the router would call {path} (TRANSLATE_JOB) here"));
            }
            Told::HookSays(text) => program.tell(&format!("{key}: TRANSLATE_JOB says: {text}\n")),
            Told::Failure(failure) => program.report(&report::failure(failure, Status::Failed)),
            Told::Edited(before, after) if is_told => {
                for (name, expr) in difference(before, after) {
                    let value = expr.map_or(BString::from("(deleted)"), |expr| expr.unparse_old());
                    program.tell(&format!("{key}  edits {name} = {value}\n"));
                }
            }
            Told::Edited(..) => {}
        };
        self.jobs.route(route, (key, job), &mut tracer, &mut tell)
    }
}
