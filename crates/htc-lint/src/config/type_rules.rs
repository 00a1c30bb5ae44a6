//! Values of another type than the readers of their parameter need.

use std::ops::Range;

use bstr::{BStr, BString, ByteSlice};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_set::MacroEntry;
use htc_config::registry::{self, RegisteredParameter, ValueType};
use htc_config::value_check::{FaultyPart, ValueFault, check_value};

use super::lint_subject::LintSubject;
use super::reference_rules::has_invalid_reference;
use super::written_pieces::replace_value;

/// Checks the value of a parameter that is not an expression.
pub(super) fn check_type(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    parameter: &RegisteredParameter,
    findings: &mut Vec<Finding>,
) {
    let raw = &entry.current.raw;
    if has_invalid_reference(raw) {
        return;
    }
    let expanded = subject.view.expand_raw(&entry.name, raw);
    subject.view.take_messages();
    let Ok(value) = expanded else { return };
    for part in check_value(parameter, &value, subject.world) {
        let text = BString::from(&value[part.span.clone()]);
        let (message, fix) = describe_fault(&entry.name, parameter, &part, text.as_bstr());
        let span = if *raw == value { part.span } else { 0..raw.len() };
        let place = Some((span.start, span.end));
        let certain = fix.as_deref().and_then(|fix| match fix {
            "write true" => Some("true"),
            "write false" => Some("false"),
            _ => None,
        });
        let finding = subject.make_finding(LintRule::BadValue, &entry.current, place, message, fix);
        findings.push(match certain {
            Some(word) => replace_value(finding, raw, word),
            None => finding,
        });
    }
}

/// Describes a fault of a value, with the correction if it is known.
fn describe_fault(
    name: &BString,
    parameter: &RegisteredParameter,
    part: &FaultyPart,
    text: &BStr,
) -> (String, Option<String>) {
    let (range, fallback) = (describe_range(parameter), describe_fallback(name));
    let stops = format!("daemons exit with an error, tools use {fallback}");
    let did_you_mean = |near: Option<&str>| near.map(|near| format!("did you mean {near}?"));
    match part.fault {
        ValueFault::NotInteger => {
            (format!("{name} must be an integer{range}, not '{text}': {stops}"), suggest_number(text))
        }
        ValueFault::NotNumber => {
            (format!("{name} must be a number{range}, not '{text}': {stops}"), suggest_number(text))
        }
        ValueFault::OutOfBounds => {
            (format!("{name} must be an integer of 32 bits, not {text}: {stops}"), None)
        }
        ValueFault::TooLow(_) | ValueFault::TooHigh(_) => {
            let limits = range.trim_start();
            (format!("{name} must be {limits}, not {text}: daemons exit with an error"), None)
        }
        ValueFault::NotBoolean => {
            let others: String = parameter.words().map(|word| format!(", {word}")).collect();
            (format!("{name} must be true or false{others}, not '{text}': {stops}"), suggest_truth(text))
        }
        ValueFault::NotSize => {
            let fix = "write a number of bytes, with K, M, G or T if you like".to_owned();
            (format!("{name} must be a size, not '{text}'"), Some(fix))
        }
        ValueFault::NotLogSize => {
            let fix = "write a number, or one with a unit: 10 Mb".to_owned();
            (format!("{name} must be the size of a log, not '{text}': daemons exit with an error"), Some(fix))
        }
        ValueFault::TimeNotSize => {
            (format!("{name} must be a size, not the time '{text}': daemons exit with an error"), None)
        }
        ValueFault::NotPeriod => {
            let fix = "write seconds, or a number directly followed by s, m or h: 5m".to_owned();
            (format!("{name} must be a period, not '{text}': the job does not run"), Some(fix))
        }
        ValueFault::NotThrottle => {
            let fix = "write a load, or two: 1.5 to 2.0".to_owned();
            (format!("{name} must be a load or a range of loads, not '{text}': the schedd exits"), Some(fix))
        }
        ValueFault::UnknownWord(near) => {
            let words: Vec<&str> = parameter.words().collect();
            let fix = did_you_mean(near)
                .or_else(|| (!words.is_empty()).then(|| format!("the words are {}", words.join(", "))));
            (format!("'{text}' is not a valid value of {name}{}", describe_effect(name)), fix)
        }
        ValueFault::UnknownDebugLevel(near) => {
            (format!("{name}: there is no debug level {text}: it is ignored"), did_you_mean(near))
        }
        ValueFault::UnknownMethod(near) => {
            (format!("{name}: there is no authentication method {text}: it is ignored"), did_you_mean(near))
        }
        ValueFault::UnknownCrypto(near) => {
            (format!("{name}: there is no encryption method {text}: it is ignored"), did_you_mean(near))
        }
        ValueFault::UnknownLevel => {
            let fix = "write REQUIRED, PREFERRED, OPTIONAL or NEVER".to_owned();
            (format!("'{text}' is not a valid value of {name}: daemons exit with an error"), Some(fix))
        }
        ValueFault::MisspelledLevel(level) => {
            let message = format!("'{text}' is not a word of {name}; only its first letter counts: {level}");
            (message, Some(format!("write {level}")))
        }
        ValueFault::NotIds => {
            let fix = "write the numbers of a user and a group: 64.64".to_owned();
            (format!("{name} must be two numbers with a point between them, not '{text}'"), Some(fix))
        }
    }
}

/// Consequence of an invalid word, for those that mean something else.
fn describe_effect(name: &[u8]) -> &'static str {
    match registry::find(name).map(|found| found.name) {
        Some("CGROUP_MEMORY_LIMIT_POLICY") => ": memory is not limited",
        Some("DEFRAG_DRAINING_SCHEDULE") => ": condor_defrag exits with an error",
        _ => "",
    }
}

fn describe_range(parameter: &RegisteredParameter) -> String {
    match parameter.range() {
        (Some(least), Some(most)) if most < 2_147_483_647.0 => format!(" from {least} to {most}"),
        (Some(least), _) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    }
}

fn describe_fallback(name: &[u8]) -> String {
    let default = registry::default_value(name).unwrap_or_default();
    match default.is_empty() || default.contains(&b'$') || default.len() > 40 {
        true => "its default".to_owned(),
        false => default.to_str_lossy().into_owned(),
    }
}

/// The correction of a truth value.
pub(super) fn suggest_truth(text: &[u8]) -> Option<String> {
    let lower = text.trim().to_ascii_lowercase();
    let is_near = |word: &[u8]| htc_base::text::similar_names::distance(&lower, word, 2).is_some();
    match &lower[..] {
        b"yes" | b"y" | b"t" | b"on" | b"enable" | b"enabled" => Some("write true".to_owned()),
        b"no" | b"n" | b"f" | b"off" | b"disable" | b"disabled" => Some("write false".to_owned()),
        [_, _, _, ..] if is_near(b"true") => Some("did you mean true?".to_owned()),
        [_, _, _, ..] if is_near(b"false") => Some("did you mean false?".to_owned()),
        _ => None,
    }
}

/// Advice about a number with a unit, between quotes or with something after it.
fn suggest_number(text: &[u8]) -> Option<String> {
    if text.starts_with(b"\"") {
        return Some("write it without quotes".to_owned());
    }
    let Range { end, .. } = 0..text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let unit = text[end..].trim();
    if end == 0 || unit.is_empty() {
        return None;
    }
    let number = BStr::new(&text[..end]);
    Some(match unit.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'%') {
        true => format!("units are not allowed here: write {number} times the unit as a plain number"),
        false => format!("write {number}"),
    })
}

/// True if a value is checked by [`check_type`].
pub(super) fn has_checked_type(parameter: &RegisteredParameter) -> bool {
    !parameter.value_type.is_expression()
        && !matches!(
            parameter.value_type,
            ValueType::String
                | ValueType::Path
                | ValueType::List
                | ValueType::Route
                | ValueType::Transform
                | ValueType::SlotShares
                | ValueType::SizeOrNumber
        )
}
