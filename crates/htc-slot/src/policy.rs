//! What the policy expressions say, and what follows from them (`ResState::eval_policy`).

use super::core::Core;
use super::interface::{Shutdown, VacateReason};
use super::kept::claim::Claim;
use super::settings::SlotKind;
use super::single::Slot;
use super::state::{Activity, State};
use super::transition::Change;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;

/// The names of an expression: for all universes, for vanilla, for VM.
macro_rules! by_universe {
    ($name:literal) => {
        [$name, concat!($name, "_VANILLA"), concat!($name, "_VM")]
    };
}

/// What eval_policy suggests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Suggestion {
    pub state: State,
    pub activity: Activity,
    pub reason: &'static str,
    pub extra: Extra,
}

/// What is done before the change itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    Nothing,
    /// Retirement is over; PREEMPT may have become true meanwhile.
    RetirementOver {
        preempt: bool,
    },
    /// PREEMPT is true: retirement that cannot be undone.
    RetireForGood,
    /// A better claim waits.
    BetterClaim,
    /// The dynamic slot goes away.
    Delete,
    /// Backfill ends, and the slot goes back to its owner.
    EvictBackfill,
}

impl Slot {
    /// An expression of the slot as a truth value; a number counts.
    fn truth(&self, core: &Core, name: &str) -> Option<bool> {
        self.look(core, self.job(), |context| context.boolean(name))
    }

    /// The same; the form for the job's universe is tried first.
    fn truth_by_universe(&self, core: &Core, [name, vanilla, vm]: [&str; 3]) -> Option<bool> {
        let own = match self.current.as_ref().and_then(Claim::universe) {
            Some(5) => self.truth(core, vanilla),
            Some(13) => self.truth(core, vm),
            _ => None,
        };
        own.or_else(|| self.truth(core, name))
    }

    fn preempt(&self, core: &mut Core) -> bool {
        self.truth_by_universe(core, by_universe!("PREEMPT")) == Some(true)
    }

    pub(super) fn is_owner(&self, core: &mut Core) -> bool {
        match self.truth(core, "IsOwner") {
            Some(truth) => truth,
            None => {
                self.undefined_policy(core, "IS_OWNER");
                false
            }
        }
    }

    fn wants_suspend(&self, core: &mut Core) -> bool {
        self.truth_by_universe(core, by_universe!("WANT_SUSPEND")) == Some(true)
    }

    /// Whether a preempted job is first asked to leave. Without a job it does not matter.
    fn wants_vacate(&self, core: &mut Core) -> bool {
        if !self.is_active() {
            return true;
        }
        match self.truth_by_universe(core, by_universe!("WANT_VACATE")) {
            Some(truth) => truth,
            None => {
                self.undefined_policy(core, "WANT_VACATE");
                true
            }
        }
    }

    /// 25.14 exits when it cannot do without a value.
    fn undefined_policy(&self, core: &mut Core, name: &str) {
        if core.has(Quirk::UndefinedPolicyFatal, self.key) {
            core.fatal = Some(format!("{name} is undefined"));
        } else {
            core.warn(Some(self.key), format!("{name} is neither true nor false: its default counts"));
        }
    }

    /// The activity a slot that goes to Preempting begins with.
    pub(super) fn preempting_activity(&self, core: &mut Core) -> Activity {
        let preempted = self.current.as_ref().is_some_and(|claim| claim.preempt_was_true);
        if !preempted || self.wants_vacate(core) { Activity::Vacating } else { Activity::Killing }
    }

    fn may_unretire(&self, core: &mut Core) -> bool {
        !core.drain.is_on()
            && self.current.as_ref().is_some_and(|claim| claim.may_unretire)
            && !self.has_better_claim(core)
    }

    pub(super) fn in_retirement(&self, core: &mut Core) -> bool {
        self.has_better_claim(core) || !self.may_unretire(core)
    }

    /// CLAIM_WORKLIFE, looked up without a job; no number is no limit.
    pub(super) fn worklife_over(&self, core: &Core) -> bool {
        let Some(claim) = &self.current else { return false };
        if claim.activations == 0 {
            return false;
        }
        let limit = self.look(core, None, |context| context.int("CLAIM_WORKLIFE"));
        let Some(limit) = limit.filter(|limit| *limit >= 0) else { return false };
        let age = claim.age(core.now);
        if age <= limit {
            core.watch.within(limit - age + 1);
        }
        age > limit
    }

    /// The first rule that fires, in the reference's order.
    pub(super) fn suggest(&self, core: &mut Core) -> Option<Suggestion> {
        let to = |state, activity, reason, extra| Some(Suggestion { state, activity, reason, extra });
        let (state, activity) = (self.state, self.activity);
        match state {
            State::Claimed => self.suggest_claimed(core),
            State::Preempting if activity == Activity::Vacating => {
                let kill = self.truth_by_universe(core, by_universe!("KILL")) == Some(true);
                if kill { to(state, Activity::Killing, "KILL is true", Extra::Nothing) } else { None }
            }
            State::Owner | State::Unclaimed if self.kind == SlotKind::Dynamic => {
                // While a fetch runs for it somebody must be there to hear the answer.
                if self.fetching.run().is_none() {
                    to(state, activity, "the dynamic slot is free", Extra::Delete)
                } else {
                    None
                }
            }
            State::Owner | State::Unclaimed if core.drain.is_on() => {
                to(State::Drained, Activity::Retiring, "entering Drained state", Extra::Nothing)
            }
            State::Drained if !core.drain.is_on() => {
                // The reference leaves the activity as it is (recorded: Owner/Retiring).
                let activity =
                    if core.quirks().has(Quirk::UndrainedKeepsActivity) { activity } else { Activity::Idle };
                to(State::Owner, activity, "slot is no longer draining", Extra::Nothing)
            }
            State::Drained if activity == Activity::Retiring && core.drain.drained >= core.slot_count => {
                to(state, Activity::Idle, "draining is complete", Extra::Nothing)
            }
            State::Owner if !self.is_owner(core) => {
                to(State::Unclaimed, Activity::Idle, "IS_OWNER is false", Extra::Nothing)
            }
            State::Unclaimed if self.is_owner(core) => {
                to(State::Owner, Activity::Idle, "IS_OWNER is true", Extra::Nothing)
            }
            State::Unclaimed
                if core.settings.backfill.is_some() && self.truth(core, "START_BACKFILL") == Some(true) =>
            {
                to(State::Backfill, Activity::Idle, "START_BACKFILL is true", Extra::Nothing)
            }
            State::Backfill
                if activity != Activity::Killing && self.truth(core, "EVICT_BACKFILL") == Some(true) =>
            {
                let (state, activity) = match activity {
                    Activity::Idle => (State::Owner, Activity::Idle),
                    _ => (State::Backfill, Activity::Killing),
                };
                to(state, activity, "EVICT_BACKFILL is true", Extra::EvictBackfill)
            }
            _ => None,
        }
    }

    fn suggest_claimed(&self, core: &mut Core) -> Option<Suggestion> {
        let preempting = |reason, extra| {
            // The activity is chosen when the change is made.
            Some(Suggestion { state: State::Preempting, activity: Activity::Vacating, reason, extra })
        };
        let stay =
            |activity, reason, extra| Some(Suggestion { state: State::Claimed, activity, reason, extra });
        let activity = self.activity;
        if activity == Activity::Cleaning {
            return None;
        }
        let retirement = self.in_retirement(core);
        if retirement && self.retirement_over(core) {
            let preempt = self.preempt(core);
            return preempting("retirement is over", Extra::RetirementOver { preempt });
        }
        let want_suspend = self.wants_suspend(core);
        let preempt_was_true = self.current.as_ref().is_some_and(|claim| claim.preempt_was_true);
        // PREEMPT is not looked at while Busy with WANT_SUSPEND: SUSPEND has to fire first.
        let looks = match activity {
            Activity::Busy => !want_suspend,
            Activity::Retiring => !preempt_was_true && !want_suspend,
            Activity::Suspended => !preempt_was_true,
            _ => false,
        };
        if looks && self.preempt(core) {
            return stay(Activity::Retiring, "PREEMPT is true", Extra::RetireForGood);
        }
        if activity == Activity::Retiring {
            if self.may_unretire(core) {
                return stay(Activity::Busy, "unretiring because no preempting claim exists", Extra::Nothing);
            }
            if self.retirement_over(core) {
                return preempting("retirement is over", Extra::RetirementOver { preempt: false });
            }
        }
        if matches!(activity, Activity::Busy | Activity::Retiring)
            && want_suspend
            && self.truth_by_universe(core, by_universe!("SUSPEND")) == Some(true)
        {
            return stay(Activity::Suspended, "SUSPEND is true", Extra::Nothing);
        }
        if activity == Activity::Suspended
            && !self.suspended_by_command
            && self.truth_by_universe(core, by_universe!("CONTINUE")) == Some(true)
        {
            return if retirement {
                stay(Activity::Retiring, "CONTINUE is true", Extra::BetterClaim)
            } else {
                stay(Activity::Busy, "CONTINUE is true", Extra::Nothing)
            };
        }
        if activity == Activity::Busy && self.has_better_claim(core) {
            let reason = match self.is_outranked() {
                true => "retiring for a claim of higher rank",
                false => "retiring for a claim of the same rank",
            };
            return stay(Activity::Retiring, reason, Extra::BetterClaim);
        }
        let ends = if activity == Activity::Idle { self.end_of_idle_claim(core) } else { None };
        ends.and_then(|reason| preempting(reason, Extra::Nothing))
    }

    /// Why a claim ends under which nothing runs.
    fn end_of_idle_claim(&self, core: &mut Core) -> Option<&'static str> {
        if self.has_better_claim(core) {
            return Some("preempting an idle claim");
        }
        if self.is_owner(core) {
            return Some("IS_OWNER is true");
        }
        if self.worklife_over(core) {
            return Some("CLAIM_WORKLIFE of the idle claim is over");
        }
        // A claim that was given out a moment ago is waited for (`waitingForActivation`).
        let young = || {
            let age = self.current.as_ref().map_or(0, |claim| claim.age(core.now));
            age < core.settings.draining_activation_delay
        };
        (core.drain.is_on() && !self.takes_while_draining(core) && !young()).then_some("draining")
    }

    /// One periodic evaluation (`eval_state`): a change, or else what is done periodically.
    pub(super) fn evaluate(&mut self, core: &mut Core) {
        match self.suggest(core) {
            Some(suggestion) => {
                if let Some(Change { state, activity, reason }) = self.prepare(core, suggestion) {
                    self.change(core, state, activity, reason);
                }
            }
            None => self.periodic(core),
        }
    }

    /// What a suggestion asks for besides its change is done; returns the change (`change_to_suggested_state`).
    pub(super) fn prepare(&mut self, core: &mut Core, suggestion: Suggestion) -> Option<Change<'static>> {
        let Suggestion { state, mut activity, reason, extra } = suggestion;
        match extra {
            Extra::Nothing => {}
            Extra::Delete => {
                core.gone.push(self.key);
                return None;
            }
            Extra::RetirementOver { preempt } => {
                if let Some(claim) = self.current.as_mut().filter(|_| preempt) {
                    claim.preempt_was_true = true;
                }
            }
            Extra::RetireForGood => {
                if let Some(claim) = &mut self.current {
                    claim.preempt_was_true = true;
                }
                let why = VacateReason::new(
                    "PREEMPT expression evaluated to True",
                    HoldCode::StartdPreemptExpression,
                );
                return self.begin_retirement(core, false, why, reason);
            }
            Extra::BetterClaim => self.better_claim_is_reason(core),
            Extra::EvictBackfill => self.destination = Some(State::Owner),
        }
        if state == State::Preempting && self.state != State::Preempting {
            activity = self.preempting_activity(core);
        }
        Some(Change::to(state, activity, reason))
    }

    /// Whether the claim that waits is of higher rank; else it is of the same, for a user whom the negotiator prefers.
    pub(super) fn is_outranked(&self) -> bool {
        self.waiting.as_ref().is_none_or(|claim| claim.by_rank)
    }

    /// Notes for the job why it has to leave, when a better claim waits.
    pub(super) fn better_claim_is_reason(&mut self, core: &mut Core) {
        let by_rank = self.is_outranked();
        if self.has_better_claim(core)
            && let Some(claim) = &mut self.current
        {
            claim.vacate_reason = Some(if by_rank {
                VacateReason::new("Preempted for a higher Ranked job", HoldCode::StartdPreemptingClaimRank)
            } else {
                VacateReason::new("Preempted for a Priority user", HoldCode::StartdPreemptingClaimUserPrio)
            });
        }
    }

    /// What is done when no rule fires (`ResState::eval_policy_periodic`).
    fn periodic(&mut self, core: &mut Core) {
        match self.state {
            State::Claimed if self.activity != Activity::Cleaning => {
                if self.activity != Activity::Suspended {
                    self.try_fetch(core);
                }
                self.restore_requirements(core);
            }
            State::Unclaimed => {
                self.look_at_benchmarks(core);
                self.try_fetch(core);
                self.restore_requirements(core);
            }
            State::Owner => self.try_fetch(core),
            State::Drained if self.takes_while_draining(core) => self.try_fetch(core),
            State::Backfill if self.activity != Activity::Killing => {
                self.try_fetch(core);
                if self.activity == Activity::Idle {
                    self.start_backfill(core);
                }
            }
            _ => {}
        }
    }

    /// Why a job that is preempted is put on hold, when WANT_HOLD says so (`Resource::eval_preempt`).
    pub(super) fn hold_reason(&self, core: &mut Core) -> Option<VacateReason> {
        let preempted = self.current.as_ref().is_some_and(|claim| claim.preempt_was_true);
        if !preempted || self.truth(core, "WANT_HOLD") != Some(true) {
            return None;
        }
        let (text, subcode) = self.look(core, self.job(), |context| {
            (context.string("WANT_HOLD_REASON"), context.int("WANT_HOLD_SUBCODE"))
        });
        let text = match text {
            Some(text) if !text.is_empty() => text.to_string(),
            _ => {
                let expression =
                    self.live.get("WANT_HOLD").map(|expr| expr.unparse().to_string()).unwrap_or_default();
                format!(
                    "The startd put this job on hold.  (At preemption time, WANT_HOLD evaluated to true: WANT_HOLD = {expression})"
                )
            }
        };
        Some(VacateReason { text, code: HoldCode::StartdHeldJob as i32, subcode: subcode.unwrap_or(0) })
    }

    /// Whether it is looked at every POLLING_INTERVAL (`needsPolling`).
    pub(super) fn needs_polling(&self) -> bool {
        match self.state {
            State::Claimed | State::Preempting => self.kind != SlotKind::Partitionable,
            State::Backfill => true,
            _ => false,
        }
    }

    /// Whether it is in use, as STARTD_NOCLAIM_SHUTDOWN counts it (`hasAnyClaim`).
    pub(super) fn is_claimed(&self) -> bool {
        matches!(self.state, State::Claimed | State::Preempting)
            || (self.state == State::Backfill && self.activity != Activity::Idle)
    }

    /// Whether the execution point has to wait for it before it can end.
    pub(super) fn holds_up(&self, how: Option<Shutdown>) -> bool {
        how.is_none() || self.is_active() || matches!(self.state, State::Claimed | State::Preempting)
    }
}
