//! Event times as logs contain them: a calendar date and time of day, local or UTC.

use super::FormatOptions;
use htc_base::text::calendar;
use htc_base::world::Zone;

/// Calendar time as written in a log. Unless `utc` is true, its meaning in seconds since the epoch depends on the
/// writer's time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventTime {
    /// Year, or `None` in old logs.
    pub year: Option<i32>,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day, 1 to 31.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 60.
    pub second: u8,
    /// Milliseconds, or `None` if they are unknown.
    pub milli: Option<u16>,
    /// True if the time is UTC.
    pub utc: bool,
}

impl EventTime {
    /// Converts a time in microseconds since the epoch to the zone that the options select. Milliseconds are always
    /// kept, because events in the form of ads always show them.
    pub fn from_micros(micros: i64, options: FormatOptions, zone: &Zone) -> Self {
        let seconds = micros.div_euclid(1_000_000);
        let offset = if options.utc { 0 } else { i64::from(zone.offset) };
        let civil = calendar::CivilTime::from_seconds(seconds, offset);
        let part = |value: i64| u8::try_from(value).unwrap_or(0);
        EventTime {
            year: i32::try_from(civil.year).ok(),
            month: part(civil.month),
            day: part(civil.day),
            hour: part(civil.hour),
            minute: part(civil.minute),
            second: part(civil.second),
            milli: u16::try_from(micros.rem_euclid(1_000_000) / 1000).ok(),
            utc: options.utc,
        }
    }

    /// Formats the time as in a text log (`ULogEvent::formatHeader`).
    pub fn to_text(&self, options: FormatOptions) -> String {
        let EventTime { month, day, hour, minute, second, .. } = *self;
        let mut out = match self.year {
            Some(year) if options.iso_date => {
                format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
            }
            _ => format!("{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}"),
        };
        if let (true, Some(milli)) = (options.sub_second, self.milli) {
            out.push_str(&format!(".{milli:03}"));
        }
        if self.utc {
            out.push('Z');
        }
        out
    }

    /// Formats the time as in events in the form of ads: with `T`, and with milliseconds if they are known
    /// (`ULogEvent::toClassAd`).
    pub fn to_iso(&self) -> String {
        let EventTime { month, day, hour, minute, second, .. } = *self;
        let year = self.year.unwrap_or(0);
        // Formats times with the usual numbers of digits without the cost of a format string, because a log has
        // millions of times.
        let mut out = String::with_capacity(24);
        match u32::try_from(year) {
            Ok(year) if year < 10_000 => push_digits(&mut out, year, 4),
            _ => out.push_str(&format!("{year:04}")),
        }
        for (separator, number) in [('-', month), ('-', day), ('T', hour), (':', minute), (':', second)] {
            out.push(separator);
            push_digits(&mut out, number.into(), if number < 100 { 2 } else { 3 });
        }
        if let Some(milli) = self.milli {
            out.push('.');
            push_digits(
                &mut out,
                milli.into(),
                if milli < 1000 {
                    3
                } else if milli < 10_000 {
                    4
                } else {
                    5
                },
            );
        }
        if self.utc {
            out.push('Z');
        }
        out
    }

    /// Converts a UTC time to the local time that the reference shows after reading it; returns any other time
    /// unchanged. `zone` returns the time zone at a number of seconds since the epoch.
    pub fn to_local(self, zone: impl Fn(i64) -> Zone) -> Self {
        let Some(year) = self.year.filter(|_| self.utc) else { return self };
        let civil = calendar::CivilTime {
            year: year.into(),
            month: self.month.into(),
            day: self.day.into(),
            hour: self.hour.into(),
            minute: self.minute.into(),
            second: self.second.into(),
        };
        let seconds = civil.to_seconds();
        let micros = seconds.saturating_mul(1_000_000);
        EventTime { milli: self.milli, ..Self::from_micros(micros, FormatOptions::default(), &zone(seconds)) }
    }

    /// Parses a time in any form that the reference writes, at the start of a text. Returns the time and its length in
    /// bytes.
    pub fn parse(text: &[u8]) -> Option<(Self, usize)> {
        let mut reader = TimeReader { text, at: 0 };
        let first = reader.read_number()?;
        let mut time = EventTime::default();
        if reader.accept_byte(b'-') {
            time.year = i32::try_from(first).ok();
            time.month = reader.read_u8()?;
            reader.accept_byte(b'-').then_some(())?;
        } else {
            time.month = u8::try_from(first).ok()?;
            reader.accept_byte(b'/').then_some(())?;
        }
        time.day = reader.read_u8()?;
        (reader.accept_byte(b' ') || reader.accept_byte(b'T')).then_some(())?;
        time.hour = reader.read_u8()?;
        reader.accept_byte(b':').then_some(())?;
        time.minute = reader.read_u8()?;
        reader.accept_byte(b':').then_some(())?;
        time.second = reader.read_u8()?;
        if reader.accept_byte(b'.') {
            time.milli = Some(reader.read_milliseconds()?);
        }
        time.utc = reader.accept_byte(b'Z');
        Some((time, reader.at))
    }
}

/// Appends a number with this many digits.
pub(super) fn push_digits(out: &mut String, number: u32, digits: u32) {
    for place in (0..digits).rev() {
        let digit = number / 10_u32.pow(place) % 10;
        out.push(char::from_digit(digit, 10).unwrap_or('0'));
    }
}

struct TimeReader<'a> {
    text: &'a [u8],
    at: usize,
}

impl TimeReader<'_> {
    fn read_number(&mut self) -> Option<u32> {
        let digits = self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = self.text.get(self.at..self.at + digits)?;
        self.at += digits;
        std::str::from_utf8(text).ok()?.parse().ok()
    }

    /// Reads any number of digits after a decimal point as milliseconds.
    fn read_milliseconds(&mut self) -> Option<u16> {
        let rest = self.text.get(self.at..)?;
        let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        let digits = rest[..count].iter().chain(std::iter::repeat(&b'0')).take(3);
        (count > 0).then(|| digits.fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
    }

    fn read_u8(&mut self) -> Option<u8> {
        self.read_number().and_then(|value| u8::try_from(value).ok())
    }

    fn accept_byte(&mut self, byte: u8) -> bool {
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_second_keep_their_digits() {
        for (text, milli) in [(".5", 500), (".25Z", 250), (".123", 123), (".123456", 123), (".007", 7)] {
            let text = format!("2026-11-21 00:47:08{text}");
            let (time, length) = EventTime::parse(text.as_bytes()).unwrap();
            assert_eq!((time.milli, length), (Some(milli), text.len()), "{text}");
        }
    }

    #[test]
    fn times_survive_a_round_trip() {
        let zone = Zone { offset: 3600, abbreviation: "CET".into(), daylight_saving: false };
        let micros = 1_795_222_028_506_000;
        for words in ["", "LEGACY", "UTC", "SUB_SECOND", "LEGACY UTC SUB_SECOND"] {
            let options = FormatOptions::parse(words.as_bytes());
            let time = EventTime::from_micros(micros, options, &zone);
            let text = time.to_text(options);
            let (read, length) = EventTime::parse(text.as_bytes()).unwrap();
            assert_eq!(length, text.len());
            assert_eq!(read.to_text(options), text);
        }
    }
}
