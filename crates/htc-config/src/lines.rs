//! Splits the bytes of a file into logical lines: trimming, continuation, comments (`config.cpp`,
//! `getline_implementation`).
//!
//! The reference's odd cases are reproduced on purpose: a comment inside a continuation leaves its last
//! character, the last line of a file is not trimmed if its newline is missing, and a NUL cuts its line and
//! joins it with the next one.

use std::borrow::Cow;

use htc_base::text::Span;
use htc_base::text::space::{is_space, trim_start};

/// A statement with its continuation lines joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalLine<'a> {
    /// The text, borrowed if the line is contiguous in the file.
    pub text: Cow<'a, [u8]>,
    /// Number of its first physical line, from 1.
    pub first_line: u32,
    /// The line number that the reference reports: that of its last physical line that ended in a newline.
    pub line: u32,
    /// The pieces of `text`, as pairs of offset in `text` and offset in the file. There is at least one.
    pub pieces: Vec<(u32, u32)>,
}

impl LogicalLine<'_> {
    /// Returns the place in the file of a range of the text. The range is cut at the end of its first piece.
    pub fn locate(&self, start: usize, end: usize) -> Span {
        locate(&self.pieces, self.text.len(), Span::new(start, end))
    }
}

/// Returns the place in a source of a range of a text of the given length. `pieces` are pairs of offset in
/// the text and offset in the source.
pub fn locate(pieces: &[(u32, u32)], length: usize, place: Span) -> Span {
    let (start, end) = (place.start as usize, place.end as usize);
    let piece = pieces.partition_point(|&(at, _)| at as usize <= start).saturating_sub(1);
    let (at, in_source) = pieces.get(piece).copied().unwrap_or_default();
    let piece_end = pieces.get(piece + 1).map_or(length, |&(next, _)| next as usize);
    let shift = |offset: usize| in_source as usize + offset.saturating_sub(at as usize);
    Span::new(shift(start), shift(end.min(piece_end).max(start)))
}

/// Treatment of comments in continued lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentMode {
    /// `#opt:newcomment`, the default: a comment line does not continue and is dropped inside a continuation.
    New,
    /// `#opt:oldcomment`: comments can be continued, and `#` inside a continuation is ordinary text.
    Old,
}

/// Iterator over the logical lines of a text.
#[derive(Clone, Debug)]
pub struct LogicalLines<'a> {
    source: &'a [u8],
    at: usize,
    line: u32,
    mode: CommentMode,
}

impl<'a> LogicalLines<'a> {
    /// Reads from the start of `source`.
    pub fn new(source: &'a [u8]) -> Self {
        LogicalLines { source, at: 0, line: 0, mode: CommentMode::New }
    }

    /// Returns the number of lines read that end with a newline.
    pub fn lines_read(&self) -> u32 {
        self.line
    }

    /// Returns the number of bytes read.
    pub fn bytes_read(&self) -> usize {
        self.at
    }

    /// Changes the treatment of comments from the next line on.
    pub fn set_comment_mode(&mut self, mode: CommentMode) {
        self.mode = mode;
    }

    /// Returns the next logical line, including comments and blank lines.
    pub fn next_line(&mut self) -> Option<LogicalLine<'a>> {
        if self.at >= self.source.len() {
            return None;
        }
        let rest = &self.source[self.at..];
        // Lines with a NUL, which joins them with the next line, and a last line without a newline, which is
        // not trimmed, are read by the general function.
        let Some(newline) = memchr::memchr2(b'\n', 0, rest).filter(|&at| rest[at] == b'\n') else {
            return self.read_joined_line();
        };
        let start = self.at + (newline - trim_start(&rest[..newline]).len());
        let mut end = self.at + newline;
        while end > start && is_space(self.source[end - 1]) {
            end -= 1;
        }
        let text = &self.source[start..end];
        let continues = text.last() == Some(&b'\\');
        let is_comment = text.first() == Some(&b'#');
        if continues && (!is_comment || self.mode == CommentMode::Old) {
            return self.read_joined_line();
        }
        self.at += newline + 1;
        self.line += 1;
        // A comment loses a trailing backslash but does not continue.
        let text = if continues { &text[..text.len() - 1] } else { text };
        let pieces = vec![(0, to_offset(start))];
        Some(LogicalLine { text: Cow::Borrowed(text), first_line: self.line, line: self.line, pieces })
    }

    /// Reads a line in the general case: continuations, NUL bytes, a last line without newline.
    fn read_joined_line(&mut self) -> Option<LogicalLine<'a>> {
        let first_line = self.line + 1;
        let mut text: Vec<u8> = Vec::new();
        let mut pieces: Vec<(u32, u32)> = Vec::new();
        // Start of the physical line within `text`; with NULs, its parts may come from several lines of the
        // file.
        let mut line_start = 0;
        loop {
            if self.at >= self.source.len() {
                return (!text.is_empty()).then(|| LogicalLine {
                    text: Cow::Owned(text),
                    first_line,
                    line: self.line,
                    pieces: if pieces.is_empty() { vec![(0, 0)] } else { pieces },
                });
            }
            let start = self.at;
            let rest = &self.source[start..];
            let newline = memchr::memchr(b'\n', rest);
            self.at = start + newline.map_or(rest.len(), |n| n + 1);
            let raw = &rest[..newline.unwrap_or(rest.len())];
            let nul = memchr::memchr(0, raw);
            let part = &raw[..nul.unwrap_or(raw.len())];
            pieces.push((to_offset(text.len()), to_offset(start)));
            text.extend_from_slice(part);
            if nul.is_some() || newline.is_none() {
                // `fgets` returned a string without a newline at its end: the reference reads on as if the
                // buffer had been too small, and neither trims nor counts the line.
                continue;
            }
            self.line += 1;
            while text.len() > line_start && text.last().is_some_and(|&b| is_space(b)) {
                text.pop();
            }
            let mut lead = text.len() - line_start - trim_start(&text[line_start..]).len();
            let mut in_comment = text.get(line_start + lead) == Some(&b'#');
            if in_comment && line_start != 0 && self.mode == CommentMode::New {
                // The reference treats the line as white space up to its end, but keeps its last character.
                lead = text.len() - line_start - 1;
                in_comment = false;
            }
            remove_leading_bytes(&mut text, &mut pieces, line_start, lead);
            if text.last() == Some(&b'\\') {
                text.pop();
                if !in_comment || self.mode == CommentMode::Old {
                    line_start = text.len();
                    continue;
                }
            }
            return Some(LogicalLine { text: Cow::Owned(text), first_line, line: self.line, pieces });
        }
    }
}

/// Removes `lead` bytes at `start` from the text and moves the pieces after them.
fn remove_leading_bytes(text: &mut Vec<u8>, pieces: &mut [(u32, u32)], start: usize, lead: usize) {
    if lead == 0 {
        return;
    }
    text.drain(start..start + lead);
    for (at, in_file) in pieces.iter_mut().rev() {
        if (*at as usize) < start {
            break;
        }
        let inside = start + lead;
        match (*at as usize).checked_sub(inside) {
            Some(after) if after > 0 => *at = to_offset(start + after),
            _ => {
                *in_file += to_offset(inside - *at as usize);
                *at = to_offset(start);
            }
        }
    }
}

/// Converts an offset to 32 bits; larger sources are rejected before they are split into lines.
fn to_offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<(String, u32)> {
        let mut reader = LogicalLines::new(source.as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line() {
            lines.push((String::from_utf8(line.text.into_owned()).unwrap(), line.line));
        }
        lines
    }

    fn texts(source: &str) -> Vec<String> {
        lines(source).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn physical_lines_are_trimmed_and_joined() {
        assert_eq!(texts("  A = 1 \t\r\n"), ["A = 1"]);
        assert_eq!(lines("A = a b  \\\n   c\nB\n"), [("A = a b  c".into(), 2), ("B".into(), 3)]);
        assert_eq!(texts("A = x\\\\\ny\n"), ["A = x\\y"]);
        assert_eq!(texts("A = x \\\n\nB\n"), ["A = x ", "B"]);
    }

    #[test]
    fn a_comment_in_a_continuation_leaves_its_last_character() {
        assert_eq!(texts("A = x \\\n# c\nB=1\n"), ["A = x c", "B=1"]);
        assert_eq!(texts("A = x \\\n# c\\\ny\n"), ["A = x y"]);
        assert_eq!(texts("# c \\\nA\n"), ["# c ", "A"]);
        assert_eq!(texts("\\\n# c\nA\n"), ["# c", "A"]);
    }

    #[test]
    fn the_last_line_without_newline_is_neither_trimmed_nor_counted() {
        assert_eq!(lines("A\n  B \\"), [("A".into(), 1), ("  B \\".into(), 1)]);
        assert_eq!(texts("A \\\n"), ["A "]);
    }

    #[test]
    fn a_nul_byte_ends_its_line_and_joins_the_next_one() {
        assert_eq!(texts("A=1\0zz\nB=2\n"), ["A=1B=2"]);
        assert_eq!(texts("\0\nB=2\n"), ["B=2"]);
    }

    #[test]
    fn positions_in_joined_lines_are_found_in_the_file() {
        let source = b"A = one \\\n   two\n";
        let line = LogicalLines::new(source).next_line().unwrap();
        assert_eq!(line.text.as_ref(), b"A = one two");
        assert_eq!(line.locate(8, 11).slice(source), b"two");
        assert_eq!(line.locate(4, 7).slice(source), b"one");
    }
}
