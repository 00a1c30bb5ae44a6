//! Conditions that can never be true, because no value of an attribute makes two of their clauses true.

use bstr::BString;
use htc_base::world::World;
use htc_classad::explain::{conjuncts, disjuncts};
use htc_classad::{Expr, ExprKind, Value};

use super::constants::constant_value;

/// Bound that a clause sets for an attribute.
#[derive(Clone, Debug)]
struct Bound {
    /// The attribute in lower case, with its scope.
    attribute: BString,
    relation: Relation,
    value: BoundValue,
    clause: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Debug, PartialEq)]
enum BoundValue {
    Number(f64),
    Text(Vec<u8>),
}

/// Returns the first two clauses of a condition that exclude each other, and true if the condition has no other
/// alternative that could be true.
pub(super) fn find_contradiction(expr: &Expr, world: &dyn World) -> Option<(Expr, Expr, bool)> {
    const MAX_ALTERNATIVES: usize = 64;
    let alternatives = disjuncts(expr);
    if alternatives.len() > MAX_ALTERNATIVES {
        return None;
    }
    let is_only = alternatives.len() == 1;
    alternatives.iter().find_map(|alternative| {
        let (first, second) = find_in_conjunction(alternative, world)?;
        Some((first, second, is_only))
    })
}

fn find_in_conjunction(expr: &Expr, world: &dyn World) -> Option<(Expr, Expr)> {
    const MAX_CLAUSES: usize = 64;
    let clauses = conjuncts(expr);
    if clauses.len() > MAX_CLAUSES {
        return None;
    }
    let bounds: Vec<Bound> = clauses.iter().filter_map(|clause| read_bound(clause, world)).collect();
    bounds.iter().enumerate().find_map(|(at, second)| {
        let first = bounds[..at].iter().find(|first| excludes(first, second))?;
        Some((first.clause.clone(), second.clause.clone()))
    })
}

fn read_bound(clause: &Expr, world: &dyn World) -> Option<Bound> {
    let ExprKind::Compare(operator, left, right) = clause.kind() else { return None };
    let (reference, literal, is_flipped) = match (left.without_parentheses(), right.without_parentheses()) {
        (left, right) if left.is_reference() => (left, right, false),
        (left, right) if right.is_reference() => (right, left, true),
        _ => return None,
    };
    let value = match constant_value(&literal, world)? {
        Value::Int(number) => BoundValue::Number(number as f64),
        Value::Real(number) => BoundValue::Number(number),
        Value::Str(text) => BoundValue::Text(text.to_ascii_lowercase()),
        _ => return None,
    };
    let relation = match (operator, is_flipped) {
        ("==" | "=?=", _) => Relation::Equal,
        ("<", false) | (">", true) => Relation::Less,
        ("<=", false) | (">=", true) => Relation::LessEqual,
        (">", false) | ("<", true) => Relation::Greater,
        (">=", false) | ("<=", true) => Relation::GreaterEqual,
        _ => return None,
    };
    let attribute = reference.unparse().to_ascii_lowercase().into();
    Some(Bound { attribute, relation, value, clause: clause.clone() })
}

/// True if no value of the attribute satisfies both bounds.
fn excludes(first: &Bound, second: &Bound) -> bool {
    if first.attribute != second.attribute {
        return false;
    }
    match (&first.value, &second.value) {
        (BoundValue::Text(a), BoundValue::Text(b)) => {
            first.relation == Relation::Equal && second.relation == Relation::Equal && a != b
        }
        (BoundValue::Number(a), BoundValue::Number(b)) => {
            excludes_number(first.relation, *a, second.relation, *b)
                || excludes_number(second.relation, *b, first.relation, *a)
        }
        _ => false,
    }
}

/// True if `x FIRST a` and `x SECOND b` are never both true. Only an equality or a lower bound is recognized as the
/// first; the caller tries both orders.
fn excludes_number(first: Relation, a: f64, second: Relation, b: f64) -> bool {
    match (first, second) {
        (Relation::Equal, Relation::Equal) => a != b,
        (Relation::Equal, Relation::Less) => a >= b,
        (Relation::Equal, Relation::LessEqual) => a > b,
        (Relation::Equal, Relation::Greater) => a <= b,
        (Relation::Equal, Relation::GreaterEqual) => a < b,
        (Relation::Greater, Relation::Less | Relation::LessEqual)
        | (Relation::GreaterEqual, Relation::Less) => a >= b,
        (Relation::GreaterEqual, Relation::LessEqual) => a > b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn contradiction_in(text: &str) -> Option<(String, String, bool)> {
        let expr = Expr::parse(text.as_bytes()).unwrap();
        find_contradiction(&expr, &RealWorld::new()).map(|(a, b, only)| (a.to_string(), b.to_string(), only))
    }

    #[test]
    fn clauses_that_exclude_one_another_are_found() {
        for wrong in [
            "JobStatus == 5 && JobStatus == 2",
            "Memory > 10 && Memory < 5",
            "Memory > 10 && (Owner == \"ann\" && 10 >= Memory)",
            "State == \"Claimed\" && state == \"Owner\"",
            "5 < X && X == 5",
        ] {
            assert!(contradiction_in(wrong).is_some_and(|(.., only)| only), "{wrong}");
        }
        assert!(contradiction_in("A == 1 || B == 1 && B == 2").is_some_and(|(.., only)| !only));
    }

    #[test]
    fn clauses_that_can_be_true_together_are_not_reported() {
        for good in [
            "Memory > 5 && Memory < 10",
            "Memory >= 5 && Memory <= 5",
            "JobStatus == 5 || JobStatus == 2",
            "MY.Memory > 10 && TARGET.Memory < 5",
            "Owner == \"ann\" && Owner == \"ANN\"",
            "X != 5 && X == 5.5",
        ] {
            assert_eq!(contradiction_in(good), None, "{good}");
        }
    }
}
