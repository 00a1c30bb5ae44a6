//! Parsing of attributes from lines of long ads.

use super::ClassAd;
use crate::syntax::name;
use crate::syntax::simple_literals::parse_plain_literal;
use crate::syntax::{AttrName, Dialect, Expr, ParseError};
use crate::text::Span;
use crate::text::space::is_space;

/// Error in a line of a long ad.
///
/// ```
/// use htc_classad::{ClassAd, LineError};
/// let mut ad = ClassAd::new();
/// assert_eq!(ad.insert_line("Owner").unwrap_err(), LineError::NoEquals);
/// let error = ad.insert_line("Rank = 1 +").unwrap_err();
/// assert!(matches!(&error, LineError::Value(error) if error.span.start == 10), "{error:?}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The line has no `=`.
    #[error("no `=` in the line; write `Name = value`")]
    NoEquals,
    /// The line has no name before the `=`.
    #[error("no name before the `=`")]
    NoName,
    /// The text after the `=` does not begin with an expression. Spans count from the start of the line.
    #[error("bad value: {0}")]
    Value(ParseError),
    /// The name is not a valid attribute name. Reported only in exact mode
    /// ([`AdReader::exact`](crate::stream::AdReader::exact)).
    #[error("the name is not a valid identifier: use letters, digits and `_`")]
    Name(Span),
    /// The line has other text after the value. Reported only in exact mode
    /// ([`AdReader::exact`](crate::stream::AdReader::exact)).
    #[error("the value ends before this text")]
    TrailingText(Span),
    /// The line has a NUL byte. Reported only by [`AdReader`](crate::stream::AdReader).
    #[error("the line has a NUL byte")]
    NulByte(Span),
}

/// Parts of one line of a long ad.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineParts<'l> {
    /// Name without the white space around it.
    pub(crate) name: &'l [u8],
    /// Offset of the value in the line, after the `=` and the blanks that follow it.
    pub(crate) value_at: usize,
    /// Value up to the first NUL byte, because the reference ends the line there.
    pub(crate) value: &'l [u8],
}

/// Returns the line up to its first NUL byte, because the reference ends the line there.
pub(crate) fn cut_at_nul(line: &[u8]) -> &[u8] {
    match memchr::memchr(0, line) {
        Some(end) => &line[..end],
        None => line,
    }
}

/// Splits a line into name and value (reference: `InsertLongFormAttrValue`, compat_classad.cpp). Leading white space is
/// skipped, the name ends at the first `=`, and blanks around the `=` are dropped.
pub(crate) fn split_line(line: &[u8]) -> Result<LineParts<'_>, LineError> {
    let line = cut_at_nul(line);
    let start = line.iter().take_while(|b| is_space(**b)).count();
    let equals = start + memchr::memchr(b'=', &line[start..]).ok_or(LineError::NoEquals)?;
    let blanks = line[start..equals].iter().rev().take_while(|b| **b == b' ').count();
    let name = &line[start..equals - blanks];
    if name.is_empty() {
        return Err(LineError::NoName);
    }
    let value_at = equals + 1 + line[equals + 1..].iter().take_while(|b| **b == b' ').count();
    Ok(LineParts { name, value_at, value: &line[value_at..] })
}

/// Checks that a line consists of one valid attribute: the name is an identifier, and the value is one complete
/// expression. The reference does not require this.
pub(crate) fn check_exact_line(line: &[u8], dialect: Dialect) -> Result<(), LineError> {
    let LineParts { name, value_at, value } = split_line(line)?;
    let is_identifier =
        !name[0].is_ascii_digit() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    if !is_identifier {
        let start = line.iter().take_while(|b| is_space(**b)).count();
        return Err(LineError::Name(Span::new(start, start + name.len())));
    }
    let end = match value_end(value, dialect) {
        Ok(end) => value_at + end,
        Err(error) => return Err(LineError::Value(shift_error(error, value_at))),
    };
    // The remaining text includes any text after a NUL byte.
    let rest = line[end..].iter().take_while(|b| is_space(**b)).count();
    if end + rest < line.len() {
        return Err(LineError::TrailingText(Span::new(end + rest, line.len())));
    }
    Ok(())
}

/// Returns the length of the expression at the beginning of a value.
fn value_end(value: &[u8], dialect: Dialect) -> Result<usize, ParseError> {
    if parse_plain_literal(value).is_some() {
        return Ok(value.len());
    }
    Expr::parse_prefix(value, dialect.old()).map(|(_, used)| used)
}

/// Shifts the span of an error by `by`, from an offset within a part of a line to an offset within the line.
pub(crate) fn shift_error(mut error: ParseError, by: usize) -> ParseError {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    error.span.start = error.span.start.saturating_add(by);
    error.span.end = error.span.end.saturating_add(by);
    error
}

impl LineError {
    /// Returns the message of the error. If the error has a position, the line and a caret below the position follow.
    ///
    /// ```
    /// use htc_classad::ClassAd;
    /// let line = "Rank = 1 + * 2";
    /// let shown = ClassAd::new().insert_line(line).unwrap_err().render(line);
    /// assert!(shown.ends_with("\n  Rank = 1 + * 2\n             ^"), "{shown}");
    /// ```
    pub fn render(&self, line: impl AsRef<[u8]>) -> String {
        match self {
            LineError::Value(error) => error.render(line),
            other => other.to_string(),
        }
    }
}

impl ClassAd {
    /// Inserts one line `Name = value` of a long ad (`ClassAd::Insert`, classad.cpp). Leading white space is skipped,
    /// and the name ends at the first `=`. Any name is accepted, and text after the expression is ignored.
    ///
    /// ```
    /// use htc_classad::ClassAd;
    /// let mut ad = ClassAd::new();
    /// assert_eq!(ad.insert_line("RequestCpus = 1 + 1").unwrap(), "requestcpus");
    /// assert_eq!(ad["RequestCpus"].to_string(), "1 + 1");
    /// assert!(ad.insert_line("RequestCpus").is_err());
    /// ```
    ///
    /// # Errors
    /// Fails if the line has no `=`, no name or no valid value; the ad is then unchanged.
    pub fn insert_line(&mut self, line: impl AsRef<[u8]>) -> Result<AttrName, LineError> {
        self.insert_line_with(line, Dialect::old_syntax())
    }

    /// Inserts a line as [`ClassAd::insert_line`] does, in the mode of a dialect. Strings always have the syntax of long
    /// ads.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Dialect};
    /// let mut ad = ClassAd::new();
    /// // In long ads a backslash is an ordinary byte, whatever the dialect.
    /// ad.insert_line_with("Path = \"C:\\new\"", Dialect::new_syntax()).unwrap();
    /// assert_eq!(ad.string("Path").unwrap(), "C:\\new");
    /// ```
    ///
    /// # Errors
    /// Same as [`ClassAd::insert_line`].
    pub fn insert_line_with(
        &mut self,
        line: impl AsRef<[u8]>,
        dialect: Dialect,
    ) -> Result<AttrName, LineError> {
        let LineParts { name, value_at, value } = split_line(line.as_ref())?;
        self.put_old_syntax(name, value, dialect)
            .map_err(|error| LineError::Value(shift_error(error, value_at)))?;
        Ok(AttrName::from(name))
    }

    /// Sets an attribute to the expression at the beginning of a text in old syntax, in the mode of a dialect. Returns
    /// true if the value is a plain literal, which needs no parser.
    ///
    /// ```
    /// use htc_classad::{ClassAd, Dialect};
    /// let mut ad = ClassAd::new();
    /// assert_eq!(ad.insert_old_syntax("Cpus", "4", Dialect::old_syntax()), Ok(true));
    /// assert_eq!(ad.insert_old_syntax("Memory", "Cpus * 1024", Dialect::old_syntax()), Ok(false));
    /// assert!(ad.insert_old_syntax("", "4", Dialect::old_syntax()).is_err());
    /// ```
    ///
    /// # Errors
    /// Fails with the position of the syntax error, or if the name is empty or has a NUL byte; the ad is then unchanged.
    pub fn insert_old_syntax(
        &mut self,
        name: impl AsRef<[u8]>,
        text: impl AsRef<[u8]>,
        dialect: Dialect,
    ) -> Result<bool, ParseError> {
        let name = name.as_ref();
        if let Err(error) = name::check(name) {
            return Err(ParseError::from_name_error(error));
        }
        self.put_old_syntax(name, text.as_ref(), dialect)
    }

    fn put_old_syntax(&mut self, name: &[u8], text: &[u8], dialect: Dialect) -> Result<bool, ParseError> {
        if let Some(plain) = parse_plain_literal(text) {
            let mut buffer = Vec::new();
            self.put_scalar(name, None, plain.map(|quoted| quoted.resolve(&mut buffer)));
            return Ok(true);
        }
        let (expr, _) = Expr::parse_prefix(text, dialect.old())?;
        self.put_expr(name, expr);
        Ok(false)
    }
}
