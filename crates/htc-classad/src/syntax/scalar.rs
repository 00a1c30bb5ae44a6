//! Scalars: values that have no parts. Trees, ads and expressions use them.

use bstr::BString;

/// Value that has no parts. `S` is the type of the text of a string: a range of the text of a tree or ad
/// ([`TextRange`]), owned bytes, or a slice.
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

/// Range of the text of a tree or of an ad, which is stored apart from nodes and attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextRange {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl TextRange {
    /// Returns the bytes of `text` in the range.
    #[inline]
    pub(crate) fn slice(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.start as usize + self.len as usize]
    }
}

impl<S> Scalar<S> {
    /// Converts the text of a string with `text`. Any other scalar is unchanged.
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

    /// Returns true or false for a boolean or number (nonzero is true), or `None` for any other scalar. The reference
    /// calls such values "boolean-equivalent" (`IsBooleanValueEquiv`, value.h).
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
    /// Returns the scalar with an owned text.
    pub(crate) fn to_owned(self) -> Scalar<BString> {
        self.map(BString::from)
    }
}

impl Scalar<BString> {
    /// Returns the scalar with a borrowed text.
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
