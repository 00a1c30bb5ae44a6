//! Steps of a job before and between its runs: the job is submitted, prepared, started, held and released.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::event::{HoldOrVacateReason, ShadowHookResult};
use super::match_expansion::{MatchedAd, expand_for_slot};
use super::state_machine::{
    CurrentRun, RunLimit, RunRecordKind, Shadow, ShadowAction, ShadowHook, ShadowPhase,
};
use htc_base::job::{HoldCode, JobStatus, attr};
use htc_base::text::list;
use htc_base::time::ClockReading;
use htc_base::world::FrozenClockWorld;
use htc_classad::{ClassAd, Context, Dialect, Value};
use htc_hook::HookType;
use htc_hook::hook_output::{self, PrepareStatusReader};
use htc_hook::transfer::TransferRequest;
use htc_hook::user_policy;
use htc_user_log::{EventBody, EventKind};

/// Pause after a failed run. Each further failure doubles the pause.
const FIRST_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of times that the pause is doubled.
const MAX_RETRY_PAUSE: u32 = 6;

impl Shadow<'_> {
    pub(super) fn world_at(&self, now: ClockReading) -> FrozenClockWorld<'_> {
        FrozenClockWorld { world: self.setup.world, now }
    }

    pub(super) fn begin(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        if self.phase != ShadowPhase::New {
            return;
        }
        if self.job_int("NumShadowStarts").unwrap_or(0) == 0 {
            let notes = |name: &str| self.job_string(name).unwrap_or_default();
            let body = EventBody::Submit {
                host: self.setup.address.clone(),
                log_notes: notes("SubmitEventNotes"),
                user_notes: notes("SubmitEventUserNotes"),
                structure: self.submit_event_attributes(),
            };
            Self::log(body, out);
        }
        self.report_rounding_errors(out);
        self.round_ad();
        if self.job_int("QDate").is_none() {
            self.ad.set("QDate", now.epoch());
        }
        self.set_status(now, JobStatus::IDLE);
        if let Some((size, most)) = self.excess_input_size(now) {
            let reason = format!(
                "TransferInputSizeMB ({size}) is greater than MAX_TRANSFER_INPUT_MB ({most}) at submit time"
            );
            self.increment("NumSystemHolds");
            return self.hold_job(
                now,
                HoldOrVacateReason::new(reason, HoldCode::MaxTransferInputSizeExceeded.number()),
                out,
            );
        }
        if let Some(group) = &self.setup.missing_group {
            let reason = format!("Cannot install primary group {group} from supplemental groups.");
            return self.hold_job(
                now,
                HoldOrVacateReason::new(reason, HoldCode::CannotSwitchPrimaryGroup.number()),
                out,
            );
        }
        if self.ad.contains("JobMaxRetries") && !self.ad.contains("OnExitRemove") {
            let text = "JobMaxRetries alone has no effect: condor_submit turns max_retries into OnExitRemove";
            out.push(ShadowAction::Report(text.to_owned()));
        }
        self.start_shadow(now, out);
    }

    /// Returns the attributes that event 000 contains apart from its notes (`Scheduler::WriteSubmitToUserLog`).
    fn submit_event_attributes(&self) -> ClassAd {
        let named = self.job_string("SubmitEventNotesAttrs").unwrap_or_default();
        let names = list::split(&named).chain([&b"DAGNodeName"[..], b"JobBatchName"]);
        let mut structure = ClassAd::new();
        for name in names {
            let value = Context::new(self.setup.world).my(&self.ad).eval_attr(name);
            if !matches!(value, Value::Undefined | Value::Error) {
                structure.set(name, value);
            }
        }
        structure
    }

    /// Returns the input size that condor_submit determined and the limit on it, or `None` if the size is within the
    /// limit.
    fn excess_input_size(&self, now: ClockReading) -> Option<(i64, i64)> {
        let size = self.job_int("TransferInputSizeMB")?;
        let parameter = || {
            let text = self.setup.parameters.get(b"MAX_TRANSFER_INPUT_MB")?;
            let expr = htc_classad::Expr::parse_with(&text, Dialect::of_world(self.setup.world)).ok()?;
            Context::new(&self.world_at(now)).my(&self.ad).eval(&expr).as_int()
        };
        let most = self.job_int("MaxTransferInputMB").or_else(parameter).filter(|most| *most >= 0)?;
        (size > most).then_some((size, most))
    }

    /// Starts a shadow, which first calls SHADOW_PREPARE_JOB if the hook is configured.
    pub(super) fn start_shadow(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        self.runs += 1;
        self.this_run = CurrentRun::new(self.earlier_transfer_stats());
        // The value of ExecuteDirWasEncrypted is from an earlier run (`RemoteResource::setJobAd`).
        if self.ad.contains("ExecuteDirWasEncrypted") {
            self.ad.set("ExecuteDirWasEncrypted", Value::Undefined);
        }
        if self.setup.log_unavailable {
            return self.hold_without_log(now, out);
        }
        match expand_for_slot(&self.ad, self.setup.slot_ad.as_ref(), &self.world_at(now)) {
            Ok(MatchedAd { run_attributes, queue_attributes }) => {
                self.run_overrides = run_attributes;
                self.ad.update(&queue_attributes);
            }
            Err(missing) => {
                self.increment("NumSystemHolds");
                if self.setup.slot_ad.is_none() {
                    let text = "$$(NAME) needs the ad of a slot; hint: name one with --slot-ads FILE";
                    out.push(ShadowAction::Report(text.to_owned()));
                }
                return self.hold_job(
                    now,
                    HoldOrVacateReason::new(missing.to_string(), HoldCode::Unspecified.number()),
                    out,
                );
            }
        }
        self.record_start(now);
        self.record_run(RunRecordKind::Spawn, out);
        if !self.setup.local {
            self.count_input_files();
        }
        if let Some(iwd) = self.job_string(attr::IWD)
            && let Err(error) = self.setup.world.stat(&iwd.to_path_lossy())
        {
            let errno = i64::from(error.raw_os_error().unwrap_or(2));
            let why = error.to_string();
            let why = why.split(" (os error").next().unwrap_or_default();
            let reason = format!("Cannot access initial working directory {iwd}: {why}");
            self.add_wall_clock_time(now);
            self.publish_transfer_stats();
            return self.hold_job(
                now,
                HoldOrVacateReason {
                    subcode: errno,
                    ..HoldOrVacateReason::new(reason, HoldCode::IwdError.number())
                },
                out,
            );
        }
        if self.skip_if_up_to_date(now, out) {
            return;
        }
        match self.setup.hook.clone() {
            Some(hook) => {
                self.phase = ShadowPhase::Hook;
                out.push(ShadowAction::CallHook(hook));
            }
            None => self.run_starter(now, out),
        }
    }

    /// Handles the end of SHADOW_PREPARE_JOB. With status 0, the output of the hook is merged into the ad and the job
    /// is started. Any other status below 300 holds the job, and a higher status requeues it.
    pub(super) fn on_hook_ended(
        &mut self,
        now: ClockReading,
        end: ShadowHookResult,
        out: &mut Vec<ShadowAction>,
    ) {
        if self.phase != ShadowPhase::Hook {
            return;
        }
        let (exit, printed) = match end {
            ShadowHookResult::Exited(exit, printed) => (exit, printed),
            ShadowHookResult::NotExecuted => {
                return self.on_shadow_exception(now, b"Job hook execution failed", out);
            }
            ShadowHookResult::NoCredentials => {
                return self.on_shadow_exception(now, b"Submit-side job hook execution failed", out);
            }
            ShadowHookResult::TimedOut => {
                return self.on_shadow_exception(now, b"Submit-side job hook execution timed out", out);
            }
            ShadowHookResult::Interrupted => {
                self.add_wall_clock_time(now);
                return self.requeue(now, true, out);
            }
        };
        let read = hook_output::parse_ad_prefix(&printed, Dialect::of_world(self.setup.world));
        let result = hook_output::read_prepare_status(
            exit,
            &read.ad,
            PrepareStatusReader::Shadow,
            &self.world_at(now),
        );
        let path = self.setup.hook.as_ref().map(|hook: &ShadowHook| hook.path.clone()).unwrap_or_default();
        if result.status == 0 {
            self.ad.update(&read.ad);
            read.ad.names().for_each(|name| drop(self.run_overrides.remove(name)));
            return self.run_starter(now, out);
        }
        let text = result.log_message(HookType::ShadowPrepareJob, &path);
        out.push(ShadowAction::Report(text.to_string()));
        if result.status < 300 {
            self.add_wall_clock_time(now);
            return self.hold_job(
                now,
                HoldOrVacateReason {
                    reason: text,
                    code: HoldCode::HookShadowPrepareJobFailure.number(),
                    subcode: result.status,
                },
                out,
            );
        }
        self.on_shadow_exception(now, &text, out);
    }

    /// Handles an exception of the shadow before it has a starter: event 007 is written, and the job is idle again
    /// (`BaseShadow::log_except`).
    fn on_shadow_exception(&mut self, now: ClockReading, message: &[u8], out: &mut Vec<ShadowAction>) {
        self.add_wall_clock_time(now);
        let line: BString = message.replace(b"\n", b"|").replace(b"\r", b" ").into();
        let lines = vec![
            "Shadow exception!".into(),
            [b"\t", &line[..]].concat().into(),
            "\t0  -  Run Bytes Sent By Job".into(),
            "\t0  -  Run Bytes Received By Job".into(),
        ];
        Self::log(EventBody::Other { number: EventKind::ShadowException as u16, lines }, out);
        self.ad.set("LastShadowException", line);
        let reason = [b"Shadow Exception: ", message].concat();
        self.record_vacate(now, HoldOrVacateReason::new(reason, HoldCode::ShadowException.number()));
        self.requeue(now, true, out);
    }

    fn run_starter(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        self.phase = ShadowPhase::Running;
        if !self.setup.local {
            self.begin_activation();
        }
        let ad = self.run_ad();
        out.push(ShadowAction::RunStarter(Box::new(ad)));
        self.set_policy_alarm(now, out);
    }

    /// Sets the attributes of a job that got a slot (`mark_job_running`, `add_shadow_birthdate`).
    fn record_start(&mut self, now: ClockReading) {
        self.this_run.started = Some(now);
        self.set_status(now, JobStatus::RUNNING);
        if self.job_int("JobStartDate").is_none() {
            self.ad.set("JobStartDate", now.epoch());
        }
        if let Some(last) = self.job_int("JobCurrentStartDate") {
            self.ad.set("JobLastStartDate", last);
        }
        self.ad.set("JobCurrentStartDate", now.epoch());
        self.increment("NumShadowStarts");
        self.ad.set("JobRunCount", self.job_int("NumShadowStarts").unwrap_or(1));
        self.ad.set("ShadowBday", now.epoch());
        self.ad.set("LastSuspensionTime", 0i64);
        self.ad.set("CurrentHosts", 1i64);
        self.ad.set("RemoteHost", self.setup.slot.clone());
        // The vacate attributes describe the previous run.
        ["VacateReason", "VacateReasonCode", "VacateReasonSubCode"]
            .iter()
            .for_each(|name| drop(self.ad.remove(*name)));
    }

    /// Sets the numbers of files to transfer, by protocol (`UniShadow::checkInputFileTransfer`).
    fn count_input_files(&mut self) {
        let counts = TransferRequest::count_input_by_protocol(&self.ad, self.setup.world);
        self.ad.set("TransferInputFileCounts", counts);
    }

    /// Sets the attributes that a shadow sets when it starts (`RemoteResource::setJobAd`, `activateClaim`).
    fn begin_activation(&mut self) {
        self.ad.set("JobCurrentReconnectAttempt", Value::Undefined);
        for name in ["RemoteSysCpu", "RemoteUserCpu"] {
            self.ad.set(name, 0.0);
        }
    }

    /// Sets the time at which periodic policies are evaluated next.
    pub(super) fn set_policy_alarm(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        if self.setup.interval > 0 {
            let at = now.monotonic().plus(Duration::from_secs(self.setup.interval.unsigned_abs()));
            out.push(ShadowAction::WakeAt(Some(at)));
        }
    }

    /// Holds the job for the given reason.
    pub(super) fn hold_job(
        &mut self,
        now: ClockReading,
        why: HoldOrVacateReason,
        out: &mut Vec<ShadowAction>,
    ) {
        let (code, subcode) = why.codes();
        Self::log(EventBody::Held { reason: why.reason.clone(), code, subcode }, out);
        let HoldOrVacateReason { reason, code, subcode } = why;
        out.push(ShadowAction::Report(format!("the job is held (code {code}, subcode {subcode}): {reason}")));
        self.set_status(now, JobStatus::HELD);
        self.ad.set("HoldReason", reason);
        self.ad.set("HoldReasonCode", code);
        self.ad.set("HoldReasonSubCode", subcode);
        self.increment("NumHolds");
        self.increment_nested("NumHoldsByReason", hold_code_name(code));
        self.leave_slot();
        match self.setup.run_limit {
            RunLimit::UntilDone
                if self.setup.controlled || (self.can_be_released() && self.setup.interval > 0) =>
            {
                self.phase = ShadowPhase::Held;
                self.set_policy_alarm(now, out);
            }
            _ => self.finish(out),
        }
    }

    fn can_be_released(&self) -> bool {
        self.ad.contains("PeriodicRelease")
            || self.setup.parameters.get(b"SYSTEM_PERIODIC_RELEASE").is_some()
            || self.setup.parameters.get(b"SYSTEM_PERIODIC_RELEASE_NAMES").is_some()
    }

    /// Adds 1 to a counter in a nested ad.
    pub(super) fn increment_nested(&mut self, attribute: &str, name: &str) {
        let nested = self.job_context().eval_attr(attribute);
        let mut nested = match &nested {
            htc_classad::Value::Ad(ad) => (**ad).clone(),
            _ => htc_classad::ClassAd::new(),
        };
        let count = Context::new(self.setup.world).my(&nested).int(name).unwrap_or(0).saturating_add(1);
        nested.set(name, count);
        self.ad.set(attribute, nested);
    }

    /// Sets the attributes of a job that no longer has a slot.
    pub(super) fn leave_slot(&mut self) {
        if self.ad.contains("RemoteHost") {
            self.ad.set("LastRemoteHost", self.setup.slot.clone());
            self.ad.remove("RemoteHost");
            self.ad.set("LastSuspensionTime", 0i64);
            self.ad.set("CurrentHosts", 0i64);
            // ShadowBday is removed when the shadow ends. The shadow does not send the other attributes to the queue.
            for name in ["ShadowBday", "JobLastCheckpointTime", "UncommittedSuspensionTime"] {
                self.ad.remove(name);
            }
        }
        self.round_ad();
    }

    /// Makes the job idle, and runs it again unless the limit on runs is reached. A failed run is followed by
    /// a pause.
    pub(super) fn requeue(&mut self, now: ClockReading, failed: bool, out: &mut Vec<ShadowAction>) {
        self.set_status(now, JobStatus::IDLE);
        self.leave_slot();
        let runs_again = match self.setup.run_limit {
            RunLimit::UntilDone | RunLimit::UntilHeld => true,
            RunLimit::Runs(most) => self.runs < most,
        };
        if !runs_again {
            self.report_retries(failed, out);
            return self.finish(out);
        }
        let ran = self
            .this_run
            .started
            .map_or(FIRST_RETRY_PAUSE, |started| now.monotonic().since(started.monotonic()));
        let pause = match failed {
            true => FIRST_RETRY_PAUSE * (1 << self.failed_runs.min(MAX_RETRY_PAUSE)),
            // Without a limit on runs, a job is started at most once per pause, as a schedd would do.
            false if !matches!(self.setup.run_limit, RunLimit::Runs(_)) => {
                FIRST_RETRY_PAUSE.saturating_sub(ran)
            }
            // A job that was skipped would otherwise be started again and again within one step.
            false if self.was_skipped() => FIRST_RETRY_PAUSE,
            false => Duration::ZERO,
        };
        self.failed_runs = if failed { self.failed_runs + 1 } else { 0 };
        if pause.is_zero() {
            return self.start_shadow(now, out);
        }
        let until = now.monotonic().plus(pause);
        self.phase = ShadowPhase::Idle { until };
        out.push(ShadowAction::WakeAt(Some(until)));
    }

    /// Reports that a pool would run the job again, although it stays in the queue here.
    fn report_retries(&self, failed: bool, out: &mut Vec<ShadowAction>) {
        if failed || self.setup.local {
            return;
        }
        let completions = self.job_int("NumJobCompletions").unwrap_or(0);
        let tries = self
            .job_int("JobMaxRetries")
            .map(|most| format!(", try {completions} of {}", most.saturating_add(1)));
        let tries = tries.unwrap_or_default();
        let text = format!(
            "the job stays in the queue (OnExitRemove is not true{tries}); --until done would run it again"
        );
        out.push(ShadowAction::Report(text));
    }

    /// Evaluates the periodic policies, or ends the pause between two runs.
    pub(super) fn on_timeout(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        match self.phase {
            ShadowPhase::Running => self.evaluate_periodic_policy(now, out),
            ShadowPhase::Idle { until } if until <= now.monotonic() => self.start_shadow(now, out),
            ShadowPhase::Idle { until } => out.push(ShadowAction::WakeAt(Some(until))),
            ShadowPhase::Held => self.evaluate_held_policy(now, out),
            ShadowPhase::New | ShadowPhase::Hook | ShadowPhase::Finished => {}
        }
    }

    fn evaluate_held_policy(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        let frozen = self.world_at(now);
        let released = user_policy::release_reason(&self.ad, self.setup.parameters, &frozen);
        let removed = match released {
            Some(_) => None,
            None => user_policy::evaluate_periodic(&self.ad, self.setup.parameters, &frozen),
        };
        if let Some(user_policy::PolicyAction::Remove(reason)) = removed {
            return self.remove_job(now, &reason, out);
        }
        match released {
            Some(why) => self.release_job(now, why.reason, out),
            None => self.set_policy_alarm(now, out),
        }
    }

    /// Releases a held job, which then becomes idle.
    pub(super) fn release_job(&mut self, now: ClockReading, reason: BString, out: &mut Vec<ShadowAction>) {
        Self::log(EventBody::Released(reason.clone()), out);
        self.ad.set("ReleaseReason", reason);
        for (name, last) in [
            ("HoldReason", "LastHoldReason"),
            ("HoldReasonCode", "LastHoldReasonCode"),
            ("HoldReasonSubCode", "LastHoldReasonSubCode"),
        ] {
            if let Some(value) = self.ad.get(name) {
                self.ad.insert(last, value);
                self.ad.remove(name);
            }
        }
        self.requeue(now, false, out);
    }

    /// Removes the job from the queue.
    pub(super) fn remove_job(&mut self, now: ClockReading, reason: &BString, out: &mut Vec<ShadowAction>) {
        out.push(ShadowAction::Report(format!("the job is removed: {reason}")));
        Self::log(EventBody::Aborted(reason.clone()), out);
        self.set_status(now, JobStatus::REMOVED);
        self.ad.set("RemoveReason", reason.clone());
        self.ad.set("JobFinishedHookDone", now.epoch());
        // Without a log, no event can be written twice.
        if self.job_string("UserLog").is_some() {
            self.ad.set("JobAbortEventLogged", 1i64);
        }
        self.leave_slot();
        self.finish(out);
    }
}

/// Returns the name of a code in the reference. Holds and vacates are counted under this name.
pub(super) fn hold_code_name(code: i64) -> &'static str {
    let known = HoldCode::ALL.iter().find(|known| i64::from(**known as u16) == code);
    known.map_or("Unspecified", |known| known.name())
}
