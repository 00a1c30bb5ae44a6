//! White space, as C's `isspace` defines it in the C locale.

/// Returns true if a byte is white space.
#[inline]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Returns `text` without leading white space.
#[inline]
pub fn trim_start(text: &[u8]) -> &[u8] {
    &text[text.iter().position(|&byte| !is_space(byte)).unwrap_or(text.len())..]
}

/// Returns `text` without trailing white space.
#[inline]
pub fn trim_end(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&byte| !is_space(byte)).map_or(0, |last| last + 1)]
}

/// Returns `text` without leading and trailing white space.
#[inline]
pub fn trim(text: &[u8]) -> &[u8] {
    trim_start(trim_end(text))
}
