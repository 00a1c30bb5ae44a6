//! Evaluation of the policy expressions (`ResState::eval_policy`).

use super::change_reason::{ChangeReason, PolicyValue};
use super::events::{ChangeCause, ShutdownMode, VacateReason};
use super::execution_point_state::ExecutionPointState;
use super::runtime_state::claim::Claim;
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use super::transition::StateChange;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;

/// Names of an expression: for all universes, for vanilla, for VM.
macro_rules! by_universe {
    ($name:literal) => {
        [$name, concat!($name, "_VANILLA"), concat!($name, "_VM")]
    };
}

/// Change that eval_policy suggests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PolicySuggestion {
    pub state: SlotState,
    pub activity: Activity,
    pub reason: ChangeReason,
    pub pre_change_action: PreChangeAction,
}

impl PolicySuggestion {
    /// Creates a suggestion; it is `Some`, as the rules return it.
    fn new(
        state: SlotState,
        activity: Activity,
        reason: impl Into<ChangeReason>,
        pre_change_action: PreChangeAction,
    ) -> Option<Self> {
        Some(PolicySuggestion { state, activity, reason: reason.into(), pre_change_action })
    }

    /// Suggests another activity of a claimed slot.
    fn stay_claimed(
        activity: Activity,
        reason: impl Into<ChangeReason>,
        action: PreChangeAction,
    ) -> Option<Self> {
        Self::new(SlotState::Claimed, activity, reason, action)
    }

    /// Suggests that the claim ends. [`Slot::prepare_change`] replaces the activity.
    fn preempt(reason: impl Into<ChangeReason>, action: PreChangeAction) -> Option<Self> {
        Self::new(SlotState::Preempting, Activity::Vacating, reason, action)
    }
}

/// Action before the change itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreChangeAction {
    Nothing,
    /// The retirement time has expired. `preempt` is true if PREEMPT became true during retirement.
    RetirementExpired {
        preempt: bool,
    },
    /// PREEMPT is true: the job retires, and retirement cannot be cancelled.
    RetireForGood,
    /// A better claim waits for the slot.
    BetterClaim,
    /// Remove the dynamic slot.
    Delete,
    /// Backfill ends, and the slot returns to Owner.
    EvictBackfill,
}

impl Slot {
    /// Evaluates an expression of the slot as a boolean; a number is converted to a boolean.
    fn eval_boolean(&self, core: &ExecutionPointState, name: &str) -> Option<bool> {
        self.eval_in_slot_ad(core, self.job(), |context| context.boolean(name))
    }

    /// Evaluates a policy expression of the slot as a boolean. If the slot has a variant for the job's universe, the variant is
    /// used.
    fn eval_boolean_by_universe(
        &self,
        core: &ExecutionPointState,
        [name, vanilla, vm]: [&str; 3],
    ) -> Option<bool> {
        let own = match self.claims.current.as_ref().and_then(Claim::universe) {
            Some(5) => self.eval_boolean(core, vanilla),
            Some(13) => self.eval_boolean(core, vm),
            _ => None,
        };
        own.or_else(|| self.eval_boolean(core, name))
    }

    fn wants_preempt(&self, core: &mut ExecutionPointState) -> bool {
        self.eval_boolean_by_universe(core, by_universe!("PREEMPT")) == Some(true)
    }

    pub(super) fn is_owner(&self, core: &mut ExecutionPointState) -> bool {
        match self.eval_boolean(core, "IsOwner") {
            Some(truth) => truth,
            None => {
                self.handle_undefined_policy(core, "IS_OWNER");
                false
            }
        }
    }

    /// True if the configured START, evaluated without a job, is false. Matched and drained slots publish another START, which is
    /// not used here.
    fn is_start_false(&self, core: &ExecutionPointState) -> bool {
        let start = &self.requirements.start;
        self.eval_in_slot_ad(core, None, |context| context.eval(start).truth()) == Some(false)
    }

    /// True if a match or an idle claim ends because START is false, as the manual says.
    fn leaves_for_false_start(&self, core: &mut ExecutionPointState) -> bool {
        self.is_start_false(core) && !core.decide_and_report(Quirk::StartFalseKeepsClaim, self.key)
    }

    fn wants_suspend(&self, core: &mut ExecutionPointState) -> bool {
        self.eval_boolean_by_universe(core, by_universe!("WANT_SUSPEND")) == Some(true)
    }

    /// True if a preempted job is soft-killed before it is hard-killed. Without a job the result has no effect.
    fn wants_vacate(&self, core: &mut ExecutionPointState) -> bool {
        if !self.is_active() {
            return true;
        }
        match self.eval_boolean_by_universe(core, by_universe!("WANT_VACATE")) {
            Some(truth) => truth,
            None => {
                self.handle_undefined_policy(core, "WANT_VACATE");
                true
            }
        }
    }

    /// Handles a policy expression that is undefined but must not be: 25.14 exits.
    fn handle_undefined_policy(&self, core: &mut ExecutionPointState, name: &str) {
        if core.decide_and_report(Quirk::UndefinedPolicyFatal, self.key) {
            core.ending.fatal_reason = Some(format!("{name} is undefined"));
        } else {
            core.warn(Some(self.key), format!("{name} is neither true nor false: its default is used"));
        }
    }

    /// Returns the first activity of a slot that enters Preempting.
    pub(super) fn preempting_activity(&self, core: &mut ExecutionPointState) -> Activity {
        let preempted = self.claims.current.as_ref().is_some_and(|claim| claim.preempt_was_true);
        if !preempted || self.wants_vacate(core) { Activity::Vacating } else { Activity::Killing }
    }

    fn can_unretire(&self, core: &mut ExecutionPointState) -> bool {
        !core.drain.is_draining()
            && self.claims.current.as_ref().is_some_and(|claim| claim.may_unretire)
            && !self.has_better_claim(core)
    }

    pub(super) fn is_in_retirement(&self, core: &mut ExecutionPointState) -> bool {
        self.has_better_claim(core) || !self.can_unretire(core)
    }

    /// True if the claim has run a job and is older than CLAIM_WORKLIFE, evaluated without a job. If CLAIM_WORKLIFE is not a
    /// number, there is no limit.
    pub(super) fn has_worklife_expired(&self, core: &ExecutionPointState) -> bool {
        let Some(claim) = &self.claims.current else { return false };
        if claim.activations == 0 {
            return false;
        }
        let limit = self.eval_in_slot_ad(core, None, |context| context.int("CLAIM_WORKLIFE"));
        let Some(limit) = limit.filter(|limit| *limit >= 0) else { return false };
        let age = claim.age(core.now);
        if age <= limit {
            core.schedule.change_predictor.note_change_within(limit - age + 1);
        }
        age > limit
    }

    /// Returns the change that the first matching policy rule requires. Rules are checked in the reference's order.
    pub(super) fn suggest_change(&self, core: &mut ExecutionPointState) -> Option<PolicySuggestion> {
        let (state, activity) = (self.state, self.activity);
        match state {
            SlotState::Claimed => self.suggest_change_when_claimed(core),
            SlotState::Preempting if activity == Activity::Vacating => {
                let kill = self.eval_boolean_by_universe(core, by_universe!("KILL")) == Some(true);
                if kill {
                    PolicySuggestion::new(
                        state,
                        Activity::Killing,
                        PolicyValue::is_true("KILL"),
                        PreChangeAction::Nothing,
                    )
                } else {
                    None
                }
            }
            SlotState::Owner | SlotState::Unclaimed if self.kind == SlotKind::Dynamic => {
                // The slot must continue to exist while a fetch runs, to receive the hook's output.
                if self.fetch.state.running_call().is_none() {
                    PolicySuggestion::new(
                        state,
                        activity,
                        "the dynamic slot is free",
                        PreChangeAction::Delete,
                    )
                } else {
                    None
                }
            }
            SlotState::Owner | SlotState::Unclaimed if core.drain.is_draining() => PolicySuggestion::new(
                SlotState::Drained,
                Activity::Retiring,
                "entering Drained state",
                PreChangeAction::Nothing,
            ),
            SlotState::Drained if !core.drain.is_draining() => {
                // The reference keeps the activity, so that an undrained slot can be in Owner/Retiring.
                let activity = if core.quirks().reproduces(Quirk::UndrainedKeepsActivity) {
                    activity
                } else {
                    Activity::Idle
                };
                PolicySuggestion::new(
                    SlotState::Owner,
                    activity,
                    "slot is no longer draining",
                    PreChangeAction::Nothing,
                )
            }
            SlotState::Drained
                if activity == Activity::Retiring && core.drain.drained_slots >= core.slot_count =>
            {
                PolicySuggestion::new(state, Activity::Idle, "draining is complete", PreChangeAction::Nothing)
            }
            SlotState::Owner if !self.is_owner(core) => PolicySuggestion::new(
                SlotState::Unclaimed,
                Activity::Idle,
                PolicyValue::is_false("IS_OWNER"),
                PreChangeAction::Nothing,
            ),
            SlotState::Unclaimed if self.is_owner(core) => PolicySuggestion::new(
                SlotState::Owner,
                Activity::Idle,
                PolicyValue::is_true("IS_OWNER"),
                PreChangeAction::Nothing,
            ),
            SlotState::Unclaimed
                if core.settings.backfill.is_some()
                    && self.eval_boolean(core, "START_BACKFILL") == Some(true) =>
            {
                PolicySuggestion::new(
                    SlotState::Backfill,
                    Activity::Idle,
                    PolicyValue::is_true("START_BACKFILL"),
                    PreChangeAction::Nothing,
                )
            }
            SlotState::Matched if self.leaves_for_false_start(core) => PolicySuggestion::new(
                SlotState::Owner,
                Activity::Idle,
                PolicyValue::is_false("START"),
                PreChangeAction::Nothing,
            ),
            SlotState::Backfill
                if activity != Activity::Killing
                    && self.eval_boolean(core, "EVICT_BACKFILL") == Some(true) =>
            {
                let (state, activity) = match activity {
                    Activity::Idle => (SlotState::Owner, Activity::Idle),
                    _ => (SlotState::Backfill, Activity::Killing),
                };
                PolicySuggestion::new(
                    state,
                    activity,
                    PolicyValue::is_true("EVICT_BACKFILL"),
                    PreChangeAction::EvictBackfill,
                )
            }
            _ => None,
        }
    }

    fn suggest_change_when_claimed(&self, core: &mut ExecutionPointState) -> Option<PolicySuggestion> {
        let activity = self.activity;
        if activity == Activity::Cleaning {
            return None;
        }
        let retirement = self.is_in_retirement(core);
        if retirement && self.has_retirement_expired(core) {
            let preempt = self.wants_preempt(core);
            return PolicySuggestion::preempt(
                "retirement has ended",
                PreChangeAction::RetirementExpired { preempt },
            );
        }
        let want_suspend = self.wants_suspend(core);
        let preempt_was_true = self.claims.current.as_ref().is_some_and(|claim| claim.preempt_was_true);
        // PREEMPT is not evaluated in Busy if WANT_SUSPEND is true: SUSPEND must become true first.
        let is_evaluated = match activity {
            Activity::Busy => !want_suspend,
            Activity::Retiring => !preempt_was_true && !want_suspend,
            Activity::Suspended => !preempt_was_true,
            _ => false,
        };
        if is_evaluated && self.wants_preempt(core) {
            return PolicySuggestion::stay_claimed(
                Activity::Retiring,
                PolicyValue::is_true("PREEMPT"),
                PreChangeAction::RetireForGood,
            );
        }
        if activity == Activity::Retiring {
            if self.can_unretire(core) {
                return PolicySuggestion::stay_claimed(
                    Activity::Busy,
                    "unretiring because no preempting claim exists",
                    PreChangeAction::Nothing,
                );
            }
            if self.has_retirement_expired(core) {
                return PolicySuggestion::preempt(
                    "retirement has ended",
                    PreChangeAction::RetirementExpired { preempt: false },
                );
            }
        }
        if matches!(activity, Activity::Busy | Activity::Retiring)
            && want_suspend
            && self.eval_boolean_by_universe(core, by_universe!("SUSPEND")) == Some(true)
        {
            return PolicySuggestion::stay_claimed(
                Activity::Suspended,
                PolicyValue::is_true("SUSPEND"),
                PreChangeAction::Nothing,
            );
        }
        if activity == Activity::Suspended
            && !self.claims.suspended_by_command
            && self.eval_boolean_by_universe(core, by_universe!("CONTINUE")) == Some(true)
        {
            return if retirement {
                PolicySuggestion::stay_claimed(
                    Activity::Retiring,
                    PolicyValue::is_true("CONTINUE"),
                    PreChangeAction::BetterClaim,
                )
            } else {
                PolicySuggestion::stay_claimed(
                    Activity::Busy,
                    PolicyValue::is_true("CONTINUE"),
                    PreChangeAction::Nothing,
                )
            };
        }
        if activity == Activity::Busy && self.has_better_claim(core) {
            let reason = match self.is_outranked() {
                true => "retiring for a claim of higher rank",
                false => "retiring for a claim of the same rank",
            };
            return PolicySuggestion::stay_claimed(Activity::Retiring, reason, PreChangeAction::BetterClaim);
        }
        let ends = if activity == Activity::Idle { self.idle_claim_end_reason(core) } else { None };
        ends.and_then(|reason| PolicySuggestion::preempt(reason, PreChangeAction::Nothing))
    }

    /// Returns why an idle claim ends, or `None` if it does not end.
    fn idle_claim_end_reason(&self, core: &mut ExecutionPointState) -> Option<ChangeReason> {
        if self.has_better_claim(core) {
            return Some("preempting an idle claim".into());
        }
        if self.is_owner(core) {
            return Some(PolicyValue::is_true("IS_OWNER").into());
        }
        if self.leaves_for_false_start(core) {
            return Some(PolicyValue::is_false("START").into());
        }
        if self.has_worklife_expired(core) {
            return Some("CLAIM_WORKLIFE of the idle claim has expired".into());
        }
        // A new claim is still waiting for its activation (`waitingForActivation`).
        let young = || {
            let age = self.claims.current.as_ref().map_or(0, |claim| claim.age(core.now));
            age < core.settings.draining_activation_delay
        };
        (core.drain.is_draining() && !self.is_accepting_while_draining(core) && !young())
            .then(|| "draining".into())
    }

    /// Evaluates the policy (`eval_state`): makes the change that a rule requires, or else takes the periodic actions.
    pub(super) fn evaluate_policy(&mut self, core: &mut ExecutionPointState) {
        match self.suggest_change(core) {
            Some(suggestion) => {
                if let Some(change) = self.prepare_change(core, suggestion) {
                    self.make_change(core, change);
                }
            }
            None => self.run_periodic_actions(core),
        }
    }

    /// Takes the action before a suggested change, and returns the change to make (`change_to_suggested_state`).
    pub(super) fn prepare_change(
        &mut self,
        core: &mut ExecutionPointState,
        suggestion: PolicySuggestion,
    ) -> Option<StateChange> {
        let PolicySuggestion { state, mut activity, reason, pre_change_action: extra } = suggestion;
        let cause = match (&extra, self.activity) {
            (PreChangeAction::RetirementExpired { .. }, _) => ChangeCause::RetirementEnded,
            (PreChangeAction::BetterClaim, Activity::Suspended) => ChangeCause::ContinuedInRetirement,
            _ => ChangeCause::Other,
        };
        match extra {
            PreChangeAction::Nothing => {}
            PreChangeAction::Delete => {
                core.slots_to_remove.push(self.key);
                return None;
            }
            PreChangeAction::RetirementExpired { preempt } => {
                if let Some(claim) = self.claims.current.as_mut().filter(|_| preempt) {
                    claim.preempt_was_true = true;
                }
            }
            PreChangeAction::RetireForGood => {
                if let Some(claim) = &mut self.claims.current {
                    claim.preempt_was_true = true;
                }
                let why = VacateReason::new(
                    "PREEMPT expression evaluated to True",
                    HoldCode::StartdPreemptExpression,
                );
                return self.begin_retirement(core, false, why, reason);
            }
            PreChangeAction::BetterClaim => self.set_better_claim_reason(core),
            PreChangeAction::EvictBackfill => self.history.state_after_backfill = Some(SlotState::Owner),
        }
        if state == SlotState::Preempting && self.state != SlotState::Preempting {
            activity = self.preempting_activity(core);
        }
        Some(StateChange::new(state, activity, reason).with_cause(cause))
    }

    /// True if no claim waits, or the waiting claim has a higher rank than the current one; false if the ranks are equal and the
    /// waiting claim's user has a better priority.
    pub(super) fn is_outranked(&self) -> bool {
        self.claims.waiting.as_ref().is_none_or(|claim| claim.outranks_current)
    }

    /// Sets the job's vacate reason if a better claim waits.
    pub(super) fn set_better_claim_reason(&mut self, core: &mut ExecutionPointState) {
        let by_rank = self.is_outranked();
        if self.has_better_claim(core)
            && let Some(claim) = &mut self.claims.current
        {
            claim.vacate_reason = Some(if by_rank {
                VacateReason::new("Preempted for a higher Ranked job", HoldCode::StartdPreemptingClaimRank)
            } else {
                VacateReason::new("Preempted for a Priority user", HoldCode::StartdPreemptingClaimUserPrio)
            });
        }
    }

    /// Takes the periodic actions, if no policy rule applies (`ResState::eval_policy_periodic`).
    fn run_periodic_actions(&mut self, core: &mut ExecutionPointState) {
        match self.state {
            SlotState::Claimed if self.activity != Activity::Cleaning => {
                if self.activity != Activity::Suspended {
                    self.try_fetch(core);
                }
                self.restore_requirements(core);
            }
            SlotState::Unclaimed => {
                self.start_due_benchmarks(core);
                self.try_fetch(core);
                self.restore_requirements(core);
            }
            SlotState::Owner => self.try_fetch(core),
            SlotState::Drained if self.is_accepting_while_draining(core) => self.try_fetch(core),
            SlotState::Backfill if self.activity != Activity::Killing => {
                self.try_fetch(core);
                if self.activity == Activity::Idle {
                    self.start_backfill(core);
                }
            }
            _ => {}
        }
    }

    /// Returns the reason for holding a preempted job if WANT_HOLD is true, or `None` (`Resource::eval_preempt`).
    pub(super) fn hold_reason(&self, core: &mut ExecutionPointState) -> Option<VacateReason> {
        let preempted = self.claims.current.as_ref().is_some_and(|claim| claim.preempt_was_true);
        if !preempted || self.eval_boolean(core, "WANT_HOLD") != Some(true) {
            return None;
        }
        let (text, subcode) = self.eval_in_slot_ad(core, self.job(), |context| {
            (context.string("WANT_HOLD_REASON"), context.int("WANT_HOLD_SUBCODE"))
        });
        let text = match text {
            Some(text) if !text.is_empty() => text.to_string(),
            _ => {
                let expression =
                    self.ads.live.get("WANT_HOLD").map(|expr| expr.unparse().to_string()).unwrap_or_default();
                format!(
                    "The startd put this job on hold.  (At preemption time, WANT_HOLD evaluated to true: WANT_HOLD = {expression})"
                )
            }
        };
        Some(VacateReason { text, code: HoldCode::StartdHeldJob as i32, subcode: subcode.unwrap_or(0) })
    }

    /// True if the slot must be evaluated every POLLING_INTERVAL (`needsPolling`).
    pub(super) fn needs_polling(&self) -> bool {
        match self.state {
            SlotState::Claimed | SlotState::Preempting => self.kind != SlotKind::Partitionable,
            SlotState::Backfill => true,
            _ => false,
        }
    }

    /// True if STARTD_NOCLAIM_SHUTDOWN treats the slot as claimed (`hasAnyClaim`).
    pub(super) fn is_claimed(&self) -> bool {
        matches!(self.state, SlotState::Claimed | SlotState::Preempting)
            || (self.state == SlotState::Backfill && self.activity != Activity::Idle)
    }

    /// True if the execution point must wait for the slot before it can shut down.
    pub(super) fn is_blocking_shutdown(&self, how: Option<ShutdownMode>) -> bool {
        how.is_none() || self.is_active() || matches!(self.state, SlotState::Claimed | SlotState::Preempting)
    }
}
