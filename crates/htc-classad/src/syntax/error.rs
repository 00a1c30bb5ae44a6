//! Errors from parsing expressions, and their display.

use std::fmt;

use crate::syntax::lexer::BadToken;
use crate::syntax::name::NameError;
use crate::text::Span;

/// Error from parsing an expression.
///
/// ```
/// use htc_classad::{Expr, ParseErrorKind};
/// let error = Expr::parse("Cpus > 1 &&").unwrap_err();
/// assert_eq!((error.kind, error.span.start, error.found.as_str()), (ParseErrorKind::Unexpected, 11, ""));
/// assert!(error.to_string().ends_with("but the text ends"), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// Position at which the text stops being a valid expression.
    pub span: Span,
    /// Kind of the error.
    pub kind: ParseErrorKind,
    /// Tokens that would have been valid at the position.
    pub expected: &'static str,
    /// Text at the position: at most a few bytes, empty at the end of the text.
    pub found: String,
}

/// Kind of parse error.
///
/// ```
/// use htc_classad::{BadToken, Expr, ParseErrorKind};
/// let kind = |text: &str| Expr::parse(text).unwrap_err().kind;
/// assert_eq!(kind("Owner = 1"), ParseErrorKind::Assignment);
/// assert_eq!(kind("\"ana"), ParseErrorKind::BadToken(BadToken::Unterminated));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A token of another kind was expected.
    Unexpected,
    /// The text at the position is not a valid token.
    BadToken(BadToken),
    /// `=` was used where a comparison such as `==` was probably intended.
    Assignment,
    /// The expression nests deeper than the reference allows.
    TooDeep,
    /// JSON arrays and objects are nested too deeply.
    TooDeepJson,
    /// The text is longer than 2 GiB.
    TooLong,
    /// The argument of an `absTime` or `relTime` literal is not a valid time.
    BadTime,
    /// An attribute of an ad has an empty name.
    EmptyName,
}

impl ParseError {
    /// Returns advice on how to correct the error, or `None`.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let error = Expr::parse("Owner = \"ana\"").unwrap_err();
    /// assert_eq!(error.help(), Some("`==` and `=?=` compare; `=?=` is never undefined"));
    /// ```
    pub fn help(&self) -> Option<&'static str> {
        match self.kind {
            ParseErrorKind::Assignment => Some("`==` and `=?=` compare; `=?=` is never undefined"),
            ParseErrorKind::BadToken(BadToken::Number) => {
                Some("a number must not begin with 0, and needs digits after a decimal point or exponent")
            }
            ParseErrorKind::BadToken(BadToken::Unterminated) => {
                Some("end the string with the same quote that begins it")
            }
            ParseErrorKind::BadToken(BadToken::Comment) => Some("close the comment with */"),
            ParseErrorKind::TooDeep => Some("at most 165 nested parentheses are allowed"),
            ParseErrorKind::TooDeepJson => Some("at most 5000 arrays and objects may be nested"),
            _ => None,
        }
    }

    /// Returns the error for display: the message, the line of the text, and a caret below the position.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let text = "Cpus > * 2";
    /// let shown = Expr::parse(text).unwrap_err().render(text);
    /// assert!(shown.ends_with("\n  Cpus > * 2\n         ^"), "{shown}");
    /// ```
    pub fn render(&self, source: impl AsRef<[u8]>) -> String {
        let source = source.as_ref();
        let start = (self.span.start as usize).min(source.len());
        let line_start = memchr::memrchr(b'\n', &source[..start]).map_or(0, |newline| newline + 1);
        let line_end =
            memchr::memchr(b'\n', &source[start..]).map_or(source.len(), |newline| start + newline);
        // Only the part of a very long line around the position is shown.
        let from = if start - line_start > 100 { start - 60 } else { line_start };
        let to = line_end.min(start + 60);
        let width = (self.span.end as usize).clamp(start + 1, to.max(start + 1)) - start;
        let clean = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(|c: char| c.is_control(), " ");
        let before = clean(&source[from..start]);
        format!(
            "{self}\n  {}{}{}{}\n  {}{}{}",
            if from > line_start { "..." } else { "" },
            before,
            clean(&source[start..to]),
            if to < line_end { "..." } else { "" },
            " ".repeat(before.chars().count() + if from > line_start { 3 } else { 0 }),
            "^".repeat(width),
            self.help().map(|help| format!("\n  {help}")).unwrap_or_default(),
        )
    }
}

impl ParseError {
    /// Creates the error for an invalid attribute name that was passed as an argument, so that the error has no
    /// position in a text.
    pub(crate) fn from_name_error(error: NameError) -> Self {
        let kind = match error {
            NameError::Empty => ParseErrorKind::EmptyName,
            NameError::Nul => ParseErrorKind::BadToken(BadToken::Nul),
        };
        ParseError { span: Span::new(0, 0), kind, expected: "the name of an attribute", found: String::new() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ParseErrorKind::BadToken(BadToken::Unterminated) => return write!(f, "the string is not closed"),
            ParseErrorKind::BadToken(BadToken::Comment) => return write!(f, "the comment is not closed"),
            ParseErrorKind::BadToken(BadToken::Nul) => {
                return write!(f, "the string has an escape that is not allowed (a NUL byte)");
            }
            ParseErrorKind::BadToken(BadToken::Number) => {
                return write!(f, "`{}` is not a number", self.found);
            }
            ParseErrorKind::TooDeep => return write!(f, "the expression is nested too deeply"),
            ParseErrorKind::TooDeepJson => {
                return write!(f, "the arrays and objects are nested too deeply");
            }
            ParseErrorKind::TooLong => return write!(f, "the text is too long for an expression"),
            ParseErrorKind::BadTime => return write!(f, "`{}` is not a time", self.found),
            ParseErrorKind::EmptyName => return write!(f, "an attribute has an empty name"),
            _ => {}
        }
        if self.found.is_empty() {
            write!(f, "expected {}, but the text ends", self.expected)
        } else {
            write!(f, "expected {}, found `{}`", self.expected, self.found)
        }
    }
}

impl std::error::Error for ParseError {}
