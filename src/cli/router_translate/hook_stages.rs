//! `htc-router-translate translate|update|finalize|cleanup|finish`: runs one stage of the router, which is a hook or the final
//! update.

use std::collections::BTreeSet;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use clap::Args;

use super::ad_pipeline::{AdPrinter, for_each_ad, for_each_pair};
use super::options::RouterVerbOptions;
use super::router_setup::{self, ReasonCounts, RouteStateOptions, RouterSetup};
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{ProgramContext, Status, open_stdio_pipe, parse_seconds};
use crate::hook::{HookType, ParameterSource as _, keyword};
use crate::os::Reactor;
use crate::quirks::QuirkMode;
use crate::router::mirror::{self, ExtraAttributes};
use crate::router::{
    FinishedHookCall, HookDecision, HookVerdict, Route, RouteChoice, RouteTable, RoutingPass, forget_routing,
    judge_hook_call,
};
use crate::runner::configured_world;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::router::{HookRunner, NoHookReason};
use crate::world::World;

/// Options of `translate`. Its hook is the only one that is called with a route.
#[derive(Args, Debug)]
pub(super) struct TranslateArguments {
    /// Pass this route to TRANSLATE_JOB [default: the one that the router chooses]
    ///
    /// A job that gets no route is then reported and not passed to the hook.
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    #[command(flatten)]
    state: RouteStateOptions,
    #[command(flatten)]
    pub(super) call: HookCallOptions,
}

/// Options of the verbs that call a hook.
#[derive(Args, Debug)]
pub(super) struct HookCallOptions {
    /// HTCondor waits forever.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "60")]
    hook_timeout: Duration,
    /// Prints the input of the hook and does not call it.
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    pub(super) options: RouterVerbOptions,
}

/// Stage that calls a hook for each ad of a stream.
struct HookStage<'a> {
    program: &'a ProgramContext,
    call_options: &'a HookCallOptions,
    hooks: HookRunner<'a>,
    reactor: Option<Reactor>,
    world: &'a dyn World,
    quirks: QuirkMode,
    failed: u64,
    /// Parameters for hooks that are not set and have been reported. Each is reported only once.
    unset_parameters: BTreeSet<BString>,
}

/// Source of the route with which a hook is called.
enum HookRoute<'a> {
    /// The hook gets no route.
    Unused,
    /// Route of `--route`.
    Named(&'a Route),
    /// Routing pass that chooses a route for each job.
    Chosen(Box<ChosenRoutes<'a>>),
}

/// Routing pass, and counts of the reasons why jobs get no route.
struct ChosenRoutes<'a> {
    pass: RoutingPass<'a>,
    table: &'a RouteTable,
    reasons: ReasonCounts,
    ignore_prior_routing: bool,
}

impl<'a> HookRoute<'a> {
    fn new(
        hook: HookType,
        translate: Option<&TranslateArguments>,
        setup: &'a RouterSetup,
        world: &'a dyn World,
        program: &ProgramContext,
    ) -> anyhow::Result<Self> {
        let Some(arguments) = translate.filter(|_| hook == HookType::TranslateJob) else {
            return Ok(HookRoute::Unused);
        };
        if let Some(name) = &arguments.route {
            let at = setup.find_route_number(name)?;
            return Ok(HookRoute::Named(&setup.table.routes[at]));
        }
        let pass = setup.make_pass(&arguments.state, world, program)?;
        let ignore_prior_routing = arguments.state.ignore_prior_routing;
        let chosen = ChosenRoutes {
            pass,
            table: &setup.table,
            reasons: ReasonCounts::default(),
            ignore_prior_routing,
        };
        Ok(HookRoute::Chosen(Box::new(chosen)))
    }

    /// Returns the route with which the hook of a job is called. If the job gets no route, counts the reason and
    /// returns `None`.
    fn find(&mut self, job: &mut ClassAd, world: &dyn World) -> Option<JobRoute> {
        let route = match self {
            HookRoute::Unused => return Some(JobRoute::default()),
            HookRoute::Named(route) => *route,
            HookRoute::Chosen(routes) => routes.choose(job)?,
        };
        let edits_in_place = route.edit_job_in_place.is_true(job, world);
        Some(JobRoute { description: route.description(), edits_in_place })
    }
}

/// Route with which the hook of one job is called. The default is no route.
#[derive(Default)]
struct JobRoute {
    description: BString,
    /// True if the output of the hook changes the job itself.
    edits_in_place: bool,
}

impl<'a> ChosenRoutes<'a> {
    fn choose(&mut self, job: &mut ClassAd) -> Option<&'a Route> {
        if self.ignore_prior_routing {
            forget_routing(job);
        }
        match self.pass.choose(job) {
            RouteChoice::Route(at) => Some(&self.table.routes[at]),
            choice => {
                self.reasons.add(self.pass.unrouted_reason(choice, job, None));
                None
            }
        }
    }
}

/// Outcome of a hook call.
enum HookCallOutcome {
    /// No hook is configured for the job.
    NoHook,
    /// Verdict on the output of the hook.
    Verdict(Box<HookVerdict>),
    /// No result: the hook could not be called, timed out, or its input was only shown.
    Nothing,
}

impl HookStage<'_> {
    fn call_hook(
        &mut self,
        hook: HookType,
        route: &JobRoute,
        source: &ClassAd,
        routed: &ClassAd,
        key: &str,
    ) -> anyhow::Result<HookCallOutcome> {
        let stdin = HookRunner::stdin(hook, &route.description, source, routed);
        match self.hooks.path(hook, source) {
            Err(NoHookReason::NotConfigured) => {
                self.report_missing_hook(hook, source, key);
                return Ok(HookCallOutcome::NoHook);
            }
            Ok(path) if self.call_options.dry_run => {
                let text = stdin.to_str_lossy();
                self.program.write_stderr(&format!("{key}: {} {path} would read:\n{text}", hook.name()));
                return Ok(HookCallOutcome::Nothing);
            }
            _ => {}
        }
        if self.reactor.is_none() {
            self.reactor = Some(Reactor::new(&[])?);
        }
        let Some(reactor) = &mut self.reactor else { return Ok(HookCallOutcome::Nothing) };
        let finished_call = match self.hooks.run(reactor, hook, source, stdin) {
            Ok(finished_call) => finished_call,
            Err(NoHookReason::NotConfigured) => return Ok(HookCallOutcome::NoHook),
            Err(NoHookReason::Refused(reason) | NoHookReason::Failed(reason)) => {
                self.report_failure(key, &reason);
                return Ok(HookCallOutcome::Nothing);
            }
        };
        let complaint = finished_call.stderr.trim().as_bstr();
        if !complaint.is_empty() {
            self.program
                .write_stderr(&format!("{key}: {} printed on standard error: {complaint}\n", hook.name()));
        }
        if finished_call.timed_out {
            let limit = self.call_options.hook_timeout.as_secs();
            let what =
                format!("{} {} took longer than {limit} s and was killed", hook.name(), finished_call.path);
            self.report_failure(key, &what);
            return Ok(HookCallOutcome::Nothing);
        }
        let answer = FinishedHookCall {
            dialect: Dialect::of_world(self.world),
            hook,
            exit: finished_call.exit,
            stdout: &finished_call.stdout,
            is_truncated: finished_call.is_truncated,
            source_ad: source,
            routed_ad: (hook != HookType::TranslateJob).then_some(routed),
            edit_in_place: route.edits_in_place,
        };
        let verdict = judge_hook_call(&answer, self.quirks);
        // Even a successful verdict has a reason if output was ignored.
        if !verdict.decision.is_success() || !verdict.reason.is_empty() {
            self.report_failure(
                key,
                &format!("{} {}: {}", hook.name(), finished_call.path, verdict_text(&verdict)),
            );
        }
        Ok(HookCallOutcome::Verdict(Box::new(verdict)))
    }

    /// Reports that no hook of this type is configured for a job's keyword, so that the job is printed unchanged.
    fn report_missing_hook(&mut self, hook: HookType, source: &ClassAd, key: &str) {
        let lookup = keyword::router_keyword(source, self.hooks.knobs, self.world);
        let parameter = match &lookup.keyword {
            Some(keyword) if !keyword.is_empty() => hook.path_parameter(keyword),
            _ => "JOB_ROUTER_HOOK_KEYWORD".into(),
        };
        if self.unset_parameters.insert(parameter.clone()) {
            self.program.warn(&format!("{key}: {parameter} is not set, so {} is not called", hook.name()));
        }
    }

    fn report_failure(&mut self, key: &str, reason: &str) {
        self.failed += 1;
        self.program.warn(&format!("{key}: {reason}"));
    }
}

/// Runs the verb `translate`. The exit status is 0 if every job got a route and all hooks succeeded, otherwise 1.
pub(super) fn translate(options: &TranslateArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    run_hook_stage(HookType::TranslateJob, Some(options), &options.call, program)
}

/// Runs the verb `update`, `finalize` or `cleanup`.
pub(super) fn run_hook_verb(
    hook: HookType,
    call: &HookCallOptions,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    run_hook_stage(hook, None, call, program)
}

/// Formats a verdict, its reason, and the differences of a real router.
fn verdict_text(verdict: &HookVerdict) -> String {
    let reason = if verdict.reason.is_empty() { String::new() } else { format!(" ({})", verdict.reason) };
    let differences: String =
        verdict.quirks.iter().map(|quirk| format!("; 25.14: {}", quirk.line())).collect();
    format!("{}{reason}{differences}", verdict.decision.word())
}

fn run_hook_stage(
    hook: HookType,
    translate: Option<&TranslateArguments>,
    call_options: &HookCallOptions,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let options = &call_options.options;
    let world = options.clock.world();
    let quirks = options.quirks.quirks;
    let setup = RouterSetup::load(&options.config, quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    let mut routes = HookRoute::new(hook, translate, &setup, &world, program)?;
    let hooks = HookRunner {
        knobs: &view,
        world: &world,
        environment: DaemonEnvironment::from_program(&world, &options.config.to_config_choice())
            .for_hooks(quirks),
        limit: Some(call_options.hook_timeout),
        directory: None,
        quirks,
    };
    let mut stage = HookStage {
        program,
        call_options,
        hooks,
        reactor: None,
        world: &world,
        quirks,
        failed: 0,
        unset_parameters: BTreeSet::new(),
    };
    let (stdin, stdout) = open_stdio_pipe();
    let mut ads = AdPrinter::new(&options.output, stdout);
    let malformed = if hook == HookType::JobFinalize {
        drop(stdin);
        for_each_pair(&options.inputs, &world, program, |mut source, routed| {
            let key = router_setup::job_key(&source, stage.world);
            if let HookCallOutcome::Verdict(verdict) =
                stage.call_hook(hook, &JobRoute::default(), &source, &routed, &key)?
                && verdict.decision == HookDecision::Finalized
            {
                source.update(&verdict.output_ad);
            }
            Ok(ads.write_pair(&source, &routed)?)
        })?
    } else {
        for_each_ad(&options.inputs, &world, program, Some(stdin), |mut ad| {
            let key = router_setup::job_key(&ad, stage.world);
            let Some(route) = routes.find(&mut ad, stage.world) else { return Ok(()) };
            // Hooks of a routed copy are looked up by its source job. The copy has the keyword of the source job unless a route
            // changed it.
            match stage.call_hook(hook, &route, &ad, &ad, &key)? {
                HookCallOutcome::Verdict(verdict) => match verdict.decision {
                    HookDecision::Routed | HookDecision::Edited => ad = verdict.output_ad,
                    HookDecision::Updated => ad.update(&verdict.output_ad),
                    // After these decisions, the job is not passed to the next stage.
                    HookDecision::Dropped | HookDecision::Stuck | HookDecision::RouterAbort => return Ok(()),
                    _ => {}
                },
                HookCallOutcome::Nothing if hook == HookType::TranslateJob => return Ok(()),
                HookCallOutcome::Nothing | HookCallOutcome::NoHook => {}
            }
            Ok(ads.write(&ad)?)
        })?
    };
    ads.finish(&options.output, program)?;
    let unrouted = match &routes {
        HookRoute::Chosen(chosen) => chosen.reasons.total(),
        _ => 0,
    };
    // These jobs are missing from the output, so --quiet does not suppress the message.
    if let (HookRoute::Chosen(chosen), true) = (&routes, unrouted > 0) {
        program.write_stderr(&format!("{}\n", chosen.reasons.to_lines("not routed").join("\n")));
    }
    Ok(if stage.failed + malformed + unrouted > 0 { Status::No } else { Status::Done })
}

/// Runs the verb `finish`: updates each source job from the state of its routed copy, and writes the source job.
pub(super) fn finish(options: &RouterVerbOptions, program: &ProgramContext) -> anyhow::Result<Status> {
    let world = options.clock.world();
    let setup = RouterSetup::load(&options.config, options.quirks.quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    let mut ads = AdPrinter::new(&options.output, open_stdio_pipe().1);
    let mut failed = 0;
    let malformed = for_each_pair(&options.inputs, &world, program, |mut source, routed| {
        let key = router_setup::job_key(&source, &world);
        let attributes = keyword::router_keyword(&source, &view, &world)
            .keyword
            .and_then(|keyword| view.get(&[keyword.as_slice(), b"_ATTRS_TO_COPY"].concat()))
            .unwrap_or_default();
        let extra =
            ExtraAttributes { configured_names: &attributes, chirp_patterns: &setup.parameters.chirp_prefix };
        let copy = (&routed, job_id_text(&routed, &world));
        if let Err(error) =
            mirror::finish_source(&mut source, copy.0, copy.1, extra, world.now().epoch(), &world)
        {
            failed += 1;
            program.warn(&format!("{key}: {error}"));
        }
        Ok(ads.write(&source)?)
    })?;
    ads.finish(&options.output, program)?;
    Ok(if failed + malformed > 0 { Status::No } else { Status::Done })
}

fn job_id_text(ad: &ClassAd, world: &dyn World) -> Option<BString> {
    let key = router_setup::job_key(ad, world);
    (key != "?").then(|| key.into())
}
