//! One record as a line with its length and checksum.

use serde::Serialize;

/// Digits of the length, and of the checksum.
const HEX_DIGITS: usize = 8;
/// What stands before a record: both numbers, each with a blank behind it.
pub(super) const HEADER_BYTES: usize = 2 * (HEX_DIGITS + 1);

/// A record that cannot be written as one.
#[derive(Debug, thiserror::Error)]
pub enum JournalEncodeError {
    /// The type has a part that JSON has no form for.
    #[error("the record has no form in JSON")]
    NotJson(#[source] serde_json::Error),
    /// More than 4 GiB.
    #[error("the record is {0} bytes long")]
    TooLong(usize),
}

/// A record as it stands in a journal, with the newline.
///
/// # Errors
/// It has no form in JSON.
pub fn encode_record<T: Serialize>(record: &T) -> Result<Vec<u8>, JournalEncodeError> {
    let mut line = vec![b' '; HEADER_BYTES];
    serde_json::to_writer(&mut line, record).map_err(JournalEncodeError::NotJson)?;
    let body = &line[HEADER_BYTES..];
    let length = u32::try_from(body.len()).map_err(|_| JournalEncodeError::TooLong(body.len()))?;
    let head = format!("{length:08x} {:08x} ", crc32fast::hash(body));
    line[..HEADER_BYTES].copy_from_slice(head.as_bytes());
    line.push(b'\n');
    Ok(line)
}

/// Length and checksum that a line claims, if it begins as lines of a journal do.
pub(super) fn parse_header(line: &[u8]) -> Option<(usize, u32)> {
    let (length, rest) = parse_hex_number(line)?;
    let (sum, _) = parse_hex_number(rest)?;
    Some((length as usize, sum))
}

fn parse_hex_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(HEX_DIGITS)?;
    // `from_str_radix` would take a sign.
    let is_plain = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_plain)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest.strip_prefix(b" ")?))
}
