//! Comparison of a number of the job with a number of the slot, without the evaluator: most clauses of Requirements are
//! comparisons of a request with an amount, and have as many different values as there are jobs and slots.

use std::cmp::Ordering;

use htc_classad::{ClassAd, Expr, ExprKind, Value};

use super::bit_set::BitSet;
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

    /// Returns the operator for exchanged operands.
    fn mirror(self) -> Self {
        match self {
            Operator::Less => Operator::Greater,
            Operator::LessOrEqual => Operator::GreaterOrEqual,
            Operator::Greater => Operator::Less,
            Operator::GreaterOrEqual => Operator::LessOrEqual,
            Operator::Equal | Operator::NotEqual => self,
        }
    }

    /// Returns the slots for which a comparison of a job's number with theirs is false. The inputs are all
    /// slots with a number, those with a smaller number than the job's, and those with a number that is not
    /// greater.
    fn select_refused(self, all: &BitSet, below: &BitSet, up_to: &BitSet) -> BitSet {
        let without = |set: &BitSet, other: &BitSet| {
            let mut set = set.clone();
            set.remove_all(other);
            set
        };
        match self {
            Operator::Less => up_to.clone(),
            Operator::LessOrEqual => below.clone(),
            Operator::Greater => without(all, below),
            Operator::GreaterOrEqual => without(all, up_to),
            Operator::Equal => {
                let mut refused = without(all, up_to);
                refused.union_with(below);
                refused
            }
            Operator::NotEqual => without(up_to, below),
        }
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

/// Values of an operand of a comparison.
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

/// Slots that a comparison rules out for each class of jobs.
pub(super) struct RefusedSlots {
    /// Slots that refuse each class of jobs; `None` if only the evaluator can decide.
    pub(super) of_job: Vec<Option<BitSet>>,
    /// Classes of slots for which only the evaluator can decide.
    pub(super) undecided: Vec<usize>,
}

/// Comparison of two integers, each from the job, the slot or the clause.
pub(super) struct NumberComparison {
    operator: Operator,
    left: Operand,
    right: Operand,
}

impl NumberComparison {
    /// Prepares a clause for representatives of classes of jobs and slots; `None` if the evaluator is needed.
    pub(super) fn new(expr: &Expr, side: ClauseSide, jobs: &[&ClassAd], slots: &[&ClassAd]) -> Option<Self> {
        let ExprKind::Compare(operator, left, right) = expr.kind() else { return None };
        let operator = Operator::parse(operator)?;
        let operand = |expr: &Expr| {
            if let Some(value) = expr.as_literal() {
                return integer(&value).map(Operand::Constant);
            }
            let reference = Reference::parse(expr)?;
            let is_own = reference.scope != ReferenceScope::Target;
            let values = |ads: &[&ClassAd]| {
                ads.iter().map(|ad| integer(&ad.get(&reference.name)?.as_literal()?)).collect()
            };
            Some(match (is_own, side) {
                (true, ClauseSide::Slot) | (false, ClauseSide::Job) => Operand::Slot(values(slots)),
                (true, ClauseSide::Job) | (false, ClauseSide::Slot) => Operand::Job(values(jobs)),
            })
        };
        Some(NumberComparison { operator, left: operand(&left)?, right: operand(&right)? })
    }

    /// Returns for each class of jobs the slots for which the clause is not true, if it compares a number of the job
    /// with one of the slot. `slots` has the members of each class of slots, numbers below `size`. Classes whose value
    /// is not an integer are left out.
    pub(super) fn refused_slots(&self, slots: &[Vec<usize>], size: usize) -> Option<RefusedSlots> {
        let (jobs, values, operator) = match (&self.left, &self.right) {
            (Operand::Job(jobs), Operand::Slot(values)) => (jobs, values, self.operator),
            (Operand::Slot(values), Operand::Job(jobs)) => (jobs, values, self.operator.mirror()),
            _ => return None,
        };
        let sorted = |values: &[Option<i64>]| {
            let numbers = values.iter().enumerate().filter_map(|(at, value)| value.map(|value| (value, at)));
            let mut numbers: Vec<(i64, usize)> = numbers.collect();
            numbers.sort_unstable();
            numbers
        };
        let by_value = sorted(values);
        let mut all = BitSet::new(size);
        by_value.iter().for_each(|(_, class)| insert_all(&mut all, &slots[*class]));
        let mut of_job = vec![None; jobs.len()];
        // Slots with values below that of the job, and slots with values up to it.
        let (mut below, mut up_to) = (BitSet::new(size), BitSet::new(size));
        let (mut next_below, mut next_up_to) = (by_value.iter().peekable(), by_value.iter().peekable());
        for (number, job) in sorted(jobs) {
            while let Some((_, class)) = next_below.next_if(|(value, _)| *value < number) {
                insert_all(&mut below, &slots[*class]);
            }
            while let Some((_, class)) = next_up_to.next_if(|(value, _)| *value <= number) {
                insert_all(&mut up_to, &slots[*class]);
            }
            of_job[job] = Some(operator.select_refused(&all, &below, &up_to));
        }
        let undecided = (0..values.len()).filter(|class| values[*class].is_none()).collect();
        Some(RefusedSlots { of_job, undecided })
    }

    /// Decides the clause for a class of jobs and a class of slots; `None` if the evaluator is needed.
    pub(super) fn holds(&self, job: usize, slot: usize) -> Option<bool> {
        let (left, right) = (self.left.value(job, slot)?, self.right.value(job, slot)?);
        Some(self.operator.holds(left.cmp(&right)))
    }
}

fn insert_all(set: &mut BitSet, slots: &[usize]) {
    slots.iter().for_each(|slot| set.insert(*slot));
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ClauseSide, NumberComparison};
    use htc_classad::{ClassAd, Expr};

    #[test]
    fn sorted_numbers_refuse_the_same_slots_as_each_pair() {
        let ad = |name: &str, value: &Option<i64>| match value {
            Some(value) => ClassAd::from([(name, *value)]),
            None => ClassAd::from([(name, "text")]),
        };
        let jobs = [Some(3), None, Some(-1), Some(3), Some(8), Some(i64::MIN)];
        let slots = [Some(3), Some(9), None, Some(i64::MIN), Some(0), Some(i64::MAX)];
        let job_ads: Vec<ClassAd> = jobs.iter().map(|value| ad("J", value)).collect();
        let slot_ads: Vec<ClassAd> = slots.iter().map(|value| ad("S", value)).collect();
        let job_refs: Vec<&ClassAd> = job_ads.iter().collect();
        let slot_refs: Vec<&ClassAd> = slot_ads.iter().collect();
        // Each class has two slots.
        let members: Vec<Vec<usize>> = (0..slots.len()).map(|class| vec![class * 2, class * 2 + 1]).collect();
        for operator in ["<", "<=", ">", ">=", "==", "!="] {
            for text in [format!("MY.J {operator} TARGET.S"), format!("TARGET.S {operator} MY.J")] {
                let expr = Expr::parse(text.as_bytes()).unwrap();
                let comparison =
                    NumberComparison::new(&expr, ClauseSide::Job, &job_refs, &slot_refs).unwrap();
                let refused = comparison.refused_slots(&members, slots.len() * 2).unwrap();
                assert_eq!(refused.undecided, [2]);
                for (job, refused) in refused.of_job.iter().enumerate() {
                    assert_eq!(refused.is_some(), jobs[job].is_some(), "{text}");
                    for slot in 0..slots.len() {
                        let Some(refused) = refused else { continue };
                        let holds = comparison.holds(job, slot);
                        let expected = holds == Some(false);
                        assert_eq!(refused.contains(slot * 2), expected, "{text}: {job} {slot}");
                        assert_eq!(refused.contains(slot * 2 + 1), expected, "{text}: {job} {slot}");
                    }
                }
            }
        }
    }
}
