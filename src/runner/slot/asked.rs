//! What comes in at the control socket, done and answered.

use super::control::Said;
use super::live::Live;
use super::requests::{Answer, Asked, Meaning, SlotStatus};
use crate::os::Token;
use crate::slot::{Activity, Event, SlotKey, State};

/// Words that are about a claim that is there.
const OF_CLAIMS: [&str; 4] = ["alive", "hold", "deactivate", "release-claim"];

impl Live<'_> {
    /// Something came in at the control socket.
    pub(super) fn requested(&mut self, token: Token) {
        let Some(control) = &mut self.control else { return };
        let Some(said) = control.readable(token, &mut self.reactor) else { return };
        let client = said.client;
        let answer =
            self.carry_out(said).unwrap_or_else(|error| Answer { error: Some(error), ..Answer::default() });
        if let Some(control) = &mut self.control {
            control.answer(client, &answer, &mut self.reactor);
        }
    }

    fn carry_out(&mut self, said: Said) -> Result<Answer, String> {
        let (request, ad) = said.request?;
        request.check_slot(&self.machine.slots().map(|(_, id, ..)| id).collect::<Vec<_>>())?;
        self.check_claim(&request.command, request.slot.as_deref())?;
        let host = self.options.world.machine().full_host;
        let slot = request.slot.clone().unwrap_or_default();
        let asked = Asked { ad, uid: said.uid, lease: self.options.lease, host: &host };
        let done = Answer { ok: true, ..Answer::default() };
        Ok(match request.meaning(asked)? {
            Meaning::Status => Answer { slots: self.status(), ..done },
            Meaning::Reconfigure => {
                self.reload()?;
                done
            }
            Meaning::Event(event) => {
                self.ask_machine(*event)?;
                done
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
                self.ask_machine(*event)?;
                let claimed = |(key, id, state, activity): (SlotKey, &str, State, Activity)| {
                    let new = !before.contains(&key) || id.eq_ignore_ascii_case(&slot);
                    (new && state == State::Claimed).then(|| self.status_of((key, id, state, activity)))
                };
                Answer { slots: self.machine.slots().filter_map(claimed).collect(), ..done }
            }
        })
    }

    /// Words about a claim need one.
    fn check_claim(&self, command: &str, slot: Option<&str>) -> Result<(), String> {
        let Some(id) = slot.filter(|_| OF_CLAIMS.contains(&command)) else { return Ok(()) };
        let found = self.machine.slots().find(|(_, other, ..)| other.eq_ignore_ascii_case(id));
        match found {
            Some((_, id, state, activity)) => match (state, command) {
                (State::Claimed | State::Preempting, _) | (State::Matched, "release-claim") => Ok(()),
                _ => Err(format!("{id} is {state}/{activity}: nobody has claimed it")),
            },
            None => Ok(()),
        }
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
        SlotStatus {
            slot: id.to_owned(),
            state: state.name().to_owned(),
            activity: activity.name().to_owned(),
            job_seconds: self.machine.job_run_time(key),
        }
    }
}
