//! Values of options: times, seconds, `NAME=VALUE`, event targets.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::classad::stream::AdForm;
use crate::config::statement;
use crate::quirks::QuirkMode;

/// Target of the event stream (`--events`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventTarget {
    /// File to which events are appended.
    File(PathBuf),
    /// Number of an open descriptor.
    Descriptor(u32),
}

/// Parses a time: seconds since the epoch, or a date such as `2026-11-21T07:00:00Z`. Returns microseconds
/// since the epoch.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    let expected = "expected seconds since 1970 or a time such as 2026-11-21T07:00:00Z";
    if let Ok(seconds) = text.parse::<f64>() {
        let micros = seconds * 1e6;
        return if micros.is_finite() && micros.abs() < 9e18 {
            Ok(micros as i64)
        } else {
            Err(expected.to_owned())
        };
    }
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Ok(stamp.as_microsecond());
    }
    let local = text.parse::<jiff::civil::DateTime>().map_err(|_| expected.to_owned())?;
    let zoned = local.to_zoned(jiff::tz::TimeZone::system()).map_err(|_| expected.to_owned())?;
    Ok(zoned.timestamp().as_microsecond())
}

/// Parses a non-negative number of seconds, which may have a fraction or one of the suffixes s, m, h, d.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let expected = "expected a number of seconds, such as 30, 0.5 or 5m";
    let (number, factor) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1.0),
        Some(b'm') => (&text[..text.len() - 1], 60.0),
        Some(b'h') => (&text[..text.len() - 1], 3600.0),
        Some(b'd') => (&text[..text.len() - 1], 86400.0),
        _ => (text, 1.0),
    };
    let value = number.parse::<f64>().map_err(|_| expected.to_owned())? * factor;
    Duration::try_from_secs_f64(value).map_err(|_| expected.to_owned())
}

/// Parses `NAME=VALUE`; the value may be empty and contain further `=`.
pub(crate) fn parse_assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim_start().to_owned()))
        }
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Parses `NAME=VALUE` with a name that is valid in a configuration file.
pub(crate) fn parse_param(text: &str) -> Result<(String, String), String> {
    let (name, value) = parse_assignment(text)?;
    if statement::is_valid_name(name.as_bytes()) {
        Ok((name, value))
    } else {
        Err(format!("'{name}' is not a valid parameter name: use letters, digits, '_', '.' and '/'"))
    }
}

/// Returns the parser for the values of `--quirks`.
pub(crate) fn quirks_parser() -> impl TypedValueParser<Value = QuirkMode> {
    PossibleValuesParser::new(["none", "reference"])
        .map(|word| if word == "reference" { QuirkMode::Reference } else { QuirkMode::Manual })
}

/// Parses `FILE` or `fd:N`.
pub(crate) fn parse_event_target(text: &str) -> Result<EventTarget, String> {
    match text.strip_prefix("fd:") {
        Some(number) => {
            let expected = "expected fd:N with the number of an open descriptor, such as fd:1";
            number.parse().map(EventTarget::Descriptor).map_err(|_| expected.to_owned())
        }
        None if text.is_empty() => Err("expected a file name or fd:N".to_owned()),
        None => Ok(EventTarget::File(PathBuf::from(text))),
    }
}

/// Parses the value of `--from`.
pub(crate) fn parse_form(text: &str) -> Result<AdForm, String> {
    AdForm::from_name(text).ok_or_else(|| "expected long, json, jsonl, xml, new or newl".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_or_dates() {
        assert_eq!(parse_time("1.5"), Ok(1_500_000));
        assert_eq!(parse_time("1970-01-01T00:01:00Z"), Ok(60_000_000));
        assert!(parse_time("1970-01-01 00:01:00").is_ok());
        for bad in ["", "soon", "nan", "1e300"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn seconds_may_have_a_unit_and_are_never_negative() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_seconds("5m"), Ok(Duration::from_secs(300)));
        for bad in ["", "m", "-1", "nan", "inf", "1e400", "5 m"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn assignments_are_split_at_the_first_equals_sign() {
        assert_eq!(parse_assignment("A = b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(parse_assignment("A="), Ok(("A".into(), "".into())));
        assert!(parse_assignment("A").is_err() && parse_assignment("=b").is_err());
    }

    #[test]
    fn parameters_have_names_that_files_can_set() {
        assert_eq!(parse_param("STARTD.A/b_1=x y"), Ok(("STARTD.A/b_1".into(), "x y".into())));
        for bad in ["a b=7", "a-b=7", "$(A)=7", "A+=7", "=7", "A"] {
            assert!(parse_param(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn events_go_to_a_file_or_a_descriptor() {
        assert_eq!(parse_event_target("fd:1"), Ok(EventTarget::Descriptor(1)));
        assert_eq!(parse_event_target("a:b"), Ok(EventTarget::File("a:b".into())));
        assert!(parse_event_target("fd:x").is_err() && parse_event_target("").is_err());
    }
}
