//! Tables of text compiled into the program: one record a line, fields parted by tabs.
//!
//! Where each line begins is worked out by the compiler, so that a look-up is a binary search over the text itself
//! and a program that asks for one value pays for one value. Inside a field `\n`, `\t` and `\\` stand for a line
//! end, a tab and a backslash.

use std::borrow::Cow;

/// Counts the lines of `text`; every line must end in a newline.
pub(crate) const fn count_lines(text: &[u8]) -> usize {
    let mut count = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\n' {
            count += 1;
        }
        at += 1;
    }
    count
}

/// Where each of the `N` lines of `text` begins.
pub(crate) const fn line_starts<const N: usize>(text: &[u8]) -> [u32; N] {
    let mut starts = [0u32; N];
    let mut line = 0;
    let mut at = 0;
    let mut start = 0;
    while at < text.len() {
        if text[at] == b'\n' {
            starts[line] = start as u32;
            line += 1;
            start = at + 1;
        }
        at += 1;
    }
    starts
}

/// One line of a table without its newline.
#[derive(Clone, Copy)]
pub(crate) struct Row(pub(crate) &'static [u8]);

impl Row {
    /// The line that begins at `start`.
    pub(crate) fn at(text: &'static [u8], start: u32) -> Row {
        let rest = &text[start as usize..];
        Row(&rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())])
    }

    /// The `n`-th field, counted from 0; empty when the line has fewer.
    pub(crate) fn field(self, n: usize) -> &'static [u8] {
        self.0.split(|&byte| byte == b'\t').nth(n).unwrap_or_default()
    }

    /// The first field; cheaper than `field(0)`.
    pub(crate) fn key(self) -> &'static [u8] {
        &self.0[..memchr::memchr(b'\t', self.0).unwrap_or(self.0.len())]
    }
}

/// A field with its escapes resolved.
pub(crate) fn unescape(field: &'static [u8]) -> Cow<'static, [u8]> {
    if memchr::memchr(b'\\', field).is_none() {
        return Cow::Borrowed(field);
    }
    let mut out = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        match (byte, byte == b'\\') {
            (_, false) => out.push(byte),
            (_, true) => match bytes.next() {
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(&other) => out.push(other),
                None => out.push(b'\\'),
            },
        }
    }
    Cow::Owned(out)
}
