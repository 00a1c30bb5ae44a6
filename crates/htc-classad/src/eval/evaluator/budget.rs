//! The one guard of an evaluation's depth and steps: operators and references nest as deep as the reference lets them, an
//! evaluation takes so many steps, and where the reference starts afresh without any bound ours has one of its own.

use crate::eval::computed_value::EvalFailure;

/// Operators and references that may be under way at once.
const MAX_DEPTH: i32 = 400;
/// Nodes that one evaluation may visit.
const MAX_STEPS: i64 = 10_000_000;
/// Nodes that an evaluation and those that it starts afresh may visit together.
const MAX_TOTAL_STEPS: i64 = 4 * MAX_STEPS;
/// Evaluations that may be started afresh within one another.
const MAX_FRESH_NESTING: u32 = 100;

/// What an evaluation may still do.
#[derive(Debug)]
pub(super) struct EvalBudget {
    depth: i32,
    steps: i64,
    total_steps: i64,
    fresh_nesting: u32,
}

/// What the evaluation around one that was started afresh had left.
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

    /// Counts steps of work.
    #[inline]
    pub(super) fn spend_steps(&mut self, count: i64) -> Result<(), EvalFailure> {
        self.steps -= count;
        if self.steps < 0 { Err(EvalFailure) } else { Ok(()) }
    }

    /// Takes a step back that was counted twice.
    #[inline]
    pub(super) fn refund_step(&mut self) {
        self.steps += 1;
    }

    /// Whether so many levels may be entered below this one.
    #[inline]
    pub(super) fn has_levels(&self, count: i32) -> bool {
        self.depth >= count
    }

    /// Fails where the reference would go no deeper.
    #[inline]
    pub(super) fn check_level(&self) -> Result<(), EvalFailure> {
        if self.has_levels(1) { Ok(()) } else { Err(EvalFailure) }
    }

    /// Goes a level down. Whoever calls it has seen that there is one, and comes back by [`EvalBudget::leave_level`].
    #[inline]
    pub(super) fn enter_level(&mut self) {
        self.depth -= 1;
    }

    /// Comes back from a level.
    #[inline]
    pub(super) fn leave_level(&mut self) {
        self.depth += 1;
    }

    /// Begins an evaluation with depth and steps of its own within this one.
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

    /// Goes on with the evaluation around.
    pub(super) fn end_nested_evaluation(&mut self, outer: &OuterBudget) {
        self.total_steps -= outer.granted - self.steps.max(0);
        self.depth = outer.depth;
        self.steps = outer.steps.min(self.total_steps);
        self.fresh_nesting -= 1;
    }
}
