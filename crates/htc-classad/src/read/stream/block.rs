//! A window over the input: blocks are read into one buffer, whose used part is given up again.

use std::io::{self, Read};
use std::ops::Range;

use super::{Delimiter, without_cr};

/// Bytes asked for at once. Smaller blocks are slower on pipes, larger ones gain nothing.
const BLOCK: usize = 256 * 1024;

/// An ad or line beyond this is refused instead of filling the memory.
const LARGEST: usize = 256 << 20;

/// Bytes that stay there in front of what is not used yet, so that a message can show the line around its place.
pub(crate) const CONTEXT: usize = 400;

/// The window. Everything from `at` to `filled` is read and not used yet.
#[derive(Debug)]
pub struct Window<R> {
    read: R,
    data: Vec<u8>,
    at: usize,
    filled: usize,
    ended: bool,
    /// A NUL byte has been read.
    nul: bool,
    /// Number of the line that `at` stands in, from 1. Kept by whoever moves `at` over lines.
    pub(crate) line: u64,
    /// Bytes of that line before `at`, as [`Window::skip_counting`] has counted them.
    pub(crate) column: usize,
}

impl<R> Window<R> {
    /// Gives the first bytes to another window, which has used all of its own and ends with them.
    pub(crate) fn give<O>(&mut self, bytes: usize, to: &mut Window<O>) {
        std::mem::swap(&mut self.data, &mut to.data);
        let (end, filled) = (self.at + bytes, self.filled);
        let rest = &to.data[end..filled];
        if self.data.len() < rest.len() {
            self.data.resize(rest.len(), 0);
        }
        self.data[..rest.len()].copy_from_slice(rest);
        (to.at, to.filled, to.ended, to.nul, to.line) = (self.at, end, true, self.nul, 1);
        (self.at, self.filled) = (0, filled - end);
    }
}

impl<R: Read> Window<R> {
    pub(crate) fn new(read: R) -> Self {
        Window { read, data: Vec::new(), at: 0, filled: 0, ended: false, nul: false, line: 1, column: 0 }
    }

    /// What is read and not used yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.data[self.at..self.filled]
    }

    /// A part of what [`Window::rest`] gave.
    pub(crate) fn part(&self, range: Range<usize>) -> &[u8] {
        &self.data[self.at + range.start..self.at + range.end]
    }

    /// The end of what has been given up of the present line, and the length of all of that.
    pub(crate) fn line_before(&self) -> (&[u8], usize) {
        (self.behind(self.column.min(CONTEXT)), self.column)
    }

    /// The last bytes that were given up. They are there until the next block is read.
    pub(crate) fn behind(&self, bytes: usize) -> &[u8] {
        &self.data[self.at.saturating_sub(bytes)..self.at]
    }

    /// Whether any NUL byte has been read so far. It ends a line for the reference.
    pub(crate) fn has_nul(&self) -> bool {
        self.nul
    }

    /// Whether there is nothing left, as far as is known without reading.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        while self.at == self.filled {
            if !self.more()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives up the first bytes.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.filled);
    }

    /// Gives up the first bytes and counts their lines.
    pub(crate) fn skip_counting(&mut self, bytes: usize) {
        let bytes = bytes.min(self.filled - self.at);
        let part = &self.data[self.at..self.at + bytes];
        match memchr::memrchr(b'\n', part) {
            None => self.column += bytes,
            Some(last) => {
                self.line += 1 + memchr::memchr_iter(b'\n', &part[..last]).count() as u64;
                self.column = bytes - last - 1;
            }
        }
        self.at += bytes;
    }

    /// Reads on until `end` finds an end in what stands here; its offset, or none where the input ends before.
    ///
    /// # Errors
    /// As [`Window::more`].
    pub(crate) fn find_end(
        &mut self,
        mut end: impl FnMut(&[u8]) -> Option<usize>,
    ) -> io::Result<Option<usize>> {
        loop {
            let found = end(self.rest());
            if found.is_some() || !self.more()? {
                return Ok(found);
            }
        }
    }

    /// Reads another block behind the rest; `false` at the end of the input.
    ///
    /// # Errors
    /// Those of the input, and a rest that is too large already.
    pub(crate) fn more(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let unneeded = self.at.saturating_sub(CONTEXT);
        if unneeded > 0 && (self.at == self.filled || self.filled + BLOCK / 2 > self.data.len()) {
            self.data.copy_within(unneeded..self.filled, 0);
            (self.at, self.filled) = (self.at - unneeded, self.filled - unneeded);
        }
        if self.filled + BLOCK / 2 > self.data.len() {
            if self.filled >= LARGEST {
                let message = "a line or an ad is larger than 256 MiB; is this a file of ads?";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            // Behind the largest ad there is room for one more block, which tells that it is too large.
            let length = (self.data.len() * 2).clamp(BLOCK, LARGEST + BLOCK);
            // An error, where the standard library's own way to grow would abort the program.
            if self.data.try_reserve_exact(length - self.data.len()).is_err() {
                let message = format!("no memory is left for an ad of more than {} MiB", self.filled >> 20);
                return Err(io::Error::new(io::ErrorKind::OutOfMemory, message));
            }
            self.data.resize(length, 0);
        }
        loop {
            match self.read.read(&mut self.data[self.filled..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(read) => {
                    let block = &self.data[self.filled..self.filled + read];
                    self.nul = self.nul || memchr::memchr(0, block).is_some();
                    self.filled += read;
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
    pub(crate) fn whole_ads(&mut self, delimiter: &Delimiter) -> io::Result<usize> {
        let mut searched = 0;
        loop {
            let rest = self.rest();
            // The last delimiter line that is complete.
            let last = memchr::memrchr(b'\n', rest).map_or(0, |newline| newline + 1);
            let mut end = last;
            while end > searched {
                let start = memchr::memrchr(b'\n', &rest[..end - 1]).map_or(0, |newline| newline + 1);
                if delimiter.is(without_cr(&rest[start..end - 1])) {
                    return Ok(end);
                }
                end = start;
            }
            searched = last;
            if !self.more()? {
                return Ok(self.rest().len());
            }
        }
    }

    /// How many bytes of the rest are whole lines, which it begins with or is read until it does; all that is left at the end
    /// of the input.
    ///
    /// # Errors
    /// Those of the input.
    pub(crate) fn whole_lines(&mut self) -> io::Result<usize> {
        let mut searched = 0;
        loop {
            let rest = self.rest();
            if let Some(last) = memchr::memrchr(b'\n', &rest[searched..]) {
                return Ok(searched + last + 1);
            }
            searched = rest.len();
            if !self.more()? {
                return Ok(searched);
            }
        }
    }

    /// The next line, which stays where it is: its length without its end, and with it. None at the end of the input.
    pub(crate) fn peek_line(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut searched = 0;
        loop {
            let rest = self.rest();
            if let Some(length) = memchr::memchr(b'\n', &rest[searched..]) {
                return Ok(Some((searched + length, searched + length + 1)));
            }
            searched = rest.len();
            if !self.more()? {
                return Ok((searched > 0).then_some((searched, searched)));
            }
        }
    }

    /// The byte so far ahead, if the input is that long.
    pub(crate) fn byte(&mut self, ahead: usize) -> io::Result<Option<u8>> {
        while self.filled - self.at <= ahead {
            if !self.more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.data[self.at + ahead]))
    }
}
