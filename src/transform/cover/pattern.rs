//! Texts that a regular expression matches, and texts that it only just does not.
//!
//! The pattern is read with the `regex-syntax` crate, whose language is nearly PCRE's; what is PCRE's alone is written as the
//! nearest thing. That may be wrong: whoever takes the texts evaluates the condition on each.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// So many texts are made of one pattern.
const MOST: usize = 160;
/// A part is repeated no more often than this.
const MOST_TIMES: usize = 300;

/// Texts made from a pattern: first those that it is meant to match, each with one part another way, then those with something
/// more, less or other than that.
pub(super) fn texts(pattern: &[u8]) -> Vec<Vec<u8>> {
    let Ok(pattern) = std::str::from_utf8(pattern) else { return Vec::new() };
    let parse = |text: &str| ParserBuilder::new().unicode(false).utf8(false).build().parse(text).ok();
    let Some(hir) = parse(pattern).or_else(|| parse(&plainer(pattern))) else { return Vec::new() };
    let mut made = ways(&hir);
    made.truncate(MOST);
    let around: Vec<Vec<u8>> = made.iter().take(4).flat_map(|text| near(text)).collect();
    made.extend(around);
    made
}

/// A text with one character more, less or other, and in the other case.
pub(super) fn near(text: &[u8]) -> Vec<Vec<u8>> {
    let mut made = vec![
        [text, b"x"].concat(),
        [b"x", text].concat(),
        [b"x", text, b"x"].concat(),
        text.iter().map(|&byte| other_case(byte)).collect(),
    ];
    let places = (0..text.len()).step_by((text.len() / 12).max(1));
    for at in places.chain(text.len().checked_sub(1)) {
        let mut other = text.to_vec();
        other[at] = if other[at] == b'~' { b'}' } else { b'~' };
        made.push(other);
        made.push([&text[..at], &text[at + 1..]].concat());
    }
    made
}

fn other_case(byte: u8) -> u8 {
    if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
}

/// The usual text of a part, and then the others with one thing changed in each.
fn ways(hir: &Hir) -> Vec<Vec<u8>> {
    let mut made = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![Vec::new()],
        HirKind::Literal(literal) => vec![literal.0.to_vec()],
        HirKind::Class(class) => characters(class),
        HirKind::Capture(capture) => ways(&capture.sub),
        HirKind::Alternation(parts) => {
            let all: Vec<Vec<Vec<u8>>> = parts.iter().map(ways).collect();
            let first = all.iter().filter_map(|part| part.first().cloned());
            first.chain(all.iter().flat_map(|part| part.iter().skip(1).cloned())).collect()
        }
        HirKind::Repetition(repetition) => {
            let (least, most) = (repetition.min as usize, repetition.max.map(|most| most as usize));
            let once = ways(&repetition.sub);
            let usual = least.max(usize::from(most != Some(0)));
            let times = |part: &[u8], times: usize| part.repeat(times.min(MOST_TIMES));
            let first = once.first().cloned().unwrap_or_default();
            let mut made = vec![times(&first, usual)];
            let counts = [Some(least), least.checked_sub(1), most, most.map(|most| most.saturating_add(1))];
            made.extend(counts.into_iter().flatten().map(|count| times(&first, count)));
            // One of the repeated parts another way.
            made.extend(
                once.iter().skip(1).map(|part| [part, &times(&first, usual.max(1) - 1)[..]].concat()),
            );
            made
        }
        HirKind::Concat(parts) => {
            let all: Vec<Vec<Vec<u8>>> = parts.iter().map(ways).collect();
            let usual: Vec<&[u8]> =
                all.iter().map(|part| part.first().map_or(&b""[..], Vec::as_slice)).collect();
            let mut made = vec![usual.concat()];
            for (at, part) in all.iter().enumerate() {
                made.extend(part.iter().skip(1).map(|other| {
                    let mut texts = usual.clone();
                    texts[at] = other;
                    texts.concat()
                }));
            }
            made
        }
    };
    made.truncate(MOST);
    made
}

/// Of a class: a letter or digit if it has one, then the ends of its ranges and what stands beside them.
fn characters(class: &Class) -> Vec<Vec<u8>> {
    let ranges: Vec<(u8, u8)> = match class {
        Class::Bytes(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Unicode(class) => {
            let byte = |c: char| u8::try_from(u32::from(c)).unwrap_or(0x7f).min(0x7f);
            class.iter().map(|range| (byte(range.start()), byte(range.end()))).collect()
        }
    };
    let is_in = |byte: u8| ranges.iter().any(|&(from, to)| (from..=to).contains(&byte));
    let usual =
        (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9').chain(b' '..=b'~').find(|&byte| is_in(byte));
    let mut bytes: Vec<u8> = usual.into_iter().collect();
    for &(from, to) in ranges.iter().take(8) {
        bytes.extend([from, to].into_iter().filter(|byte| (b' '..=b'~').contains(byte)));
        bytes.extend(
            [from.wrapping_sub(1), to.wrapping_add(1)].into_iter().filter(|b| (b' '..=b'~').contains(b)),
        );
    }
    bytes.dedup();
    bytes.into_iter().map(|byte| vec![byte]).collect()
}

/// The pattern without what the crate does not know: what is looked for ahead or behind becomes a part that may be there,
/// references back are left out, and nothing is possessive.
fn plainer(pattern: &str) -> String {
    let mut out = String::new();
    // Of each group that is open whether it is one that may be there.
    let mut groups: Vec<bool> = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let ahead = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|mark| rest.starts_with(mark));
        if let Some(mark) = ahead {
            groups.push(true);
            out.push_str("(?:");
            length = mark.len();
        } else if rest.starts_with("(?>") {
            groups.push(false);
            out.push_str("(?:");
            length = 3;
        } else if first == '\\' {
            let next = rest[1..].chars().next().unwrap_or('\\');
            length = 1 + next.len_utf8().min(rest.len() - 1);
            match next {
                '1'..='9' | 'K' | 'G' => {}
                'Z' => out.push_str("\\z"),
                'h' => out.push_str("[ \\t]"),
                'R' => out.push_str("\\n"),
                _ => out.push_str(&rest[..length]),
            }
        } else {
            match first {
                '(' => groups.push(false),
                '+' if out.ends_with(['+', '*', '?', '}']) && !out.ends_with("\\+") => {
                    rest = &rest[1..];
                    continue;
                }
                _ => {}
            }
            out.push(first);
            if first == ')' && groups.pop() == Some(true) {
                out.push('?');
            }
        }
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pattern: &str) -> Vec<String> {
        texts(pattern.as_bytes()).into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn texts_of_a_pattern_are_matched_by_it_and_others_only_just_not() {
        for (pattern, expected) in [
            ("^usatlas", &["usatlas", "xusatlas", "usatlasx", "USATLAS"][..]),
            ("^us(atlas|cms)[0-9]{2,3}$", &["usatlas00", "uscms00", "usatlas0", "usatlas000", "usatlas0000"]),
            ("/Role=(pilot|production)", &["/Role=pilot", "/Role=production"]),
            ("[a-m]1?", &["a1", "m1", "n1", "a"]),
            (r"^(?!root)\w+$", &["roota", "a"]),
            (r"^a++b\Z", &["ab"]),
            (r"\.edu$", &[".edu", "x.edu", ".edux"]),
        ] {
            let made = made(pattern);
            for text in expected {
                assert!(made.iter().any(|other| other == text), "{text} of {pattern}: {made:?}");
            }
        }
        assert!(made("(").is_empty());
    }
}
