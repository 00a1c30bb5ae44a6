//! Texts that match a regular expression, and texts that nearly match.
//!
//! The pattern is parsed with the `regex-syntax` crate, whose syntax is similar to PCRE's; features that only
//! PCRE has are approximated. The result may be wrong, so callers evaluate the condition for each text.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum number of texts for one pattern.
const MAX_TEXTS: usize = 160;
/// Maximum length of a text, in bytes; PCRE2 does not accept patterns with more repetitions.
const MAX_TEXT_BYTES: usize = 1 << 16;
/// Maximum total size of the texts for one pattern, in bytes.
const MAX_TOTAL_BYTES: usize = 1 << 22;

/// Generates texts from a pattern: first matching ones that vary one part each, then near misses.
pub(super) fn generate_texts(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut generated = generate_varied_matches(pattern);
    let near: Vec<Vec<u8>> = generated
        .iter()
        .take(4)
        .filter(|text| text.len() <= 4096)
        .flat_map(|text| near_misses(text))
        .collect();
    generated.extend(near);
    generated
}

/// Generates a few matching texts.
pub(super) fn generate_matching_texts(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut generated = generate_varied_matches(pattern);
    generated.truncate(4);
    generated
}

fn generate_varied_matches(pattern: &[u8]) -> Vec<Vec<u8>> {
    parse_pattern(pattern, ParserBuilder::new())
        .map(|hir| TextGenerator { bytes_left: MAX_TOTAL_BYTES }.texts_for(&hir).texts)
        .unwrap_or_default()
}

/// Parses a pattern, or the nearest pattern that the crate accepts; returns `None` if there is none.
pub(super) fn parse_pattern(pattern: &[u8], mut options: ParserBuilder) -> Option<Hir> {
    let pattern = std::str::from_utf8(pattern).ok()?;
    options.unicode(false).utf8(false);
    let parse = |text: &str| options.build().parse(text).ok();
    parse(pattern).or_else(|| parse(&simplify_pattern(pattern)))
}

/// Texts of a part, limited in number and length.
#[derive(Default)]
struct BoundedTexts {
    texts: Vec<Vec<u8>>,
}

impl BoundedTexts {
    fn is_full(&self) -> bool {
        self.texts.len() >= MAX_TEXTS
    }

    fn first_text(&self) -> &[u8] {
        self.texts.first().map_or(b"", Vec::as_slice)
    }
}

/// Generator of texts from a pattern.
struct TextGenerator {
    /// Number of bytes that may still be generated.
    bytes_left: usize,
}

impl TextGenerator {
    fn push_parts(&mut self, generated: &mut BoundedTexts, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if !generated.is_full() && length <= MAX_TEXT_BYTES && length <= self.bytes_left {
            self.bytes_left -= length;
            generated.texts.push(parts.concat());
        }
    }

    /// Adds a text that repeats a part, after another part.
    fn push_repeated(&mut self, generated: &mut BoundedTexts, before: &[u8], part: &[u8], times: usize) {
        if before.len() + part.len().saturating_mul(times) <= MAX_TEXT_BYTES {
            self.push_parts(generated, &[before, &part.repeat(times)]);
        }
    }

    /// Returns the usual text of a part and then its variants, which differ in one place each.
    fn texts_for(&mut self, hir: &Hir) -> BoundedTexts {
        let mut generated = BoundedTexts::default();
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => self.push_parts(&mut generated, &[]),
            HirKind::Literal(literal) => self.push_parts(&mut generated, &[&literal.0]),
            HirKind::Class(class) => {
                class_characters(class).iter().for_each(|text| self.push_parts(&mut generated, &[text]))
            }
            HirKind::Capture(capture) => return self.texts_for(&capture.sub),
            HirKind::Alternation(parts) => {
                let all: Vec<BoundedTexts> = parts.iter().map(|part| self.texts_for(part)).collect();
                let first = all.iter().filter_map(|part| part.texts.first());
                let texts = first.chain(all.iter().flat_map(|part| part.texts.iter().skip(1)));
                texts.take(MAX_TEXTS).for_each(|text| self.push_parts(&mut generated, &[text]));
            }
            HirKind::Repetition(repetition) => {
                let (min, max) = (repetition.min as usize, repetition.max.map(|max| max as usize));
                let single = self.texts_for(&repetition.sub);
                let usual = min.max(usize::from(max != Some(0)));
                let counts =
                    [Some(usual), Some(min), min.checked_sub(1), max, max.map(|max| max.saturating_add(1))];
                for count in counts.into_iter().flatten() {
                    self.push_repeated(&mut generated, b"", single.first_text(), count);
                }
                // Vary one of the repeated parts.
                for part in single.texts.iter().skip(1) {
                    self.push_repeated(&mut generated, part, single.first_text(), usual.max(1) - 1);
                }
            }
            HirKind::Concat(parts) => self.push_concatenations(parts, &mut generated),
        }
        generated
    }

    fn push_concatenations(&mut self, parts: &[Hir], generated: &mut BoundedTexts) {
        let all: Vec<BoundedTexts> = parts.iter().map(|part| self.texts_for(part)).collect();
        let usual: Vec<&[u8]> = all.iter().map(BoundedTexts::first_text).collect();
        self.push_parts(generated, &usual);
        for (at, part) in all.iter().enumerate() {
            for other in part.texts.iter().skip(1) {
                if generated.is_full() {
                    return;
                }
                let mut texts = usual.clone();
                texts[at] = other;
                self.push_parts(generated, &texts);
            }
        }
    }
}

/// Returns variants of a text with one character added, removed or changed, and with the case swapped.
pub(super) fn near_misses(text: &[u8]) -> Vec<Vec<u8>> {
    let mut generated = vec![
        [text, b"x"].concat(),
        [b"x", text].concat(),
        [b"x", text, b"x"].concat(),
        text.iter().map(|&byte| swap_case(byte)).collect(),
    ];
    let places = (0..text.len()).step_by((text.len() / 12).max(1));
    for at in places.chain(text.len().checked_sub(1)) {
        let mut other = text.to_vec();
        other[at] = if other[at] == b'~' { b'}' } else { b'~' };
        generated.push(other);
        generated.push([&text[..at], &text[at + 1..]].concat());
    }
    generated
}

fn swap_case(byte: u8) -> u8 {
    if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
}

/// Returns characters of a class: a letter or digit if it contains one, then the ends of its ranges and the
/// characters next to them.
fn class_characters(class: &Class) -> Vec<Vec<u8>> {
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

/// Rewrites a pattern without the features that the crate lacks: lookaround becomes an optional part, back
/// references are removed, and possessive quantifiers become normal ones.
fn simplify_pattern(pattern: &str) -> String {
    let mut out = String::new();
    // True for each open group that becomes optional.
    let mut groups: Vec<bool> = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let lookaround = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|mark| rest.starts_with(mark));
        if let Some(mark) = lookaround {
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

    fn texts_of(pattern: &str) -> Vec<String> {
        generate_texts(pattern.as_bytes()).into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn texts_of_a_pattern_match_and_their_variants_do_not() {
        for (pattern, expected) in [
            ("^usatlas", &["usatlas", "xusatlas", "usatlasx", "USATLAS"][..]),
            ("^us(atlas|cms)[0-9]{2,3}$", &["usatlas00", "uscms00", "usatlas0", "usatlas000", "usatlas0000"]),
            ("/Role=(pilot|production)", &["/Role=pilot", "/Role=production"]),
            ("[a-m]1?", &["a1", "m1", "n1", "a"]),
            (r"^(?!root)\w+$", &["roota", "a"]),
            (r"^a++b\Z", &["ab"]),
            (r"\.edu$", &[".edu", "x.edu", ".edux"]),
        ] {
            let texts = texts_of(pattern);
            for text in expected {
                assert!(texts.iter().any(|other| other == text), "{text} of {pattern}: {texts:?}");
            }
        }
        assert!(texts_of("(").is_empty());
    }
}
