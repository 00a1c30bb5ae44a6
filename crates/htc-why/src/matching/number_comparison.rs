//! Comparison of a number of the job with a number of the slot, without the evaluator: most clauses of Requirements are
//! comparisons of a request with an amount, and have as many different values as there are jobs and slots.

use std::cmp::Ordering;

use htc_classad::{ClassAd, Expr, ExprKind, Value};

use super::clauses::{ClauseSide, Reference, ReferenceScope};

/// Operator whose result for two numbers does not depend on their types.
#[derive(Clone, Copy, Debug)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Operator {
    fn parse(operator: &str) -> Option<Self> {
        Some(match operator {
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            _ => return None,
        })
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::Equal => order == Ordering::Equal,
            Operator::NotEqual => order != Ordering::Equal,
        }
    }
}

/// Operand of a comparison.
enum Operand {
    /// Values of the classes of jobs; `None` if the evaluator is needed.
    Job(Vec<Option<i64>>),
    /// Values of the classes of slots.
    Slot(Vec<Option<i64>>),
    Constant(i64),
}

impl Operand {
    fn value(&self, job: usize, slot: usize) -> Option<i64> {
        match self {
            Operand::Job(values) => values[job],
            Operand::Slot(values) => values[slot],
            Operand::Constant(number) => Some(*number),
        }
    }
}

/// Comparison of two integers, each from the job, the slot or the clause.
pub(super) struct NumberComparison {
    operator: Operator,
    left: Operand,
    right: Operand,
}

impl NumberComparison {
    /// Prepares a clause for representatives of classes of jobs and slots; `None` if the evaluator is needed.
    pub(super) fn new(
        expr: &Expr,
        side: ClauseSide,
        (jobs, slots): (&[&ClassAd], &[&ClassAd]),
    ) -> Option<Self> {
        let ExprKind::Compare(operator, left, right) = expr.kind() else { return None };
        let operator = Operator::parse(operator)?;
        let operand = |expr: &Expr| {
            if let Some(value) = expr.as_literal() {
                return integer(&value).map(Operand::Constant);
            }
            let reference = Reference::parse(expr)?;
            let own = reference.scope != ReferenceScope::Target;
            let values = |ads: &[&ClassAd]| {
                ads.iter().map(|ad| integer(&ad.get(&reference.name)?.as_literal()?)).collect()
            };
            Some(match (own, side) {
                (true, ClauseSide::Slot) | (false, ClauseSide::Job) => Operand::Slot(values(slots)),
                (true, ClauseSide::Job) | (false, ClauseSide::Slot) => Operand::Job(values(jobs)),
            })
        };
        Some(NumberComparison { operator, left: operand(&left)?, right: operand(&right)? })
    }

    /// Decides the clause for a class of jobs and a class of slots; `None` if the evaluator is needed.
    pub(super) fn holds(&self, job: usize, slot: usize) -> Option<bool> {
        let (left, right) = (self.left.value(job, slot)?, self.right.value(job, slot)?);
        Some(self.operator.holds(left.cmp(&right)))
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}
