//! Eviction of jobs: the steps of ending a job, and the time it is given (`Resource.cpp`, `Starter.cpp`).

use super::change_reason::ChangeReason;
use super::events::{StartdAction, StarterSignal, VacateReason};
use super::execution_point_state::ExecutionPointState;
use super::runtime_state::claim::{Claim, ClaimPhase, StarterEnding};
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use super::transition::StateChange;
use htc_base::quirks::Quirk;
use htc_classad::ClassAd;

impl Slot {
    /// Returns the claim and its job if a starter runs.
    fn active_claim_and_job(&self) -> Option<(&Claim, &ClassAd)> {
        let claim = self.claims.current.as_ref().filter(|claim| claim.is_active())?;
        Some((claim, claim.job.as_ref()?))
    }

    /// Returns the remaining retirement time of the job, in seconds (`evalRetirementRemaining`).
    pub(super) fn retirement_remaining(&self, core: &ExecutionPointState) -> i64 {
        let Some((claim, job)) = self.active_claim_and_job() else { return 0 };
        let machine = match self.ads.live.get("MaxJobRetirementTime") {
            Some(_) => self
                .eval_in_slot_ad(core, Some(job), |context| context.int("MaxJobRetirementTime"))
                .unwrap_or(0),
            None => 0,
        };
        let machine = if claim.retire_peacefully && machine != -1 { i64::from(i32::MAX) } else { machine };
        let wanted = job
            .get("MaxJobRetirementTime")
            .and_then(|_| self.eval_in_job_ad(core, job, |context| context.int("MaxJobRetirementTime")));
        // The job can shorten the machine's retirement time, but not extend it.
        let granted = wanted.map_or(machine, |wanted| wanted.min(machine));
        granted.saturating_sub(claim.job_run_time(core.now)).max(0)
    }

    /// Returns the time between soft and hard kill, in seconds (`evalMaxVacateTime`).
    pub(super) fn max_vacate_time(&self, core: &ExecutionPointState) -> i64 {
        let Some((claim, job)) = self.active_claim_and_job() else { return 0 };
        let machine = claim.max_vacate_time;
        let requested = ["JobMaxVacateTime", "KillSigTimeout"]
            .into_iter()
            .find(|name| job.get(*name).is_some())
            .map(|name| self.eval_in_job_ad(core, job, |context| context.int(name)).unwrap_or(0));
        let Some(requested) = requested else { return machine };
        if requested <= machine {
            return requested;
        }
        // A vacate time longer than the machine's is limited by the remaining retirement time.
        let left = self.retirement_remaining(core);
        if left >= requested { requested } else { left.max(machine) }
    }

    /// True if the retirement time has expired, or so little of it is left that the vacate time must begin
    /// (`retirementExpired`).
    pub(super) fn has_retirement_expired(&self, core: &ExecutionPointState) -> bool {
        let left = self.coordinated_retirement(core);
        let vacate = self.max_vacate_time(core);
        core.schedule.change_predictor.note_change_within(left.saturating_sub(vacate));
        left <= 0 || vacate >= left
    }

    /// Returns the remaining retirement time. In a drain, jobs wait for one another, so that all end together; in 25.14, only
    /// jobs that match START do so (`ResMgr::gracefulDrainingTimeRemaining`).
    fn coordinated_retirement(&self, core: &ExecutionPointState) -> i64 {
        let left = self.retirement_remaining(core);
        if !core.drain.is_draining() {
            return left;
        }
        let idle = (self.state, self.activity) == (SlotState::Claimed, Activity::Idle);
        let matches = || {
            !core.decide(Quirk::QuickDrainSparesUnmatched)
                || self.eval_in_slot_ad(core, self.job(), |context| context.boolean("START")) == Some(true)
        };
        if idle || (left > 0 && (self.claims.accepted_while_draining || matches())) {
            core.drain.coordinated_retirement
        } else {
            left
        }
    }

    /// Retires the job for the reason `why`; a slot in Backfill returns to Owner.
    pub(super) fn retire(
        &mut self,
        core: &mut ExecutionPointState,
        reversible: bool,
        why: VacateReason,
        reason: &str,
    ) {
        if self.state == SlotState::Backfill {
            return self.leave_backfill(core, SlotState::Owner, reason);
        }
        if let Some(change) = self.begin_retirement(core, reversible, why, reason) {
            self.make_change(core, change);
        }
    }

    /// Begins the retirement of the claim, and returns the change of state that it requires (`retire_claim`).
    pub(super) fn begin_retirement(
        &mut self,
        core: &ExecutionPointState,
        reversible: bool,
        why: VacateReason,
        reason: impl Into<ChangeReason>,
    ) -> Option<StateChange> {
        match self.state {
            SlotState::Claimed => {
                let claim = self.claims.current.as_mut()?;
                claim.vacate_reason = Some(why);
                if self.activity == Activity::Cleaning {
                    return None;
                }
                claim.may_unretire &= reversible;
                let peaceful = core.ending.shutdown == Some(super::events::ShutdownMode::Peaceful);
                let stays = claim.retire_peacefully && core.decide(Quirk::ForceGracefulDead);
                claim.retire_peacefully = peaceful || stays;
                Some(StateChange::new(SlotState::Claimed, Activity::Retiring, reason))
            }
            SlotState::Matched => Some(StateChange::new(SlotState::Owner, Activity::Idle, reason)),
            _ => None,
        }
    }

    /// Kills the job. `why` is sent to the starter (`kill_claim`) unless it is `None` (`leaseExpired`).
    pub(super) fn kill_claim(
        &mut self,
        core: &mut ExecutionPointState,
        why: Option<VacateReason>,
        reason: &str,
    ) {
        match self.state {
            // The starter is already cleaning up, and the claim ends when it exits.
            SlotState::Claimed if self.activity == Activity::Cleaning => {
                self.claims.preempts_after_cleaning = true;
                if let Some(claim) = &mut self.claims.current {
                    claim.vacate_reason = why;
                }
                self.hard_kill(core, None);
            }
            SlotState::Claimed | SlotState::Preempting => {
                if let Some(claim) = &mut self.claims.current
                    && why.is_some()
                {
                    claim.vacate_reason = why;
                }
                self.change_state(core, SlotState::Preempting, Activity::Killing, reason);
            }
            SlotState::Matched => self.change_state(core, SlotState::Owner, Activity::Idle, reason),
            SlotState::Backfill => self.leave_backfill(core, SlotState::Owner, reason),
            SlotState::Owner | SlotState::Unclaimed | SlotState::Drained => {}
        }
    }

    /// Soft-kills or hard-kills the job, when the slot enters Vacating (`soft`) or Killing.
    pub(super) fn end_job(&mut self, core: &mut ExecutionPointState, soft: bool) {
        let held = self.hold_reason(core);
        let reason =
            held.or_else(|| self.claims.current.as_ref().and_then(|claim| claim.vacate_reason.clone()));
        let seconds = if soft { self.max_vacate_time(core) } else { 0 };
        if soft {
            self.soft_kill(core, seconds, reason);
        } else {
            self.hard_kill(core, reason);
        }
        if let Some(claim) = self.claims.current.as_mut().filter(|claim| claim.is_active()) {
            let phase = if soft { ClaimPhase::Vacating } else { ClaimPhase::Killing };
            claim.change_phase(phase, core.now);
        }
    }

    pub(super) fn soft_kill(
        &mut self,
        core: &mut ExecutionPointState,
        seconds: i64,
        reason: Option<VacateReason>,
    ) {
        let until = core.time_after(seconds);
        let Some(starter) = self.claims.current.as_mut().and_then(|claim| claim.starter.as_mut()) else {
            return;
        };
        // If a kill is in progress, it continues with the same deadline.
        if starter.ending == StarterEnding::NotEnding {
            starter.ending = StarterEnding::Soft { until };
            self.signal_starter(core, StarterSignal::Soft, reason);
        }
    }

    pub(super) fn hard_kill(&mut self, core: &mut ExecutionPointState, reason: Option<VacateReason>) {
        let until = core.now.monotonic().plus(core.settings.killing_timeout);
        let Some(starter) = self.claims.current.as_mut().and_then(|claim| claim.starter.as_mut()) else {
            return;
        };
        if !matches!(starter.ending, StarterEnding::Hard { .. }) {
            starter.ending = StarterEnding::Hard { until };
            self.signal_starter(core, StarterSignal::Hard, reason);
        }
    }

    /// Takes the next, harder step of a kill that has passed its deadline.
    pub(super) fn escalate_overdue_kill(&mut self, core: &mut ExecutionPointState) {
        let timeout = core.settings.killing_timeout.max(std::time::Duration::from_secs(1));
        let Some(claim) = &mut self.claims.current else { return };
        let reason = claim.vacate_reason.clone();
        let Some(starter) = &mut claim.starter else { return };
        match starter.ending {
            StarterEnding::Soft { until } if until <= core.now.monotonic() => {
                core.warn(Some(self.key), "the job's vacate time has expired: it is killed");
                let vacates = (self.state, self.activity) == (SlotState::Preempting, Activity::Vacating);
                if vacates && !core.decide_and_report(Quirk::VacatingPastLimit, self.key) {
                    self.change_state(
                        core,
                        SlotState::Preempting,
                        Activity::Killing,
                        "the vacate time has expired",
                    );
                } else {
                    self.hard_kill(core, reason);
                }
            }
            StarterEnding::Hard { until } if until <= core.now.monotonic() => {
                starter.ending = StarterEnding::Hard { until: core.now.monotonic().plus(timeout) };
                core.warn(Some(self.key), "the starter does not end: it is killed with all its processes");
                self.signal_starter(core, StarterSignal::Kill, None);
            }
            _ => {}
        }
    }

    /// Returns the deadline of a kill in progress, after which the next step follows.
    pub(super) fn kill_deadline(&self) -> Option<htc_base::time::MonotonicTime> {
        match self.claims.current.as_ref()?.starter.as_ref()?.ending {
            StarterEnding::NotEnding => None,
            StarterEnding::Soft { until } | StarterEnding::Hard { until } => Some(until),
        }
    }

    /// Sends a signal to the starter, or does nothing if no starter runs.
    pub(super) fn signal_starter(
        &self,
        core: &mut ExecutionPointState,
        signal: StarterSignal,
        reason: Option<VacateReason>,
    ) {
        if let Some(starter) = self.starter() {
            core.actions.push(StartdAction::SignalStarter { starter, signal, reason });
        }
    }
}
