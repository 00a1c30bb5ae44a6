//! End of a run in the local universe: the starter writes the log and evaluates the policy, and the schedd holds and
//! removes the job.
//!
//! Reference: `JICLocalSchedd` (`holdJob`, `removeJob`, `requeueJob`, `notifyJobExit`) and
//! `StarterUserPolicy::doAction`; for the schedd's part `jobExitCode` and `kill_zombie` of `schedd.cpp`.

use bstr::BString;

use super::event::{HoldOrVacateReason, StarterEnd};
use super::state_machine::{PendingOutcome, Shadow, ShadowAction};
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_classad::{AttrName, references};
use htc_hook::user_policy::{self, PolicyAction};
use htc_user_log::{CpuTime, EventBody, EvictedEvent, RunUsage, TerminatedEvent};

/// Attribute with the number of runs in which the job exited by itself.
const NUM_JOB_COMPLETIONS: &str = "NumJobCompletions";

/// Hold reason if the job's log cannot be opened.
const NO_LOG_REASON: &str = "Failed to initialize user log";

impl Shadow<'_> {
    /// Holds a job whose log cannot be opened (`JICLocalSchedd::initLocalUserLog`,
    /// `BaseShadow::initUserLog`).
    pub(super) fn hold_without_log(&mut self, now: ClockReading, out: &mut Vec<ShadowAction>) {
        self.hold_job(now, HoldOrVacateReason::new(NO_LOG_REASON, HoldCode::UnableToInitUserLog as i64), out);
    }

    /// Handles the end of a starter of the local universe.
    pub(super) fn on_local_starter_ended(
        &mut self,
        now: ClockReading,
        outcome: Option<PendingOutcome>,
        end: StarterEnd,
        out: &mut Vec<ShadowAction>,
    ) {
        match outcome {
            Some(PendingOutcome::Hold(why)) => self.hold_locally(now, why, out),
            // Any code other than 0 holds the job (`notifyStarterError`).
            Some(PendingOutcome::Failed(why)) if why.code != 0 => self.hold_locally(now, why, out),
            Some(PendingOutcome::Remove(reason) | PendingOutcome::RemoveEvicted { reason, .. }) => {
                self.log_eviction(out);
                self.remove_job(now, &reason, out);
            }
            Some(PendingOutcome::Vacate(HoldOrVacateReason { reason, code, .. })) => {
                // Only a policy has a reason: a schedd that vacates its job passes no reason to the starter.
                let of_policy =
                    code == HoldCode::JobPolicyVacate as i64 || code == HoldCode::SystemPolicyVacate as i64;
                self.requeue_locally(now, end.exit, Some(reason).filter(|_| of_policy), out);
            }
            Some(PendingOutcome::Failed(_)) => self.requeue_locally(now, end.exit, None, out),
            None => match end.exit {
                Some(exit) if !end.end_requested => self.on_local_job_completed(now, exit, out),
                None if !end.end_requested => {
                    out.extend(end.reason.map(ShadowAction::Report));
                    self.requeue(now, true, out);
                }
                exit => self.requeue_locally(now, exit, None, out),
            },
        }
    }

    /// Evaluates the policy of a job that exited by itself, and holds, requeues or completes it.
    fn on_local_job_completed(&mut self, now: ClockReading, exit: Exit, out: &mut Vec<ShadowAction>) {
        self.count_completion(out);
        let frozen = self.world_at(now);
        let ad = self.policy_ad();
        let hold = match user_policy::evaluate_periodic(&ad, self.setup.parameters, &frozen) {
            Some(PolicyAction::Hold { reason, code, subcode }) => {
                Some(HoldOrVacateReason { reason, code: code as i64, subcode })
            }
            // A job that its policy removes leaves the queue as a completed job.
            Some(PolicyAction::Remove(_)) => return self.terminate_locally(now, exit, out),
            None => user_policy::exit_hold_reason(&ad, self.setup.parameters, &frozen)
                .map(HoldOrVacateReason::from),
        };
        if let Some(hold) = hold {
            return self.hold_locally(now, hold, out);
        }
        match user_policy::stay_in_queue_reason(&ad, &frozen) {
            Some(reason) => self.requeue_locally(now, Some(exit), Some(reason), out),
            None => self.terminate_locally(now, exit, out),
        }
    }

    /// Counts that the job exited by itself, like a shadow. The retries of `max_retries` (condor_submit) depend on this
    /// number.
    fn count_completion(&mut self, out: &mut Vec<ShadowAction>) {
        let decision = self.setup.quirks.decide(Quirk::LocalCompletionsUncounted);
        if decision.as_reference {
            return;
        }
        self.increment(NUM_JOB_COMPLETIONS);
        let policies = ["OnExitRemove", "OnExitHold", "PeriodicHold", "PeriodicRemove", "PeriodicVacate"];
        let counts = |name: &str| {
            let referred = self.ad.get(name).and_then(|expr| references::internal(&expr, self.job_context()));
            referred.is_some_and(|names| names.contains(&AttrName::from(NUM_JOB_COMPLETIONS)))
        };
        if self.runs == 1 && policies.into_iter().any(counts) {
            out.push(ShadowAction::Report(format!(
                "NumJobCompletions is counted; {}",
                decision.quirk.description()
            )));
        }
    }

    fn terminate_locally(&mut self, now: ClockReading, exit: Exit, out: &mut Vec<ShadowAction>) {
        let body = TerminatedEvent {
            termination: exit.into(),
            run: self.local_run_usage(),
            total: RunUsage::default(),
            resources: None,
        };
        Self::log(EventBody::Terminated(Box::new(body)), out);
        let end = std::mem::take(&mut self.this_run.end);
        self.ad.update(&end);
        self.complete_job(now, out);
    }

    fn hold_locally(&mut self, now: ClockReading, hold: HoldOrVacateReason, out: &mut Vec<ShadowAction>) {
        self.log_eviction(out);
        self.hold_job(now, hold, out);
    }

    /// Puts the job back into the queue. No event is written for a job that was not started.
    fn requeue_locally(
        &mut self,
        now: ClockReading,
        exit: Option<Exit>,
        reason: Option<BString>,
        out: &mut Vec<ShadowAction>,
    ) {
        if let Some(exit) = exit {
            let reason = reason.clone().unwrap_or_default();
            let requeued = Some(exit.into());
            let body =
                EvictedEvent { requeued, run: self.local_run_usage(), reason, ..EvictedEvent::default() };
            Self::log(EventBody::Evicted(Box::new(body)), out);
        }
        let by_policy = reason.is_some();
        if let Some(reason) = reason {
            self.ad.set("RequeueReason", reason);
        }
        // A job that its policy requeued is not run again immediately.
        self.requeue(now, !by_policy, out);
    }

    /// Writes event 004 like a starter: without a code, a reason and a resource table.
    fn log_eviction(&self, out: &mut Vec<ShadowAction>) {
        let body = EvictedEvent { run: self.local_run_usage(), ..EvictedEvent::default() };
        Self::log(EventBody::Evicted(Box::new(body)), out);
    }

    /// Returns the job's CPU usage, which its starter reports as local usage (`getRusageFromAd`).
    fn local_run_usage(&self) -> RunUsage {
        let seconds = |name: &str| self.job_context().real(name).unwrap_or(0.0) as i64;
        let local = CpuTime { user: seconds("RemoteUserCpu"), system: seconds("RemoteSysCpu") };
        RunUsage { local, ..RunUsage::default() }
    }
}
