//! Maps a part of a raw value back to the line and column of the file.

use bstr::ByteSlice;

use super::source_index::SourceIndex;
use crate::lines::LogicalLines;
use crate::macro_definition::{ConfigSource, Definition, SourceId};
use crate::shared_text::SharedText;
use crate::statement::{self, StatementOperator};
use htc_base::text::Span;

/// A place in a source, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Id of the source.
    pub source: SourceId,
    /// Name of the source.
    pub name: SharedText,
    /// The physical line, from 1.
    pub line: u32,
    /// Text of that line.
    pub text: SharedText,
    /// Range within that line.
    pub span: Span,
}

/// Returns the place of a part of a definition's raw value, or of the statement if the part does not appear
/// in it (templates, values that include an older one). `None` for definitions that are not in a file.
pub fn locate_definition(
    source: &ConfigSource,
    index: &SourceIndex,
    definition: &Definition,
    part: Option<(usize, usize)>,
) -> Option<SourceLocation> {
    let place = &definition.place;
    let text = source.text.as_ref()?;
    let start = (place.offset as usize).min(text.len());
    let span = find_span(&text[start..], definition, part);
    let span = Span::new(start + span.start as usize, start + span.end as usize);
    let start = (span.start as usize).min(text.len());
    let first = memchr::memrchr(b'\n', &text[..start]).map_or(0, |newline| newline + 1);
    let last = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |more| start + more);
    let end = (span.end as usize).clamp(start, last.max(start));
    Some(SourceLocation {
        source: place.source,
        name: source.shared_name(),
        line: index.line_number(start),
        text: source.share(&text[first..last]),
        span: Span::new(start - first, end - first),
    })
}

/// Returns the range of the part in a text that begins with the definition's statement.
fn find_span(text: &[u8], definition: &Definition, part: Option<(usize, usize)>) -> Span {
    let mut lines = LogicalLines::new(text);
    let Some(first) = lines.next_line() else {
        return Span::at(0);
    };
    let whole = first.locate(0, first.text.len());
    let Ok(split) = statement::split_line(&first.text) else {
        return whole;
    };
    let name = first.locate(0, split.name.len());
    let Some((from, to)) = part else {
        return name;
    };
    if split.operator == StatementOperator::Here {
        let mut offset = 0;
        while let Some(line) = lines.next_line() {
            if line.text.strip_prefix(b"@") == Some(split.value) {
                return name;
            }
            if line.text.first() == Some(&b'#') || htc_base::text::space::trim(&line.text).is_empty() {
                continue;
            }
            if from <= offset + line.text.len() {
                return line.locate(from.saturating_sub(offset), to.saturating_sub(offset));
            }
            offset += line.text.len() + 1;
        }
        return name;
    }
    // With `+=` the value is at the end of the raw text; with references to itself it may not appear at all.
    let raw = &definition.raw;
    let Some(before) = raw.len().checked_sub(split.value.len()).filter(|_| raw.ends_with(split.value)) else {
        let wanted = raw.get(from..to).unwrap_or_default();
        return match split.value.find(wanted).filter(|_| !wanted.is_empty()) {
            Some(found) => {
                let start = first.text.len() - split.value.len() + found;
                first.locate(start, start + wanted.len())
            }
            None => name,
        };
    };
    if from < before {
        return name;
    }
    let start = first.text.len() - split.value.len() + from - before;
    first.locate(start, start + (to - from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::macro_definition::DefinitionPlace;

    fn located(text: &str, raw: &str, part: &str) -> String {
        let definition = Definition {
            name: "A".into(),
            raw: raw.into(),
            place: DefinitionPlace { source: SourceId::OVERLAY, line: Some(1), template: None, offset: 0 },
            matches_default: false,
        };
        let at = raw.find(part).unwrap();
        let span = find_span(text.as_bytes(), &definition, Some((at, at + part.len())));
        text[span.start as usize..span.end as usize].to_owned()
    }

    #[test]
    fn parts_of_values_are_found_through_continuations_and_blocks() {
        assert_eq!(located("A = one $(b c)\n", "one $(b c)", "$(b c)"), "$(b c)");
        assert_eq!(located("A = one \\\n   two bad\n", "one two bad", "bad"), "bad");
        assert_eq!(located("A @=end\n # x\n  one\n\n  two bad\n@end\n", "one\ntwo bad", "bad"), "bad");
        assert_eq!(located("A += bad\n", "old bad", "bad"), "bad");
        assert_eq!(located("A = $(A) bad x\n", "old bad x", "bad"), "bad");
    }
}
