//! Reading of a journal, including the detection of damage.

use std::ops::Range;

use serde::de::DeserializeOwned;

use super::frame::{HEADER_BYTES, parse_header};

/// Content of a journal.
#[derive(Debug)]
pub struct Journal<T> {
    /// Records in the order in which they were written.
    pub records: Vec<T>,
    /// Damaged parts, in the order in which they occur in the file.
    pub damage: Vec<JournalDamage>,
}

/// Part of a journal that is not a valid record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalDamage {
    /// Byte range in the file.
    pub place: Range<usize>,
    /// Bytes of the damaged part.
    pub piece: Vec<u8>,
    /// Kind of damage.
    pub flaw: JournalFlaw,
}

/// Kind of damage to a journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalFlaw {
    /// The last line has no newline: the writer was stopped, or the power failed, while it wrote the line.
    #[error("the last record was not written to its end")]
    Truncated,
    /// The length or the checksum does not match the record.
    #[error("the record was changed after it was written")]
    Changed,
    /// The record is complete, but a program version with different records wrote it.
    #[error("the record is of another version: {0}")]
    OtherVersion(String),
}

/// Reads a whole journal. Never fails: damaged parts are reported, and all intact records are read.
///
/// A last line without newline is treated as truncated even if its record is complete, because its writer never learned
/// that the record was written.
pub fn read_journal<T: DeserializeOwned>(bytes: &[u8]) -> Journal<T> {
    let mut journal = Journal { records: Vec::new(), damage: Vec::new() };
    let mut start = 0;
    while start < bytes.len() {
        let newline = memchr::memchr(b'\n', &bytes[start..]);
        let end = newline.map_or(bytes.len(), |at| start + at + 1);
        let record = match newline {
            Some(at) => parse_record(&bytes[start..start + at]),
            None => Err(JournalFlaw::Truncated),
        };
        match record {
            Ok(record) => journal.records.push(record),
            Err(flaw) => {
                journal.damage.push(JournalDamage {
                    place: start..end,
                    piece: bytes[start..end].to_vec(),
                    flaw,
                });
            }
        }
        start = end;
    }
    journal
}

fn parse_record<T: DeserializeOwned>(line: &[u8]) -> Result<T, JournalFlaw> {
    let (length, sum) = parse_header(line).ok_or(JournalFlaw::Changed)?;
    let body = &line[HEADER_BYTES..];
    if body.len() != length || crc32fast::hash(body) != sum {
        return Err(JournalFlaw::Changed);
    }
    serde_json::from_slice(body).map_err(|error| JournalFlaw::OtherVersion(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encode_record;
    use super::*;

    fn encode_all(records: &[String]) -> Vec<u8> {
        records.iter().flat_map(|record| encode_record(record).unwrap()).collect()
    }

    #[test]
    fn a_line_is_length_checksum_and_the_record() {
        // The expected checksum is the CRC-32 of zlib and PNG.
        assert_eq!(encode_record(&"a\nb").unwrap(), b"00000006 1ecd4592 \"a\\nb\"\n");
    }

    #[test]
    fn a_record_of_another_version_is_reported_and_its_neighbours_are_read() {
        let mut bytes = encode_record(&1_u32).unwrap();
        bytes.extend(encode_record(&"two").unwrap());
        bytes.extend(encode_record(&3_u32).unwrap());
        let journal = read_journal::<u32>(&bytes);
        assert_eq!(journal.records, [1, 3]);
        let [JournalDamage { flaw: JournalFlaw::OtherVersion(why), .. }] = &journal.damage[..] else {
            panic!("{journal:?}")
        };
        assert!(why.contains("expected u32"), "{why}");
    }

    proptest! {
        #[test]
        fn records_before_a_truncation_are_read(records: Vec<String>, cut in 0_usize..400) {
            let bytes = encode_all(&records);
            let cut = cut.min(bytes.len());
            let journal = read_journal::<String>(&bytes[..cut]);
            let whole = records.iter().scan(0, |end, record| {
                *end += encode_record(record).unwrap().len();
                (*end <= cut).then_some(record)
            });
            prop_assert!(whole.eq(&journal.records));
            let torn = cut != 0 && bytes[cut - 1] != b'\n';
            prop_assert_eq!(journal.damage.len(), usize::from(torn));
            prop_assert!(journal.damage.iter().all(|damage| damage.flaw == JournalFlaw::Truncated));
        }

        #[test]
        fn a_changed_byte_damages_only_the_records_that_contain_it(
            records in prop::collection::vec(".{0,12}", 1..6), at: prop::sample::Index, by in 1_u8..=255,
        ) {
            let mut bytes = encode_all(&records);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            let journal = read_journal::<String>(&bytes);
            // If the changed byte was or became a newline, two lines are joined or one line is split, which affects at
            // most two records.
            prop_assert!(journal.records.len() + 2 >= records.len());
            prop_assert!(!journal.damage.is_empty());
            let mut rest = records.iter();
            prop_assert!(journal.records.iter().all(|record| rest.any(|other| other == record)));
        }

        #[test]
        fn arbitrary_bytes_are_read_to_their_end(bytes: Vec<u8>) {
            let journal = read_journal::<String>(&bytes);
            let damaged_bytes: usize = journal.damage.iter().map(|damage| damage.place.len()).sum();
            prop_assert_eq!(damaged_bytes, bytes.len());
        }
    }
}
