//! Outcomes of a condition if the outcomes of some of its parts are known.

use htc_classad::{Expr, ExprKind, Truth};

use super::condition_outcomes::OutcomeSet;

/// Maximum depth to which a condition is examined.
const MAX_DEPTH: usize = 100;

/// Returns the outcomes that a condition may have. `known` returns the outcomes of a part, or `None` if nothing is
/// known about it.
pub(super) fn possible_outcomes(expr: &Expr, known: &dyn Fn(&Expr) -> Option<OutcomeSet>) -> OutcomeSet {
    outcomes(expr, known, 0)
}

fn outcomes(expr: &Expr, known: &dyn Fn(&Expr) -> Option<OutcomeSet>, depth: usize) -> OutcomeSet {
    if depth > MAX_DEPTH {
        return OutcomeSet::ANY;
    }
    let part = |expr: &Expr| outcomes(expr, known, depth + 1);
    match expr.kind() {
        ExprKind::And(left, right) => part(&left).combine(part(&right), |left, right| left.and(|| right)),
        ExprKind::Or(left, right) => part(&left).combine(part(&right), |left, right| left.or(|| right)),
        ExprKind::Not(operand) => part(&operand).negate(),
        ExprKind::Conditional(condition, first, second) => {
            part(&condition).choose(|| part(&first), || part(&second))
        }
        ExprKind::Literal(value) => OutcomeSet::of(Truth::of_value(&value)),
        _ => known(expr).unwrap_or(OutcomeSet::ANY),
    }
}
