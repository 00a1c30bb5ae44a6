//! Routing of single jobs, like a router that submits nothing: jobs are claimed, translated by their hooks, and
//! copied or edited.

use std::io;

use bstr::{BStr, ByteSlice};

use super::hooks::{CompletedHook, HookRunner, NoHookReason};
use htc_classad::{ClassAd, Dialect};
use htc_hook::HookType;
use htc_os::Reactor;
use htc_router::translate::TranslationWatcher;
use htc_router::{
    FinishedHookCall, HookDecision, Route, SourceJob, TranslateError, Translator, judge_hook_call,
};
use htc_transform::TransformFailure;

/// Action of a router on a job whose translate hook printed nothing.
const STUCK_OUTCOME: &str = "stays claimed, and the hook is called again";
/// Action of a router on a job without JobUniverse.
const ABORT_OUTCOME: &str = "the router aborts here";

/// Outcome of routing a job.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutingOutcome {
    /// The job was routed: contains the resulting source job and the routed job.
    Routed(Box<(ClassAd, ClassAd)>),
    /// The job was edited in place: contains the edited ad.
    Edited(Box<ClassAd>),
    /// The job was released: contains the reason.
    GivenBack(String),
    /// The job was neither routed nor released: contains its new state and the reason.
    Stuck(&'static str, String),
}

/// Result of a job's translate hook.
enum HookTranslation {
    /// Ad from the output of the hook.
    Ad(ClassAd),
    /// The job has no translate hook, or hooks are not called.
    NoHook,
    /// The hook produced no ad; contains the outcome of the job.
    NoAd(RoutingOutcome),
}

/// Events during routing.
pub enum RoutingNotice<'t> {
    /// A hook that the router would call was skipped.
    WouldCall(&'t BStr),
    /// A hook wrote to its standard error.
    HookStderr(&'t BStr),
    /// A transform failed.
    TransformFailure(&'t TransformFailure),
    /// A job was edited in place: ads before and after.
    Edited(&'t ClassAd, &'t ClassAd),
}

/// Router for single jobs.
pub struct SingleJobRouter<'a> {
    /// Translator that creates the routed jobs.
    pub translator: Translator<'a>,
    /// Runner of the hooks.
    pub hooks: HookRunner<'a>,
    /// True if hooks are called; false if they are only reported.
    pub calls_hooks: bool,
    reactor: Option<Reactor>,
}

impl<'a> SingleJobRouter<'a> {
    /// Creates a router that has not routed any job yet.
    pub fn new(translator: Translator<'a>, hooks: HookRunner<'a>, calls: bool) -> Self {
        SingleJobRouter { translator, hooks, calls_hooks: calls, reactor: None }
    }

    /// Claims, translates and edits one job as the router does.
    ///
    /// # Errors
    /// Fails if waiting for children fails.
    pub fn route(
        &mut self,
        route: &Route,
        id: &str,
        job: &ClassAd,
        watcher: &mut dyn TranslationWatcher,
        report: &mut dyn FnMut(RoutingNotice<'_>),
    ) -> io::Result<RoutingOutcome> {
        let world = self.translator.world;
        let in_place = route.edit_job_in_place.is_true(job, world);
        let sandboxed = route.job_should_be_sandboxed.is_true(job, world);
        // The claim is recorded only in the queue, so the hook and the routed job do not contain it.
        let mut ad = match self.call_translate_hook(route, job, in_place, report)? {
            HookTranslation::Ad(answer) => answer,
            HookTranslation::NoHook => job.clone(),
            HookTranslation::NoAd(outcome) => return Ok(outcome),
        };
        let made = match in_place {
            true => self.translator.apply_transforms(route, &mut ad, watcher),
            false => self.translator.make_copy(
                route,
                &SourceJob { ad: job, id, is_sandboxed: sandboxed },
                &mut ad,
                watcher,
            ),
        };
        if let Err(error) = made {
            if let TranslateError::Transform { failure, .. } = &error {
                report(RoutingNotice::TransformFailure(failure));
            }
            return Ok(RoutingOutcome::GivenBack(error.to_string()));
        }
        if in_place {
            report(RoutingNotice::Edited(job, &ad));
            return Ok(RoutingOutcome::Edited(Box::new(ad)));
        }
        let mut source = job.clone();
        source.set("Managed", "External");
        source.set("ManagedManager", self.translator.parameters.name.clone());
        if !source.contains("Owner") {
            return Ok(RoutingOutcome::GivenBack("the job has no Owner".into()));
        }
        Ok(RoutingOutcome::Routed(Box::new((source, ad))))
    }

    /// Calls the job's translate hook, if one is configured.
    fn call_translate_hook(
        &mut self,
        route: &Route,
        source: &ClassAd,
        in_place: bool,
        report: &mut dyn FnMut(RoutingNotice<'_>),
    ) -> io::Result<HookTranslation> {
        let hook = HookType::TranslateJob;
        if !self.calls_hooks {
            if let Ok(path) = self.hooks.path(hook, source) {
                report(RoutingNotice::WouldCall(path.as_ref()));
            }
            return Ok(HookTranslation::NoHook);
        }
        if let Err(NoHookReason::NotConfigured) = self.hooks.path(hook, source) {
            return Ok(HookTranslation::NoHook);
        }
        if self.reactor.is_none() {
            self.reactor = Some(Reactor::new(&[])?);
        }
        let Some(reactor) = &mut self.reactor else { return Ok(HookTranslation::NoHook) };
        let stdin = HookRunner::stdin(hook, &route.description(), source, source);
        Ok(match self.hooks.run(reactor, hook, source, stdin) {
            Ok(called) => self.judge_hook_output(&called, source, in_place, report),
            Err(NoHookReason::NotConfigured) => HookTranslation::NoHook,
            Err(NoHookReason::Refused(reason) | NoHookReason::Failed(reason)) => {
                HookTranslation::NoAd(RoutingOutcome::GivenBack(reason))
            }
        })
    }

    /// Interprets the output of the translate hook.
    fn judge_hook_output(
        &self,
        called: &CompletedHook,
        source: &ClassAd,
        in_place: bool,
        report: &mut dyn FnMut(RoutingNotice<'_>),
    ) -> HookTranslation {
        if called.timed_out {
            let limit = self.hooks.limit.unwrap_or_default().as_secs();
            return HookTranslation::NoAd(RoutingOutcome::GivenBack(format!(
                "TRANSLATE_JOB {} took longer than {limit} s and was killed",
                called.path
            )));
        }
        let answer = FinishedHookCall {
            dialect: Dialect::of_world(self.translator.world),
            hook: HookType::TranslateJob,
            exit: called.exit,
            stdout: &called.stdout,
            is_truncated: called.is_truncated,
            source_ad: source,
            routed_ad: None,
            edit_in_place: in_place,
        };
        let verdict = judge_hook_call(&answer, self.translator.quirks);
        let stderr = called.stderr.trim().as_bstr();
        if !stderr.is_empty() {
            report(RoutingNotice::HookStderr(stderr));
        }
        let reason = || {
            let word = verdict.decision.word();
            format!("TRANSLATE_JOB {}: {word} ({})", called.path, verdict.reason)
        };
        HookTranslation::NoAd(match verdict.decision {
            HookDecision::Routed | HookDecision::Edited => return HookTranslation::Ad(verdict.output_ad),
            HookDecision::Stuck => RoutingOutcome::Stuck(STUCK_OUTCOME, reason()),
            HookDecision::RouterAbort => RoutingOutcome::Stuck(ABORT_OUTCOME, reason()),
            _ => RoutingOutcome::GivenBack(reason()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_environment::{ConfigSelection, DaemonEnvironment};
    use htc_base::quirks::QuirkMode;
    use htc_router::translate::SilentWatcher;
    use htc_router::{RouteLoadContext, RouteTable, RouterParameters};
    use htc_testing::config_of;

    /// Routes a job with a hook that is only reported; returns the outcome and the reports.
    fn route_once(statements: &str, job: &str) -> (RoutingOutcome, Vec<String>) {
        let text = format!(
            "JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\nREQUIREMENTS true\nUNIVERSE vanilla\n{statements}@r\n\
             JOB_ROUTER_HOOK_KEYWORD = MINE\nMINE_HOOK_TRANSLATE_JOB = /bin/true\n"
        );
        let (config, world) = config_of("JOB_ROUTER", &text);
        let view = config.view(&world);
        let knobs = RouterParameters::load(&view, &mut |_| {});
        let quirks = QuirkMode::Manual;
        let table = RouteTable::load(
            RouteLoadContext { view: &view, parameters: &knobs, world: &world, quirks },
            &mut |_| {},
        );
        let translator =
            Translator { table: &table, parameters: &knobs, config: Some(&view), world: &world, quirks };
        let environment =
            DaemonEnvironment::from_program(&world, &ConfigSelection::default()).for_hooks(quirks);
        let hooks =
            HookRunner { knobs: &view, world: &world, environment, limit: None, directory: None, quirks };
        let mut reports = Vec::new();
        let mut report = |it: RoutingNotice<'_>| {
            reports.push(match it {
                RoutingNotice::WouldCall(path) => format!("would call {path}"),
                RoutingNotice::HookStderr(text) => format!("says {text}"),
                RoutingNotice::TransformFailure(_) => "fails".to_owned(),
                RoutingNotice::Edited(before, after) => format!("{} becomes {}", before.len(), after.len()),
            });
        };
        let job = ClassAd::parse_new(job.as_bytes(), Dialect::new_syntax()).unwrap();
        let mut work = SingleJobRouter::new(translator, hooks, false);
        let outcome =
            work.route(&table.routes[0], "1.0", &job, &mut SilentWatcher::default(), &mut report).unwrap();
        (outcome, reports)
    }

    #[test]
    fn a_job_is_claimed_and_copied_without_its_hook() {
        let job = "[ ClusterId = 1; ProcId = 0; Owner = \"ana\"; JobUniverse = 5 ]";
        let (outcome, reports) = route_once("SET Site \"there\"\n", job);
        let RoutingOutcome::Routed(pair) = outcome else { panic!("{outcome:?}") };
        assert_eq!(pair.0.string("Managed"), Some("External".into()));
        assert_eq!(pair.1.string("Site"), Some("there".into()));
        assert_eq!(reports, ["would call /bin/true"]);
    }

    #[test]
    fn a_job_is_edited_in_place_or_released() {
        let job = "[ ClusterId = 1; ProcId = 0; Owner = \"ana\"; JobUniverse = 5 ]";
        let (outcome, reports) = route_once("EditJobInPlace = true\nSET Site \"there\"\n", job);
        let RoutingOutcome::Edited(edited) = outcome else { panic!("{outcome:?}") };
        assert_eq!((edited.string("Site"), edited.contains("Managed")), (Some("there".into()), false));
        assert_eq!(reports, ["would call /bin/true", "4 becomes 5"]);
        let (outcome, _) = route_once("", "[ ClusterId = 1; ProcId = 0; JobUniverse = 5 ]");
        assert_eq!(outcome, RoutingOutcome::GivenBack("the job has no Owner".into()));
    }
}
