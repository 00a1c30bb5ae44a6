//! Draining: evicts all jobs and accepts no new ones, until the drain is cancelled (`ResMgr::startDraining`).

use super::drain_request::{DrainCompletion, DrainRequest, DrainSpeed, DrainStatus};
use super::events::{AfterShutdown, ShutdownMode, StartdAction, StarterId, VacateReason};
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_classad::{Expr, Value};

impl Slot {
    /// Adds to the badput the run time of a job that a drain evicts.
    pub(super) fn count_badput(&self, core: &mut ExecutionPointState) {
        if core.drain.is_draining()
            && let Some(claim) = &self.claims.current
        {
            core.drain.badput += self.amounts.whole_cpus() * claim.job_run_time(core.now);
        }
    }
}

/// Moment at which the completion of a drain is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainCheckTime {
    /// Evaluation of the policy of a drained slot.
    SlotTurn,
    /// End of an event, after all its consequences have been handled.
    AfterEvent,
}

impl ExecutionPoint {
    /// Returns the status of the current drain, or `None` if there is no drain.
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

    /// Returns an error in the reference's words for the first slot in which the drain's check expression is not true.
    fn failed_drain_check(&self, check: &Expr) -> Option<String> {
        self.slots.values().find_map(|slot| {
            let name = slot.ads.live.string("Name").map_or_else(|| slot.id.clone(), |name| name.to_string());
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
            return self.core.refuse(None, "drain refused: draining already in progress (10001)");
        }
        if let Some(reason) = request.check.as_ref().and_then(|check| self.failed_drain_check(check)) {
            return self.core.refuse(None, format!("drain refused: {reason}"));
        }
        if request.speed == DrainSpeed::Graceful {
            let default = &self.core.settings.drain_start;
            request.start_while_draining = request.start_while_draining.take().or_else(|| default.clone());
        } else if request.start_while_draining.take().is_some() {
            self.core.warn(None, "START during a drain applies only to graceful drains: it is ignored");
        }
        self.core.drain.start_while_draining.clone_from(&request.start_while_draining);
        let speed = request.speed;
        let drain = &mut self.core.drain;
        drain.request_id += 1;
        drain.started = self.core.now.epoch();
        drain.active_request = Some(request);
        for slot in self.slots.values_mut().filter(|_| self.core.publish_set.drain) {
            let mut ad = std::mem::take(&mut slot.ads.live);
            self.core.drain.publish(&mut ad);
            slot.ads.live = ad;
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
        // All slots release their claims before any policy is evaluated (`update_all`).
        self.for_each_slot(Slot::evaluate_policy);
        self.core.start_polling();
    }

    /// Sets which jobs the slots accept during the drain (`Resource::shutdownAllClaims`).
    fn set_slots_unavailable(&mut self) {
        let start = self.core.drain.start_while_draining.clone();
        for slot in self.slots.values_mut().filter(|slot| slot.kind != SlotKind::Dynamic) {
            slot.set_unavailable(start.clone());
        }
    }

    /// Cancels the current drain. If `id` is given, the drain must have this id.
    pub(super) fn cancel_named_drain(&mut self, id: Option<&str>) {
        let id = id.filter(|id| !id.is_empty());
        // Like `atoi`, ignores the text after the digits.
        let number = |id: &str| {
            let digits = id.trim_start().find(|letter: char| !letter.is_ascii_digit());
            let text = id.trim_start();
            text[..digits.unwrap_or(text.len())].parse::<u64>().unwrap_or(0)
        };
        match id {
            Some(id) if number(id) != self.core.drain.request_id => {
                self.core
                    .refuse(None, format!("undrain refused: no matching draining request id {id} (10002)"));
            }
            // 25.14 answers that it has cancelled the drain.
            None if !self.core.drain.is_draining() => {
                self.core.refuse(None, "undrain refused: the execution point is not draining");
            }
            _ => self.cancel_drain(true),
        }
    }

    /// Ends a drain, so that the slots accept jobs again. If `evaluate` is true, their policy is evaluated at once.
    fn cancel_drain(&mut self, evaluate: bool) {
        if !self.core.drain.is_draining() {
            return;
        }
        (self.core.drain.active_request, self.core.drain.start_while_draining) = (None, None);
        self.core.drain.stopped = self.core.now.epoch();
        for slot in self.slots.values_mut() {
            if slot.state != SlotState::Drained || !evaluate {
                slot.restore_requirements(&self.core);
            }
            if evaluate {
                slot.evaluate_policy(&mut self.core);
            }
        }
    }

    /// Evicts, without retirement, the jobs that were accepted during the drain, once the last job from before the drain has
    /// ended (`checkForDrainCompletion`).
    ///
    /// In 25.14 the retirement time of all slots is then 0 until the next evaluation of a slot that finds all
    /// slots drained. With only one slot, this evaluation has already taken place, so the retirement time
    /// stays 0.
    pub(super) fn retire_jobs_accepted_while_draining(&mut self) {
        let claimed = |slot: &Slot| matches!(slot.state, SlotState::Claimed | SlotState::Preempting);
        let old = |slot: &Slot| {
            slot.kind != SlotKind::Partitionable && claimed(slot) && !slot.claims.accepted_while_draining
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

    /// Completes the drain if all slots are drained and this is the right time: the end of an event or, in 25.14, the
    /// evaluation of a drained slot's policy.
    pub(super) fn check_drain_completed(&mut self, checked_at: DrainCheckTime) {
        let in_slot_turn = self.core.decide(Quirk::DrainedSeenLate);
        if in_slot_turn == (checked_at == DrainCheckTime::SlotTurn) {
            self.complete_drain(in_slot_turn);
        }
    }

    /// Takes the action that the drain request asks for, once all slots are drained (`considerResumingAfterDraining`).
    fn complete_drain(&mut self, in_slot_turn: bool) {
        let idle = |slot: &Slot| (slot.state, slot.activity) == (SlotState::Drained, Activity::Idle);
        if self.core.ending.shutdown.is_some() || self.core.drain.drained_slots < self.core.slot_count {
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
                // With this action, 25.14 evaluates no policy, so that the slot may be claimed in its current state.
                self.cancel_drain(!in_slot_turn);
                self.core.actions.push(StartdAction::Reconfigure);
            }
            DrainCompletion::Exit => {
                self.after_shutdown = AfterShutdown::StaysDown;
                self.shut_down(ShutdownMode::Graceful, "all slots are drained");
            }
            DrainCompletion::Restart => {
                self.after_shutdown = AfterShutdown::Restarts;
                self.shut_down(ShutdownMode::Graceful, "all slots are drained: the execution point restarts");
            }
        }
    }

    /// Sets the longest retirement time of all jobs: no slot is vacated before it has passed.
    pub(super) fn update_coordinated_retirement(&mut self) {
        self.update_coordinated_retirement_without(None);
    }

    /// Sets the longest retirement time of all jobs, ignoring the job of a starter that has just exited.
    pub(super) fn update_coordinated_retirement_without(&mut self, ended: Option<StarterId>) {
        if !self.core.drain.is_draining() {
            return;
        }
        let core = &self.core;
        let longest = if core.drain.is_graceful() {
            let runs = |slot: &Slot| slot.starter().is_some_and(|starter| Some(starter) != ended);
            let old = self.slots.values().filter(|slot| !slot.claims.accepted_while_draining && runs(slot));
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
