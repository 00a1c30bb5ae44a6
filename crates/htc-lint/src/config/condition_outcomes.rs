//! Outcomes that a condition can have: conditions that are never true or never false, whatever attributes the
//! ads have.
//!
//! The analysis tries, for one operand at a time, all values that can make a difference: the constants with which the
//! operand is compared, values between and beyond them, other types and undefined. All other parts may have any
//! outcome. An outcome that no value of the operand allows is impossible. The reverse is not true: an outcome that the
//! analysis considers possible may never occur. A finding is therefore never wrong, but not all mistakes are found.

use super::constants::constant_value;
use bstr::{BString, ByteSlice};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, ExprKind, Truth, Value, explain};

/// Set of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutcomeSet(u8);

const OUTCOMES: [Truth; 4] = [Truth::True, Truth::False, Truth::Undefined, Truth::Error];

impl OutcomeSet {
    pub(super) const NONE: OutcomeSet = OutcomeSet(0);
    pub(super) const ANY: OutcomeSet = OutcomeSet(0b1111);

    pub(super) fn of(outcome: Truth) -> OutcomeSet {
        OutcomeSet(OUTCOMES.iter().position(|one| *one == outcome).map_or(0, |at| 1 << at))
    }

    pub(super) fn contains(self, outcome: Truth) -> bool {
        self.0 & OutcomeSet::of(outcome).0 != 0
    }

    fn members(self) -> impl Iterator<Item = Truth> {
        OUTCOMES.into_iter().filter(move |outcome| self.contains(*outcome))
    }

    fn or(self, other: OutcomeSet) -> OutcomeSet {
        OutcomeSet(self.0 | other.0)
    }

    /// Returns the outcomes of an operator for all pairs of operands.
    pub(super) fn combine(self, other: OutcomeSet, join: impl Fn(Truth, Truth) -> Truth) -> OutcomeSet {
        let pairs = self.members().flat_map(|left| other.members().map(move |right| (left, right)));
        pairs.fold(OutcomeSet::NONE, |set, (left, right)| set.or(OutcomeSet::of(join(left, right))))
    }

    /// Returns the outcomes of the operator `!`.
    pub(super) fn negate(self) -> OutcomeSet {
        self.members().fold(OutcomeSet::NONE, |set, outcome| {
            set.or(OutcomeSet::of(match outcome {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                other => other,
            }))
        })
    }

    /// Returns the outcomes of the operator `? :` for this condition.
    pub(super) fn choose(
        self,
        first: impl Fn() -> OutcomeSet,
        second: impl Fn() -> OutcomeSet,
    ) -> OutcomeSet {
        self.members().fold(OutcomeSet::NONE, |set, outcome| {
            set.or(match outcome {
                Truth::True => first(),
                Truth::False => second(),
                other => OutcomeSet::of(other),
            })
        })
    }
}

/// Outcome that a condition never has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingOutcome {
    /// The condition is false, undefined or an error.
    NeverTrue,
    /// The condition is true, undefined or an error.
    NeverFalse,
}

/// Maximum number of comparisons that are examined.
const MAX_COMPARISONS: usize = 100;
/// Maximum depth to which a condition is examined.
const MAX_DEPTH: usize = 100;

/// Returns the outcome that a condition never has, or `None` if it may have both or is a constant.
pub(super) fn find_missing_outcome(expr: &Expr, world: &dyn World) -> Option<MissingOutcome> {
    let missing = find_in_whole(expr, world);
    let alternatives = explain::disjuncts(expr);
    if missing.is_some() || alternatives.len() < 2 || alternatives.len() > MAX_COMPARISONS {
        return missing;
    }
    // Each alternative may be impossible because of another attribute.
    let is_never = |alternative: &Expr| find_in_whole(alternative, world) == Some(MissingOutcome::NeverTrue);
    alternatives.iter().all(is_never).then_some(MissingOutcome::NeverTrue)
}

fn find_in_whole(expr: &Expr, world: &dyn World) -> Option<MissingOutcome> {
    let mut condition = AbstractCondition { world, comparisons: Vec::new(), operands: Vec::new() };
    let tree = condition.read(expr, 0);
    if condition.comparisons.len() < 2 || condition.comparisons.len() > MAX_COMPARISONS {
        return None;
    }
    let mut possible = OutcomeSet::ANY;
    for operand in (0..condition.operands.len()).filter(|operand| !condition.is_free(*operand)) {
        let of_operand = condition
            .candidate_values(operand)
            .into_iter()
            .fold(OutcomeSet::NONE, |set, candidate| set.or(condition.evaluate(&tree, operand, &candidate)));
        possible.0 &= of_operand.0;
    }
    match (possible.contains(Truth::True), possible.contains(Truth::False)) {
        (false, _) => Some(MissingOutcome::NeverTrue),
        (true, false) => Some(MissingOutcome::NeverFalse),
        (true, true) => None,
    }
}

/// Logical structure of a condition.
enum ConditionTree {
    And(Box<ConditionTree>, Box<ConditionTree>),
    Or(Box<ConditionTree>, Box<ConditionTree>),
    Not(Box<ConditionTree>),
    Conditional(Box<[ConditionTree; 3]>),
    /// Index of a comparison.
    Comparison(usize),
    /// A part that may have any outcome.
    Opaque,
}

/// Comparison of an operand with a constant, or the operand itself as a truth value.
struct Comparison {
    operand: usize,
    /// The comparison, in which the operand is replaced by the attribute `Operand`.
    expr: Expr,
    constant: Option<Value>,
}

/// Condition whose operands may have any value.
struct AbstractCondition<'a> {
    world: &'a dyn World,
    comparisons: Vec<Comparison>,
    /// Texts of the operands.
    operands: Vec<BString>,
}

impl AbstractCondition<'_> {
    /// True if an operand excludes no outcome of the condition: it is compared at most once, and only with a number or
    /// a string, so that the comparison is true for some values and false for others.
    fn is_free(&self, operand: usize) -> bool {
        let mut own = self.comparisons.iter().filter(|comparison| comparison.operand == operand);
        let first = own.next().is_none_or(|comparison| {
            matches!(comparison.constant, None | Some(Value::Int(_) | Value::Real(_) | Value::Str(_)))
        });
        first && own.next().is_none()
    }

    fn read(&mut self, expr: &Expr, depth: usize) -> ConditionTree {
        if depth > MAX_DEPTH {
            return ConditionTree::Opaque;
        }
        let mut part = |expr: &Expr| Box::new(self.read(expr, depth + 1));
        match expr.without_parentheses().kind() {
            ExprKind::And(left, right) => ConditionTree::And(part(&left), part(&right)),
            ExprKind::Or(left, right) => ConditionTree::Or(part(&left), part(&right)),
            ExprKind::Not(operand) => ConditionTree::Not(part(&operand)),
            ExprKind::Conditional(condition, first, second) => {
                ConditionTree::Conditional(Box::new([*part(&condition), *part(&first), *part(&second)]))
            }
            ExprKind::Compare(operator, left, right) => self.read_comparison(operator, &left, &right),
            ExprKind::Reference => self.add_comparison(expr, "", None, false),
            // A constant in a condition enables or disables a part; it is not a mistake.
            _ => ConditionTree::Opaque,
        }
    }

    fn read_comparison(&mut self, operator: &str, left: &Expr, right: &Expr) -> ConditionTree {
        let is_equality = matches!(operator, "==" | "!=" | "=?=" | "=!=");
        let (operand, constant, is_flipped) =
            match (constant_value(left, self.world), constant_value(right, self.world)) {
                (None, Some(constant)) => (left, constant, false),
                (Some(constant), None) => (right, constant, true),
                _ => return ConditionTree::Opaque,
            };
        match constant {
            Value::Int(_) | Value::Real(_) | Value::Bool(_) | Value::Undefined => {}
            Value::Str(_) if is_equality => {}
            _ => return ConditionTree::Opaque,
        }
        self.add_comparison(operand, operator, Some(constant), is_flipped)
    }

    fn add_comparison(
        &mut self,
        operand: &Expr,
        operator: &str,
        constant: Option<Value>,
        is_flipped: bool,
    ) -> ConditionTree {
        const OPERAND: &str = "Operand";
        let operand = operand.without_parentheses();
        let mut key = operand.unparse();
        if operand.is_reference() {
            key.make_ascii_lowercase();
        } else if key.to_ascii_lowercase().contains_str("random") {
            // Each evaluation returns a different value.
            return ConditionTree::Opaque;
        }
        let literal = constant.clone().map(|value| Expr::literal(value).unparse().to_string());
        let text = match (&literal, is_flipped) {
            (None, _) => OPERAND.to_owned(),
            (Some(literal), false) => format!("{OPERAND} {operator} {literal}"),
            (Some(literal), true) => format!("{literal} {operator} {OPERAND}"),
        };
        let Ok(expr) = Expr::parse_with(text.as_bytes(), Dialect::of_world(self.world)) else {
            return ConditionTree::Opaque;
        };
        let at = self.operands.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.operands.push(key);
            self.operands.len() - 1
        });
        self.comparisons.push(Comparison { operand: at, expr, constant });
        ConditionTree::Comparison(self.comparisons.len() - 1)
    }

    /// Returns values of an operand for which its comparisons may have different outcomes.
    fn candidate_values(&self, operand: usize) -> Vec<Value> {
        let comparisons = self.comparisons.iter().filter(|comparison| comparison.operand == operand);
        let constants: Vec<&Value> =
            comparisons.filter_map(|comparison| comparison.constant.as_ref()).collect();
        let mut all = vec![Value::Undefined, Value::Error, Value::Bool(true), Value::Bool(false)];
        let mut numbers: Vec<f64> = constants.iter().filter_map(|constant| as_number(constant)).collect();
        numbers.extend([0.0, 1.0]);
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let between: Vec<f64> = numbers.windows(2).map(|pair| pair[0].midpoint(pair[1])).collect();
        let ends = [numbers[0] - 1.0, numbers[numbers.len() - 1] + 1.0];
        all.extend(numbers.iter().chain(&between).chain(&ends).map(|number| Value::Real(*number)));
        for constant in constants {
            if let Value::Str(text) = constant {
                let other_case = [text.to_ascii_uppercase(), text.to_ascii_lowercase()];
                all.extend(other_case.into_iter().map(|text| Value::Str(text.into())));
            }
            all.push(constant.clone());
        }
        all.push(Value::Str("another text".into()));
        all
    }

    /// Returns the outcomes for one value of an operand.
    fn evaluate(&self, tree: &ConditionTree, operand: usize, value: &Value) -> OutcomeSet {
        let part = |tree: &ConditionTree| self.evaluate(tree, operand, value);
        match tree {
            ConditionTree::And(left, right) => {
                part(left).combine(part(right), |left, right| left.and(|| right))
            }
            ConditionTree::Or(left, right) => {
                part(left).combine(part(right), |left, right| left.or(|| right))
            }
            ConditionTree::Not(inner) => part(inner).negate(),
            ConditionTree::Conditional(parts) => {
                let [condition, first, second] = &**parts;
                part(condition).choose(|| part(first), || part(second))
            }
            ConditionTree::Comparison(at) if self.comparisons[*at].operand == operand => {
                let mut ad = ClassAd::new();
                ad.insert("Operand", Expr::literal(value.clone()));
                let result = Context::new(self.world).my(&ad).eval(&self.comparisons[*at].expr);
                OutcomeSet::of(Truth::of_value(&result))
            }
            ConditionTree::Comparison(_) | ConditionTree::Opaque => OutcomeSet::ANY,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the reference gives the same result")]
fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Real(number) => Some(*number).filter(|number| number.is_finite()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn missing_outcome_of(text: &str) -> Option<MissingOutcome> {
        find_missing_outcome(&Expr::parse(text.as_bytes()).unwrap(), &RealWorld::new())
    }

    #[test]
    fn conditions_that_are_never_true_are_found() {
        for text in [
            "JobStatus == 5 && JobStatus == 2",
            "JobStatus == 5 && (Foo || Bar) && (JobStatus > 6 || JobStatus < 3)",
            "(Owner == \"ann\" && Owner == \"bob\") || (Memory > 5 && Memory < 3)",
            "time() - QDate > 3600 && time() - QDate < 60",
            "Foo && !Foo",
            "!(Memory > 5 || Memory <= 5)",
            "Owner =?= undefined && Owner == \"ann\"",
            "ClockMin > 18 * 60 && ClockMin < 8 * 60",
            "State == \"Claimed\" ? State == \"Owner\" : State == \"Claimed\"",
        ] {
            assert_eq!(missing_outcome_of(text), Some(MissingOutcome::NeverTrue), "{text}");
        }
    }

    #[test]
    fn conditions_that_are_never_false_are_found() {
        for text in [
            "JobStatus != 5 || JobStatus != 2",
            "Owner != \"ann\" || Owner != \"bob\"",
            "Memory > 1 || Memory < 5",
            "(Foo && X) || Memory >= 5 || Memory <= 5",
            "!(Memory > 5 && Memory < 3)",
        ] {
            assert_eq!(missing_outcome_of(text), Some(MissingOutcome::NeverFalse), "{text}");
        }
    }

    #[test]
    fn conditions_that_may_be_true_or_false_are_not_reported() {
        for text in [
            "true",
            "false && JobStatus == 2",
            "true || Memory > 5",
            "JobStatus == 5 && Foo == 2",
            "Memory > 4 && Memory < 5",
            "Memory >= 5 && Memory <= 5",
            "Owner == \"ann\" || Owner == \"bob\"",
            "Owner =!= \"ann\" && Owner == \"ANN\"",
            "MY.Memory > 5 && TARGET.Memory < 3",
            "random(10) > 5 && random(10) < 3",
            "Foo =?= undefined || Foo",
            "KeyboardIdle > 900 || KeyboardIdle < 300",
            "substr(Owner, 1) == \"a\" || substr(Owner, 2) == \"b\"",
            "X =?= 5 && X =!= 5.0",
            "member(Owner, {\"a\"}) || !member(Owner, {\"a\"})",
        ] {
            assert_eq!(missing_outcome_of(text), None, "{text}");
        }
    }
}
