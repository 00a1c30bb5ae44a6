//! Journal records that are written before actions, and the return of jobs to their queues after a run was killed.

use std::time::Duration;

use nix::libc;
use rustc_hash::FxHashMap;

use super::control_protocol::SlotControlAnswer;
use super::live_execution_point::LiveExecutionPoint;
use super::run_journal::JobToReturn;
use super::running_starter;
use crate::events::{RunnerEvent, RunnerEventKind, UNKNOWN};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_os as os;
use htc_os::{ChildId, SignalScope, WatchToken, clock, process_table};
use htc_slot::{
    AcceptedJobId, HookCall, HookRunId, JournalRecord, SlotHookType, SlotKey, SlotNotice, StarterLaunch,
    job_id,
};

/// Maximum time for returning the jobs of a killed run to their queues before slots fetch jobs.
const GIVE_BACK_TIMEOUT: Duration = Duration::from_secs(20);

impl LiveExecutionPoint<'_> {
    /// Writes a record to the journal. If that fails, the recorded action must not be performed.
    pub(super) fn write_record(&mut self, record: JournalRecord) -> Result<(), String> {
        self.options.journal.as_mut().map_or(Ok(()), |journal| journal.append_record(record))
    }

    /// Writes a record of an action that has been performed, and reports a failure: if this run is killed, the next
    /// run does not know of the action.
    pub(super) fn write_record_or_warn(&mut self, record: JournalRecord) {
        if let Err(error) = self.write_record(record) {
            self.warn(None, &error);
        }
    }

    /// Records that a fetched job was accepted. From then on, the queue of the job must be informed of the job's end.
    pub(super) fn record_accepted_job(&mut self, accepted: AcceptedJobId, slot: SlotKey, ad: &[u8]) {
        let slot = self.slot_name(slot);
        let Some(journal) = &self.options.journal else { return };
        match journal.store_job_ad(accepted.0, ad) {
            Ok((ad, path)) => {
                let job = job_id(&ad, &*self.options.world);
                self.write_record_or_warn(JournalRecord::Accepted {
                    accepted: accepted.0,
                    slot,
                    job,
                    ad: path,
                });
            }
            Err(error) => self.warn(Some(slot), &format!("cannot save the job's ad: {error}")),
        }
    }

    /// Records that a hook will be called.
    pub(super) fn record_hook_begin(&mut self, call: &HookCall, slot: &str) -> Result<(), String> {
        let Some(journal) = &self.options.journal else { return Ok(()) };
        let word = call.arguments.first().map(ToString::to_string).unwrap_or_default();
        let known = call.accepted.and_then(|accepted| journal.accepted_job(accepted.0));
        let about = match (call.hook, known) {
            (SlotHookType::FetchWork, _) => None,
            (SlotHookType::ReplyFetch | SlotHookType::EvictClaim, Some(known)) => Some(known),
            (SlotHookType::ReplyFetch | SlotHookType::EvictClaim, None) => {
                let kept = journal.store_job_ad(call.run.0, &call.stdin);
                let (ad, path) = kept.map_err(|error| format!("cannot save the job's ad: {error}"))?;
                Some((job_id(&ad, &*self.options.world), path))
            }
        };
        let (job, ad) = about.unzip();
        let (run, hook, slot) = (call.run.0, call.hook.name().to_owned(), slot.to_owned());
        let accepted = call.accepted.map(|accepted| accepted.0);
        let noted = self.write_record(JournalRecord::HookBegins {
            run,
            hook,
            slot: slot.clone(),
            word,
            job,
            ad,
            accepted,
        });
        match (noted, call.hook) {
            // Without a record, EVICT_CLAIM may be called twice after a kill, which is better than not calling it at
            // all.
            (Err(error), SlotHookType::EvictClaim) => {
                self.warn(Some(slot), &error);
                Ok(())
            }
            (noted, _) => noted,
        }
    }

    /// Records the process id of a hook.
    pub(super) fn record_hook_process(&mut self, run: HookRunId, pid: u32) {
        let pid = pid.cast_signed();
        let started = process_table::read_process(pid).map_or(0, |process| process.start_ticks);
        self.write_record_or_warn(JournalRecord::HookRuns { run: run.0, pid, started });
    }

    /// Records that a starter will be started.
    pub(super) fn record_starter_begin(&mut self, call: &StarterLaunch, slot: &str) -> Result<(), String> {
        self.write_record(JournalRecord::StarterBegins {
            starter: call.starter.0,
            slot: slot.to_owned(),
            job: call.job.clone(),
            execute: call.execute.clone(),
            note: running_starter::job_note_path(&self.options.private_directory, call.starter),
            accepted: call.accepted.map(|accepted| accepted.0),
        })
    }

    /// Records the process id of a starter.
    pub(super) fn record_starter_process(&mut self, call: &StarterLaunch, pid: u32) {
        let pid = pid.cast_signed();
        let started = process_table::read_process(pid).map_or(0, |process| process.start_ticks);
        self.write_record_or_warn(JournalRecord::StarterRuns { starter: call.starter.0, pid, started });
    }

    /// Records that a claim begins or ends.
    pub(super) fn record_claim(&mut self, notice: &SlotNotice) {
        if let SlotNotice::Claim { slot, begins, .. } = notice {
            let slot = self.slot_name(*slot);
            self.write_record_or_warn(JournalRecord::Claim { slot, begins: *begins });
        }
    }

    /// Reports the results of a run that was killed, and returns its jobs to their queues before any job is fetched.
    /// EVICT_CLAIM is called for all jobs at the same time. The wait ends at the time limit, or when the user asks
    /// for a fast end.
    ///
    /// # Errors
    /// Fails if the reactor fails.
    pub(super) fn settle_last_run(&mut self) -> std::io::Result<()> {
        let recovered = std::mem::take(&mut self.options.recovered);
        for event in recovered.events {
            self.report(event);
        }
        let evict_calls: Vec<EvictClaimCall> =
            recovered.jobs_to_return.into_iter().filter_map(|owed| self.call_evict_claim(owed)).collect();
        let mut evict_calls: FxHashMap<ChildId, EvictClaimCall> =
            evict_calls.into_iter().map(|one| (one.child, one)).collect();
        let mut until = clock::monotonic_now().plus(GIVE_BACK_TIMEOUT);
        let mut killed = false;
        while !evict_calls.is_empty() {
            match self.reactor.next_event(Some(until))? {
                os::ReactorEvent::Exited { child, exit, .. } => {
                    if let Some(one) = evict_calls.remove(&child) {
                        let event = one.label_event(RunnerEvent::new(clock::now(), RunnerEventKind::HookEnd));
                        self.report(event.exit(crate::events::describe_exit(exit)));
                        self.write_record_or_warn(JournalRecord::HookEnds { run: one.run });
                    }
                }
                os::ReactorEvent::Signal(signal) => {
                    self.early_signals.push(signal);
                    let ends =
                        |signal: &&i32| matches!(**signal, libc::SIGTERM | libc::SIGINT | libc::SIGQUIT);
                    if signal == libc::SIGQUIT || self.early_signals.iter().filter(ends).count() > 1 {
                        until = clock::monotonic_now();
                    }
                }
                os::ReactorEvent::Readable(token) => self.refuse_until_settled(token),
                _ => {}
            }
            if clock::monotonic_now() < until {
                continue;
            }
            if killed {
                // The results of the hooks that are still running are unknown; the next run reports them.
                break;
            }
            evict_calls
                .keys()
                .for_each(|child| self.reactor.send_signal(*child, libc::SIGKILL, SignalScope::Family));
            (killed, until) = (true, clock::monotonic_now().plus(GIVE_BACK_TIMEOUT));
        }
        Ok(())
    }

    /// Refuses requests that arrive before the slots exist.
    fn refuse_until_settled(&mut self, token: WatchToken) {
        let Some(control) = &mut self.control else { return };
        let Some(said) = control.handle_readiness(token, &mut self.reactor) else { return };
        let error =
            "jobs of an earlier run that was killed are being released: try again in a moment".to_owned();
        let answer = SlotControlAnswer { error: Some(error), ..SlotControlAnswer::default() };
        control.answer(said.client, &answer, &mut self.reactor);
    }

    /// Calls EVICT_CLAIM for a job to be returned.
    fn call_evict_claim(&mut self, owed: JobToReturn) -> Option<EvictClaimCall> {
        let accepted = AcceptedJobId(owed.accepted);
        let about =
            |event: RunnerEvent| event.slot(&owed.slot).job(&owed.job).hook(SlotHookType::EvictClaim.name());
        let text = match std::fs::read(&owed.ad) {
            Ok(text) if !text.trim_ascii().is_empty() => text,
            unreadable => {
                let why = unreadable.map_or_else(|error| error.to_string(), |_| "it is empty".to_owned());
                let reason = format!(
                    "an earlier run accepted it and was killed; EVICT_CLAIM cannot be called, because its ad '{}' cannot be read: {why}",
                    owed.ad.display()
                );
                let event = RunnerEvent::new(clock::now(), RunnerEventKind::HookFailed).verdict(UNKNOWN);
                self.report(about(event).reason(reason));
                self.write_record_or_warn(JournalRecord::GivenUp { accepted: owed.accepted });
                return None;
            }
        };
        let (job, _): (ClassAd, _) = long::parse(&text);
        let Some(call) = self.machine.evict_abandoned_job(&owed.slot, &job, accepted) else {
            let reason = "an earlier run accepted it and was killed; without an EVICT_CLAIM hook its queue cannot be notified";
            self.report(about(RunnerEvent::new(clock::now(), RunnerEventKind::Warning)).reason(reason));
            self.write_record_or_warn(JournalRecord::GivenUp { accepted: owed.accepted });
            return None;
        };
        let spawned = self.record_hook_begin(&call, &owed.slot).and_then(|()| {
            let spec = self.hook_spec(&call).map_err(|refused| refused.to_string())?;
            self.reactor.spawn(spec).map_err(|error| crate::events::error_with_causes(&error))
        });
        match spawned {
            Ok(child) => {
                let reason = "an earlier run accepted it and was killed: its queue is notified";
                self.report(about(RunnerEvent::new(clock::now(), RunnerEventKind::HookStart)).reason(reason));
                Some(EvictClaimCall { child, run: call.run.0, job: owed })
            }
            Err(reason) => {
                self.report(
                    about(RunnerEvent::new(clock::now(), RunnerEventKind::HookFailed)).reason(reason),
                );
                self.write_record_or_warn(JournalRecord::HookEnds { run: call.run.0 });
                None
            }
        }
    }
}

/// Running call of EVICT_CLAIM, for a job of a run that was killed.
struct EvictClaimCall {
    child: ChildId,
    run: u64,
    job: JobToReturn,
}

impl EvictClaimCall {
    fn label_event(&self, event: RunnerEvent) -> RunnerEvent {
        event.slot(&self.job.slot).job(&self.job.job).hook(SlotHookType::EvictClaim.name())
    }
}
