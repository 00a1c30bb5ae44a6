//! Limits on the depth and steps of an evaluation: operators and references nest as deep as in the reference, the
//! number of steps is limited, and nested evaluations, which the reference does not limit, have a limit of their own.

use crate::eval::computed_value::EvalFailure;

/// Maximum nesting of operators and references.
const MAX_DEPTH: i32 = 400;
/// Maximum number of steps of one evaluation.
const MAX_STEPS: i64 = 10_000_000;
/// Maximum number of steps of an evaluation and its nested evaluations together.
const MAX_TOTAL_STEPS: i64 = 4 * MAX_STEPS;
/// Maximum nesting of evaluations with fresh budgets.
const MAX_FRESH_NESTING: u32 = 100;

/// Remaining depth and steps of an evaluation.
#[derive(Debug)]
pub(super) struct EvalBudget {
    depth: i32,
    steps: i64,
    total_steps: i64,
    fresh_nesting: u32,
}

/// Saved budget of the outer evaluation during a nested one.
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

    /// Spends steps of work; fails if none are left.
    #[inline]
    pub(super) fn spend_steps(&mut self, count: i64) -> Result<(), EvalFailure> {
        self.steps -= count;
        if self.steps < 0 { Err(EvalFailure) } else { Ok(()) }
    }

    /// Refunds a step that was counted twice.
    #[inline]
    pub(super) fn refund_step(&mut self) {
        self.steps += 1;
    }

    /// Returns true if `count` more levels may be entered.
    #[inline]
    pub(super) fn has_levels(&self, count: i32) -> bool {
        self.depth >= count
    }

    /// Fails if the reference would not go any deeper.
    #[inline]
    pub(super) fn check_level(&self) -> Result<(), EvalFailure> {
        if self.has_levels(1) { Ok(()) } else { Err(EvalFailure) }
    }

    /// Enters a level. The caller has checked that one is left and calls [`EvalBudget::leave_level`] afterwards.
    #[inline]
    pub(super) fn enter_level(&mut self) {
        self.depth -= 1;
    }

    /// Leaves a level.
    #[inline]
    pub(super) fn leave_level(&mut self) {
        self.depth += 1;
    }

    /// Begins a nested evaluation with fresh depth and steps; fails if evaluations are nested too deeply.
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

    /// Continues the outer evaluation.
    pub(super) fn end_nested_evaluation(&mut self, outer: &OuterBudget) {
        self.total_steps -= outer.granted - self.steps.max(0);
        self.depth = outer.depth;
        self.steps = outer.steps.min(self.total_steps);
        self.fresh_nesting -= 1;
    }
}
