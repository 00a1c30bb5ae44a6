//! Truth values, and the truth table of `&&` and `||` (reference: `doLogical`, operators.cpp).

use crate::ad::Value;
use crate::eval::computed_value::{ComputedValue, EvalFailure, EvalResult};

/// Truth value, as determined by `&&`, `||` and constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogicValue {
    False,
    True,
    Undefined,
    Error,
    /// The value has no truth value: it is a string, a time, a list or an ad.
    Other,
    /// The evaluation failed.
    Failed,
}

impl From<bool> for LogicValue {
    #[inline]
    fn from(truth: bool) -> Self {
        if truth { LogicValue::True } else { LogicValue::False }
    }
}

impl LogicValue {
    #[inline]
    pub(crate) fn from_result(value: &EvalResult<'_>) -> Self {
        match value {
            Ok(ComputedValue::Undefined) => LogicValue::Undefined,
            Ok(ComputedValue::Error) => LogicValue::Error,
            Ok(value) => match value.truth() {
                Some(true) => LogicValue::True,
                Some(false) => LogicValue::False,
                None => LogicValue::Other,
            },
            Err(EvalFailure) => LogicValue::Failed,
        }
    }

    /// Converts the truth value to the result of a logical operator.
    #[inline]
    pub(crate) fn into_computed<'a>(self) -> EvalResult<'a> {
        match self {
            LogicValue::False => Ok(ComputedValue::Bool(false)),
            LogicValue::True => Ok(ComputedValue::Bool(true)),
            LogicValue::Undefined => Ok(ComputedValue::Undefined),
            LogicValue::Error | LogicValue::Other => Ok(ComputedValue::Error),
            LogicValue::Failed => Err(EvalFailure),
        }
    }
}

/// Logical operator `&&` or `||`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connective {
    And,
    Or,
}

impl Connective {
    /// Returns the truth value of one operand that decides the result regardless of the other operand.
    #[inline]
    fn decisive_operand(self) -> LogicValue {
        match self {
            Connective::And => LogicValue::False,
            Connective::Or => LogicValue::True,
        }
    }

    /// Returns true if the left operand decides the result, so that the right operand is not evaluated.
    #[inline]
    pub(crate) fn is_settled_by(self, left: LogicValue) -> bool {
        left == self.decisive_operand() || matches!(left, LogicValue::Error | LogicValue::Failed)
    }

    /// Returns the result for a left operand that does not decide it, according to the truth table of the
    /// operator.
    #[inline]
    pub(crate) fn combine(self, left: LogicValue, right: LogicValue) -> LogicValue {
        match (left, right) {
            (_, LogicValue::Failed) => LogicValue::Failed,
            (LogicValue::Other, _) | (_, LogicValue::Other | LogicValue::Error) => LogicValue::Error,
            (LogicValue::Undefined, right) if right == self.decisive_operand() => right,
            (LogicValue::Undefined, _) => LogicValue::Undefined,
            (_, right) => right,
        }
    }

    /// Returns the result of the operator. The right operand is evaluated only if it matters.
    pub(crate) fn evaluate(self, left: LogicValue, right: impl FnOnce() -> LogicValue) -> LogicValue {
        if self.is_settled_by(left) { left } else { self.combine(left, right()) }
    }
}

/// Truth of a value, as determined by `&&`, `||` and constraints.
///
/// ```
/// use htc_classad::{Truth, Value};
/// assert_eq!(Truth::of_value(&Value::from(2)), Truth::True);
/// assert_eq!(Truth::of_value(&Value::from("true")), Truth::Error);
/// assert_eq!(Truth::Undefined.and(|| Truth::False), Truth::False);
/// assert_eq!(Truth::True.or(|| unreachable!("it does not matter")), Truth::True);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The value is true or a nonzero number.
    True,
    /// The value is false or zero.
    False,
    /// The value is undefined.
    Undefined,
    /// The value is error, or has no truth value, such as a string.
    Error,
}

impl Truth {
    /// Returns the truth of a value.
    ///
    /// ```
    /// use htc_classad::{Truth, Value};
    /// assert_eq!(Truth::of_value(&Value::from(0)), Truth::False);
    /// assert_eq!(Truth::of_value(&Value::Undefined), Truth::Undefined);
    /// ```
    pub fn of_value(value: &Value) -> Truth {
        match value.truth() {
            Some(true) => Truth::True,
            Some(false) => Truth::False,
            None if value.is_undefined() => Truth::Undefined,
            None => Truth::Error,
        }
    }

    /// Returns `self && right`. Calls `right` only if its result matters.
    pub fn and(self, right: impl FnOnce() -> Truth) -> Truth {
        Truth::from(Connective::And.evaluate(self.into(), || right().into()))
    }

    /// Returns `self || right`. Calls `right` only if its result matters.
    pub fn or(self, right: impl FnOnce() -> Truth) -> Truth {
        Truth::from(Connective::Or.evaluate(self.into(), || right().into()))
    }
}

impl From<Truth> for LogicValue {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::True => LogicValue::True,
            Truth::False => LogicValue::False,
            Truth::Undefined => LogicValue::Undefined,
            Truth::Error => LogicValue::Error,
        }
    }
}

impl From<LogicValue> for Truth {
    fn from(logic: LogicValue) -> Self {
        match logic {
            LogicValue::True => Truth::True,
            LogicValue::False => Truth::False,
            LogicValue::Undefined => Truth::Undefined,
            LogicValue::Error | LogicValue::Other | LogicValue::Failed => Truth::Error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_table_is_that_of_the_reference() {
        use Truth::{Error, False, True, Undefined};
        let all = [True, False, Undefined, Error];
        // Each row is for one left operand, in the order of `all`.
        let and =
            [[True, False, Undefined, Error], [False; 4], [Undefined, False, Undefined, Error], [Error; 4]];
        let or =
            [[True; 4], [True, False, Undefined, Error], [True, Undefined, Undefined, Error], [Error; 4]];
        for (l, left) in all.into_iter().enumerate() {
            for (r, right) in all.into_iter().enumerate() {
                assert_eq!(left.and(|| right), and[l][r], "{left:?} && {right:?}");
                assert_eq!(left.or(|| right), or[l][r], "{left:?} || {right:?}");
            }
        }
    }
}
