//! Attributes from lines of long ads.

use super::ClassAd;
use crate::syntax::simple_literals::parse_plain_literal;
use crate::syntax::{AttrName, Dialect, Expr, ParseError};
use crate::text::Span;
use crate::text::space::is_space;

/// Why a line of a long ad cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// There is no `=`.
    #[error("no `=` in the line; write `Name = value`")]
    NoEquals,
    /// There is nothing before the `=`.
    #[error("no name before the `=`")]
    NoName,
    /// The value does not begin with an expression. Spans count from the start of the line.
    #[error("bad value: {0}")]
    Value(ParseError),
    /// The name is none that an attribute can be asked for by. Only exact reading minds ([`AdReader::exact`](crate::stream::AdReader::exact)).
    #[error("the name is no identifier; it has letters, digits and `_`")]
    Name(Span),
    /// Something stands behind the value. Only exact reading minds ([`AdReader::exact`](crate::stream::AdReader::exact)).
    #[error("the value ends before this")]
    TrailingText(Span),
}

/// A line of a long ad taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineParts<'l> {
    /// The name, without the white space around it.
    pub(crate) name: &'l [u8],
    /// Where the value begins: behind the `=` and the blanks that follow it.
    pub(crate) value_at: usize,
    /// The value, as far as the line goes for the reference, which ends it at a NUL byte.
    pub(crate) value: &'l [u8],
}

/// A line as far as it goes for the reference: a NUL byte ends it.
pub(crate) fn cut_at_nul(line: &[u8]) -> &[u8] {
    match memchr::memchr(0, line) {
        Some(end) => &line[..end],
        None => line,
    }
}

/// Takes a line apart (reference: `InsertLongFormAttrValue`, compat_classad.cpp): white space in front is skipped, the name
/// ends at the first `=`, blanks before and behind that belong to nothing.
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

/// Whether a line is an attribute and nothing else: its name an identifier, its value one expression to the end. The reference
/// takes more.
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
    // Also what a NUL byte hides.
    let rest = line[end..].iter().take_while(|b| is_space(**b)).count();
    if end + rest < line.len() {
        return Err(LineError::TrailingText(Span::new(end + rest, line.len())));
    }
    Ok(())
}

/// Where the expression ends that a value begins with.
fn value_end(value: &[u8], dialect: Dialect) -> Result<usize, ParseError> {
    if parse_plain_literal(value).is_some() {
        return Ok(value.len());
    }
    Expr::parse_prefix(value, dialect.old()).map(|(_, used)| used)
}

/// An error of a part of a line, as one of the line.
pub(crate) fn shift_error(mut error: ParseError, by: usize) -> ParseError {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    error.span.start = error.span.start.saturating_add(by);
    error.span.end = error.span.end.saturating_add(by);
    error
}

impl LineError {
    /// The error with the line and a caret where there is a place to point at.
    pub fn render(&self, line: &[u8]) -> String {
        match self {
            LineError::Value(error) => error.render(line),
            other => other.to_string(),
        }
    }
}

impl ClassAd {
    /// Takes one line `Name = value` of a long ad (`ClassAd::Insert`, classad.cpp): leading white space is skipped, the name ends at the
    /// first `=`, any name is taken, text behind a complete expression is ignored.
    ///
    /// # Errors
    /// Says what is wrong; the ad is left as it was.
    pub fn insert_line(&mut self, line: &[u8]) -> Result<AttrName, LineError> {
        self.insert_line_with(line, Dialect::old_syntax())
    }

    /// As [`ClassAd::insert_line`], in the mode of a dialect; strings are those of long ads.
    ///
    /// # Errors
    /// As [`ClassAd::insert_line`].
    pub fn insert_line_with(&mut self, line: &[u8], dialect: Dialect) -> Result<AttrName, LineError> {
        let LineParts { name, value_at, value } = split_line(line)?;
        self.insert_old_syntax(name, value, dialect)
            .map_err(|error| LineError::Value(shift_error(error, value_at)))?;
        Ok(AttrName::from(name))
    }

    /// Sets an attribute to the expression that a text of the old syntax begins with, in the mode of a dialect; tells whether it is
    /// plain to see that it is a literal.
    ///
    /// # Errors
    /// Says where the text stops being an expression; the ad is left as it was.
    pub fn insert_old_syntax(
        &mut self,
        name: &[u8],
        text: &[u8],
        dialect: Dialect,
    ) -> Result<bool, ParseError> {
        if let Some(plain) = parse_plain_literal(text) {
            let mut buffer = Vec::new();
            self.put_scalar(name, None, plain.map(|quoted| quoted.resolve(&mut buffer)));
            return Ok(true);
        }
        let (expr, _) = Expr::parse_prefix(text, dialect.old())?;
        self.insert(name, expr);
        Ok(false)
    }
}
