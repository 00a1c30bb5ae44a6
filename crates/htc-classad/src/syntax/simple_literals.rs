//! Literals that can be read without the parser: plain numbers, strings in old syntax, and the words for true, false
//! and undefined.

use crate::syntax::scalar::Scalar;

/// Text between the quotation marks of a string in old syntax.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuotedText<'t> {
    text: &'t [u8],
    /// True if the text has quotation marks that are escaped by backslashes.
    has_quotes: bool,
}

impl<'t> QuotedText<'t> {
    /// Returns the string if it has no escapes, or else `None`.
    #[inline]
    pub(crate) fn as_plain(self) -> Option<&'t [u8]> {
        (!self.has_quotes).then_some(self.text)
    }

    /// Returns the string. If it has escapes, the string is written to the buffer without them.
    #[inline]
    pub(crate) fn resolve<'b>(self, buffer: &'b mut Vec<u8>) -> &'b [u8]
    where
        't: 'b,
    {
        if self.has_quotes {
            unescape(self.text, buffer);
            return buffer;
        }
        self.text
    }
}

/// Appends a string in old syntax without the backslashes before its quotation marks.
fn unescape(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.reserve(text.len());
    let mut from = 0;
    for quote in memchr::memchr_iter(b'"', text) {
        out.extend_from_slice(&text[from..quote - 1]);
        from = quote;
    }
    out.extend_from_slice(&text[from..]);
}

/// Parses a text that consists of a plain literal, the most common kind of value in long ads. Returns `None` if the
/// parser is needed.
pub(crate) fn parse_plain_literal(text: &[u8]) -> Option<Scalar<QuotedText<'_>>> {
    parse_literal_line(text).filter(|(_, used)| *used == text.len()).map(|(plain, _)| plain)
}

/// Parses the plain literal at the beginning of a text. Returns the literal and its length, or `None` if the line
/// does not end after it.
#[inline(always)]
pub(crate) fn parse_literal_line(text: &[u8]) -> Option<(Scalar<QuotedText<'_>>, usize)> {
    match *text.first()? {
        b'"' => parse_string(text),
        b'0'..=b'9' | b'-' => parse_number(text),
        b't' | b'T' => parse_word(text, b"true", Scalar::Bool(true)),
        b'f' | b'F' => parse_word(text, b"false", Scalar::Bool(false)),
        b'u' | b'U' => parse_word(text, b"undefined", Scalar::Undefined),
        _ => None,
    }
}

/// Returns true if a line ends at an offset of a text. A carriage return may precede the newline.
#[inline]
fn is_line_end(text: &[u8], at: usize) -> bool {
    match text.get(at) {
        None | Some(b'\n') => true,
        Some(byte) => *byte == b'\r' && text.get(at + 1) == Some(&b'\n'),
    }
}

/// Parses a string in old syntax that the end of the line follows, or returns `None` if the parser is needed
/// (reference: `Lexer::tokenizeString`, lexer.cpp). A quotation mark within the string must have a backslash before
/// it and must not directly follow another quotation mark; any other string needs the parser.
#[inline(always)]
fn parse_string(text: &[u8]) -> Option<(Scalar<QuotedText<'_>>, usize)> {
    let mut fresh = 1;
    loop {
        let quote = fresh + memchr::memchr2(b'"', b'\n', &text[fresh..])?;
        if text[quote] == b'\n' {
            return None;
        }
        if is_line_end(text, quote + 1) {
            let quoted = QuotedText { text: &text[1..quote], has_quotes: fresh > 1 };
            return Some((Scalar::Str(quoted), quote + 1));
        }
        if quote == fresh || text[quote - 1] != b'\\' {
            return None;
        }
        fresh = quote + 1;
    }
}

fn parse_word<'t>(
    text: &[u8],
    word: &[u8],
    value: Scalar<QuotedText<'t>>,
) -> Option<(Scalar<QuotedText<'t>>, usize)> {
    let is_word = text.get(..word.len())?.eq_ignore_ascii_case(word) && is_line_end(text, word.len());
    is_word.then_some((value, word.len()))
}

/// Parses a decimal integer of up to 18 digits, or digits with a point. A number with a leading zero is octal and
/// needs the parser.
#[inline(always)]
fn parse_number(text: &[u8]) -> Option<(Scalar<QuotedText<'_>>, usize)> {
    let sign = usize::from(text[0] == b'-');
    let mut value = 0_i64;
    let mut whole = 0;
    for byte in &text[sign..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        whole += 1;
    }
    let at = sign + whole;
    if whole == 0 || (text[sign] == b'0' && whole > 1) {
        return None;
    }
    if is_line_end(text, at) {
        let value = if sign > 0 { value.wrapping_neg() } else { value };
        return (whole <= 18).then_some((Scalar::Int(value), at));
    }
    if text[at] != b'.' {
        return None;
    }
    let fraction = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + 1 + fraction;
    let is_real = fraction > 0 && is_line_end(text, end);
    let real = if is_real { std::str::from_utf8(&text[..end]).ok()?.parse().ok() } else { None };
    real.map(|real| (Scalar::Real(real), end))
}
