//! Search for references to a scope in the text of an expression.

use htc_base::text::caseless;

/// Returns the first position of `scope.` in an expression, outside strings, or `None`.
pub fn find_scope(text: &[u8], scope: &str) -> Option<usize> {
    let mut quoted = false;
    for (at, &byte) in text.iter().enumerate() {
        if byte == b'"' && (at == 0 || text[at - 1] != b'\\') {
            quoted = !quoted;
        }
        let starts = at == 0 || !(text[at - 1].is_ascii_alphanumeric() || b"_.".contains(&text[at - 1]));
        if !quoted
            && starts
            && caseless::starts_with(&text[at..], scope.as_bytes())
            && text.get(at + scope.len()) == Some(&b'.')
        {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_found_outside_strings_only() {
        assert_eq!(find_scope(b"x && TARGET.y", "target"), Some(5));
        assert_eq!(find_scope(b"\"TARGET.y\"", "target"), None);
        assert_eq!(find_scope(b"MyTarget.y", "target"), None);
    }
}
