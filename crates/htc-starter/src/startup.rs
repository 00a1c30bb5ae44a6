//! State machine steps from the beginning to the start of the job: scratch directory, prepare hook, deferral,
//! PreCmd.

use std::path::Path;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::action::{CallId, JobLogEvent, ScratchFile, StarterAction, StarterNotice};
use super::exception::EXCEPTION_STATUS;
use super::expression;
use super::hook_quirks::{prepare_failure_decision, refused_job_exit_hook_decision};
use super::job_exit::{self, Deferral};
use super::job_info::JobRefusal;
use super::prepare_verdict::{self, PrepareOutput, PrepareVerdict};
use super::process;
use super::settings::ParameterReadPoint;
use super::start_failure::StartFailure;
use super::state::phase::{EndStep, PrepareHookDeadline, StarterPhase};
use super::state_machine::{JOB_EXIT_HOOK, PREPARE_JOB_HOOK, Starter, UPDATE_JOB_INFO_HOOK, excerpt};
use super::update_timer::UpdateTrigger;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_classad::Context;
use htc_classad::format::long;
use htc_hook::{HookType, hook_output};

/// Time for which the starter waits for a hook after killing it.
const KILLED_HOOK_WAIT: Duration = Duration::from_secs(5);

impl Starter<'_> {
    /// Begins with the creation of the scratch directory, or reports the refusal of the job.
    pub(super) fn begin(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.phase != StarterPhase::New {
            return;
        }
        if let Some(text) = self.find_fault(ParameterReadPoint::Directory) {
            // The starter finds the error before it has a job or a hook, so no cleanup is needed.
            out.push(StarterAction::Report(StarterNotice::NotStarted { reason: text.to_string() }));
            return self.finish(out);
        }
        let refusal = match &self.setup.job {
            Ok(_) => {
                self.phase = StarterPhase::MakingScratch { unwritten: None };
                let files = vec![
                    self.job_ad_file(),
                    ScratchFile { name: ".machine.ad", bytes: long::print(&self.machine) },
                ];
                out.push(StarterAction::MakeScratch { files });
                return;
            }
            Err(refusal) => {
                self.job_end.status = match refusal {
                    JobRefusal::HookTimeOut { .. } if self.has_quirk(Quirk::StarterExceptions) => {
                        EXCEPTION_STATUS
                    }
                    _ => 1,
                };
                refusal.to_string()
            }
        };
        self.shutdown_requests.request_fast_end();
        out.push(StarterAction::Report(StarterNotice::NotStarted { reason: refusal }));
        self.report_refusal(now, out);
    }

    /// Reports the refusal of an accepted job and calls JOB_EXIT; 25.14 ends without calling any hook.
    fn report_refusal(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        match self.skips_exit_hook_on_refusal(out) {
            true => self.remove_scratch(out),
            false => self.finish_all_jobs(now, out),
        }
    }

    /// Returns true if JOB_EXIT is not called for a refused job. Otherwise reports the difference from 25.14 if the
    /// hook is configured.
    fn skips_exit_hook_on_refusal(&self, out: &mut Vec<StarterAction>) -> bool {
        let decision = refused_job_exit_hook_decision(self.setup.quirks);
        if !decision.as_reference && self.setup.hooks.exit.is_some() {
            let reason = "JOB_EXIT is called for a job that the starter refuses";
            Self::report_quirk(decision.quirk, reason, out);
        }
        decision.as_reference
    }

    fn job_ad_file(&self) -> ScratchFile {
        ScratchFile { name: ".job.ad", bytes: long::print(&self.ad) }
    }

    /// Handles a file that could not be written. Before the job starts, this is treated as a failure to make the
    /// scratch directory; 25.14 runs the job without the file.
    pub(super) fn on_write_failed(&mut self, path: &Path, reason: &str, out: &mut Vec<StarterAction>) {
        let text = format!("cannot write {}: {reason}", path.display());
        let runs = self.setup.quirks.decide(Quirk::JobAdUnwrittenRuns);
        match &mut self.phase {
            StarterPhase::MakingScratch { unwritten } if !runs.as_reference => {
                unwritten.get_or_insert((text, runs.quirk));
            }
            _ => out.push(StarterAction::Report(StarterNotice::Warning(text))),
        }
    }

    pub(super) fn on_scratch_failed(
        &mut self,
        now: ClockReading,
        no_execute: bool,
        reason: &str,
        out: &mut Vec<StarterAction>,
    ) {
        let StarterPhase::MakingScratch { .. } = self.phase else { return };
        // Part of the scratch directory may exist and has to be removed.
        self.job_end.scratch_made = true;
        // If EXECUTE does not exist, 25.14 exits with an exception.
        let excepted = no_execute && self.has_quirk(Quirk::StarterExceptions);
        self.job_end.status = u8::from(!excepted);
        self.shutdown_requests.request_fast_end();
        out.push(StarterAction::Report(StarterNotice::NotStarted { reason: reason.to_owned() }));
        if excepted {
            self.job_end.ended_by_exception = true;
            return self.finish_all_jobs(now, out);
        }
        self.report_refusal(now, out);
    }

    /// Sends the first update and calls the prepare hook, both with the unchanged ad.
    pub(super) fn on_scratch_made(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let StarterPhase::MakingScratch { unwritten } = &mut self.phase else { return };
        let unwritten = unwritten.take();
        self.job_end.scratch_made = true;
        if let Some((reason, quirk)) = unwritten {
            Self::report_quirk(quirk, "the job is not started without .job.ad and .machine.ad", out);
            out.push(StarterAction::OpenLog);
            return self.report_not_started(
                now,
                StartFailure::new(reason, HoldCode::ScratchDirError.number(), 0),
                out,
            );
        }
        if self.setup.hooks.update.is_some() && self.find_fault(ParameterReadPoint::Environment).is_some() {
            // In 25.14 the job's log is not open yet, so the exception is not written to it.
            self.job_end.ended_by_exception = true;
            return self.finish_all_jobs(now, out);
        }
        if let Some(path) = self.setup.hooks.update.clone() {
            let mut ad = self.ad.clone();
            ad.update(&job_exit::provisioned_resources(&self.machine, &self.world_at(now)));
            self.publish_for_shadow(-1, &mut ad);
            self.call_hook(now, UPDATE_JOB_INFO_HOOK, path, Vec::new(), &ad, out);
        }
        out.push(StarterAction::OpenLog);
        if let Some(reason) = self.missing_credentials(now) {
            return self.fail_without_credentials(now, reason, out);
        }
        if self.shutdown_requests.has_any() {
            return self.end_before_start(now, out);
        }
        self.prepare_transfer(now, out);
    }

    /// Calls PREPARE_JOB if it is configured; otherwise continues with the deferral time.
    pub(super) fn call_prepare_hook(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        match self.setup.hooks.prepare.clone() {
            Some(_) if self.end_if_faulty(now, ParameterReadPoint::Environment, out) => {}
            Some(path) => {
                let (arguments, ad) = (self.setup.hooks.prepare_arguments.clone(), self.ad.clone());
                let call = self.call_hook(now, PREPARE_JOB_HOOK, path, arguments, &ad, out);
                self.wait_for_prepare_hook(now, call, PREPARE_JOB_HOOK);
            }
            None => self.wait_for_deferral_time(now, out),
        }
    }

    /// Enters the phase in which the starter waits for a prepare hook.
    pub(super) fn wait_for_prepare_hook(&mut self, now: ClockReading, call: CallId, hook: HookType) {
        let limit = self.setup.hook_timeout.map_or(PrepareHookDeadline::None, |limit| {
            PrepareHookDeadline::Until(now.monotonic().plus(limit))
        });
        self.phase = StarterPhase::Preparing { hook, call, limit };
    }

    /// Returns the path of a configured prepare hook.
    fn prepare_hook_path(&self, hook: HookType) -> BString {
        let path = match hook {
            HookType::PrepareJobBeforeTransfer => &self.setup.hooks.prepare_before_transfer,
            _ => &self.setup.hooks.prepare,
        };
        path.clone().unwrap_or_default()
    }

    /// Returns the reason why credentials that the job needs are missing, or `None` if none are missing.
    fn missing_credentials(&self, now: ClockReading) -> Option<String> {
        let tokens = self.setup.job.as_ref().ok().map(|job| &job.credentials);
        let why = tokens.and_then(|tokens| tokens.missing.as_ref());
        let services = Context::new(&self.world_at(now)).my(&self.ad).string("OAuthServicesNeeded");
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

    /// Ends a job that lacks required credentials (`JICLocal::initUserCredentials`). In 25.14 this is a failed
    /// initialization, after which nothing is cleaned up.
    fn fail_without_credentials(&mut self, now: ClockReading, reason: String, out: &mut Vec<StarterAction>) {
        self.job_end.status = 1;
        if self.skips_exit_hook_on_refusal(out) {
            out.push(StarterAction::Report(StarterNotice::NotStarted { reason }));
            self.report_start_failure(StartFailure::new("Starter failed to initialize", 0, 0), out);
            return self.finish(out);
        }
        self.report_not_started(now, StartFailure::new(reason, 0, 0), out);
    }

    /// Handles a hook that could not be executed.
    pub(super) fn on_hook_call_failed(
        &mut self,
        now: ClockReading,
        call: CallId,
        reason: &str,
        again: bool,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(hook) = self.calls.open.remove(&call) else { return };
        if matches!(self.phase, StarterPhase::Exiting { call: waiting, .. } if waiting == call)
            && again
            && self.schedule_retry(now, EndStep::ExitHook, reason, out)
        {
            return;
        }
        out.push(StarterAction::Report(StarterNotice::HookFailed { hook, reason: reason.to_owned() }));
        match self.phase {
            StarterPhase::Preparing { call: waiting, .. } if waiting == call => {
                let text = format!("failed to execute {} ({})", hook.name(), self.prepare_hook_path(hook));
                let failure = StartFailure::new(text, HoldCode::HookPrepareJobFailure.number(), 0);
                self.shutdown_requests.request_fast_end();
                self.report_not_started(now, failure, out);
            }
            StarterPhase::Exiting { call: waiting, .. } if waiting == call => {
                self.on_exit_hook_not_executed(now, out)
            }
            _ => {}
        }
    }

    /// Handles the end of a hook and its output.
    pub(super) fn on_hook_call_ended(
        &mut self,
        now: ClockReading,
        call: CallId,
        hook: HookType,
        answer: &PrepareOutput<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        match self.phase {
            StarterPhase::Preparing { call: waiting, limit, .. } if waiting == call => match limit {
                PrepareHookDeadline::Killed(_) => {
                    self.stop_waiting_for_prepare_hook(now, hook, answer.stdout, out)
                }
                PrepareHookDeadline::None | PrepareHookDeadline::Until(_) => {
                    self.on_prepare_hook_ended(now, hook, answer, out)
                }
            },
            StarterPhase::Exiting { call: waiting, .. } if waiting == call => {
                out.push(StarterAction::Report(StarterNotice::Verdict {
                    hook: JOB_EXIT_HOOK,
                    verdict: "done",
                    reason: answer.exit.to_string(),
                }));
                self.job_end.exit_hook_done = true;
                self.clean_up(now, out);
            }
            StarterPhase::Exiting { .. }
                if matches!(hook, PREPARE_JOB_HOOK | HookType::PrepareJobBeforeTransfer) =>
            {
                self.on_late_prepare_hook_ended(now, answer, out);
            }
            _ => {}
        }
    }

    fn on_prepare_hook_ended(
        &mut self,
        now: ClockReading,
        hook: HookType,
        answer: &PrepareOutput<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let cut = hook_output::decide_cut_output(answer.cut, self.setup.quirks)
            .filter(|counts| !counts.as_reference);
        let path = self.prepare_hook_path(hook);
        let counted = PrepareOutput { cut: cut.is_some(), ..*answer };
        let prepared = prepare_verdict::judge_prepare_hook(hook, &path, &counted, &self.world_at(now));
        if let Some(cut) = cut {
            Self::report_quirk(cut.quirk, "the incomplete output of PREPARE_JOB is refused", out);
        }
        if let Some(bad) = &prepared.unread {
            let reason = format!(
                "line {} of its output, '{}', is not a valid attribute: the rest of the output was not read",
                bad.number,
                excerpt(&bad.line)
            );
            out.push(StarterAction::Report(StarterNotice::HookFailed { hook, reason }));
        }
        let verdict = match &prepared {
            PrepareVerdict { status: 0, message, .. } if message.is_empty() => "go on",
            PrepareVerdict { status: 0, .. } => "continue with a warning",
            _ => "not started",
        };
        out.push(StarterAction::Report(StarterNotice::Verdict {
            hook,
            verdict,
            reason: prepared.text.to_string(),
        }));
        let failure = StartFailure::new(prepared.text.clone(), prepared.hold_code(), prepared.status);
        if !prepared.lets_job_continue() {
            self.shutdown_requests.request_fast_end();
            let hangs = prepare_failure_decision(self.setup.transfer.is_some(), self.setup.quirks);
            self.job_end.exit_hook_done |= hangs.is_some_and(|hangs| hangs.as_reference);
            return self.report_not_started(now, failure, out);
        }
        if prepared.is_reported() {
            out.push(StarterAction::Log(JobLogEvent::Error { failure, critical: false }));
        }
        self.ad.update(&prepared.update);
        if !prepared.update.is_empty()
            && !self.decide_quirk_and_report(
                Quirk::JobAdFileStale,
                ".job.ad shows what PREPARE_JOB changed",
                out,
            )
        {
            out.push(StarterAction::WriteFile(self.job_ad_file()));
        }
        match hook {
            HookType::PrepareJobBeforeTransfer => self.transfer_input(now, out),
            _ => self.wait_for_deferral_time(now, out),
        }
    }

    /// Handles a timeout of a prepare hook: kills the hook and waits for its output, which the message includes. If
    /// the hook does not end after the kill, the starter stops waiting for it.
    pub(super) fn on_prepare_hook_timeout(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let StarterPhase::Preparing { hook, call, limit } = &mut self.phase else { return };
        let (hook, call) = (*hook, *call);
        if let PrepareHookDeadline::Killed(_) = limit {
            self.calls.open.remove(&call);
            return self.stop_waiting_for_prepare_hook(now, hook, b"", out);
        }
        *limit = PrepareHookDeadline::Killed(now.monotonic().plus(KILLED_HOOK_WAIT));
        out.push(StarterAction::KillCall(call));
    }

    fn stop_waiting_for_prepare_hook(
        &mut self,
        now: ClockReading,
        hook: HookType,
        stdout: &[u8],
        out: &mut Vec<StarterAction>,
    ) {
        let mut reason = "ran longer than the limit for hooks; the job is not started".to_owned();
        let printed = stdout.trim();
        if !printed.is_empty() {
            reason += &format!("; its output was: {}", excerpt(printed));
        }
        out.push(StarterAction::Report(StarterNotice::HookFailed { hook, reason: reason.clone() }));
        self.shutdown_requests.request_fast_end();
        self.report_not_started(
            now,
            StartFailure::new(reason, HoldCode::HookPrepareJobFailure.number(), 0),
            out,
        );
    }

    /// Waits until DeferralTime, or ends the job if it missed DeferralTime.
    fn wait_for_deferral_time(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        match job_exit::read_deferral(&self.ad, &self.job_id(), now.epoch(), &self.world_at(now)) {
            Deferral::Now => self.start_pre_script_or_job(now, out),
            Deferral::Wait(seconds) => {
                let until = now.monotonic().plus(Duration::from_secs(seconds));
                self.phase = StarterPhase::Deferred { until };
            }
            Deferral::Missed(reason) => {
                out.push(StarterAction::Report(StarterNotice::NotStarted { reason }));
                out.push(StarterAction::Report(StarterNotice::DeferralMissed));
                let instead = "a missed DeferralTime is not reported as a signal";
                if self.decide_quirk_without_shadow(Quirk::MissedDeferralAsSignal, instead, out) {
                    self.job_end.missed_deferral = Some(now);
                }
                // 25.14 reports an exit of the process that was never started, and sends an update before it.
                self.publish_update(now, UpdateTrigger::StateChange, out);
                self.finish_all_jobs(now, out);
            }
        }
    }

    /// Starts PreCmd if the job has one and scripts are allowed, otherwise the job itself.
    pub(super) fn start_pre_script_or_job(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if let Err(failure) = self.evaluate_scripts_allowed(now, out) {
            return self.report_not_started(now, failure, out);
        }
        match self.pre_or_post_script(now, "Pre") {
            Ok(Some(process)) => {
                self.phase = StarterPhase::PreScript;
                out.push(StarterAction::StartProcess(Box::new(process)));
            }
            Ok(None) => self.start_job(now, out),
            Err(failure) => self.on_start_failed(now, failure, out),
        }
    }

    /// Evaluates STARTER_ALLOW_JOB_PRE_AND_POST_CMD once, if the job has PreCmd or PostCmd. Reports scripts that are
    /// not run.
    fn evaluate_scripts_allowed(
        &mut self,
        now: ClockReading,
        out: &mut Vec<StarterAction>,
    ) -> Result<(), StartFailure> {
        let world = self.world_at(now);
        let is_set = |name: &&str| {
            let command = Context::new(&world).my(&self.ad).string(*name);
            command.is_some_and(|command| !command.is_empty())
        };
        let scripts: Vec<&str> = ["PreCmd", "PostCmd"].into_iter().filter(is_set).collect();
        let Ok(job) = &self.setup.job else { return Ok(()) };
        if scripts.is_empty() {
            return Ok(());
        }
        let inputs = self.environment_inputs(job, &world, &self.temporary_directory, &[]);
        self.scripts.allowed = match &self.setup.settings.allow_scripts {
            Some(allow) => {
                expression::eval_boolean(&inputs, "STARTER_ALLOW_JOB_PRE_AND_POST_CMD", allow, false)?
            }
            None => false,
        };
        if !self.scripts.allowed {
            let names = scripts.join(" and ");
            let are = if scripts.len() == 1 { "is" } else { "are" };
            let text = format!("{names} {are} not run: STARTER_ALLOW_JOB_PRE_AND_POST_CMD is not true");
            out.push(StarterAction::Report(StarterNotice::Warning(text)));
        }
        Ok(())
    }

    /// Returns the process of PreCmd or PostCmd, or `None` if the job has no such script or scripts are not allowed.
    pub(super) fn pre_or_post_script(
        &self,
        now: ClockReading,
        prefix: &'static str,
    ) -> Result<Option<super::action::JobProcess>, StartFailure> {
        let Some(job) = self.setup.job.as_ref().ok().filter(|_| self.scripts.allowed) else {
            return Ok(None);
        };
        let world = self.world_at(now);
        let inputs = self.environment_inputs(job, &world, &self.temporary_directory, &[]);
        process::plan_script_process(&inputs, prefix)
    }

    /// Reports why the job is not started, then continues with JOB_EXIT.
    pub(super) fn report_not_started(
        &mut self,
        now: ClockReading,
        failure: StartFailure,
        out: &mut Vec<StarterAction>,
    ) {
        self.shutdown_requests.request_fast_end();
        out.push(StarterAction::Report(StarterNotice::NotStarted { reason: failure.reason() }));
        self.report_start_failure(failure, out);
        self.finish_all_jobs(now, out);
    }

    /// Handles a request to end the job before the job has started: continues with JOB_EXIT.
    pub(super) fn end_before_start(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let reason = "the job was asked to end before it started".to_owned();
        out.push(StarterAction::Report(StarterNotice::NotStarted { reason }));
        self.finish_all_jobs(now, out);
    }

    /// Writes event 021 for a failure to start the job; 25.14 omits the event for some failures.
    pub(super) fn report_start_failure(&mut self, failure: StartFailure, out: &mut Vec<StarterAction>) {
        self.job_end.ended_by_exception |= failure.exception;
        if !failure.silent
            || !self.decide_quirk_and_report(Quirk::StartFailureSilent, "the failure is reported", out)
        {
            out.push(StarterAction::Log(JobLogEvent::Error { failure, critical: true }));
        }
    }
}
