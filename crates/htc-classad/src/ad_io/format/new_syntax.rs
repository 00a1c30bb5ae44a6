//! Ads in new syntax: `[ a = 1; b = 2 ]`.
//!
//! ```
//! use htc_classad::{Dialect, format::new_syntax};
//! let (ad, used) = new_syntax::parse_prefix("[ a = 1; b = a + 1 ]", Dialect::new_syntax()).unwrap();
//! assert_eq!((ad.to_string().as_str(), used), ("[ a = 1; b = a + 1 ]", 20));
//! ```

use crate::ad::ClassAd;
use crate::syntax::Dialect;
use crate::syntax::Expr;
use crate::syntax::ParseError;
use crate::syntax::lexer::TokenKind;
use crate::syntax::parser::with_parser;

/// Parses the ad at the beginning of a text. Returns the ad and the number of bytes used.
///
/// ```
/// use htc_classad::{Dialect, format::new_syntax};
/// let text = "[ Cpus = 4 ] and so on";
/// let (ad, used) = new_syntax::parse_prefix(text, Dialect::new_syntax()).unwrap();
/// assert_eq!((ad["Cpus"].to_string().as_str(), text[used..].trim_start()), ("4", "and so on"));
/// ```
///
/// # Errors
/// Fails with the place where the text stops being an ad.
pub fn parse_prefix(text: impl AsRef<[u8]>, dialect: Dialect) -> Result<(ClassAd, usize), ParseError> {
    with_parser(text.as_ref(), dialect, |parser| {
        if parser.token_kind() != TokenKind::OpenBox {
            return Err(parser.unexpected_token("an ad, which begins with `[`"));
        }
        let fields = parser.parse_fields()?;
        let tree = parser.finish_tree();
        let mut ad = ClassAd::new();
        for field in &fields {
            ad.put_expr(tree.name_bytes(field.name), Expr::from_tree(&tree, field.node));
        }
        Ok((ad, parser.last_ad_end()))
    })
}

/// Checks that only white space and comments follow an ad that ends at `used`.
///
/// # Errors
/// Fails with the text that follows.
pub(crate) fn expect_end(text: &[u8], used: usize, dialect: Dialect) -> Result<(), ParseError> {
    let rest = &text[used..];
    with_parser(rest, dialect, |parser| match parser.token_kind() {
        TokenKind::End => Ok(()),
        _ => Err(parser.unexpected_token("the end of the text")),
    })
    .map_err(|mut error| {
        let shift = u32::try_from(used).unwrap_or(u32::MAX);
        error.span.start = error.span.start.saturating_add(shift);
        error.span.end = error.span.end.saturating_add(shift);
        error
    })
}

impl ClassAd {
    /// Parses a text that consists of one ad in new syntax: `[ a = 1; b = 2 ]`. Any text after the ad is an
    /// error.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Dialect};
    /// let ad = ClassAd::parse_new("[ Cpus = 4; Memory = Cpus * 1024 ]", Dialect::new_syntax()).unwrap();
    /// assert_eq!(ad["Memory"].to_string(), "Cpus * 1024");
    /// assert!(ClassAd::parse_new("[ Cpus = 4 ] ]", Dialect::new_syntax()).is_err());
    /// ```
    ///
    /// # Errors
    /// Fails with the place where the text stops being an ad.
    pub fn parse_new(text: impl AsRef<[u8]>, dialect: Dialect) -> Result<ClassAd, ParseError> {
        let text = text.as_ref();
        let (ad, used) = parse_prefix(text, dialect)?;
        expect_end(text, used, dialect)?;
        Ok(ad)
    }
}
