//! A window over the input: blocks are read into one buffer, whose used part is given up again.

use std::io::{self, Read};
use std::ops::Range;

use super::{Delimiter, strip_cr};

/// Bytes asked for at once. Smaller blocks are slower on pipes, larger ones gain nothing.
const BLOCK_SIZE: usize = 256 * 1024;

/// An ad or line beyond this is refused instead of filling the memory.
const MAX_AD_SIZE: usize = 256 << 20;

/// Bytes that stay there in front of what is not used yet, so that a message can show the line around its place.
pub(crate) const CONTEXT_SIZE: usize = 400;

/// The window. Everything from `at` to `filled` is read and not used yet.
#[derive(Debug)]
pub struct InputWindow<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    input_ended: bool,
    /// A NUL byte has been read.
    has_nul: bool,
    /// Number of the line that `at` stands in, from 1. Kept by whoever moves `at` over lines.
    pub(crate) line: u64,
    /// Bytes of that line before `at`, as [`InputWindow::skip_and_count_lines`] has counted them.
    pub(crate) column: usize,
}

impl<R> InputWindow<R> {
    /// Gives the first bytes to another window, which has used all of its own and ends with them.
    pub(crate) fn give_prefix_to<O>(&mut self, bytes: usize, to: &mut InputWindow<O>) {
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

    /// What is read and not used yet.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// A part of what [`InputWindow::rest`] gave.
    pub(crate) fn unread_range(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[self.start + range.start..self.start + range.end]
    }

    /// The end of what has been given up of the present line, and the length of all of that.
    pub(crate) fn skipped_line_start(&self) -> (&[u8], usize) {
        (self.last_skipped(self.column.min(CONTEXT_SIZE)), self.column)
    }

    /// The last bytes that were given up. They are there until the next block is read.
    pub(crate) fn last_skipped(&self, bytes: usize) -> &[u8] {
        &self.buffer[self.start.saturating_sub(bytes)..self.start]
    }

    /// Whether any NUL byte has been read so far. It ends a line for the reference.
    pub(crate) fn has_nul(&self) -> bool {
        self.has_nul
    }

    /// Whether there is nothing left, as far as is known without reading.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        while self.start == self.end {
            if !self.read_more()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives up the first bytes.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Gives up the first bytes and counts their lines.
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

    /// Reads on until `end` finds an end in what stands here; its offset, or none where the input ends before.
    ///
    /// # Errors
    /// As [`InputWindow::more`].
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

    /// Reads another block behind the rest; `false` at the end of the input.
    ///
    /// # Errors
    /// Those of the input, and a rest that is too large already.
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
                let message = "a line or an ad is larger than 256 MiB; is this a file of ads?";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            // Behind the largest ad there is room for one more block, which tells that it is too large.
            let length = (self.buffer.len() * 2).clamp(BLOCK_SIZE, MAX_AD_SIZE + BLOCK_SIZE);
            // An error, where the standard library's own way to grow would abort the program.
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

    /// How many bytes of the rest are whole long ads, which it begins with or is read until it does; all that is left at the
    /// end of the input.
    ///
    /// # Errors
    /// Those of the input.
    pub(crate) fn whole_ads_length(&mut self, delimiter: &Delimiter) -> io::Result<usize> {
        let mut searched = 0;
        loop {
            let rest = self.unread();
            // The last delimiter line that is complete.
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

    /// How many bytes of the rest are whole lines, which it begins with or is read until it does; all that is left at the end
    /// of the input.
    ///
    /// # Errors
    /// Those of the input.
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

    /// The next line, which stays where it is: its length without its end, and with it. None at the end of the input.
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

    /// The byte so far ahead, if the input is that long.
    pub(crate) fn peek_byte(&mut self, ahead: usize) -> io::Result<Option<u8>> {
        while self.end - self.start <= ahead {
            if !self.read_more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.start + ahead]))
    }
}
