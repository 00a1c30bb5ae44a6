//! What is wanted of an expression, and what that means for its parts.

use std::rc::Rc;

use htc_base::world::World;
use htc_classad::references::AttrNames;
use htc_classad::{ClassAd, Context, Expr, ExprKind, Truth, Value, references};

/// What is wanted of an expression: one of some outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedOutcomes(u8);

const ALL_OUTCOMES: [Truth; 4] = [Truth::True, Truth::False, Truth::Undefined, Truth::Error];

impl WantedOutcomes {
    /// It counts as true.
    pub const TRUE: WantedOutcomes = WantedOutcomes(1);
    /// It counts as false or is undefined: what may be said of one operand of `||` for the other to decide.
    pub const FALSE_OR_UNDEFINED: WantedOutcomes = WantedOutcomes(0b110);
    /// Anything but true.
    pub const NOT_TRUE: WantedOutcomes = WantedOutcomes(0b1110);
    /// It counts as false, undefined is not enough.
    pub(super) const FALSE: WantedOutcomes = WantedOutcomes(0b10);
    const NO_OUTCOME: WantedOutcomes = WantedOutcomes(0);
    const ANY_OUTCOME: WantedOutcomes = WantedOutcomes(0b1111);

    /// Those outcomes of which `is_wanted`.
    fn from_predicate(is_wanted: impl Fn(Truth) -> bool) -> WantedOutcomes {
        let bits = ALL_OUTCOMES.iter().enumerate().filter(|(_, outcome)| is_wanted(**outcome));
        WantedOutcomes(bits.map(|(at, _)| 1 << at).sum())
    }

    /// Whether this outcome is one of them.
    pub(super) fn contains(self, outcome: Truth) -> bool {
        ALL_OUTCOMES.iter().position(|one| *one == outcome).is_some_and(|at| self.0 & (1 << at) != 0)
    }
}

/// An expression and what is wanted of it.
#[derive(Clone, Debug)]
pub struct Goal {
    pub(super) expr: Expr,
    pub(super) wanted: WantedOutcomes,
    pub(super) attributes: Rc<AttrNames>,
    /// In how many ways it can be met, as far as that is known; 0 for what has no parts.
    pub(super) way_count: usize,
}

/// What a goal comes down to.
pub(super) enum GoalSplit {
    /// All of these.
    AllOf(Vec<Goal>),
    /// One of these sets.
    AnyOf(Vec<Vec<Goal>>),
    /// It has no parts that could be wanted alone.
    Leaf,
}

impl GoalSplit {
    /// Some ways, each with what is wanted of some parts. What may be anything is no goal, and what may be nothing no way.
    fn from_ways(ways: Vec<Vec<(&Expr, WantedOutcomes)>>) -> GoalSplit {
        let is_possible = |way: &Vec<(&Expr, WantedOutcomes)>| {
            way.iter().all(|(_, want)| *want != WantedOutcomes::NO_OUTCOME)
        };
        let goals = |way: Vec<(&Expr, WantedOutcomes)>| {
            let wanted = way.into_iter().filter(|(_, want)| *want != WantedOutcomes::ANY_OUTCOME);
            wanted.map(|(expr, want)| Goal::new(expr, want)).collect()
        };
        let mut ways: Vec<Vec<Goal>> = ways.into_iter().filter(is_possible).map(goals).collect();
        if ways.len() == 1 { GoalSplit::AllOf(ways.remove(0)) } else { GoalSplit::AnyOf(ways) }
    }
}

impl Goal {
    /// The expression, and what is wanted of it.
    pub fn new(expr: &Expr, want: WantedOutcomes) -> Self {
        Goal {
            expr: expr.clone(),
            wanted: want,
            attributes: Rc::new(references::mentioned_attributes(expr)),
            way_count: 0,
        }
    }

    /// Anything but what is wanted.
    pub fn to_contrary(&self) -> Self {
        Goal { wanted: WantedOutcomes(!self.wanted.0 & WantedOutcomes::ANY_OUTCOME.0), ..self.clone() }
    }

    /// Whether the same is wanted of the same.
    pub fn is_same(&self, other: &Goal) -> bool {
        self.wanted == other.wanted && self.expr == other.expr
    }

    /// Whether it is reached with this ad, which is the only one that the expression sees.
    pub(super) fn is_met_by(&self, ad: &ClassAd, world: &dyn World) -> bool {
        self.wanted.contains(Truth::of_value(&evaluate(&self.expr, ad, world)))
    }

    /// What the goal comes down to.
    pub(super) fn split(&self) -> GoalSplit {
        let want = self.wanted;
        match self.expr.kind() {
            ExprKind::And(a, b) => {
                GoalSplit::from_ways(operand_ways((&a, &b), want, |left, right| left.and(|| right)))
            }
            ExprKind::Or(a, b) => {
                GoalSplit::from_ways(operand_ways((&a, &b), want, |left, right| left.or(|| right)))
            }
            ExprKind::Not(a) => GoalSplit::from_ways(vec![vec![(
                &a,
                WantedOutcomes::from_predicate(|inner| want.contains(negate_truth(inner))),
            )]]),
            ExprKind::Conditional(condition, first, second) => {
                let decided = WantedOutcomes::from_predicate(|outcome| {
                    matches!(outcome, Truth::Undefined | Truth::Error) && want.contains(outcome)
                });
                GoalSplit::from_ways(vec![
                    vec![(&condition, WantedOutcomes::TRUE), (&first, want)],
                    vec![(&condition, WantedOutcomes::FALSE), (&second, want)],
                    vec![(&condition, decided)],
                ])
            }
            ExprKind::Compare(sign, left, right) => match comparison_with_boolean(sign, &left, &right) {
                Some((inner, literal)) if is_logical_operator(&inner) => {
                    let wanted = WantedOutcomes::from_predicate(|outcome| {
                        want.contains(compare_with_boolean(sign, outcome, literal))
                    });
                    GoalSplit::from_ways(vec![vec![(&inner, wanted)]])
                }
                _ => GoalSplit::Leaf,
            },
            ExprKind::Literal(_)
            | ExprKind::Reference
            | ExprKind::Select(..)
            | ExprKind::Call(..)
            | ExprKind::Other(_) => GoalSplit::Leaf,
        }
    }

    /// Adds the goals that all have to be reached for this one, as far as there is no choice. `false` where one of them is
    /// the contrary of another.
    pub(super) fn flatten_into(mut self, out: &mut Vec<Goal>) -> bool {
        match self.split() {
            GoalSplit::AllOf(parts) => return parts.into_iter().all(|part| part.flatten_into(out)),
            GoalSplit::AnyOf(ways) if ways.is_empty() => return false,
            GoalSplit::AnyOf(ways) => self.way_count = ways.len(),
            GoalSplit::Leaf => {}
        }
        self.expr = self.expr.without_parentheses();
        if let Some(value) = self.expr.as_literal() {
            return self.wanted.contains(Truth::of_value(&value));
        }
        if let Some(same) = out.iter_mut().find(|other| other.expr == self.expr) {
            same.wanted.0 &= self.wanted.0;
            return same.wanted != WantedOutcomes::NO_OUTCOME;
        }
        out.push(self);
        true
    }
}

/// The ways to a result of two operands: of the left one outcomes that want the same of the right one go together.
fn operand_ways<'e>(
    (left, right): (&'e Expr, &'e Expr),
    want: WantedOutcomes,
    join: impl Fn(Truth, Truth) -> Truth,
) -> Vec<Vec<(&'e Expr, WantedOutcomes)>> {
    let mut ways: Vec<(WantedOutcomes, WantedOutcomes)> = Vec::new();
    for (at, one) in ALL_OUTCOMES.into_iter().enumerate() {
        let other = WantedOutcomes::from_predicate(|other| want.contains(join(one, other)));
        match ways.iter_mut().find(|(_, known)| *known == other) {
            Some((together, _)) => together.0 |= 1 << at,
            None => ways.push((WantedOutcomes(1 << at), other)),
        }
    }
    ways.into_iter().map(|(one, other)| vec![(left, one), (right, other)]).collect()
}

fn negate_truth(truth: Truth) -> Truth {
    match truth {
        Truth::True => Truth::False,
        Truth::False => Truth::True,
        Truth::Undefined | Truth::Error => truth,
    }
}

/// The value of an expression in an ad that stands alone.
pub(super) fn evaluate(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Value {
    Context::new(world).my(ad).without_enclosing_ad().eval(expr)
}

/// `x` and the literal of `x == true` and its like.
pub(super) fn comparison_with_boolean(sign: &str, left: &Expr, right: &Expr) -> Option<(Expr, bool)> {
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
fn compare_with_boolean(sign: &str, outcome: Truth, literal: bool) -> Truth {
    let truth = |is_true| if is_true { Truth::True } else { Truth::False };
    let equal = truth(outcome == truth(literal));
    match (sign, outcome) {
        ("==" | "!=", Truth::Undefined | Truth::Error) => outcome,
        ("==" | "=?=", _) => equal,
        (_, _) => negate_truth(equal),
    }
}

/// Whether it is a logical operator: then its value is true, false, undefined or error and nothing else.
pub(super) fn is_logical_operator(expr: &Expr) -> bool {
    matches!(expr.kind(), ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Not(_))
}
