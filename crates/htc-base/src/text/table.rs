//! Text tables compiled into the program: one record per line, fields separated by tabs.
//!
//! The compiler computes the offset where each line begins, so that a lookup is a binary search in the text itself, and a
//! program that reads one value does not process the rest. In a field, `\n`, `\t` and `\\` represent a newline, a tab and a
//! backslash.

use std::borrow::Cow;

use super::caseless;

/// Counts the lines of `text`; every line must end in a newline.
pub const fn count_lines(text: &[u8]) -> usize {
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

/// Returns the offset at which each of the `N` lines of `text` begins.
pub const fn line_starts<const N: usize>(text: &[u8]) -> [u32; N] {
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

/// Returns the offset of the end of field number `field`, counted from 0, in each of the `N` lines of `text`. If a line has
/// fewer fields, returns the end of the line.
pub const fn field_ends<const N: usize>(text: &[u8], field: usize) -> [u32; N] {
    let mut ends = [0u32; N];
    let mut line = 0;
    let mut fields = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\t' || text[at] == b'\n' {
            if fields == field || (fields < field && text[at] == b'\n') {
                ends[line] = at as u32;
            }
            fields += 1;
        }
        if text[at] == b'\n' {
            line += 1;
            fields = 0;
        }
        at += 1;
    }
    ends
}

/// Returns true if the first field of the line at `start` is a pattern for a family of names.
const fn is_family_pattern(text: &[u8], start: u32) -> bool {
    let mut at = start as usize;
    while text[at] != b'\t' && text[at] != b'\n' {
        if text[at] == b'*' || text[at] == b'#' {
            return true;
        }
        at += 1;
    }
    false
}

/// Counts the lines of a table whose first field is a pattern for a family of names.
pub const fn count_families(text: &[u8], starts: &[u32]) -> usize {
    let (mut count, mut line) = (0, 0);
    while line < starts.len() {
        count += is_family_pattern(text, starts[line]) as usize;
        line += 1;
    }
    count
}

/// Returns the numbers of the lines whose first field is a pattern for a family of names.
pub const fn family_line_numbers<const N: usize>(text: &[u8], starts: &[u32]) -> [u32; N] {
    let mut found = [0u32; N];
    let (mut count, mut line) = (0, 0);
    while line < starts.len() {
        if is_family_pattern(text, starts[line]) {
            found[count] = line as u32;
            count += 1;
        }
        line += 1;
    }
    found
}

/// Returns the line of a table with this number, counted from 0.
pub fn table_row(text: &'static [u8], starts: &[u32], index: usize) -> TableRow {
    let start = starts[index] as usize;
    let end = starts.get(index + 1).map_or(text.len(), |&next| next as usize);
    TableRow(&text[start..end - 1])
}

/// Line of a table without its newline.
#[derive(Clone, Copy)]
pub struct TableRow(pub(crate) &'static [u8]);

impl TableRow {
    /// Returns field number `n`, counted from 0, or an empty field if the line has fewer fields.
    pub fn field(self, n: usize) -> &'static [u8] {
        // Rows are short: a manual loop is faster than a library search.
        let (mut start, mut left) = (0, n);
        for (at, &byte) in self.0.iter().enumerate() {
            if byte == b'\t' {
                if left == 0 {
                    return &self.0[start..at];
                }
                left -= 1;
                start = at + 1;
            }
        }
        if left == 0 { &self.0[start..] } else { b"" }
    }

    /// Returns the first field.
    pub fn key(self) -> &'static [u8] {
        self.field(0)
    }
}

/// Compares the first field of the line at `start` with a name, ignoring case.
pub fn compare_key(text: &[u8], start: u32, name: &[u8]) -> std::cmp::Ordering {
    let key = &text[start as usize..];
    for (at, &byte) in key.iter().enumerate() {
        if byte == b'\t' || byte == b'\n' {
            return if at < name.len() { std::cmp::Ordering::Less } else { std::cmp::Ordering::Equal };
        }
        let Some(&other) = name.get(at) else {
            return std::cmp::Ordering::Greater;
        };
        let order = byte.to_ascii_lowercase().cmp(&other.to_ascii_lowercase());
        if order.is_ne() {
            return order;
        }
    }
    std::cmp::Ordering::Less
}

/// Returns the content of a field, with its escape sequences replaced.
pub fn unescape(field: &'static [u8]) -> Cow<'static, [u8]> {
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

/// Returns true if a name belongs to a family, ignoring case. Each `*` of `pattern` matches at least one character, and each
/// `#` matches a number.
pub fn matches_family_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let Some(star) = memchr::memchr2(b'*', b'#', pattern) else {
        return caseless::eq(pattern, name);
    };
    let rest = &pattern[star + 1..];
    let digits = || name[star..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    name.len() > star && caseless::eq(&name[..star], &pattern[..star]) && {
        let longest = if pattern[star] == b'#' { star + digits() } else { name.len() };
        (star + 1..=longest).any(|end| matches_family_pattern(rest, &name[end..]))
    }
}
