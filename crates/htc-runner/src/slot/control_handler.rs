//! Execution of the requests at the control socket of an execution point, and their answers.

use super::control_command::{Command, RequestContext, RequestRefusal};
use super::control_protocol::{
    ActiveDrain, RunningSlotAd, SlotControlAnswer, SlotControlRequest, SlotStatus, VacateSpeed,
};
use super::live_execution_point::{ExecutionPointOutcome, LiveExecutionPoint};
use super::run_counters::RunCounters;
use crate::control::ClientRequest;
use bstr::ByteSlice;
use htc_classad::format::long;
use htc_classad::{Dialect, Value};
use htc_os::{WatchToken, clock};
use htc_slot::{Activity, ClaimCommand, SlotKey, SlotState, StartdEvent};
use htc_starter::shadow::{MatchedAd, expand_for_slot};

impl LiveExecutionPoint<'_> {
    /// Handles activity at the control socket: reads a request, executes it and sends the answer.
    pub(super) fn handle_control_socket(&mut self, token: WatchToken) {
        let Some(control) = &mut self.control else { return };
        let Some(client_request) = control.handle_readiness(token, &mut self.reactor) else { return };
        let client = client_request.client;
        let answer = self.carry_out(client_request).unwrap_or_else(SlotControlAnswer::from);
        if let Some(control) = &mut self.control {
            control.answer(client, &answer, &mut self.reactor);
        }
    }

    fn carry_out(&mut self, client_request: ClientRequest) -> Result<SlotControlAnswer, RequestRefusal> {
        let (line, ad) = client_request.request?;
        let request = SlotControlRequest::parse(&line)?;
        request.check_slot(&self.machine.slots().map(|(_, id, ..)| id).collect::<Vec<_>>())?;
        self.check_claim(&request).map_err(RequestRefusal::for_state)?;
        self.check_vacate(&request).map_err(RequestRefusal::for_state)?;
        let host = self.options.world.full_host();
        let slot = request.slot().unwrap_or_default().to_owned();
        let context = RequestContext {
            ad,
            uid: client_request.uid,
            lease: self.options.default_lease,
            host: &host,
            quirks: self.options.quirks,
            dialect: Dialect::of_world(&*self.options.world),
        };
        let done = SlotControlAnswer { ok: true, ..SlotControlAnswer::default() };
        Ok(match request.into_command(context)? {
            Command::Status { counters } => {
                let drain = self.machine.drain_status().map(ActiveDrain::from);
                let counters = counters.then(|| self.counters());
                SlotControlAnswer { slots: self.status(), drain, counters, ..done }
            }
            Command::Ads => SlotControlAnswer { ads: self.ads(), ..done },
            Command::Drain(event) => {
                self.try_step(*event)?;
                SlotControlAnswer { request_id: self.machine.drain_status().map(|status| status.id), ..done }
            }
            Command::Reconfigure => {
                self.reload().map_err(RequestRefusal::for_input)?;
                done
            }
            Command::Event(mut event) => {
                self.resolve_slot_references(&mut event).map_err(RequestRefusal::for_state)?;
                self.try_step(*event)?;
                done
            }
            Command::Hold(event, reason) => {
                self.hold_reason = Some(reason);
                let result = self.try_step(*event);
                self.hold_reason = None;
                result?;
                done
            }
            Command::Claim(event) => {
                let before: Vec<SlotKey> = self.machine.slots().map(|(key, ..)| key).collect();
                let whole = unsupported_split_note(&event);
                let replaced = self.replaced_claim_note(&slot);
                self.try_step(*event)?;
                let claimed = |(key, id, state, activity): (SlotKey, &str, SlotState, Activity)| {
                    let new = !before.contains(&key) || id.eq_ignore_ascii_case(&slot);
                    (new && state == SlotState::Claimed).then(|| self.status_of(key, id, state, activity))
                };
                // Until the current claim ends, it belongs to another client.
                let waits = self.machine.waiting_claim_text(&slot);
                let slots: Vec<SlotStatus> = match &waits {
                    None => self.machine.slots().filter_map(claimed).collect(),
                    Some(_) => Vec::new(),
                };
                if slots.is_empty() && waits.is_none() {
                    self.check_claim_kept(&slot).map_err(RequestRefusal::for_state)?;
                }
                let splits = slots.iter().any(|claimed| !claimed.slot.eq_ignore_ascii_case(&slot));
                let replaced = replaced.filter(|_| waits.is_none());
                SlotControlAnswer { slots, waits, note: whole.filter(|_| splits).or(replaced), ..done }
            }
        })
    }

    /// Returns a note about the claim that a new claim of this slot ends if no job runs, or `None` if the slot is not claimed.
    fn replaced_claim_note(&self, slot: &str) -> Option<String> {
        let (key, id, state, _) = self.find_slot(slot)?;
        let (job, owner) = self.machine.job_of(key).filter(|_| state == SlotState::Claimed)?;
        let of = owner.map_or_else(String::new, |owner| format!(" of {owner}"));
        Some(format!(
            "{id} was claimed for job {job}{of}, which it did not run: the new claim, whose rank is not lower, replaces that one"
        ))
    }

    /// Checks that the slot has a claim if the command requires one (`command_handler`, `command_release_claim`).
    fn check_claim(&self, request: &SlotControlRequest) -> Result<(), String> {
        use SlotControlRequest as R;
        let (R::Alive { slot }
        | R::Hold { slot, .. }
        | R::Deactivate { slot, .. }
        | R::ReleaseClaim { slot, .. }) = request
        else {
            return Ok(());
        };
        let Some((_, id, state, activity)) = self.find_slot(slot) else { return Ok(()) };
        let why = match (state, request) {
            (SlotState::Claimed | SlotState::Preempting, R::ReleaseClaim { waiting: true, .. }) => {
                match self.machine.waiting_claim_text(id) {
                    Some(_) => return Ok(()),
                    None => "there is no claim to accept",
                }
            }
            (SlotState::Claimed, R::Hold { .. }) if activity == Activity::Idle => "it runs no job",
            (SlotState::Claimed, _) | (SlotState::Matched, R::ReleaseClaim { .. }) => return Ok(()),
            (SlotState::Preempting, _) => "its claim is already ending",
            _ => "it is not claimed",
        };
        Err(format!("{id} is {state}/{activity}: {why}"))
    }

    /// Returns an error if the slot's policy has ended a new claim at once. A startd does not report that to the
    /// claimer.
    fn check_claim_kept(&self, slot: &str) -> Result<(), String> {
        match self.find_slot(slot) {
            Some((_, id, state @ (SlotState::Owner | SlotState::Unclaimed), activity)) => Err(format!(
                "claim refused: {id} is {state}/{activity}: its policy would end the claim at once"
            )),
            _ => Ok(()),
        }
    }

    /// Returns an error if no slot has a claim to vacate; `command_name_handler` of the reference reports nothing then.
    fn check_vacate(&self, request: &SlotControlRequest) -> Result<(), String> {
        let SlotControlRequest::Vacate { slot, how } = request else { return Ok(()) };
        let is_fast = *how == Some(VacateSpeed::Fast);
        let is_vacatable = |state: SlotState| match state {
            SlotState::Claimed | SlotState::Matched | SlotState::Backfill => true,
            SlotState::Preempting => is_fast,
            SlotState::Owner | SlotState::Unclaimed | SlotState::Drained => false,
        };
        let Some(name) = slot else {
            let mut states = self.machine.slots().map(|(.., state, _)| state);
            let is_any_vacatable = states.any(is_vacatable);
            return if is_any_vacatable {
                Ok(())
            } else {
                Err("vacate refused: no slot has a claim".to_owned())
            };
        };
        let Some((key, id, state, activity)) = self.find_slot(name) else { return Ok(()) };
        if is_vacatable(state) {
            return Ok(());
        }
        let is_split = || self.machine.slots().any(|(other, ..)| other.number == key.number && other != key);
        let why = match state {
            SlotState::Preempting => "its job is already being vacated",
            _ if is_split() => "there is nothing to vacate; name one of its dynamic slots",
            _ => "there is nothing to vacate",
        };
        Err(format!("vacate refused: {id} is {state}/{activity}: {why}"))
    }

    /// Finds the slot with the given name, ignoring case.
    fn find_slot(&self, name: &str) -> Option<(SlotKey, &str, SlotState, Activity)> {
        self.machine.slots().find(|(_, id, ..)| id.eq_ignore_ascii_case(name))
    }

    /// Adds the values of the job ad's references to the slot to the job ad, as a schedd does before it sends the ad.
    fn resolve_slot_references(&self, event: &mut StartdEvent) -> Result<(), String> {
        let StartdEvent::Command { slot, command: ClaimCommand::Activate(job) } = event else {
            return Ok(());
        };
        let Some(ad) = self.find_slot(slot).and_then(|(key, ..)| self.machine.sent_ad(key)) else {
            return Ok(());
        };
        let MatchedAd { run_attributes: given, .. } =
            expand_for_slot(job, Some(&ad), &*self.options.world)
                .map_err(|missing| format!("{missing} The schedd of a pool would hold the job"))?;
        job.update(&given);
        Ok(())
    }

    /// Passes an event to the execution point. Returns an error if the execution point refuses the command.
    fn try_step(&mut self, event: StartdEvent) -> Result<(), RequestRefusal> {
        self.refusals.clear();
        self.step(event);
        let refusal = std::mem::take(&mut self.refusals).into_iter().next();
        refusal.map_or(Ok(()), |text| Err(RequestRefusal::for_state(text)))
    }

    fn ads(&self) -> Vec<RunningSlotAd> {
        let slots = self.machine.slots().filter_map(|(key, id, ..)| {
            let ad = self.machine.sent_ad(key)?;
            let text = long::print(&ad).to_str_lossy().into_owned();
            Some(RunningSlotAd { slot: id.to_owned(), ad: text, fetches: self.machine.fetches_work(key) })
        });
        slots.collect()
    }

    /// Returns the counts since the start of the execution point.
    fn counters(&self) -> RunCounters {
        let ExecutionPointOutcome { jobs, failed, .. } = self.outcome;
        RunCounters { jobs_started: jobs, jobs_failed: failed, ..self.counters.clone() }
    }

    fn status(&self) -> Vec<SlotStatus> {
        self.machine.slots().map(|slot| self.status_of(slot.0, slot.1, slot.2, slot.3)).collect()
    }

    fn status_of(&self, key: SlotKey, id: &str, state: SlotState, activity: Activity) -> SlotStatus {
        let (verdict, reason) = self.verdicts.verdict_of_slot(key).unzip();
        let hooks = self.hooks.values().filter(|hook| hook.slot.eq_ignore_ascii_case(id));
        let (job, owner) = self.machine.job_of(key).unzip();
        SlotStatus {
            slot: id.to_owned(),
            state: state.name().to_owned(),
            activity: activity.name().to_owned(),
            job_seconds: self.machine.job_run_time(key),
            job,
            owner: owner.flatten(),
            verdict: verdict.map(str::to_owned),
            reason: reason.map(str::to_owned),
            fetch_in: self.machine.next_fetch_at(key).map(|at| at.since(clock::monotonic_now()).as_secs()),
            hooks: hooks.map(|hook| hook.name.to_owned()).collect(),
            drain: None,
        }
    }
}

/// Returns a note if a claim requests something unsupported of a partitionable slot: the whole slot, or several
/// dynamic slots. The note says what a pool would do.
fn unsupported_split_note(event: &StartdEvent) -> Option<String> {
    let StartdEvent::Command { command: ClaimCommand::Request(request), .. } = event else { return None };
    let literal = |name| request.job.get(name).and_then(|expr| expr.as_literal());
    let whole = "_condor_CLAIM_PARTITIONABLE_SLOT";
    if matches!(literal(whole), Some(Value::Bool(true))) {
        return Some(format!(
            "{whole} has no effect: with ENABLE_CLAIMABLE_PARTITIONABLE_SLOTS = True a pool gives its schedd all of the slot; here the \
             claim gets only the new dynamic slot"
        ));
    }
    let number = "_condor_NUM_DYNAMIC_SLOTS";
    match literal(number) {
        Some(Value::Int(count)) if count > 1 => Some(format!(
            "{number} has no effect: a pool would create {count} dynamic slots, but this command creates one; claim once for each slot"
        )),
        _ => None,
    }
}
