//! Operands of an operator other than the intended one.

use bstr::{BString, ByteSlice};
use htc_base::text::caseless;
use htc_classad::{Expr, ExprKind, Value};
use htc_config::Advice;
use htc_config::lint_rule::LintRule;

use super::expression_parts::for_each_part;

/// Mistake in a part of an expression: rule, text of the part, message, correction.
pub(super) type PartProblem = (LintRule, BString, String, Option<Advice>);

/// True if a name in an expression is an operand of `*` or `/`: `15 * MINUTE`.
pub(super) fn is_factor(raw: &[u8], name: &[u8]) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || b"_.".contains(b));
    let lower = raw.to_ascii_lowercase();
    let lower_name = name.to_ascii_lowercase();
    let places = lower.find_iter(&lower_name);
    let mut places = places.filter(|&at| {
        let before = at.checked_sub(1).and_then(|before| raw.get(before));
        !is_part(before) && !is_part(raw.get(at + name.len()))
    });
    let is_product = |at: usize| {
        let before = raw[..at].trim_end_with(|c| c == '(' || c.is_whitespace()).last();
        let after = raw[at + name.len()..].trim_start().first();
        before.is_some_and(|byte| b"*/".contains(byte)) || after == Some(&b'*')
    };
    places.next().is_some_and(is_product) && places.all(is_product)
}

/// Finds a macro for a number of seconds that is compared with another number: `$(HOUR) > 18`.
pub(super) fn find_compared_period(expr: &Expr, raw: &[u8]) -> Option<PartProblem> {
    const PERIODS: [(&str, i64, &str); 2] =
        [("$(HOUR)", 3600, "ClockMin / 60"), ("$(MINUTE)", 60, "ClockMin % 60")];
    let mut found: Option<PartProblem> = None;
    for_each_part(expr, &mut |whole| {
        let ExprKind::Compare(operator, left, right) = whole.kind() else { return };
        let [left_number, right_number] = [&left, &right].map(|side| side.without_parentheses().as_literal());
        let (Some(Value::Int(first)), Some(Value::Int(second)), true) =
            (left_number, right_number, found.is_none())
        else {
            return;
        };
        let period = PERIODS.iter().find(|(reference, seconds, _)| {
            (*seconds == first || *seconds == second) && caseless::contains(raw, reference.as_bytes())
        });
        let Some((reference, seconds, clock)) = period else { return };
        let part = whole.unparse();
        let is_true = match operator {
            "<" => first < second,
            "<=" => first <= second,
            ">" => first > second,
            ">=" => first >= second,
            "==" | "=?=" => first == second,
            _ => first != second,
        };
        let message = format!("{reference} is {seconds}, so `{part}` is always {is_true}");
        let other = if *seconds == first { right.unparse() } else { left.unparse() };
        let fix = match *seconds == first {
            true => format!("write {clock} {operator} {other} for the time of day"),
            false => format!("write {other} {operator} {clock} for the time of day"),
        };
        found = Some((LintRule::ConstantComparison, part, message, Some(fix.into())));
    });
    found
}

/// Finds a calculation with the literal `undefined`: `A =?= undefined * 10`, in which `*` comes before `=?=`.
pub(super) fn find_calculation_with_undefined(expr: &Expr) -> Option<PartProblem> {
    let is_undefined =
        |part: &Expr| matches!(part.without_parentheses().as_literal(), Some(Value::Undefined));
    let mut found: Option<PartProblem> = None;
    for_each_part(expr, &mut |whole| {
        let ExprKind::Compare(comparison @ ("=?=" | "=!=" | "==" | "!="), left, right) = whole.kind() else {
            return;
        };
        let ExprKind::Other(operands) = right.kind() else { return };
        let Some(operator @ ("+" | "-" | "*" | "/" | "%")) = right.operator() else { return };
        let [first, second] = &operands[..] else { return };
        if found.is_some() || !is_undefined(first) {
            return;
        }
        let part = right.unparse();
        let message = format!("`{part}` is always undefined: {operator} is applied before {comparison}");
        let (left, second) = (left.unparse(), second.unparse());
        let fix = format!("write ({left} {comparison} undefined) {operator} {second}");
        found = Some((LintRule::MisleadingExpression, part, message, Some(fix.into())));
    });
    found
}

/// Finds a number other than 0 after `||`: it is treated as true, so the result is true whatever the other operand is.
pub(super) fn find_number_after_or(expr: &Expr) -> Option<PartProblem> {
    let mut found: Option<(Expr, Expr, f64)> = None;
    for_each_part(expr, &mut |part| {
        let ExprKind::Or(left, right) = part.kind() else { return };
        let number = match right.without_parentheses().as_literal() {
            Some(Value::Int(number)) => Some(number as f64),
            Some(Value::Real(number)) => Some(number),
            _ => None,
        };
        if let Some(number) = number.filter(|number| *number != 0.0) {
            found = found.take().or_else(|| Some((left, right, number)));
        }
    });
    let (left, right, number) = found?;
    // The nearest operand before the number. The number was probably intended as another value to compare it with.
    let nearest = match left.without_parentheses().kind() {
        ExprKind::Or(_, nearest) => nearest,
        _ => left,
    };
    let fix = match nearest.without_parentheses().kind() {
        ExprKind::Compare(operator, attribute, value)
            if value.without_parentheses().as_literal().is_some_and(|value| value.as_str().is_none()) =>
        {
            format!("write {} {operator} {number}", attribute.unparse())
        }
        _ => "write a condition, or true".to_owned(),
    };
    let message = format!("the number {number} after || is treated as true, so the result is always true");
    Some((LintRule::NeverFalse, right.unparse(), message, Some(fix.into())))
}
