//! Text joined from several lines of a file, with the place of each byte in the file.

use std::ops::Range;

use bstr::BString;
use htc_base::text::Span;
use htc_config::lines::{self, LogicalLine};

/// Text of a statement or value, and its places in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedText {
    /// Text of the joined lines.
    pub text: BString,
    /// Start of each piece: its offset in the text, and its offset in the file.
    pieces: Vec<(u32, u32)>,
}

impl MappedText {
    /// Creates a text from a logical line.
    pub(crate) fn of_line(line: &LogicalLine<'_>) -> Self {
        MappedText { text: line.text.as_ref().into(), pieces: line.pieces.clone() }
    }

    /// Appends a line, after a newline if the text is not empty.
    pub(crate) fn push_line(&mut self, line: &MappedText) {
        if !self.pieces.is_empty() {
            self.text.push(b'\n');
        }
        let start = offset(self.text.len());
        self.pieces.extend(line.pieces.iter().map(|(at, in_file)| (start + at, *in_file)));
        self.text.extend_from_slice(&line.text);
    }

    /// Returns a part of the text with its places.
    pub fn part(&self, range: Range<usize>) -> MappedText {
        let (start, end) = (range.start.min(self.text.len()), range.end.min(self.text.len()));
        let end = end.max(start);
        let mut pieces = vec![(0, self.span(start..start).start)];
        let inside = self.pieces.iter().filter(|(at, _)| *at as usize > start && (*at as usize) < end);
        pieces.extend(inside.map(|(at, in_file)| (at - offset(start), *in_file)));
        MappedText { text: self.text[start..end].into(), pieces }
    }

    /// Returns the place in the file of a range of the text, up to the end of the line in which it begins.
    pub fn span(&self, range: Range<usize>) -> Span {
        lines::locate(&self.pieces, self.text.len(), Span::new(range.start, range.end))
    }

    /// Returns the place of the whole text, from its first byte to its last.
    pub fn whole_span(&self) -> Span {
        let start = self.span(0..0).start;
        let last = self.text.len().saturating_sub(1);
        Span::new(start as usize, self.span(last..self.text.len()).end.max(start) as usize)
    }
}

/// Converts an offset to 32 bits, as in [`Span`].
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use htc_config::lines::LogicalLines;

    use super::*;

    #[test]
    fn positions_are_found_through_continued_lines() {
        let source = b"A = one \\\n   two\n  three\n";
        let mut lines = LogicalLines::new(source);
        let mut text = MappedText::default();
        while let Some(line) = lines.next_line() {
            text.push_line(&MappedText::of_line(&line));
        }
        assert_eq!(text.text, "A = one two\nthree");
        for word in ["one", "two", "three"] {
            let at = text.text.windows(word.len()).position(|part| part == word.as_bytes()).unwrap();
            let span = text.span(at..at + word.len());
            assert_eq!(span.slice(source), word.as_bytes());
            let part = text.part(at..at + word.len());
            assert_eq!((part.text.as_slice(), part.span(0..1).start), (word.as_bytes(), span.start));
        }
        assert_eq!(text.whole_span().slice(source), b"A = one \\\n   two\n  three");
    }
}
