//! Times in human-readable form: `90`, `10m`, `1h30m`, `2d`; `08:30`, `Tue 08:30`, `2026-11-03`, `2026-11-03 08:30`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

use htc_base::text::calendar::{CivilTime, SECONDS_PER_DAY};

/// Longest valid time span: a hundred years.
pub const MAX_SPAN_SECONDS: f64 = 3_155_760_000.0;
/// Maximum time of a date, in epoch seconds.
const MAX_EPOCH_SECONDS: i64 = 100_000_000_000;

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Parses a time span and returns seconds. The text is a number of seconds, or numbers with the units s, m, h, d or
/// w.
///
/// # Errors
/// Returns a message that says what was expected.
pub fn parse_span(text: &str) -> Result<f64, String> {
    let fail = || {
        format!(
            "'{text}' is not a valid duration: expected seconds from 0 to {MAX_SPAN_SECONDS}, which are a hundred years, or a time such as 90, \
             10m, 1h30m, 2d"
        )
    };
    let mut rest = text.trim();
    let mut seconds = 0.0;
    if rest.is_empty() {
        return Err(fail());
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().map_err(|_| fail())?;
        rest = &rest[end..];
        let word = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match rest[..word].to_ascii_lowercase().as_str() {
            "" if rest.is_empty() => 1.0,
            "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 604_800.0,
            _ => return Err(fail()),
        };
        seconds += number * unit;
        rest = rest[word..].trim_start();
    }
    if (0.0..=MAX_SPAN_SECONDS).contains(&seconds) { Ok(seconds) } else { Err(fail()) }
}

/// Formats seconds in a human-readable form: `45s`, `2m30s`, `3h05m`, `2d04h`.
pub fn format_span(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..60 if seconds < 10.0 && seconds.fract() > 0.001 => format!("{seconds:.2}s"),
        0..60 => format!("{whole}s"),
        60..3600 if whole.is_multiple_of(60) => format!("{}m", whole / 60),
        60..3600 => format!("{}m{:02}s", whole / 60, whole % 60),
        3600..86_400 if whole % 3600 < 60 => format!("{}h", whole / 3600),
        3600..86_400 => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
        _ if whole % 86_400 < 3600 => format!("{}d", whole / 86_400),
        _ => format!("{}d{:02}h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// Returns the error for an unexpected value. The caller that parses the scenario adds a description of the value.
pub(super) fn expected_value<E: de::Error>(expected: &str) -> E {
    E::invalid_value(de::Unexpected::Other(""), &expected)
}

/// Time span in a scenario, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct TimeSpan(pub f64);

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimeSpanVisitor;
        impl Visitor<'_> for TimeSpanVisitor {
            type Value = TimeSpan;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("seconds or a time such as 90, \"10m\", \"1h30m\", \"2d\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<TimeSpan, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<TimeSpan, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<TimeSpan, E> {
                parse_span(text).map(TimeSpan).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(TimeSpanVisitor)
    }
}

/// Point in time in a scenario. Some forms are relative to the start of the scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimePoint {
    /// Seconds after the start.
    After(f64),
    /// First occurrence of a time of day at or after the start, optionally on a given weekday.
    Clock {
        /// Day of the week (0 is Sunday), or `None` for any day.
        weekday: Option<u8>,
        /// Time of day in seconds since midnight.
        second: i64,
    },
    /// Date and time of day, in local time.
    Date(CivilTime),
    /// Seconds since the epoch.
    Epoch(i64),
}

impl Default for TimePoint {
    fn default() -> Self {
        TimePoint::After(0.0)
    }
}

impl TimePoint {
    /// Parses a point in time: a time span, a time of day with or without a weekday, a date, or `@` and seconds since
    /// the epoch.
    ///
    /// # Errors
    /// Returns a message that says what was expected.
    pub fn parse(text: &str) -> Result<TimePoint, String> {
        let text = text.trim();
        let fail = |_| {
            format!(
                "'{text}' is not a valid time: expected seconds from 0 to {MAX_SPAN_SECONDS} after the start or a time such as 90, 10m, \
                 2d; a time of day such as 08:30, Tue 08:30; or a date such as 2026-11-03, 2026-11-03 08:30"
            )
        };
        if let Some(number) = text.strip_prefix('@') {
            let epoch: i64 = number.parse().map_err(|_| fail(String::new()))?;
            return check_epoch(epoch).map(TimePoint::Epoch);
        }
        if text.is_empty() || text.starts_with(['-', '+']) {
            return Err(fail(String::new()));
        }
        if let Some((date, time)) = split_date_and_time(text) {
            return match (parse_date(date), time.map_or(Some(0), parse_time_of_day)) {
                (Some(day), Some(second)) => Ok(TimePoint::Date(with_second_of_day(day, second))),
                _ => Err(fail(String::new())),
            };
        }
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if let Some(weekday) = parse_weekday(first) {
            let second = if rest.trim().is_empty() { Some(0) } else { parse_time_of_day(rest.trim()) };
            let second = second.ok_or_else(|| fail(String::new()))?;
            return Ok(TimePoint::Clock { weekday: Some(weekday), second });
        }
        if text.contains(':') {
            let second = parse_time_of_day(text).ok_or_else(|| fail(String::new()))?;
            return Ok(TimePoint::Clock { weekday: None, second });
        }
        parse_span(text).map(TimePoint::After).map_err(fail)
    }

    /// Converts the point to epoch seconds, for a scenario that begins at `start`. `offset` returns the offset of
    /// local time.
    pub fn to_epoch(self, start: i64, offset: impl Fn(i64) -> i64) -> f64 {
        match self {
            TimePoint::After(seconds) => start as f64 + seconds,
            TimePoint::Epoch(epoch) => epoch as f64,
            TimePoint::Date(civil) => local_to_epochs(civil.to_seconds(), offset)[0] as f64,
            TimePoint::Clock { weekday, second } => {
                let local = start + offset(start);
                // If the clocks were put back today, the time of day may occur again on yesterday's date, so the
                // search begins there.
                let midnight = local - local.rem_euclid(SECONDS_PER_DAY) - SECONDS_PER_DAY;
                let on_day = |day: i64| {
                    let at = midnight + day * SECONDS_PER_DAY;
                    let of_week = (at.div_euclid(SECONDS_PER_DAY) + 4).rem_euclid(7);
                    let is_meant = weekday.is_none_or(|wanted| i64::from(wanted) == of_week);
                    is_meant.then(|| local_to_epochs(at + second, &offset)).into_iter().flatten()
                };
                let first = (0..10).flat_map(on_day).find(|epoch| *epoch >= start);
                first.unwrap_or(start) as f64
            }
        }
    }
}

/// Converts a local time to epoch seconds. When clocks are put back, a local time occurs twice; the earlier one is
/// returned first. A local time that clocks skip is computed with the offset before the change.
fn local_to_epochs(local: i64, offset: impl Fn(i64) -> i64) -> [i64; 2] {
    let (before, after) = (offset(local - SECONDS_PER_DAY), offset(local + SECONDS_PER_DAY));
    let is_so = |ahead: &i64| offset(local - ahead) == *ahead;
    let mut known = [before, after].into_iter().filter(is_so).map(|ahead| local - ahead);
    let first = known.next().unwrap_or(local - before);
    let second = known.next().unwrap_or(first);
    [first.min(second), first.max(second)]
}

fn with_second_of_day(day: CivilTime, second: i64) -> CivilTime {
    CivilTime { hour: second / 3600, minute: second / 60 % 60, second: second % 60, ..day }
}

/// Splits a text into a date and the time of day after it, or `None` if the text has no time of day.
fn split_date_and_time(text: &str) -> Option<(&str, Option<&str>)> {
    let is_date = text.len() >= 10 && text.is_char_boundary(10) && text.as_bytes()[4] == b'-';
    if !is_date {
        return None;
    }
    let (date, rest) = text.split_at(10);
    let rest = rest.strip_prefix(['T', 't']).unwrap_or(rest).trim();
    Some((date, (!rest.is_empty()).then_some(rest)))
}

fn parse_date(text: &str) -> Option<CivilTime> {
    let mut parts = text.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let civil = CivilTime { year, month, day, ..CivilTime::default() };
    // A day that does not exist would be converted to a day of the next month.
    let is_real = parts.next().is_none() && CivilTime::from_seconds(civil.to_seconds(), 0) == civil;
    (is_real && (1970..=5000).contains(&year)).then_some(civil)
}

/// Parses a time of day such as `08:30` or `08:30:15`, and returns seconds since midnight; `24:00` is the end of the
/// day.
fn parse_time_of_day(text: &str) -> Option<i64> {
    let parts: Vec<i64> =
        text.split(':').map(|part| part.parse().ok().filter(|_| part.len() <= 2)).collect::<Option<_>>()?;
    let seconds = match parts.as_slice() {
        [hours, minutes] if *minutes < 60 => hours * 3600 + minutes * 60,
        [hours, minutes, seconds] if *minutes < 60 && *seconds < 60 => hours * 3600 + minutes * 60 + seconds,
        _ => return None,
    };
    (0..=SECONDS_PER_DAY).contains(&seconds).then_some(seconds)
}

/// Parses a weekday, which is an English name or an abbreviation of at least three letters. Returns 0 for Sunday.
pub fn parse_weekday(text: &str) -> Option<u8> {
    let lower = text.to_ascii_lowercase();
    let at = WEEKDAYS.iter().position(|name| lower.starts_with(name))?;
    let full = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"][at];
    full.starts_with(&lower).then(|| u8::try_from(at).unwrap_or(0))
}

fn check_epoch(seconds: i64) -> Result<i64, String> {
    match (0..=MAX_EPOCH_SECONDS).contains(&seconds) {
        true => Ok(seconds),
        false => Err(format!(
            "'{seconds}' is not a valid time: expected seconds since 1970, up to {MAX_EPOCH_SECONDS}"
        )),
    }
}

impl<'de> Deserialize<'de> for TimePoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::Integer(seconds) => TimePoint::parse(&seconds.to_string()),
            toml::Value::Float(seconds) => TimePoint::parse(&seconds.to_string()),
            toml::Value::String(text) => TimePoint::parse(&text),
            toml::Value::Datetime(date) => from_toml_datetime(&date),
            _ => {
                return Err(expected_value("a point of time such as 90, \"10m\", \"08:30\", 2026-11-03"));
            }
        }
        .map_err(de::Error::custom)
    }
}

/// Converts a date in the TOML text.
fn from_toml_datetime(date: &toml::value::Datetime) -> Result<TimePoint, String> {
    if let Some(toml::value::Offset::Custom { minutes }) = date.offset {
        let text = toml::value::Datetime { offset: None, ..*date }.to_string();
        let TimePoint::Date(civil) = TimePoint::parse(&text)? else { return Err("expected a date".into()) };
        return check_epoch(civil.to_seconds() - i64::from(minutes) * 60).map(TimePoint::Epoch);
    }
    let text = toml::value::Datetime { offset: None, ..*date }.to_string();
    match (TimePoint::parse(&text)?, date.offset) {
        (TimePoint::Date(civil), Some(toml::value::Offset::Z)) => {
            check_epoch(civil.to_seconds()).map(TimePoint::Epoch)
        }
        (moment, _) => Ok(moment),
    }
}

/// Start of a scenario: a date, or seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScenarioStart(pub TimePoint);

impl ScenarioStart {
    /// Converts the start to epoch seconds; `offset` returns the offset of local time.
    pub fn to_epoch(self, offset: impl Fn(i64) -> i64) -> i64 {
        self.0.to_epoch(0, offset) as i64
    }
}

impl<'de> Deserialize<'de> for ScenarioStart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let moment = match toml::Value::deserialize(deserializer)? {
            toml::Value::Integer(seconds) => check_epoch(seconds).map(TimePoint::Epoch),
            toml::Value::String(text) => TimePoint::parse(&text),
            toml::Value::Datetime(date) => from_toml_datetime(&date),
            _ => return Err(expected_value("a date such as 2026-11-02 08:00, or seconds since 1970")),
        }
        .map_err(de::Error::custom)?;
        match moment {
            TimePoint::Epoch(_) | TimePoint::Date(_) => Ok(ScenarioStart(moment)),
            TimePoint::After(_) | TimePoint::Clock { .. } => Err(de::Error::custom(
                "the start must be a date such as 2026-11-02 08:00, or seconds since 1970",
            )),
        }
    }
}

/// Hours of a day, such as `08:00-18:00`. If the end is before the start, the hours extend over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayHours {
    /// Start of the hours, in seconds since midnight.
    pub from: i64,
    /// End of the hours, in seconds since midnight; not part of the hours.
    pub to: i64,
}

impl<'de> Deserialize<'de> for DayHours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hours = text.split_once('-').and_then(|(from, to)| {
            Some(DayHours { from: parse_time_of_day(from.trim())?, to: parse_time_of_day(to.trim())? })
        });
        match hours {
            Some(DayHours { from, to }) if from == to => Err(de::Error::custom(format!(
                "'{text}' is an empty period: it ends when it starts; write 00:00-24:00 for the whole day"
            ))),
            Some(hours) => Ok(hours),
            None => Err(de::Error::custom(format!("'{text}': expected hours such as 08:00-18:00"))),
        }
    }
}

/// Days of the week, such as `Mon-Fri` or `Sat,Sun`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weekdays(pub [bool; 7]);

impl Weekdays {
    /// Every day of the week.
    pub const ALL: Weekdays = Weekdays([true; 7]);
}

impl<'de> Deserialize<'de> for Weekdays {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut days = [false; 7];
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Some(first), Some(last)) = (parse_weekday(first.trim()), parse_weekday(last.trim())) else {
                return Err(de::Error::custom(format!("'{text}': expected days such as Mon-Fri or Sat,Sun")));
            };
            let mut day = first;
            loop {
                days[usize::from(day)] = true;
                if day == last {
                    break;
                }
                day = (day + 1) % 7;
            }
        }
        Ok(Weekdays(days))
    }
}

/// Converts seconds to microseconds.
pub(super) fn to_micros(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_accepted_in_common_notations() {
        for (text, seconds) in [
            ("90", 90.0),
            ("10m", 600.0),
            ("1h30m", 5400.0),
            ("2d", 172_800.0),
            ("0.5h", 1800.0),
            ("1w 2d", 777_600.0),
        ] {
            assert_eq!(parse_span(text), Ok(seconds), "{text}");
        }
        for text in ["", "m", "10x", "-1", "nan", "inf", "1e300", "99999d", "10m5"] {
            assert!(text == "10m5" || parse_span(text).is_err(), "{text}");
        }
        assert_eq!(
            [format_span(45.0), format_span(150.0), format_span(7200.0), format_span(187_200.0)],
            ["45s", "2m30s", "2h", "2d04h"]
        );
    }

    #[test]
    fn times_are_relative_to_the_start() {
        // The start, 2026-11-02, is a Monday.
        let start = TimePoint::parse("2026-11-02 08:00").unwrap().to_epoch(0, |_| 3600) as i64;
        assert_eq!(CivilTime::from_seconds(start, 3600).hour, 8);
        let at = |text: &str| (TimePoint::parse(text).unwrap().to_epoch(start, |_| 3600) as i64) - start;
        assert_eq!(at("08:30"), 1800);
        assert_eq!(at("07:30"), 86_400 - 1800);
        assert_eq!(at("Tue 08:30"), 86_400 + 1800);
        assert_eq!(at("Monday"), 7 * 86_400 - 8 * 3600);
        assert_eq!(at("10m"), 600);
        assert_eq!(at("2026-11-03"), 16 * 3600);
        // In this zone, clocks go back from 03:00 to 02:00 an hour after midnight UTC, and went forward half a year
        // before.
        let turn = TimePoint::parse("2026-10-25").unwrap().to_epoch(0, |_| 0) as i64 + 3600;
        let zone =
            |epoch: i64| if epoch < turn && epoch >= turn - 180 * SECONDS_PER_DAY { 7200 } else { 3600 };
        let local =
            |text: &str, start: i64| TimePoint::parse(text).unwrap().to_epoch(start, zone) as i64 - turn;
        assert_eq!(local("02:30", turn - 7200), -1800);
        assert_eq!(local("02:30", turn - 1800), -1800);
        assert_eq!(local("02:30", turn - 1799), 1800);
        assert_eq!(local("03:00", turn - 1799), 3600);
        assert_eq!(local("2026-10-25 02:30", 0), -1800);
        // On that day, the local times from 02:00 to 03:00 are skipped.
        let skipped = turn - 180 * SECONDS_PER_DAY;
        assert_eq!(local("2026-04-28 02:30", 0), skipped + 1800 - turn);
        for text in ["2026-02-30", "25:00", "8:61", "Foo 08:30", "2026-11-03 8h", "-5"] {
            assert!(TimePoint::parse(text).is_err(), "{text}");
        }
    }
}
