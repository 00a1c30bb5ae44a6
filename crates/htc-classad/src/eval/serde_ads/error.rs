//! Why an ad and a structure do not go together.

use std::fmt::{self, Display};

/// What does not fit, and the attribute that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The way to the attribute, the innermost part first: names, and places in lists as `[2]`.
    path: Vec<String>,
    message: String,
}

impl FieldError {
    /// The attribute: `Name`, `Outer.Inner`, `List[2]`; none where the whole ad is meant.
    pub fn attribute(&self) -> Option<String> {
        let mut name = String::new();
        for part in self.path.iter().rev() {
            if !name.is_empty() && !part.starts_with('[') {
                name.push('.');
            }
            name.push_str(part);
        }
        (!name.is_empty()).then_some(name)
    }

    /// What is wrong, without the attribute.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error seen from further out.
    pub(super) fn nested_in(mut self, part: impl Into<String>) -> Self {
        self.path.push(part.into());
        self
    }

    fn new(message: impl Display) -> Self {
        FieldError { path: Vec::new(), message: message.to_string() }
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attribute() {
            Some(attribute) => write!(f, "attribute '{attribute}': {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for FieldError {}

impl serde::de::Error for FieldError {
    fn custom<T: Display>(message: T) -> Self {
        FieldError::new(message)
    }

    fn missing_field(field: &'static str) -> Self {
        FieldError::new("the ad has no such attribute").nested_in(field)
    }
}

impl serde::ser::Error for FieldError {
    fn custom<T: Display>(message: T) -> Self {
        FieldError::new(message)
    }
}
