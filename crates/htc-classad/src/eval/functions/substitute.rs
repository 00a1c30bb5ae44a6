//! Implementation of `regexps()`, `replace()` and `replaceAll()` (reference: fnCall.cpp, regexp_helper).

use bstr::BString;

use crate::regex::{Captures, Regex, SearchOptions};

/// Options of a substitution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubstitutionMode {
    /// True to return the whole subject with its matches replaced (option `f`), false to return only the
    /// replacements.
    pub(crate) whole_subject: bool,
    /// True to replace all non-overlapping matches (option `g`), false to replace only the first match.
    pub(crate) all_matches: bool,
}

/// Returns the result of a substitution, or `None` if the result is the error value.
pub(crate) fn substitute(
    regex: &Regex,
    subject: &[u8],
    template: &[u8],
    extent: SubstitutionMode,
) -> Option<BString> {
    let mut output = Vec::new();
    let mut at = 0;
    let mut after_empty = false;
    loop {
        let search = SearchOptions { start: at, anchored_not_empty: after_empty, not_empty: false };
        match regex.captures(subject, search).ok()? {
            None if after_empty => {
                // After an empty match, the search continues one byte later. Beyond the end of the subject, the next
                // search fails, so that `replaceAll("x*", ...)` is an error as in the reference.
                output.extend(subject.get(at));
                at += 1;
                after_empty = false;
                if !extent.all_matches {
                    break;
                }
            }
            None => break,
            Some(found) => {
                let whole = found.whole_match();
                if extent.whole_subject {
                    output.extend_from_slice(subject.get(at..whole.start).unwrap_or_default());
                }
                fill_template(template, subject, &found, &mut output)?;
                at = whole.end;
                // The reference resets this flag only after the step above, so the flag remains set after a match
                // that is not empty.
                after_empty |= whole.is_empty();
                if !extent.all_matches {
                    break;
                }
            }
        }
    }
    if extent.whole_subject {
        output.extend_from_slice(subject.get(at..).unwrap_or_default());
    }
    Some(output.into())
}

/// Appends the template with `\0` to `\9` replaced by capture groups. Returns `None` if the template names a group
/// after the last group that took part in the match.
fn fill_template(template: &[u8], subject: &[u8], found: &Captures, output: &mut Vec<u8>) -> Option<()> {
    let mut bytes = template.iter().peekable();
    while let Some(byte) = bytes.next() {
        match bytes.peek() {
            Some(digit) if *byte == b'\\' && digit.is_ascii_digit() => {
                let number = usize::from(**digit - b'0');
                bytes.next();
                if number >= found.len() {
                    return None;
                }
                output.extend_from_slice(found.group(number).map_or(&[][..], |range| &subject[range]));
            }
            _ => output.push(*byte),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regex::RegexOptions;

    fn run(pattern: &str, subject: &str, template: &str, letters: &str) -> Option<String> {
        let regex = Regex::compile(pattern.as_bytes(), RegexOptions::NONE).expect("a good pattern");
        let extent =
            SubstitutionMode { whole_subject: letters.contains('f'), all_matches: letters.contains('g') };
        let result = substitute(&regex, subject.as_bytes(), template.as_bytes(), extent)?;
        Some(String::from_utf8(result.into()).expect("UTF-8"))
    }

    #[test]
    #[cfg(feature = "regex")]
    fn substitution_follows_the_reference_around_empty_matches() {
        assert_eq!(run("b", "abcb", "-", "fg").as_deref(), Some("a-c-"));
        assert_eq!(run("(b)(c)?", "ab", r"<\1>", "").as_deref(), Some("<b>"));
        assert_eq!(run("(b)(c)?", "ab", r"\2", ""), None);
        assert_eq!(run("x", "abc", "-", "").as_deref(), Some(""));
        assert_eq!(run("x", "abc", "-", "f").as_deref(), Some("abc"));
        assert_eq!(run("x*", "abc", "-", "fg"), None);
        assert_eq!(run("^", "abc", "!", "fg").as_deref(), Some("!abc"));
        assert_eq!(run("b", "abcb", r"\x\", "fg").as_deref(), Some(r"a\x\c\x\"));
    }
}
