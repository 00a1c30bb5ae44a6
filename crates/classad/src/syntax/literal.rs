//! Literals that need no parser: plain numbers, strings without escapes, the words for true and false.

use crate::syntax::lexer;
use crate::syntax::scalar::Scalar;

/// Reads the commonest values of long ads without the parser; `None` means that the parser has to look.
pub(crate) fn plain_literal(text: &[u8]) -> Option<Scalar<&[u8]>> {
    match *text.first()? {
        b'"' => {
            let inner = &text[1..];
            let end = memchr::memchr(b'"', inner)?;
            let closed = end + 1 == inner.len() && (end == 0 || inner[end - 1] != b'\\');
            closed.then(|| Scalar::Str(&inner[..end]))
        }
        b'0'..=b'9' | b'-' => plain_number(text),
        b't' | b'T' if text.eq_ignore_ascii_case(b"true") => Some(Scalar::Bool(true)),
        b'f' | b'F' if text.eq_ignore_ascii_case(b"false") => Some(Scalar::Bool(false)),
        _ => None,
    }
}

/// The integer that a text begins with if its line ends there, and its length: up to 18 digits, none of them in front for
/// nothing, as such are octal.
#[inline]
pub(crate) fn integer_line(text: &[u8]) -> Option<(i64, usize)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let mut value = 0;
    for (count, byte) in text[sign..].iter().enumerate() {
        match byte {
            b'0'..=b'9' if count < 18 && (value != 0 || count == 0) => {
                value = value * 10 + i64::from(byte - b'0')
            }
            b'\n' if count > 0 => return Some((if sign > 0 { -value } else { value }, sign + count)),
            _ => return None,
        }
    }
    None
}

fn plain_number(text: &[u8]) -> Option<Scalar<&[u8]>> {
    let digits = if text[0] == b'-' { &text[1..] } else { text };
    let whole = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if whole == 0 || (digits[0] == b'0' && whole > 1) {
        return None;
    }
    if whole == digits.len() {
        return (whole <= 18).then(|| Scalar::Int(lexer::integer(text)));
    }
    if digits[whole] != b'.' {
        return None;
    }
    let fraction = &digits[whole + 1..];
    if fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok().map(Scalar::Real)
}
