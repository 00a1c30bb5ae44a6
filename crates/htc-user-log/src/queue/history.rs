//! Records of jobs that left the queue. Each record ends with a line of three stars, its trailer.
//!
//! Trailers contain the offset of their record, but these readers do not use it, because wrong offsets occur in
//! practice.

use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::{ClassAd, LineError};

/// Maximum size of a record, in bytes; a larger record is an error.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// Size of the first block that is read backwards, in bytes. Each further block of the same record is twice as large, so
/// that the buffered bytes are moved and searched a constant number of times.
const READ_BLOCK_BYTES: usize = 256 << 10;

/// Number of bytes at the end of a file in which a history is expected to have a trailer.
const MAX_TRAILER_DISTANCE: usize = 1 << 20;

fn record_too_large() -> io::Error {
    let message = "a record is larger than 64 MiB; is this a history?";
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// History record of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryRecord {
    /// Lines of the record without the trailer.
    pub text: BString,
    /// Trailer, or `None` for a record at the end of a file that does not have one yet.
    pub trailer: Option<BString>,
}

impl HistoryRecord {
    /// Parses the ad and returns it with errors in lines that are not valid assignments.
    pub fn to_ad(&self) -> (ClassAd, Vec<LineError>) {
        htc_classad::format::long::parse(&self.text)
    }

    /// Returns the text of an attribute's value from the last line that sets it, even if it is not a valid
    /// expression.
    pub fn raw_value(&self, name: &[u8]) -> Option<&BStr> {
        let value = |line: &'_ [u8]| -> Option<(usize, usize)> {
            let equals = memchr::memchr(b'=', line)?;
            caseless::eq(line[..equals].trim(), name).then_some((equals + 1, line.len()))
        };
        let lines = ByteSlice::lines(self.text.as_slice()).rev();
        let mut found =
            lines.filter_map(|line| value(line).map(|(start, end)| line[start..end].trim().as_bstr()));
        found.next()
    }
}

/// Reader of records from the start of a file.
pub struct HistoryReader<R> {
    input: R,
}

impl<R: BufRead> HistoryReader<R> {
    /// Creates a reader at the start of a file.
    pub fn new(input: R) -> Self {
        HistoryReader { input }
    }
}

impl<R: BufRead> Iterator for HistoryReader<R> {
    type Item = io::Result<HistoryRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut text = Vec::new();
        loop {
            let start = text.len();
            match self.input.by_ref().take(MAX_RECORD_BYTES as u64).read_until(b'\n', &mut text) {
                Err(error) => return Some(Err(error)),
                Ok(0) if text.trim().is_empty() => return None,
                Ok(0) => return Some(Ok(HistoryRecord { text: text.into(), trailer: None })),
                Ok(_) if text[start..].starts_with(b"***") => {
                    let trailer = text[start..].trim_end().into();
                    text.truncate(start);
                    return Some(Ok(HistoryRecord { text: text.into(), trailer: Some(trailer) }));
                }
                Ok(_) if text.len() > MAX_RECORD_BYTES => return Some(Err(record_too_large())),
                Ok(_) => {}
            }
        }
    }
}

/// Reader of records from the end of a file to its start, the newest first.
pub struct BackwardHistoryReader<R> {
    input: R,
    /// Bytes of the file from `start` on. The records before `end` have not been returned yet.
    buffer: Vec<u8>,
    end: usize,
    start: u64,
    /// Size of the next block.
    block_bytes: usize,
    /// Buffer of the previous block, whose memory is reused.
    spare: Vec<u8>,
}

/// History record in the buffer of its reader.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedHistoryRecord<'a> {
    /// Lines of the record without the trailer.
    pub text: &'a [u8],
    /// Trailer, or `None` for a record at the end of a file that does not have one yet.
    pub trailer: Option<&'a [u8]>,
}

impl<R: Read + Seek> BackwardHistoryReader<R> {
    /// Creates a reader at the end of a file.
    ///
    /// # Errors
    /// The input does not support seeking.
    pub fn new(mut input: R) -> io::Result<Self> {
        let start = input.seek(SeekFrom::End(0))?;
        let buffer = Vec::new();
        Ok(BackwardHistoryReader {
            input,
            buffer,
            end: 0,
            start,
            block_bytes: READ_BLOCK_BYTES,
            spare: Vec::new(),
        })
    }

    /// Returns true if a trailer is in the last MiB of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn has_trailer(&mut self) -> io::Result<bool> {
        loop {
            if self.find_trailer_before(self.end).is_some() {
                return Ok(true);
            }
            if self.end >= MAX_TRAILER_DISTANCE || !self.read_previous_block()? {
                return Ok(false);
            }
        }
    }

    /// Reads the block before the buffered bytes. Returns false if the buffer already begins at the start of the file.
    fn read_previous_block(&mut self) -> io::Result<bool> {
        if self.start == 0 {
            return Ok(false);
        }
        if self.end > MAX_RECORD_BYTES {
            return Err(record_too_large());
        }
        let size = self.start.min(self.block_bytes as u64);
        self.block_bytes *= 2;
        self.start -= size;
        self.input.seek(SeekFrom::Start(self.start))?;
        let mut block = std::mem::take(&mut self.spare);
        block.clear();
        block.reserve(size as usize + self.end);
        self.input.by_ref().take(size).read_to_end(&mut block)?;
        block.extend_from_slice(&self.buffer[..self.end]);
        self.end = block.len();
        self.spare = std::mem::replace(&mut self.buffer, block);
        Ok(true)
    }

    /// Returns the start of the last trailer line that begins before `end`, or `None`. A trailer line begins with three
    /// stars.
    fn find_trailer_before(&self, end: usize) -> Option<usize> {
        let mut end = end;
        loop {
            // A search for one star is faster than a search for three, and values rarely contain a star.
            let star = memchr::memrchr(b'*', &self.buffer[..end])?;
            let at = star.checked_sub(2)?;
            let begins_line = if at == 0 { self.start == 0 } else { self.buffer[at - 1] == b'\n' };
            if begins_line && self.buffer[at..star] == *b"**" {
                return Some(at);
            }
            end = star;
        }
    }

    fn line_end(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.buffer[at..self.end]).map_or(self.end, |end| at + end + 1)
    }

    /// Returns the record before the previously returned one, or `None` at the start of the file.
    ///
    /// # Errors
    /// The file cannot be read, or a record is too large.
    pub fn previous(&mut self) -> io::Result<Option<BorrowedHistoryRecord<'_>>> {
        let found = self.previous_record();
        if found.is_err() {
            (self.start, self.end) = (0, 0);
        }
        let Some(RecordPlace { text, trailer }) = found? else { return Ok(None) };
        let trailer = trailer.map(|range| self.buffer[range].trim_end());
        Ok(Some(BorrowedHistoryRecord { text: &self.buffer[text], trailer }))
    }

    /// Finds the next record to return in the buffer, and reads further blocks as needed.
    fn previous_record(&mut self) -> io::Result<Option<RecordPlace>> {
        loop {
            // Find the trailer of the last record, which may be missing, and the trailer before that record.
            let last = self.find_trailer_before(self.end).filter(|&at| self.line_end(at) == self.end);
            let limit = last.unwrap_or(self.end);
            let from = match self.find_trailer_before(limit) {
                Some(at) => self.line_end(at),
                None if self.start > 0 => {
                    self.read_previous_block()?;
                    continue;
                }
                None => 0,
            };
            if self.end == 0 {
                return Ok(None);
            }
            if limit - from > MAX_RECORD_BYTES {
                return Err(record_too_large());
            }
            let trailer = last.map(|at| at..self.end);
            self.end = from;
            self.block_bytes = READ_BLOCK_BYTES;
            if trailer.is_none() && self.buffer[from..limit].trim().is_empty() {
                continue;
            }
            return Ok(Some(RecordPlace { text: from..limit, trailer }));
        }
    }
}

/// Positions of a record and of its trailer in the buffer.
struct RecordPlace {
    text: Range<usize>,
    trailer: Option<Range<usize>>,
}

impl<R: Read + Seek> Iterator for BackwardHistoryReader<R> {
    type Item = io::Result<HistoryRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let owned = |record: BorrowedHistoryRecord<'_>| HistoryRecord {
            text: record.text.into(),
            trailer: record.trailer.map(BString::from),
        };
        self.previous().map(|record| record.map(owned)).transpose()
    }
}

/// Lists the files of a history, the newest first: `history`, `history.20261121T000000` and compressed files.
pub fn list_history_files(history: &Path, world: &dyn World) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (history.parent(), history.file_name()) else { return Vec::new() };
    let mut names = world.list_dir(directory).unwrap_or_default();
    let prefix = [name.as_encoded_bytes(), b"."].concat();
    names.retain(|found| found == name || found.as_encoded_bytes().starts_with(&prefix));
    names.sort();
    names.reverse();
    // The file with the plain name is the newest.
    names.sort_by_key(|found| found != name);
    names.into_iter().map(|name| directory.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn reading_backwards_gives_the_records_in_reverse() {
        let text =
            b"A = 1\n*** Offset = 0\nA = 2\nB = \"***\"\n*** Offset = 7\n\nA = 3\n** not one\n*** x\n****\nA = *4**\n***\n";
        for cut in 0..=text.len() {
            let text = &text[..cut];
            let mut forwards: Vec<_> = HistoryReader::new(text).map(Result::unwrap).collect();
            forwards.reverse();
            let backwards: Vec<_> =
                BackwardHistoryReader::new(Cursor::new(text)).unwrap().map(Result::unwrap).collect();
            assert_eq!(backwards, forwards, "cut at {cut}");
        }
    }

    #[test]
    fn records_longer_than_a_block_are_read_completely() {
        let long = format!("A = \"{}\"\n*** Offset = 0\n", "x".repeat(READ_BLOCK_BYTES * 3));
        let text = [long.as_bytes(), b"B = 1\n***\n", long.as_bytes()].concat();
        let sizes: Vec<usize> = BackwardHistoryReader::new(Cursor::new(text))
            .unwrap()
            .map(|record| record.unwrap().text.len())
            .collect();
        assert_eq!(sizes, [READ_BLOCK_BYTES * 3 + 7, 6, READ_BLOCK_BYTES * 3 + 7]);
    }

    #[test]
    fn the_end_of_a_file_shows_that_it_has_no_trailers() {
        let has_trailer =
            |text: Vec<u8>| BackwardHistoryReader::new(Cursor::new(text)).unwrap().has_trailer().unwrap();
        assert!(has_trailer(b"*** x\n".to_vec()) && has_trailer(b"A = 1\n*** x\nA = 2\n".to_vec()));
        assert!(!has_trailer(Vec::new()) && !has_trailer(b"A = \"\n ***\"".to_vec()));
        assert!(!has_trailer(b"A = 1\n\n".repeat(1 << 20)));
    }

    #[test]
    fn a_record_without_end_is_an_error() {
        let text = b"A = 1\n".repeat(12 << 20);
        let mut backwards = BackwardHistoryReader::new(Cursor::new(&text)).unwrap();
        assert!(backwards.next().unwrap().is_err() && backwards.next().is_none());
        assert!(HistoryReader::new(&text[..]).next().unwrap().is_err());
    }

    #[test]
    fn the_last_line_of_a_name_is_used() {
        let record = HistoryRecord { text: "a = 1\nA = 2 \nB=3".into(), trailer: None };
        assert_eq!(record.raw_value(b"A").unwrap(), "2");
        assert_eq!(record.raw_value(b"b").unwrap(), "3");
        assert_eq!(record.raw_value(b"C"), None);
    }
}
