//! Backfill: a BOINC client runs on unclaimed slots, one for the whole machine (`boinc_mgr.cpp`, `ResState::set_destination`
//! and `starterExited`).

use super::events::{StartdAction, StarterId, StarterLaunch, StarterSignal};
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::runtime_state::backfill_state::{BackfillClient, BackfillClientStage, BackfillState};
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use super::transition::StateChange;

/// Name of the backfill client in messages, and its keyword in the starter's configuration.
pub const BOINC_CLIENT: &str = "boinc";

/// Time after which a client for which there is no account is treated as exited.
const DEAD_CLIENT_LIFETIME: std::time::Duration = std::time::Duration::from_millis(10);

impl ExecutionPointState {
    /// Ends the backfill client: with SIGQUIT at the first call, with SIGKILL at the second.
    fn end_backfill_client(&mut self) {
        let until = self.now.monotonic().plus(self.settings.killing_timeout);
        let Some(client) = &mut self.backfill.client else { return };
        let signal = match client.stage {
            BackfillClientStage::Dying(_) => return,
            BackfillClientStage::Ending(_) => StarterSignal::Kill,
            BackfillClientStage::Starting | BackfillClientStage::Running => StarterSignal::Hard,
        };
        client.stage = BackfillClientStage::Ending(until);
        self.actions.push(StartdAction::SignalStarter { starter: client.id, signal, reason: None });
    }

    /// Kills the client with all its processes if it has not exited by its deadline.
    pub(super) fn kill_overdue_client(&mut self) {
        if self.backfill.kill_deadline().is_some_and(|until| until <= self.now.monotonic()) {
            self.warn(
                None,
                "the starter of the backfill client does not end: it is killed with all its processes",
            );
            self.end_backfill_client();
        }
    }
}

impl Slot {
    /// Starts the client, or adds this slot to the slots of a running client, at each evaluation of Backfill/Idle
    /// (`BOINC_BackfillMgr::start`).
    pub(super) fn start_backfill(&mut self, core: &mut ExecutionPointState) {
        if core.ending.shutdown.is_some() || core.backfill.slots.contains(&self.key) {
            return;
        }
        core.backfill.slots.insert(self.key);
        if core.settings.backfill.is_some_and(|backfill| backfill.dead_client.as_reference) {
            let stage = BackfillClientStage::Dying(core.now.monotonic().plus(DEAD_CLIENT_LIFETIME));
            let id = core.new_starter_id();
            core.backfill.client.get_or_insert(BackfillClient { id, stage });
        }
        match &core.backfill.client {
            Some(BackfillClient { stage: BackfillClientStage::Starting, .. }) => {}
            Some(_) => {
                self.change_state(core, SlotState::Backfill, Activity::Busy, "the backfill client runs")
            }
            None => self.spawn_backfill_client(core),
        }
    }

    fn spawn_backfill_client(&self, core: &mut ExecutionPointState) {
        let starter = core.new_starter_id();
        core.backfill.client = Some(BackfillClient { id: starter, stage: BackfillClientStage::Starting });
        core.work.starting_starters += 1;
        let words = ["-f", "-append", BOINC_CLIENT, "-job-keyword", BOINC_CLIENT];
        core.actions.push(StartdAction::SpawnStarter(StarterLaunch {
            starter,
            slot: self.key,
            arguments: words.map(bstr::BString::from).to_vec(),
            stdin: Vec::new(),
            job: BOINC_CLIENT.to_owned(),
            execute: self.plan.execute.clone(),
            machine_ad: None,
            backfill: true,
            accepted: None,
        }));
    }

    /// Leaves Backfill for the state `to`: at once if no client runs for the slot, otherwise when the client has exited. A match
    /// does not replace an earlier target state.
    pub(super) fn leave_backfill(&mut self, core: &mut ExecutionPointState, to: SlotState, reason: &str) {
        if to == SlotState::Matched && self.history.state_after_backfill.is_some() {
            return;
        }
        match self.activity {
            Activity::Busy => {
                self.history.state_after_backfill = Some(to);
                self.change_state(core, SlotState::Backfill, Activity::Killing, reason);
            }
            Activity::Killing => self.history.state_after_backfill = Some(to),
            _ => {
                core.backfill.slots.remove(&self.key);
                self.change_state(core, to, Activity::Idle, reason);
            }
        }
    }

    /// Ends the client when the slot enters Backfill/Killing, unless the client is still running for other slots
    /// (`hardkill`).
    pub(super) fn kill_backfill(&mut self, core: &mut ExecutionPointState) -> Option<StateChange> {
        let others = core.backfill.slots.iter().any(|key| *key != self.key);
        if core.backfill.client.is_some() && !others {
            core.end_backfill_client();
            return None;
        }
        core.backfill.slots.remove(&self.key);
        Some(self.change_after_backfill())
    }

    /// Returns the change of a slot in Backfill for which the client no longer runs: to its target state, or to Backfill/Idle.
    fn change_after_backfill(&self) -> StateChange {
        let reason = "the backfill client is no longer running";
        match self.history.state_after_backfill {
            Some(state) => StateChange::new(state, Activity::Idle, reason),
            None => StateChange::new(SlotState::Backfill, Activity::Idle, reason),
        }
    }
}

impl ExecutionPoint {
    /// True if this starter runs the backfill client.
    pub(super) fn is_backfill_client(&self, starter: StarterId) -> bool {
        self.core.backfill.client.as_ref().is_some_and(|client| client.id == starter)
    }

    /// Handles the start of the client; `reason` says why it failed, or is `None` if the client runs.
    pub(super) fn handle_client_start(&mut self, reason: Option<&str>) {
        self.core.work.starting_starters -= 1;
        if let Some(reason) = reason {
            self.core.warn(None, format!("cannot start the backfill client: {reason}"));
            self.core.backfill = BackfillState::default();
            return;
        }
        if let Some(client) = &mut self.core.backfill.client {
            client.stage = BackfillClientStage::Running;
        }
        for key in self.core.backfill.slots.clone() {
            if let Some(slot) = self.slots.get_mut(&key).filter(|slot| slot.state == SlotState::Backfill) {
                slot.change_state(
                    &mut self.core,
                    SlotState::Backfill,
                    Activity::Busy,
                    "the backfill client runs",
                );
            }
        }
        if self.core.backfill.slots.is_empty() {
            self.core.end_backfill_client();
        }
    }

    /// Handles a client that has exited: each of its slots enters its target state (`BOINC_BackfillMgr::reaper`).
    pub(super) fn handle_client_exit(&mut self) {
        let slots = std::mem::take(&mut self.core.backfill).slots;
        for key in slots {
            let Some(slot) = self.slots.get_mut(&key).filter(|slot| slot.state == SlotState::Backfill) else {
                continue;
            };
            let change = slot.change_after_backfill();
            slot.make_change(&mut self.core, change);
        }
    }

    /// Ends backfill in all slots after a reconfiguration that disables it.
    pub(super) fn end_backfill(&mut self) {
        for slot in self.slots.values_mut().filter(|slot| slot.state == SlotState::Backfill) {
            slot.leave_backfill(&mut self.core, SlotState::Owner, "backfill is no longer configured");
        }
    }

    /// Reports the quirk `backfill-dead` once if backfill is configured.
    pub(super) fn report_backfill_quirk(&mut self) {
        if let Some(backfill) = self.core.settings.backfill {
            self.core.report(backfill.dead_client, None);
        }
    }
}
