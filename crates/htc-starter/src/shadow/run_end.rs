//! End of a run: the job is completed, requeued, held or removed.

use bstr::BString;

use super::event::{HoldOrVacateReason, StarterEnd};
use super::queue::hold_code_name;
use super::state_machine::{PendingOutcome, RunRecordKind, Shadow, ShadowAction, TransferRecord};
use htc_base::job::{HoldCode, JobStatus};
use htc_base::process::Exit;
use htc_base::time::ClockReading;
use htc_classad::{Context, Value};
use htc_hook::transfer::{TransferClass, TransferOutcome};
use htc_hook::user_policy::{self, PolicyAction};
use htc_user_log::{
    CpuTime, EventBody, EvictedEvent, JobTermination, ResourceTable, RunUsage, TerminatedEvent,
};

impl Shadow<'_> {
    /// Handles the end of the starter.
    pub(super) fn on_starter_ended(
        &mut self,
        now: ClockReading,
        end: StarterEnd,
        out: &mut Vec<ShadowAction>,
    ) {
        out.push(ShadowAction::WakeAt(None));
        let ran = self.add_wall_clock_time(now);
        if !self.setup.local {
            self.publish_transfer_stats();
            self.record_job_end();
        }
        if self.this_run.executing.is_some() && !self.this_run.vacated_without_exit {
            // If the end of the job's process was not reported, ActivationDuration counts from 1970, as in the
            // reference (`resourceExit`).
            self.ad.set("ActivationDuration", ran);
            self.ad.set("ActivationTeardownDuration", now.epoch() - self.this_run.exited.unwrap_or(0));
        }
        if end.is_last_run {
            // The user requested that no further run follows this one.
            self.setup.run_limit = super::state_machine::RunLimit::Runs(self.runs);
        }
        let outcome = self.this_run.pending_outcome.take();
        if self.setup.local {
            return self.on_local_starter_ended(now, outcome, end, out);
        }
        match outcome {
            Some(PendingOutcome::Hold(why)) => {
                self.record_policy_vacate(now);
                self.hold_or_retry_by_policy(now, why, out);
            }
            Some(PendingOutcome::Remove(reason)) => {
                self.record_policy_vacate(now);
                self.remove_job(now, &reason, out);
            }
            Some(PendingOutcome::RemoveEvicted { reason, code }) => {
                self.record_eviction(now, HoldOrVacateReason::new(reason.clone(), code), out);
                self.remove_job(now, &reason, out);
            }
            Some(PendingOutcome::Vacate(why)) => {
                self.record_eviction(now, why, out);
                self.requeue(now, true, out);
            }
            Some(PendingOutcome::Failed(why)) => {
                self.record_eviction(now, why.clone(), out);
                // The condition is that of `shouldHoldJobBasedOnCodes`.
                match why.code != 0 && why.code < 1000 && why.subcode > -1000 {
                    true => self.hold_or_retry(now, why, out),
                    false => self.requeue(now, true, out),
                }
            }
            None => match end.exit {
                Some(exit) if !end.end_requested => self.on_job_completed(now, exit, out),
                None if !end.end_requested => self.on_starter_lost(now, end.reason, out),
                _ => {
                    self.record_eviction(
                        now,
                        HoldOrVacateReason::new(
                            "Unspecified job interruption",
                            HoldCode::JobShouldRequeue.number(),
                        ),
                        out,
                    );
                    self.requeue(now, true, out);
                }
            },
        }
    }

    /// Records the attributes of the job's exit, unless an error ended the shadow before the exit was reported.
    fn record_job_end(&mut self) {
        let end = std::mem::take(&mut self.this_run.end);
        if self.this_run.critical_error_code.is_none() || self.this_run.end_reported {
            self.ad.update(&end);
        }
    }

    /// Adds the time for which the job had its slot to its wall clock time (`update_remote_wall_clock`), and returns
    /// the time added.
    pub(super) fn add_wall_clock_time(&mut self, now: ClockReading) -> i64 {
        let ran = self.this_run.started.map_or(0, |started| now.epoch() - started.epoch());
        let before = self.job_context().real("RemoteWallClockTime");
        self.ad.set("LastRemoteWallClockTime", ran as f64);
        self.ad.set("RemoteWallClockTime", before.unwrap_or(0.0) + ran as f64);
        let slot_time = self.job_context().real("CumulativeSlotTime").unwrap_or(0.0);
        self.ad.set("CumulativeSlotTime", slot_time + self.slot_weight() * ran as f64);
        ran
    }

    /// Handles a starter that ended without a report. The shadow tries to reconnect and does not find the starter.
    fn on_starter_lost(&mut self, now: ClockReading, reason: Option<String>, out: &mut Vec<ShadowAction>) {
        if reason.is_some() {
            // The starter has already reported the reason to the user.
            out.push(ShadowAction::Report("the starter ended without reporting to the shadow".to_owned()));
        }
        self.log_disconnected(out);
        let startd = self.setup.slot.clone();
        let text = BString::from("Job not found at execution machine");
        Self::log(EventBody::ReconnectFailed { reason: text.clone(), startd }, out);
        self.record_eviction(now, HoldOrVacateReason::new(text, HoldCode::ReconnectFailed.number()), out);
        self.requeue(now, true, out);
    }

    fn log_disconnected(&self, out: &mut Vec<ShadowAction>) {
        let (startd, address) = (self.setup.slot.clone(), self.setup.address.clone());
        let reason = "Socket between submit and execute hosts closed unexpectedly".into();
        Self::log(EventBody::Disconnected { reason, startd, address }, out);
    }

    /// Handles a connection that was lost and restored at the first attempt (`RemoteResource::reconnect`,
    /// `UniShadow::resourceReconnected`).
    pub(super) fn on_reconnected(&mut self, out: &mut Vec<ShadowAction>) {
        self.log_disconnected(out);
        self.increment("TotalJobReconnectAttempts");
        self.increment("NumJobReconnects");
        self.ad.set("JobCurrentReconnectAttempt", Value::Undefined);
        self.ad.set("JobDisconnectedDate", Value::Undefined);
        let (startd, address) = (self.setup.slot.clone(), self.setup.address.clone());
        let body =
            EventBody::Reconnected { startd, startd_address: address.clone(), starter_address: address };
        Self::log(body, out);
    }

    fn usage_table(&self) -> Option<ResourceTable> {
        // The schedd lists the resources of the slot in the ad that it sends to the shadow.
        let listed = self
            .run_overrides
            .get("ProvisionedResources")
            .or_else(|| self.setup.slot_ad.as_ref()?.get("MachineResources"));
        let Some(listed) = listed else { return ResourceTable::from_job_ad(&self.ad, self.setup.world) };
        let mut ad = self.ad.clone();
        ad.insert("ProvisionedResources", listed);
        ResourceTable::from_job_ad(&ad, self.setup.world)
    }

    fn run_usage(&self, prefix: &str) -> RunUsage {
        let cpu = |name: &str| {
            let name = format!("{prefix}{name}");
            let value = self.job_context().real(name);
            value.unwrap_or(0.0) as i64
        };
        let remote = CpuTime { user: cpu("RemoteUserCpu"), system: cpu("RemoteSysCpu") };
        RunUsage {
            remote,
            sent: self.this_run.sent as f64,
            received: self.this_run.received as f64,
            ..RunUsage::default()
        }
    }

    /// Writes event 004, and records the eviction in the job ad.
    fn record_eviction(&mut self, now: ClockReading, why: HoldOrVacateReason, out: &mut Vec<ShadowAction>) {
        let run = RunUsage { sent: 0.0, received: 0.0, ..self.run_usage("") };
        let body = EvictedEvent {
            code: why.codes(),
            run,
            reason: why.reason.clone(),
            resources: self.usage_table(),
            ..EvictedEvent::default()
        };
        Self::log(EventBody::Evicted(Box::new(body)), out);
        self.record_vacate(now, why);
        self.record_run(RunRecordKind::End, out);
    }

    /// Records the job ad in the history of runs, before the queue changes it because of the run's end.
    pub(super) fn record_run(&self, kind: RunRecordKind, out: &mut Vec<ShadowAction>) {
        if !self.setup.local {
            out.push(ShadowAction::RecordRun(kind, Box::new(self.ad.clone())));
        }
    }

    /// Records the plugins' work in a transfer in the history of runs (`updateShadowWithPluginResults`).
    pub(super) fn record_transfer(&self, done: &TransferOutcome, out: &mut Vec<ShadowAction>) {
        if done.plugins.is_empty() || self.setup.local {
            return;
        }
        let class = TransferClass::of(done.way);
        let record = TransferRecord { class, transfer: done.plugins.record_ad(class), job: self.ad.clone() };
        out.push(ShadowAction::RecordTransfer(Box::new(record)));
    }

    /// Records in the job ad that the job left its slot before the job ended.
    pub(super) fn record_vacate(&mut self, now: ClockReading, why: HoldOrVacateReason) {
        let HoldOrVacateReason { reason, code, subcode } = why;
        self.ad.set("VacateReason", reason);
        self.ad.set("VacateReasonCode", code);
        self.ad.set("VacateReasonSubCode", subcode);
        self.ad.set("LastVacateTime", now.epoch());
        self.increment("NumVacates");
        let mut names = vec![hold_code_name(code).to_owned()];
        if let Some(protocol) = self.this_run.failed_protocol.take() {
            names.push(format!("{}{protocol}", names[0]));
        }
        names.iter().for_each(|name| self.increment_nested("NumVacatesByReason", name));
        // If the last execution began before this run's shadow, the job was vacated before it was executed in this run
        // (`SetAttribute` of VacateReasonCode).
        let (began, born) = (self.job_int("JobCurrentStartExecutingDate"), self.job_int("ShadowBday"));
        if began.is_none_or(|began| born.is_some_and(|born| born > began)) {
            self.increment("NumVacatesPreExecution");
            names.iter().for_each(|name| self.increment_nested("NumVacatesByReasonPreExecution", name));
        }
    }

    /// Records the vacate of a job that its own policy held or removed, with the reason that the starter reported.
    /// 25.14 writes no event for such a vacate (`BaseShadow::evictJob`, `logEvictEvent`).
    fn record_policy_vacate(&mut self, now: ClockReading) {
        let reason = self.job_string("VacateReason").unwrap_or_default();
        let code = self.job_int("VacateReasonCode").unwrap_or(0);
        let subcode = self.job_int("VacateReasonSubCode").unwrap_or(0);
        self.record_vacate(now, HoldOrVacateReason { reason, code, subcode });
    }

    /// Handles a job that exited by itself.
    fn on_job_completed(&mut self, now: ClockReading, exit: Exit, out: &mut Vec<ShadowAction>) {
        self.increment("NumJobCompletions");
        let dumped = self.job_context().boolean("JobCoreDumped");
        if dumped == Some(true) {
            // JobCoreFileName is the reference's name of the core file, even if the job's core file has another name
            // (`BaseShadow::init`, `terminateJob`).
            let id = [self.job_int("ClusterId"), self.job_int("ProcId")].map(Option::unwrap_or_default);
            let iwd = self.job_string("Iwd").unwrap_or_default();
            self.ad.set("JobCoreFileName", BString::from(format!("{iwd}/core.{}.{}", id[0], id[1])));
        }
        self.record_run(RunRecordKind::End, out);
        self.apply_exit_policy(now, exit, out);
    }

    /// Applies the policy to a job that has ended: the job is held, requeued or completed.
    pub(super) fn apply_exit_policy(&mut self, now: ClockReading, exit: Exit, out: &mut Vec<ShadowAction>) {
        let frozen = self.world_at(now);
        match user_policy::evaluate_periodic(&self.ad, self.setup.parameters, &frozen) {
            Some(PolicyAction::Hold { reason, code, subcode }) => {
                let why = HoldOrVacateReason { reason, code: code as i64, subcode };
                return self.hold_or_retry_by_policy(now, why, out);
            }
            // A job that its policy removes leaves the queue as a completed job (`ShadowUserPolicy::doAction`).
            Some(PolicyAction::Remove(_)) => return self.terminate_job(now, exit, out),
            None => {}
        }
        if let Some(why) = user_policy::exit_hold_reason(&self.ad, self.setup.parameters, &frozen) {
            return self.hold_or_retry_by_policy(now, why.into(), out);
        }
        if let Some(reason) = user_policy::stay_in_queue_reason(&self.ad, &frozen) {
            let run = RunUsage { sent: 0.0, received: 0.0, ..self.run_usage("") };
            let requeued = Some(self.to_log_ending(exit));
            let body = EvictedEvent { requeued, run, reason: reason.clone(), ..EvictedEvent::default() };
            Self::log(EventBody::Evicted(Box::new(body)), out);
            self.ad.set("RequeueReason", reason);
            return self.requeue(now, false, out);
        }
        self.terminate_job(now, exit, out);
    }

    fn to_log_ending(&self, exit: Exit) -> JobTermination {
        match exit {
            Exit::Code(code) => JobTermination::Exited(code.into()),
            Exit::Signal { number, .. } => {
                JobTermination::Signalled(number, self.job_string("JobCoreFileName"))
            }
        }
    }

    /// Completes the job, which then leaves the queue (`BaseShadow::terminateJob`).
    fn terminate_job(&mut self, now: ClockReading, exit: Exit, out: &mut Vec<ShadowAction>) {
        self.ad.set("TerminationPending", true);
        self.commit_run_time(now);
        let real = |name: &str| self.job_context().real(name).unwrap_or(0.0);
        let total = RunUsage {
            sent: real("BytesSent"),
            received: real("BytesRecvd"),
            ..self.run_usage("Cumulative")
        };
        let resources = self.usage_table();
        let body = TerminatedEvent {
            termination: self.to_log_ending(exit),
            run: self.run_usage(""),
            total,
            resources,
        };
        Self::log(EventBody::Terminated(Box::new(body)), out);
        self.complete_job(now, out);
    }

    /// Adds the run time since the start or the last checkpoint to the committed time.
    fn commit_run_time(&mut self, now: ClockReading) {
        let int = |name: &str| self.job_int(name);
        let checkpoint = int("LastCkptTime").or(self.this_run.checkpoint).unwrap_or(0);
        let since = checkpoint.max(int("JobCurrentStartDate").unwrap_or(0));
        if since > 0 {
            let ran = now.epoch() - since;
            let slot_time = self.job_context().real("CommittedSlotTime").unwrap_or(0.0);
            let committed = int("CommittedTime").unwrap_or(0);
            self.ad.set("CommittedTime", committed + ran);
            self.ad.set("CommittedSlotTime", slot_time + self.slot_weight() * ran as f64);
        }
        let (open, committed) =
            (self.job_int("UncommittedSuspensionTime"), self.job_int("CommittedSuspensionTime").unwrap_or(0));
        if let Some(open) = open.filter(|open| *open > 0) {
            self.ad.set("CommittedSuspensionTime", committed + open);
            self.ad.set("UncommittedSuspensionTime", 0i64);
        }
    }

    /// Returns SlotWeight, which the schedd records at the match; 1 if the slot's weight is unknown.
    fn slot_weight(&self) -> f64 {
        let weight = |ad| Context::new(self.setup.world).my(ad).real("SlotWeight");
        self.setup.slot_ad.as_ref().and_then(weight).unwrap_or(1.0)
    }

    /// Marks the job as completed.
    pub(super) fn complete_job(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        self.set_status(now, JobStatus::COMPLETED);
        self.ad.set("CompletionDate", now.epoch());
        self.ad.set("JobFinishedHookDone", now.epoch());
        self.leave_slot();
        self.finish(out);
    }
}
