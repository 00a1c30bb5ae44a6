//! Places of findings in the text that a user wrote, and corrections of whole values.

use std::ops::Range;

use bstr::{BString, ByteSlice};
use htc_base::text::Span;
use htc_config::Advice;
use htc_config::finding::{Finding, Replacement};
use htc_config::macro_definition::{Definition, FoundMacro, MacroEntry};
use rustc_hash::FxHashSet;

use super::lint_subject::LintSubject;
use super::referenced_names::collect_names;
use super::syntax_advice::SyntaxAdvice;

/// Returns the definition that contains a piece of an expanded value, and the place of the piece: in the value itself,
/// or in a value to which it refers.
pub(super) fn find_written_piece<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    piece: &[u8],
) -> Option<(&'a Definition, (usize, usize))> {
    if piece.is_empty() {
        return None;
    }
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let find_piece = |raw: &[u8]| {
        raw.find_iter(piece).find(|&at| {
            let before = at.checked_sub(1).and_then(|before| raw.get(before));
            !is_part(before) && !is_part(raw.get(at + piece.len()))
        })
    };
    let mut visited: FxHashSet<Vec<u8>> = FxHashSet::default();
    let mut waiting = vec![entry];
    while let Some(entry) = waiting.pop() {
        if let Some(at) = find_piece(&entry.current.raw).filter(|_| entry.current.is_user_written()) {
            return Some((&entry.current, (at, at + piece.len())));
        }
        let mut names = FxHashSet::default();
        collect_names(&entry.current.raw, &mut names);
        for name in names {
            if let Some(FoundMacro::Set(next)) =
                subject.config.set.find(&name, &subject.config.context, subject.world)
                && visited.insert(name)
            {
                waiting.push(next);
            }
        }
    }
    None
}

/// Adds a correction of a whole value, if a single line of a file contains the value unchanged.
pub(super) fn replace_value(finding: Finding, raw: &[u8], text: impl Into<BString>) -> Finding {
    let is_value = finding.spot.as_ref().is_some_and(|spot| {
        spot.text.get(spot.span.start as usize..spot.span.end as usize).is_some_and(|place| place == raw)
    });
    let is_plain = !raw.is_empty() && !raw.iter().any(|b| b"\\\n\r".contains(b));
    // The value of `NAME == value` begins directly after the operator.
    let is_doubled = raw.starts_with(b"=")
        && finding.spot.as_ref().is_some_and(|spot| spot.text[..spot.span.start as usize].ends_with(b"="));
    let text = match is_doubled {
        true => BString::from([b" ", &text.into()[..]].concat()),
        false => text.into(),
    };
    if is_value && is_plain { finding.replaced_by(text) } else { finding }
}

/// Adds the correction of a part of a value, if the part is in one line. The place of the finding must be that of the
/// advice.
pub(super) fn correct_part(finding: Finding, raw: &[u8], advice: &SyntaxAdvice) -> Finding {
    let Some((Range { start, end }, mut text)) = advice.smallest_change(raw) else { return finding };
    let Some(spot) = &finding.spot else { return finding };
    let Some(first) = (spot.span.start as usize + start).checked_sub(advice.place.start) else {
        return finding;
    };
    let last = first + (end - start);
    // Another rule corrects `NAME := value`.
    let follows_colon = start == 0 && spot.text.get(..first).is_some_and(|before| before.ends_with(b":"));
    if spot.text.get(first..last) != Some(&raw[start..end]) || follows_colon {
        return finding;
    }
    // The value of `NAME == value` begins directly after the operator.
    if start == 0 && text.is_empty() && spot.text.get(..first).is_some_and(|before| before.ends_with(b"=")) {
        text = " ".into();
    }
    Finding { replacement: Some(Replacement { span: Span::new(first, last), text }), ..finding }
}

/// Adds the correction of a whole value if the advice is certain.
pub(super) fn replace_if_certain(finding: Finding, raw: &[u8]) -> Finding {
    match finding.fix.clone() {
        Some(Advice::Write(text)) => replace_value(finding, raw, text),
        _ => finding,
    }
}
