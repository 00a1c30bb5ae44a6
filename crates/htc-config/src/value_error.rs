//! Invalid values: the problem, the value that is used instead, and the reference's message
//! (`condor_config.cpp`, `param_integer`, `param_boolean`, `param_double`).

use std::fmt;

use bstr::BString;

use crate::defaults::{self, Parameter};
use crate::evaluate;
use crate::expand::ExpandError;
use crate::setting::{Setting, SettingOrigin};

/// Reason why a value is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueProblem {
    /// The value cannot be expanded.
    Expansion(ExpandError),
    /// The value is not a boolean.
    NotBoolean,
    /// The value is not a valid number or expression; contains the kind of number.
    NotExpression(&'static str),
    /// The expression is valid, but its value is not a number.
    NotNumber(&'static str),
    /// The value is less than the minimum.
    TooLow(&'static str),
    /// The value is greater than the maximum.
    TooHigh(&'static str),
    /// The value exceeds 32 bits.
    OutOfBounds,
}

/// An invalid value. Tools use `fallback` instead; daemons stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(Box<ValueErrorDetails>);

impl std::ops::Deref for ValueError {
    type Target = ValueErrorDetails;

    fn deref(&self) -> &ValueErrorDetails {
        &self.0
    }
}

/// Details of a [`ValueError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueErrorDetails {
    /// Name of the parameter.
    pub name: BString,
    /// Expanded value of the parameter.
    pub value: BString,
    /// Why the value is not valid.
    pub problem: ValueProblem,
    /// Minimum and maximum of valid values as text.
    pub range: (String, String),
    /// Value that the reference's tools use instead.
    pub fallback: BString,
    /// Default of the parameter as text.
    pub default: String,
    /// Origin of the value.
    pub origin: Option<SettingOrigin>,
}

impl ValueErrorDetails {
    /// Creates an error without range, fallback and default.
    pub fn new(name: &[u8], value: BString, problem: ValueProblem, origin: Option<SettingOrigin>) -> Self {
        Self {
            name: name.into(),
            value,
            problem,
            range: Default::default(),
            fallback: BString::default(),
            default: String::new(),
            origin,
        }
    }
}

impl From<ValueErrorDetails> for ValueError {
    fn from(failure: ValueErrorDetails) -> Self {
        Self(Box::new(failure))
    }
}

impl ValueError {
    /// Creates an error for a text that is not a boolean. Its fallback is the boolean at the beginning of the
    /// text, or else the default.
    pub fn not_boolean(name: &[u8], text: Setting<BString>, default: bool) -> Self {
        let fallback = evaluate::boolean_prefix(&text.value).unwrap_or(default);
        let mut failure =
            ValueErrorDetails::new(name, text.value, ValueProblem::NotBoolean, Some(text.origin));
        failure.default = if default { "True".into() } else { "False".into() };
        failure.fallback = fallback.to_string().into();
        failure.into()
    }

    /// Returns the same error with a range from the caller.
    #[must_use]
    pub fn with_range(mut self, min: &str, max: &str) -> Self {
        self.0.range = (min.to_owned(), max.to_owned());
        self
    }

    /// Returns the error with the caller's default, which is used if the table of defaults has no entry.
    #[must_use]
    pub fn with_default(mut self, default: &str) -> Self {
        let found = self.0.origin.as_ref().map_or(&b""[..], |origin| origin.name.as_slice());
        let parameter = defaults::find_requested_or_found(found, &self.0.name);
        if parameter.and_then(Parameter::explicit_default).is_some() {
            return self;
        }
        match self.0.problem {
            ValueProblem::NotBoolean => {
                let truth = default.eq_ignore_ascii_case("true");
                let fallback = evaluate::boolean_prefix(&self.0.value).unwrap_or(truth);
                self.0.fallback = fallback.to_string().into();
            }
            ValueProblem::NotExpression(_) | ValueProblem::NotNumber(_) | ValueProblem::Expansion(_) => {
                self.0.fallback = default.into();
            }
            _ => {}
        }
        self.0.default = default.into();
        self
    }

    /// Returns the message for users: the reference's message and the place of the value.
    pub fn user_message(&self) -> String {
        match &self.origin {
            Some(origin) => format!("{self} ({})", origin.describe()),
            None => self.to_string(),
        }
    }

    /// Returns the line that the reference logs, with the place in its own source, without a newline.
    pub fn reference_line(&self) -> String {
        let line = match self.problem {
            ValueProblem::NotBoolean => 2659,
            ValueProblem::NotExpression("numeric") | ValueProblem::NotNumber("numeric") => 2527,
            ValueProblem::TooLow("number") | ValueProblem::TooHigh("number") => 2527,
            _ => 2283,
        };
        format!("ERROR \"{self}\" at line {line} in file condor_config.cpp")
    }
}

/// Prints the reference's message, without the line number of its source.
impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ValueErrorDetails { name, value, problem, range: (min, max), default, .. } = &**self;
        let article = |kind: &str| if kind.starts_with('i') { "an" } else { "a" };
        let rest = |expected: String| {
            format!("Please set it to {expected} in the range {min} to {max} (default {default}).")
        };
        match problem {
            ValueProblem::Expansion(error) => write!(f, "{name}: {error}"),
            ValueProblem::NotBoolean => write!(
                f,
                "{name} in the condor configuration  is not a valid boolean (\"{value}\").  Please set it to True or \
                 False (default is {default})"
            ),
            ValueProblem::NotExpression(kind) => write!(
                f,
                "Invalid expression for {name} ({value}) in condor configuration.  {}",
                rest(format!("{} {kind} expression", article(kind)))
            ),
            ValueProblem::NotNumber(kind) => {
                let not = if kind.starts_with('i') { "an integer" } else { "a number" };
                write!(
                    f,
                    "Invalid result (not {not}) for {name} ({value}) in condor configuration.  {}",
                    rest(format!("{} {kind} expression", article(kind)))
                )
            }
            ValueProblem::TooLow(kind) => write!(
                f,
                "{name} in the condor configuration is too low ({value}).  {}",
                rest(format!("{} {kind}", article(kind)))
            ),
            ValueProblem::TooHigh(kind) => write!(
                f,
                "{name} in the condor configuration is too high ({value}).  {}",
                rest(format!("{} {kind}", article(kind)))
            ),
            ValueProblem::OutOfBounds => write!(
                f,
                "{name} in the condor configuration is out of bounds for an integer ({value}).  {}",
                rest("an integer".into())
            ),
        }
    }
}

impl std::error::Error for ValueError {}
