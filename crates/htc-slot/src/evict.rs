//! How a job is made to leave, and how long it has (`Resource.cpp`, `Starter.cpp`).

use super::core::Core;
use super::interface::{Action, StarterSignal, VacateReason};
use super::kept::claim::{Claim, Ending, Phase};
use super::single::Slot;
use super::state::{Activity, State};
use super::transition::Change;
use htc_base::quirks::Quirk;
use htc_classad::ClassAd;

impl Slot {
    /// The claim whose job is under way, and the job.
    fn running(&self) -> Option<(&Claim, &ClassAd)> {
        let claim = self.current.as_ref().filter(|claim| claim.is_active())?;
        Some((claim, claim.job.as_ref()?))
    }

    /// Seconds of retirement the job has left (`evalRetirementRemaining`).
    pub(super) fn retirement_remaining(&self, core: &Core) -> i64 {
        let Some((claim, job)) = self.running() else { return 0 };
        let machine = match self.live.get("MaxJobRetirementTime") {
            Some(_) => self.look(core, Some(job), |context| context.int("MaxJobRetirementTime")).unwrap_or(0),
            None => 0,
        };
        let machine = if claim.retire_peacefully && machine != -1 { i64::from(i32::MAX) } else { machine };
        let wanted = job
            .get("MaxJobRetirementTime")
            .and_then(|_| self.look_in_job(core, job, |context| context.int("MaxJobRetirementTime")));
        // Only less than the machine offers counts.
        let granted = wanted.map_or(machine, |wanted| wanted.min(machine));
        granted.saturating_sub(claim.job_run_time(core.now)).max(0)
    }

    /// Seconds the job has from the soft to the hard kill (`evalMaxVacateTime`).
    pub(super) fn max_vacate_time(&self, core: &Core) -> i64 {
        let Some((claim, job)) = self.running() else { return 0 };
        let machine = claim.pledged_vacate;
        let asked = ["JobMaxVacateTime", "KillSigTimeout"]
            .into_iter()
            .find(|name| job.get(*name).is_some())
            .map(|name| self.look_in_job(core, job, |context| context.int(name)).unwrap_or(0));
        let Some(asked) = asked else { return machine };
        if asked <= machine {
            return asked;
        }
        // More than the machine offers comes out of what is left of the retirement.
        let left = self.retirement_remaining(core);
        if left >= asked { asked } else { left.max(machine) }
    }

    /// Whether retirement is over, or so near its end that the vacate time has to begin (`retirementExpired`).
    pub(super) fn retirement_over(&self, core: &Core) -> bool {
        let left = self.coordinated_retirement(core);
        let vacate = self.max_vacate_time(core);
        core.watch.within(left.saturating_sub(vacate));
        left <= 0 || vacate >= left
    }

    /// While draining, jobs that match START wait for one another (`ResMgr::gracefulDrainingTimeRemaining`).
    fn coordinated_retirement(&self, core: &Core) -> i64 {
        let left = self.retirement_remaining(core);
        if !core.drain.is_on() {
            return left;
        }
        let idle = (self.state, self.activity) == (State::Claimed, Activity::Idle);
        let matches = || {
            !core.has_silently(Quirk::QuickDrainSparesUnmatched)
                || self.look(core, self.job(), |context| context.boolean("START")) == Some(true)
        };
        if idle || (left > 0 && (self.accepted_while_draining || matches())) {
            core.drain.coordinated
        } else {
            left
        }
    }

    /// Lets the job retire.
    pub(super) fn retire(&mut self, core: &mut Core, reversible: bool, why: VacateReason, reason: &str) {
        if self.state == State::Backfill {
            return self.leave_backfill(core, State::Owner, reason);
        }
        if let Some(Change { state, activity, reason }) = self.begin_retirement(core, reversible, why, reason)
        {
            self.change(core, state, activity, reason);
        }
    }

    /// The claim is to end when its job has had its time; returns the change that this needs (`retire_claim`).
    pub(super) fn begin_retirement<'a>(
        &mut self,
        core: &Core,
        reversible: bool,
        why: VacateReason,
        reason: &'a str,
    ) -> Option<Change<'a>> {
        match self.state {
            State::Claimed => {
                let claim = self.current.as_mut()?;
                claim.vacate_reason = Some(why);
                if self.activity == Activity::Cleaning {
                    return None;
                }
                claim.may_unretire &= reversible;
                let peaceful = core.shutdown == Some(super::interface::Shutdown::Peaceful);
                let stays = claim.retire_peacefully && core.has_silently(Quirk::ForceGracefulDead);
                claim.retire_peacefully = peaceful || stays;
                Some(Change::to(State::Claimed, Activity::Retiring, reason))
            }
            State::Matched => Some(Change::to(State::Owner, Activity::Idle, reason)),
            _ => None,
        }
    }

    /// Kills the job (`kill_claim`, or `leaseExpired` when there is nothing to tell the starter).
    pub(super) fn kill_claim(&mut self, core: &mut Core, why: Option<VacateReason>, reason: &str) {
        match self.state {
            // The starter is on its way out: the claim ends with it.
            State::Claimed if self.activity == Activity::Cleaning => {
                self.preempts_after_cleaning = true;
                if let Some(claim) = &mut self.current {
                    claim.vacate_reason = why;
                }
                self.hard_kill(core, None);
            }
            State::Claimed | State::Preempting => {
                if let Some(claim) = &mut self.current
                    && why.is_some()
                {
                    claim.vacate_reason = why;
                }
                self.change(core, State::Preempting, Activity::Killing, reason);
            }
            State::Matched => self.change(core, State::Owner, Activity::Idle, reason),
            State::Backfill => self.leave_backfill(core, State::Owner, reason),
            State::Owner | State::Unclaimed | State::Drained => {}
        }
    }

    /// First or next step of ending the job, on entering Vacating (soft) or Killing.
    pub(super) fn end_job(&mut self, core: &mut Core, soft: bool) {
        let held = self.hold_reason(core);
        let reason = held.or_else(|| self.current.as_ref().and_then(|claim| claim.vacate_reason.clone()));
        let seconds = if soft { self.max_vacate_time(core) } else { 0 };
        if soft {
            self.soft_kill(core, seconds, reason);
        } else {
            self.hard_kill(core, reason);
        }
        if let Some(claim) = self.current.as_mut().filter(|claim| claim.is_active()) {
            let phase = if soft { Phase::Vacating } else { Phase::Killing };
            claim.change_phase(phase, core.now);
        }
    }

    pub(super) fn soft_kill(&mut self, core: &mut Core, seconds: i64, reason: Option<VacateReason>) {
        let until = core.after(seconds);
        let Some(starter) = self.current.as_mut().and_then(|claim| claim.starter.as_mut()) else { return };
        // A kill under way goes on as it is; its timers are not set anew.
        if starter.ending == Ending::No {
            starter.ending = Ending::Soft { until };
            self.signal(core, StarterSignal::Soft, reason);
        }
    }

    pub(super) fn hard_kill(&mut self, core: &mut Core, reason: Option<VacateReason>) {
        let until = core.now.tick().plus(core.settings.killing_timeout);
        let Some(starter) = self.current.as_mut().and_then(|claim| claim.starter.as_mut()) else { return };
        if !matches!(starter.ending, Ending::Hard { .. }) {
            starter.ending = Ending::Hard { until };
            self.signal(core, StarterSignal::Hard, reason);
        }
    }

    /// The next step of an ending that is not over in time.
    pub(super) fn ending_due(&mut self, core: &mut Core) {
        let timeout = core.settings.killing_timeout.max(std::time::Duration::from_secs(1));
        let Some(claim) = &mut self.current else { return };
        let reason = claim.vacate_reason.clone();
        let Some(starter) = &mut claim.starter else { return };
        match starter.ending {
            Ending::Soft { until } if until <= core.now.tick() => {
                core.warn(Some(self.key), "the job's vacate time is over: it is killed");
                let vacates = (self.state, self.activity) == (State::Preempting, Activity::Vacating);
                if vacates && !core.has(Quirk::VacatingPastLimit, self.key) {
                    self.change(core, State::Preempting, Activity::Killing, "the vacate time is over");
                } else {
                    self.hard_kill(core, reason);
                }
            }
            Ending::Hard { until } if until <= core.now.tick() => {
                starter.ending = Ending::Hard { until: core.now.tick().plus(timeout) };
                core.warn(Some(self.key), "the starter does not end: it is killed with everything below it");
                self.signal(core, StarterSignal::Kill, None);
            }
            _ => {}
        }
    }

    /// When the next step is due.
    pub(super) fn ending_at(&self) -> Option<htc_base::time::Tick> {
        match self.current.as_ref()?.starter.as_ref()?.ending {
            Ending::No => None,
            Ending::Soft { until } | Ending::Hard { until } => Some(until),
        }
    }

    /// Sends the starter a signal, if there is one.
    pub(super) fn signal(&self, core: &mut Core, signal: StarterSignal, reason: Option<VacateReason>) {
        if let Some(starter) = self.starter() {
            core.out.push(Action::SignalStarter { starter, signal, reason });
        }
    }
}
