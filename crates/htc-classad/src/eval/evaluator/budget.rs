//! Limits on the depth and steps of an evaluation. Operators and references may nest as deeply as in the reference,
//! and the number of steps is limited. Nested evaluations, which the reference does not limit, have a limit as well.

use crate::eval::computed_value::EvalFailure;

/// Maximum nesting depth of operators and references.
const MAX_DEPTH: i32 = 400;
/// Maximum number of steps of one evaluation, without nested evaluations.
const MAX_STEPS: i64 = 10_000_000;
/// Maximum number of steps of an evaluation including its nested evaluations.
const MAX_TOTAL_STEPS: i64 = 4 * MAX_STEPS;
/// Maximum nesting depth of evaluations that have limits of their own.
const MAX_FRESH_NESTING: u32 = 100;

/// Remaining depth and steps of an evaluation.
#[derive(Debug)]
pub(super) struct EvalBudget {
    depth: i32,
    steps: i64,
    total_steps: i64,
    fresh_nesting: u32,
}

/// Remaining depth and steps of the outer evaluation, saved during a nested evaluation.
#[derive(Debug)]
pub(super) struct OuterBudget {
    depth: i32,
    steps: i64,
    granted: i64,
}

impl EvalBudget {
    pub(super) fn new() -> Self {
        EvalBudget { depth: MAX_DEPTH, steps: MAX_STEPS, total_steps: MAX_TOTAL_STEPS, fresh_nesting: 0 }
    }

    /// Subtracts steps from the remaining steps. Fails if none are left.
    #[inline]
    pub(super) fn spend_steps(&mut self, count: i64) -> Result<(), EvalFailure> {
        self.steps -= count;
        if self.steps < 0 { Err(EvalFailure) } else { Ok(()) }
    }

    /// Adds one step to the remaining steps, because it was counted twice.
    #[inline]
    pub(super) fn refund_step(&mut self) {
        self.steps += 1;
    }

    /// Returns true if the evaluation can become deeper by `count` levels.
    #[inline]
    pub(super) fn has_levels(&self, count: i32) -> bool {
        self.depth >= count
    }

    /// Fails if the maximum depth of the reference is reached.
    #[inline]
    pub(super) fn check_level(&self) -> Result<(), EvalFailure> {
        if self.has_levels(1) { Ok(()) } else { Err(EvalFailure) }
    }

    /// Subtracts one level from the remaining depth. The caller has checked that a level is left, and later calls
    /// [`EvalBudget::leave_level`].
    #[inline]
    pub(super) fn enter_level(&mut self) {
        self.depth -= 1;
    }

    /// Adds one level to the remaining depth.
    #[inline]
    pub(super) fn leave_level(&mut self) {
        self.depth += 1;
    }

    /// Begins a nested evaluation, which has its own depth and steps. Fails if too many evaluations are nested.
    pub(super) fn begin_nested_evaluation(&mut self) -> Result<OuterBudget, EvalFailure> {
        if self.fresh_nesting >= MAX_FRESH_NESTING {
            return Err(EvalFailure);
        }
        self.fresh_nesting += 1;
        let granted = MAX_STEPS.min(self.total_steps);
        let outer = OuterBudget { depth: self.depth, steps: self.steps, granted };
        (self.depth, self.steps) = (MAX_DEPTH, granted);
        Ok(outer)
    }

    /// Restores the remaining depth and steps of the outer evaluation.
    pub(super) fn end_nested_evaluation(&mut self, outer: &OuterBudget) {
        self.total_steps -= outer.granted - self.steps.max(0);
        self.depth = outer.depth;
        self.steps = outer.steps.min(self.total_steps);
        self.fresh_nesting -= 1;
    }
}
