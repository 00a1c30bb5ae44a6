//! Wanted outcomes of expressions, and the resulting goals for their parts.

use std::rc::Rc;

use htc_base::world::World;
use htc_classad::references::AttrNames;
use htc_classad::{ClassAd, Context, Expr, ExprKind, Truth, Value, references};

/// Set of outcomes of an expression of which one is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedOutcomes(u8);

const ALL_OUTCOMES: [Truth; 4] = [Truth::True, Truth::False, Truth::Undefined, Truth::Error];

impl WantedOutcomes {
    /// The expression must be true.
    pub const TRUE: WantedOutcomes = WantedOutcomes(1);
    /// The truth value is false or undefined, so that the other operand of `||` determines the
    /// result.
    pub const FALSE_OR_UNDEFINED: WantedOutcomes = WantedOutcomes(0b110);
    /// The expression is anything but true.
    pub const NOT_TRUE: WantedOutcomes = WantedOutcomes(0b1110);
    /// The truth value is false; undefined is not accepted.
    pub(super) const FALSE: WantedOutcomes = WantedOutcomes(0b10);
    const NO_OUTCOME: WantedOutcomes = WantedOutcomes(0);
    const ANY_OUTCOME: WantedOutcomes = WantedOutcomes(0b1111);

    /// Returns the set of outcomes for which `is_wanted` returns true.
    fn from_predicate(is_wanted: impl Fn(Truth) -> bool) -> WantedOutcomes {
        let bits = ALL_OUTCOMES.iter().enumerate().filter(|(_, outcome)| is_wanted(**outcome));
        WantedOutcomes(bits.map(|(at, _)| 1 << at).sum())
    }

    /// Returns true if the set contains the outcome.
    pub(super) fn contains(self, outcome: Truth) -> bool {
        ALL_OUTCOMES.iter().position(|one| *one == outcome).is_some_and(|at| self.0 & (1 << at) != 0)
    }
}

/// Expression with its wanted outcomes.
#[derive(Clone, Debug)]
pub struct Goal {
    pub(super) expr: Expr,
    pub(super) wanted: WantedOutcomes,
    pub(super) attributes: Rc<AttrNames>,
    /// Number of known alternatives to meet the goal; 0 for a goal without parts.
    pub(super) alternative_count: usize,
}

/// Goals for the parts of an expression.
pub(super) enum GoalSplit {
    /// All of these goals must be met.
    AllOf(Vec<Goal>),
    /// One of these sets of goals must be met.
    AnyOf(Vec<Vec<Goal>>),
    /// The goal has no parts with goals of their own.
    Leaf,
}

impl GoalSplit {
    /// Creates the split from alternatives, each with wanted outcomes of parts. A part that may have any
    /// outcome needs no goal, and alternatives with an impossible outcome are dropped.
    fn from_alternatives(alternatives: Vec<Vec<(&Expr, WantedOutcomes)>>) -> GoalSplit {
        let is_possible = |alternative: &Vec<(&Expr, WantedOutcomes)>| {
            alternative.iter().all(|(_, want)| *want != WantedOutcomes::NO_OUTCOME)
        };
        let goals = |alternative: Vec<(&Expr, WantedOutcomes)>| {
            let wanted = alternative.into_iter().filter(|(_, want)| *want != WantedOutcomes::ANY_OUTCOME);
            wanted.map(|(expr, want)| Goal::new(expr, want)).collect()
        };
        let mut alternatives: Vec<Vec<Goal>> =
            alternatives.into_iter().filter(is_possible).map(goals).collect();
        if alternatives.len() == 1 {
            GoalSplit::AllOf(alternatives.remove(0))
        } else {
            GoalSplit::AnyOf(alternatives)
        }
    }
}

impl Goal {
    /// Creates a goal from an expression and its wanted outcomes.
    pub fn new(expr: &Expr, want: WantedOutcomes) -> Self {
        Goal {
            expr: expr.clone(),
            wanted: want,
            attributes: Rc::new(references::mentioned_attributes(expr)),
            alternative_count: 0,
        }
    }

    /// Returns the goal for which exactly the other outcomes are wanted.
    pub fn to_opposite(&self) -> Self {
        Goal { wanted: WantedOutcomes(!self.wanted.0 & WantedOutcomes::ANY_OUTCOME.0), ..self.clone() }
    }

    /// Returns true if both goals have the same expression and wanted outcomes.
    pub fn is_same(&self, other: &Goal) -> bool {
        self.wanted == other.wanted && self.expr == other.expr
    }

    /// Returns true if `ad` meets the goal. The expression is evaluated with this ad as MY and without a TARGET.
    pub(super) fn is_met_by(&self, ad: &ClassAd, world: &dyn World) -> bool {
        self.wanted.contains(Truth::of_value(&evaluate(&self.expr, ad, world)))
    }

    /// Splits the goal into goals for the parts of the expression.
    pub(super) fn split(&self) -> GoalSplit {
        let want = self.wanted;
        match self.expr.kind() {
            ExprKind::And(a, b) => {
                GoalSplit::from_alternatives(operand_alternatives(&a, &b, want, |left, right| {
                    left.and(|| right)
                }))
            }
            ExprKind::Or(a, b) => {
                GoalSplit::from_alternatives(operand_alternatives(&a, &b, want, |left, right| {
                    left.or(|| right)
                }))
            }
            ExprKind::Not(a) => GoalSplit::from_alternatives(vec![vec![(
                &a,
                WantedOutcomes::from_predicate(|inner| want.contains(negate_truth(inner))),
            )]]),
            ExprKind::Conditional(condition, first, second) => {
                let decided = WantedOutcomes::from_predicate(|outcome| {
                    matches!(outcome, Truth::Undefined | Truth::Error) && want.contains(outcome)
                });
                GoalSplit::from_alternatives(vec![
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
                    GoalSplit::from_alternatives(vec![vec![(&inner, wanted)]])
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

    /// Adds to `out` the goals that must all be met for this one, down to parts with alternatives. Returns false if two
    /// goals contradict each other.
    pub(super) fn flatten_into(mut self, out: &mut Vec<Goal>) -> bool {
        match self.split() {
            GoalSplit::AllOf(parts) => return parts.into_iter().all(|part| part.flatten_into(out)),
            GoalSplit::AnyOf(alternatives) if alternatives.is_empty() => return false,
            GoalSplit::AnyOf(alternatives) => self.alternative_count = alternatives.len(),
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

/// Returns the combinations of outcomes of two operands that give a wanted result. Outcomes of the left operand that
/// require the same outcomes of the right one are combined.
fn operand_alternatives<'e>(
    left: &'e Expr,
    right: &'e Expr,
    want: WantedOutcomes,
    join: impl Fn(Truth, Truth) -> Truth,
) -> Vec<Vec<(&'e Expr, WantedOutcomes)>> {
    let mut alternatives: Vec<(WantedOutcomes, WantedOutcomes)> = Vec::new();
    for (at, one) in ALL_OUTCOMES.into_iter().enumerate() {
        let other = WantedOutcomes::from_predicate(|other| want.contains(join(one, other)));
        match alternatives.iter_mut().find(|(_, known)| *known == other) {
            Some((left_outcomes, _)) => left_outcomes.0 |= 1 << at,
            None => alternatives.push((WantedOutcomes(1 << at), other)),
        }
    }
    alternatives.into_iter().map(|(one, other)| vec![(left, one), (right, other)]).collect()
}

fn negate_truth(truth: Truth) -> Truth {
    match truth {
        Truth::True => Truth::False,
        Truth::False => Truth::True,
        Truth::Undefined | Truth::Error => truth,
    }
}

/// Evaluates an expression with `ad` as MY and without an enclosing ad. The random numbers begin with the same seed
/// each time, as for the routers that are compared, so a condition that depends only on `random()` has only one
/// outcome.
pub(super) fn evaluate(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Value {
    world.reseed(1);
    Context::new(world).my(ad).without_enclosing_ad().eval(expr)
}

/// Returns `x` and the literal of a comparison such as `x == true`, or `None`.
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

/// Returns the result of comparing the outcome of a logical operator with a literal.
fn compare_with_boolean(sign: &str, outcome: Truth, literal: bool) -> Truth {
    let truth = |is_true| if is_true { Truth::True } else { Truth::False };
    let equal = truth(outcome == truth(literal));
    match (sign, outcome) {
        ("==" | "!=", Truth::Undefined | Truth::Error) => outcome,
        ("==" | "=?=", _) => equal,
        (_, _) => negate_truth(equal),
    }
}

/// Returns true if the expression is a logical operator, whose value is always true, false, undefined or
/// error.
pub(super) fn is_logical_operator(expr: &Expr) -> bool {
    matches!(expr.kind(), ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Not(_))
}
