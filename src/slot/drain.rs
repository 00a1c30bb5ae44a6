//! Draining: all jobs leave, and nothing new comes, until it is cancelled (`ResMgr::startDraining`).

use super::core::Core;
use super::execution_point::ExecutionPoint;
use super::interface::VacateReason;
use super::settings::SlotKind;
use super::single::Slot;
use super::state::State;
use crate::classad::ClassAd;
use crate::quirks::Quirk;

/// The vacate code of draining.
const DRAINING: i32 = 1014;

/// How fast jobs have to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainSpeed {
    /// Retirement and vacate time are honoured, the slots' retirement coordinated.
    Graceful,
    /// Vacate time is honoured.
    Quick,
    /// Neither.
    Fast,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainRequest {
    /// How fast.
    pub speed: DrainSpeed,
    /// Why, for DrainReason.
    pub reason: String,
    /// Whether the slots take jobs again once all are drained.
    pub resume: bool,
}

/// A drain under way, and what earlier ones left.
#[derive(Default)]
pub(super) struct Drain {
    present: Option<DrainRequest>,
    /// Number of the present or last accepted request.
    id: u64,
    started: i64,
    stopped: i64,
    /// Cpu-seconds of jobs that had to leave.
    badput: i64,
    /// Cpu-seconds of slots that stood drained.
    unclaimed: i64,
    /// The longest retirement that any job has left, while all are to end together; 0 when there is nothing to wait for.
    pub coordinated: i64,
    /// How many slots are in Drained.
    pub drained: i64,
    /// Whether the slots' MaxJobRetirementTime is 0 instead of what the configuration says.
    pub no_retirement: bool,
}

impl Drain {
    pub(super) fn is_on(&self) -> bool {
        self.present.is_some()
    }

    fn is_graceful(&self) -> bool {
        self.present.as_ref().is_some_and(|request| request.speed == DrainSpeed::Graceful)
    }

    pub(super) fn publish(&self, ad: &mut ClassAd) {
        match &self.present {
            Some(request) => {
                ad.set("Draining", true);
                ad.set("DrainReason", request.reason.as_str());
                ad.set("DrainingRequestId", self.id.to_string());
            }
            None => {
                for name in ["Draining", "DrainReason", "DrainingRequestId"] {
                    ad.remove(name);
                }
            }
        }
        for (name, value) in [
            ("LastDrainStartTime", self.started),
            ("LastDrainStopTime", self.stopped),
            ("TotalMachineDrainingBadput", self.badput),
            ("TotalMachineDrainingUnclaimedTime", self.unclaimed),
        ] {
            if value != 0 {
                ad.set(name, value);
            }
        }
    }
}

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

impl ExecutionPoint {
    /// Begins a drain.
    pub(super) fn begin_drain(&mut self, request: DrainRequest) {
        if self.core.drain.is_on() {
            return self.core.warn(None, "draining already in progress");
        }
        let speed = request.speed;
        let drain = &mut self.core.drain;
        drain.id += 1;
        drain.started = self.core.now.epoch();
        drain.present = Some(request);
        for slot in self.slots.values_mut() {
            let mut ad = std::mem::take(&mut slot.live);
            self.core.drain.publish(&mut ad);
            slot.live = ad;
        }
        self.coordinate();
        let why = VacateReason::new("Startd was draining", DRAINING);
        let keys: Vec<_> = self.slots.keys().copied().collect();
        for key in keys {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            match (slot.state, speed) {
                (State::Owner | State::Unclaimed, _) => slot.evaluate(&mut self.core),
                (_, DrainSpeed::Graceful) => slot.retire(&mut self.core, true, why.clone(), "draining"),
                (_, DrainSpeed::Quick) => slot.retire(&mut self.core, false, why.clone(), "draining"),
                (_, DrainSpeed::Fast) => slot.kill_claim(&mut self.core, Some(why.clone()), "draining"),
            }
            self.remove_gone();
        }
        self.core.start_polling();
    }

    /// Ends a drain: the slots take jobs again.
    pub(super) fn cancel_drain(&mut self) {
        if !self.core.drain.is_on() {
            return;
        }
        self.core.drain.present = None;
        self.core.drain.stopped = self.core.now.epoch();
        for slot in self.slots.values_mut() {
            if slot.state != State::Drained {
                slot.restore_requirements(&self.core);
            }
            slot.evaluate(&mut self.core);
        }
    }

    /// A starter has ended: once no claim is left, 25.14 takes the slots' retirement time away for what it calls the final
    /// drain, until the next slot finds all of them drained (`checkForDrainCompletion`). The only slot of a machine has
    /// found that already, and is left without. Nothing can retire then, so this is its loss and nothing else.
    pub(super) fn check_drain(&mut self) {
        let claimed = |slot: &Slot| matches!(slot.state, State::Claimed | State::Preempting);
        let busy = self.slots.values().any(|slot| slot.kind != SlotKind::Partitionable && claimed(slot));
        let Some(&key) = self.slots.keys().next() else { return };
        if !self.core.drain.is_on() || busy || self.core.drain.no_retirement {
            return;
        }
        let quirk = Quirk::RetirementLostAfterDrain;
        let lost =
            if self.slots.len() == 1 { self.core.has(quirk, key) } else { self.core.has_silently(quirk) };
        if lost {
            self.core.drain.no_retirement = true;
            self.slots.values_mut().for_each(|slot| slot.publish_retirement(&self.core));
        }
    }

    /// Resumes by itself when that was asked for and all slots are drained.
    pub(super) fn drain_completed(&mut self) {
        let all = self.core.drain.drained >= self.core.slot_count;
        let resumes = self.core.drain.present.as_ref().is_some_and(|request| request.resume);
        if all && resumes && self.core.shutdown.is_none() {
            self.cancel_drain();
        }
    }

    /// The longest retirement of all slots: none of them is vacated before it is over.
    pub(super) fn coordinate(&mut self) {
        if !self.core.drain.is_on() {
            return;
        }
        let core = &self.core;
        let longest = if core.drain.is_graceful() {
            self.slots.values().map(|slot| slot.retirement_remaining(core)).max().unwrap_or(0)
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
