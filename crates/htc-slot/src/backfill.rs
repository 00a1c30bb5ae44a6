//! Backfill: a client of BOINC runs on slots that nobody claims, one for the whole machine (`boinc_mgr.cpp`,
//! `ResState::set_destination` and `starterExited`).

use super::core::Core;
use super::execution_point::ExecutionPoint;
use super::interface::{Action, StarterCall, StarterId, StarterSignal};
use super::kept::backfill::{Backfill, Client, ClientStage};
use super::single::Slot;
use super::state::{Activity, State};
use super::transition::Change;

/// The name that the client goes by in messages, and its keyword in the configuration of the starter.
pub const BOINC: &str = "boinc";

/// How long a client takes that finds nobody to run as.
const DEAD_AFTER: std::time::Duration = std::time::Duration::from_millis(10);

impl Core {
    /// The client is killed, and everything below it when it does not end.
    fn end_client(&mut self) {
        let until = self.now.tick().plus(self.settings.killing_timeout);
        let Some(client) = &mut self.backfill.client else { return };
        let signal = match client.stage {
            ClientStage::Dies(_) => return,
            ClientStage::Ends(_) => StarterSignal::Kill,
            ClientStage::Starts | ClientStage::Runs => StarterSignal::Hard,
        };
        client.stage = ClientStage::Ends(until);
        self.out.push(Action::SignalStarter { starter: client.id, signal, reason: None });
    }

    /// The next step of an ending that is not over in time.
    pub(super) fn client_due(&mut self) {
        if self.backfill.ending_at().is_some_and(|until| until <= self.now.tick()) {
            self.warn(
                None,
                "the starter of the backfill client does not end: it is killed with everything below it",
            );
            self.end_client();
        }
    }
}

impl Slot {
    /// At each look at Backfill/Idle: the client is started, or works for one slot more (`BOINC_BackfillMgr::start`).
    pub(super) fn start_backfill(&mut self, core: &mut Core) {
        if core.shutdown.is_some() || core.backfill.slots.contains(&self.key) {
            return;
        }
        core.backfill.slots.insert(self.key);
        if core.settings.backfill.is_some_and(|backfill| backfill.dead.as_reference) {
            let stage = ClientStage::Dies(core.now.tick().plus(DEAD_AFTER));
            let id = core.new_starter();
            core.backfill.client.get_or_insert(Client { id, stage });
        }
        match &core.backfill.client {
            Some(Client { stage: ClientStage::Starts, .. }) => {}
            Some(_) => self.change(core, State::Backfill, Activity::Busy, "the backfill client runs"),
            None => self.spawn_client(core),
        }
    }

    fn spawn_client(&self, core: &mut Core) {
        let starter = core.new_starter();
        core.backfill.client = Some(Client { id: starter, stage: ClientStage::Starts });
        core.spawning += 1;
        let words = ["-f", "-append", BOINC, "-job-keyword", BOINC];
        core.out.push(Action::SpawnStarter(StarterCall {
            starter,
            slot: self.key,
            arguments: words.map(bstr::BString::from).to_vec(),
            stdin: Vec::new(),
            job: BOINC.to_owned(),
            execute: self.plan.execute.clone(),
            machine_ad: None,
            backfill: true,
            accepted: None,
        }));
    }

    /// It is to leave Backfill: at once when nothing runs for it, else when the client is gone. A match does not take the
    /// place of what it is to be already.
    pub(super) fn leave_backfill(&mut self, core: &mut Core, to: State, reason: &str) {
        if to == State::Matched && self.destination.is_some() {
            return;
        }
        match self.activity {
            Activity::Busy => {
                self.destination = Some(to);
                self.change(core, State::Backfill, Activity::Killing, reason);
            }
            Activity::Killing => self.destination = Some(to),
            _ => {
                core.backfill.slots.remove(&self.key);
                self.change(core, to, Activity::Idle, reason);
            }
        }
    }

    /// Backfill/Killing was entered: the client ends, or works for the other slots only (`hardkill`).
    pub(super) fn kill_backfill(&mut self, core: &mut Core) -> Option<Change<'static>> {
        let others = core.backfill.slots.iter().any(|key| *key != self.key);
        if core.backfill.client.is_some() && !others {
            core.end_client();
            return None;
        }
        core.backfill.slots.remove(&self.key);
        Some(self.after_backfill())
    }

    /// What follows when nothing runs for it any more.
    fn after_backfill(&self) -> Change<'static> {
        let reason = "nothing runs for backfill any more";
        match self.destination {
            Some(state) => Change::to(state, Activity::Idle, reason),
            None => Change::to(State::Backfill, Activity::Idle, reason),
        }
    }
}

impl ExecutionPoint {
    /// Whether this starter is that of the client.
    pub(super) fn is_client(&self, starter: StarterId) -> bool {
        self.core.backfill.client.as_ref().is_some_and(|client| client.id == starter)
    }

    /// The client runs, or could not be started.
    pub(super) fn client_spawned(&mut self, reason: Option<&str>) {
        self.core.spawning -= 1;
        if let Some(reason) = reason {
            self.core.warn(None, format!("cannot start the backfill client: {reason}"));
            self.core.backfill = Backfill::default();
            return;
        }
        if let Some(client) = &mut self.core.backfill.client {
            client.stage = ClientStage::Runs;
        }
        for key in self.core.backfill.slots.clone() {
            if let Some(slot) = self.slots.get_mut(&key).filter(|slot| slot.state == State::Backfill) {
                slot.change(&mut self.core, State::Backfill, Activity::Busy, "the backfill client runs");
            }
        }
        if self.core.backfill.slots.is_empty() {
            self.core.end_client();
        }
    }

    /// The client has ended: each of its slots goes where it was to go (`BOINC_BackfillMgr::reaper`).
    pub(super) fn client_exited(&mut self) {
        let slots = std::mem::take(&mut self.core.backfill).slots;
        for key in slots {
            let Some(slot) = self.slots.get_mut(&key).filter(|slot| slot.state == State::Backfill) else {
                continue;
            };
            let Change { state, activity, reason } = slot.after_backfill();
            slot.change(&mut self.core, state, activity, reason);
        }
    }

    /// Backfill is no longer configured: what runs for it ends.
    pub(super) fn end_backfill(&mut self) {
        for slot in self.slots.values_mut().filter(|slot| slot.state == State::Backfill) {
            slot.leave_backfill(&mut self.core, State::Owner, "backfill is no longer configured");
        }
    }

    /// Quirk `backfill-dead` is told once, when backfill is configured.
    pub(super) fn tell_backfill(&mut self) {
        if let Some(backfill) = self.core.settings.backfill {
            self.core.told(backfill.dead, None);
        }
    }
}
