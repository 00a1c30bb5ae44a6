//! Terms of sums that have no effect: conditional expressions whose value is 0.
//!
//! WithinResourceLimits of 25.14 subtracts the size of catalogs from RequestDisk, which is 0 for jobs that use none.
//! A sentence about the comparison names only the terms that have an effect.

use htc_classad::{Context, Expr, ExprKind, Value};

/// Returns an operand without the conditional terms that are 0.
pub(super) fn without_zero_terms(context: &Context<'_>, operand: &Expr) -> Expr {
    let sum = operand.without_parentheses();
    let parts = sum.parts();
    match (sum.operator(), &parts[..]) {
        (Some("+" | "-"), [kept, term]) if is_conditional(term) && is_zero(&context.eval(term)) => {
            without_zero_terms(context, kept).without_parentheses()
        }
        _ => operand.clone(),
    }
}

/// Returns a comparison without the conditional terms that are 0, and any other expression unchanged.
pub(super) fn simplify_comparison(context: &Context<'_>, part: Expr) -> Expr {
    let ExprKind::Compare(operator, left, right) = part.kind() else { return part };
    let [new_left, new_right] = [&left, &right].map(|operand| without_zero_terms(context, operand));
    if new_left.is_same_object(&left) && new_right.is_same_object(&right) {
        return part;
    }
    let text = format!("{} {operator} {}", new_left.unparse(), new_right.unparse());
    Expr::parse(text.as_bytes()).unwrap_or(part)
}

fn is_conditional(term: &Expr) -> bool {
    matches!(term.without_parentheses().kind(), ExprKind::Conditional(..))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number == 0,
        Value::Real(number) => *number == 0.0,
        _ => false,
    }
}
