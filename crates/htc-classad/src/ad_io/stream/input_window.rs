//! Window over the input: blocks are read into one buffer, whose consumed part is reused.

use std::io::{self, Read};
use std::ops::Range;

use super::{Delimiter, strip_cr};

/// Number of bytes requested in one read. Smaller blocks are slower on pipes; larger blocks are not faster.
const BLOCK_SIZE: usize = 256 * 1024;

/// Maximum size of an ad or line, in bytes. A larger ad or line is an error, because it could exhaust memory.
const MAX_AD_SIZE: usize = 64 << 20;

/// Number of consumed bytes that are kept before the unread part, so that a message can show the beginning of the
/// line.
pub(crate) const CONTEXT_SIZE: usize = 400;

/// Window over the input. The bytes from `start` to `end` have been read but not consumed.
#[derive(Debug)]
pub struct InputWindow<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    input_ended: bool,
    /// True if a NUL byte has been read.
    has_nul: bool,
    /// Number of the line at `start`, counted from 1. Updated only by functions that count lines.
    pub(crate) line: u64,
    /// Number of bytes of this line before `start`, as counted by [`InputWindow::skip_and_count_lines`].
    pub(crate) column: usize,
}

impl<R> InputWindow<R> {
    /// Moves the first `bytes` unread bytes to another window, which must be empty.
    pub(crate) fn move_prefix_to<O>(&mut self, bytes: usize, to: &mut InputWindow<O>) {
        std::mem::swap(&mut self.buffer, &mut to.buffer);
        let (end, filled) = (self.start + bytes, self.end);
        let rest = &to.buffer[end..filled];
        if self.buffer.len() < rest.len() {
            self.buffer.resize(rest.len(), 0);
        }
        self.buffer[..rest.len()].copy_from_slice(rest);
        (to.start, to.end, to.input_ended, to.has_nul, to.line) = (self.start, end, true, self.has_nul, 1);
        (self.start, self.end) = (0, filled - end);
    }
}

impl<R: Read> InputWindow<R> {
    pub(crate) fn new(read: R) -> Self {
        InputWindow {
            input: read,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            input_ended: false,
            has_nul: false,
            line: 1,
            column: 0,
        }
    }

    /// Returns the bytes that were read but not consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns the part of [`InputWindow::unread`] at a range.
    pub(crate) fn unread_range(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[self.start + range.start..self.start + range.end]
    }

    /// Returns the kept end of the consumed part of the current line, and the length of the whole consumed part.
    pub(crate) fn skipped_line_start(&self) -> (&[u8], usize) {
        (self.last_skipped(self.column.min(CONTEXT_SIZE)), self.column)
    }

    /// Returns the last `bytes` consumed bytes, which are available until the next block is read.
    pub(crate) fn last_skipped(&self, bytes: usize) -> &[u8] {
        &self.buffer[self.start.saturating_sub(bytes)..self.start]
    }

    /// Returns true if any NUL byte has been read so far. In the reference, a NUL byte ends a line.
    pub(crate) fn has_nul(&self) -> bool {
        self.has_nul
    }

    /// Returns true if there is no more input.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        while self.start == self.end {
            if !self.read_more()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Consumes the first `bytes` unread bytes.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Consumes the first `bytes` unread bytes and counts their lines.
    pub(crate) fn skip_and_count_lines(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        let part = &self.buffer[self.start..self.start + bytes];
        match memchr::memrchr(b'\n', part) {
            None => self.column += bytes,
            Some(last) => {
                self.line += 1 + memchr::memchr_iter(b'\n', &part[..last]).count() as u64;
                self.column = bytes - last - 1;
            }
        }
        self.start += bytes;
    }

    /// Reads until `end` finds the end of an element in the unread part. Returns the offset of the end, or `None` if
    /// the input ends first.
    ///
    /// # Errors
    /// Same as [`InputWindow::read_more`].
    pub(crate) fn find_end(
        &mut self,
        mut end: impl FnMut(&[u8]) -> Option<usize>,
    ) -> io::Result<Option<usize>> {
        loop {
            let found = end(self.unread());
            if found.is_some() || !self.read_more()? {
                return Ok(found);
            }
        }
    }

    /// Reads another block of input after the unread part. Returns false at the end of the input.
    ///
    /// # Errors
    /// Fails if reading fails, or if the unread part is already too large.
    pub(crate) fn read_more(&mut self) -> io::Result<bool> {
        if self.input_ended {
            return Ok(false);
        }
        let unneeded = self.start.saturating_sub(CONTEXT_SIZE);
        if unneeded > 0 && (self.start == self.end || self.end + BLOCK_SIZE / 2 > self.buffer.len()) {
            self.buffer.copy_within(unneeded..self.end, 0);
            (self.start, self.end) = (self.start - unneeded, self.end - unneeded);
        }
        if self.end + BLOCK_SIZE / 2 > self.buffer.len() {
            if self.end >= MAX_AD_SIZE {
                let message = "a line or an ad is larger than 64 MiB; is this a file of ads?";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            // The buffer has room for the largest ad and one more block, which shows that an ad is too large.
            let length = (self.buffer.len() * 2).clamp(BLOCK_SIZE, MAX_AD_SIZE + BLOCK_SIZE);
            // If memory is exhausted, an error is returned; growing the vector in the usual way would abort the
            // program.
            if self.buffer.try_reserve_exact(length - self.buffer.len()).is_err() {
                let message = format!("no memory is left for an ad of more than {} MiB", self.end >> 20);
                return Err(io::Error::new(io::ErrorKind::OutOfMemory, message));
            }
            self.buffer.resize(length, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.input_ended = true;
                    return Ok(false);
                }
                Ok(read) => {
                    let block = &self.buffer[self.end..self.end + read];
                    self.has_nul = self.has_nul || memchr::memchr(0, block).is_some();
                    self.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the number of unread bytes that are complete long ads. Reads until there is at least one complete ad.
    /// At the end of the input, returns the number of all unread bytes.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(crate) fn whole_ads_length(&mut self, delimiter: &Delimiter) -> io::Result<usize> {
        let mut searched = 0;
        loop {
            let rest = self.unread();
            // Search for the last delimiter line that is complete.
            let last = memchr::memrchr(b'\n', rest).map_or(0, |newline| newline + 1);
            let mut end = last;
            while end > searched {
                let start = memchr::memrchr(b'\n', &rest[..end - 1]).map_or(0, |newline| newline + 1);
                if delimiter.is_delimiter(strip_cr(&rest[start..end - 1])) {
                    return Ok(end);
                }
                end = start;
            }
            searched = last;
            if !self.read_more()? {
                return Ok(self.unread().len());
            }
        }
    }

    /// Returns the number of unread bytes that are complete lines. Reads until there is at least one complete line. At
    /// the end of the input, returns the number of all unread bytes.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(crate) fn whole_lines_length(&mut self) -> io::Result<usize> {
        let mut searched = 0;
        loop {
            let rest = self.unread();
            if let Some(last) = memchr::memrchr(b'\n', &rest[searched..]) {
                return Ok(searched + last + 1);
            }
            searched = rest.len();
            if !self.read_more()? {
                return Ok(searched);
            }
        }
    }

    /// Returns the length of the next line without and with its newline, or `None` at the end of the input. The line is
    /// not consumed.
    pub(crate) fn peek_line(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut searched = 0;
        loop {
            let rest = self.unread();
            if let Some(length) = memchr::memchr(b'\n', &rest[searched..]) {
                return Ok(Some((searched + length, searched + length + 1)));
            }
            searched = rest.len();
            if !self.read_more()? {
                return Ok((searched > 0).then_some((searched, searched)));
            }
        }
    }

    /// Returns the unread byte at an offset, or `None` if the input ends before it.
    pub(crate) fn peek_byte(&mut self, ahead: usize) -> io::Result<Option<u8>> {
        while self.end - self.start <= ahead {
            if !self.read_more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.start + ahead]))
    }
}
