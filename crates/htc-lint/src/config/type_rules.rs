//! Values that do not have the type that their parameter requires.

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::{caseless, similar_names, unqualified_name};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_config::registry::{self, RegisteredParameter, ValueType};
use htc_config::value_check::{FaultyPart, ValueFault, check_value};

use super::lint_subject::LintSubject;
use super::reference_rules::has_invalid_reference;
use super::units::parameter_unit;
use super::written_pieces::{replace_if_certain, replace_value};

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
    let expanded = subject.expand_entry(entry);
    subject.view.take_messages();
    let Ok(value) = expanded else { return };
    let mut parts = check_value(parameter, &value, subject.world);
    // All items of such a list probably have the same mistake, so that one finding is enough.
    if parts.iter().any(|part| part.fault == ValueFault::NotTimespan) {
        parts.truncate(1);
    }
    if let Some(inner) = quoted_words(raw).filter(|_| !parts.is_empty() && has_words(parameter)) {
        let marks = if raw.trim().starts_with(b"\"") { "quotes" } else { "brackets" };
        let message = format!("{}: the {marks} are a part of the first and last word", entry.name);
        let fix = Advice::Write(inner.into());
        let place = Some((0, raw.len()));
        let finding = subject.make_finding(LintRule::BadValue, &entry.current, place, message, fix);
        findings.push(replace_if_certain(finding, raw));
        return;
    }
    if let Some((message, fix)) = find_negative_port(entry, &value) {
        let place = Some((0, raw.len()));
        findings.push(subject.make_finding(LintRule::BadValue, &entry.current, place, message, fix));
    }
    if parts.is_empty()
        && let Some(port) = find_impossible_port(&entry.name, parameter, &value)
    {
        let message = format!("{} must be a port, and there is no port {port}", entry.name);
        let place = Some((0, raw.len()));
        let fix = "write a number from 0 to 65535".to_owned();
        findings.push(subject.make_finding(LintRule::BadValue, &entry.current, place, message, fix));
    }
    for part in parts {
        let text = BString::from(&value[part.span.clone()]);
        let (message, fix) = describe_fault(&entry.name, parameter, &part, text.as_bstr());
        let span = if *raw == value { part.span } else { 0..raw.len() };
        let place = Some((span.start, span.end));
        let finding = subject.make_finding(LintRule::BadValue, &entry.current, place, message, fix);
        findings.push(match &finding.fix {
            // One item of a list, or a truth value with one wrong letter.
            Some(Advice::DidYouMean(near))
                if is_one_word(&part.fault) || is_slip(&part.fault, &text, near) =>
            {
                let near = near.clone();
                replace_value(finding, &text, near)
            }
            // If the value comes from a macro, the macro may have other uses.
            _ if *raw == value => replace_if_certain(finding, raw),
            _ => finding,
        });
    }
}

/// True if a value is a list of known words.
fn has_words(parameter: &RegisteredParameter) -> bool {
    matches!(
        parameter.value_type,
        ValueType::DebugLevels
            | ValueType::AuthenticationMethods
            | ValueType::CryptoMethods
            | ValueType::Words
            | ValueType::Statistics
    )
}

/// Returns the words between the quotes or brackets of a value.
fn quoted_words(raw: &[u8]) -> Option<&[u8]> {
    const PAIRS: [(&[u8], &[u8]); 4] = [(b"\"", b"\""), (b"'", b"'"), (b"[", b"]"), (b"(", b")")];
    let between = |(open, close): &(&[u8], &[u8])| {
        let inner = raw.trim().strip_prefix(*open)?;
        inner.strip_suffix(*close)
    };
    let inner = PAIRS.iter().find_map(between)?;
    (!inner.is_empty() && !inner.contains(&b'"')).then_some(inner)
}

/// True if the part must be one of a fixed set of words.
fn is_one_word(fault: &ValueFault) -> bool {
    matches!(
        fault,
        ValueFault::UnknownDebugLevel(_) | ValueFault::UnknownMethod(_) | ValueFault::UnknownCrypto(_)
    )
}

/// True if a misspelled truth value differs from `near` in one letter, or in the order of two letters.
fn is_slip(fault: &ValueFault, text: &[u8], near: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    *fault == ValueFault::NotBoolean && htc_base::text::similar_names::distance(&text, near, 1).is_some()
}

/// Returns the value of a port parameter if it is above the largest port.
fn find_impossible_port(name: &[u8], parameter: &RegisteredParameter, value: &[u8]) -> Option<i64> {
    let is_port = parameter.value_type == ValueType::Integer && caseless::ends_with(name, b"PORT");
    let number: i64 = value.to_str().ok().filter(|_| is_port)?.trim().parse().ok()?;
    (number > i64::from(u16::MAX)).then_some(number)
}

/// Reports a lowest port above the highest one (`get_port_range`, get_port_range.cpp).
pub(super) fn check_port_ranges(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for (low, high) in
        [("LOWPORT", "HIGHPORT"), ("IN_LOWPORT", "IN_HIGHPORT"), ("OUT_LOWPORT", "OUT_HIGHPORT")]
    {
        let number = |name: &str| subject.view.int(name).ok().flatten().map(|setting| setting.value);
        let (Some(least), Some(most)) = (number(low), number(high)) else { continue };
        let entry = subject.config.set.find_exact(high.as_bytes());
        if let Some(entry) = entry.filter(|entry| least > most && entry.current.is_user_written()) {
            let message = format!("{high} ({most}) is below {low} ({least}): daemons use no range of ports");
            let place = Some((0, entry.current.raw.len()));
            let fix = format!("write a number above {least}");
            findings.push(subject.make_finding(LintRule::BadValue, &entry.current, place, message, fix));
        }
    }
}

/// Reports a negative port, because of which daemons use no range of ports: `LOWPORT = 9600-9700` is a subtraction.
fn find_negative_port(entry: &MacroEntry, value: &[u8]) -> Option<(String, Advice)> {
    const NAMES: [&str; 6] =
        ["LOWPORT", "HIGHPORT", "IN_LOWPORT", "IN_HIGHPORT", "OUT_LOWPORT", "OUT_HIGHPORT"];
    let is_port = NAMES.iter().any(|name| caseless::eq(name.as_bytes(), &entry.name));
    let text = value.to_str().ok().filter(|_| is_port)?.trim();
    let range = text.split_once('-').and_then(|(least, most)| {
        let [least, most] = [least, most].map(|port| port.trim().parse::<u32>().ok());
        Some((least?, most?))
    });
    let name = &entry.name;
    let effect = "daemons use no range of ports";
    if let Some((least, most)) = range {
        let prefix = name.to_ascii_uppercase();
        let prefix = prefix.strip_suffix(b"LOWPORT").or_else(|| prefix.strip_suffix(b"HIGHPORT"))?;
        let prefix = prefix.as_bstr();
        let message = format!("{name}: '{text}' is a difference, not a range: {effect}");
        let fix = format!("set {prefix}LOWPORT = {least} and {prefix}HIGHPORT = {most}");
        return Some((message, fix.into()));
    }
    let port: i64 = text.parse().ok()?;
    (port < 0).then(|| {
        (format!("{name}: there is no port {port}: {effect}"), "write a number from 0 to 65535".into())
    })
}

/// Describes a fault of a value, with the correction if it is known.
fn describe_fault(
    name: &BStr,
    parameter: &RegisteredParameter,
    part: &FaultyPart,
    text: &BStr,
) -> (String, Option<Advice>) {
    let (range, fallback) = (describe_range(parameter), describe_fallback(name));
    let stops = format!("daemons exit with an error, tools use {fallback}");
    let did_you_mean = |near: Option<&str>| near.map(|near| Advice::DidYouMean(near.into()));
    match part.fault {
        ValueFault::NotInteger => {
            (format!("{name} must be an integer{range}, not '{text}': {stops}"), suggest_number(name, text))
        }
        ValueFault::NotNumber => {
            (format!("{name} must be a number{range}, not '{text}': {stops}"), suggest_number(name, text))
        }
        ValueFault::OutOfBounds => (format!("{name} must be a 32-bit integer, not {text}: {stops}"), None),
        ValueFault::TooLow(_) | ValueFault::TooHigh(_) => {
            let limits = range.trim_start();
            let limits = limits.strip_prefix("of ").unwrap_or(limits);
            (format!("{name} must be {limits}, not {text}: daemons exit with an error"), None)
        }
        ValueFault::NotBoolean => {
            let words: Vec<&str> = ["true", "false"].into_iter().chain(parameter.words()).collect();
            let (last, first) = words.split_last().unwrap_or((&"", &[]));
            let words = format!("{} or {last}", first.join(", "));
            (format!("{name} must be {words}, not '{text}': {stops}"), suggest_boolean(text))
        }
        ValueFault::NotPort => {
            let message = format!("{name}: '{text}' has a port that is not a number from 0 to 65535");
            (message, Some("write host:9618, or the name alone".into()))
        }
        ValueFault::LonePort => {
            let message = format!("{name} is a list of hosts, and '{text}' is a port");
            (message, Some(format!("write a colon before the port: host:{text}").into()))
        }
        ValueFault::NotPermission => {
            let fix = "write hosts, addresses, networks or user@domain/host, separated by commas".into();
            (format!("{name}: '{text}' is neither a host nor a user"), Some(fix))
        }
        ValueFault::NotTimespan => {
            let fix = "write names and seconds: 1m:60 1h:3600".into();
            (
                format!("{name}: '{text}' is not a name and a number of seconds: daemons exit with an error"),
                Some(fix),
            )
        }
        ValueFault::NotVerbosity => {
            let message = format!("{name}: the verbosity '{text}' is not a number, so it is 1");
            (message, Some("write 1 or 2 after the colon".into()))
        }
        ValueFault::NotSize => {
            let fix = "write a number of bytes, or one with K, M, G or T".into();
            (format!("{name} must be a size, not '{text}'"), Some(fix))
        }
        ValueFault::NotLogSize => {
            let fix = "write a number, or one with a unit: 10 Mb".into();
            (format!("{name} must be the size of a log, not '{text}': daemons exit with an error"), Some(fix))
        }
        ValueFault::TimeNotSize => {
            (format!("{name} must be a size, not the time '{text}': daemons exit with an error"), None)
        }
        ValueFault::NotPeriod => {
            let fix = "write seconds, or a number directly followed by s, m or h: 5m".into();
            (format!("{name} must be a period, not '{text}': the job does not run"), Some(fix))
        }
        ValueFault::NotThrottle => {
            let fix = "write a load, or two: 1.5 to 2.0".into();
            (format!("{name} must be a load or a range of loads, not '{text}': the schedd exits"), Some(fix))
        }
        ValueFault::UnknownWord(near) => {
            let words: Vec<&str> = parameter.words().collect();
            let fix = did_you_mean(near)
                .or_else(|| (!words.is_empty()).then(|| format!("write one of {}", words.join(", ")).into()));
            (format!("'{text}' is not a valid value of {name}{}", describe_effect(name)), fix)
        }
        ValueFault::UnknownDebugLevel(near) => {
            let separate = || text.contains(&b';').then(|| "separate the levels by blanks or commas".into());
            let fix = did_you_mean(near).or_else(separate);
            (format!("{name}: {text} is not a debug level and is ignored"), fix)
        }
        ValueFault::UnknownMethod(near) => {
            (format!("{name}: {text} is not an authentication method and is ignored"), did_you_mean(near))
        }
        ValueFault::UnknownCrypto(near) => {
            (format!("{name}: {text} is not an encryption method and is ignored"), did_you_mean(near))
        }
        ValueFault::UnknownLevel => {
            let inner = text.trim_with(|c| c == '"' || c == '\'');
            let is_quoted = LEVELS.iter().any(|level| caseless::eq(level.as_bytes(), inner));
            let fix = match is_quoted {
                true => Advice::Write(inner.into()),
                false => "write REQUIRED, PREFERRED, OPTIONAL or NEVER".into(),
            };
            (format!("'{text}' is not a valid value of {name}: daemons exit with an error"), Some(fix))
        }
        ValueFault::MisspelledLevel(level) => {
            let message = format!(
                "'{text}' is not a valid value of {name}; only its first letter is significant: {level}"
            );
            (message, Some(suggest_level(text, level)))
        }
        ValueFault::NotRegex => (
            format!("{name} must be a regular expression, not '{text}'"),
            Some("write a valid pattern: close its brackets, and write .* for any text".into()),
        ),
        ValueFault::NotNetwork => {
            let fix = "write an address of four numbers up to 255, and a mask of at most 32 bits".into();
            (format!("{name}: no host has the address '{text}'"), Some(fix))
        }
        ValueFault::NotInterface => {
            let fix = "write an address, the name of an interface, or a pattern: 10.20.*".into();
            (format!("{name}: no interface has the name or address '{text}'"), Some(fix))
        }
        ValueFault::UnbalancedQuotes => {
            let fix = "close each quote; within the double quotes, write \"\" for one".into();
            (
                format!("{name}: the quotes of the environment are not closed, so it cannot be parsed"),
                Some(fix),
            )
        }
        ValueFault::UnquotedEnvironment => {
            let message = format!(
                "{name}: without double quotes only ';' separates variables, so this is one variable"
            );
            (message, Some(Advice::Write(format!("\"{text}\"").into())))
        }
        ValueFault::Semicolon => (
            format!("{name}: ';' does not separate hosts: '{text}' is one name"),
            Some("write a comma".into()),
        ),
        ValueFault::Url => {
            let host = text.split_once_str("://").map_or(&b""[..], |(_, rest)| rest);
            let host = host.split(|byte| b":/".contains(byte)).next().unwrap_or_default();
            let fix = format!("write the name of the host: {}", host.as_bstr());
            (format!("{name} is a list of hosts, not of URLs: '{text}'"), Some(fix.into()))
        }
        ValueFault::NotRounding => {
            let fix = "write a number from 0 to 9, or a percentage: 25%".into();
            (
                format!("{name} must be a number of digits or a percentage, not '{text}': the schedd exits"),
                Some(fix),
            )
        }
        ValueFault::NotStatistics(near) => {
            let fix = did_you_mean(near).or_else(|| Some("write groups with flags: DC:2 SCHEDD:1R".into()));
            (format!("{name}: '{text}' is not a group of statistics with flags: it is ignored"), fix)
        }
        ValueFault::NotTimeFormat => {
            let fix = "write a format of strftime: %Y-%m-%d %H:%M:%S ".into();
            (
                format!(
                    "{name}: '{text}' has no conversion with '%': each message has this text, not the time"
                ),
                Some(fix),
            )
        }
        ValueFault::NotIds => {
            let fix = "write the numbers of a user and a group: 64.64".into();
            (format!("{name} must be two numbers separated by a dot, not '{text}'"), Some(fix))
        }
    }
}

const LEVELS: [&str; 4] = ["REQUIRED", "PREFERRED", "OPTIONAL", "NEVER"];

/// Returns advice about a word for a security level. `read` is the level that daemons derive from its first letter.
fn suggest_level(text: &[u8], read: &str) -> Advice {
    const MIN_LENGTH: usize = 3;
    let upper = text.to_ascii_uppercase();
    let is_slip = upper.len() >= MIN_LENGTH
        && (read.as_bytes().starts_with(&upper)
            || similar_names::distance(&upper, read.as_bytes(), 2).is_some() && upper.len() > MIN_LENGTH);
    let level = match &upper[..] {
        b"YES" | b"TRUE" | b"ON" | b"NEED" | b"NEEDED" | b"MUST" | b"ALWAYS" | b"MANDATORY" => {
            Some("REQUIRED")
        }
        b"NO" | b"FALSE" | b"OFF" | b"NONE" | b"DISABLED" => Some("NEVER"),
        _ => is_slip.then_some(read),
    };
    match level {
        Some(level) if level == read => Advice::Write(level.into()),
        Some(level) => format!("write {level} if that is what '{}' means", text.as_bstr()).into(),
        None => "write REQUIRED, PREFERRED, OPTIONAL or NEVER".into(),
    }
}

/// Returns the consequence of an invalid word, for parameters that do not use their default instead.
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

/// Returns advice about a word that stands for true or false.
pub(super) fn suggest_boolean(text: &[u8]) -> Option<Advice> {
    let lower = text.trim().to_ascii_lowercase();
    let is_near = |word: &[u8]| htc_base::text::similar_names::distance(&lower, word, 2).is_some();
    match &lower[..] {
        b"yes" | b"y" | b"t" | b"on" | b"enable" | b"enabled" => Some(Advice::Write("true".into())),
        b"no" | b"n" | b"f" | b"off" | b"disable" | b"disabled" => Some(Advice::Write("false".into())),
        [_, _, _, ..] if is_near(b"true") => Some(Advice::DidYouMean("true".into())),
        [_, _, _, ..] if is_near(b"false") => Some(Advice::DidYouMean("false".into())),
        _ => None,
    }
}

/// Returns advice about a misspelled `undefined`.
pub(super) fn suggest_undefined(word: &[u8]) -> Option<Advice> {
    const MIN_LENGTH: usize = 7;
    let lower = word.to_ascii_lowercase();
    let is_near = htc_base::text::similar_names::distance(&lower, b"undefined", 2).is_some();
    (is_near && word.len() >= MIN_LENGTH).then(|| Advice::DidYouMean("undefined".into()))
}

/// Returns advice about a number that is in quotes or has a unit or other text around it.
fn suggest_number(name: &[u8], text: &[u8]) -> Option<Advice> {
    let is_plain = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if let Some(rest) = text.strip_prefix(b"=") {
        let number = rest.trim_start_with(|c| c == '=' || c == ' ');
        return is_plain(number).then(|| Advice::Write(number.into()));
    }
    if text.starts_with(b"\"") {
        let inner = text.trim_with(|c| c == '"').trim();
        return Some(match is_plain(inner) {
            true => Advice::Write(inner.into()),
            false => "write it without quotes".into(),
        });
    }
    if let Some(advice) = suggest_digits(text).or_else(|| suggest_period_macro(text)) {
        return Some(advice);
    }
    let end = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let unit = text[end..].trim();
    if end == 0 || unit.is_empty() {
        return None;
    }
    let number = BStr::new(&text[..end]);
    let is_unit = unit.iter().all(u8::is_ascii_alphabetic);
    let is_grouped = unit.first() == Some(&b',')
        && unit[1..]
            .split(|byte| *byte == b',')
            .all(|group| group.len() == 3 && group.iter().all(u8::is_ascii_digit));
    match () {
        () if unit == b"%" => Some(suggest_fraction(name, number)),
        () if is_unit => Some(suggest_in_unit(name, number, unit.as_bstr()).into()),
        () if is_grouped => {
            let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
            Some(format!("write {}", BStr::new(&digits)).into())
        }
        () if matches!(unit, b"," | b";") && is_plain(number) => Some(Advice::Write(number.to_owned())),
        () if matches!(unit, b"," | b";" | b".") => Some(format!("write {number}").into()),
        () => None,
    }
}

/// Returns advice about a percentage for a parameter that may be a fraction.
fn suggest_fraction(name: &[u8], number: &BStr) -> Advice {
    let range = registry::find(name).map(|found| found.range());
    let is_fraction = matches!(range, Some((_, Some(most))) if most <= 1.0);
    let percent = number.to_str().ok().and_then(|number| number.parse::<f64>().ok());
    let detected = [("NUM_CPUS", "DETECTED_CPUS"), ("MEMORY", "DETECTED_MEMORY")]
        .into_iter()
        .find(|(known, _)| caseless::eq(known.as_bytes(), unqualified_name(name)));
    if let (Some((_, detected)), Some(percent)) = (detected, percent) {
        return format!("write $({detected}) * {}", percent / 100.0).into();
    }
    match percent.filter(|percent| is_fraction && (0.0..=100.0).contains(percent)) {
        Some(percent) => Advice::Write(format!("{}", percent / 100.0).into()),
        None => "write a number: a percentage is not possible here".into(),
    }
}

/// Returns the correction of `5 * MINUTE`, in which MINUTE must be a reference to the macro.
fn suggest_period_macro(text: &[u8]) -> Option<Advice> {
    let (number, unit) = text.split_once_str("*")?;
    let (number, unit) = (number.trim(), unit.trim().to_ascii_uppercase());
    let name = ["MINUTE", "HOUR", "DAY", "WEEK"]
        .into_iter()
        .find(|name| unit.strip_suffix(b"S").unwrap_or(&unit) == name.as_bytes())?;
    let is_number = !number.is_empty() && number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_number.then(|| Advice::Write(format!("{} * $({name})", number.as_bstr()).into()))
}

/// Returns advice about a number in which a letter is in place of a digit: `1O`, `1l`.
fn suggest_digits(text: &[u8]) -> Option<Advice> {
    let digit = |byte: &u8| match byte {
        b'O' | b'o' => Some(b'0'),
        b'l' | b'I' => Some(b'1'),
        byte => byte.is_ascii_digit().then_some(*byte),
    };
    let digits: Option<Vec<u8>> = text.iter().map(digit).collect();
    let digits = digits.filter(|digits| digits[..] != *text && text[0].is_ascii_digit())?;
    let letter = text.iter().copied().find(u8::is_ascii_alphabetic).map(char::from)?;
    Some(format!("'{letter}' is a letter: write {}", BStr::new(&digits)).into())
}

/// Returns advice about a number with a unit for a parameter.
fn suggest_in_unit(name: &[u8], number: &BStr, word: &BStr) -> String {
    let unit = parameter_unit(name);
    match unit.and_then(|unit| Some((unit, unit.convert(number, word)?))) {
        Some((unit, converted)) => format!("{} is in {}: write {converted}", name.as_bstr(), unit.name),
        None => match unit {
            Some(unit) => format!("write a number of {}", unit.name),
            None => format!("write a plain number, without '{word}'"),
        },
    }
}

/// True if [`check_type`] checks the values of a parameter.
pub(super) fn has_checked_type(parameter: &RegisteredParameter) -> bool {
    !parameter.value_type.is_expression()
        && !matches!(
            parameter.value_type,
            ValueType::String
                | ValueType::Name
                | ValueType::Path
                | ValueType::List
                | ValueType::Route
                | ValueType::Transform
                | ValueType::SlotShares
                | ValueType::SizeOrNumber
        )
}
