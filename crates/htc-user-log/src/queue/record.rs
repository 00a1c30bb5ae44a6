//! Record of a queue log, on one line: an operation, a key and its arguments (`classad_log.h`).

use htc_base::job::JobId;
use htc_classad::ParseError;

/// Ads to which the records of a queue log are applied.
pub trait QueueRecords {
    /// Applies a record. A record that sets or deletes an attribute of an ad that does not exist has no effect, as in
    /// the reference.
    ///
    /// # Errors
    /// The value of a set operation is not a valid expression; the ad is unchanged.
    fn apply_record(&mut self, record: QueueLogRecord<'_>) -> Result<(), ParseError>;
}

/// Record of the queue log: an operation on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLogRecord<'a> {
    /// 101: creates an ad.
    New {
        /// Key of the ad.
        key: JobId,
        /// MyType: `Job`, `Owner`, ...; empty for none.
        my_type: &'a [u8],
        /// TargetType: `Machine` or empty.
        target_type: &'a [u8],
    },
    /// 102: destroys an ad.
    Destroy(JobId),
    /// 103: sets an attribute.
    Set {
        /// Key of the ad.
        key: JobId,
        /// Name of the attribute.
        name: &'a [u8],
        /// Expression in the old ClassAd syntax.
        value: &'a [u8],
    },
    /// 104: deletes an attribute.
    Delete {
        /// Key of the ad.
        key: JobId,
        /// Name of the attribute.
        name: &'a [u8],
    },
    /// 105: begins a transaction; its records take effect when it ends.
    Begin,
    /// 106: ends a transaction.
    End,
    /// 107: header, the first record of a file.
    Header {
        /// Sequence number, incremented each time the file is rewritten.
        sequence: i64,
        /// Creation time of the queue, in seconds since the epoch.
        created: i64,
    },
    /// 999: marker that is never written intentionally.
    Marker,
}

/// Reason why a line is not a valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The line does not begin with the number of an operation.
    #[error("expected an operation, 101 to 107, at the beginning of the record")]
    Operation,
    /// The key is missing or invalid.
    #[error("expected a key such as 12.0 or 012.-1 after the operation")]
    Key,
    /// A record of type 103 or 104 has no attribute name.
    #[error("expected the name of an attribute after the key")]
    Name,
    /// A record of type 103 has no value.
    #[error("expected an expression after the attribute")]
    Value,
}

/// Splits a text into its first word and the rest.
fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let text = &text[start..];
    let end = text.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(text.len());
    (&text[..end], &text[end..])
}

/// Returns the type that a word names; the word `(empty)` means an empty type.
fn parse_type_word(word: &[u8]) -> &[u8] {
    if word == b"(empty)" { b"" } else { word }
}

fn parse_integer(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Parses a key, with a fast path for the common form `12.3`.
fn parse_key(word: &[u8]) -> Result<JobId, RecordError> {
    let mut value = [0i32; 2];
    let mut part = 0;
    if word.len() <= 18 {
        for (at, &byte) in word.iter().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    match value[part].checked_mul(10).and_then(|v| v.checked_add(i32::from(byte - b'0'))) {
                        Some(next) => value[part] = next,
                        None => return Err(RecordError::Key),
                    }
                }
                b'.' if part == 0 && at > 0 && at + 1 < word.len() => part = 1,
                _ => return JobId::parse_key(word).ok_or(RecordError::Key),
            }
        }
        if part == 1 {
            return Ok(JobId { cluster: value[0], proc: value[1] });
        }
    }
    JobId::parse_key(word).ok_or(RecordError::Key)
}

/// Parses a record of type 103 in the form that the schedd writes, with single spaces between the parts: nearly all
/// records have this form. Returns `None` for any other line, which the general parser handles.
fn parse_plain_set(line: &[u8]) -> Option<QueueLogRecord<'_>> {
    /// Maximum number of digits whose value cannot overflow.
    const MAX_DIGITS: usize = 9;
    let number = |text: &[u8]| -> Option<(i32, usize)> {
        let digits = text.iter().take(MAX_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=MAX_DIGITS).contains(&digits) {
            return None;
        }
        Some((text[..digits].iter().fold(0, |value, byte| value * 10 + i32::from(byte - b'0')), digits))
    };
    let rest = line.strip_prefix(b"103 ")?;
    let (cluster, digits) = number(rest)?;
    let rest = rest[digits..].strip_prefix(b".")?;
    let (rest, sign) = rest.strip_prefix(b"-").map_or((rest, 1), |rest| (rest, -1));
    let (proc, digits) = number(rest)?;
    let rest = rest[digits..].strip_prefix(b" ")?;
    let blank = rest.iter().position(|byte| *byte <= b' ').filter(|at| *at > 0 && rest[*at] == b' ')?;
    let (name, value) = (&rest[..blank], &rest[blank + 1..]);
    (*value.first()? > b' ').then_some(QueueLogRecord::Set {
        key: JobId { cluster, proc: sign * proc },
        name,
        value,
    })
}

impl<'a> QueueLogRecord<'a> {
    /// Parses a line without its newline.
    ///
    /// # Errors
    /// The part of the record that is missing or invalid.
    pub fn parse(line: &'a [u8]) -> Result<Self, RecordError> {
        if let Some(set) = parse_plain_set(line) {
            return Ok(set);
        }
        let (operation, rest) = split_word(line);
        let with_key = |rest| {
            let (text, rest) = split_word(rest);
            Ok((parse_key(text)?, rest))
        };
        let with_name = |rest| {
            let (name, rest) = split_word(rest);
            if name.is_empty() { Err(RecordError::Name) } else { Ok((name, rest)) }
        };
        Ok(match operation {
            b"101" => {
                let (key, rest) = with_key(rest)?;
                let (my_type, rest) = split_word(rest);
                let (target_type, _) = split_word(rest);
                QueueLogRecord::New {
                    key,
                    my_type: parse_type_word(my_type),
                    target_type: parse_type_word(target_type),
                }
            }
            b"102" => QueueLogRecord::Destroy(with_key(rest)?.0),
            b"103" => {
                let (key, rest) = with_key(rest)?;
                let (name, rest) = with_name(rest)?;
                // The whitespace before a value is not part of the value.
                let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
                let value = &rest[blanks..];
                if value.is_empty() {
                    return Err(RecordError::Value);
                }
                QueueLogRecord::Set { key, name, value }
            }
            b"104" => {
                let (key, rest) = with_key(rest)?;
                QueueLogRecord::Delete { key, name: with_name(rest)?.0 }
            }
            b"105" => QueueLogRecord::Begin,
            b"106" => QueueLogRecord::End,
            b"107" => {
                let (sequence, rest) = split_word(rest);
                let (_, rest) = split_word(rest);
                let sequence = parse_integer(sequence).ok_or(RecordError::Value)?;
                QueueLogRecord::Header { sequence, created: parse_integer(split_word(rest).0).unwrap_or(0) }
            }
            b"999" => QueueLogRecord::Marker,
            _ => return Err(RecordError::Operation),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_the_schedd_writes_them() {
        let id = JobId::new;
        let set = QueueLogRecord::Set { key: id(1, -1), name: b"Cmd", value: b"\"/bin/sh  -c\" " };
        assert_eq!(QueueLogRecord::parse(b"103 01.-1 Cmd \"/bin/sh  -c\" "), Ok(set));
        let new = QueueLogRecord::New { key: id(0, 2), my_type: b"Owner", target_type: b"" };
        assert_eq!(QueueLogRecord::parse(b"101 0.2 Owner (empty)"), Ok(new));
        assert_eq!(QueueLogRecord::parse(b"105 "), Ok(QueueLogRecord::Begin));
        assert_eq!(QueueLogRecord::parse(b"106 #done"), Ok(QueueLogRecord::End));
        let header = QueueLogRecord::Header { sequence: 3, created: 1795217573 };
        assert_eq!(QueueLogRecord::parse(b"107 3 CreationTimestamp 1795217573"), Ok(header));
        assert_eq!(QueueLogRecord::parse(b"102 4294967296.0"), Err(RecordError::Key));
        assert_eq!(QueueLogRecord::parse(b"103 1.0"), Err(RecordError::Name));
        assert_eq!(QueueLogRecord::parse(b"103 1.0 A "), Err(RecordError::Value));
        assert_eq!(QueueLogRecord::parse(b""), Err(RecordError::Operation));
    }

    #[test]
    fn a_plain_set_record_is_read_like_any_other() {
        let general = |line: &[u8]| {
            // With two spaces, the fast path does not apply and the general parser reads the line.
            let text = [b"103  ", &line[4..]].concat();
            QueueLogRecord::parse(&text)
                .map(|record| format!("{record:?}"))
                .map_err(|error| error.to_string())
        };
        for line in [
            "103 1.0 A 1",
            "103 01.-1 A 1",
            "103 0.0 A 1 ",
            "103 1.0 A",
            "103 1.0 A ",
            "103 1.0  A 1",
            "103 1.0 A  1",
            "103 1.0\tA 1",
            "103 1.0 A\t1",
            "103 1.0 A \t1",
            "103 1.- A 1",
            "103 .1 A 1",
            "103 1. A 1",
            "103 -1.0 A 1",
            "103 2147483647.0 A 1",
            "103 4294967296.0 A 1",
            "103 1.99999999999 A 1",
            "103 1.0x A 1",
            "103 1.0 A\x0c 1",
            "103 1.0 A\r",
            "103 0001.00 A \"x y\"",
        ] {
            let plain = QueueLogRecord::parse(line.as_bytes());
            let plain = plain.map(|record| format!("{record:?}")).map_err(|error| error.to_string());
            assert_eq!(plain, general(line.as_bytes()), "{line:?}");
        }
    }
}
