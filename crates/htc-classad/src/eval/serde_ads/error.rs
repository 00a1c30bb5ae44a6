//! Errors of the conversion between ads and structures.

use std::fmt::{self, Display};

/// Error of a conversion, with the attribute in which it occurred.
///
/// ```
/// #[derive(Debug, serde::Deserialize)]
/// struct Job { cpus: u32 }
///
/// let ad = htc_classad::ClassAd::from([("cpus", "four")]);
/// let error = htc_classad::from_ad::<Job>(&ad).unwrap_err();
/// assert_eq!(error.attribute().as_deref(), Some("cpus"));
/// assert!(error.to_string().contains(error.message()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the attribute, innermost part first. A part is a name, or the index of a list element such as
    /// `[2]`.
    path: Vec<String>,
    message: String,
}

impl FieldError {
    /// Returns the attribute (`Name`, `Outer.Inner`, `List[2]`), or `None` if the error concerns the whole
    /// ad.
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

    /// Returns the message without the name of the attribute.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Adds an outer part, a name or an index, to the path of the attribute.
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
