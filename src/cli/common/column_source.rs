//! Attributes and expressions of columns.

use crate::classad::{Dialect, Expr};

/// Attribute or expression of a column.
#[derive(Clone, Debug)]
pub(super) struct ColumnSource {
    /// Name of an attribute; where the ad lacks it, the text of the expression.
    pub(super) name: Vec<u8>,
    /// Expression, or `None` if the text is not a valid one.
    pub(super) expr: Option<Expr>,
}

/// A word that is not a valid expression: its text, and the place and reason of the error.
#[derive(Clone, Debug)]
pub struct BadColumn {
    /// Text of the column.
    pub text: Vec<u8>,
    /// Parse error.
    pub error: crate::classad::ParseError,
}

/// Parses the attribute or expression of a column.
///
/// # Errors
/// Fails if it is not a valid expression.
pub(super) fn parse_source(word: &[u8]) -> Result<ColumnSource, BadColumn> {
    // The condor tools parse columns like values of long ads: a backslash is an ordinary byte.
    match Expr::parse_with(word, Dialect::old_syntax()) {
        Ok(expr) => Ok(ColumnSource { name: word.to_vec(), expr: Some(expr) }),
        Err(error) => Err(BadColumn { text: word.to_vec(), error }),
    }
}
