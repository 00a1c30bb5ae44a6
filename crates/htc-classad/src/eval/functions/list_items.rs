//! Splitting of string lists into items (reference: StringTokenIterator of stl_string_utils.cpp, split_string_list of
//! fnCall.cpp).

use crate::text::space::{is_space, trim};

/// Default separators of functions that count or summarize the items of a list.
pub(crate) const BLANK_COMMA: &[u8] = b", ";
/// Default separators of functions that test whether a list contains an item.
pub(crate) const WHITE_COMMA: &[u8] = b", \t\r\n";

/// Returns the items of a list. White space around items is removed even if it is not a separator; empty items are
/// skipped.
pub(crate) fn trimmed_items<'a>(list: &'a [u8], separators: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    list.split(|byte| separators.contains(byte)).map(trim).filter(|item| !item.is_empty())
}

/// Returns the items of a list without removing white space, as `stringListsIntersect` of the ClassAd library does.
pub(crate) fn raw_items<'a>(list: &'a [u8], separators: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    list.split(|byte| separators.contains(byte)).filter(|item| !item.is_empty())
}

/// Splits a text as `split()` does (compat_classad.cpp, splitArb_func). An empty item is kept only between two equal
/// separators that are not white space, so `a, b` has two items and `a,,b` three.
pub(crate) fn split_items<'a>(text: &'a [u8], separators: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut last_separator = None;
    for (at, byte) in text.iter().enumerate().filter(|(_, byte)| separators.contains(byte)) {
        if at > start {
            pieces.push(&text[start..at]);
        } else if last_separator == Some(*byte) {
            pieces.push(&[][..]);
        }
        if !is_space(*byte) {
            last_separator = Some(*byte);
        }
        start = at + 1;
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_keeps_empty_pieces_between_equal_separators() {
        let split =
            |text: &'static str, separators: &str| split_items(text.as_bytes(), separators.as_bytes());
        let words = |words: &[&'static str]| words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>();
        assert_eq!(split("a, b ,c", ", \t"), words(&["a", "b", "", "c"]));
        assert_eq!(split("a,,b", ", \t"), words(&["a", "", "b"]));
        assert_eq!(split(",a,", ", \t"), words(&["a"]));
        assert_eq!(split(";;a", ";"), words(&["", "a"]));
        assert_eq!(split("a b", ""), words(&["a b"]));
        assert_eq!(split("", ""), words(&[]));
    }

    #[test]
    fn items_are_trimmed_for_all_separators() {
        let items: Vec<_> = trimmed_items(b" a b ;; c\t", b";").collect();
        assert_eq!(items, [&b"a b"[..], b"c"]);
    }
}
