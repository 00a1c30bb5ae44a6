//! Truth values, and the truth table of `&&` and `||` (reference: `doLogical`, operators.cpp).

use crate::ad::Value;
use crate::eval::computed_value::{ComputedValue, EvalFailure, EvalResult};

/// Value as seen by `&&`, `||` and constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogicValue {
    False,
    True,
    Undefined,
    Error,
    /// A value that is not a truth value: text, a time, a list, an ad.
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

    /// Converts to the value of a logical operator.
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

/// Logical connective: `&&` or `||`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connective {
    And,
    Or,
}

impl Connective {
    /// Returns the truth value of one operand that makes the other one irrelevant.
    #[inline]
    fn decisive_operand(self) -> LogicValue {
        match self {
            Connective::And => LogicValue::False,
            Connective::Or => LogicValue::True,
        }
    }

    /// Returns true if the left operand decides the result, so that the right one is not evaluated.
    #[inline]
    pub(crate) fn is_settled_by(self, left: LogicValue) -> bool {
        left == self.decisive_operand() || matches!(left, LogicValue::Error | LogicValue::Failed)
    }

    /// Returns the result if the left operand does not decide it: the truth table.
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

    /// Returns the result, evaluating the right operand only if it matters.
    pub(crate) fn evaluate(self, left: LogicValue, right: impl FnOnce() -> LogicValue) -> LogicValue {
        if self.is_settled_by(left) { left } else { self.combine(left, right()) }
    }
}

/// Truth of a value as seen by `&&`, `||` and a test.
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
    /// True, or a number other than zero.
    True,
    /// False or zero.
    False,
    /// Undefined.
    Undefined,
    /// Error, or a value that is not a truth value.
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

    /// Returns `self && right`, calling `right` only if it matters.
    pub fn and(self, right: impl FnOnce() -> Truth) -> Truth {
        Truth::from(Connective::And.evaluate(self.into(), || right().into()))
    }

    /// Returns `self || right`, calling `right` only if it matters.
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
    fn the_table_is_that_of_the_reference() {
        use Truth::{Error, False, True, Undefined};
        let all = [True, False, Undefined, Error];
        // Rows are left operands, in the order of `all`.
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
