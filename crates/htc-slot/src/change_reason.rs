//! Reasons for changes of a slot's state and activity.

use std::fmt;

/// Value of a policy parameter that decided a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyValue {
    /// Name of the parameter, such as `PREEMPT`.
    pub parameter: &'static str,
    /// Value of its expression.
    pub value: bool,
}

impl PolicyValue {
    /// Creates the policy value of a parameter that is true.
    pub(super) const fn is_true(parameter: &'static str) -> Self {
        PolicyValue { parameter, value: true }
    }

    /// Creates the policy value of a parameter that is false.
    pub(super) const fn is_false(parameter: &'static str) -> Self {
        PolicyValue { parameter, value: false }
    }
}

impl fmt::Display for PolicyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.parameter, self.value)
    }
}

/// Reason for a change of a slot's state or activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeReason {
    /// A policy parameter has a value.
    Policy(PolicyValue),
    /// Any other reason, as text; may be empty.
    Text(String),
}

impl ChangeReason {
    /// Returns the value of a policy parameter that is the reason, or `None` for another reason.
    pub fn policy(&self) -> Option<PolicyValue> {
        match self {
            ChangeReason::Policy(value) => Some(*value),
            ChangeReason::Text(_) => None,
        }
    }
}

impl fmt::Display for ChangeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeReason::Policy(value) => value.fmt(f),
            ChangeReason::Text(text) => f.write_str(text),
        }
    }
}

impl From<PolicyValue> for ChangeReason {
    fn from(value: PolicyValue) -> Self {
        ChangeReason::Policy(value)
    }
}

impl From<&str> for ChangeReason {
    fn from(text: &str) -> Self {
        ChangeReason::Text(text.to_owned())
    }
}

impl From<String> for ChangeReason {
    fn from(text: String) -> Self {
        ChangeReason::Text(text)
    }
}
