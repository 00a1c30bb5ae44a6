//! Steps of a job that a starter runs: transfers, execution, updates, suspension, errors, periodic policy.

use bstr::BString;

use super::event::HoldOrVacateReason;
use super::state_machine::{JobEndRequest, PendingOutcome, Shadow, ShadowAction, ShadowPhase};
use super::transfer_error::{failed_protocol, improve_reason};
use super::updates::NUM_JOB_STARTS;
use htc_base::job::{HoldCode, JobStatus};
use htc_base::text::list;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value, is_private, references};
use htc_hook::transfer::{TransferKind, TransferOutcome};
use htc_hook::user_policy::{self, PolicyAction, RunningJobAction};
use htc_user_log::{EventBody, FileTransferStep};

/// Attributes with the transferred bytes and files by protocol: first for input, then for output.
const STATS_ATTRIBUTES: [&str; 2] = ["TransferInputStats", "TransferOutputStats"];

impl Shadow<'_> {
    pub(super) fn on_transfer_started(
        &mut self,
        now: ClockReading,
        way: TransferKind,
        out: &mut Vec<ShadowAction>,
    ) {
        let (step, names) = match way.is_input() {
            true => {
                let names =
                    ["TransferInStarted", "JobCurrentStartTransferInputDate", "NumInputTransferStarts"];
                (FileTransferStep::InputStarted, names)
            }
            false => {
                let names =
                    ["TransferOutStarted", "JobCurrentStartTransferOutputDate", "NumOutputTransferStarts"];
                (FileTransferStep::OutputStarted, names)
            }
        };
        self.ad.set(names[0], now.epoch());
        self.ad.set(names[1], now.epoch());
        self.increment(names[2]);
        let host = if way.is_input() { self.setup.address.clone() } else { BString::default() };
        Self::log(EventBody::Transfer { step, host }, out);
    }

    pub(super) fn on_transferred(
        &mut self,
        now: ClockReading,
        done: &TransferOutcome,
        out: &mut Vec<ShadowAction>,
    ) {
        self.record_transfer(done, out);
        let stats = STATS_ATTRIBUTES[usize::from(!done.way.is_input())];
        let (step, finished, dated) = match done.way.is_input() {
            true => {
                let (finished, dated) = ("TransferInFinished", "JobCurrentFinishTransferInputDate");
                (FileTransferStep::InputFinished, finished, dated)
            }
            false => {
                let (finished, dated) = ("TransferOutFinished", "JobCurrentFinishTransferOutputDate");
                (FileTransferStep::OutputFinished, finished, dated)
            }
        };
        self.ad.set(finished, now.epoch());
        self.ad.set(dated, if done.failure.is_some() { -1 } else { now.epoch() });
        let is_checkpoint = matches!(done.way, TransferKind::Checkpoint(_));
        // The statistics are those of the run's last transfer, added to those of earlier runs.
        if !(is_checkpoint && done.failure.is_some()) {
            let before = &self.this_run.earlier_transfers[usize::from(!done.way.is_input())];
            self.ad.set(stats, done.tally.to_stats_ad(before, self.setup.world));
        }
        let bytes = if done.failure.is_some() { 0 } else { done.tally.bytes };
        let (name, of_run) = match done.way.is_input() {
            // The names are from the job's point of view: input is received, and output is sent.
            true => ("BytesRecvd", &mut self.this_run.received),
            false => ("BytesSent", &mut self.this_run.sent),
        };
        // The transferred bytes of a run are those of its last transfer, even if earlier transfers were checkpoints.
        let earlier = std::mem::replace(of_run, bytes);
        let total = self.job_context().real(name).unwrap_or(0.0);
        self.ad.set(name, total - earlier as f64 + bytes as f64);
        if let (TransferKind::Output, Some(_)) = (done.way, &done.failure) {
            self.record_end_without_output();
        }
        if done.way == TransferKind::Output && done.failure.is_none() {
            self.ad.set("SpooledOutputFiles", BString::from(bstr::join(",", &done.stored)));
        }
        if is_checkpoint {
            // A checkpoint is not the end of the job, so its exit attributes are dropped.
            self.this_run.end = ClassAd::new();
            self.this_run.end_reported = false;
        }
        if is_checkpoint && done.failure.is_none() {
            self.record_checkpoint(now);
        }
        // 25.14 writes no event at the end of a checkpoint transfer that failed.
        if !(is_checkpoint && done.failure.is_some()) {
            Self::log(EventBody::Transfer { step, host: BString::default() }, out);
        }
    }

    /// Sets the exit attributes for a job whose output could not be transferred, as its starter reports them
    /// (`BaseShadow::mockTerminateJob`).
    fn record_end_without_output(&mut self) {
        self.this_run.end_reported = true;
        if !self.this_run.end.contains("ExitReason") {
            self.this_run.end.set("ExitReason", "Exited normally");
        }
    }

    /// Returns the transfer statistics of all runs so far.
    pub(super) fn earlier_transfer_stats(&self) -> [ClassAd; 2] {
        STATS_ATTRIBUTES.map(|name| match self.job_context().eval_attr(name) {
            Value::Ad(ad) => (*ad).clone(),
            _ => ClassAd::new(),
        })
    }

    /// Sets the transfer attributes even if nothing was transferred, like a shadow (`BaseShadow::updateJobInQueue`).
    pub(super) fn publish_transfer_stats(&mut self) {
        for name in ["BytesRecvd", "BytesSent"] {
            if !self.ad.contains(name) {
                self.ad.set(name, 0.0);
            }
        }
        for name in STATS_ATTRIBUTES {
            if !self.ad.contains(name) {
                self.ad.set(name, ClassAd::new());
            }
        }
    }

    /// Adds the run time up to the checkpoint to the committed time (`notifySuccessfulPeriodicCheckpoint`).
    fn record_checkpoint(&mut self, now: ClockReading) {
        let number = self.job_int("CheckpointNumber").map_or(0, |number| number.saturating_add(1));
        self.ad.set("CheckpointNumber", number);
        let ended = self.this_run.exited.unwrap_or(now.epoch());
        let ran = self.this_run.executing.map_or(0, |began| ended - began);
        self.ad.set("CommittedTime", self.job_int("CommittedTime").unwrap_or(0) + ran);
        self.ad.set("JobLastCheckpointTime", ended);
        self.this_run.checkpoint = Some(ended);
        // After a checkpoint, the job restarts immediately.
        self.this_run.executing = Some(now.epoch());
    }

    pub(super) fn on_executing(&mut self, now: ClockReading, scratch: &BString, out: &mut Vec<ShadowAction>) {
        if self.this_run.executing.is_none() {
            let started = self.this_run.started.map_or(0, |started| started.epoch());
            self.ad.set("ActivationSetupDuration", now.epoch() - started);
        }
        self.this_run.executing = Some(now.epoch());
        let execute = self.log_execute_event(scratch);
        // The ad that accompanies the event still has the previous NumJobStarts.
        out.push(ShadowAction::LogBefore(Box::new(execute), Box::new(self.ad.clone())));
        self.this_run.starts_before = self.ad.get(NUM_JOB_STARTS);
        self.increment(NUM_JOB_STARTS);
        self.ad.set("JobCurrentStartExecutingDate", now.epoch());
    }

    fn log_execute_event(&self, scratch: &BString) -> EventBody {
        let host = self.setup.address.clone();
        if self.setup.local {
            return EventBody::Execute { host, slot_name: BString::default(), properties: Vec::new() };
        }
        let mut copied = ClassAd::new();
        copied.set("CondorScratchDir", Value::from(scratch.clone()));
        if let Some(slot) = &self.setup.slot_ad {
            let more = self.job_string("UserLogExecuteEventAttrs").unwrap_or_default();
            copy_slot_attributes(slot, &more, self.setup.world, &mut copied);
        }
        let properties = copied
            .sorted()
            .into_iter()
            .map(|(name, expr)| (BString::from(name), expr.unparse_old()))
            .collect();
        EventBody::Execute { host, slot_name: self.setup.slot.clone(), properties }
    }

    /// Records the end of the job's process (`recordActivationExitExecutionTime`).
    pub(super) fn on_job_ended(&mut self, now: ClockReading) {
        if let (Some(executing), None, false) =
            (self.this_run.executing, self.this_run.critical_error_code, self.this_run.vacated_without_exit)
        {
            self.this_run.exited = Some(now.epoch());
            self.this_run.end_reported = true;
            self.ad.set("ActivationExecutionDuration", now.epoch() - executing);
        }
    }

    pub(super) fn on_updated(&mut self, update: &ClassAd, out: &mut Vec<ShadowAction>) {
        // The starter reports the job's exit after PostCmd, before the output is transferred. If PostCmd failed, it
        // never reports the exit.
        if self.this_run.critical_error_code == Some(HoldCode::PostScriptFailed as i64) {
            return;
        }
        match self.setup.local {
            // In the local universe, the update is the starter's own copy of the job ad (`notifyJobExit`).
            true => self.apply_local_update(update),
            false => self.apply_update(update),
        }
        let Some(size) = self.job_int("ImageSize").filter(|_| self.this_run.executing.is_some()) else {
            return;
        };
        let measures = (size, self.job_int("MemoryUsage"), self.job_int("ResidentSetSize"));
        if self.this_run.image == Some(measures) {
            return;
        }
        self.this_run.image = Some(measures);
        if self.setup.local {
            return;
        }
        let proportional = self.job_int("ProportionalSetSizeKb");
        let (_, memory_usage, resident) = measures;
        Self::log(EventBody::ImageSize { size, memory_usage, resident, proportional }, out);
    }

    pub(super) fn on_suspended_or_continued(
        &mut self,
        now: ClockReading,
        processes: Option<u32>,
        out: &mut Vec<ShadowAction>,
    ) {
        match processes {
            Some(processes) => {
                self.set_status(now, JobStatus::SUSPENDED);
                self.increment("TotalSuspensions");
                self.ad.set("LastSuspensionTime", now.epoch());
                Self::log(EventBody::Suspended(processes.into()), out);
            }
            None => {
                self.set_status(now, JobStatus::RUNNING);
                self.add_suspension_time(now);
                Self::log(EventBody::Unsuspended, out);
            }
        }
    }

    /// Adds the time for which the job was suspended (`RemoteResource::recordResumeEvent`). Without a shadow this time
    /// is not counted.
    fn add_suspension_time(&mut self, now: ClockReading) {
        if self.setup.local {
            return;
        }
        let int = |name: &str| self.job_int(name).unwrap_or(0);
        let since = int("LastSuspensionTime");
        let duration = if since > 0 { now.epoch() - since } else { 0 };
        let (total, open) = (int("CumulativeSuspensionTime"), int("UncommittedSuspensionTime"));
        self.ad.set("CumulativeSuspensionTime", total + duration);
        if since > 0 {
            self.ad.set("UncommittedSuspensionTime", open + duration);
        }
        self.ad.set("LastSuspensionTime", 0i64);
    }

    /// Logs an error of the starter immediately, and records which outcome the job has when the starter ends.
    pub(super) fn on_starter_error(
        &mut self,
        why: HoldOrVacateReason,
        critical: bool,
        out: &mut Vec<ShadowAction>,
    ) {
        if self.this_run.critical_error_code.is_some() {
            return;
        }
        // Errors that a starter logs itself have no codes (`LocalUserLog::logStarterError`).
        let (code, subcode) = if self.setup.local { (0, 0) } else { why.codes() };
        let body = EventBody::RemoteError {
            critical,
            daemon: "starter".into(),
            host: if self.setup.local { self.setup.address.clone() } else { self.setup.slot.clone() },
            message: why.reason.clone(),
            code,
            subcode,
        };
        Self::log(body, out);
        // In the local universe the last error with a code determines the outcome (`JICLocalSchedd::holdJob`),
        // otherwise the first error does.
        let last_counts = self.setup.local && why.code != 0;
        let replaced =
            last_counts && matches!(self.this_run.pending_outcome, Some(PendingOutcome::Failed(_)));
        if !critical || self.this_run.pending_outcome.is_some() && !replaced {
            return;
        }
        if self.setup.local {
            self.this_run.pending_outcome = Some(PendingOutcome::Failed(why));
            return;
        }
        let HoldOrVacateReason { reason, code, subcode } = why;
        let text = [b"Error from ", &self.setup.slot[..], b": ", &reason].concat();
        let (reason, code) = improve_reason(&text, code, self.this_run.executing.is_some(), &self.setup.host);
        self.this_run.failed_protocol = failed_protocol(&text, code);
        // An event without a hold code has no subcode (`RemoteErrorEvent::toClassAd`).
        let (code, subcode) = if code == 0 { (HoldCode::StarterError.number(), 0) } else { (code, subcode) };
        self.this_run.critical_error_code = Some(code);
        self.this_run.pending_outcome =
            Some(PendingOutcome::Failed(HoldOrVacateReason { reason, code, subcode }));
    }

    /// Evaluates the policies of a running job. The first policy that is true ends the job's run.
    pub(super) fn evaluate_periodic_policy(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        if self.this_run.pending_outcome.is_some() {
            return;
        }
        let mut ad = self.policy_ad();
        let before = Context::new(self.setup.world).my(&ad).real("RemoteWallClockTime").unwrap_or(0.0);
        ad.set("RemoteWallClockTime", before + self.run_age(now) as f64);
        let (outcome, ask) =
            match user_policy::evaluate_while_running(&ad, self.setup.parameters, &self.world_at(now)) {
                Some(RunningJobAction::Vacate { reason, code, subcode }) => (
                    PendingOutcome::Vacate(HoldOrVacateReason { reason, code: code as i64, subcode }),
                    JobEndRequest::Vacate,
                ),
                Some(RunningJobAction::HoldOrRemove(PolicyAction::Hold { reason, code, subcode })) => (
                    PendingOutcome::Hold(HoldOrVacateReason { reason, code: code as i64, subcode }),
                    JobEndRequest::Hold,
                ),
                Some(RunningJobAction::HoldOrRemove(PolicyAction::Remove(reason))) => {
                    (PendingOutcome::Remove(reason), JobEndRequest::Remove)
                }
                None => return self.set_policy_alarm(now, out),
            };
        // Without a shadow, the starter ends a job that is to be requeued like a removed job
        // (`JICLocalSchedd::requeueJob`).
        let ask = if self.setup.local && ask == JobEndRequest::Vacate { JobEndRequest::Requeue } else { ask };
        self.this_run.pending_outcome = Some(outcome);
        out.push(ShadowAction::WakeAt(None));
        self.request_job_end(ask, out);
        debug_assert!(self.phase == ShadowPhase::Running);
    }

    /// Evaluates the periodic policies after an update of the starter. In the local universe, they are evaluated only
    /// at the regular interval (`RemoteResource::updateFromStarter`).
    pub(super) fn evaluate_policy_after_update(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        if self.phase == ShadowPhase::Running && !self.setup.local && self.setup.interval > 0 {
            self.evaluate_periodic_policy(now, out);
        }
    }

    /// Returns the age of the run for policies: the time since the shadow started, or in the local universe since the
    /// job's first start (`getJobBirthday`).
    fn run_age(&self, now: ClockReading) -> i64 {
        let first = self.job_int("JobStartDate").filter(|_| self.setup.local);
        let birthday = first.or_else(|| self.this_run.started.map(|started| started.epoch()));
        birthday.map_or(0, |birthday| now.epoch() - birthday)
    }

    /// Asks the starter to end the job. The end is immediate if neither the job nor the configuration asks for a
    /// graceful removal (`jobWantsGracefulRemoval`).
    pub(super) fn request_job_end(&self, ask: JobEndRequest, out: &mut Vec<ShadowAction>) {
        let requested = self.job_context().boolean("WantGracefulRemoval");
        let graceful = self.setup.local || requested.unwrap_or(self.setup.graceful);
        out.push(if graceful { ShadowAction::RequestEnd(ask) } else { ShadowAction::RequestEndAtOnce(ask) });
    }
}

/// Copies the slot attributes that event 001 contains: the amounts, IDs and properties of each resource, and the
/// attributes in `more`, for which the job asks. Reference: `CopyMachineResources`, `CopySelectAttrs`
/// (compat_classad_util.cpp).
fn copy_slot_attributes(slot: &ClassAd, more: &[u8], world: &dyn World, copied: &mut ClassAd) {
    let context = Context::new(world).my(slot);
    let copy = |name: &[u8], copied: &mut ClassAd| {
        // Private attributes such as ClaimId are never copied, even if the job asks for them.
        if let Some(expr) = slot.get(name).filter(|_| !copied.contains(name) && !is_private(name)) {
            copied.insert(name, expr);
        }
    };
    let with_references = |name: &[u8], copied: &mut ClassAd| {
        let referred = slot.get(name).and_then(|expr| references::internal(&expr, context));
        copy(name, copied);
        referred.iter().flatten().for_each(|name| copy(name.as_bytes(), copied));
    };
    let listed = context.string("MachineResources").unwrap_or_else(|| "CPUs, Disk, Memory".into());
    for resource in list::split(&listed) {
        copy(resource, copied);
        with_references(&[b"Available", resource].concat(), copied);
    }
    list::split(more).for_each(|name| with_references(name, copied));
}
