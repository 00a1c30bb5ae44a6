//! Draining: all jobs leave, and nothing new comes, until it is cancelled (`ResMgr::startDraining`).

use super::core::Core;
use super::drain_request::{DrainCompletion, DrainRequest, DrainSpeed, DrainStatus};
use super::execution_point::ExecutionPoint;
use super::interface::{Action, Shutdown, StarterId, VacateReason};
use super::settings::SlotKind;
use super::single::Slot;
use super::state::{Activity, State};
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_classad::{Expr, Value};

impl Slot {
    /// Counts what a job that has to leave for a drain has used in vain.
    pub(super) fn count_badput(&self, core: &mut Core) {
        if core.drain.is_on()
            && let Some(claim) = &self.current
        {
            core.drain.badput += self.amounts.whole_cpus() * claim.job_run_time(core.now);
        }
    }
}

/// When it is seen that all slots are drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// When one that is drained is looked at in its turn.
    AtItsTurn,
    /// Behind all that an event has done.
    BehindAll,
}

impl ExecutionPoint {
    /// The drain that is under way.
    pub fn drain_status(&self) -> Option<DrainStatus> {
        let drain = &self.core.drain;
        let request = drain.present.clone()?;
        let waits = drain.drained < self.core.slot_count;
        let until = waits.then(|| self.core.draining.completion(request.speed == DrainSpeed::Graceful));
        let until = match request.speed {
            DrainSpeed::Fast => until.map(|_| self.core.now.epoch()),
            DrainSpeed::Graceful | DrainSpeed::Quick => until,
        };
        Some(DrainStatus { id: drain.id, request, since: drain.started, until, drained: drain.drained })
    }

    /// The first slot that a drain's check speaks against, in the reference's words.
    fn check_fails(&self, check: &Expr) -> Option<String> {
        self.slots.values().find_map(|slot| {
            let name = slot.live.string("Name").map_or_else(|| slot.id.clone(), |name| name.to_string());
            match slot.look(&self.core, None, |context| context.eval(check)) {
                Value::Bool(true) => None,
                Value::Bool(false) => Some(format!("draining check expression is false on {name} (10003)")),
                _ => Some(format!("draining check expression does not evaluate to a bool on {name} (10003)")),
            }
        })
    }

    /// Begins a drain.
    pub(super) fn begin_drain(&mut self, mut request: DrainRequest) {
        if self.core.drain.is_on() {
            return self.core.warn(None, "drain refused: draining already in progress (10001)");
        }
        if let Some(reason) = request.check.as_ref().and_then(|check| self.check_fails(check)) {
            return self.core.warn(None, format!("drain refused: {reason}"));
        }
        if request.speed == DrainSpeed::Graceful {
            let default = &self.core.settings.drain_start;
            request.start = request.start.take().or_else(|| default.clone());
        } else if request.start.take().is_some() {
            self.core.warn(None, "a START while draining is for graceful drains: it is not used");
        }
        self.core.drain.start.clone_from(&request.start);
        let speed = request.speed;
        let drain = &mut self.core.drain;
        drain.id += 1;
        drain.started = self.core.now.epoch();
        drain.present = Some(request);
        for slot in self.slots.values_mut().filter(|_| self.core.wants.drain) {
            let mut ad = std::mem::take(&mut slot.live);
            self.core.drain.publish(&mut ad);
            slot.live = ad;
        }
        self.coordinate();
        let why = VacateReason::new("Startd was draining", HoldCode::StartdDraining);
        self.each_slot(|slot, core| match (slot.state, speed) {
            (State::Owner | State::Unclaimed, _) => {}
            (_, DrainSpeed::Graceful) => slot.retire(core, true, why.clone(), "draining"),
            (_, DrainSpeed::Quick) => slot.retire(core, false, why.clone(), "draining"),
            (_, DrainSpeed::Fast) => slot.kill_claim(core, Some(why.clone()), "draining"),
        });
        self.take_no_more();
        // All slots are told to give up their claims before any is looked at (`update_all`).
        self.each_slot(Slot::evaluate);
        self.core.start_polling();
    }

    /// What a slot that was there before takes from now on (`Resource::shutdownAllClaims`).
    fn take_no_more(&mut self) {
        let start = self.core.drain.start.clone();
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
            Some(id) if number(id) != self.core.drain.id => {
                self.core
                    .warn(None, format!("undrain refused: no matching draining request id {id} (10002)"));
            }
            _ => self.cancel_drain(true),
        }
    }

    /// Ends a drain: the slots take jobs again, those that are looked at now at once.
    fn cancel_drain(&mut self, looks: bool) {
        if !self.core.drain.is_on() {
            return;
        }
        (self.core.drain.present, self.core.drain.start) = (None, None);
        self.core.drain.stopped = self.core.now.epoch();
        for slot in self.slots.values_mut() {
            if slot.state != State::Drained || !looks {
                slot.restore_requirements(&self.core);
            }
            if looks {
                slot.evaluate(&mut self.core);
            }
        }
    }

    /// The starter of a job that was there before the drain has ended: once no such claim is left, those that were taken meanwhile
    /// have to go as well, without retirement (`checkForDrainCompletion`).
    ///
    /// 25.14 takes all slots' retirement time away for that, until the next slot finds all of them drained. The only slot of a
    /// machine has found that already, and is left without.
    pub(super) fn check_drain(&mut self) {
        let claimed = |slot: &Slot| matches!(slot.state, State::Claimed | State::Preempting);
        let old = |slot: &Slot| {
            slot.kind != SlotKind::Partitionable && claimed(slot) && !slot.accepted_while_draining
        };
        let Some(key) = self.slots.keys().next() else { return };
        if !self.core.drain.is_on() || self.slots.values().any(old) || self.core.drain.no_retirement {
            return;
        }
        self.core.drain.start = None;
        let taken = self.slots.values().any(claimed);
        let quirk = Quirk::RetirementLostAfterDrain;
        let lost =
            if self.slots.len() == 1 { self.core.has(quirk, key) } else { self.core.has_silently(quirk) };
        if taken || lost {
            self.core.drain.no_retirement = true;
            self.slots.values_mut().for_each(|slot| slot.publish_retirement(&self.core));
        }
        self.take_no_more();
        if !taken {
            return;
        }
        self.coordinate();
        let why = VacateReason::new("Startd was draining", HoldCode::StartdDraining);
        self.each_slot(|slot, core| {
            slot.retire(core, true, why.clone(), "the jobs from before the drain have ended");
        });
    }

    /// What is to follow a drain follows at once; in 25.14 when a drained slot is looked at.
    pub(super) fn look_for_drained(&mut self, seen: Seen) {
        let late = self.core.has_silently(Quirk::DrainedSeenLate);
        if late == (seen == Seen::AtItsTurn) {
            self.drain_completed(late);
        }
    }

    /// Does what was asked for when all slots are drained (`considerResumingAfterDraining`).
    fn drain_completed(&mut self, late: bool) {
        let idle = |slot: &Slot| (slot.state, slot.activity) == (State::Drained, Activity::Idle);
        if self.core.shutdown.is_some() || self.core.drain.drained < self.core.slot_count {
            return;
        }
        let Some(request) = &self.core.drain.present else { return };
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
                self.core.out.push(Action::Reconfigure);
            }
            DrainCompletion::Exit => self.shut_down(Shutdown::Graceful, "all slots are drained"),
            DrainCompletion::Restart => {
                self.restarts = true;
                self.shut_down(Shutdown::Graceful, "all slots are drained: it begins anew");
            }
        }
    }

    /// The longest retirement of all slots: none of them is vacated before it is over.
    pub(super) fn coordinate(&mut self) {
        self.coordinate_without(None);
    }

    /// The same without the job of a starter that has just ended.
    pub(super) fn coordinate_without(&mut self, ended: Option<StarterId>) {
        if !self.core.drain.is_on() {
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
            .map(|slot| slot.amounts.whole_cpus() * slot.time_in(State::Drained, core.now.epoch()))
            .sum();
        self.core.drain.coordinated = longest;
        self.core.drain.unclaimed = self.core.drain.unclaimed.max(unclaimed);
    }
}
