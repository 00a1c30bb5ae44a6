//! The truth of values, and the one table of `&&` and `||` (reference: `doLogical`, operators.cpp).

use crate::ad::Value;
use crate::eval::computed::{Computed, Evaluated, Failure};

/// What `&&`, `||` and constraints see of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    False,
    True,
    Undefined,
    Error,
    /// A value without truth: text, a time, a list, an ad.
    Other,
    /// There is no value.
    Failed,
}

impl From<bool> for Logic {
    #[inline]
    fn from(truth: bool) -> Self {
        if truth { Logic::True } else { Logic::False }
    }
}

impl Logic {
    #[inline]
    pub(crate) fn of(value: &Evaluated<'_>) -> Self {
        match value {
            Ok(Computed::Undefined) => Logic::Undefined,
            Ok(Computed::Error) => Logic::Error,
            Ok(value) => match value.truth() {
                Some(true) => Logic::True,
                Some(false) => Logic::False,
                None => Logic::Other,
            },
            Err(Failure) => Logic::Failed,
        }
    }

    /// The value of a logical operator.
    #[inline]
    pub(crate) fn into_computed<'a>(self) -> Evaluated<'a> {
        match self {
            Logic::False => Ok(Computed::Bool(false)),
            Logic::True => Ok(Computed::Bool(true)),
            Logic::Undefined => Ok(Computed::Undefined),
            Logic::Error | Logic::Other => Ok(Computed::Error),
            Logic::Failed => Err(Failure),
        }
    }
}

/// `&&` or `||`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connective {
    And,
    Or,
}

impl Connective {
    /// The truth of one operand that makes the other one irrelevant.
    #[inline]
    fn decisive(self) -> Logic {
        match self {
            Connective::And => Logic::False,
            Connective::Or => Logic::True,
        }
    }

    /// Whether the left operand is the result already, so that the right one is not asked for.
    #[inline]
    pub(crate) fn is_settled_by(self, left: Logic) -> bool {
        left == self.decisive() || matches!(left, Logic::Error | Logic::Failed)
    }

    /// The result where the left operand has not settled it: the table.
    #[inline]
    pub(crate) fn join(self, left: Logic, right: Logic) -> Logic {
        match (left, right) {
            (_, Logic::Failed) => Logic::Failed,
            (Logic::Other, _) | (_, Logic::Other | Logic::Error) => Logic::Error,
            (Logic::Undefined, right) if right == self.decisive() => right,
            (Logic::Undefined, _) => Logic::Undefined,
            (_, right) => right,
        }
    }

    /// The result, where the right operand is only asked for when it matters.
    pub(crate) fn of(self, left: Logic, right: impl FnOnce() -> Logic) -> Logic {
        if self.is_settled_by(left) { left } else { self.join(left, right()) }
    }
}

/// What an expression's value is to `&&`, `||` and a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// True, or a number other than zero.
    True,
    /// False or zero.
    False,
    /// Undefined.
    Undefined,
    /// Error, or a value that is no truth value.
    Error,
}

impl Truth {
    /// What a value is.
    pub fn of(value: &Value) -> Truth {
        match value.truth() {
            Some(true) => Truth::True,
            Some(false) => Truth::False,
            None if value.is_undefined() => Truth::Undefined,
            None => Truth::Error,
        }
    }

    /// `self && right`, where `right` is only asked for when it matters.
    pub fn and(self, right: impl FnOnce() -> Truth) -> Truth {
        Truth::from(Connective::And.of(self.into(), || right().into()))
    }

    /// `self || right`, where `right` is only asked for when it matters.
    pub fn or(self, right: impl FnOnce() -> Truth) -> Truth {
        Truth::from(Connective::Or.of(self.into(), || right().into()))
    }
}

impl From<Truth> for Logic {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::True => Logic::True,
            Truth::False => Logic::False,
            Truth::Undefined => Logic::Undefined,
            Truth::Error => Logic::Error,
        }
    }
}

impl From<Logic> for Truth {
    fn from(logic: Logic) -> Self {
        match logic {
            Logic::True => Truth::True,
            Logic::False => Truth::False,
            Logic::Undefined => Truth::Undefined,
            Logic::Error | Logic::Other | Logic::Failed => Truth::Error,
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
