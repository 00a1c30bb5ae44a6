//! Offsets of lines and conditions of a source, computed once for all findings about it.

use crate::condition::split_if_keyword;
use crate::lines::LogicalLines;

/// Index of a source's text for repeated queries.
#[derive(Clone, Debug)]
pub struct SourceIndex {
    newlines: Vec<u32>,
    /// Offsets of `if` and `endif` lines, each with the number of open `if`s after it.
    conditions: Vec<(u32, u32)>,
}

impl SourceIndex {
    /// Creates the index of a text.
    pub fn new(text: &[u8]) -> Self {
        let mut conditions = Vec::new();
        let mut open = 0u32;
        let mut lines = LogicalLines::new(text);
        loop {
            let start = lines.bytes_read() as u32;
            let Some(line) = lines.next_line() else {
                break;
            };
            match split_if_keyword(line.text.strip_prefix(b":").unwrap_or(&line.text)) {
                Some(("if", _)) => open += 1,
                Some(("endif", _)) => open = open.saturating_sub(1),
                _ => continue,
            }
            conditions.push((start, open));
        }
        SourceIndex { newlines: memchr::memchr_iter(b'\n', text).map(|at| at as u32).collect(), conditions }
    }

    /// Returns the number of the line at an offset, from 1.
    pub(super) fn line_number(&self, offset: usize) -> u32 {
        self.newlines.partition_point(|&newline| (newline as usize) < offset) as u32 + 1
    }

    /// Returns the number of open `if`s at the beginning of the line at an offset.
    pub fn if_depth(&self, offset: u32) -> u32 {
        let before = self.conditions.partition_point(|&(start, _)| start < offset);
        before.checked_sub(1).map_or(0, |at| self.conditions[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_open_conditions_are_counted() {
        let text = b"A = 1\nif true\nB = \\\n2\nif defined X\nC = 1\nendif\nD = 1\nendif\nE = 1\n";
        let index = SourceIndex::new(text);
        let at = |needle: &[u8]| bstr::ByteSlice::find(&text[..], needle).unwrap();
        let found = [&b"A ="[..], b"B =", b"C =", b"D =", b"E ="].map(|name| {
            let at = at(name);
            (index.line_number(at), index.if_depth(at as u32))
        });
        assert_eq!(found, [(1, 0), (3, 1), (6, 2), (8, 1), (10, 0)]);
    }
}
