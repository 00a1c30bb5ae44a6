//! The machine from its beginning to the start of the job: scratch directory, prepare hook, deferral, PreCmd.

use std::path::Path;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::action::{Action, CallId, File, LogEvent, Notice};
use super::ending::{self, Deferral};
use super::exception::EXCEPTION;
use super::expression;
use super::failure::StartFailure;
use super::job_info::Refusal;
use super::kept::phase::{EndStep, Limit, Phase};
use super::machine::{JOB_EXIT, PREPARE_JOB, Starter, UPDATE_JOB_INFO, excerpt};
use super::prepare::{self, Answer, Prepared};
use super::process;
use super::settings::Moment;
use super::starter_hooks::{hangs_after_prepare, untold_refusal};
use super::update_timer::Occasion;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_base::time::Now;
use htc_classad::Context;
use htc_classad::format::long;
use htc_hook::{HookType, reply};

/// How long a hook that has been killed is waited for.
const KILL_WAIT: Duration = Duration::from_secs(5);

impl Starter<'_> {
    /// The first step: the scratch directory, or the refusal.
    pub(super) fn begin(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.phase != Phase::New {
            return;
        }
        if let Some(text) = self.fault(Moment::Directory) {
            // Found before there is a job or a hook: nothing is left to do.
            out.push(Action::Tell(Notice::NotStarted { reason: text.to_string() }));
            return self.finish(out);
        }
        let refusal = match &self.setup.job {
            Ok(_) => {
                self.phase = Phase::Scratch { unwritten: None };
                let files =
                    vec![self.job_ad_file(), File { name: ".machine.ad", bytes: long::print(&self.machine) }];
                out.push(Action::MakeScratch { files });
                return;
            }
            Err(refusal) => {
                self.closing.status = match refusal {
                    Refusal::HookTimeOut { .. } if self.has(Quirk::StarterExceptions) => EXCEPTION,
                    _ => 1,
                };
                refusal.to_string()
            }
        };
        self.asked.end_fast();
        out.push(Action::Tell(Notice::NotStarted { reason: refusal }));
        self.tell_refusal(now, out);
    }

    /// JOB_EXIT for a job that was accepted and is not taken on; 25.14 ends without any hook.
    fn tell_refusal(&mut self, now: Now, out: &mut Vec<Action>) {
        match self.leaves_refusal_untold(out) {
            true => self.remove_scratch(out),
            false => self.all_jobs_done(now, out),
        }
    }

    /// Whether it ends without JOB_EXIT; that it does not is told where there is one.
    fn leaves_refusal_untold(&self, out: &mut Vec<Action>) -> bool {
        let untold = untold_refusal(self.setup.quirks);
        if !untold.as_reference && self.setup.hooks.exit.is_some() {
            let reason = "JOB_EXIT is called for a job that the starter refuses";
            Self::tell_quirk(untold.quirk, reason, out);
        }
        untold.as_reference
    }

    fn job_ad_file(&self) -> File {
        File { name: ".job.ad", bytes: long::print(&self.ad) }
    }

    /// The files could not be written. Before the job that is a failure of the scratch directory; 25.14 runs the job
    /// without them.
    pub(super) fn write_failed(&mut self, path: &Path, reason: &str, out: &mut Vec<Action>) {
        let text = format!("cannot write {}: {reason}", path.display());
        let runs = self.setup.quirks.decide(Quirk::JobAdUnwrittenRuns);
        match &mut self.phase {
            Phase::Scratch { unwritten } if !runs.as_reference => {
                unwritten.get_or_insert((text, runs.quirk));
            }
            _ => out.push(Action::Tell(Notice::Warning(text))),
        }
    }

    pub(super) fn scratch_failed(&mut self, now: Now, no_execute: bool, reason: &str, out: &mut Vec<Action>) {
        let Phase::Scratch { .. } = self.phase else { return };
        // Parts of it may exist.
        self.closing.scratch_made = true;
        // An EXECUTE that is not there ends 25.14 by an exception (c41 011, 020).
        let excepted = no_execute && self.has(Quirk::StarterExceptions);
        self.closing.status = u8::from(!excepted);
        self.asked.end_fast();
        out.push(Action::Tell(Notice::NotStarted { reason: reason.to_owned() }));
        if excepted {
            self.closing.excepted = true;
            return self.all_jobs_done(now, out);
        }
        self.tell_refusal(now, out);
    }

    /// The first update, then the prepare hook, both with the plain ad.
    pub(super) fn scratch_made(&mut self, now: Now, out: &mut Vec<Action>) {
        let Phase::Scratch { unwritten } = &mut self.phase else { return };
        let unwritten = unwritten.take();
        self.closing.scratch_made = true;
        if let Some((reason, quirk)) = unwritten {
            Self::tell_quirk(quirk, "the job is not started without .job.ad and .machine.ad", out);
            out.push(Action::OpenLog);
            return self.not_started(
                now,
                StartFailure::new(reason, HoldCode::ScratchDirError.number(), 0),
                out,
            );
        }
        if self.setup.hooks.update.is_some() && self.fault(Moment::Environment).is_some() {
            // The log is not open yet in 25.14: the exception is told to nobody.
            self.closing.excepted = true;
            return self.all_jobs_done(now, out);
        }
        if let Some(path) = self.setup.hooks.update.clone() {
            let mut ad = self.ad.clone();
            ad.update(&ending::provisioned(&self.machine, &self.frozen(now)));
            self.tell_shadow(-1, &mut ad);
            self.call(now, (UPDATE_JOB_INFO, path, Vec::new()), &ad, out);
        }
        out.push(Action::OpenLog);
        if let Some(reason) = self.no_tokens(now) {
            return self.no_credentials(now, reason, out);
        }
        if self.asked.any() {
            return self.end_unstarted(now, out);
        }
        self.set_up(now, out);
    }

    /// PREPARE_JOB, if there is one.
    pub(super) fn prepare(&mut self, now: Now, out: &mut Vec<Action>) {
        match self.setup.hooks.prepare.clone() {
            Some(_) if self.faulted(now, Moment::Environment, out) => {}
            Some(path) => {
                let (arguments, ad) = (self.setup.hooks.prepare_arguments.clone(), self.ad.clone());
                let call = self.call(now, (PREPARE_JOB, path, arguments), &ad, out);
                self.wait_for_prepare(now, call, PREPARE_JOB);
            }
            None => self.wait_for_time(now, out),
        }
    }

    /// One of the two prepare hooks has been called.
    pub(super) fn wait_for_prepare(&mut self, now: Now, call: CallId, hook: HookType) {
        let limit = self.setup.hook_timeout.map_or(Limit::None, |limit| Limit::Until(now.tick().plus(limit)));
        self.phase = Phase::Preparing { hook, call, limit };
    }

    /// The path of one of the prepare hooks.
    fn prepare_path(&self, hook: HookType) -> BString {
        let path = match hook {
            HookType::PrepareJobBeforeTransfer => &self.setup.hooks.before,
            _ => &self.setup.hooks.prepare,
        };
        path.clone().unwrap_or_default()
    }

    /// Why the job does not get the credentials that it needs.
    fn no_tokens(&self, now: Now) -> Option<String> {
        let tokens = self.setup.job.as_ref().ok().map(|job| &job.tokens);
        let why = tokens.and_then(|tokens| tokens.missing.as_ref());
        let services = Context::new(&self.frozen(now)).my(&self.ad).string("OAuthServicesNeeded");
        let of = |services| {
            format!("there are no credentials for the OAuth services that the job needs ({services})")
        };
        match (services, why) {
            (Some(services), Some(why)) => Some(format!("{}: {why}", of(services))),
            (None, Some(why)) => Some(format!("there are no credentials for the job: {why}")),
            (Some(services), None) if tokens.is_none_or(|tokens| tokens.directory.is_none()) => {
                Some(of(services))
            }
            (_, None) => None,
        }
    }

    /// The starter cannot give credentials to the job (`JICLocal::initUserCredentials`). In 25.14 that is a failed
    /// initialization, after which everything stays as it is.
    fn no_credentials(&mut self, now: Now, reason: String, out: &mut Vec<Action>) {
        self.closing.status = 1;
        if self.leaves_refusal_untold(out) {
            out.push(Action::Tell(Notice::NotStarted { reason }));
            self.report(StartFailure::new("Starter failed to initialize", 0, 0), out);
            return self.finish(out);
        }
        self.not_started(now, StartFailure::new(reason, 0, 0), out);
    }

    /// A hook could not be executed.
    pub(super) fn call_failed(
        &mut self,
        now: Now,
        call: CallId,
        (reason, again): (&str, bool),
        out: &mut Vec<Action>,
    ) {
        let Some(hook) = self.calls.open.remove(&call) else { return };
        if matches!(self.phase, Phase::Exiting { call: waiting, .. } if waiting == call)
            && again
            && self.tries_again(now, EndStep::ExitHook, reason, out)
        {
            return;
        }
        out.push(Action::Tell(Notice::HookFailed { hook: hook.name(), reason: reason.to_owned() }));
        match self.phase {
            Phase::Preparing { call: waiting, .. } if waiting == call => {
                let text = format!("failed to execute {} ({})", hook.name(), self.prepare_path(hook));
                let failure = StartFailure::new(text, HoldCode::HookPrepareJobFailure.number(), 0);
                self.asked.end_fast();
                self.not_started(now, failure, out);
            }
            Phase::Exiting { call: waiting, .. } if waiting == call => self.exit_hook_unspawnable(now, out),
            _ => {}
        }
    }

    /// A hook ended and its answer is here.
    pub(super) fn call_ended(
        &mut self,
        now: Now,
        (call, hook): (CallId, HookType),
        answer: &Answer<'_>,
        out: &mut Vec<Action>,
    ) {
        match self.phase {
            Phase::Preparing { call: waiting, limit, .. } if waiting == call => match limit {
                Limit::Killed(_) => self.gave_up(now, hook, answer.stdout, out),
                Limit::None | Limit::Until(_) => self.prepared(now, hook, answer, out),
            },
            Phase::Exiting { call: waiting, .. } if waiting == call => {
                out.push(Action::Tell(Notice::Verdict {
                    hook: JOB_EXIT.name(),
                    verdict: "done",
                    reason: answer.exit.to_string(),
                }));
                self.closing.exit_hook_over = true;
                self.clean_up(now, out);
            }
            Phase::Exiting { .. } if matches!(hook, PREPARE_JOB | HookType::PrepareJobBeforeTransfer) => {
                self.prepared_late(now, answer, out);
            }
            _ => {}
        }
    }

    fn prepared(&mut self, now: Now, hook: HookType, answer: &Answer<'_>, out: &mut Vec<Action>) {
        let cut = reply::cut_counts(answer.cut, self.setup.quirks).filter(|counts| !counts.as_reference);
        let path = self.prepare_path(hook);
        let counted = Answer { cut: cut.is_some(), ..*answer };
        let prepared = prepare::judge(hook.name(), &path, &counted, &self.frozen(now));
        if let Some(cut) = cut {
            Self::tell_quirk(cut.quirk, "the cut answer of PREPARE_JOB is refused", out);
        }
        if let Some(bad) = &prepared.unread {
            let reason = format!(
                "line {} of its output, '{}', is no attribute: nothing from there on was read",
                bad.number,
                excerpt(&bad.line)
            );
            out.push(Action::Tell(Notice::HookFailed { hook: hook.name(), reason }));
        }
        let verdict = match &prepared {
            Prepared { status: 0, message, .. } if message.is_empty() => "go on",
            Prepared { status: 0, .. } => "go on with warning",
            _ => "not started",
        };
        out.push(Action::Tell(Notice::Verdict {
            hook: hook.name(),
            verdict,
            reason: prepared.text.to_string(),
        }));
        let failure = StartFailure::new(prepared.text.clone(), prepared.hold_code(), prepared.status);
        if !prepared.goes_on() {
            self.asked.end_fast();
            let hangs = hangs_after_prepare(self.setup.moves.is_some(), self.setup.quirks);
            self.closing.exit_hook_over |= hangs.is_some_and(|hangs| hangs.as_reference);
            return self.not_started(now, failure, out);
        }
        if prepared.is_reported() {
            out.push(Action::Log(LogEvent::Error { failure, critical: false }));
        }
        self.ad.update(&prepared.update);
        if !prepared.update.is_empty()
            && !self.has_or_tells(Quirk::JobAdFileStale, ".job.ad shows what PREPARE_JOB changed", out)
        {
            out.push(Action::WriteFile(self.job_ad_file()));
        }
        match hook {
            HookType::PrepareJobBeforeTransfer => self.bring_input(now, out),
            _ => self.wait_for_time(now, out),
        }
    }

    /// PREPARE_JOB runs too long: it is killed, and what it has printed may tell what it waits for. One that cannot be
    /// killed is not waited for.
    pub(super) fn prepare_timed_out(&mut self, now: Now, out: &mut Vec<Action>) {
        let Phase::Preparing { hook, call, limit } = &mut self.phase else { return };
        let (hook, call) = (*hook, *call);
        if let Limit::Killed(_) = limit {
            self.calls.open.remove(&call);
            return self.gave_up(now, hook, b"", out);
        }
        *limit = Limit::Killed(now.tick().plus(KILL_WAIT));
        out.push(Action::KillCall(call));
    }

    fn gave_up(&mut self, now: Now, hook: HookType, stdout: &[u8], out: &mut Vec<Action>) {
        let mut reason = "ran longer than the limit for hooks; the job is not started".to_owned();
        let printed = stdout.trim();
        if !printed.is_empty() {
            reason += &format!("; it had printed: {}", excerpt(printed));
        }
        out.push(Action::Tell(Notice::HookFailed { hook: hook.name(), reason: reason.clone() }));
        self.asked.end_fast();
        self.not_started(now, StartFailure::new(reason, HoldCode::HookPrepareJobFailure.number(), 0), out);
    }

    /// DeferralTime.
    fn wait_for_time(&mut self, now: Now, out: &mut Vec<Action>) {
        match ending::deferral(&self.ad, &self.id(), now.epoch(), &self.frozen(now)) {
            Deferral::Now => self.start_scripts(now, out),
            Deferral::Wait(seconds) => {
                let until = now.tick().plus(Duration::from_secs(seconds));
                self.phase = Phase::Deferred { until };
            }
            Deferral::Missed(reason) => {
                out.push(Action::Tell(Notice::NotStarted { reason }));
                out.push(Action::Tell(Notice::Missed));
                let instead = "a missed DeferralTime is not reported as a signal";
                if self.has_by_hand(Quirk::MissedDeferralAsSignal, instead, out) {
                    self.closing.missed = Some(now);
                }
                // The exit that is told of a process that never was sends an update first.
                self.update(now, Occasion::Change, out);
                self.all_jobs_done(now, out);
            }
        }
    }

    /// PreCmd where there is one and scripts are allowed, else the job.
    pub(super) fn start_scripts(&mut self, now: Now, out: &mut Vec<Action>) {
        if let Err(failure) = self.allow_scripts(now, out) {
            return self.not_started(now, failure, out);
        }
        match self.script(now, "Pre") {
            Ok(Some(process)) => {
                self.phase = Phase::PreScript;
                out.push(Action::StartProcess(Box::new(process)));
            }
            Ok(None) => self.start_job(now, out),
            Err(failure) => self.start_failed(now, failure, out),
        }
    }

    /// Asks the configuration once, and only for a job that has a script; one that is not allowed is told of.
    fn allow_scripts(&mut self, now: Now, out: &mut Vec<Action>) -> Result<(), StartFailure> {
        let world = self.frozen(now);
        let given = |name: &&str| {
            let command = Context::new(&world).my(&self.ad).string(*name);
            command.is_some_and(|command| !command.is_empty())
        };
        let scripts: Vec<&str> = ["PreCmd", "PostCmd"].into_iter().filter(given).collect();
        let Ok(job) = &self.setup.job else { return Ok(()) };
        if scripts.is_empty() {
            return Ok(());
        }
        let about = self.publication(job, &world, &self.temporary, &[]);
        self.scripts.allowed = match &self.setup.settings.allow_scripts {
            Some(allow) => expression::truth(&about, "STARTER_ALLOW_JOB_PRE_AND_POST_CMD", allow, false)?,
            None => false,
        };
        if !self.scripts.allowed {
            let names = scripts.join(" and ");
            let are = if scripts.len() == 1 { "is" } else { "are" };
            let text = format!("{names} {are} not run: STARTER_ALLOW_JOB_PRE_AND_POST_CMD is not true");
            out.push(Action::Tell(Notice::Warning(text)));
        }
        Ok(())
    }

    /// The process of PreCmd or PostCmd, if there is to be one.
    pub(super) fn script(
        &self,
        now: Now,
        prefix: &'static str,
    ) -> Result<Option<super::action::JobProcess>, StartFailure> {
        let Some(job) = self.setup.job.as_ref().ok().filter(|_| self.scripts.allowed) else {
            return Ok(None);
        };
        let world = self.frozen(now);
        let about = self.publication(job, &world, &self.temporary, &[]);
        process::script(&about, prefix).transpose()
    }

    /// Reports why the job does not start and goes to the exit hook.
    pub(super) fn not_started(&mut self, now: Now, failure: StartFailure, out: &mut Vec<Action>) {
        self.asked.end_fast();
        out.push(Action::Tell(Notice::NotStarted { reason: failure.reason() }));
        self.report(failure, out);
        self.all_jobs_done(now, out);
    }

    /// Its end was asked for before it began: goes to the exit hook.
    pub(super) fn end_unstarted(&mut self, now: Now, out: &mut Vec<Action>) {
        let reason = "its end was asked for before it began".to_owned();
        out.push(Action::Tell(Notice::NotStarted { reason }));
        self.all_jobs_done(now, out);
    }

    /// Event 021, which 25.14 leaves out for some failures.
    pub(super) fn report(&mut self, failure: StartFailure, out: &mut Vec<Action>) {
        self.closing.excepted |= failure.exception;
        if !failure.silent || !self.has_or_tells(Quirk::StartFailureSilent, "the failure is reported", out) {
            out.push(Action::Log(LogEvent::Error { failure, critical: true }));
        }
    }
}
