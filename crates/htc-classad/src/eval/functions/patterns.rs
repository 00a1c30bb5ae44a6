//! Regular expressions (reference: `regexp_helper`, fnCall.cpp).

use super::substitute::{Extent, substitute};
use super::tokens;
use crate::eval::computed::{Computed, Evaluated, Failure};
use crate::eval::evaluator::{Call, Entry};
use crate::regex::{Literal, Options};

pub(super) const TABLE: &[Entry] = &[
    ("regexp", regexp),
    ("regexpMember", regexp_member),
    ("regexps", |call| regexps(call, b"")),
    ("replace", |call| regexps(call, b"f")),
    ("replaceAll", |call| regexps(call, b"fg")),
    ("stringList_regexpMember", string_list_regexp_member),
];

/// So many arguments that must be strings or, the last, of another type, and options where there is one more.
enum Arguments<'a, const N: usize> {
    Are([Computed<'a>; N], &'a [u8]),
    Answer(Computed<'a>),
}

fn arguments<'a, const N: usize>(call: &mut Call<'_, 'a>) -> Result<Arguments<'a, N>, Failure> {
    let count = call.count();
    if count != N && count != N + 1 {
        return Ok(Arguments::Answer(Computed::Error));
    }
    let mut values = [Computed::Undefined; N];
    for (at, value) in values.iter_mut().enumerate() {
        *value = call.value(at)?;
    }
    let options = if count > N { call.value(N)? } else { Computed::Str(b"") };
    if options.is_error() || values.iter().any(|value| value.is_error()) {
        return Ok(Arguments::Answer(Computed::Error));
    }
    if options.is_undefined() || values.iter().any(|value| value.is_undefined()) {
        return Ok(Arguments::Answer(Computed::Undefined));
    }
    Ok(match options {
        Computed::Str(options) => Arguments::Are(values, options),
        _ => Arguments::Answer(Computed::Error),
    })
}

fn regexp<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match arguments(call)? {
        Arguments::Answer(answer) => answer,
        Arguments::Are([Computed::Str(pattern), Computed::Str(subject)], options) => {
            matches(call, pattern, subject, options)
        }
        Arguments::Are(..) => Computed::Error,
    })
}

fn matches<'a>(call: &Call<'_, 'a>, pattern: &[u8], subject: &[u8], options: &[u8]) -> Computed<'a> {
    let options = Options::from_letters(options);
    if let Some(literal) = Literal::of(pattern, options) {
        return Computed::Bool(literal.is_match(subject));
    }
    let regex = call.regexes().get(pattern, options);
    let answer = regex.and_then(|regex| regex.is_match(subject).ok());
    answer.map_or(Computed::Error, Computed::Bool)
}

fn regexp_member<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let (pattern, list, options) = match arguments(call)? {
        Arguments::Answer(answer) => return Ok(answer),
        Arguments::Are([Computed::Str(pattern), Computed::List(list)], options) => (pattern, list, options),
        Arguments::Are(..) => return Ok(Computed::Error),
    };
    let mut undefined = false;
    for at in 0..list.len() {
        // An element that fails to evaluate is an error here, not a failure of the whole.
        match call.element(list, at) {
            Ok(Computed::Undefined) => undefined = true,
            Ok(Computed::Str(subject)) => {
                if let Computed::Bool(true) = matches(call, pattern, subject, options) {
                    return Ok(Computed::Bool(true));
                }
            }
            _ => return Ok(Computed::Error),
        }
    }
    Ok(if undefined { Computed::Undefined } else { Computed::Bool(false) })
}

/// Substitution; `more` are options that the function's name stands for.
fn regexps<'a>(call: &mut Call<'_, 'a>, more: &[u8]) -> Evaluated<'a> {
    let (pattern, subject, template, options) = match arguments(call)? {
        Arguments::Answer(answer) => return Ok(answer),
        Arguments::Are(
            [Computed::Str(pattern), Computed::Str(subject), Computed::Str(template)],
            options,
        ) => (pattern, subject, template, options),
        Arguments::Are(..) => return Ok(Computed::Error),
    };
    let has = |letter: u8| options.contains(&letter) || more.contains(&letter);
    let extent = Extent { full: has(b'f'), all: has(b'g') };
    let regex = call.regexes().get(pattern, Options::from_letters(options));
    match regex.and_then(|regex| substitute(&regex, subject, template, extent)) {
        Some(text) => call.text(text),
        None => Ok(Computed::Error),
    }
}

fn string_list_regexp_member<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let count = call.count();
    if !(2..=4).contains(&count) {
        return Ok(Computed::Error);
    }
    let mut texts: [&[u8]; 4] = [b"", b"", tokens::BLANK_COMMA, b""];
    let mut good = true;
    for (at, text) in texts.iter_mut().enumerate().take(count) {
        match call.value(at)? {
            Computed::Str(value) => *text = value,
            _ => good = false,
        }
    }
    let [pattern, list, separators, options] = texts;
    // Unlike regexp(), it knows the letters in both cases.
    let options = Options::from_letters(&options.to_ascii_lowercase());
    let regex = if good { call.regexes().get(pattern, options) } else { None };
    let Some(regex) = regex else { return Ok(Computed::Error) };
    let mut any = None;
    for item in tokens::trimmed(list, separators) {
        any = Some(any.unwrap_or(false) || regex.is_match(item).unwrap_or(false));
    }
    Ok(any.map_or(Computed::Undefined, Computed::Bool))
}
