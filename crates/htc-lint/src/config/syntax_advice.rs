//! Parts of expressions that are not valid: operators of other languages, numbers with a unit, typographic quotes.

use std::ops::Range;

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::caseless;
use htc_classad::{Dialect, Expr, ParseError};
use htc_config::Advice;

use super::attribute_facts::{AttributeUnit, find_facts};
use super::units::{SIZE_WORDS, TIME_WORDS, Unit, find_word};

/// Advice about a part of an expression that is not valid.
pub(crate) struct SyntaxAdvice {
    /// Place of the invalid part in the expression.
    pub(crate) place: Range<usize>,
    pub(crate) fix: Advice,
    /// The expression with all its invalid parts replaced, or `None` if a replacement is not certain or the result is
    /// still not valid.
    pub(crate) corrected: Option<BString>,
}

impl SyntaxAdvice {
    /// Returns the smallest part of the expression that the correction changes, and its new text.
    pub(crate) fn smallest_change(&self, value: &[u8]) -> Option<(Range<usize>, BString)> {
        let new = self.corrected.as_deref()?;
        // One part is replaced as a whole.
        if let Advice::Write(text) = &self.fix {
            let (before, after) = (&value[..self.place.start], &value[self.place.end..]);
            if [before, text, after].concat()[..] == new[..] {
                return Some((self.place.clone(), text.clone()));
            }
        }
        let start = value.iter().zip(new).take_while(|(old, new)| old == new).count();
        let ends = (value[start..].iter().rev(), new[start..].iter().rev());
        let same = ends.0.zip(ends.1).take_while(|(old, new)| old == new).count();
        Some((start..value.len() - same, new[start..new.len() - same].into()))
    }
}

/// Returns advice about the place at which the parser stopped. `unit` is the unit of the parameter.
pub(crate) fn advise_syntax(
    value: &[u8],
    error: &ParseError,
    unit: Option<Unit>,
    dialect: Dialect,
) -> Option<SyntaxAdvice> {
    let InvalidPart { place, advice } = find_invalid_part(value, error, unit)?;
    let is_certain = !matches!(advice, PartAdvice::Words(_));
    let fix = match advice {
        PartAdvice::Write(text) => Advice::Write(text.into()),
        PartAdvice::Remove(words) => Advice::Text(words.to_owned()),
        PartAdvice::Words(words) => Advice::Text(words),
    };
    let corrected = is_certain.then(|| correct(value, unit, dialect)).flatten();
    Some(SyntaxAdvice { place, fix, corrected })
}

/// Returns the expression with all its invalid parts replaced, or `None` if a replacement is not certain or the result
/// is not valid.
fn correct(value: &[u8], unit: Option<Unit>, dialect: Dialect) -> Option<BString> {
    const MAX_PARTS: usize = 40;
    let mut text = BString::from(value);
    for _ in 0..MAX_PARTS {
        let error = match Expr::parse_with(&text, dialect) {
            Ok(_) => return Some(text),
            Err(error) => error,
        };
        let InvalidPart { place, advice } = find_invalid_part(&text, &error, unit)?;
        let new = match advice {
            PartAdvice::Write(new) => new,
            PartAdvice::Remove(_) => "",
            PartAdvice::Words(_) => return None,
        };
        text.splice(place, new.bytes());
    }
    None
}

/// Invalid part of an expression, and its correction.
struct InvalidPart {
    place: Range<usize>,
    advice: PartAdvice,
}

enum PartAdvice {
    /// Replace the part by this text.
    Write(&'static str),
    /// Remove the part. The words are the advice for the user.
    Remove(&'static str),
    /// Advice for the user; the correction is not certain.
    Words(String),
}

fn find_invalid_part(value: &[u8], error: &ParseError, unit: Option<Unit>) -> Option<InvalidPart> {
    let at = error.span.start as usize;
    find_second_equals(value, at)
        .or_else(|| find_operator(value, at))
        .or_else(|| find_word_operator(value, at))
        .or_else(|| find_negation(value, at))
        .or_else(|| find_percentage(value, at))
        .or_else(|| find_unit(value, at, unit))
        .or_else(|| find_sign(value, at))
}

/// Finds the second `=` of `NAME == value` and `NAME = = value`.
fn find_second_equals(value: &[u8], at: usize) -> Option<InvalidPart> {
    let length = value.iter().take_while(|byte| **byte == b'=' || byte.is_ascii_whitespace()).count();
    let is_start = value.starts_with(b"=") && at < length;
    let is_operator = value.get(length).is_none_or(|byte| b"<>!?~&|".contains(byte));
    (is_start && !is_operator)
        .then_some(InvalidPart { place: 0..length, advice: PartAdvice::Remove("write one '='") })
}

/// Finds one or more characters that are an operator of another language.
fn find_operator(value: &[u8], at: usize) -> Option<InvalidPart> {
    let is_sign = |byte: &u8| b"=<>!~?".contains(byte);
    if !value.get(at).is_some_and(is_sign) {
        return None;
    }
    let start = at - value[..at].iter().rev().take_while(|byte| is_sign(byte)).count();
    let mut end = at + value[at..].iter().take_while(|byte| is_sign(byte)).count();
    // `= =` is one operator that was separated.
    let blanks = value[end..].iter().take_while(|byte| **byte == b' ').count();
    if &value[start..end] == b"=" && value[end + blanks..].starts_with(b"=") && blanks > 0 {
        end += blanks + value[end + blanks..].iter().take_while(|byte| is_sign(byte)).count();
    }
    let place = start..end;
    let write =
        |text: &'static str| Some(InvalidPart { place: place.clone(), advice: PartAdvice::Write(text) });
    let before = value[..start].trim_end();
    let follows_word = |word: &[u8]| before.fields().last().is_some_and(|last| caseless::eq(last, word));
    let signs: Vec<u8> = value[place.clone()].iter().copied().filter(|byte| *byte != b' ').collect();
    match &signs[..] {
        b"=" if follows_word(b"is") || follows_word(b"isnt") => {
            let blanks = value[end..].iter().take_while(|byte| **byte == b' ').count();
            let place = before.len()..end + blanks.saturating_sub(1);
            Some(InvalidPart { place, advice: PartAdvice::Remove("write 'is' without '='") })
        }
        b"=" | b"===" | b"==" => write("=="),
        b"!==" | b"<>" => write("!="),
        b"=!" if value.get(end).is_some_and(|next| b" \"".contains(next)) => write("!="),
        b"=!" => Some(InvalidPart {
            place,
            advice: PartAdvice::Words("write '!=', or '== !' with a space between them".to_owned()),
        }),
        b"=>" => write(">="),
        b"=<" => write("<="),
        b"=?==" | b"==?=" => write("=?="),
        b"=!==" | b"==!=" => write("=!="),
        b"=~" | b"~=" | b"!~" => {
            let call = regexp_call(before, &value[end..]);
            let not = if signs == b"!~" { "!" } else { "" };
            Some(InvalidPart { place, advice: PartAdvice::Words(format!("write {not}{call}")) })
        }
        _ => None,
    }
}

/// Returns the call of `regexp` for an operand and a pattern between slashes or quotes.
fn regexp_call(before: &[u8], after: &[u8]) -> String {
    let after = after.trim_start();
    let quote = after.first().copied().filter(|byte| b"/\"'".contains(byte));
    let pattern = quote.and_then(|quote| after[1..].split(|byte| *byte == quote).next());
    let operand = last_name(before);
    match pattern {
        Some(pattern) if !operand.is_empty() => {
            format!("regexp(\"{}\", {})", BStr::new(pattern), BStr::new(operand))
        }
        _ => "regexp(\"pattern\", attribute)".to_owned(),
    }
}

/// Returns the name at the end of a text, with its scope, or nothing.
fn last_name(text: &[u8]) -> &[u8] {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.".contains(byte);
    let length = text.iter().rev().take_while(is_part).count();
    &text[text.len() - length..]
}

/// Returns the word at a position.
fn word_at(value: &[u8], at: usize) -> &[u8] {
    let rest = value.get(at..).unwrap_or_default();
    &rest[..rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()]
}

/// Finds a word that is an operator of another language.
fn find_word_operator(value: &[u8], at: usize) -> Option<InvalidPart> {
    const OPERATORS: [(&str, &str); 8] = [
        ("and", "&&"),
        ("or", "||"),
        ("eq", "=="),
        ("ne", "!="),
        ("ge", ">="),
        ("le", "<="),
        ("gt", ">"),
        ("lt", "<"),
    ];
    let word = word_at(value, at);
    let place = at..at + word.len();
    if let Some((_, operator)) = OPERATORS.iter().find(|(known, _)| caseless::eq(known.as_bytes(), word)) {
        return Some(InvalidPart { place, advice: PartAdvice::Write(operator) });
    }
    let (before, after) = (value[..at].trim_end(), value[place.end..].trim_start());
    let words = match &word.to_ascii_lowercase()[..] {
        b"in" => member_call(before, after),
        b"like" | b"matches" | b"rlike" => format!("write {}", regexp_call(before, after)),
        _ => return None,
    };
    Some(InvalidPart { place, advice: PartAdvice::Words(words) })
}

/// Returns advice about `attribute in list`.
fn member_call(before: &[u8], after: &[u8]) -> String {
    let operand = last_name(before);
    let operand = if operand.is_empty() { BStr::new("attribute") } else { BStr::new(operand) };
    let list = match after.first() {
        Some(b'{') => after.split_once_str("}").map(|(list, _)| &list[1..]),
        Some(b'(') => after.split_once_str(")").map(|(list, _)| &list[1..]),
        _ => None,
    };
    match (list, after.first()) {
        (Some(list), _) => format!("write member({operand}, {{{}}})", BStr::new(list)),
        (None, Some(b'"')) => {
            let text = after[1..].split(|byte| *byte == b'"').next().unwrap_or_default();
            format!("write stringListMember({operand}, \"{}\")", BStr::new(text))
        }
        _ => format!("write member({operand}, {{\"a\", \"b\"}})"),
    }
}

/// Finds `is not` and `not` before the place at which the parser stopped.
fn find_negation(value: &[u8], at: usize) -> Option<InvalidPart> {
    let before = value.get(..at)?.trim_end();
    let name = last_name(before);
    if !caseless::eq(name, b"not") {
        return None;
    }
    let start = before.len() - name.len();
    let earlier = value[..start].trim_end();
    if caseless::eq(last_name(earlier), b"is") {
        let place = earlier.len() - 2..before.len();
        return Some(InvalidPart { place, advice: PartAdvice::Write("isnt") });
    }
    let advice = PartAdvice::Words("write ! instead of not".to_owned());
    Some(InvalidPart { place: start..before.len(), advice })
}

/// Finds a percentage before the place at which the parser stopped.
fn find_percentage(value: &[u8], at: usize) -> Option<InvalidPart> {
    let end = value.get(..at)?.trim_end().len();
    let number = value[..end].strip_suffix(b"%")?;
    let is_digit = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let start = number.len() - number.iter().rev().take_while(is_digit).count();
    let percent: f64 = number[start..].to_str().ok()?.parse().ok()?;
    let advice = format!("write {}: % is the remainder of a division", percent / 100.0);
    Some(InvalidPart { place: start..end, advice: PartAdvice::Words(advice) })
}

/// Finds a unit directly after a number, and a time of day.
fn find_unit(value: &[u8], at: usize, unit: Option<Unit>) -> Option<InvalidPart> {
    let before = value.get(..at)?.trim_end();
    let is_digit = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let length = before.iter().rev().take_while(is_digit).count();
    let (rest, number) = before.split_at(before.len() - length);
    if number.is_empty() {
        return None;
    }
    let attribute = last_name(rest.trim_end_with(|c| "<>=!? ".contains(c)));
    let attribute = attribute.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let attribute_unit = find_facts(attribute).and_then(|facts| facts.unit);
    let unit_of_name = attribute_unit.and_then(unit_of_attribute);
    if value.get(at) == Some(&b':') && attribute_unit == Some(AttributeUnit::MinuteOfDay) {
        let minutes = word_at(value, at + 1);
        let words = format!("write {} * 60 + {}", BStr::new(number), minutes.as_bstr());
        let end = at + 1 + minutes.len();
        return Some(InvalidPart { place: rest.len()..end, advice: PartAdvice::Words(words) });
    }
    let word = word_at(value, at);
    let place = rest.len()..at + word.len();
    let named = if attribute.is_empty() { unit } else { unit_of_name };
    let guessed = || {
        let is = |words: &[(&str, f64)]| words.iter().any(|(known, _)| caseless::eq(known.as_bytes(), word));
        match () {
            () if is(&TIME_WORDS) => Some(Unit::SECONDS),
            // `(time() - EnteredCurrentActivity) > 10 m`
            () if caseless::eq(word, b"m") && caseless::contains(rest, b"time") => Some(Unit::SECONDS),
            () if is(&SIZE_WORDS) && caseless::contains(attribute, b"disk") => Some(Unit::KIB),
            () if is(&SIZE_WORDS) => Some(Unit::MIB),
            () => None,
        }
    };
    let (found, is_known) = match named {
        Some(unit) => (unit, true),
        None => (guessed()?, false),
    };
    let calculation = found.calculation(number, word);
    let words = match (calculation, is_known) {
        (Some(text), true) => format!("in {}: write {text}", found.name),
        (Some(text), false) => format!("write {text} if the unit is {}", found.name),
        (None, _) => {
            find_word(true, word).or_else(|| find_word(false, word))?;
            format!("write a number of {}", found.name)
        }
    };
    Some(InvalidPart { place, advice: PartAdvice::Words(words) })
}

/// Returns the unit of numbers that are compared with an attribute, or `None` for points in time.
pub(super) fn unit_of_attribute(unit: AttributeUnit) -> Option<Unit> {
    match unit {
        AttributeUnit::Bytes => Some(Unit::BYTES),
        AttributeUnit::KiB => Some(Unit::KIB),
        AttributeUnit::MiB => Some(Unit::MIB),
        AttributeUnit::Seconds => Some(Unit::SECONDS),
        AttributeUnit::MinuteOfDay => Some(Unit::MINUTES),
        AttributeUnit::Epoch | AttributeUnit::Expiry => None,
    }
}

/// Finds a semicolon at the end, a decimal comma, a typographic sign, and an operator at the end.
fn find_sign(value: &[u8], at: usize) -> Option<InvalidPart> {
    let rest = value.get(at..)?;
    let words =
        |place: Range<usize>, words: String| Some(InvalidPart { place, advice: PartAdvice::Words(words) });
    if rest.trim() == b";" {
        let advice = PartAdvice::Remove("remove the ';'");
        return Some(InvalidPart { place: value[..at].trim_end().len()..value.len(), advice });
    }
    if rest.starts_with(b",") {
        let length = value[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (start, end) = (at - length, at + 1 + digits);
        return (length > 0 && digits > 0).then(|| {
            let number = value[start..end].replace(",", ".");
            let words = format!("write a decimal point, not a comma: {}", number.as_bstr());
            InvalidPart { place: start..end, advice: PartAdvice::Words(words) }
        });
    }
    if rest.trim().is_empty() {
        let text = value.trim_end();
        let operator = text.iter().rev().take_while(|byte| b"+-*/%<>=&|^?:!".contains(byte)).count();
        let place = text.len() - operator..text.len();
        return (operator > 0).then(|| {
            words(place, "write a value after the last operator, or remove the operator".to_owned())
        })?;
    }
    // The parser may stop inside a character.
    let start = (0..=at).rev().find(|&start| value[start] & 0b1100_0000 != 0b1000_0000)?;
    let (sign, length) = bstr::decode_utf8(&value[start..]);
    let place = start..start + length;
    match sign? {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => {
            Some(InvalidPart { place, advice: PartAdvice::Write("\"") })
        }
        sign @ ('\u{2018}' | '\u{2019}') => {
            words(place, format!("write plain double quotes instead of {sign}"))
        }
        '\u{2013}' | '\u{2212}' => Some(InvalidPart { place, advice: PartAdvice::Write("-") }),
        '\u{a0}' => words(place, "write a plain space instead of the no-break space".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(value: &str) -> (String, Option<String>) {
        let error = Expr::parse_with(value, Dialect::default()).unwrap_err();
        let Some(found) = advise_syntax(value.as_bytes(), &error, None, Dialect::default()) else {
            return (String::new(), None);
        };
        (found.fix.to_string(), found.corrected.map(|text| text.to_string()))
    }

    #[test]
    fn operators_are_corrected_with_their_neighbours() {
        for (value, fix, corrected) in [
            ("= true", "write one '='", Some("true")),
            ("= = true", "write one '='", Some("true")),
            ("A => 1", "write >=", Some("A >= 1")),
            ("A =< 1", "write <=", Some("A <= 1")),
            ("A =! \"b\"", "write !=", Some("A != \"b\"")),
            ("A =!b", "write '!=', or '== !' with a space between them", None),
            ("A =>= 3", "", None),
            ("A =?==\"b\"", "write =?=", Some("A =?=\"b\"")),
            ("A is = 3", "write 'is' without '='", Some("A is 3")),
            ("A is not \"b\"", "write isnt", Some("A isnt \"b\"")),
            ("A === 1", "write ==", Some("A == 1")),
            ("A !== 1", "write !=", Some("A != 1")),
            ("A <> 1", "write !=", Some("A != 1")),
            ("A = = 1", "write ==", Some("A == 1")),
            ("(A = 1) || (B=2)", "write ==", Some("(A == 1) || (B==2)")),
            ("A =~ /^cms/", "write regexp(\"^cms\", A)", None),
            ("MY.A ~= \"^cms\"", "write regexp(\"^cms\", MY.A)", None),
            ("A like \"x.*\"", "write regexp(\"x.*\", A)", None),
            ("A in {\"b\", \"c\"}", "write member(A, {\"b\", \"c\"})", None),
            ("A and B or C", "write &&", Some("A && B || C")),
            ("not A", "write ! instead of not", None),
            ("true;", "remove the ';'", Some("true")),
            ("A = 1 &&", "write ==", None),
        ] {
            let found = advice(value);
            assert_eq!((&found.0[..], found.1.as_deref()), (fix, corrected), "{value}");
        }
    }

    #[test]
    fn units_and_signs_have_advice() {
        for (value, fix) in [
            ("RequestMemory > 2G", "in MiB: write 2048"),
            ("RequestMemory > 2048 MB", "in MiB: write 2048"),
            ("RequestDisk > 1GB", "in KiB: write 1048576"),
            ("Foo > 24h", "write 24 * 3600 if the unit is seconds"),
            ("ClockMin > 17:30", "write 17 * 60 + 30"),
            ("0,3 * Cpus", "write a decimal point, not a comma: 0.3"),
            ("Cpus *", "write a value after the last operator, or remove the operator"),
            ("Owner == \u{201c}ann\u{201d}", "write \""),
            ("Cpus ? Memory", ""),
        ] {
            assert_eq!(advice(value).0, fix, "{value}");
        }
    }
}
