//! Units, ranges and words of the attributes of slots and jobs.
//!
//! A row of the table is `NAME<tab>unit<tab>least<tab>most<tab>words<tab>sensible`, sorted by name, ignoring case.
//! Words begin with `=` if the attribute has no others, with `~` if these are the usual ones, and with `#` if a number
//! follows each of them. `sensible` is the smallest number with which a policy is likely to compare the attribute: a
//! smaller number above 1 is probably in another unit.

use htc_base::text::table::{compare_key, count_lines, line_starts, table_row};

static TABLE_TEXT: &[u8] = include_bytes!("../data/attribute-facts.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("../data/attribute-facts.tsv"))] =
    line_starts(include_bytes!("../data/attribute-facts.tsv"));

/// Unit of the value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeUnit {
    Bytes,
    KiB,
    MiB,
    Seconds,
    /// Minutes since midnight.
    MinuteOfDay,
    /// Seconds since 1970.
    Epoch,
    /// Seconds since 1970, at a time in the future.
    Expiry,
}

impl AttributeUnit {
    /// Returns the number of bytes in one unit, or `None` if it is not a unit of size.
    pub(super) fn bytes_per_unit(self) -> Option<f64> {
        match self {
            AttributeUnit::Bytes => Some(1.0),
            AttributeUnit::KiB => Some(1024.0),
            AttributeUnit::MiB => Some(1_048_576.0),
            _ => None,
        }
    }

    /// Returns the name of the unit after "in".
    pub(super) fn name(self) -> &'static str {
        match self {
            AttributeUnit::Bytes => "bytes",
            AttributeUnit::KiB => "KiB",
            AttributeUnit::MiB => "MiB",
            AttributeUnit::Seconds => "seconds",
            AttributeUnit::MinuteOfDay => "minutes since midnight",
            AttributeUnit::Epoch | AttributeUnit::Expiry => "seconds since 1970",
        }
    }
}

/// Words that are values of a string attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeWords {
    /// The attribute has no other value.
    All(&'static str),
    /// Other values are possible.
    Usual(&'static str),
    /// A number follows each word; other values are possible.
    Numbered(&'static str),
}

impl AttributeWords {
    /// Returns the words of the table's column, without the mark before them.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        let (AttributeWords::All(text) | AttributeWords::Usual(text) | AttributeWords::Numbered(text)) = self;
        text.split('|')
    }
}

/// Facts about one attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttributeFacts {
    pub(super) unit: Option<AttributeUnit>,
    /// Smallest value, if there is one.
    pub(super) least: Option<f64>,
    /// Largest value, if there is one.
    pub(super) most: Option<f64>,
    pub(super) words: Option<AttributeWords>,
    /// Smallest number with which a policy is likely to compare the attribute: a smaller number above 1 is probably in
    /// another unit.
    pub(super) sensible: Option<f64>,
}

/// Returns the facts about an attribute of HTCondor.
pub(super) fn find_facts(name: &[u8]) -> Option<AttributeFacts> {
    let at = ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok()?;
    let row = table_row(TABLE_TEXT, &ROW_STARTS, at);
    let unit = match row.field(1) {
        b"B" => Some(AttributeUnit::Bytes),
        b"KiB" => Some(AttributeUnit::KiB),
        b"MiB" => Some(AttributeUnit::MiB),
        b"s" => Some(AttributeUnit::Seconds),
        b"minute-of-day" => Some(AttributeUnit::MinuteOfDay),
        b"epoch" => Some(AttributeUnit::Epoch),
        b"expiry" => Some(AttributeUnit::Expiry),
        _ => None,
    };
    let number = |field: usize| std::str::from_utf8(row.field(field)).ok()?.parse().ok();
    let words = std::str::from_utf8(row.field(4)).ok().and_then(|text| {
        text.strip_prefix('=')
            .map(AttributeWords::All)
            .or_else(|| text.strip_prefix('~').map(AttributeWords::Usual))
            .or_else(|| text.strip_prefix('#').map(AttributeWords::Numbered))
    });
    Some(AttributeFacts { unit, least: number(2), most: number(3), words, sensible: number(5) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::known_attributes::is_exact_attribute;

    #[test]
    fn the_table_is_sorted_and_has_attributes_of_htcondor() {
        let names: Vec<_> =
            (0..ROW_STARTS.len()).map(|at| table_row(TABLE_TEXT, &ROW_STARTS, at).key().to_vec()).collect();
        assert!(names.is_sorted_by(|a, b| a.to_ascii_lowercase() < b.to_ascii_lowercase()));
        for name in &names {
            assert!(is_exact_attribute(name), "{}", String::from_utf8_lossy(name));
        }
        let clock = find_facts(b"clockmin").unwrap();
        assert_eq!((clock.least, clock.most), (Some(0.0), Some(1439.0)));
        assert_eq!(find_facts(b"DiskUsage").unwrap().unit, Some(AttributeUnit::KiB));
        assert!(find_facts(b"Foo").is_none());
    }
}
