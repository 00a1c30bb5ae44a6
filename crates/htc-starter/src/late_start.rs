//! Start of a job that 25.14 starts although the job is already ending (quirk `job-started-while-ending`).
//!
//! If a job is asked to end while PREPARE_JOB runs, JOB_EXIT is called immediately and PREPARE_JOB keeps running. If
//! PREPARE_JOB ends while JOB_EXIT is still running, 25.14 starts the job: `HookPrepareJobClient::hookExited` does not
//! check whether the job is ending.

use bstr::BString;

use super::action::{JobLogEvent, StarterAction, StarterNotice};
use super::event::FamilyUsage;
use super::job_exit::{self, Deferral};
use super::prepare_verdict::{self, PrepareOutput};
use super::start_failure::StartFailure;
use super::state::job_run::{ProcessEnd, StartedProcess};
use super::state::phase::StarterPhase;
use super::state::usage::{CpuRate, UsageMeter};
use super::state_machine::{PREPARE_JOB_HOOK, Starter};
use super::update_timer::UpdateTrigger;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;

impl Starter<'_> {
    /// Handles the end of PREPARE_JOB while JOB_EXIT runs.
    pub(super) fn on_late_prepare_hook_ended(
        &mut self,
        now: ClockReading,
        answer: &PrepareOutput<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let path: BString = self.setup.hooks.prepare.clone().unwrap_or_default();
        let answer = PrepareOutput { cut: false, ..*answer };
        let prepared =
            prepare_verdict::judge_prepare_hook(PREPARE_JOB_HOOK, &path, &answer, &self.world_at(now));
        if !prepared.lets_job_continue() {
            return;
        }
        if !self.decide_quirk_and_report(Quirk::JobStartedWhileEnding, "the job is no longer started", out) {
            return;
        }
        if prepared.is_reported() {
            let failure = StartFailure::new(prepared.text.clone(), prepared.hold_code(), prepared.status);
            out.push(StarterAction::Log(JobLogEvent::Error { failure, critical: false }));
        }
        self.ad.update(&prepared.update);
        if job_exit::read_deferral(&self.ad, &self.job_id(), now.epoch(), &self.world_at(now))
            != Deferral::Now
        {
            return;
        }
        let StarterPhase::Exiting { call, until, .. } = self.phase else { return };
        self.start_job(now, out);
        if self.phase == StarterPhase::Starting {
            self.phase = StarterPhase::Exiting { call, until, late: true };
        }
    }

    /// Records the start of a job while JOB_EXIT is already running.
    pub(super) fn on_late_job_started(
        &mut self,
        now: ClockReading,
        process: StartedProcess,
        out: &mut Vec<StarterAction>,
    ) {
        out.push(StarterAction::Log(JobLogEvent::Execute));
        out.push(StarterAction::Report(StarterNotice::JobStarted { pid: process.pid }));
        self.publish_renice();
        self.job_run.meter = UsageMeter::new(now.epoch(), self.setup.settings.statistics_window);
        self.job_run.cpu_rate = CpuRate::new(now.monotonic());
        self.job_run.record_start(process);
    }

    /// Reports that a job could not be started while JOB_EXIT is already running.
    pub(super) fn on_late_job_failed(&mut self, failures: Vec<StartFailure>, out: &mut Vec<StarterAction>) {
        out.push(StarterAction::Log(JobLogEvent::Execute));
        failures.into_iter().for_each(|failure| self.report_start_failure(failure, out));
    }

    /// Records the end of a job that was started while JOB_EXIT was already running. The starter continues to wait for
    /// the end of JOB_EXIT.
    pub(super) fn on_late_job_ended(
        &mut self,
        now: ClockReading,
        ended: ProcessEnd,
        usage: FamilyUsage,
        out: &mut Vec<StarterAction>,
    ) {
        self.job_run.usage = usage;
        self.publish_update(now, UpdateTrigger::StateChange, out);
        self.job_run.record_end(ended);
        out.push(StarterAction::Report(StarterNotice::JobEnded { exit: ended.exit, requested: None }));
    }

    /// Ends a job that was started while JOB_EXIT was already running, after a further request.
    pub(super) fn end_late_job(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.job_run.live_process().is_some() {
            self.job_run.evicted = true;
            self.end_job(now, out);
        }
    }
}
