//! Division of a transform's text into logical lines with their positions.
//!
//! There are two readers, as in the reference (`MacroStreamXFormSource::load` and `::open`): lines of a rules
//! file are trimmed and joined here; the configuration reader has already done this for the text of a
//! parameter.

use std::sync::Arc;

use bstr::BString;

use htc_base::text::Span;
use htc_base::text::space::{is_space, trim, trim_start};
use htc_config::lines::{self, LogicalLine, LogicalLines};

/// Text from which a transform was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransformSource {
    /// Name of the rules file or parameter, for messages.
    pub name: String,
    /// Complete text.
    pub text: BString,
}

/// Logical line: continuations are joined, and surrounding whitespace is removed. Clones share the text,
/// which may have many megabytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine(Arc<RuleLineText>);

/// Content of a [`RuleLine`].
#[derive(Debug, PartialEq, Eq)]
pub struct RuleLineText {
    /// Text of the line.
    pub text: BString,
    /// Number of the first physical line, from 1.
    pub number: u32,
    /// Number that the reference gives the line: that of the last physical line.
    pub reference_number: u32,
    /// Positions of the pieces of `text` in the source: offset in `text`, offset in the source.
    pieces: Vec<(u32, u32)>,
    /// Text that contains the line.
    pub source: Arc<TransformSource>,
}

impl std::ops::Deref for RuleLine {
    type Target = RuleLineText;

    fn deref(&self) -> &RuleLineText {
        &self.0
    }
}

impl RuleLine {
    fn new(source: &Arc<TransformSource>, line: LogicalLine<'_>) -> Self {
        let (number, last, pieces) = (line.first_line, line.line, line.pieces);
        RuleLine(Arc::new(RuleLineText {
            text: line.text.into_owned().into(),
            number,
            reference_number: last,
            pieces,
            source: source.clone(),
        }))
    }

    /// Returns the position in the source of a range of the line's text. The returned range does not extend beyond the
    /// source piece in which it begins.
    pub fn locate(&self, place: Span) -> Span {
        lines::locate(&self.pieces, self.text.len(), place)
    }
}

/// Lines of a rules text in their order, including comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RulesText {
    /// Source of the lines.
    pub source: Arc<TransformSource>,
    /// Logical lines.
    pub lines: Vec<RuleLine>,
    /// Offset of the text after a TRANSFORM statement: item data or, on standard input, ads.
    pub rest_offset: usize,
}

/// Returns the arguments of a line that begins with `keyword` and whitespace without an operator, or `None`
/// (`is_xform_statement`).
pub(super) fn header_arguments<'a>(line: &'a [u8], keyword: &[u8]) -> Option<&'a [u8]> {
    let line = trim_start(line);
    if line.len() <= keyword.len() || !htc_base::text::caseless::starts_with(line, keyword) {
        return None;
    }
    let after = &line[keyword.len()..];
    if !is_space(after[0]) {
        return None;
    }
    let arguments = trim_start(after);
    (!matches!(arguments.first(), Some(b'=' | b':'))).then_some(arguments)
}

impl RulesText {
    /// Reads a rules file with the line reader for configuration files, up to a TRANSFORM statement with
    /// arguments.
    pub(super) fn from_file(name: &str, text: &[u8]) -> Self {
        RulesText::read_lines(name, text, true)
    }

    fn read_lines(name: &str, text: &[u8], ends_at_transform: bool) -> Self {
        let source = Arc::new(TransformSource { name: name.into(), text: text.into() });
        let mut reader = LogicalLines::new(text);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line() {
            let last = ends_at_transform && header_arguments(&line.text, b"transform").is_some();
            // Blank lines have no effect, and a file may have millions of them.
            if !trim(&line.text).is_empty() {
                lines.push(RuleLine::new(&source, line));
            }
            if last {
                break;
            }
        }
        let rest = reader.bytes_read();
        RulesText { source, lines, rest_offset: rest }
    }

    /// Reads the whole file of an `include`, in which TRANSFORM does not end the text.
    pub(super) fn from_include(name: &str, text: &[u8]) -> Vec<RuleLine> {
        RulesText::read_lines(name, text, false).lines
    }

    /// Reads the value of a parameter: lines are split but neither trimmed nor joined.
    pub(super) fn from_parameter(name: &str, text: &[u8]) -> Self {
        let source = Arc::new(TransformSource { name: name.into(), text: text.into() });
        let mut lines = Vec::new();
        let mut at = 0;
        let mut number = 1;
        for part in text.split(|&b| b == b'\n' || b == b'\r') {
            let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            if !part.is_empty() {
                let pieces = vec![(0, clamp(at))];
                let text = RuleLineText {
                    text: part.into(),
                    number,
                    reference_number: number,
                    pieces,
                    source: source.clone(),
                };
                lines.push(RuleLine(Arc::new(text)));
            }
            at += part.len();
            number += u32::from(text.get(at) == Some(&b'\n'));
            at += 1;
        }
        RulesText { source, lines, rest_offset: text.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_base::text::span::Position;

    fn texts(text: &str) -> Vec<String> {
        RulesText::from_file("rules", text.as_bytes()).lines.iter().map(|l| l.text.to_string()).collect()
    }

    #[test]
    fn continuations_join_trimmed_lines() {
        assert_eq!(texts("a\\\n   b\nc  \\  \n d\n"), ["ab", "c  d"]);
    }

    #[test]
    fn blank_lines_are_counted_and_not_kept() {
        let rules = RulesText::from_file("rules", b"\n\n SET A 1\n  \n\nSET B 2\n");
        assert_eq!(rules.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [3, 6]);
        assert_eq!(RulesText::from_include("rules", &b"\n".repeat(1000)).len(), 0);
    }

    #[test]
    fn positions_point_into_the_file_through_continuations() {
        let rules = RulesText::from_file("rules", b"x\n  SET A \\\n   1 +\n");
        let line = &rules.lines[1];
        assert_eq!(line.text, "SET A 1 +");
        let place = |at| {
            let Position { line, column } = line.locate(Span::at(at)).position(&line.source.text);
            (line, column)
        };
        assert_eq!((place(4), place(8)), ((2, 7), (3, 6)));
    }

    #[test]
    fn reading_stops_after_a_transform_statement() {
        let rules = RulesText::from_file("rules", b"SET A 1\nTRANSFORM 2 in (\np\n)\n");
        assert_eq!(rules.lines.len(), 2);
        assert_eq!(rules.source.text[rules.rest_offset..], b"p\n)\n"[..]);
    }

    #[test]
    fn parameter_lines_are_used_unchanged() {
        let rules = RulesText::from_parameter("k", b"a\n\n b \\\nc");
        let lines: Vec<_> = rules.lines.iter().map(|l| (l.text.to_string(), l.number)).collect();
        assert_eq!(lines, [("a".into(), 1), (" b \\".into(), 3), ("c".into(), 4)]);
    }

    #[test]
    fn a_header_keyword_alone_or_assigned_is_not_a_header() {
        assert_eq!(header_arguments(b"  Name  x y", b"name"), Some(&b"x y"[..]));
        assert_eq!(header_arguments(b"name = x", b"name"), None);
        assert_eq!(header_arguments(b"names x", b"name"), None);
        assert_eq!(header_arguments(b"name", b"name"), None);
    }
}
