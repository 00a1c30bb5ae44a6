//! Jobs routed one by one, as a router would that submits nothing: claimed, translated by their hooks, made into copies or edited.

use std::io;

use bstr::{BStr, ByteSlice};

use super::hooks::{Called, HookRunner, NoHook};
use htc_classad::{ClassAd, Dialect};
use htc_hook::HookType;
use htc_os::Reactor;
use htc_router::translate::Watcher;
use htc_router::{HookAnswer, HookDecision, Original, Route, TranslateError, Translator, hook_verdict};
use htc_transform::Failure;

/// What a router does with a job whose translate hook gave nothing.
const STUCK: &str = "stays claimed, and the hook is called again";
/// What a router does with a job that has no JobUniverse.
const ABORT: &str = "the router aborts here";

/// What became of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was routed: the source as it is left, and the copy.
    Routed(Box<(ClassAd, ClassAd)>),
    /// It was edited in place: the edited ad.
    Edited(Box<ClassAd>),
    /// It was given back, and why.
    GivenBack(String),
    /// It was neither routed nor given back: what became of it, and why.
    Kept(&'static str, String),
}

/// What happens meanwhile.
pub enum Told<'t> {
    /// A hook is left out that the router would call.
    WouldCall(&'t BStr),
    /// The hook complains.
    HookSays(&'t BStr),
    /// A transform fails.
    Failure(&'t Failure),
    /// A job is edited in place: before and after.
    Edited(&'t ClassAd, &'t ClassAd),
}

/// Routes them.
pub struct OneByOne<'a> {
    /// What makes copies.
    pub translator: Translator<'a>,
    /// What calls hooks.
    pub hooks: HookRunner<'a>,
    /// Whether hooks are called.
    pub calls: bool,
    reactor: Option<Reactor>,
}

/// A job with its id.
type Job<'j> = (&'j str, &'j ClassAd);

impl<'a> OneByOne<'a> {
    /// None has come yet.
    pub fn new(translator: Translator<'a>, hooks: HookRunner<'a>, calls: bool) -> Self {
        OneByOne { translator, hooks, calls, reactor: None }
    }

    /// Claims, translates and edits one job as the router would.
    ///
    /// # Errors
    /// Children cannot be waited for.
    pub fn route(
        &mut self,
        route: &Route,
        (key, job): Job<'_>,
        watcher: &mut dyn Watcher,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> io::Result<Outcome> {
        let world = self.translator.world;
        let in_place = route.edit_job_in_place.truth(job, world);
        let sandboxed = route.job_should_be_sandboxed.truth(job, world);
        // The mark of the claim stands in the queue alone: hook and copy see the job as it was (recordings r01, r02).
        let mut ad = match self.translated(route, job, in_place, tell)? {
            Ok(Some(answer)) => answer,
            Ok(None) => job.clone(),
            Err(outcome) => return Ok(outcome),
        };
        let made = match in_place {
            true => self.translator.apply(route, &mut ad, watcher),
            false => self.translator.copy(route, &Original { ad: job, key, sandboxed }, &mut ad, watcher),
        };
        if let Err(error) = made {
            if let TranslateError::Transform { failure, .. } = &error {
                tell(Told::Failure(failure));
            }
            return Ok(Outcome::GivenBack(error.to_string()));
        }
        if in_place {
            tell(Told::Edited(job, &ad));
            return Ok(Outcome::Edited(Box::new(ad)));
        }
        let mut source = job.clone();
        source.set("Managed", "External");
        source.set("ManagedManager", self.translator.knobs.name.clone());
        if !source.contains("Owner") {
            return Ok(Outcome::GivenBack("the job has no Owner".into()));
        }
        Ok(Outcome::Routed(Box::new((source, ad))))
    }

    /// The answer of the job's translate hook, if it has one; the inner error is what becomes of the job without one.
    fn translated(
        &mut self,
        route: &Route,
        source: &ClassAd,
        in_place: bool,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> io::Result<Result<Option<ClassAd>, Outcome>> {
        let hook = HookType::TranslateJob;
        if !self.calls {
            if let Ok(path) = self.hooks.path(hook, source) {
                tell(Told::WouldCall(path.as_ref()));
            }
            return Ok(Ok(None));
        }
        if let Err(NoHook::NotConfigured) = self.hooks.path(hook, source) {
            return Ok(Ok(None));
        }
        if self.reactor.is_none() {
            self.reactor = Some(Reactor::new(&[])?);
        }
        let Some(reactor) = &mut self.reactor else { return Ok(Ok(None)) };
        let stdin = HookRunner::stdin(hook, &route.description(), source, source);
        Ok(match self.hooks.run(reactor, hook, source, stdin) {
            Ok(called) => self.judged(&called, source, in_place, tell),
            Err(NoHook::NotConfigured) => Ok(None),
            Err(NoHook::Refused(reason) | NoHook::Failed(reason)) => Err(Outcome::GivenBack(reason)),
        })
    }

    /// What the answer of the translate hook means.
    fn judged(
        &self,
        called: &Called,
        source: &ClassAd,
        in_place: bool,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<Option<ClassAd>, Outcome> {
        if called.timed_out {
            let limit = self.hooks.limit.unwrap_or_default().as_secs();
            return Err(Outcome::GivenBack(format!(
                "TRANSLATE_JOB {} took longer than {limit} s and was killed",
                called.path
            )));
        }
        let answer = HookAnswer {
            dialect: Dialect::of(self.translator.world),
            hook: HookType::TranslateJob,
            exit: called.exit,
            stdout: &called.stdout,
            cut: called.cut,
            source,
            routed: None,
            edit_in_place: in_place,
        };
        let verdict = hook_verdict(&answer, self.translator.quirks);
        let stderr = called.stderr.trim().as_bstr();
        if !stderr.is_empty() {
            tell(Told::HookSays(stderr));
        }
        let reason = || {
            let word = verdict.decision.word();
            format!("TRANSLATE_JOB {}: {word} ({})", called.path, verdict.reason)
        };
        match verdict.decision {
            HookDecision::Routed | HookDecision::Edited => Ok(Some(verdict.answer)),
            HookDecision::Stuck => Err(Outcome::Kept(STUCK, reason())),
            HookDecision::RouterAbort => Err(Outcome::Kept(ABORT, reason())),
            _ => Err(Outcome::GivenBack(reason())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_environment::{ConfigChoice, DaemonEnvironment};
    use htc_base::quirks::Quirks;
    use htc_router::translate::Unwatched;
    use htc_router::{Knobs, Reading, RouteTable};
    use htc_testing::config_of;

    /// What becomes of a job whose hook is only told of, and that it was told.
    fn routed(statements: &str, job: &str) -> (Outcome, Vec<String>) {
        let text = format!(
            "JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\nREQUIREMENTS true\nUNIVERSE vanilla\n{statements}@r\n\
             JOB_ROUTER_HOOK_KEYWORD = MINE\nMINE_HOOK_TRANSLATE_JOB = /bin/true\n"
        );
        let (config, world) = config_of("JOB_ROUTER", &text);
        let view = config.view(&world);
        let knobs = Knobs::load(&view, &mut |_| {});
        let quirks = Quirks::None;
        let table =
            RouteTable::load(Reading { view: &view, knobs: &knobs, world: &world, quirks }, &mut |_| {});
        let translator =
            Translator { table: &table, knobs: &knobs, config: Some(&view), world: &world, quirks };
        let environment = DaemonEnvironment::of_program(&world, &ConfigChoice::default()).for_hooks(quirks);
        let hooks =
            HookRunner { knobs: &view, world: &world, environment, limit: None, directory: None, quirks };
        let mut told = Vec::new();
        let mut tell = |it: Told<'_>| {
            told.push(match it {
                Told::WouldCall(path) => format!("would call {path}"),
                Told::HookSays(text) => format!("says {text}"),
                Told::Failure(_) => "fails".to_owned(),
                Told::Edited(before, after) => format!("{} becomes {}", before.len(), after.len()),
            });
        };
        let job = ClassAd::parse_new(job.as_bytes(), Dialect::new_syntax()).unwrap();
        let mut work = OneByOne::new(translator, hooks, false);
        let outcome =
            work.route(&table.routes[0], ("1.0", &job), &mut Unwatched::default(), &mut tell).unwrap();
        (outcome, told)
    }

    #[test]
    fn a_job_is_claimed_and_its_copy_made_without_its_hook() {
        let job = "[ ClusterId = 1; ProcId = 0; Owner = \"ana\"; JobUniverse = 5 ]";
        let (outcome, told) = routed("SET Site \"there\"\n", job);
        let Outcome::Routed(pair) = outcome else { panic!("{outcome:?}") };
        assert_eq!(pair.0.string("Managed"), Some("External".into()));
        assert_eq!(pair.1.string("Site"), Some("there".into()));
        assert_eq!(told, ["would call /bin/true"]);
    }

    #[test]
    fn a_job_is_edited_in_place_or_given_back() {
        let job = "[ ClusterId = 1; ProcId = 0; Owner = \"ana\"; JobUniverse = 5 ]";
        let (outcome, told) = routed("EditJobInPlace = true\nSET Site \"there\"\n", job);
        let Outcome::Edited(edited) = outcome else { panic!("{outcome:?}") };
        assert_eq!((edited.string("Site"), edited.contains("Managed")), (Some("there".into()), false));
        assert_eq!(told, ["would call /bin/true", "4 becomes 5"]);
        let (outcome, _) = routed("", "[ ClusterId = 1; ProcId = 0; JobUniverse = 5 ]");
        assert_eq!(outcome, Outcome::GivenBack("the job has no Owner".into()));
    }
}
