//! Attributes and expressions of columns.

use crate::classad::{Dialect, Expr};

/// Attribute or expression of a column.
#[derive(Clone, Debug)]
pub(super) struct ColumnSource {
    /// Text of the column: name of an attribute or, if the ad lacks it, of an expression.
    pub(super) name: Vec<u8>,
    /// The text as an expression, or `None` if it is not a valid expression.
    pub(super) expr: Option<Expr>,
}

/// Text of a column that is not a valid expression, with the location and reason of the error.
#[derive(Clone, Debug)]
pub struct BadColumn {
    /// Text of the column.
    pub text: Vec<u8>,
    /// Parse error.
    pub error: crate::classad::ParseError,
}

/// Parses the text of a column.
///
/// # Errors
/// Fails if the text is not a valid expression.
pub(super) fn parse_source(word: &[u8]) -> Result<ColumnSource, BadColumn> {
    // The condor tools parse columns like values of long ads, in which a backslash is an ordinary byte.
    match Expr::parse_with(word, Dialect::old_syntax()) {
        Ok(expr) => Ok(ColumnSource { name: word.to_vec(), expr: Some(expr) }),
        Err(error) => Err(BadColumn { text: word.to_vec(), error }),
    }
}
