//! Patterns `/regex/flags` for attribute names, and templates for new names (`DoRegexAttrOp`,
//! `append_substituted_regex`).

use bstr::{BString, ByteSlice};

use super::command::AttributePattern;
use super::step_memo::{MatchGroups, RenamePairs, StepMemo};
use htc_classad::ClassAd;
use htc_classad::regex::{MatchError, PatternError, Regex, RegexOptions};

/// Compiles a pattern of COPY, RENAME or DELETE, which always ignores case.
pub fn compile_pattern(pattern: &AttributePattern) -> Result<Regex, PatternError> {
    let mut options = RegexOptions::CASELESS;
    if pattern.anchored {
        options = options.union(RegexOptions::ANCHORED);
    }
    if pattern.multi_line {
        options = options.union(RegexOptions::MULTILINE);
    }
    if pattern.ungreedy {
        options = options.union(RegexOptions::UNGREEDY);
    }
    Regex::compile(&pattern.regex, options)
}

/// Returns the matching attributes of the ad itself (not of its chained parent) with their new names, in byte order.
/// Matches all names before any attribute changes. A name whose match is aborted is treated as not matching and is
/// passed to `on_abort`.
pub(super) fn matching_attributes(
    ad: &ClassAd,
    regex: &Regex,
    template: &[u8],
    memo: &StepMemo,
    mut on_abort: impl FnMut(&[u8], MatchError),
) -> RenamePairs {
    if let Some(pairs) = memo.cached_selection(ad, template) {
        return pairs;
    }
    let mut is_whole = true;
    let mut found: Vec<(BString, BString)> = ad
        .names()
        .filter_map(|name| {
            let groups = match memo.match_name(regex, name.as_bytes()) {
                Ok(groups) => groups?,
                Err(error) => {
                    is_whole = false;
                    on_abort(name.as_bytes(), error);
                    return None;
                }
            };
            Some((name.into(), substitute_groups(template, name.as_bytes(), &groups)))
        })
        .collect();
    found.sort();
    let pairs = RenamePairs::from(found);
    if is_whole {
        memo.cache_selection(ad, template, &pairs);
    }
    pairs
}

/// Replaces `\0` to `\9` in the template by the groups of the match. A number greater than that of the last group in
/// the match remains as text; a smaller number whose group is not part of the match is replaced by nothing.
fn substitute_groups(template: &[u8], name: &[u8], groups: &MatchGroups) -> BString {
    let mut text = BString::from(Vec::with_capacity(template.len() + name.len()));
    let mut at = 0;
    while at < template.len() {
        let digit = template.get(at + 1).filter(|b| b.is_ascii_digit()).map(|b| usize::from(b - b'0'));
        match digit.and_then(|digit| groups.get(digit)) {
            Some(group) if template[at] == b'\\' => {
                text.extend_from_slice(&name[group.clone()]);
                at += 2;
            }
            _ => {
                text.push(template[at]);
                at += 1;
            }
        }
    }
    text
}

/// Returns true if COPY and RENAME accept the name as a new attribute name.
pub fn is_attribute_name(name: &[u8]) -> bool {
    let first = name.first().is_some_and(|&b| b.is_ascii_alphabetic() || b == b'_');
    // An early exit would prevent the compiler from vectorizing the loop.
    first && name.iter().fold(true, |valid, &b| valid & (b.is_ascii_alphanumeric() | (b == b'_')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substituted(regex: &str, template: &str, name: &str) -> String {
        let regex = Regex::compile(regex.as_bytes(), RegexOptions::CASELESS).unwrap();
        let groups = StepMemo::default().match_name(&regex, name.as_bytes()).unwrap().unwrap();
        substitute_groups(template.as_bytes(), name.as_bytes(), &groups).to_string()
    }

    #[test]
    fn only_groups_up_to_the_last_set_one_are_replaced() {
        assert_eq!(substituted("a(x)?(B)c", "\\0-\\1-\\2-\\3", "abc"), "abc--b-\\3");
        assert_eq!(substituted("abc(x)?", "\\1x", "abc"), "\\1x");
        assert_eq!(substituted("abc", "\\\\0", "abc"), "\\abc");
        assert_eq!(substituted("abc", "a\\", "abc"), "a\\");
    }

    #[test]
    fn the_selection_is_cached_for_ads_with_the_same_names() {
        let regex = Regex::compile(b"^Request(.+)$", RegexOptions::CASELESS).unwrap();
        let memo = StepMemo::default();
        let selected = |lines: &[&str], template: &str| {
            let mut ad = ClassAd::new();
            lines.iter().for_each(|line| drop(ad.insert_line(line.as_bytes()).unwrap()));
            let pairs = matching_attributes(&ad, &regex, template.as_bytes(), &memo, |_, _| unreachable!());
            pairs.iter().map(|(name, new)| format!("{name}>{new}")).collect::<Vec<_>>().join(" ")
        };
        for _ in 0..2 {
            assert_eq!(selected(&["RequestA = 1", "B = 2"], "\\1"), "RequestA>A");
            assert_eq!(selected(&["requestA = 1", "B = 2"], "\\1"), "requestA>A");
            assert_eq!(selected(&["RequestA = 1", "RequestC = 2"], "\\1"), "RequestA>A RequestC>C");
            assert_eq!(selected(&["RequestA = 1", "B = 2"], "X\\1"), "RequestA>XA");
            assert_eq!(selected(&["Request = 1", "AB = 2"], "\\1"), "");
        }
    }

    #[test]
    fn names_are_letters_digits_and_underscores() {
        assert!(is_attribute_name(b"_a1"));
        assert!(!is_attribute_name(b"1a") && !is_attribute_name(b"") && !is_attribute_name(b"a.b"));
    }
}
