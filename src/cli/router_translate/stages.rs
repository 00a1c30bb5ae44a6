//! `htc-router-translate translate|update|finalize|cleanup|finish`: the router's hooks and its last look, one at a time.

use std::time::Duration;

use bstr::{BString, ByteSlice};
use clap::Args;

use super::options::VerbOptions;
use super::router::{self, Setup};
use super::stream::{Ads, each_ad, each_pair};
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{Problem, Session as Program, Status, pipe_ends, seconds, stop_without_reader};
use crate::hook::{HookType, Knobs as _, keyword};
use crate::os::Reactor;
use crate::quirks::Quirks;
use crate::router::mirror::{self, Extra};
use crate::router::{HookAnswer, HookDecision, HookVerdict, hook_verdict};
use crate::runner::configured_world;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::router::{HookRunner, NoHook};
use crate::world::World;

/// Options of `translate`, whose hook alone is told of a route.
#[derive(Args, Debug)]
pub(super) struct Translate {
    /// The route that TRANSLATE_JOB is told of
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    #[command(flatten)]
    call: Call,
}

/// Options of the verbs that call a hook.
#[derive(Args, Debug)]
pub(super) struct Call {
    /// Kill a hook that takes longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    hook_limit: Duration,
    /// Do not call the hook; write what it would read
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: VerbOptions,
}

/// One hook between ads that come and ads that go.
struct Stage<'a> {
    program: &'a Program,
    asked: &'a Call,
    hooks: HookRunner<'a>,
    reactor: Option<Reactor>,
    world: &'a dyn World,
    quirks: Quirks,
    failed: u64,
}

/// What came of a call.
enum Called {
    /// There is no hook for this job.
    NoHook,
    /// The answer and what it means.
    Verdict(Box<HookVerdict>),
    /// Nothing: it could not be called, or took too long, or was only shown.
    Nothing,
}

impl Stage<'_> {
    fn call(
        &mut self,
        hook: HookType,
        route: &[u8],
        source: &ClassAd,
        routed: &ClassAd,
        key: &str,
    ) -> anyhow::Result<Called> {
        let stdin = HookRunner::stdin(hook, route, source, routed);
        match self.hooks.path(hook, source) {
            Err(NoHook::NotConfigured) => return Ok(Called::NoHook),
            Ok(path) if self.asked.dry_run => {
                let text = stdin.to_str_lossy();
                self.program.tell(&format!("{key}: {} {path} would read:\n{text}", hook.name()));
                return Ok(Called::Nothing);
            }
            _ => {}
        }
        if self.reactor.is_none() {
            self.reactor = Some(Reactor::new(&[])?);
        }
        let Some(reactor) = &mut self.reactor else { return Ok(Called::Nothing) };
        let called = match self.hooks.run(reactor, hook, source, stdin) {
            Ok(called) => called,
            Err(NoHook::NotConfigured) => return Ok(Called::NoHook),
            Err(NoHook::Refused(reason) | NoHook::Failed(reason)) => {
                self.fail(key, &reason);
                return Ok(Called::Nothing);
            }
        };
        let complaint = called.stderr.trim().as_bstr();
        if !complaint.is_empty() {
            self.program.tell(&format!("{key}: {} says: {complaint}\n", hook.name()));
        }
        if called.timed_out {
            let limit = self.asked.hook_limit.as_secs();
            let what = format!("{} {} took longer than {limit} s and was killed", hook.name(), called.path);
            self.fail(key, &what);
            return Ok(Called::Nothing);
        }
        let answer = HookAnswer {
            dialect: Dialect::of(self.world),
            hook,
            exit: called.exit,
            stdout: &called.stdout,
            cut: called.cut,
            source,
            routed: (hook != HookType::TranslateJob).then_some(routed),
            edit_in_place: false,
        };
        let verdict = hook_verdict(&answer, self.quirks);
        // An answer that was passed over has a reason too.
        if !verdict.decision.is_success() || !verdict.reason.is_empty() {
            self.fail(key, &format!("{} {}: {}", hook.name(), called.path, in_words(&verdict)));
        }
        Ok(Called::Verdict(Box::new(verdict)))
    }

    fn fail(&mut self, key: &str, reason: &str) {
        self.failed += 1;
        self.program.warn(&format!("{key}: {reason}"));
    }
}

/// Carries `translate` out: 0 when all went well, 1 when a hook failed.
pub(super) fn translate(options: &Translate, program: &Program) -> anyhow::Result<Status> {
    carry_out(HookType::TranslateJob, options.route.as_deref(), &options.call, program)
}

/// Carries one of the other hook verbs out.
pub(super) fn run(hook: HookType, call: &Call, program: &Program) -> anyhow::Result<Status> {
    carry_out(hook, None, call, program)
}

/// A verdict in words, with what a real router would make of the answer.
fn in_words(verdict: &HookVerdict) -> String {
    let why = if verdict.reason.is_empty() { String::new() } else { format!(" ({})", verdict.reason) };
    let there: String = verdict.quirks.iter().map(|quirk| format!("; 25.14: {}", quirk.line())).collect();
    format!("{}{why}{there}", verdict.decision.word())
}

fn carry_out(hook: HookType, route: Option<&str>, asked: &Call, program: &Program) -> anyhow::Result<Status> {
    let options = &asked.options;
    let world = options.clock.world();
    let quirks = options.quirks.quirks;
    let setup = Setup::load(&options.config, quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    let route = match (route, hook) {
        (Some(name), _) => match setup.table.find(name.as_bytes()) {
            Some(at) => setup.table.routes[at].description(),
            None => return Err(Problem::usage(format!("there is no route '{name}'")).into()),
        },
        (None, HookType::TranslateJob) => match setup.table.in_order().next() {
            Some((_, route)) => route.description(),
            None => {
                return Err(Problem::usage("TRANSLATE_JOB is told of a route: name one with --route").into());
            }
        },
        _ => BString::default(),
    };
    let hooks = HookRunner {
        knobs: &view,
        world: &world,
        environment: DaemonEnvironment::of_program(&world, &options.config.choice()).for_hooks(quirks),
        limit: Some(asked.hook_limit),
        directory: None,
        quirks,
    };
    let mut stage = Stage { program, asked, hooks, reactor: None, world: &world, quirks, failed: 0 };
    stop_without_reader();
    let (stdin, stdout) = pipe_ends();
    let mut ads = Ads::new(&options.output, stdout);
    let malformed = if hook == HookType::JobFinalize {
        drop(stdin);
        each_pair((&options.inputs, &world), program, |mut source, routed| {
            let key = router::job_key(&source, stage.world);
            if let Called::Verdict(verdict) = stage.call(hook, &route, &source, &routed, &key)?
                && verdict.decision == HookDecision::Finalized
            {
                source.update(&verdict.answer);
            }
            Ok(ads.pair(&source, &routed)?)
        })?
    } else {
        each_ad((&options.inputs, &world), program, Some(stdin), |mut ad| {
            let key = router::job_key(&ad, stage.world);
            // Hooks of a copy are looked up by its source; the copy has the source's keyword unless a route changed it.
            match stage.call(hook, &route, &ad, &ad, &key)? {
                Called::Verdict(verdict) => match verdict.decision {
                    HookDecision::Routed | HookDecision::Edited => ad = verdict.answer,
                    HookDecision::Updated => ad.update(&verdict.answer),
                    // A job that is given back goes no further.
                    HookDecision::Dropped | HookDecision::Stuck | HookDecision::RouterAbort => return Ok(()),
                    _ => {}
                },
                Called::Nothing if hook == HookType::TranslateJob => return Ok(()),
                Called::Nothing | Called::NoHook => {}
            }
            Ok(ads.write(&ad)?)
        })?
    };
    ads.finish()?;
    Ok(if stage.failed + malformed > 0 { Status::No } else { Status::Done })
}

/// Carries `finish` out: takes the state of each copy over into its source and writes the source.
pub(super) fn finish(options: &VerbOptions, program: &Program) -> anyhow::Result<Status> {
    let world = options.clock.world();
    let setup = Setup::load(&options.config, options.quirks.quirks, &world, program)?;
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    stop_without_reader();
    let mut ads = Ads::new(&options.output, pipe_ends().1);
    let mut failed = 0;
    let malformed = each_pair((&options.inputs, &world), program, |mut source, routed| {
        let key = router::job_key(&source, &world);
        let attributes = keyword::router(&source, &view, &world)
            .keyword
            .and_then(|keyword| view.get(&[keyword.as_slice(), b"_ATTRS_TO_COPY"].concat()))
            .unwrap_or_default();
        let extra = Extra { attributes: &attributes, chirp: &setup.knobs.chirp_prefix };
        let copy = (&routed, id_of(&routed, &world));
        if let Err(error) = mirror::finish(&mut source, copy, extra, (world.now().epoch(), &world)) {
            failed += 1;
            program.warn(&format!("{key}: {error}"));
        }
        Ok(ads.write(&source)?)
    })?;
    ads.finish()?;
    Ok(if failed + malformed > 0 { Status::No } else { Status::Done })
}

fn id_of(ad: &ClassAd, world: &dyn World) -> Option<BString> {
    let key = router::job_key(ad, world);
    (key != "?").then(|| key.into())
}
