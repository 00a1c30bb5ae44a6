//! What is wanted of an expression, and what that means for its parts.

use std::rc::Rc;

use crate::classad::references::Names;
use crate::classad::{ClassAd, Context, Expr, Shape, Value, explain, references};
use crate::world::World;

/// What is wanted of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// It counts as true.
    True,
    /// It counts as false, undefined is not enough.
    False,
    /// Anything but true.
    NotTrue,
}

impl Want {
    /// What is wanted of `x` for `!x`; `None` where it is true or undefined.
    fn negated(self) -> Option<Want> {
        match self {
            Want::True => Some(Want::False),
            Want::False => Some(Want::True),
            Want::NotTrue => None,
        }
    }
}

/// An expression and what is wanted of it.
#[derive(Clone, Debug)]
pub struct Goal {
    pub(super) expr: Expr,
    pub(super) want: Want,
    pub(super) names: Rc<Names>,
}

/// What a goal comes down to.
pub(super) enum Split {
    /// All of these.
    All(Vec<Goal>),
    /// One of these sets.
    Any(Vec<Vec<Goal>>),
    /// It has no parts that could be wanted alone.
    Leaf,
}

impl Goal {
    /// The expression, and what is wanted of it.
    pub fn new(expr: &Expr, want: Want) -> Self {
        Goal { expr: expr.clone(), want, names: Rc::new(references::of(expr)) }
    }

    /// Whether it is reached with this ad, which is the only one that the expression sees.
    pub(super) fn holds(&self, ad: &ClassAd, world: &dyn World) -> bool {
        let truth = value(&self.expr, ad, world).truth();
        match self.want {
            Want::True => truth == Some(true),
            Want::False => truth == Some(false),
            Want::NotTrue => truth != Some(true),
        }
    }

    /// What the goal comes down to.
    pub(super) fn split(&self) -> Split {
        let goal = |expr: &Expr, want| Goal::new(expr, want);
        let both = |a: Goal, b: Goal| Split::All(vec![a, b]);
        let either = |a: Goal, b: Goal| Split::Any(vec![vec![a], vec![b]]);
        match (self.expr.shape(), self.want) {
            (Shape::And(a, b), Want::True) => both(goal(&a, Want::True), goal(&b, Want::True)),
            (Shape::And(a, b), want) => either(goal(&a, want), goal(&b, want)),
            (Shape::Or(a, b), Want::True) => either(goal(&a, Want::True), goal(&b, Want::True)),
            (Shape::Or(a, b), want) => both(goal(&a, want), goal(&b, want)),
            (Shape::Not(a), want) => match want.negated() {
                Some(want) => Split::All(vec![goal(&a, want)]),
                None => Split::Any(vec![vec![goal(&a, Want::True)]]),
            },
            (Shape::Choice(condition, first, second), want) => Split::Any(vec![
                vec![goal(&condition, Want::True), goal(&first, want)],
                vec![goal(&condition, Want::False), goal(&second, want)],
            ]),
            (Shape::Compare(sign, left, right), want) => match truth_of(sign, &left, &right) {
                Some((inner, same)) if has_logic(&inner) => {
                    let wanted = if (want == Want::True) == same { Want::True } else { Want::False };
                    Split::All(vec![goal(&inner, wanted)])
                }
                _ => Split::Leaf,
            },
            _ => Split::Leaf,
        }
    }

    /// The goals that all have to be reached for this one, as far as there is no choice.
    pub(super) fn flat(self, out: &mut Vec<Goal>) {
        match self.split() {
            Split::All(parts) => parts.into_iter().for_each(|part| part.flat(out)),
            Split::Any(_) | Split::Leaf => out.push(self),
        }
    }
}

/// The value of an expression in an ad that stands alone.
pub(super) fn value(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Value {
    Context::new(world).my(ad).alone().eval(expr)
}

/// `x` of `x == true` and its like, and whether the whole is what `x` is.
fn truth_of(sign: &str, left: &Expr, right: &Expr) -> Option<(Expr, bool)> {
    let equal = match sign {
        "==" | "=?=" => true,
        "!=" | "=!=" => false,
        _ => return None,
    };
    match (left.as_literal(), right.as_literal()) {
        (None, Some(Value::Bool(wanted))) => Some((left.clone(), wanted == equal)),
        (Some(Value::Bool(wanted)), None) => Some((right.clone(), wanted == equal)),
        _ => None,
    }
}

fn has_logic(expr: &Expr) -> bool {
    matches!(expr.shape(), Shape::And(..) | Shape::Or(..) | Shape::Not(_) | Shape::Choice(..))
}

/// A part of a condition that has no logic of its own, and what must hold of the other parts for it to decide.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) expr: Expr,
    pub(super) names: Rc<Names>,
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
                self.operands(&explain::conjuncts(expr), Want::True);
            }
            Shape::Or(..) => {
                self.whole(expr);
                self.operands(&explain::disjuncts(expr), Want::NotTrue);
            }
            Shape::Not(operand) => self.walk(&operand, true),
            Shape::Choice(condition, first, second) => {
                self.walk(&condition, true);
                self.beside(&[Goal::new(&condition, Want::True)], &first, is_condition);
                self.beside(&[Goal::new(&condition, Want::False)], &second, is_condition);
            }
            Shape::Compare(sign, left, right) => match truth_of(sign, &left, &right) {
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
        let names = references::of(expr);
        if !names.is_empty() || moves(expr) {
            let (expr, beside) = (expr.without_parentheses(), self.beside.clone());
            self.found.push(Leaf { expr, names: Rc::new(names), beside, is_condition });
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
