//! Constant parts of expressions.

use htc_base::world::World;
use htc_classad::{Context, Expr, ExprKind, Value};

/// Maximum depth to which an expression is searched for references.
const MAX_DEPTH: usize = 40;

/// Returns the value of a literal, or of a calculation that contains only numbers, such as `18 * 60`; `None` for all
/// other expressions.
pub(super) fn constant_value(expr: &Expr, world: &dyn World) -> Option<Value> {
    if let Some(literal) = expr.without_parentheses().as_literal() {
        return Some(literal);
    }
    if !is_calculation(expr, 0) {
        return None;
    }
    Some(Context::new(world).eval(expr)).filter(|value| matches!(value, Value::Int(_) | Value::Real(_)))
}

/// Returns the value of an expression that is always the same number, or `None`.
#[expect(clippy::cast_precision_loss, reason = "the numbers are only compared with limits")]
pub(super) fn constant_number(expr: &Expr, world: &dyn World) -> Option<f64> {
    match constant_value(expr, world)? {
        Value::Int(number) => Some(number as f64),
        Value::Real(number) => Some(number).filter(|number| number.is_finite()),
        _ => None,
    }
}

fn is_calculation(expr: &Expr, depth: usize) -> bool {
    match expr.kind() {
        ExprKind::Literal(value) => matches!(value, Value::Int(_) | Value::Real(_)),
        ExprKind::Other(parts) => {
            let is_arithmetic = matches!(expr.operator(), Some("+" | "-" | "*" | "/" | "%"));
            is_arithmetic && depth < MAX_DEPTH && parts.iter().all(|part| is_calculation(part, depth + 1))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    #[test]
    fn calculations_with_numbers_are_constants() {
        let number = |text: &str| constant_number(&Expr::parse(text).unwrap(), &RealWorld::new());
        assert_eq!(number("18 * 60"), Some(1080.0));
        assert_eq!(number("-(5 + 1.5)"), Some(-6.5));
        for other in ["Memory * 2", "time()", "1 / 0", "\"a\"", "true"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
