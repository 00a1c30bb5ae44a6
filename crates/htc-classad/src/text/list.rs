//! Lists of names in configuration values and attributes: splitting into items, and the wildcard `*` of the
//! reference.
//!
//! Reference: `stl_string_utils.cpp` (`StringTokenIterator`, `matches_withwildcard_impl`).

use bstr::ByteSlice;

use super::caseless;

/// Separators of most lists: white space and commas.
const SEPARATORS: &[u8] = b", \t\r\n";

/// Returns the items of a list separated by white space and commas, skipping empty items.
///
/// ```
/// use htc_classad::text::list;
/// assert_eq!(list::split(b" a,b ,, c").collect::<Vec<_>>(), [&b"a"[..], b"b", b"c"]);
/// ```
pub fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    split_by(text, SEPARATORS)
}

/// Returns the items of a list separated by any of `separators`. White space around an item is always removed.
/// White space within an item is kept, unless it is a separator.
pub fn split_by<'a>(text: &'a [u8], separators: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    text.split(|byte| separators.contains(byte))
        .map(|item| item.trim_with(|c| c.is_ascii_whitespace() || c == '\x0b'))
        .filter(|item| !item.is_empty())
}

/// Returns true if `pattern` matches the whole `name`, case-sensitively.
pub fn matches_wildcard(pattern: &[u8], name: &[u8]) -> bool {
    match_wildcard(pattern, name, |a, b| a == b)
}

/// Returns true if `pattern` matches the whole `name`, ignoring case.
///
/// As in the reference, a pattern may have one `*` anywhere and one more at the end. Any other `*`, and every `?`,
/// is literal.
///
/// ```
/// use htc_classad::text::list::matches_wildcard_caseless;
/// assert!(matches_wildcard_caseless(b"x*Y", b"XabcY") && matches_wildcard_caseless(b"a*b*", b"a--b--"));
/// assert!(!matches_wildcard_caseless(b"a*b*c", b"a-b-c"));
/// ```
pub fn matches_wildcard_caseless(pattern: &[u8], name: &[u8]) -> bool {
    match_wildcard(pattern, name, caseless::eq)
}

fn match_wildcard(pattern: &[u8], name: &[u8], eq: fn(&[u8], &[u8]) -> bool) -> bool {
    let Some(star) = pattern.find_byte(b'*') else {
        return eq(pattern, name);
    };
    let (start, after) = (&pattern[..star], &pattern[star + 1..]);
    let Some(head) = name.get(..start.len()) else {
        return false;
    };
    if !eq(start, head) {
        return false;
    }
    let tail = &name[start.len()..];
    match after.strip_suffix(b"*") {
        // The pattern ends with a second `*`, so the part between the two may occur anywhere in the rest of the
        // name.
        Some(middle) => middle.is_empty() || tail.windows(middle.len()).any(|window| eq(window, middle)),
        None => tail.len() >= after.len() && eq(after, &tail[tail.len() - after.len()..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_may_have_one_star_anywhere_and_one_at_the_end() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("**", "abc", true),
            ("", "", true),
            ("", "a", false),
            ("ab*", "AB", true),
            ("ab*", "a", false),
            ("*ab", "xxAB", true),
            ("*ab", "abx", false),
            ("*ab*", "xabx", true),
            ("a*b", "ab", true),
            ("a*a", "a", false),
            ("a*b*c", "axb*c", true),
            ("a?c", "abc", false),
        ] {
            assert_eq!(
                matches_wildcard_caseless(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
        assert!(!matches_wildcard(b"A*", b"abc"));
    }

    #[test]
    fn empty_items_are_ignored() {
        assert_eq!(split_by(b"a b; c ", b";").collect::<Vec<_>>(), [&b"a b"[..], b"c"]);
    }
}
