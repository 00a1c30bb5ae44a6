//! Comparison of names that ignores ASCII case.
//!
//! Names of attributes, names of parameters and keywords compare like C's `strcasecmp` in the C locale.

use std::cmp::Ordering;
use std::hash::Hasher;

/// Returns true if two names are equal. The spelling is compared first, because most equal names have the same
/// spelling.
#[inline]
pub fn eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (is_same_spelling(a, b) || a.eq_ignore_ascii_case(b))
}

/// Returns true if two texts of the same length are identical. Most names are short and are compared as two words,
/// which may overlap.
#[inline]
fn is_same_spelling(a: &[u8], b: &[u8]) -> bool {
    if a.len() > 16 {
        return a == b;
    }
    if let (Some(first), Some(last)) = (a.first_chunk::<8>(), a.last_chunk::<8>()) {
        return b.first_chunk() == Some(first) && b.last_chunk() == Some(last);
    }
    if let (Some(first), Some(last)) = (a.first_chunk::<4>(), a.last_chunk::<4>()) {
        return b.first_chunk() == Some(first) && b.last_chunk() == Some(last);
    }
    a.iter().eq(b)
}

/// Compares two names as `strcasecmp` does: by the bytes in lower case; a prefix precedes longer names.
pub fn cmp(a: &[u8], b: &[u8]) -> Ordering {
    let lower = |bytes: &[u8], at: usize| bytes[at].to_ascii_lowercase();
    let common = a.len().min(b.len());
    (0..common)
        .map(|at| lower(a, at).cmp(&lower(b, at)))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Returns true if `text` begins with `prefix`, ignoring case.
pub fn starts_with(text: &[u8], prefix: &[u8]) -> bool {
    text.len() >= prefix.len() && eq(&text[..prefix.len()], prefix)
}

/// Returns the rest of `text` after `prefix`, ignoring case, or `None` if `text` does not begin with `prefix`.
pub fn strip_prefix<'t>(text: &'t [u8], prefix: &[u8]) -> Option<&'t [u8]> {
    starts_with(text, prefix).then(|| &text[prefix.len()..])
}

/// Returns true if `text` ends with `suffix`, ignoring case.
pub fn ends_with(text: &[u8], suffix: &[u8]) -> bool {
    text.len() >= suffix.len() && eq(&text[text.len() - suffix.len()..], suffix)
}

/// Returns true if `part` occurs anywhere in `text`, ignoring case.
pub fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| eq(window, part))
}

/// Adds a name to a hasher, so that names that differ only in case have the same hash.
pub fn hash_name(name: &[u8], state: &mut impl Hasher) {
    for byte in name {
        state.write_u8(byte.to_ascii_lowercase());
    }
    state.write_u8(0xff);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_like_strcasecmp() {
        assert!(eq(b"JobUniverse", b"jobuniverse"));
        assert!(!eq(b"Job", b"JobU"));
        let long = b"aBcDeFgHiJkLmNoPqRsTuVwXyZ_0123456789";
        for length in 0..long.len() {
            let name = &long[..length];
            assert!(eq(name, name) && eq(name, &name.to_ascii_uppercase()), "{length}");
            for at in 0..length {
                let mut other = name.to_vec();
                other[at] = b'#';
                assert!(!eq(name, &other), "{length} {at}");
            }
        }
        assert_eq!(cmp(b"Job", b"jobu"), Ordering::Less);
        assert_eq!(cmp(b"a_", b"aB"), Ordering::Less);
        assert!(starts_with(b"SLOT_TYPE_1", b"slot_"));
    }
}
