//! Boundaries of comparisons: the values for which they just become true.

use htc_classad::Value;

/// Returns the operator after exchanging the operands.
pub(super) fn mirror_operator(operator: &str) -> &str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

/// Returns the value nearest to a boundary for which `value OPERATOR boundary` is true, or `None`.
pub(super) fn boundary(operator: &str, at: &Value, is_whole: bool) -> Option<Value> {
    let whole = |number: f64| (number.abs() < 9e15).then_some(Value::Int(number as i64));
    match (operator, at) {
        ("==" | "=?=", value) => Some(value.clone()),
        ("<=", Value::Real(real)) if is_whole => whole(real.floor()),
        (">=", Value::Real(real)) if is_whole => whole(real.ceil()),
        ("<=" | ">=", Value::Int(_) | Value::Real(_)) => Some(at.clone()),
        ("<", Value::Int(number)) => number.checked_sub(1).map(Value::Int),
        (">", Value::Int(number)) => number.checked_add(1).map(Value::Int),
        ("<", Value::Real(real)) => whole(real.ceil() - 1.0),
        (">", Value::Real(real)) => whole(real.floor() + 1.0),
        _ => None,
    }
}
