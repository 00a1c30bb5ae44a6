//! The starter's state machine while the job runs: updates, requests, suspension and the end of the job.

use bstr::BString;

use super::action::{JobLogEvent, StarterAction, StarterNotice};
use super::cgroup_plan::{self, OutOfMemoryVerdict};
use super::disk::SHADOW_ONLY_ATTRIBUTES;
use super::event::{FamilyUsage, ShadowReason, StarterCommand, StarterVacateReason};
use super::exception::EXCEPTION_STATUS;
use super::hook_quirks::exit_reason_decision;
use super::job_exit::{self, SIGTERM, SIGTRAP};
use super::settings::ParameterReadPoint;
use super::start_failure::StartFailure;
use super::state::job_run::{MeasurePurpose, ProcessEnd};
use super::state::phase::StarterPhase;
use super::state::shutdown_requests::{FastKill, HoldRequest, LastSoftRequest, RemovalKind};
use super::state_machine::{Starter, UPDATE_JOB_INFO_HOOK};
use super::update_timer::UpdateTrigger;
use htc_base::job::{HoldCode, attr};
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_classad::{ClassAd, Value};

impl Starter<'_> {
    pub(super) fn request_measurement(&mut self, why: MeasurePurpose, out: &mut Vec<StarterAction>) {
        self.job_run.pending_measurements.push(why);
        out.push(StarterAction::Measure);
    }

    /// Handles the answer to the oldest pending measurement.
    pub(super) fn on_measured(
        &mut self,
        now: ClockReading,
        usage: FamilyUsage,
        out: &mut Vec<StarterAction>,
    ) {
        if self.job_run.pending_measurements.is_empty() {
            return;
        }
        let why = self.job_run.pending_measurements.remove(0);
        if self.phase != StarterPhase::Running {
            return;
        }
        self.job_run.usage = usage;
        match why {
            MeasurePurpose::Update { vacating } => {
                let since = if vacating { None } else { self.shutdown_requests.vacate.take() };
                self.publish_update(
                    now,
                    if vacating { UpdateTrigger::StateChange } else { UpdateTrigger::Periodic },
                    out,
                );
                self.shutdown_requests.vacate = self.shutdown_requests.vacate.take().or(since);
            }
            MeasurePurpose::Suspended => {
                out.push(StarterAction::Log(JobLogEvent::Suspended { processes: usage.processes }))
            }
            MeasurePurpose::Disk => {}
        }
        self.hold_if_over_disk_limit(now, out);
    }

    /// Sends an update: calls UPDATE_JOB_INFO and writes the update file.
    pub(super) fn publish_update(
        &mut self,
        now: ClockReading,
        occasion: UpdateTrigger,
        out: &mut Vec<StarterAction>,
    ) {
        let mut update = ClassAd::new();
        self.publish_job_process(&mut update, now);
        if occasion == UpdateTrigger::StateChange {
            // `OsProc::JobReaper` publishes the job's processes only.
            SHADOW_ONLY_ATTRIBUTES.iter().for_each(|name| drop(update.remove(name)));
        }
        self.publish_vacate(&mut update);
        self.send_update(now, &update, occasion, out);
    }

    fn send_update(
        &mut self,
        now: ClockReading,
        update: &ClassAd,
        occasion: UpdateTrigger,
        out: &mut Vec<StarterAction>,
    ) {
        out.push(StarterAction::WriteUpdateAd(htc_classad::format::long::print(update)));
        if let Some(path) = self.setup.hooks.update.clone() {
            let mut ad = self.ad.clone();
            ad.update(update);
            if occasion == UpdateTrigger::StateChange {
                // The factor 10 is the reciprocal of the default of STARTER_UPDATE_INTERVAL_TIMESLICE.
                let longest = self.setup.settings.update_interval.as_secs().saturating_mul(10);
                self.publish_for_shadow(i64::try_from(longest).unwrap_or(i64::MAX), &mut ad);
                self.remove_shadow_only_attributes(&mut ad);
            }
            self.call_hook(now, UPDATE_JOB_INFO_HOOK, path, Vec::new(), &ad, out);
        }
    }

    /// Adds attributes meant for the shadow: scratch directory and MAXINTERVAL (`JICShadow::updateStartd`, `updateShadow`).
    pub(super) fn publish_for_shadow(&self, longest: i64, ad: &mut ClassAd) {
        if self.setup.transfer.is_some() {
            let scratch = BString::from(self.setup.scratch.as_os_str().as_encoded_bytes());
            ad.set("CondorScratchDir", Value::from(scratch));
            ad.set("_condor_JOBINFO_MAXINTERVAL", longest);
        }
    }

    /// Adds the attributes of the job's process (`VanillaProc`, `OsProc`, `UserProc::PublishUpdateAd`).
    pub(super) fn publish_job_process(&mut self, ad: &mut ClassAd, now: ClockReading) {
        let Some(process) = self.job_run.process else { return };
        self.job_run.java.publish(ad);
        // A container run by docker does not belong to our process family.
        match self.job_run.usage.docker {
            _ if !self.container.is_docker() => {
                self.job_run.meter.publish(
                    ad,
                    &self.job_run.usage,
                    &self.setup.settings.memory_usage_metric,
                    now.epoch(),
                );
            }
            Some(docker) => docker.publish(ad),
            None => {}
        }
        ad.update(&self.container.services);
        self.publish_disk_usage(ad);
        if self.setup.transfer.is_some() {
            let used = self.job_run.usage.user + self.job_run.usage.system;
            ad.set("CpusUsage", self.job_run.cpu_rate.measure(used, now.monotonic()));
        }
        let state = match (process.ended, self.job_run.suspended) {
            (Some(_), _) => "Exited",
            (None, true) => "Suspended",
            (None, false) => "Running",
        };
        ad.set(attr::JOB_STATE, state);
        ad.set("NumPids", i64::from(self.job_run.usage.processes));
        if process.ended.is_some_and(|ended| ended.core) {
            ad.set(attr::JOB_CORE_DUMPED, true);
        }
        process.publish(ad, "");
    }

    pub(super) fn publish_vacate(&self, ad: &mut ClassAd) {
        if let Some(StarterVacateReason { reason, code, subcode }) =
            self.shutdown_requests.vacate.as_ref().filter(|vacate| !vacate.reason.is_empty())
        {
            ad.set(attr::VACATE_REASON, reason.clone());
            ad.set(attr::VACATE_REASON_CODE, *code);
            ad.set(attr::VACATE_REASON_SUBCODE, *subcode);
        }
    }

    pub(super) fn on_request(
        &mut self,
        now: ClockReading,
        request: StarterCommand,
        out: &mut Vec<StarterAction>,
    ) {
        if matches!(request, StarterCommand::Graceful(_)) && self.end_if_shutdown_faulty(now, out) {
            return;
        }
        let request = match request {
            // A second SIGTERM (Ctrl-C at a terminal) ends the job immediately; 25.14 ignores it.
            StarterCommand::Graceful(vacate)
                if self.shutdown_requests.graceful && !self.has_quirk(Quirk::SecondSigtermIgnored) =>
            {
                StarterCommand::Fast(vacate)
            }
            other => other,
        };
        if self.record_request(request, out) {
            self.end_in_current_phase(now, out);
        }
    }

    /// Records a request. Returns true if the request ends the job.
    fn record_request(&mut self, request: StarterCommand, out: &mut Vec<StarterAction>) -> bool {
        match request {
            StarterCommand::Suspend | StarterCommand::Continue => {
                self.suspend_or_continue(request == StarterCommand::Suspend, out);
                return false;
            }
            StarterCommand::Update if self.phase == StarterPhase::Running => {
                self.request_measurement(
                    MeasurePurpose::Update { vacating: self.shutdown_requests.vacate.is_some() },
                    out,
                );
                return false;
            }
            StarterCommand::Update => return false,
            StarterCommand::SetShadowReason(reason) => {
                self.record_shadow_reason(reason, out);
                return false;
            }
            StarterCommand::Graceful(Some(vacate)) if vacate.is_hold() => {
                self.shutdown_requests.last_soft_request = LastSoftRequest::Hold;
                self.record_slot_hold(vacate, out);
            }
            StarterCommand::Fast(Some(vacate)) if vacate.is_hold() => {
                if self.shutdown_requests.is_fast() {
                    return false;
                }
                self.shutdown_requests.fast = FastKill::ForHold;
                self.shutdown_requests.graceful_until = None;
                self.record_slot_hold(vacate, out);
            }
            StarterCommand::Graceful(vacate) => {
                if self.shutdown_requests.graceful || self.shutdown_requests.is_fast() {
                    return false;
                }
                self.shutdown_requests.graceful = true;
                self.shutdown_requests.last_soft_request = LastSoftRequest::Graceful;
                self.shutdown_requests.vacate = vacate.or(self.shutdown_requests.vacate.take());
            }
            StarterCommand::Fast(vacate) => {
                if std::mem::replace(&mut self.shutdown_requests.fast, FastKill::Yes) != FastKill::No {
                    // The process that represents the container remains although docker was asked to end it: kill it.
                    if self.phase == StarterPhase::Running
                        && self.container.is_docker()
                        && !self.has_quirk(Quirk::DockerEndUnforced)
                    {
                        out.push(StarterAction::KillFamily);
                    }
                    return false;
                }
                self.shutdown_requests.graceful_until = None;
                self.shutdown_requests.vacate = vacate.or(self.shutdown_requests.vacate.take());
            }
            StarterCommand::Remove(why) => {
                (self.shutdown_requests.removal, self.shutdown_requests.last_soft_request) =
                    (Some(RemovalKind::Permanent), LastSoftRequest::Remove);
                self.shutdown_requests.vacate = why.or(self.shutdown_requests.vacate.take());
            }
            StarterCommand::Requeue => {
                let removal = self.shutdown_requests.removal.unwrap_or(RemovalKind::Requeued);
                (self.shutdown_requests.removal, self.shutdown_requests.last_soft_request) =
                    (Some(removal), LastSoftRequest::Remove);
            }
            StarterCommand::Hold(why) => {
                (self.shutdown_requests.hold, self.shutdown_requests.last_soft_request) =
                    (HoldRequest::ByRequest, LastSoftRequest::Hold);
                self.shutdown_requests.vacate = why.or(self.shutdown_requests.vacate.take());
            }
        }
        true
    }

    /// Ends the job in the way that its current phase requires.
    fn end_in_current_phase(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.shutdown_requests.has_any()
            && !self.shutdown_requests.is_fast()
            && self.shutdown_requests.graceful_until.is_none()
        {
            self.shutdown_requests.graceful_until =
                Some(now.monotonic().plus(self.setup.settings.graceful_timeout));
        }
        match self.phase {
            StarterPhase::New | StarterPhase::MakingScratch { .. } | StarterPhase::Starting => {}
            StarterPhase::Transferring(way) => self.on_request_during_transfer(now, way, out),
            StarterPhase::Running => self.end_job(now, out),
            StarterPhase::Container => {
                if let Some(call) = self.container.call.filter(|_| self.container.is_before_start()) {
                    out.push(StarterAction::KillCall(call));
                }
            }
            // A script gets no soft signal and is not waited for: it is killed, and the starter ends.
            StarterPhase::PreScript if self.scripts.pre.is_some() => {
                out.push(StarterAction::KillFamily);
                self.end_before_start(now, out);
            }
            StarterPhase::PostScript if self.scripts.post.is_some() => {
                out.push(StarterAction::KillFamily);
                self.finish_all_jobs(now, out);
            }
            StarterPhase::Preparing { .. } | StarterPhase::Deferred { .. } | StarterPhase::PreScript => {
                let deferred =
                    matches!(self.phase, StarterPhase::Deferred { .. }) && self.setup.hooks.exit.is_some();
                self.end_before_start(now, out);
                if deferred {
                    Self::report_quirk(Quirk::DeferredVacateCrashes, "the starter waits for JOB_EXIT", out);
                }
            }
            StarterPhase::PostScript => self.finish_all_jobs(now, out),
            StarterPhase::Exiting { late: true, .. } => self.end_late_job(now, out),
            StarterPhase::Retrying { step, .. } => self.retry_on_request(now, step, out),
            StarterPhase::Exiting { .. } | StarterPhase::Removing | StarterPhase::Finished => {}
        }
    }

    /// Ends the starter if SHUTDOWN_GRACEFUL_TIMEOUT, which 25.14 reads at this point, is invalid. Returns true if so.
    fn end_if_shutdown_faulty(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) -> bool {
        match self.phase {
            StarterPhase::Running => self.kill_job_if_faulty(ParameterReadPoint::Shutdown, out),
            StarterPhase::Exiting { .. }
            | StarterPhase::Retrying { .. }
            | StarterPhase::Removing
            | StarterPhase::Finished => false,
            _ => self.end_if_faulty(now, ParameterReadPoint::Shutdown, out),
        }
    }

    /// Records a hold by the slot. 25.14 adds neither reason nor code to the job ad, and JOB_EXIT does not get `hold`.
    fn record_slot_hold(&mut self, vacate: StarterVacateReason, out: &mut Vec<StarterAction>) {
        let decision = self.setup.quirks.decide(Quirk::SlotHoldUnnoticed);
        if decision.as_reference {
            self.shutdown_requests.hold = self.shutdown_requests.hold.max(HoldRequest::BySlot);
            return;
        }
        (self.shutdown_requests.hold, self.shutdown_requests.vacate) = (HoldRequest::ByRequest, Some(vacate));
        if self.setup.hooks.exit.is_some() {
            Self::report_quirk(decision.quirk, "JOB_EXIT gets `hold` and the reason", out);
        }
    }

    /// Records that a shadow holds or removes the job. JOB_EXIT is then called with `hold` or `remove`, as the manual says.
    fn record_shadow_reason(&mut self, reason: ShadowReason, out: &mut Vec<StarterAction>) {
        let decision = exit_reason_decision(self.setup.quirks);
        if decision.as_reference {
            return;
        }
        self.shutdown_requests.shadow_reason = Some(reason);
        let called = matches!(
            self.phase,
            StarterPhase::Exiting { .. }
                | StarterPhase::Retrying { .. }
                | StarterPhase::Removing
                | StarterPhase::Finished
        );
        if self.setup.hooks.exit.is_some() && !called {
            let instead = match reason {
                ShadowReason::Hold => "JOB_EXIT gets `hold`",
                ShadowReason::Remove => "JOB_EXIT gets `remove`",
            };
            Self::report_quirk(decision.quirk, instead, out);
        }
    }

    /// Ends the running job in the way that the strongest request so far requires.
    pub(super) fn end_job(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.shutdown_requests.is_fast() {
            match self.container.docker_names().cloned() {
                Some(names) => self.call_in_background(names.kill_call(9), out),
                None => out.push(StarterAction::KillFamily),
            }
            return;
        }
        let world = self.world_at(now);
        let signal = |name: &str| job_exit::kill_signal(&self.ad, name, &world);
        let soft = signal(attr::KILL_SIG).unwrap_or(SIGTERM);
        let removal = signal(attr::REMOVE_KILL_SIG);
        let instead = "KillSig is sent, not RemoveKillSig";
        let sent = match self.shutdown_requests.last_soft_request {
            LastSoftRequest::Remove => removal.unwrap_or(SIGTERM),
            LastSoftRequest::Hold => signal(attr::HOLD_KILL_SIG).unwrap_or(SIGTERM),
            LastSoftRequest::Graceful => match removal {
                Some(removal)
                    if removal != soft
                        && self.decide_quirk_and_report(Quirk::SoftKillRemoveSignal, instead, out) =>
                {
                    removal
                }
                _ => soft,
            },
        };
        let stopped = std::mem::take(&mut self.job_run.suspended);
        if stopped && self.is_suspended_at_exec(now) {
            Self::report_quirk(Quirk::SuspendedAtExecHangs, "the job continues and receives signals", out);
        }
        match self.container.docker_names().cloned() {
            Some(names) => {
                if stopped {
                    self.stop_or_continue_family(false, out);
                }
                self.call_in_background(names.kill_call(sent), out);
            }
            None => {
                // The signal is sent before SIGCONT, so that the job handles it first when it continues.
                out.push(StarterAction::SignalJob(sent));
                if stopped {
                    self.stop_or_continue_family(false, out);
                }
            }
        }
    }

    pub(super) fn stop_or_continue_family(&mut self, stop: bool, out: &mut Vec<StarterAction>) {
        match self.container.docker_names().cloned() {
            Some(names) => self.call_in_background(names.pause_call(stop), out),
            None if stop => out.push(StarterAction::StopFamily),
            None => out.push(StarterAction::ContinueFamily),
        }
    }

    /// Suspends or continues the job, and reports the change.
    fn suspend_or_continue(&mut self, stop: bool, out: &mut Vec<StarterAction>) {
        if self.job_run.suspended == stop {
            return;
        }
        self.job_run.suspended = stop;
        if self.phase == StarterPhase::Running {
            self.stop_or_continue_family(stop, out);
            out.push(StarterAction::Report(StarterNotice::JobSuspended(stop)));
            match stop {
                true => self.request_measurement(MeasurePurpose::Suspended, out),
                false => out.push(StarterAction::Log(JobLogEvent::Continued)),
            }
        }
    }

    pub(super) fn on_process_ended(
        &mut self,
        ended: ProcessEnd,
        usage: FamilyUsage,
        wrapper_failure: Option<BString>,
        out: &mut Vec<StarterAction>,
    ) {
        let now = ended.at;
        match self.phase {
            StarterPhase::PreScript => self.on_pre_script_ended(now, ended, out),
            StarterPhase::PostScript => self.on_post_script_ended(now, ended, out),
            StarterPhase::Running if self.container.is_docker() => {
                self.on_docker_process_ended(ended.exit, usage, out)
            }
            StarterPhase::Running => self.on_job_ended(ended, usage, wrapper_failure, out),
            StarterPhase::Exiting { late: true, .. } => self.on_late_job_ended(now, ended, usage, out),
            _ => {}
        }
    }

    /// Returns the exit reported inside the PID namespace. If the end was requested, 25.14 uses 0 (`pidNameSpaceReaper`).
    pub(super) fn exit_inside_namespace(&self, exit: Exit, inside: Option<Exit>) -> Exit {
        match inside {
            Some(_) if self.shutdown_requests.has_any() && self.has_quirk(Quirk::PidnsEvictedIsZero) => {
                Exit::Code(0)
            }
            Some(inside) => inside,
            None => exit,
        }
    }

    fn on_pre_script_ended(&mut self, now: ClockReading, ended: ProcessEnd, out: &mut Vec<StarterAction>) {
        if let Some(pre) = &mut self.scripts.pre {
            pre.ended = Some(ended);
        }
        if self.script_exit_differs_from_promised(now, "Pre", ended.exit) {
            let failure = self.hold_after_script("Pre script failed.", HoldCode::PreScriptFailed.number());
            self.update_after_script(now, ended.exit, out);
            return self.report_not_started(now, failure, out);
        }
        match self.shutdown_requests.has_any() {
            true => self.end_before_start(now, out),
            false => {
                // `Starter::Reaper` deletes PreCmd at this point, so its attributes are not published any longer.
                self.scripts.pre = None;
                self.start_job(now, out);
            }
        }
    }

    /// Returns true if the ad requires another exit of a script than the given one.
    fn script_exit_differs_from_promised(&self, now: ClockReading, prefix: &str, exit: Exit) -> bool {
        let promised = job_exit::promised_status(&self.ad, prefix, &self.world_at(now));
        promised.is_some_and(|status| status != i64::from(exit.to_raw()))
    }

    /// Returns the failure of a script that did not exit as required. It is not reported without a shadow (`holdJob`).
    fn hold_after_script(&self, text: &str, code: i64) -> StartFailure {
        StartFailure { silent: self.setup.transfer.is_none(), ..StartFailure::new(text, code, 0) }
    }

    /// Sends the update after a script that did not exit as required: the script's exit code becomes the job's. The update has no
    /// disk usage, which only a communicator with a shadow publishes (`Starter::publishUpdateAd`).
    fn update_after_script(&mut self, now: ClockReading, exit: Exit, out: &mut Vec<StarterAction>) {
        let mut update = ClassAd::new();
        self.scripts.publish(&mut update);
        if let Exit::Code(code) = exit {
            update.set("ExitCode", i64::from(code));
        }
        self.send_update(now, &update, UpdateTrigger::StateChange, out);
    }

    fn on_post_script_ended(&mut self, now: ClockReading, ended: ProcessEnd, out: &mut Vec<StarterAction>) {
        if let Some(post) = &mut self.scripts.post {
            post.ended = Some(ended);
        }
        if self.script_exit_differs_from_promised(now, "Post", ended.exit) {
            self.update_after_script(now, ended.exit, out);
            self.shutdown_requests.request_fast_end();
            let failure = self.hold_after_script("Post script failed.", HoldCode::PostScriptFailed.number());
            self.report_start_failure(failure, out);
        }
        self.finish_all_jobs(now, out);
    }

    /// Handles a job in which the kernel killed a process because of the memory usage. Returns true if this ends the starter.
    fn on_out_of_memory(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) -> bool {
        self.publish_update(now, UpdateTrigger::StateChange, out);
        if let Some(failure) = self.setup.settings.groups.fault_at_out_of_memory() {
            self.job_run.process = None;
            self.kill_job_and_end(failure, out);
            return true;
        }
        let always = self.setup.settings.groups.always_hold;
        let (text, code, subcode) = match cgroup_plan::judge_out_of_memory(
            self.job_run.memory_mib,
            self.job_run.usage.max_image_kib,
            always,
        ) {
            OutOfMemoryVerdict::Hold(text) => (text, HoldCode::JobOutOfResources.number(), 102),
            OutOfMemoryVerdict::Requeue => ("Worker node is out of memory".to_owned(), 0, 0),
        };
        let held = code != 0;
        out.push(StarterAction::Report(StarterNotice::Warning(text.clone())));
        if self.has_quirk(Quirk::MemoryHoldLost) {
            // Without a shadow, a hold has no effect in 25.14, and a requeue calls no hook.
            if !held {
                self.job_run.process = None;
                self.report_start_failure(StartFailure::new(text, code, subcode), out);
                self.remove_scratch(out);
            }
            return !held;
        }
        match held {
            true => self.shutdown_requests.hold = HoldRequest::ByRequest,
            false => self.shutdown_requests.request_fast_end(),
        }
        self.shutdown_requests.vacate =
            Some(StarterVacateReason { reason: text.clone().into(), code, subcode });
        self.report_start_failure(StartFailure::new(text, code, subcode), out);
        false
    }

    pub(super) fn stop_monitoring(&mut self) {
        self.job_run.pending_measurements.clear();
        self.job_run.update_due = None;
        self.shutdown_requests.graceful_until = None;
    }

    pub(super) fn on_job_ended(
        &mut self,
        ended: ProcessEnd,
        usage: FamilyUsage,
        wrapper_failure: Option<BString>,
        out: &mut Vec<StarterAction>,
    ) {
        let now = ended.at;
        self.stop_monitoring();
        self.job_run.usage = usage;
        if self.runtime_ended_before_job(now, out) {
            return;
        }
        if usage.out_of_memory && !self.shutdown_requests.has_any() && self.on_out_of_memory(now, out) {
            return;
        }
        // The update is sent while the process is still treated as running (`OsProc::JobReaper`).
        self.publish_update(now, UpdateTrigger::StateChange, out);
        if let Some(text) = wrapper_failure {
            self.job_run.process = None;
            self.job_end.status = EXCEPTION_STATUS;
            self.job_end.ended_by_exception = true;
            let text = format!("The job wrapper failed to execute the job: {text}");
            return self.report_not_started(now, StartFailure::new(text, 0, 0), out);
        }
        self.job_run.suspended = false;
        self.job_run.record_end(ended);
        let exit = ended.exit;
        self.job_run.evicted = self.shutdown_requests.has_any() || self.job_run.java.machine_failed;
        self.record_exit(exit);
        let requested = self.shutdown_requests.has_any().then(|| self.shutdown_requests.exit_hook_argument());
        if requested.is_none() && matches!(exit, Exit::Signal { number: SIGTRAP, .. }) {
            Self::report_quirk(Quirk::SigtrapHangs, "the job has ended", out);
        }
        out.push(StarterAction::Report(StarterNotice::JobEnded { exit, requested }));
        if requested.is_none() && job_exit::is_checkpoint_exit(&self.ad, exit, &self.world_at(now)) {
            if self.can_upload_checkpoints() {
                return self.upload_checkpoint(out);
            }
            if self.setup.transfer.is_some() {
                return self.continue_without_checkpoint(now, out);
            }
            let reason = "the job ends at its checkpoint exit: without a shadow nothing can be uploaded";
            Self::report_quirk(Quirk::CheckpointExitLoops, reason, out);
        }
        match self.pre_or_post_script(now, "Post") {
            Ok(Some(process)) => {
                self.phase = StarterPhase::PostScript;
                out.push(StarterAction::StartProcess(Box::new(process)));
            }
            Ok(None) => self.finish_all_jobs(now, out),
            Err(failure) => {
                self.report_start_failure(failure, out);
                self.finish_all_jobs(now, out);
            }
        }
    }
}
