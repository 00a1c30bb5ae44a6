//! The `$FUNC()` calls of the macro language (`config.cpp`, `evaluate_macro_func`, which exists twice, with
//! different rules for ordinary values and for `-macro`).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::{BStr, BString};

use crate::evaluate;
use crate::expand::{ExpandError, Expander, ExpansionMode, replace_dollars};
use crate::filename;
use crate::macro_reference::{MacroFunction, MacroReference};
use crate::printf_format::{PrintfConversion, PrintfFormat};
use htc_base::text::list;
use htc_base::text::number::integer_prefix;
use htc_base::text::printf::ConversionSpec;
use htc_base::text::space::{is_space, trim};

type ExpansionResult<'t> = Result<Cow<'t, [u8]>, ExpandError>;

/// Returns the text that replaces a reference in an ordinary value.
pub(crate) fn evaluate_in_file_mode<'t>(
    expander: &mut Expander<'_>,
    text: &'t [u8],
    reference: &MacroReference,
) -> ExpansionResult<'t> {
    let body = reference.body(text);
    let name = &text[reference.dollar + 1..reference.body - 1];
    match reference.function {
        MacroFunction::Plain => {
            let (name, default) = reference.name_and_default(text);
            let source = expander.source;
            let value = source.raw(name).map(Cow::into_owned).filter(|value| !value.is_empty());
            expander.took_default = value.is_none();
            Ok(value.map_or(Cow::Borrowed(default.unwrap_or_default()), Cow::Owned))
        }
        MacroFunction::Env => {
            let (name, default) = reference.name_and_default(text);
            let value = environment_value(expander, name);
            Ok(value.map_or(Cow::Borrowed(default.unwrap_or(b"UNDEFINED")), Cow::Owned))
        }
        MacroFunction::RandomChoice => evaluate_random_choice(expander, body),
        MacroFunction::RandomInteger => evaluate_random_integer(expander, body),
        MacroFunction::Choice => evaluate_choice(expander, body),
        MacroFunction::Substr => evaluate_substr(expander, body),
        MacroFunction::Int | MacroFunction::Real => format_number_value(expander, reference.function, body),
        MacroFunction::String => format_string_value(expander, body),
        MacroFunction::Eval => {
            let (value, had_references) = expand_value_or_text(expander, body)?;
            let ad = expander.source.ad();
            Ok(match evaluate::to_text(&value, ad, expander.world) {
                Some(text) => Cow::Owned(text.into()),
                None if had_references => value,
                None => Cow::Borrowed(b""),
            })
        }
        MacroFunction::Basename => {
            let (path, suffix) = match memchr::memrchr(b',', body) {
                Some(comma) => {
                    let suffix = &body[comma + 1..];
                    let blanks = suffix.iter().take_while(|&&b| is_space(b)).count();
                    (&body[..comma], Some(&suffix[blanks..]))
                }
                None => (body, None),
            };
            let value = value_or_text(expander, path, ExpansionMode::File)?;
            Ok(Cow::Owned(filename::basename(&value, suffix)))
        }
        MacroFunction::Dirname => {
            let value = value_or_text(expander, body, ExpansionMode::File)?;
            Ok(Cow::Owned(filename::dirname(&value)))
        }
        MacroFunction::Filename => {
            let value = value_or_text(expander, body, ExpansionMode::File)?;
            Ok(Cow::Owned(filename::apply_filename_flags(&value, name, expander.source.directory())))
        }
    }
}

fn environment_value(expander: &Expander<'_>, name: &[u8]) -> Option<Vec<u8>> {
    if name.is_empty() {
        return None;
    }
    expander.world.env(OsStr::from_bytes(name)).map(|value| value.as_bytes().to_vec())
}

/// Returns the expanded value of a name, or else the text itself, expanded if it contains a dollar.
fn value_or_text<'t>(
    expander: &mut Expander<'_>,
    text: &'t [u8],
    mode: ExpansionMode,
) -> ExpansionResult<'t> {
    if let Some(value) = expander.expanded_value_of(text, mode)? {
        return Ok(Cow::Owned(value.into()));
    }
    match text.contains(&b'$') {
        true => Ok(Cow::Owned(expander.expand_nested(text, mode)?.into())),
        false => Ok(Cow::Borrowed(text)),
    }
}

/// Does the same as [`value_or_text`], and also returns true if there was anything to expand.
fn expand_value_or_text<'t>(
    expander: &mut Expander<'_>,
    text: &'t [u8],
) -> Result<(Cow<'t, [u8]>, bool), ExpandError> {
    match expander.expanded_value_and_dollar(text, ExpansionMode::File)? {
        Some((value, had_references)) => Ok((Cow::Owned(value.into()), had_references)),
        None if text.contains(&b'$') => {
            Ok((Cow::Owned(expander.expand_nested(text, ExpansionMode::File)?.into()), true))
        }
        None => Ok((Cow::Borrowed(text), false)),
    }
}

fn random_index(expander: &Expander<'_>, count: usize) -> usize {
    // The reference uses a signed 31-bit number modulo the count.
    ((expander.world.random() >> 33) % count.max(1) as u64) as usize
}

fn evaluate_random_choice<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> ExpansionResult<'t> {
    let entries: Vec<&[u8]> = split_comma_list(body).collect();
    if let [only] = entries[..]
        && let Some(value) = expander.expanded_value_of(only, ExpansionMode::File)?
    {
        let entries: Vec<&[u8]> = list::split(&value).collect();
        if !entries.is_empty() {
            let chosen = entries[random_index(expander, entries.len())];
            return Ok(Cow::Owned(chosen.to_vec()));
        }
    } else if !entries.is_empty() {
        return Ok(Cow::Borrowed(entries[random_index(expander, entries.len())]));
    }
    expander.report_failure(3376, "$RANDOM_CHOICE() macro is empty!");
    Ok(Cow::Borrowed(b""))
}

/// Returns the items of a comma-separated list, trimmed, without empty ones.
fn split_comma_list(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b',').map(trim).filter(|item| !item.is_empty())
}

fn evaluate_random_integer<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> ExpansionResult<'t> {
    let entries: Vec<&[u8]> = split_comma_list(body).collect();
    let number = |n: usize| entries.get(n).and_then(|entry| integer_prefix(entry)).map(|(value, _)| value);
    let mut min = number(0).unwrap_or_else(|| {
        expander.report_failure(3392, "$RANDOM_INTEGER() config macro: invalid min!");
        0
    });
    let max = number(1).unwrap_or_else(|| {
        expander.report_failure(3399, "$RANDOM_INTEGER() config macro: invalid max!");
        min
    });
    let mut step = 1;
    if let Some(entry) = entries.get(2) {
        step = integer_prefix(entry).map_or_else(
            || {
                expander.report_failure(3407, "$RANDOM_INTEGER() config macro: invalid step!");
                1
            },
            |(value, _)| value,
        );
    }
    if step < 1 {
        expander.report_failure(3413, "$RANDOM_INTEGER() config macro: invalid step!");
        step = 1;
    }
    if min > max {
        expander.report_failure(3417, "$RANDOM_INTEGER() config macro: min > max!");
        min = max;
    }
    Ok(Cow::Owned(random_in_range(expander, min, max, step).to_string().into_bytes()))
}

fn random_in_range(expander: &Expander<'_>, min: i64, max: i64, step: i64) -> i64 {
    let range = i128::from(step) + i128::from(max) - i128::from(min);
    let count = (range / i128::from(step)).max(1);
    let random = i128::from(expander.world.random() >> 33) % count;
    i64::try_from(i128::from(min) + random * i128::from(step)).unwrap_or(max)
}

/// Returns the item of a list at `index`, trimmed on request. Empty items are counted.
fn nth_item(list: &[u8], index: usize, trimmed: bool) -> Option<&[u8]> {
    let item = list.split(|&b| b == b',').nth(index)?;
    Some(if trimmed { trim(item) } else { item })
}

/// Returns the expanded value of the name in an argument, or else the expanded argument itself; `None` if there is no
/// such argument.
fn look_up_argument(
    expander: &mut Expander<'_>,
    body: &[u8],
    index: usize,
) -> Result<Option<BString>, ExpandError> {
    let Some(item) = nth_item(body, index, true) else {
        return Ok(None);
    };
    match expander.expanded_value_of(item, ExpansionMode::Text)? {
        Some(value) => Ok(Some(value)),
        None => Ok(Some(expander.expand_nested(item, ExpansionMode::Text)?)),
    }
}

/// Parses an argument as a non-negative 31-bit index.
fn parse_index(expander: &Expander<'_>, text: &[u8]) -> Option<usize> {
    let value = evaluate::to_integer(text, expander.world)?;
    (0..i64::from(i32::MAX)).contains(&value).then_some(value as usize)
}

fn evaluate_choice<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> ExpansionResult<'t> {
    let argument = look_up_argument(expander, body, 0)?.unwrap_or_default();
    let index = parse_index(expander, &argument).unwrap_or_else(|| {
        expander.report_failure(3448, format!("$CHOICE() error: '{argument}' is invalid index"));
        0
    });
    let Some(comma) = memchr::memchr(b',', body) else {
        expander.report_failure(3456, "$CHOICE() error: no list");
        return Ok(Cow::Borrowed(b""));
    };
    let items = &body[comma + 1..];
    let chosen = if memchr::memchr(b',', items).is_some() {
        nth_item(items, index, true).map(Cow::Borrowed)
    } else {
        let name = trim(items);
        match expander.expanded_value_of(name, ExpansionMode::File)? {
            Some(list) => nth_item(&list, index, true).map(|item| Cow::Owned(item.to_vec())),
            None => {
                expander
                    .report_failure(3467, format!("$CHOICE() macro: no list named \"{}\"!", BStr::new(name)));
                return Ok(Cow::Borrowed(b""));
            }
        }
    };
    Ok(chosen.unwrap_or_else(|| {
        expander.report_failure(3478, format!("$CHOICE() config macro: index {index} is out of range!"));
        Cow::Borrowed(b"")
    }))
}

/// Parses an integer argument of `$SUBSTR`; the reference's limits for start and length differ by one.
fn parse_offset(expander: &Expander<'_>, text: &[u8], largest: i64) -> Option<i64> {
    let value = evaluate::to_integer(text, expander.world)?;
    (i64::from(i32::MIN)..=largest).contains(&value).then_some(value)
}

/// Cuts the part of a text that `$SUBSTR` selects. Negative offsets count from the end; all offsets are
/// clamped.
fn cut_substring(text: &[u8], start: i64, length: i64) -> &[u8] {
    let total = text.len() as i64;
    let start = if start < 0 { (total + start).max(0) } else { start.min(total) };
    let left = total - start;
    let length = if length < 0 { (left + length).max(0) } else { length.min(left) };
    &text[start as usize..(start + length) as usize]
}

fn evaluate_substr<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> ExpansionResult<'t> {
    let mut parts = body.splitn(3, |&b| b == b',');
    let name = parts.next().unwrap_or_default();
    let Some(start) = parts.next() else {
        expander.report_failure(3494, "$SUBSTR() macro: no length specified!");
        return Ok(Cow::Borrowed(b""));
    };
    let start = value_or_text(expander, start, ExpansionMode::File)?;
    let Some(from) = parse_offset(expander, &start, i64::from(i32::MAX) - 1) else {
        expander
            .report_failure(3516, format!("$SUBSTR() macro: {} is invalid start index!", BStr::new(&start)));
        return Ok(Cow::Borrowed(b""));
    };
    let mut length = i64::from(i32::MAX) / 2;
    if let Some(argument) = parts.next() {
        let argument = value_or_text(expander, argument, ExpansionMode::File)?;
        let Some(value) = parse_offset(expander, &argument, i64::from(i32::MAX)) else {
            expander.report_failure(
                3535,
                format!("$SUBSTR() macro: {} is invalid length !", BStr::new(&argument)),
            );
            return Ok(Cow::Borrowed(b""));
        };
        length = value;
    }
    let value = expander.expanded_value_of(name, ExpansionMode::File)?.unwrap_or_default();
    Ok(Cow::Owned(cut_substring(&value, from, length).to_vec()))
}

/// Splits off the optional format after the first comma.
fn split_off_format(body: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b',', body) {
        Some(comma) => (&body[..comma], Some(&body[comma + 1..])),
        None => (body, None),
    }
}

/// Number of bytes of a formatted number that the reference keeps in an ordinary value.
const MAX_NUMBER_BYTES: usize = 55;

fn format_number_value<'t>(
    expander: &mut Expander<'_>,
    function: MacroFunction,
    body: &'t [u8],
) -> ExpansionResult<'t> {
    let (name, text) = split_off_format(body);
    let (call, conversion) = number_function(function);
    let Ok(format) = parse_optional_format(text, conversion) else {
        return report_invalid_format(expander, text, 3585, call);
    };
    let value = value_or_text(expander, name, ExpansionMode::File)?;
    let Some(shown) = format_evaluated_number(function, &value, format, MAX_NUMBER_BYTES, expander) else {
        let (line, kind) = if function == MacroFunction::Int { (3605, "integer") } else { (3616, "real") };
        let value = BStr::new(&value);
        expander.report_failure(line, format!("{call} macro: {value} does not evaluate to an {kind}!"));
        return Ok(Cow::Borrowed(b""));
    };
    Ok(Cow::Owned(shown))
}

fn number_function(function: MacroFunction) -> (&'static str, PrintfConversion) {
    match function {
        MacroFunction::Int => ("$INT()", PrintfConversion::Integer),
        _ => ("$REAL()", PrintfConversion::Real),
    }
}

/// Formats the number that a text evaluates to. At most `width` bytes are kept before a missing `.0` is
/// added.
fn format_evaluated_number(
    function: MacroFunction,
    text: &[u8],
    format: Option<PrintfFormat>,
    width: usize,
    expander: &Expander<'_>,
) -> Option<Vec<u8>> {
    let is_int = function == MacroFunction::Int;
    let mut shown = if is_int {
        let number = evaluate::to_integer(text, expander.world)?;
        format
            .as_ref()
            .map_or_else(|| number.to_string().into_bytes(), |format| format.format_integer(number))
    } else {
        let number = evaluate::to_real(text, expander.world)?;
        format.as_ref().map_or_else(
            || ConversionSpec::parse(b".16G").0.format_real(number, b'G'),
            |format| format.format_real(number),
        )
    };
    shown.truncate(width);
    if !is_int && format.is_some() && !shown.contains(&b'.') {
        shown.extend_from_slice(b".0");
    }
    Some(shown)
}

/// A text that is not a valid format of the wanted kind.
struct InvalidFormat;

/// Parses an optional format.
fn parse_optional_format(
    text: Option<&[u8]>,
    conversion: PrintfConversion,
) -> Result<Option<PrintfFormat>, InvalidFormat> {
    text.map(|text| PrintfFormat::parse(text, conversion).ok_or(InvalidFormat)).transpose()
}

/// Returns a text that is not a valid format unchanged, and reports it.
fn report_invalid_format<'t>(
    expander: &mut Expander<'_>,
    text: Option<&'t [u8]>,
    line: u32,
    call: &str,
) -> ExpansionResult<'t> {
    let text = text.unwrap_or_default();
    let quoted = BStr::new(text);
    expander.report_failure(line, format!("{call} macro: '{quoted}' is not a valid format specifier!"));
    Ok(Cow::Borrowed(text))
}

fn format_string_value<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> ExpansionResult<'t> {
    let (name, text) = split_off_format(body);
    let Ok(format) = parse_optional_format(text, PrintfConversion::String) else {
        return report_invalid_format(expander, text, 3641, "$STRING");
    };
    let value = value_or_text(expander, name, ExpansionMode::File)?;
    let value = match evaluate::to_string(&value, expander.world) {
        Some(string) => Cow::Owned(string.into()),
        None => value,
    };
    Ok(match format {
        Some(format) => Cow::Owned(format.format_string(&value)),
        None => value,
    })
}

/// Reason why a reference in the text of `-macro` cannot be replaced.
pub(crate) enum TextReferenceError {
    /// The expansion of the value exceeds a limit.
    Expansion(ExpandError),
    /// A function failed with this message, which ends the expansion.
    Function(BString),
}

impl From<ExpandError> for TextReferenceError {
    fn from(error: ExpandError) -> Self {
        TextReferenceError::Expansion(error)
    }
}

type TextFunctionResult<'t> = Result<Cow<'t, [u8]>, TextReferenceError>;

/// Returns the text that replaces a reference in the text of `-macro`.
pub(crate) fn evaluate_in_text_mode<'t>(
    expander: &mut Expander<'_>,
    text: &'t [u8],
    reference: &MacroReference,
) -> TextFunctionResult<'t> {
    let whole = reference.body(text);
    // The reference ends the name at the default that it found last, even if that belongs to an earlier
    // candidate.
    let name_length = reference.default.map_or(whole.len(), |default| default - 1 - reference.body);
    let body = &whole[..name_length.min(whole.len())];
    let default = reference.default.filter(|&at| at < reference.end).map(|at| &text[at..reference.end - 1]);
    let or_default = |value: Option<Vec<u8>>| match value.filter(|value| !value.is_empty()) {
        Some(value) => Cow::Owned(value),
        None => Cow::Borrowed(default.unwrap_or_default()),
    };
    match reference.function {
        MacroFunction::Plain => {
            let value = expander.source.raw(body).map(Cow::into_owned);
            expander.took_default = value.as_ref().is_none_or(|value| value.is_empty());
            Ok(or_default(value))
        }
        MacroFunction::Env => {
            let value = environment_value(expander, body);
            let missing = || default.is_none().then(|| b"UNDEFINED".to_vec());
            Ok(or_default(value.or_else(missing)))
        }
        MacroFunction::RandomChoice => evaluate_text_random_choice(expander, body),
        MacroFunction::RandomInteger => evaluate_text_random_integer(expander, body),
        MacroFunction::Choice => evaluate_text_choice(expander, body),
        MacroFunction::Substr => evaluate_text_substr(expander, body),
        MacroFunction::Int | MacroFunction::Real => evaluate_text_number(expander, reference.function, body),
        MacroFunction::String => evaluate_text_string(expander, body),
        MacroFunction::Eval => {
            let mut value = match expander.expanded_value_of(body, ExpansionMode::Text)? {
                Some(value) => value,
                None => expander.expand_nested(body, ExpansionMode::Text)?,
            };
            replace_dollars(&mut value);
            let ad = expander.source.ad();
            Ok(Cow::Owned(evaluate::to_text(&value, ad, expander.world).unwrap_or(value).into()))
        }
        MacroFunction::Basename | MacroFunction::Dirname | MacroFunction::Filename => {
            let flags = &text[reference.dollar + 1..reference.body - 1];
            // An empty value is quoted, too, unless the reference has a default.
            let value = expander
                .expanded_value_of(body, ExpansionMode::Text)?
                .filter(|value| !value.is_empty() || reference.default.is_none());
            // The reference uses the offset of a colon that it found in an earlier candidate for a reference. If that
            // colon is after the end of this reference, the function fails.
            if value.is_none() && reference.default.is_some_and(|at| at >= reference.end) {
                return function_failure("");
            }
            let value = value.map(|value| match reference.function {
                MacroFunction::Basename => filename::basename(&value, None),
                MacroFunction::Dirname => filename::dirname(&value),
                _ => filename::apply_filename_flags(&value, flags, expander.source.directory()),
            });
            Ok(or_default(value))
        }
    }
}

fn function_failure<'t>(message: impl Into<BString>) -> TextFunctionResult<'t> {
    Err(TextReferenceError::Function(message.into()))
}

fn evaluate_text_random_choice<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> TextFunctionResult<'t> {
    let items: Cow<'_, [u8]> = if memchr::memchr(b',', body).is_some() {
        Cow::Borrowed(body)
    } else if body.is_empty() {
        return function_failure("$RANDOM_CHOICE() error: no list");
    } else {
        Cow::Owned(look_up_argument(expander, body, 0)?.unwrap_or_default().into())
    };
    // The reference counts a leading comma twice, and may then choose an item that does not exist.
    let count = items.split(|&b| b == b',').count() + usize::from(items.first() == Some(&b','));
    let chosen = nth_item(&items, random_index(expander, count), true).unwrap_or_default();
    Ok(Cow::Owned(chosen.to_vec()))
}

fn evaluate_text_random_integer<'t>(expander: &Expander<'_>, body: &'t [u8]) -> TextFunctionResult<'t> {
    let number = |n| nth_item(body, n, true).and_then(integer_prefix).map(|(value, _)| value);
    let failure = |argument: &str| {
        TextReferenceError::Function(format!("$RANDOM_INTEGER() error: invalid {argument}").into())
    };
    let min = number(0).ok_or_else(|| failure("min"))?;
    let max = number(1).ok_or_else(|| failure("max"))?;
    let step = number(2).filter(|&step| step >= 1).ok_or_else(|| failure("step"))?;
    if min > max {
        return function_failure("$RANDOM_INTEGER() error: min > max");
    }
    Ok(Cow::Owned(random_in_range(expander, min, max, step).to_string().into_bytes()))
}

fn evaluate_text_choice<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> TextFunctionResult<'t> {
    let Some(comma) = memchr::memchr(b',', body) else {
        return function_failure("$CHOICE() error: no list");
    };
    let after = &body[comma + 1..];
    let items = &after[after.iter().take_while(|&&b| is_space(b)).count()..];
    let argument = look_up_argument(expander, body, 0)?.unwrap_or_default();
    let Some(index) = parse_index(expander, &argument) else {
        return function_failure(format!("$CHOICE() error: '{argument}' is invalid index"));
    };
    let count = items.split(|&b| b == b',').count() + usize::from(items.first() == Some(&b','));
    let items: Cow<'_, [u8]> = if count == 1 {
        let name = trim(items);
        if name.is_empty() {
            return function_failure("$CHOICE() error: no list");
        }
        match expander.expanded_value_of(name, ExpansionMode::Text)? {
            Some(list) => Cow::Owned(list.into()),
            None => return function_failure(format!("$CHOICE() error: no list named {}", BStr::new(name))),
        }
    } else {
        Cow::Borrowed(items)
    };
    match nth_item(&items, index, true) {
        Some(item) => Ok(Cow::Owned(item.to_vec())),
        None => function_failure(format!("$CHOICE() error: index {index} is out of range")),
    }
}

fn evaluate_text_substr<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> TextFunctionResult<'t> {
    let value = look_up_argument(expander, body, 0)?.unwrap_or_default();
    if value.is_empty() {
        return Ok(Cow::Borrowed(b""));
    }
    let third = look_up_argument(expander, body, 2)?;
    let has_start = third.is_some();
    let length = match third {
        Some(length) => length,
        None => look_up_argument(expander, body, 1)?.unwrap_or_default(),
    };
    let largest = i64::from(i32::MAX) - 1;
    let Some(count) = parse_offset(expander, &length, largest) else {
        return function_failure(format!("$SUBSTR() error: {length} is invalid length"));
    };
    let mut start = 0;
    if has_start {
        let text = look_up_argument(expander, body, 1)?.unwrap_or_default();
        match parse_offset(expander, &text, largest) {
            Some(value) => start = value,
            None => return function_failure(format!("$SUBSTR() error: {text} is invalid start")),
        }
    }
    Ok(Cow::Owned(cut_substring(&value, start, count).to_vec()))
}

fn evaluate_text_number<'t>(
    expander: &mut Expander<'_>,
    function: MacroFunction,
    body: &'t [u8],
) -> TextFunctionResult<'t> {
    let text = split_off_format(body).1;
    let (call, conversion) = number_function(function);
    let Ok(format) = parse_optional_format(text, conversion) else {
        return fail_with_invalid_format(text, call);
    };
    let value = look_up_argument(expander, body, 0)?.unwrap_or_default();
    match format_evaluated_number(function, &value, format, usize::MAX, expander) {
        Some(shown) => Ok(Cow::Owned(shown)),
        None => {
            let kind = if function == MacroFunction::Int { "an integer" } else { "a real" };
            function_failure(format!("{call} error: {value} does not evaluate to {kind}"))
        }
    }
}

fn fail_with_invalid_format<'t>(text: Option<&[u8]>, call: &str) -> TextFunctionResult<'t> {
    let text = BStr::new(text.unwrap_or_default());
    function_failure(format!("{call} error: '{text}' is not a valid format specifier"))
}

fn evaluate_text_string<'t>(expander: &mut Expander<'_>, body: &'t [u8]) -> TextFunctionResult<'t> {
    let text = split_off_format(body).1;
    let Ok(format) = parse_optional_format(text, PrintfConversion::String) else {
        return fail_with_invalid_format(text, "$STRING()");
    };
    let value = look_up_argument(expander, body, 0)?.unwrap_or_default();
    let value = evaluate::to_string(&value, expander.world).unwrap_or(value);
    Ok(Cow::Owned(match format {
        Some(format) => format.format_string(&value),
        None => value.into(),
    }))
}
