//! Environments as values of parameters: `A=1;B=2`, or `"A=1 B=2"` between double quotes.

use bstr::ByteSlice;

/// Returns true for `A=1 B=2` without double quotes, which is one variable (`Env::MergeFromV1RawOrV2Quoted`).
pub(super) fn has_blank_separators(text: &[u8]) -> bool {
    let is_variable = |word: &&[u8]| {
        let name = word.find_byte(b'=').map(|end| &word[..end]).unwrap_or_default();
        name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let is_v1 = !text.starts_with(b"\"") && !text.contains(&b';');
    is_v1 && text.fields().count() > 1 && text.fields().filter(is_variable).count() == text.fields().count()
}

/// Returns true unless a value in the language V2, which begins with a double quote, has quotes that are not closed
/// (`Env::IsV2QuotedString`, `split_args`).
pub(super) fn has_closed_quotes(text: &[u8]) -> bool {
    let Some(inner) = text.strip_prefix(b"\"") else { return true };
    let Some(inner) = inner.strip_suffix(b"\"") else { return false };
    let mut rest = inner;
    while let Some(at) = rest.find_byte(b'"') {
        if rest.get(at + 1) != Some(&b'"') {
            return false;
        }
        rest = &rest[at + 2..];
    }
    inner.iter().filter(|byte| **byte == b'\'').count() % 2 == 0
}
