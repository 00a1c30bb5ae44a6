//! Encoding of a journal record as a line with its length and checksum.

use serde::Serialize;

/// Number of hexadecimal digits of the length, and of the checksum.
const HEX_DIGITS: usize = 8;
/// Size of the header before a record: length and checksum, each followed by a space.
pub(super) const HEADER_BYTES: usize = 2 * (HEX_DIGITS + 1);

/// Error of encoding a record.
#[derive(Debug, thiserror::Error)]
pub enum JournalEncodeError {
    /// The record cannot be represented in JSON.
    #[error("the record cannot be written as JSON")]
    NotJson(#[source] serde_json::Error),
    /// The record's length does not fit into 32 bits.
    #[error("the record is {0} bytes long")]
    TooLong(usize),
}

/// Returns a record as a line of a journal, including the newline.
///
/// # Errors
/// Returns an error if the record cannot be represented in JSON or its length does not fit into 32 bits.
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

/// Returns the length and checksum in a line's header, or `None` if the header is not valid.
pub(super) fn parse_header(line: &[u8]) -> Option<(usize, u32)> {
    let (length, rest) = parse_hex_number(line)?;
    let (sum, _) = parse_hex_number(rest)?;
    Some((length as usize, sum))
}

fn parse_hex_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(HEX_DIGITS)?;
    // `from_str_radix` would also accept a sign.
    let is_plain = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_plain)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest.strip_prefix(b" ")?))
}
