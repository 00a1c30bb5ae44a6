//! Positions in a source text: ranges, lines and columns.

/// Range of byte offsets in a source text.
///
/// ```
/// use htc_classad::{Expr, Span};
/// let text = "Cpus > = 2";
/// let error = Expr::parse(text).unwrap_err();
/// assert_eq!((error.span, error.span.slice(text.as_bytes())), (Span::new(7, 8), &b"="[..]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte of the range.
    pub start: u32,
    /// Offset after the last byte of the range.
    pub end: u32,
}

/// Line and column of a position, both counted from 1. Columns count bytes, as editors do in the C locale.
///
/// ```
/// use htc_classad::{Position, Span};
/// assert_eq!(Span::at(3).position(b"A\nB = 1"), Position { line: 2, column: 2 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Number of the line, counted from 1.
    pub line: u32,
    /// Number of the column in bytes, counted from 1.
    pub column: u32,
}

impl Span {
    /// Creates the range from `start` up to but not including `end`.
    ///
    /// ```
    /// use htc_classad::Span;
    /// assert_eq!(Span::new(0, 4).slice(b"Cpus > 1"), b"Cpus");
    /// ```
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end.max(start)) }
    }

    /// Creates the empty range at `offset`, which is a position between two bytes.
    ///
    /// ```
    /// use htc_classad::Span;
    /// assert_eq!(Span::at(4), Span::new(4, 4));
    /// ```
    pub fn at(offset: usize) -> Self {
        Span::new(offset, offset)
    }

    /// Returns the smallest range that contains both ranges.
    pub fn join(self, other: Span) -> Self {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the bytes of `source` in the range, or an empty slice if the range is not within `source`.
    pub fn slice(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Returns the line and column at which the range begins in `source`.
    pub fn position(self, source: &[u8]) -> Position {
        let before = &source[..source.len().min(self.start as usize)];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1) + 1;
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position { line: clamp(line), column: clamp(column) }
    }
}

/// Counter of the lines of a text. If it is called with increasing offsets, it reads each byte only once.
#[derive(Clone, Debug)]
pub struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    /// Creates a counter at the beginning of a text.
    pub fn new(text: &'a [u8]) -> Self {
        LineCounter { text, at: 0, line: 1 }
    }

    /// Returns the number of the line that contains an offset, counted from 1.
    pub fn line(&mut self, offset: u32) -> u32 {
        let offset = self.text.len().min(offset as usize);
        if offset < self.at {
            (self.at, self.line) = (0, 1);
        }
        let more = memchr::memchr_iter(b'\n', &self.text[self.at..offset]).count();
        self.line = self.line.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self.at = offset;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_counts_lines_and_columns_from_one() {
        let text = b"ab\ncd";
        assert_eq!(Span::at(0).position(text), Position { line: 1, column: 1 });
        assert_eq!(Span::at(4).position(text), Position { line: 2, column: 2 });
        assert_eq!(Span::at(99).position(text), Position { line: 2, column: 3 });
    }

    #[test]
    fn lines_are_counted_forwards_and_backwards() {
        let text = b"ab\ncd\n\nef";
        let mut counter = LineCounter::new(text);
        for offset in [0, 2, 3, 5, 6, 7, 9, 99, 4, 0, 8] {
            assert_eq!(counter.line(offset), Span::at(offset as usize).position(text).line, "{offset}");
        }
    }

    #[test]
    fn a_span_outside_its_source_is_empty() {
        assert_eq!(Span::new(3, 9).slice(b"ab"), b"");
        assert_eq!(Span::new(1, 2).slice(b"ab"), b"b");
    }
}
