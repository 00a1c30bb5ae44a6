//! References of other languages in a value: `%(NAME)`, `$[NAME]`, `{NAME}/spool`, `$(env:NAME)`, and commands in backticks.

use std::ops::Range;

use bstr::ByteSlice;
use htc_config::Advice;
use htc_config::registry::{RegisteredParameter, ValueType};

/// Finds a reference in the syntax of another language, or a command in backticks; returns its place and the
/// correction.
pub(super) fn find_foreign_reference(
    raw: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<(Range<usize>, Advice)> {
    if parameter.is_some_and(|parameter| parameter.value_type.is_expression()) {
        return None;
    }
    if let Some(found) = find_enclosed(raw, b"$(env:", b")", "ENV") {
        return Some(found);
    }
    for (open, close) in [(&b"%("[..], &b")"[..]), (b"$[", b"]")] {
        if let Some(found) = find_enclosed(raw, open, close, "") {
            return Some(found);
        }
    }
    let is_plain = parameter.is_some_and(|parameter| {
        matches!(parameter.value_type, ValueType::Path | ValueType::Hosts | ValueType::Name)
    });
    if !is_plain {
        return None;
    }
    let text = raw.trim();
    for (open, close) in [(b"<", b">"), (b"{", b"}")] {
        let is_start = text.starts_with(open) && !text.starts_with(b"{{");
        if let Some((span, advice)) = find_enclosed(text, open, close, "").filter(|_| is_start) {
            let rest = &text[span.end..];
            if span.start == 0 && (rest.is_empty() || rest.starts_with(b"/")) {
                let before = raw.len() - raw.trim_start().len();
                return Some((before + span.start..before + span.end, advice));
            }
        }
    }
    let first = raw.find_byte(b'`')?;
    let last = raw.rfind_byte(b'`').filter(|last| *last > first + 1)?;
    let advice =
        "write the output of the command, or 'include command : PROGRAM' for a program that prints settings";
    Some((first..last + 1, advice.into()))
}

/// Finds a name between `open` and `close`; returns its place with these, and the reference to write.
fn find_enclosed(raw: &[u8], open: &[u8], close: &[u8], function: &str) -> Option<(Range<usize>, Advice)> {
    let lower = raw.to_ascii_lowercase();
    let start = lower.find(open)?;
    let body = start + open.len();
    let end = body + raw[body..].find(close)?;
    let name = &raw[body..end];
    let is_name = name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let is_doubled = start > 0 && raw[start - 1] == b'$';
    let reference = [b"$", function.as_bytes(), b"(", name, b")"].concat();
    (is_name && !is_doubled).then(|| (start..end + close.len(), Advice::Write(reference.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_config::registry;

    #[test]
    fn references_of_other_languages_are_found() {
        let path = registry::find(b"SPOOL");
        let found = |raw: &str| {
            let (span, advice) = find_foreign_reference(raw.as_bytes(), path.as_ref())?;
            Some((raw[span].to_owned(), advice.to_string()))
        };
        let pair = |text: &str, meant: &str| Some((text.to_owned(), format!("write {meant}")));
        assert_eq!(found("%(LOCAL_DIR)/spool"), pair("%(LOCAL_DIR)", "$(LOCAL_DIR)"));
        assert_eq!(found("$[LOCAL_DIR]/spool"), pair("$[LOCAL_DIR]", "$(LOCAL_DIR)"));
        assert_eq!(found("<LOCAL_DIR>/spool"), pair("<LOCAL_DIR>", "$(LOCAL_DIR)"));
        assert_eq!(found("{LOCAL_DIR}/spool"), pair("{LOCAL_DIR}", "$(LOCAL_DIR)"));
        assert_eq!(found("$(env:HOME)/spool"), pair("$(env:HOME)", "$ENV(HOME)"));
        assert!(found("`pwd`/spool").is_some());
        for good in ["/x/{a,b}", "$(LOCAL_DIR)/a%b", "/x<y>", "$(A:b)", "$ENV(HOME)", "/a`b", "{{ a }}"] {
            assert_eq!(found(good), None, "{good}");
        }
    }
}
