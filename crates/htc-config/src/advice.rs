//! Advice on how to correct a finding.

use std::fmt;

use bstr::BString;

/// Advice on how to correct a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Sentence that says what to change.
    Text(String),
    /// Valid name or word that was probably intended.
    DidYouMean(BString),
    /// Replacement that is certainly correct.
    Write(BString),
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::Text(text) => f.write_str(text),
            Advice::DidYouMean(name) => write!(f, "did you mean {name}?"),
            Advice::Write(text) => write!(f, "write {text}"),
        }
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Self {
        Advice::Text(text)
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Self {
        Advice::Text(text.to_owned())
    }
}

/// Value that can be converted to advice.
pub trait IntoAdvice {
    /// Returns the advice, if there is any.
    fn into_advice(self) -> Option<Advice>;
}

impl IntoAdvice for Advice {
    fn into_advice(self) -> Option<Advice> {
        Some(self)
    }
}

impl IntoAdvice for String {
    fn into_advice(self) -> Option<Advice> {
        Some(self.into())
    }
}

impl IntoAdvice for &str {
    fn into_advice(self) -> Option<Advice> {
        Some(self.into())
    }
}

impl IntoAdvice for Option<Advice> {
    fn into_advice(self) -> Option<Advice> {
        self
    }
}
