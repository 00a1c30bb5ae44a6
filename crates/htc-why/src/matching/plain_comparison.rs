//! Comparisons of two numbers, which need no hint: the numbers explain why they are not true.

use htc_classad::{ClassAd, Expr, ExprKind, Value};

use super::clauses::{ClauseSide, Reference};

/// Names whose values are explained although they are numbers.
const EXPLAINED_NAMES: [&str; 3] = ["ClockMin", "ClockDay", "CurrentTime"];

/// Comparison whose operands are names and numbers.
pub(super) struct PlainComparison {
    references: Vec<Reference>,
}

impl PlainComparison {
    /// Returns the comparison, or `None` if an expression is anything else.
    pub(super) fn parse(expr: &Expr) -> Option<Self> {
        let ExprKind::Compare("<" | "<=" | ">" | ">=" | "==" | "!=", left, right) = expr.kind() else {
            return None;
        };
        let mut references = Vec::new();
        for operand in [left, right] {
            match operand.as_literal() {
                Some(value) if is_number(&value) => {}
                Some(_) => return None,
                None => references.push(Reference::parse(&operand)?),
            }
        }
        let is_explained = |it: &Reference| EXPLAINED_NAMES.iter().any(|name| it.name == **name);
        (!references.iter().any(is_explained)).then_some(PlainComparison { references })
    }

    /// Returns true if each name is a number in the ad that defines it and the other ad does not have the name, so that
    /// no other scope can have been intended.
    pub(super) fn compares_numbers(&self, side: ClauseSide, slot: &ClassAd, job: &ClassAd) -> bool {
        self.references.iter().all(|reference| {
            let (defining_ad, other_ad) = match reference.defining_side(side, slot, job) {
                Some(ClauseSide::Slot) => (slot, job),
                Some(ClauseSide::Job) => (job, slot),
                None => return false,
            };
            let is_literal_number = |expr: Expr| expr.as_literal().is_some_and(|value| is_number(&value));
            defining_ad.get(&reference.name).is_some_and(is_literal_number)
                && !other_ad.contains(&reference.name)
        })
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Real(_))
}
