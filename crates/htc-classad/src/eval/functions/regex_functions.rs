//! Functions on regular expressions (reference: `regexp_helper`, fnCall.cpp).

use super::list_items;
use super::substitute::{SubstitutionMode, substitute};
use crate::eval::computed_value::{ComputedValue, EvalFailure, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::regex::{LiteralPattern, RegexOptions};

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("regexp", regexp),
    ("regexpMember", regexp_member),
    ("regexps", |call| regexps(call, b"")),
    ("replace", |call| regexps(call, b"f")),
    ("replaceAll", |call| regexps(call, b"fg")),
    ("stringList_regexpMember", string_list_regexp_member),
];

/// Arguments of a function on regular expressions: the first `N` arguments and the options, which are one more
/// argument. All arguments must be strings, except that the last of the `N` may have another type.
enum PatternArguments<'a, const N: usize> {
    Valid([ComputedValue<'a>; N], &'a [u8]),
    EarlyResult(ComputedValue<'a>),
}

fn pattern_arguments<'a, const N: usize>(
    call: &mut FunctionCall<'_, 'a>,
) -> Result<PatternArguments<'a, N>, EvalFailure> {
    let count = call.argument_count();
    if count != N && count != N + 1 {
        return Ok(PatternArguments::EarlyResult(ComputedValue::Error));
    }
    let mut values = [ComputedValue::Undefined; N];
    for (at, value) in values.iter_mut().enumerate() {
        *value = call.eval_argument(at)?;
    }
    let options = if count > N { call.eval_argument(N)? } else { ComputedValue::Str(b"") };
    if options.is_error() || values.iter().any(|value| value.is_error()) {
        return Ok(PatternArguments::EarlyResult(ComputedValue::Error));
    }
    if options.is_undefined() || values.iter().any(|value| value.is_undefined()) {
        return Ok(PatternArguments::EarlyResult(ComputedValue::Undefined));
    }
    Ok(match options {
        ComputedValue::Str(options) => PatternArguments::Valid(values, options),
        _ => PatternArguments::EarlyResult(ComputedValue::Error),
    })
}

fn regexp<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    Ok(match pattern_arguments(call)? {
        PatternArguments::EarlyResult(answer) => answer,
        PatternArguments::Valid([ComputedValue::Str(pattern), ComputedValue::Str(subject)], options) => {
            match_pattern(call, pattern, subject, options)
        }
        PatternArguments::Valid(..) => ComputedValue::Error,
    })
}

fn match_pattern<'a>(
    call: &FunctionCall<'_, 'a>,
    pattern: &[u8],
    subject: &[u8],
    options: &[u8],
) -> ComputedValue<'a> {
    let options = RegexOptions::from_letters(options);
    if let Some(literal) = LiteralPattern::from_pattern(pattern, options) {
        return ComputedValue::Bool(literal.is_match(subject));
    }
    let regex = call.regexes().get(pattern, options);
    let answer = regex.and_then(|regex| regex.is_match(subject).ok());
    answer.map_or(ComputedValue::Error, ComputedValue::Bool)
}

fn regexp_member<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let (pattern, list, options) = match pattern_arguments(call)? {
        PatternArguments::EarlyResult(answer) => return Ok(answer),
        PatternArguments::Valid([ComputedValue::Str(pattern), ComputedValue::List(list)], options) => {
            (pattern, list, options)
        }
        PatternArguments::Valid(..) => return Ok(ComputedValue::Error),
    };
    let mut undefined = false;
    for at in 0..list.len() {
        // If an element cannot be evaluated, the result is error, but the whole evaluation does not fail.
        match call.eval_element(list, at) {
            Ok(ComputedValue::Undefined) => undefined = true,
            Ok(ComputedValue::Str(subject)) => {
                if let ComputedValue::Bool(true) = match_pattern(call, pattern, subject, options) {
                    return Ok(ComputedValue::Bool(true));
                }
            }
            _ => return Ok(ComputedValue::Error),
        }
    }
    Ok(if undefined { ComputedValue::Undefined } else { ComputedValue::Bool(false) })
}

/// Replaces matches of a pattern; `implied_letters` has the option letters that the name of the function implies.
fn regexps<'a>(call: &mut FunctionCall<'_, 'a>, implied_letters: &[u8]) -> EvalResult<'a> {
    let (pattern, subject, template, options) = match pattern_arguments(call)? {
        PatternArguments::EarlyResult(answer) => return Ok(answer),
        PatternArguments::Valid(
            [ComputedValue::Str(pattern), ComputedValue::Str(subject), ComputedValue::Str(template)],
            options,
        ) => (pattern, subject, template, options),
        PatternArguments::Valid(..) => return Ok(ComputedValue::Error),
    };
    let has = |letter: u8| options.contains(&letter) || implied_letters.contains(&letter);
    let extent = SubstitutionMode { whole_subject: has(b'f'), all_matches: has(b'g') };
    let regex = call.regexes().get(pattern, RegexOptions::from_letters(options));
    match regex.and_then(|regex| substitute(&regex, subject, template, extent)) {
        Some(text) => call.make_string(text),
        None => Ok(ComputedValue::Error),
    }
}

fn string_list_regexp_member<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let count = call.argument_count();
    if !(2..=4).contains(&count) {
        return Ok(ComputedValue::Error);
    }
    let mut texts: [&[u8]; 4] = [b"", b"", list_items::BLANK_COMMA, b""];
    let mut all_strings = true;
    for (at, text) in texts.iter_mut().enumerate().take(count) {
        match call.eval_argument(at)? {
            ComputedValue::Str(value) => *text = value,
            _ => all_strings = false,
        }
    }
    let [pattern, list, separators, options] = texts;
    // Unlike `regexp()`, this function accepts option letters in upper and lower case.
    let options = RegexOptions::from_letters(&options.to_ascii_lowercase());
    let regex = if all_strings { call.regexes().get(pattern, options) } else { None };
    let Some(regex) = regex else { return Ok(ComputedValue::Error) };
    let mut any = None;
    for item in list_items::trimmed_items(list, separators) {
        any = Some(any.unwrap_or(false) || regex.is_match(item).unwrap_or(false));
    }
    Ok(any.map_or(ComputedValue::Undefined, ComputedValue::Bool))
}
