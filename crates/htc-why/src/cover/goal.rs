//! What is wanted of an expression, and what that means for its parts.

use std::rc::Rc;

use htc_base::world::World;
use htc_classad::references::Names;
use htc_classad::{ClassAd, Context, Expr, Shape, Truth, Value, references};

/// What is wanted of an expression: one of some outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want(u8);

const OUTCOMES: [Truth; 4] = [Truth::True, Truth::False, Truth::Undefined, Truth::Error];

impl Want {
    /// It counts as true.
    pub const TRUE: Want = Want(1);
    /// It counts as false or is undefined: what may be said of one operand of `||` for the other to decide.
    pub const MISSED: Want = Want(0b110);
    /// Anything but true.
    pub const NOT_TRUE: Want = Want(0b1110);
    /// It counts as false, undefined is not enough.
    pub(super) const FALSE: Want = Want(0b10);
    const NOTHING: Want = Want(0);
    const ANYTHING: Want = Want(0b1111);

    /// Those outcomes of which `is_wanted`.
    fn those(is_wanted: impl Fn(Truth) -> bool) -> Want {
        let bits = OUTCOMES.iter().enumerate().filter(|(_, outcome)| is_wanted(**outcome));
        Want(bits.map(|(at, _)| 1 << at).sum())
    }

    /// Whether this outcome is one of them.
    pub(super) fn has(self, outcome: Truth) -> bool {
        OUTCOMES.iter().position(|one| *one == outcome).is_some_and(|at| self.0 & (1 << at) != 0)
    }
}

/// An expression and what is wanted of it.
#[derive(Clone, Debug)]
pub struct Goal {
    pub(super) expr: Expr,
    pub(super) want: Want,
    pub(super) names: Rc<Names>,
    /// In how many ways it can be met, as far as that is known; 0 for what has no parts.
    pub(super) ways: usize,
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

impl Split {
    /// Some ways, each with what is wanted of some parts. What may be anything is no goal, and what may be nothing no way.
    fn of(ways: Vec<Vec<(&Expr, Want)>>) -> Split {
        let is_possible = |way: &Vec<(&Expr, Want)>| way.iter().all(|(_, want)| *want != Want::NOTHING);
        let goals = |way: Vec<(&Expr, Want)>| {
            let wanted = way.into_iter().filter(|(_, want)| *want != Want::ANYTHING);
            wanted.map(|(expr, want)| Goal::new(expr, want)).collect()
        };
        let mut ways: Vec<Vec<Goal>> = ways.into_iter().filter(is_possible).map(goals).collect();
        if ways.len() == 1 { Split::All(ways.remove(0)) } else { Split::Any(ways) }
    }
}

impl Goal {
    /// The expression, and what is wanted of it.
    pub fn new(expr: &Expr, want: Want) -> Self {
        Goal { expr: expr.clone(), want, names: Rc::new(references::of(expr)), ways: 0 }
    }

    /// Anything but what is wanted.
    pub fn contrary(&self) -> Self {
        Goal { want: Want(!self.want.0 & Want::ANYTHING.0), ..self.clone() }
    }

    /// Whether the same is wanted of the same.
    pub fn is_same(&self, other: &Goal) -> bool {
        self.want == other.want && self.expr == other.expr
    }

    /// Whether it is reached with this ad, which is the only one that the expression sees.
    pub(super) fn holds(&self, ad: &ClassAd, world: &dyn World) -> bool {
        self.want.has(Truth::of(&value(&self.expr, ad, world)))
    }

    /// What the goal comes down to.
    pub(super) fn split(&self) -> Split {
        let want = self.want;
        match self.expr.shape() {
            Shape::And(a, b) => Split::of(operands((&a, &b), want, |left, right| left.and(|| right))),
            Shape::Or(a, b) => Split::of(operands((&a, &b), want, |left, right| left.or(|| right))),
            Shape::Not(a) => Split::of(vec![vec![(&a, Want::those(|inner| want.has(negated(inner))))]]),
            Shape::Choice(condition, first, second) => {
                let decided = Want::those(|outcome| {
                    matches!(outcome, Truth::Undefined | Truth::Error) && want.has(outcome)
                });
                Split::of(vec![
                    vec![(&condition, Want::TRUE), (&first, want)],
                    vec![(&condition, Want::FALSE), (&second, want)],
                    vec![(&condition, decided)],
                ])
            }
            Shape::Compare(sign, left, right) => match compared_with_truth(sign, &left, &right) {
                Some((inner, literal)) if has_logic(&inner) => {
                    let wanted = Want::those(|outcome| want.has(compared(sign, outcome, literal)));
                    Split::of(vec![vec![(&inner, wanted)]])
                }
                _ => Split::Leaf,
            },
            Shape::Literal(_) | Shape::Reference | Shape::Select(..) | Shape::Call(..) | Shape::Other(_) => {
                Split::Leaf
            }
        }
    }

    /// Adds the goals that all have to be reached for this one, as far as there is no choice. `false` where one of them is
    /// the contrary of another.
    pub(super) fn flat(mut self, out: &mut Vec<Goal>) -> bool {
        match self.split() {
            Split::All(parts) => return parts.into_iter().all(|part| part.flat(out)),
            Split::Any(ways) if ways.is_empty() => return false,
            Split::Any(ways) => self.ways = ways.len(),
            Split::Leaf => {}
        }
        self.expr = self.expr.without_parentheses();
        if let Some(value) = self.expr.as_literal() {
            return self.want.has(Truth::of(&value));
        }
        if let Some(same) = out.iter_mut().find(|other| other.expr == self.expr) {
            same.want.0 &= self.want.0;
            return same.want != Want::NOTHING;
        }
        out.push(self);
        true
    }
}

/// The ways to a result of two operands: of the left one outcomes that want the same of the right one go together.
fn operands<'e>(
    (left, right): (&'e Expr, &'e Expr),
    want: Want,
    join: impl Fn(Truth, Truth) -> Truth,
) -> Vec<Vec<(&'e Expr, Want)>> {
    let mut ways: Vec<(Want, Want)> = Vec::new();
    for (at, one) in OUTCOMES.into_iter().enumerate() {
        let other = Want::those(|other| want.has(join(one, other)));
        match ways.iter_mut().find(|(_, known)| *known == other) {
            Some((together, _)) => together.0 |= 1 << at,
            None => ways.push((Want(1 << at), other)),
        }
    }
    ways.into_iter().map(|(one, other)| vec![(left, one), (right, other)]).collect()
}

fn negated(truth: Truth) -> Truth {
    match truth {
        Truth::True => Truth::False,
        Truth::False => Truth::True,
        Truth::Undefined | Truth::Error => truth,
    }
}

/// The value of an expression in an ad that stands alone.
pub(super) fn value(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Value {
    Context::new(world).my(ad).alone().eval(expr)
}

/// `x` and the literal of `x == true` and its like.
pub(super) fn compared_with_truth(sign: &str, left: &Expr, right: &Expr) -> Option<(Expr, bool)> {
    if !matches!(sign, "==" | "=?=" | "!=" | "=!=") {
        return None;
    }
    match (left.as_literal(), right.as_literal()) {
        (None, Some(Value::Bool(literal))) => Some((left.clone(), literal)),
        (Some(Value::Bool(literal)), None) => Some((right.clone(), literal)),
        _ => None,
    }
}

/// What comes of comparing the result of a logical operator with a literal.
fn compared(sign: &str, outcome: Truth, literal: bool) -> Truth {
    let truth = |is_true| if is_true { Truth::True } else { Truth::False };
    let equal = truth(outcome == truth(literal));
    match (sign, outcome) {
        ("==" | "!=", Truth::Undefined | Truth::Error) => outcome,
        ("==" | "=?=", _) => equal,
        (_, _) => negated(equal),
    }
}

/// Whether it is a logical operator: then its value is true, false, undefined or error and nothing else.
pub(super) fn has_logic(expr: &Expr) -> bool {
    matches!(expr.shape(), Shape::And(..) | Shape::Or(..) | Shape::Not(_))
}
