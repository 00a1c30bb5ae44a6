//! Tests whether an attribute is defined.

use htc_classad::{Expr, ExprKind, Value};

/// Returns the expression that is tested: `X` for `isUndefined(X)`, `X is undefined` and `X isnt undefined`; `None` for
/// any other expression.
pub(super) fn tested_for_definition(expr: &Expr) -> Option<Expr> {
    match expr.kind() {
        ExprKind::Compare("=?=" | "=!=", left, right) => match (left.as_literal(), right.as_literal()) {
            (None, Some(Value::Undefined)) => Some(left),
            (Some(Value::Undefined), None) => Some(right),
            _ => None,
        },
        ExprKind::Call(function, arguments) => match &arguments[..] {
            [only] if function.eq_ignore_ascii_case(b"isUndefined") => Some(only.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// True if an expression is such a test, or the opposite of one.
pub(super) fn tests_definition(expr: &Expr) -> bool {
    let expr = expr.without_parentheses();
    match expr.kind() {
        ExprKind::Not(operand) => tested_for_definition(&operand.without_parentheses()).is_some(),
        _ => tested_for_definition(&expr).is_some(),
    }
}
