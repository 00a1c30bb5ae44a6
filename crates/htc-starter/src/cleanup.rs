//! Steps of the state machine after the job has ended: exit hook, output transfer, result ad, removal of the scratch
//! directory.

use std::path::PathBuf;

use bstr::BString;

use super::action::{CallId, JobLogEvent, StarterAction, StarterNotice};
use super::exception::EXCEPTION_STATUS;
use super::hook_quirks::{final_hook_kill_decision, unspawnable_exit_hook_decision};
use super::job_exit;
use super::settings::ParameterReadPoint;
use super::start_failure::StartFailure;
use super::state::container::AfterRemoval;
use super::state::job_run::ProcessEnd;
use super::state::phase::EndStep;
use super::state::phase::StarterPhase;
use super::state_machine::{JOB_EXIT_HOOK, Starter, UPDATE_JOB_INFO_HOOK};
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::time::ClockReading;
use htc_classad::ClassAd;
use htc_classad::format::long;

impl Starter<'_> {
    /// Calls JOB_EXIT once when all processes of the job have ended, then continues with the clean-up
    /// (`Starter::allJobsDone`).
    pub(super) fn finish_all_jobs(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if matches!(
            self.phase,
            StarterPhase::Exiting { .. }
                | StarterPhase::Retrying { .. }
                | StarterPhase::Removing
                | StarterPhase::Finished
        ) {
            return;
        }
        self.stop_monitoring();
        if self.job_end.exit_ad.is_none() {
            // The ad is built once and kept for retries of the hook.
            let mut ad = self.ad.clone();
            self.publish_job_process(&mut ad, now);
            self.scripts.publish(&mut ad);
            self.publish_vacate(&mut ad);
            self.job_end.exit_ad = Some(ad);
        }
        match self.setup.hooks.exit.clone().filter(|_| !self.job_end.exit_hook_done) {
            Some(_)
                if self.job_end.ended_by_exception
                    && self.find_fault(ParameterReadPoint::Environment).is_some() =>
            {
                self.end_in_exception(out)
            }
            Some(_) => {
                let Some(call) = self.call_exit_hook(now, out) else { return };
                if self.job_end.ended_by_exception
                    && self.decide_quirk_and_report(
                        Quirk::ExceptionDropsExitHook,
                        "the starter waits for JOB_EXIT",
                        out,
                    )
                {
                    self.job_end.status = EXCEPTION_STATUS;
                    return self.remove_scratch(out);
                }
                self.wait_for_exit_hook(now, call);
            }
            None => self.clean_up(now, out),
        }
    }

    /// Calls JOB_EXIT if the hook is configured.
    pub(super) fn call_exit_hook(
        &mut self,
        now: ClockReading,
        out: &mut Vec<StarterAction>,
    ) -> Option<CallId> {
        let path = self.setup.hooks.exit.clone()?;
        let reason = BString::from(self.shutdown_requests.exit_hook_argument());
        let mut ad = self.job_end.exit_ad.clone().unwrap_or_default();
        self.remove_shadow_only_attributes(&mut ad);
        self.publish_exit_reason(&mut ad, out);
        Some(self.call_hook(now, JOB_EXIT_HOOK, path, vec![reason], &ad, out))
    }

    /// Sets ExitReason in the input of JOB_EXIT for a job that exited by itself, as the manual promises; 25.14 sets it
    /// only for signals.
    fn publish_exit_reason(&self, ad: &mut ClassAd, out: &mut Vec<StarterAction>) {
        let Some(Exit::Code(code)) = self.job_run.process_end().map(|ended| ended.exit) else { return };
        if !ad.contains("ExitReason")
            && !self.decide_quirk_and_report(Quirk::ExitReasonForSignals, "JOB_EXIT gets an ExitReason", out)
        {
            ad.set("ExitReason", format!("exited normally with status {code}").as_str());
        }
    }

    pub(super) fn wait_for_exit_hook(&mut self, now: ClockReading, call: CallId) {
        let until = now.monotonic().plus(self.setup.hooks.exit_timeout);
        self.phase = StarterPhase::Exiting { call, until, late: false };
    }

    /// Kills JOB_EXIT after its timeout and continues without the hook. 25.14 kills the hook only at the end.
    pub(super) fn on_exit_hook_timeout(
        &mut self,
        now: ClockReading,
        call: CallId,
        out: &mut Vec<StarterAction>,
    ) {
        self.calls.open.remove(&call);
        let reason = "ran longer than its time limit; continuing without it".to_owned();
        out.push(StarterAction::Report(StarterNotice::HookFailed { hook: JOB_EXIT_HOOK, reason }));
        self.job_end.exit_hook_done = true;
        if !self.kills_hooks_last() {
            out.push(StarterAction::KillCall(call));
        }
        self.clean_up(now, out);
    }

    /// Continues without JOB_EXIT after the hook could not be executed.
    pub(super) fn on_exit_hook_not_executed(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let hangs = unspawnable_exit_hook_decision(self.setup.quirks);
        Self::report_quirk(hangs.quirk, "the starter ends without JOB_EXIT", out);
        self.job_end.exit_hook_done = true;
        self.clean_up(now, out);
    }

    /// Transfers the output, writes the log event and the result ad, and removes the scratch directory
    /// (`Starter::cleanupJobs`).
    pub(super) fn clean_up(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.remove_container(AfterRemoval::CleanUp, out) || self.start_output_transfer(now, out) {
            return;
        }
        self.report_failed_input(out);
        if let Some(ProcessEnd { exit, core, .. }) = self.job_run.process_end() {
            let mut result = ClassAd::new();
            self.publish_job_process(&mut result, now);
            if let Some(post) = &self.scripts.post {
                post.publish(&mut result, "Post");
            }
            out.push(StarterAction::Log(match self.job_run.evicted {
                true => JobLogEvent::Evicted { exit },
                false => JobLogEvent::Terminated {
                    exit,
                    cpu: (self.job_run.usage.user.as_secs(), self.job_run.usage.system.as_secs()),
                    core,
                },
            }));
            out.push(StarterAction::WriteResultAd(long::print(&result)));
        } else if self.job_run.process.is_some() && self.job_run.evicted {
            // A job that has not ended can only be evicted if 25.14 is reproduced: its container was not started.
            let mut result = ClassAd::new();
            self.publish_job_process(&mut result, now);
            out.push(StarterAction::Log(JobLogEvent::Evicted { exit: Exit::Code(0) }));
            out.push(StarterAction::WriteResultAd(long::print(&result)));
        } else if let Some(at) = self.job_end.missed_deferral {
            out.push(StarterAction::WriteResultAd(long::print(&missed_deferral_ad(at))));
        }
        self.remove_scratch(out);
    }

    /// Kills the running hooks and removes the scratch directory.
    pub(super) fn remove_scratch(&mut self, out: &mut Vec<StarterAction>) {
        if self.remove_container(AfterRemoval::RemoveScratch, out) {
            return;
        }
        self.phase = StarterPhase::Removing;
        if !self.kills_hooks_last() {
            self.kill_running_hooks(out);
        }
        if let Some(text) = self.find_fault(ParameterReadPoint::Removal).filter(|_| self.job_end.scratch_made)
        {
            self.report_start_failure(StartFailure::new(text, 0, 0), out);
            return self.end_in_exception(out);
        }
        match self.job_end.scratch_made {
            true => out.push(StarterAction::RemoveScratch),
            false => self.finish(out),
        }
    }

    fn kills_hooks_last(&self) -> bool {
        final_hook_kill_decision(self.setup.quirks).as_reference
    }

    /// Kills the hooks that are still running when the starter ends.
    fn kill_running_hooks(&mut self, out: &mut Vec<StarterAction>) {
        // The runner waits briefly for these hooks to end, except for update hooks.
        let waited_for = self.calls.open.iter().filter(|(_, hook)| **hook != UPDATE_JOB_INFO_HOOK);
        out.extend(waited_for.map(|(call, _)| StarterAction::KillCall(*call)));
        out.push(StarterAction::KillCalls);
        match self.kills_hooks_last() {
            true => self.calls.open.clear(),
            // The end of the update hooks is still reported.
            false => self.calls.open.retain(|_, hook| *hook == UPDATE_JOB_INFO_HOOK),
        }
    }

    pub(super) fn on_scratch_removed(
        &mut self,
        now: ClockReading,
        remains: &[PathBuf],
        out: &mut Vec<StarterAction>,
    ) {
        if self.phase != StarterPhase::Removing {
            return;
        }
        let decision = unremovable_scratch_decision(self.setup.quirks);
        if let Some(first) = remains.first().filter(|_| !decision.as_reference) {
            let reason = format!("cannot remove {}", first.display());
            if self.schedule_retry(now, EndStep::Removal, &reason, out) {
                return;
            }
        }
        if !remains.is_empty() && !self.calls.open.is_empty() && self.kills_hooks_last() {
            // A hook that is still running may have written to the scratch directory during its removal.
            self.kill_running_hooks(out);
            return out.push(StarterAction::RemoveScratch);
        }
        for path in remains {
            let text = format!("cannot remove {}", path.display());
            out.push(StarterAction::Report(StarterNotice::Warning(text)));
        }
        if !remains.is_empty() && !decision.as_reference {
            let reason = "files of the scratch directory that cannot be removed are reported, with their modes unchanged";
            Self::report_quirk(decision.quirk, reason, out);
        }
        self.finish(out);
    }
}

/// Decides how to treat a scratch directory that cannot be removed. 25.14 reports nothing and leaves changed modes
/// behind. Otherwise the starter keeps the modes, retries the removal, and reports the files that remain.
pub fn unremovable_scratch_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::UnremovableScratchSilent)
}

/// Returns the ad that 25.14 writes for a job that missed its deferral time: the state of a process that was
/// never started, with the wait status 114.
fn missed_deferral_ad(at: ClockReading) -> ClassAd {
    let mut ad = ClassAd::new();
    ad.set("JobState", "Exited");
    ad.set("NumPids", 0i64);
    ad.set("JobDuration", job_exit::seconds_between(ClockReading { wall_us: 0, monotonic_us: 0 }, at));
    job_exit::publish_exit(&mut ad, "", Exit::Signal { number: 114, core_dumped: false });
    ad
}
