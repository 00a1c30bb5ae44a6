//! Conversion between byte offsets in a text and positions of the protocol, which are lines and columns in UTF-16
//! units.

use bstr::ByteSlice;
use htc_base::text::Span;
use lsp_types::{Position, Range};

/// Starts of the lines of a text. Lines end as editors see them: with `\n`, `\r\n` or a lone `\r`.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    /// Indexes a text.
    pub fn new(text: &[u8]) -> Self {
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', text) {
            let is_first_of_two = text[at] == b'\r' && text.get(at + 1) == Some(&b'\n');
            if !is_first_of_two {
                starts.push(at + 1);
            }
        }
        LineIndex { starts }
    }

    /// Returns the offsets of the start and the end of a line without its line ending, or `None` if the text has fewer
    /// lines.
    fn line(&self, text: &[u8], line: usize) -> Option<(usize, usize)> {
        let start = *self.starts.get(line)?;
        let next = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..next].trim_end_with(|c| c == '\n' || c == '\r');
        // The last line has no line ending.
        let end = if line + 1 < self.starts.len() { start + content.len() } else { next };
        Some((start, end))
    }

    /// Returns the byte offset of a position. A column beyond the end of its line stands for the end of the line, and a
    /// line beyond the last one for the end of the text.
    pub fn offset(&self, text: &[u8], position: Position) -> usize {
        let Some((start, end)) = self.line(text, position.line as usize) else { return text.len() };
        let mut units = 0;
        for (at, _, letter) in text[start..end].char_indices() {
            if units >= position.character as usize {
                return start + at;
            }
            units += letter.len_utf16();
        }
        end
    }

    /// Returns the position of a byte offset.
    pub fn position(&self, text: &[u8], offset: usize) -> Position {
        let offset = offset.min(text.len());
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let units: usize = text[self.starts[line]..offset].chars().map(char::len_utf16).sum();
        Position::new(u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(units).unwrap_or(u32::MAX))
    }

    /// Returns the range of a span. The protocol has no positions inside of a character: a span that begins or ends in
    /// one includes it.
    pub fn range(&self, text: &[u8], span: Span) -> Range {
        let (mut start, mut end) = (span.start as usize, span.end.max(span.start) as usize);
        let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        while start > 0 && is_inside(start) {
            start -= 1;
        }
        while is_inside(end) {
            end += 1;
        }
        Range::new(self.position(text, start), self.position(text, end))
    }

    /// Returns the span of a range; empty if its end precedes its start.
    pub fn span(&self, text: &[u8], range: Range) -> Span {
        let (start, end) = (self.offset(text, range.start), self.offset(text, range.end));
        Span::new(start, end.max(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "A = ü\r\n\u{1f600} = $(ü)\nlast\rend";

    #[test]
    fn columns_are_utf16_units_and_lines_end_in_three_ways() {
        let index = LineIndex::new(TEXT.as_bytes());
        for (line, column, rest) in [
            (0, 4, "ü\r\n"),
            (0, 5, "\r\n"),
            (0, 99, "\r\n"),
            (1, 0, "\u{1f600} ="),
            (1, 2, " = $"),
            (1, 5, "$(ü)"),
            (1, 8, ")\nlast"),
            (2, 0, "last\r"),
            (3, 3, ""),
            (9, 0, ""),
        ] {
            let offset = index.offset(TEXT.as_bytes(), Position::new(line, column));
            assert!(TEXT[offset..].starts_with(rest), "{line}:{column} {offset}");
            if column < 90 && line < 9 {
                assert_eq!(index.position(TEXT.as_bytes(), offset), Position::new(line, column));
            }
        }
    }

    #[test]
    fn every_offset_of_a_character_survives_a_round_trip() {
        for text in [TEXT, "", "\n", "\r\n\r\n", "a\n"] {
            let index = LineIndex::new(text.as_bytes());
            for (offset, letter) in text.char_indices() {
                let position = index.position(text.as_bytes(), offset);
                let is_second_of_two = letter == '\n' && text[..offset].ends_with('\r');
                if !is_second_of_two {
                    assert_eq!(index.offset(text.as_bytes(), position), offset, "{text:?} {offset}");
                }
            }
        }
    }

    #[test]
    fn a_span_inside_a_character_includes_it() {
        let index = LineIndex::new(TEXT.as_bytes());
        let at = TEXT.find('\u{1f600}').unwrap();
        let range = index.range(TEXT.as_bytes(), Span::new(at + 1, at + 2));
        assert_eq!((range.start.character, range.end.character), (0, 2));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_one_unit_each() {
        let text = b"A = \xfc\xe4 B\n";
        let index = LineIndex::new(text);
        assert_eq!(index.position(text, 7), Position::new(0, 7));
        assert_eq!(index.offset(text, Position::new(0, 7)), 7);
    }
}
