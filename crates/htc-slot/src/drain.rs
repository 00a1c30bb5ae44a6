//! Draining: all jobs leave, and nothing new comes, until it is cancelled (`ResMgr::startDraining`).

use super::drain_request::{DrainCompletion, DrainRequest, DrainSpeed, DrainStatus};
use super::events::{ShutdownMode, StartdAction, StarterId, VacateReason};
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_classad::{Expr, Value};

impl Slot {
    /// Counts what a job that has to leave for a drain has used in vain.
    pub(super) fn count_badput(&self, core: &mut ExecutionPointState) {
        if core.drain.is_draining()
            && let Some(claim) = &self.current_claim
        {
            core.drain.badput += self.amounts.whole_cpus() * claim.job_run_time(core.now);
        }
    }
}

/// When it is seen that all slots are drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainCheckTime {
    /// When one that is drained is looked at in its turn.
    SlotTurn,
    /// Behind all that an event has done.
    AfterEvent,
}

impl ExecutionPoint {
    /// The drain that is under way.
    pub fn drain_status(&self) -> Option<DrainStatus> {
        let drain = &self.core.drain;
        let request = drain.active_request.clone()?;
        let waits = drain.drained_slots < self.core.slot_count;
        let until = waits.then(|| self.core.drain_estimate.completion(request.speed == DrainSpeed::Graceful));
        let until = match request.speed {
            DrainSpeed::Fast => until.map(|_| self.core.now.epoch()),
            DrainSpeed::Graceful | DrainSpeed::Quick => until,
        };
        Some(DrainStatus {
            id: drain.request_id,
            request,
            since: drain.started,
            until,
            drained: drain.drained_slots,
        })
    }

    /// The first slot that a drain's check speaks against, in the reference's words.
    fn failed_drain_check(&self, check: &Expr) -> Option<String> {
        self.slots.values().find_map(|slot| {
            let name = slot.live_ad.string("Name").map_or_else(|| slot.id.clone(), |name| name.to_string());
            match slot.eval_in_slot_ad(&self.core, None, |context| context.eval(check)) {
                Value::Bool(true) => None,
                Value::Bool(false) => Some(format!("draining check expression is false on {name} (10003)")),
                _ => Some(format!("draining check expression does not evaluate to a bool on {name} (10003)")),
            }
        })
    }

    /// Begins a drain.
    pub(super) fn begin_drain(&mut self, mut request: DrainRequest) {
        if self.core.drain.is_draining() {
            return self.core.warn(None, "drain refused: draining already in progress (10001)");
        }
        if let Some(reason) = request.check.as_ref().and_then(|check| self.failed_drain_check(check)) {
            return self.core.warn(None, format!("drain refused: {reason}"));
        }
        if request.speed == DrainSpeed::Graceful {
            let default = &self.core.settings.drain_start;
            request.start_while_draining = request.start_while_draining.take().or_else(|| default.clone());
        } else if request.start_while_draining.take().is_some() {
            self.core.warn(None, "a START while draining is for graceful drains: it is not used");
        }
        self.core.drain.start_while_draining.clone_from(&request.start_while_draining);
        let speed = request.speed;
        let drain = &mut self.core.drain;
        drain.request_id += 1;
        drain.started = self.core.now.epoch();
        drain.active_request = Some(request);
        for slot in self.slots.values_mut().filter(|_| self.core.publish_set.drain) {
            let mut ad = std::mem::take(&mut slot.live_ad);
            self.core.drain.publish(&mut ad);
            slot.live_ad = ad;
        }
        self.update_coordinated_retirement();
        let why = VacateReason::new("Startd was draining", HoldCode::StartdDraining);
        self.for_each_slot(|slot, core| match (slot.state, speed) {
            (SlotState::Owner | SlotState::Unclaimed, _) => {}
            (_, DrainSpeed::Graceful) => slot.retire(core, true, why.clone(), "draining"),
            (_, DrainSpeed::Quick) => slot.retire(core, false, why.clone(), "draining"),
            (_, DrainSpeed::Fast) => slot.kill_claim(core, Some(why.clone()), "draining"),
        });
        self.set_slots_unavailable();
        // All slots are told to give up their claims before any is looked at (`update_all`).
        self.for_each_slot(Slot::evaluate_policy);
        self.core.start_polling();
    }

    /// What a slot that was there before takes from now on (`Resource::shutdownAllClaims`).
    fn set_slots_unavailable(&mut self) {
        let start = self.core.drain.start_while_draining.clone();
        for slot in self.slots.values_mut().filter(|slot| slot.kind != SlotKind::Dynamic) {
            slot.set_unavailable(start.clone());
        }
    }

    /// Ends a drain that somebody no longer wants; of this number, where one is named.
    pub(super) fn cancel_named_drain(&mut self, id: Option<&str>) {
        let id = id.filter(|id| !id.is_empty());
        // `atoi`: what follows the digits does not count.
        let number = |id: &str| {
            let digits = id.trim_start().find(|letter: char| !letter.is_ascii_digit());
            let text = id.trim_start();
            text[..digits.unwrap_or(text.len())].parse::<u64>().unwrap_or(0)
        };
        match id {
            Some(id) if number(id) != self.core.drain.request_id => {
                self.core
                    .warn(None, format!("undrain refused: no matching draining request id {id} (10002)"));
            }
            _ => self.cancel_drain(true),
        }
    }

    /// Ends a drain: the slots take jobs again, those that are looked at now at once.
    fn cancel_drain(&mut self, looks: bool) {
        if !self.core.drain.is_draining() {
            return;
        }
        (self.core.drain.active_request, self.core.drain.start_while_draining) = (None, None);
        self.core.drain.stopped = self.core.now.epoch();
        for slot in self.slots.values_mut() {
            if slot.state != SlotState::Drained || !looks {
                slot.restore_requirements(&self.core);
            }
            if looks {
                slot.evaluate_policy(&mut self.core);
            }
        }
    }

    /// The starter of a job that was there before the drain has ended: once no such claim is left, those that were taken meanwhile
    /// have to go as well, without retirement (`checkForDrainCompletion`).
    ///
    /// 25.14 takes all slots' retirement time away for that, until the next slot finds all of them drained. The only slot of a
    /// machine has found that already, and is left without.
    pub(super) fn retire_jobs_accepted_while_draining(&mut self) {
        let claimed = |slot: &Slot| matches!(slot.state, SlotState::Claimed | SlotState::Preempting);
        let old = |slot: &Slot| {
            slot.kind != SlotKind::Partitionable && claimed(slot) && !slot.accepted_while_draining
        };
        let Some(key) = self.slots.keys().next() else { return };
        if !self.core.drain.is_draining() || self.slots.values().any(old) || self.core.drain.no_retirement {
            return;
        }
        self.core.drain.start_while_draining = None;
        let taken = self.slots.values().any(claimed);
        let quirk = Quirk::RetirementLostAfterDrain;
        let lost = if self.slots.len() == 1 {
            self.core.decide_and_report(quirk, key)
        } else {
            self.core.decide(quirk)
        };
        if taken || lost {
            self.core.drain.no_retirement = true;
            self.slots.values_mut().for_each(|slot| slot.refresh_retirement_time(&self.core));
        }
        self.set_slots_unavailable();
        if !taken {
            return;
        }
        self.update_coordinated_retirement();
        let why = VacateReason::new("Startd was draining", HoldCode::StartdDraining);
        self.for_each_slot(|slot, core| {
            slot.retire(core, true, why.clone(), "the jobs from before the drain have ended");
        });
    }

    /// What is to follow a drain follows at once; in 25.14 when a drained slot is looked at.
    pub(super) fn check_drain_completed(&mut self, seen: DrainCheckTime) {
        let late = self.core.decide(Quirk::DrainedSeenLate);
        if late == (seen == DrainCheckTime::SlotTurn) {
            self.complete_drain(late);
        }
    }

    /// Does what was asked for when all slots are drained (`considerResumingAfterDraining`).
    fn complete_drain(&mut self, late: bool) {
        let idle = |slot: &Slot| (slot.state, slot.activity) == (SlotState::Drained, Activity::Idle);
        if self.core.shutdown.is_some() || self.core.drain.drained_slots < self.core.slot_count {
            return;
        }
        let Some(request) = &self.core.drain.active_request else { return };
        let completion = request.completion;
        if completion == DrainCompletion::Nothing || !self.slots.values().all(idle) {
            return;
        }
        match completion {
            DrainCompletion::Nothing => {}
            DrainCompletion::Resume => self.cancel_drain(true),
            DrainCompletion::Reconfigure => {
                // 25.14 looks at no slot then: it may be claimed as it is (p72d).
                self.cancel_drain(!late);
                self.core.actions.push(StartdAction::Reconfigure);
            }
            DrainCompletion::Exit => self.shut_down(ShutdownMode::Graceful, "all slots are drained"),
            DrainCompletion::Restart => {
                self.restart_requested = true;
                self.shut_down(ShutdownMode::Graceful, "all slots are drained: it begins anew");
            }
        }
    }

    /// The longest retirement of all slots: none of them is vacated before it is over.
    pub(super) fn update_coordinated_retirement(&mut self) {
        self.update_coordinated_retirement_without(None);
    }

    /// The same without the job of a starter that has just ended.
    pub(super) fn update_coordinated_retirement_without(&mut self, ended: Option<StarterId>) {
        if !self.core.drain.is_draining() {
            return;
        }
        let core = &self.core;
        let longest = if core.drain.is_graceful() {
            let runs = |slot: &Slot| slot.starter().is_some_and(|starter| Some(starter) != ended);
            let old = self.slots.values().filter(|slot| !slot.accepted_while_draining && runs(slot));
            old.map(|slot| slot.retirement_remaining(core)).max().unwrap_or(0)
        } else {
            0
        };
        let unclaimed = self
            .slots
            .values()
            .map(|slot| slot.amounts.whole_cpus() * slot.time_in_state(SlotState::Drained, core.now.epoch()))
            .sum();
        self.core.drain.coordinated_retirement = longest;
        self.core.drain.unclaimed_time = self.core.drain.unclaimed_time.max(unclaimed);
    }
}
