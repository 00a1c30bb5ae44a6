//! Units of parameters and of words after numbers.
//!
//! A row of the table is `NAME<tab>unit`, sorted by name, ignoring case. The units are those of the manual, for
//! parameters that are numbers.

use bstr::ByteSlice;
use htc_base::text::table::{compare_key, count_lines, line_starts, table_row};
use htc_base::text::{caseless, unqualified_name};
use htc_config::registry::{self, ValueType};

static TABLE_TEXT: &[u8] = include_bytes!("../data/parameter-units.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("../data/parameter-units.tsv"))] =
    line_starts(include_bytes!("../data/parameter-units.tsv"));

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Seconds or bytes in the unit.
    pub(crate) factor: f64,
    pub(crate) is_time: bool,
    /// Name of the unit after "in".
    pub(crate) name: &'static str,
}

impl Unit {
    pub(crate) const SECONDS: Unit = Unit { factor: 1.0, is_time: true, name: "seconds" };
    pub(crate) const MINUTES: Unit = Unit { factor: 60.0, is_time: true, name: "minutes" };
    pub(crate) const BYTES: Unit = Unit { factor: 1.0, is_time: false, name: "bytes" };
    pub(crate) const KIB: Unit = Unit { factor: 1024.0, is_time: false, name: "KiB" };
    pub(crate) const MIB: Unit = Unit { factor: 1_048_576.0, is_time: false, name: "MiB" };

    /// Converts a number with a unit to this unit, or returns `None` if the word is not a unit of the same kind.
    pub(crate) fn convert(self, number: &[u8], word: &[u8]) -> Option<String> {
        let number: f64 = number.to_str().ok()?.parse().ok()?;
        let factor = find_word(self.is_time, word)?;
        let converted = number * factor / self.factor;
        (converted > 0.0 && (converted.fract() == 0.0 || self.factor > 1.0))
            .then(|| format!("{}", converted.ceil()))
    }

    /// Returns a number with a unit as a calculation in this unit: `24 * 3600` for 24 hours in seconds.
    pub(crate) fn calculation(self, number: &[u8], word: &[u8]) -> Option<String> {
        let factor = find_word(self.is_time, word)? / self.factor;
        let is_plain = self.is_time && factor > 1.0 && factor.fract() == 0.0;
        match is_plain {
            true => Some(format!("{} * {factor}", number.as_bstr())),
            false => self.convert(number, word),
        }
    }
}

/// Words for units of time, with their seconds.
pub(crate) const TIME_WORDS: [(&str, f64); 16] = [
    ("minute", 60.0),
    ("minutes", 60.0),
    ("min", 60.0),
    ("mins", 60.0),
    ("hour", 3600.0),
    ("hours", 3600.0),
    ("hr", 3600.0),
    ("hrs", 3600.0),
    ("h", 3600.0),
    ("day", 86_400.0),
    ("days", 86_400.0),
    ("d", 86_400.0),
    ("week", 604_800.0),
    ("weeks", 604_800.0),
    ("month", 2_592_000.0),
    ("months", 2_592_000.0),
];

/// Words for units of size, with their bytes.
pub(crate) const SIZE_WORDS: [(&str, f64); 12] = [
    ("kb", 1024.0),
    ("kib", 1024.0),
    ("k", 1024.0),
    ("mb", 1_048_576.0),
    ("mib", 1_048_576.0),
    ("m", 1_048_576.0),
    ("gb", 1_073_741_824.0),
    ("gib", 1_073_741_824.0),
    ("g", 1_073_741_824.0),
    ("tb", 1_099_511_627_776.0),
    ("tib", 1_099_511_627_776.0),
    ("t", 1_099_511_627_776.0),
];

/// Words that are treated as units only if it is known whether the unit is one of time or of size.
const MORE_TIME_WORDS: [(&str, f64); 7] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("m", 60.0),
    ("w", 604_800.0),
];
const MORE_SIZE_WORDS: [(&str, f64); 3] = [("b", 1.0), ("byte", 1.0), ("bytes", 1.0)];

/// Returns the seconds or bytes in a unit of this kind.
pub(crate) fn find_word(is_time: bool, word: &[u8]) -> Option<f64> {
    let words: [&[(&str, f64)]; 2] = match is_time {
        true => [&TIME_WORDS, &MORE_TIME_WORDS],
        false => [&SIZE_WORDS, &MORE_SIZE_WORDS],
    };
    let found = words.into_iter().flatten().find(|(known, _)| caseless::eq(known.as_bytes(), word));
    found.map(|(_, factor)| *factor)
}

/// Endings of the names of parameters that are in seconds.
const SECONDS_ENDINGS: [&str; 16] = [
    "_INTERVAL",
    "_TIMEOUT",
    "_LIFETIME",
    "_DELAY",
    "_DURATION",
    "_WORKLIFE",
    "RETIREMENTTIME",
    "VACATETIME",
    "_LEASE",
    "_MAX_TIME",
    "_AGE",
    "_EXPIRATION",
    "_EXPIRE",
    "_BACKOFF_CEILING",
    "_BACKOFF_CONSTANT",
    "FETCHWORKDELAY",
];

/// Returns the unit of a parameter that is one number, or `None` if it is not known.
pub(crate) fn parameter_unit(name: &[u8]) -> Option<Unit> {
    let found = registry::find(name)?;
    let bare = registry::strip_slot_prefix(unqualified_name(name));
    let is_number = matches!(
        found.value_type,
        ValueType::Integer | ValueType::Long | ValueType::Real | ValueType::Number | ValueType::SizeOrNumber
    );
    match () {
        () if found.value_type == ValueType::LogSize => Some(Unit::BYTES),
        () if !is_number => None,
        () => find_in_table(bare).or_else(|| {
            let is_time = SECONDS_ENDINGS.iter().any(|end| caseless::ends_with(bare, end.as_bytes()));
            is_time.then_some(Unit::SECONDS)
        }),
    }
}

fn find_in_table(name: &[u8]) -> Option<Unit> {
    let at = ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok()?;
    match table_row(TABLE_TEXT, &ROW_STARTS, at).field(1) {
        b"s" => Some(Unit::SECONDS),
        b"B" => Some(Unit::BYTES),
        b"KiB" => Some(Unit::KIB),
        b"MiB" => Some(Unit::MIB),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_units_of_parameters() {
        let names: Vec<_> =
            (0..ROW_STARTS.len()).map(|at| table_row(TABLE_TEXT, &ROW_STARTS, at).key().to_vec()).collect();
        assert!(names.is_sorted_by(|a, b| a.to_ascii_lowercase() < b.to_ascii_lowercase()));
        for name in &names {
            assert!(find_in_table(name).is_some(), "{}", name.as_bstr());
            assert!(registry::find(name).is_some(), "{}", name.as_bstr());
        }
        assert_eq!(parameter_unit(b"PRIORITY_HALFLIFE"), Some(Unit::SECONDS));
        assert_eq!(parameter_unit(b"Memory"), Some(Unit::MIB));
        assert_eq!(parameter_unit(b"NUM_CPUS"), None);
    }

    #[test]
    fn numbers_are_converted() {
        for (unit, number, word, expected) in [
            (Unit::MIB, "16", "GB", Some("16384")),
            (Unit::SECONDS, "5", "m", Some("300")),
            (Unit::MIB, "10", "m", Some("10")),
            (Unit::SECONDS, "1.5", "hours", Some("5400")),
            (Unit::KIB, "1", "TB", Some("1073741824")),
            (Unit::SECONDS, "16", "GB", None),
            (Unit::BYTES, "0.3", "b", None),
        ] {
            assert_eq!(
                unit.convert(number.as_bytes(), word.as_bytes()).as_deref(),
                expected,
                "{number}{word}"
            );
        }
        assert_eq!(Unit::SECONDS.calculation(b"24", b"h").as_deref(), Some("24 * 3600"));
        assert_eq!(Unit::MIB.calculation(b"2", b"G").as_deref(), Some("2048"));
    }
}
