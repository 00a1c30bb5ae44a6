//! Errors in a stream of ads, with their positions.

use std::fmt;
use std::io::Read;

use bstr::BString;

use super::input_window::{CONTEXT_SIZE, InputWindow};
use super::strip_cr;
use crate::ad::LineError;
use crate::syntax::pitfalls::LARGE_INTEGER_HINT;
use crate::syntax::{AttrName, ParseError};
use crate::text::Span;
use crate::text::caret::LineCaret;
use crate::text::space::is_space;

/// Part of a stream that could not be read.
///
/// ```
/// use htc_classad::stream::AdReader;
/// let mut reader = AdReader::new(&b"Owner = \"ana\"\nCpus = 1 +\n"[..], None);
/// let record = reader.next_record().unwrap().unwrap();
/// let error = &record.errors[0];
/// assert_eq!((record.ad.len(), error.line, error.text.to_string().as_str()), (1, 2, "Cpus = 1 +"));
/// assert!(error.caret("jobs.ads").to_string().starts_with("jobs.ads:2:"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdError {
    /// Number of the line, counted from 1.
    pub line: u64,
    /// Text of the line; for a long line, only the part around the error.
    pub text: BString,
    /// Number of bytes of the line that precede `text`.
    pub cut: usize,
    /// Range of the error within `text`.
    pub span: Span,
    /// Error message.
    pub message: String,
    /// Advice on how to correct the error, or `None`.
    pub help: Option<&'static str>,
    /// Attribute whose value could not be read, or `None` if the error is another one or the ad has no lines.
    pub attribute: Option<AttrName>,
    /// True if everything was read, but the author probably intended something else.
    pub is_warning: bool,
}

/// Text around a part of the input, so that messages can show complete lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SurroundingText<'a> {
    /// Number of the line on which the part begins, counted from 1.
    line: u64,
    /// Number of bytes of this line that precede the part.
    column: usize,
    /// Last bytes before the part.
    before: &'a [u8],
    /// Known bytes after the part.
    after: &'a [u8],
}

impl<'a> SurroundingText<'a> {
    /// Returns the surroundings of a complete text that begins on the given line.
    pub(super) fn at_line(line: u64) -> Self {
        SurroundingText { line, ..SurroundingText::default() }
    }

    /// Returns the surroundings of the first `length` bytes of a window.
    pub(super) fn from_window<R: Read>(window: &'a InputWindow<R>, length: usize) -> Self {
        let (before, column) = window.skipped_line_start();
        SurroundingText { line: window.line, column, before, after: &window.unread()[length..] }
    }
}

/// Prints the position and the message: `line 2, column 5: ...`.
impl fmt::Display for AdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column(), self.message)
    }
}

impl std::error::Error for AdError {}

impl AdError {
    /// Returns the position of the error, for a message; `source` is the name of the file.
    pub fn caret<'a>(&'a self, source: &'a str) -> LineCaret<'a> {
        let line = u32::try_from(self.line).unwrap_or(u32::MAX);
        LineCaret { source, line, text: &self.text, span: self.span, cut: self.cut }
    }

    /// Returns the column of the error, counted from 1.
    pub fn column(&self) -> usize {
        self.cut + self.span.start as usize + 1
    }

    /// Creates the error at a span of a text.
    pub(super) fn at_span(
        text: &[u8],
        surroundings: SurroundingText<'_>,
        span: Span,
        message: String,
        help: Option<&'static str>,
    ) -> Self {
        let at = (span.start as usize).min(text.len());
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        let line = surroundings.line + memchr::memchr_iter(b'\n', &text[..start]).count() as u64;
        // A line of many megabytes would make a huge message, so only the text around the error is kept.
        let from = start.max(at.saturating_sub(CONTEXT_SIZE));
        let to = end.min(at + CONTEXT_SIZE);
        let last = (span.end as usize).clamp(at, to);
        let mut shown = BString::default();
        let mut cut = from - start;
        if start == 0 {
            cut += surroundings.column;
            if from == 0 {
                cut -= surroundings.before.len();
                shown.extend_from_slice(surroundings.before);
            }
        }
        let offset = shown.len();
        shown.extend_from_slice(&text[from..to]);
        if to == text.len() {
            let after = &surroundings.after[..surroundings.after.len().min(CONTEXT_SIZE)];
            let length = memchr::memchr(b'\n', after).unwrap_or(after.len());
            shown.extend_from_slice(strip_cr(&after[..length]));
        }
        let span = Span::new(offset + at - from, offset + last - from);
        AdError { line, text: shown, cut, span, message, help, attribute: None, is_warning: false }
    }

    /// Creates the warning for a line that sets `ClusterId` a second time.
    pub(super) fn joined_ads(text: &[u8], line: u64) -> Self {
        let surroundings = SurroundingText { line, ..SurroundingText::default() };
        let message = "ClusterId is set twice: two ads without an empty line between them are read as one";
        let help = "end each ad with an empty line";
        let error =
            Self::at_span(text, surroundings, Span::new(0, text.len()), message.to_owned(), Some(help));
        AdError { is_warning: true, ..error }
    }

    /// Creates the warning for an integer that does not fit in 64 bits; `reading` says how the integer was read.
    pub(super) fn large_integer(
        text: &[u8],
        surroundings: SurroundingText<'_>,
        span: Span,
        reading: &str,
    ) -> Self {
        let digits = String::from_utf8_lossy(span.slice(text));
        let message = format!("{digits} does not fit in 64 bits and {reading}");
        AdError {
            is_warning: true,
            ..Self::at_span(text, surroundings, span, message, Some(LARGE_INTEGER_HINT))
        }
    }

    pub(super) fn from_parse_error(
        text: &[u8],
        surroundings: SurroundingText<'_>,
        error: &ParseError,
    ) -> Self {
        Self::at_span(text, surroundings, error.span, error.to_string(), error.help())
    }

    pub(super) fn from_line_error(text: &[u8], line: u64, error: &LineError) -> Self {
        let surroundings = SurroundingText::at_line(line);
        match error {
            LineError::Value(error) => {
                let name = text.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
                let attribute = Some(AttrName::from(name));
                AdError { attribute, ..Self::from_parse_error(text, surroundings, error) }
            }
            LineError::Name(span) | LineError::TrailingText(span) | LineError::NulByte(span) => {
                Self::at_span(text, surroundings, *span, error.to_string(), None)
            }
            LineError::NoEquals | LineError::NoName => {
                let start = text.iter().take_while(|byte| is_space(**byte)).count();
                let span = Span::new(start, text.len());
                Self::at_span(text, surroundings, span, error.to_string(), None)
            }
        }
    }
}
