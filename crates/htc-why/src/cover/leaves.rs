//! The parts of conditions that have no logic of their own.

use super::goal::{Goal, Want, compared_with_truth, has_logic};
use htc_classad::{Expr, Shape, explain};

/// A part of a condition that has no logic of its own, and what must hold of the other parts for it to decide.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// It alone; what is wanted of it is another matter.
    pub(super) goal: Goal,
    pub(super) beside: Vec<Goal>,
    /// Whether it is written to be true or false, and no text or number that something is made of.
    pub(super) is_condition: bool,
}

/// No more parts of one expression are looked at.
const MOST_LEAVES: usize = 400;
/// Expressions are looked into so deep.
const DEEPEST: usize = 100;

/// The parts of an expression that have no logic of their own.
#[derive(Default)]
pub(super) struct Leaves {
    pub(super) found: Vec<Leaf>,
    /// Whether there are more than were looked at.
    pub(super) is_cut: bool,
    beside: Vec<Goal>,
    depth: usize,
}

impl Leaves {
    /// Those of an expression, which may be a condition itself.
    pub(super) fn of(expr: &Expr, is_condition: bool) -> Self {
        let mut leaves = Leaves::default();
        leaves.walk(expr, is_condition);
        leaves
    }

    fn walk(&mut self, expr: &Expr, is_condition: bool) {
        if self.found.len() >= MOST_LEAVES || self.depth >= DEEPEST {
            self.is_cut = true;
            return;
        }
        self.depth += 1;
        match expr.shape() {
            Shape::And(..) => {
                self.whole(expr);
                self.operands(&explain::conjuncts(expr), Want::TRUE);
            }
            Shape::Or(..) => {
                self.whole(expr);
                self.operands(&explain::disjuncts(expr), Want::MISSED);
            }
            Shape::Not(operand) => self.walk(&operand, true),
            Shape::Choice(condition, first, second) => {
                self.walk(&condition, true);
                self.beside(&[Goal::new(&condition, Want::TRUE)], &first, is_condition);
                self.beside(&[Goal::new(&condition, Want::FALSE)], &second, is_condition);
            }
            Shape::Compare(sign, left, right) => match compared_with_truth(sign, &left, &right) {
                Some((inner, _)) if has_logic(&inner) => self.walk(&inner, true),
                _ => {
                    self.leaf(expr, true);
                    self.parts_of(&[left, right]);
                }
            },
            // `0 + (A > 1)`: what is computed of conditions.
            Shape::Other(parts) | Shape::Call(_, parts) => {
                self.leaf(expr, is_condition);
                self.parts_of(&parts);
            }
            Shape::Literal(_) | Shape::Reference | Shape::Select(..) => self.leaf(expr, is_condition),
        }
        self.depth -= 1;
    }

    /// Each operand, the others being such that it decides.
    fn operands(&mut self, operands: &[Expr], others: Want) {
        let goals: Vec<Goal> = operands.iter().map(|expr| Goal::new(expr, others)).collect();
        for (at, operand) in operands.iter().enumerate() {
            let beside = [&goals[..at], &goals[at + 1..]].concat();
            self.beside(&beside, operand, true);
        }
    }

    fn beside(&mut self, goals: &[Goal], expr: &Expr, is_condition: bool) {
        let before = self.beside.len();
        self.beside.extend_from_slice(goals);
        self.walk(expr, is_condition);
        self.beside.truncate(before);
    }

    /// A part with logic of its own has to be true and false as a whole too: its parts one by one are not enough.
    fn whole(&mut self, expr: &Expr) {
        if self.depth > 1 {
            self.leaf(expr, true);
        }
    }

    fn parts_of(&mut self, parts: &[Expr]) {
        parts.iter().filter(|part| holds_condition(part)).for_each(|part| self.walk(part, false));
    }

    fn leaf(&mut self, expr: &Expr, is_condition: bool) {
        let goal = Goal::new(&expr.without_parentheses(), Want::TRUE);
        if !goal.names.is_empty() || moves(expr) {
            self.found.push(Leaf { goal, beside: self.beside.clone(), is_condition });
        }
    }
}

/// Whether it gives other values at other times or by chance: no ad makes it both true and false.
fn moves(expr: &Expr) -> bool {
    match expr.shape() {
        Shape::Call(name, parts) => {
            let by_itself = name.eq_ignore_ascii_case(b"time") || name.eq_ignore_ascii_case(b"random");
            let now = name.eq_ignore_ascii_case(b"formatTime") && parts.is_empty();
            by_itself || now || parts.iter().any(moves)
        }
        Shape::And(a, b) | Shape::Or(a, b) | Shape::Compare(_, a, b) => moves(&a) || moves(&b),
        Shape::Not(operand) | Shape::Select(operand, _) => moves(&operand),
        Shape::Choice(a, b, c) => [a, b, c].iter().any(moves),
        Shape::Other(parts) => parts.iter().any(moves),
        Shape::Literal(_) | Shape::Reference => false,
    }
}

/// Whether an expression is written to be true or false, or has a part that is.
fn holds_condition(expr: &Expr) -> bool {
    match expr.shape() {
        Shape::And(..) | Shape::Or(..) | Shape::Not(_) | Shape::Choice(..) | Shape::Compare(..) => true,
        Shape::Call(_, parts) | Shape::Other(parts) => parts.iter().any(holds_condition),
        Shape::Select(base, _) => holds_condition(&base),
        Shape::Literal(_) | Shape::Reference => false,
    }
}
