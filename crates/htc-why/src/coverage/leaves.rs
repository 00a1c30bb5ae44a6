//! Parts of conditions that contain no logical operators.

use super::goal::{Goal, WantedOutcomes, comparison_with_boolean, is_logical_operator};
use htc_classad::{Expr, ExprKind, explain};

/// Part of a condition without logical operators. The goals are those for the other parts: if an ad meets them, this
/// part decides the result of the condition.
#[derive(Clone, Debug)]
pub(super) struct ConditionLeaf {
    /// Goal for this part; its wanted outcomes are replaced when it is used.
    pub(super) goal: Goal,
    pub(super) sibling_goals: Vec<Goal>,
    /// True if the part is used as a condition, false if it is a string or number used in a computation.
    pub(super) is_condition: bool,
}

/// Maximum number of parts of one expression.
const MAX_LEAVES: usize = 400;
/// Maximum nesting depth of an expression.
const MAX_DEPTH: usize = 100;

/// Parts of an expression without logical operators.
#[derive(Default)]
pub(super) struct ConditionLeaves {
    pub(super) leaves: Vec<ConditionLeaf>,
    /// True if the expression has more parts than the maximum.
    pub(super) is_truncated: bool,
    sibling_goals: Vec<Goal>,
    depth: usize,
}

impl ConditionLeaves {
    /// Returns the parts of an expression, which may be a condition itself.
    pub(super) fn from_expr(expr: &Expr, is_condition: bool) -> Self {
        let mut leaves = ConditionLeaves::default();
        leaves.walk(expr, is_condition);
        leaves
    }

    fn walk(&mut self, expr: &Expr, is_condition: bool) {
        if self.leaves.len() >= MAX_LEAVES || self.depth >= MAX_DEPTH {
            self.is_truncated = true;
            return;
        }
        self.depth += 1;
        match expr.kind() {
            ExprKind::And(..) => {
                self.add_unsplit(expr);
                self.walk_operands(&explain::conjuncts(expr), WantedOutcomes::TRUE);
            }
            ExprKind::Or(..) => {
                self.add_unsplit(expr);
                self.walk_operands(&explain::disjuncts(expr), WantedOutcomes::FALSE_OR_UNDEFINED);
            }
            ExprKind::Not(operand) => self.walk(&operand, true),
            ExprKind::Conditional(condition, first, second) => {
                self.walk(&condition, true);
                self.walk_with_siblings(&[Goal::new(&condition, WantedOutcomes::TRUE)], &first, is_condition);
                self.walk_with_siblings(
                    &[Goal::new(&condition, WantedOutcomes::FALSE)],
                    &second,
                    is_condition,
                );
            }
            ExprKind::Compare(sign, left, right) => match comparison_with_boolean(sign, &left, &right) {
                Some((inner, _)) if is_logical_operator(&inner) => self.walk(&inner, true),
                _ => {
                    self.add_leaf(expr, true);
                    self.walk_parts(&[left, right]);
                }
            },
            // Conditions may be operands of a computation, as in `0 + (A > 1)`.
            ExprKind::Other(parts) | ExprKind::Call(_, parts) => {
                self.add_leaf(expr, is_condition);
                self.walk_parts(&parts);
            }
            ExprKind::Literal(_) | ExprKind::Reference | ExprKind::Select(..) => {
                self.add_leaf(expr, is_condition)
            }
        }
        self.depth -= 1;
    }

    /// Visits each operand. Goals for the other operands ensure that this operand decides the result.
    fn walk_operands(&mut self, operands: &[Expr], others: WantedOutcomes) {
        let goals: Vec<Goal> = operands.iter().map(|expr| Goal::new(expr, others)).collect();
        for (at, operand) in operands.iter().enumerate() {
            let other_goals = [&goals[..at], &goals[at + 1..]].concat();
            self.walk_with_siblings(&other_goals, operand, true);
        }
    }

    fn walk_with_siblings(&mut self, goals: &[Goal], expr: &Expr, is_condition: bool) {
        let before = self.sibling_goals.len();
        self.sibling_goals.extend_from_slice(goals);
        self.walk(expr, is_condition);
        self.sibling_goals.truncate(before);
    }

    /// Adds a part with logical operators as a whole: tests must make it true and false, which tests of its parts do
    /// not guarantee.
    fn add_unsplit(&mut self, expr: &Expr) {
        if self.depth > 1 {
            self.add_leaf(expr, true);
        }
    }

    fn walk_parts(&mut self, parts: &[Expr]) {
        parts.iter().filter(|part| has_condition(part)).for_each(|part| self.walk(part, false));
    }

    fn add_leaf(&mut self, expr: &Expr, is_condition: bool) {
        let goal = Goal::new(&expr.without_parentheses(), WantedOutcomes::TRUE);
        if !goal.attributes.is_empty() || is_volatile(expr) {
            self.leaves.push(ConditionLeaf { goal, sibling_goals: self.sibling_goals.clone(), is_condition });
        }
    }
}

/// Returns true if the value depends on the time or on random numbers, so that the ad alone does not determine it.
fn is_volatile(expr: &Expr) -> bool {
    match expr.kind() {
        ExprKind::Call(name, parts) => {
            let is_volatile_call = name.eq_ignore_ascii_case(b"time") || name.eq_ignore_ascii_case(b"random");
            let formats_current_time = name.eq_ignore_ascii_case(b"formatTime") && parts.is_empty();
            is_volatile_call || formats_current_time || parts.iter().any(is_volatile)
        }
        ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Compare(_, a, b) => {
            is_volatile(&a) || is_volatile(&b)
        }
        ExprKind::Not(operand) | ExprKind::Select(operand, _) => is_volatile(&operand),
        ExprKind::Conditional(a, b, c) => [a, b, c].iter().any(is_volatile),
        ExprKind::Other(parts) => parts.iter().any(is_volatile),
        ExprKind::Literal(_) | ExprKind::Reference => false,
    }
}

/// Returns true if an expression is a condition or contains one.
fn has_condition(expr: &Expr) -> bool {
    match expr.kind() {
        ExprKind::And(..)
        | ExprKind::Or(..)
        | ExprKind::Not(_)
        | ExprKind::Conditional(..)
        | ExprKind::Compare(..) => true,
        ExprKind::Call(_, parts) | ExprKind::Other(parts) => parts.iter().any(has_condition),
        ExprKind::Select(base, _) => has_condition(&base),
        ExprKind::Literal(_) | ExprKind::Reference => false,
    }
}
