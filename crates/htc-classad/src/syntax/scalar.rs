//! The one scalar: a value that has no parts, in the tree of an expression, in an ad, in an expression by itself, or looked at.

use bstr::BString;

/// A value that has no parts. What holds its text if it is a string is `S`: a range of the text beside it ([`TextRange`]), the bytes
/// themselves, or a look at them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Scalar<S> {
    #[default]
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    Str(S),
}

/// A range of the text that a tree or an ad has beside its nodes or attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextRange {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl TextRange {
    /// The bytes that are meant.
    #[inline]
    pub(crate) fn slice(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.start as usize + self.len as usize]
    }
}

impl<S> Scalar<S> {
    /// The same scalar with its text held in another way.
    #[inline(always)]
    pub(crate) fn map<T>(self, text: impl FnOnce(S) -> T) -> Scalar<T> {
        match self {
            Scalar::Undefined => Scalar::Undefined,
            Scalar::Error => Scalar::Error,
            Scalar::Bool(truth) => Scalar::Bool(truth),
            Scalar::Int(integer) => Scalar::Int(integer),
            Scalar::Real(real) => Scalar::Real(real),
            Scalar::Str(string) => Scalar::Str(text(string)),
        }
    }

    /// The truth value of a boolean or number ("boolean-equivalent": `IsBooleanValueEquiv`, value.h).
    #[inline]
    pub(crate) fn truth(&self) -> Option<bool> {
        match *self {
            Scalar::Bool(truth) => Some(truth),
            Scalar::Int(integer) => Some(integer != 0),
            Scalar::Real(real) => Some(real != 0.0),
            Scalar::Undefined | Scalar::Error | Scalar::Str(_) => None,
        }
    }
}

impl Scalar<&[u8]> {
    /// The scalar with a text of its own.
    pub(crate) fn to_owned(self) -> Scalar<BString> {
        self.map(BString::from)
    }
}

impl Scalar<BString> {
    /// A look at it.
    #[inline]
    pub(crate) fn as_borrowed(&self) -> Scalar<&[u8]> {
        match *self {
            Scalar::Str(ref text) => Scalar::Str(text),
            Scalar::Undefined => Scalar::Undefined,
            Scalar::Error => Scalar::Error,
            Scalar::Bool(truth) => Scalar::Bool(truth),
            Scalar::Int(integer) => Scalar::Int(integer),
            Scalar::Real(real) => Scalar::Real(real),
        }
    }
}
