//! What comes in at the control socket, done and answered.

use super::live::Live;
use super::requests::{Answer, Asked, DrainNow, Meaning, Refusal, Request, SlotStatus};
use crate::control::{self, Said};
use htc_classad::{Dialect, Value};
use htc_os::{Token, clock};
use htc_slot::{Activity, ClaimCommand, Event, SlotKey, State};
use htc_starter::shadow::{Matched, matched};

/// Words that are about a claim that is there.
const OF_CLAIMS: [&str; 4] = ["alive", "hold", "deactivate", "release-claim"];

impl Live<'_> {
    /// Something came in at the control socket.
    pub(super) fn requested(&mut self, token: Token) {
        let Some(control) = &mut self.control else { return };
        let Some(said) = control.readable(token, &mut self.reactor) else { return };
        let client = said.client;
        let answer = self.carry_out(said).unwrap_or_else(Answer::from);
        if let Some(control) = &mut self.control {
            control.answer(client, &answer, &mut self.reactor);
        }
    }

    fn carry_out(&mut self, said: Said) -> Result<Answer, Refusal> {
        let (line, ad) = said.request?;
        let request: Request = control::request(&line)?;
        request.check_slot(&self.machine.slots().map(|(_, id, ..)| id).collect::<Vec<_>>())?;
        self.check_claim(&request)?;
        let nothing = self.nothing_to_vacate(&request);
        let host = self.options.world.full_host();
        let slot = request.slot.clone().unwrap_or_default();
        let asked = Asked {
            ad,
            uid: said.uid,
            lease: self.options.lease,
            host: &host,
            quirks: self.options.quirks,
            dialect: Dialect::of(&*self.options.world),
        };
        let done = Answer { ok: true, ..Answer::default() };
        Ok(match request.meaning(asked)? {
            Meaning::Status => {
                let drain = self.machine.drain_status().map(DrainNow::from);
                Answer { slots: self.status(), drain, ..done }
            }
            Meaning::Drain(event) => {
                self.ask_machine(*event)?;
                Answer { request_id: self.machine.drain_status().map(|status| status.id), ..done }
            }
            Meaning::Reconfigure => {
                self.reload()?;
                done
            }
            Meaning::Event(mut event) => {
                self.give_job(&mut event)?;
                self.ask_machine(*event)?;
                Answer { note: nothing, ..done }
            }
            Meaning::Hold(event, reason) => {
                self.held = Some(reason);
                let asked = self.ask_machine(*event);
                self.held = None;
                asked?;
                done
            }
            Meaning::Claim(event) => {
                let before: Vec<SlotKey> = self.machine.slots().map(|(key, ..)| key).collect();
                let whole = not_split_so(&event);
                self.ask_machine(*event)?;
                let claimed = |(key, id, state, activity): (SlotKey, &str, State, Activity)| {
                    let new = !before.contains(&key) || id.eq_ignore_ascii_case(&slot);
                    (new && state == State::Claimed).then(|| self.status_of((key, id, state, activity)))
                };
                // The present claim is another's until it has ended.
                let waits = self.machine.waits_for(&slot);
                let slots: Vec<SlotStatus> = match &waits {
                    None => self.machine.slots().filter_map(claimed).collect(),
                    Some(_) => Vec::new(),
                };
                if slots.is_empty() && waits.is_none() {
                    self.check_free(&slot)?;
                }
                let splits = slots.iter().any(|claimed| !claimed.slot.eq_ignore_ascii_case(&slot));
                Answer { slots, waits, note: whole.filter(|_| splits), ..done }
            }
        })
    }

    /// Words about a claim need one (`command_handler`, `command_release_claim`).
    fn check_claim(&self, request: &Request) -> Result<(), String> {
        let command = request.command.as_str();
        let Some(named) = request.slot.as_deref().filter(|_| OF_CLAIMS.contains(&command)) else {
            return Ok(());
        };
        let Some((_, id, state, activity)) = self.slot(named) else { return Ok(()) };
        let why = match (state, command) {
            (State::Claimed | State::Preempting, "release-claim") if request.waiting => {
                match self.machine.waits_for(id) {
                    Some(_) => return Ok(()),
                    None => "no claim waits for it",
                }
            }
            (State::Claimed, "hold") if activity == Activity::Idle => "it runs no job",
            (State::Claimed, _) | (State::Matched, "release-claim") => return Ok(()),
            (State::Preempting, _) => "its claim is ending already",
            _ => "nobody has claimed it",
        };
        Err(format!("{id} is {state}/{activity}: {why}"))
    }

    /// A slot that policy would not let stay Claimed is what it was: its claimer hears nothing from a startd, and is told here.
    fn check_free(&self, slot: &str) -> Result<(), String> {
        match self.slot(slot) {
            Some((_, id, state @ (State::Owner | State::Unclaimed), activity)) => Err(format!(
                "claim refused: {id} is {state}/{activity}: its policy would end the claim at once"
            )),
            _ => Ok(()),
        }
    }

    /// What there is to be said to whoever wants a slot to be vacated that nobody has (`command_name_handler`).
    fn nothing_to_vacate(&self, request: &Request) -> Option<String> {
        let named = request.slot.as_deref().filter(|_| request.command == "vacate")?;
        let (key, id, state, activity) = self.slot(named)?;
        let is_split = || self.machine.slots().any(|(other, ..)| other.number == key.number && other != key);
        let why = match state {
            State::Claimed | State::Matched | State::Backfill => return None,
            State::Preempting if request.how.as_deref() == Some("fast") => return None,
            State::Preempting => "its job is on its way out",
            State::Owner | State::Unclaimed | State::Drained if is_split() => {
                "there is nothing to vacate; its dynamic slots are others, each by its name"
            }
            State::Owner | State::Unclaimed | State::Drained => "there is nothing to vacate",
        };
        Some(format!("{id} is {state}/{activity}: {why}"))
    }

    /// The slot of this name.
    fn slot(&self, named: &str) -> Option<(SlotKey, &str, State, Activity)> {
        self.machine.slots().find(|(_, id, ..)| id.eq_ignore_ascii_case(named))
    }

    /// A schedd hands out the job's ad with what its references to the slot stand for.
    fn give_job(&self, event: &mut Event) -> Result<(), String> {
        let Event::Command { slot, command: ClaimCommand::Activate(job) } = event else { return Ok(()) };
        let Some(ad) = self.slot(slot).and_then(|(key, ..)| self.machine.sent_ad(key)) else { return Ok(()) };
        let Matched { given, .. } = matched(job, Some(&ad), &*self.options.world)
            .map_err(|missing| format!("{missing} The schedd of a pool would put the job on hold"))?;
        job.update(&given);
        Ok(())
    }

    /// Gives the machine an event; an error if it refuses what that asks for.
    fn ask_machine(&mut self, event: Event) -> Result<(), String> {
        self.refusals.clear();
        self.step(event);
        std::mem::take(&mut self.refusals).into_iter().next().map_or(Ok(()), Err)
    }

    fn status(&self) -> Vec<SlotStatus> {
        self.machine.slots().map(|slot| self.status_of(slot)).collect()
    }

    fn status_of(&self, (key, id, state, activity): (SlotKey, &str, State, Activity)) -> SlotStatus {
        let (verdict, reason) = self.verdicts.of(key).unzip();
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
            fetch_in: self.machine.fetches_at(key).map(|at| at.since(clock::tick()).as_secs()),
            hooks: hooks.map(|hook| hook.name.to_owned()).collect(),
            drain: None,
        }
    }
}

/// What a claim asks of a partitionable slot that is not done here, where one dynamic slot is made for it; and what a pool would do.
fn not_split_so(event: &Event) -> Option<String> {
    let Event::Command { command: ClaimCommand::Request(request), .. } = event else { return None };
    let literal = |name| request.job.get(name).and_then(|expr| expr.as_literal());
    let whole = "_condor_CLAIM_PARTITIONABLE_SLOT";
    if matches!(literal(whole), Some(Value::Bool(true))) {
        return Some(format!(
            "{whole} has no effect: with ENABLE_CLAIMABLE_PARTITIONABLE_SLOTS = True a pool gives its schedd all of the slot, here the \
             claim has the new slot alone"
        ));
    }
    let number = "_condor_NUM_DYNAMIC_SLOTS";
    match literal(number) {
        Some(Value::Int(count)) if count > 1 => Some(format!(
            "{number} has no effect: a pool makes {count} dynamic slots, here one is made: claim again for each"
        )),
        _ => None,
    }
}
