//! Clauses whose value does not depend on the other ad, and the consequences for the clauses that contain them.

use super::{Clauses, ConstantValue, Logic};
use crate::classad::references::{self, ReferenceSpelling};
use crate::classad::{Context, Dialect, Expr};
use crate::world::World;

impl Clauses<'_> {
    pub(super) fn find_constants(&mut self, world: &dyn World) {
        for clause in &mut self.clauses {
            let text = clause.expr.unparse();
            let context = Context::new(world).my(self.ad);
            let parsed = Expr::parse_with(&text, Dialect::old_syntax());
            let names =
                parsed.ok().and_then(|expr| references::external(&expr, context, ReferenceSpelling::Full));
            clause.text = text.to_string();
            if names.is_none_or(|names| names.is_empty()) {
                clause.constant = Some(context.eval(&clause.expr).truth() == Some(true));
            }
        }
    }

    /// Derives the values of clauses from their constant parts (`AnalyzePropagateConstants`).
    pub(super) fn propagate_constants(&mut self) {
        for at in 0..self.clauses.len() {
            let Some(logic) = self.clauses[at].logic else { continue };
            let part = |number: Option<usize>| match number.map(|number| &self.clauses[number]) {
                Some(part) if part.constant.is_some() => (part.constant_value(), part.is_variable),
                _ => (ConstantValue::Open, false),
            };
            let clause = &self.clauses[at];
            let (left, right, third) = (clause.left, clause.right, clause.third);
            let values = [part(left), part(right), part(third)];
            let outcome = match logic {
                Logic::Not => PropagationResult::default(),
                Logic::Or => propagate_or(&values, left, right),
                Logic::And => propagate_and(&values, left, right),
                Logic::IfThenElse => self.propagate_conditional(&values, right, third),
            };
            let label = propagation_label(logic, [left, right, third], &values);
            let clause = &mut self.clauses[at];
            if logic == Logic::Not {
                if clause.label.is_empty() && clause.left.is_some() {
                    clause.label = label;
                }
                continue;
            }
            clause.label = label;
            if let Some((value, is_variable)) = outcome.constant {
                (clause.constant, clause.is_variable) = (Some(value), is_variable);
            }
            self.apply(at, outcome);
        }
    }

    fn propagate_conditional(
        &self,
        values: &[(ConstantValue, bool); 3],
        right: Option<usize>,
        third: Option<usize>,
    ) -> PropagationResult {
        let (condition, is_soft) = values[0];
        let (taken, other) = match condition {
            ConstantValue::Open => return PropagationResult::default(),
            ConstantValue::True => (right, third),
            ConstantValue::False => (third, right),
        };
        let constant = taken.and_then(|taken| self.clauses[taken].constant);
        PropagationResult {
            constant: constant.map(|value| (value, is_soft)),
            effective: taken,
            irrelevant: other,
            is_soft,
        }
    }

    fn apply(&mut self, at: usize, outcome: PropagationResult) {
        let (mut irrelevant, mut is_soft) = (outcome.irrelevant, outcome.is_soft);
        if let Some(effective) = outcome.effective {
            if irrelevant.is_none() {
                if self.clauses[at].left == Some(effective) {
                    irrelevant = self.clauses[at].right;
                }
                if self.clauses[at].right == Some(effective) {
                    irrelevant = self.clauses[at].left;
                }
                is_soft |= self.clauses[at].is_variable;
            }
            self.clauses[at].effective = Some(self.final_clause(effective));
        }
        if let (Some(irrelevant), false) = (irrelevant, is_soft) {
            self.mark_irrelevant(irrelevant);
        }
    }

    /// Returns the clause to which a clause finally simplifies.
    pub(super) fn final_clause(&self, mut at: usize) -> usize {
        while let Some(next) = self.clauses[at].effective {
            at = next;
        }
        at
    }

    pub(super) fn mark_irrelevant(&mut self, at: usize) {
        self.clauses[at].is_irrelevant = true;
        let clause = &self.clauses[at];
        for part in [clause.left, clause.right, clause.third].into_iter().flatten() {
            self.mark_irrelevant(part);
        }
    }

    pub(super) fn propagate_effective(&mut self) {
        for at in 0..self.clauses.len() {
            let effective_clause = |part: Option<usize>| part.and_then(|part| self.clauses[part].effective);
            let clause = &self.clauses[at];
            let [left, right, third] = [clause.left, clause.right, clause.third].map(effective_clause);
            let clause = &mut self.clauses[at];
            if left.is_some() || right.is_some() || third.is_some() {
                clause.left = left.or(clause.left);
                clause.right = right.or(clause.right);
                clause.third = third.or(clause.third);
                clause.label.clear();
            }
        }
    }
}

/// Result of the constant parts of a clause.
#[derive(Default)]
struct PropagationResult {
    constant: Option<(bool, bool)>,
    effective: Option<usize>,
    irrelevant: Option<usize>,
    is_soft: bool,
}

fn propagate_or(
    values: &[(ConstantValue, bool); 3],
    left: Option<usize>,
    right: Option<usize>,
) -> PropagationResult {
    let [(of_left, soft_left), (of_right, soft_right), _] = *values;
    let is_set = |value: ConstantValue| value != ConstantValue::False;
    match (of_left, of_right) {
        (ConstantValue::True, _) => PropagationResult {
            constant: Some((true, soft_left && soft_right)),
            effective: left,
            irrelevant: right,
            is_soft: soft_left && (is_set(of_right) || soft_right),
        },
        (_, ConstantValue::True) => PropagationResult {
            constant: Some((true, soft_left && soft_right)),
            effective: right,
            irrelevant: left,
            is_soft: soft_right && (is_set(of_left) || soft_left),
        },
        (ConstantValue::False, ConstantValue::False) => PropagationResult {
            constant: Some((false, soft_left || soft_right)),
            ..PropagationResult::default()
        },
        (ConstantValue::False, _) => {
            PropagationResult { constant: None, effective: right, irrelevant: left, is_soft: soft_left }
        }
        (_, ConstantValue::False) => {
            PropagationResult { constant: None, effective: left, irrelevant: right, is_soft: soft_right }
        }
        _ => PropagationResult::default(),
    }
}

fn propagate_and(
    values: &[(ConstantValue, bool); 3],
    left: Option<usize>,
    right: Option<usize>,
) -> PropagationResult {
    let [(of_left, soft_left), (of_right, soft_right), _] = *values;
    let either = soft_left || soft_right;
    match (of_left, of_right) {
        (ConstantValue::False, _) => PropagationResult {
            constant: Some((false, either)),
            effective: left,
            irrelevant: right,
            is_soft: soft_left,
        },
        (_, ConstantValue::False) => PropagationResult {
            constant: Some((false, either)),
            effective: right,
            irrelevant: left,
            is_soft: soft_right,
        },
        (ConstantValue::True, ConstantValue::True) => {
            PropagationResult { constant: Some((true, either)), ..PropagationResult::default() }
        }
        (ConstantValue::True, _) => PropagationResult { effective: right, ..PropagationResult::default() },
        (_, ConstantValue::True) => PropagationResult { effective: left, ..PropagationResult::default() },
        _ => PropagationResult::default(),
    }
}

fn propagation_label(logic: Logic, parts: [Option<usize>; 3], values: &[(ConstantValue, bool); 3]) -> String {
    let part = |at: usize| {
        let number = parts[at].map_or(-1, |number| number as i64);
        let letter = match values[at] {
            (ConstantValue::False, false) => "F",
            (ConstantValue::True, false) => "T",
            (ConstantValue::Open, false) => "",
            (ConstantValue::False, true) => "f",
            (ConstantValue::True, true) => "t",
            (ConstantValue::Open, true) => "s",
        };
        format!("[{number}]{letter}")
    };
    match logic {
        Logic::Not => format!(" ! {}", part(0)),
        Logic::Or => format!("{} || {}", part(0), part(1)),
        Logic::And => format!("{} && {}", part(0), part(1)),
        Logic::IfThenElse => format!("ifThenElse({}, {}, {})", part(0), part(1), part(2)),
    }
}
