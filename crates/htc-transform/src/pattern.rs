//! `/regex/flags` over attribute names and the templates of new names (`DoRegexAttrOp`, `append_substituted_regex`).

use bstr::{BString, ByteSlice};

use super::command::Pattern;
use super::memo::{Groups, Memo, Pairs};
use htc_classad::ClassAd;
use htc_classad::regex::{MatchError, Options, PatternError, Regex};

/// Compiles a pattern of COPY, RENAME or DELETE: always without regard to case.
pub fn compile(pattern: &Pattern) -> Result<Regex, PatternError> {
    let mut options = Options::CASELESS;
    if pattern.anchored {
        options = options.with(Options::ANCHORED);
    }
    if pattern.multi_line {
        options = options.with(Options::MULTILINE);
    }
    if pattern.ungreedy {
        options = options.with(Options::UNGREEDY);
    }
    Regex::compile(&pattern.regex, options)
}

/// The attributes of the ad itself that match, with their new names, in byte order of their spelling. Matching comes before
/// any change. A name on which the match is given up does not match and is shown to `given_up`.
pub(super) fn matching(
    ad: &ClassAd,
    regex: &Regex,
    template: &[u8],
    memo: &Memo,
    mut given_up: impl FnMut(&[u8], MatchError),
) -> Pairs {
    if let Some(pairs) = memo.selected(ad, template) {
        return pairs;
    }
    let mut is_whole = true;
    let mut found: Vec<(BString, BString)> = ad
        .names()
        .filter_map(|name| {
            let groups = match memo.matches(regex, name.as_bytes()) {
                Ok(groups) => groups?,
                Err(error) => {
                    is_whole = false;
                    given_up(name.as_bytes(), error);
                    return None;
                }
            };
            Some((name.into(), substitute(template, name.as_bytes(), &groups)))
        })
        .collect();
    found.sort();
    let pairs = Pairs::from(found);
    if is_whole {
        memo.keep_selected(ad, template, &pairs);
    }
    pairs
}

/// The template with `\0` to `\9` replaced. A number beyond the last group that took part in the match stays as text; a group
/// before it that took no part is empty.
fn substitute(template: &[u8], name: &[u8], groups: &Groups) -> BString {
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

/// Whether a name may be given to an attribute by COPY and RENAME.
pub fn is_attribute_name(name: &[u8]) -> bool {
    let first = name.first().is_some_and(|&b| b.is_ascii_alphabetic() || b == b'_');
    // Without an exit in between it is a matter of a few vectors.
    first && name.iter().fold(true, |valid, &b| valid & (b.is_ascii_alphanumeric() | (b == b'_')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substituted(regex: &str, template: &str, name: &str) -> String {
        let regex = Regex::compile(regex.as_bytes(), Options::CASELESS).unwrap();
        let groups = Memo::default().matches(&regex, name.as_bytes()).unwrap().unwrap();
        substitute(template.as_bytes(), name.as_bytes(), &groups).to_string()
    }

    #[test]
    fn only_groups_up_to_the_last_set_one_are_replaced() {
        assert_eq!(substituted("a(x)?(B)c", "\\0-\\1-\\2-\\3", "abc"), "abc--b-\\3");
        assert_eq!(substituted("abc(x)?", "\\1x", "abc"), "\\1x");
        assert_eq!(substituted("abc", "\\\\0", "abc"), "\\abc");
        assert_eq!(substituted("abc", "a\\", "abc"), "a\\");
    }

    #[test]
    fn ads_of_the_same_names_are_looked_at_once_and_others_anew() {
        let regex = Regex::compile(b"^Request(.+)$", Options::CASELESS).unwrap();
        let memo = Memo::default();
        let selected = |lines: &[&str], template: &str| {
            let mut ad = ClassAd::new();
            lines.iter().for_each(|line| drop(ad.insert_line(line.as_bytes()).unwrap()));
            let pairs = matching(&ad, &regex, template.as_bytes(), &memo, |_, _| unreachable!());
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
