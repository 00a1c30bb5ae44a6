//! Level of support of the reference's parameters and job attributes: one row for each name or family.
//!
//! There is a row for every parameter of the reference's table, for every other name that its daemons read,
//! and for every job attribute that startd, starter, shadow and router read. `tests/supported.rs` compares the
//! rows with what the code reads. A row is `NAME<tab>level<tab>readers<tab>behaviour in a pool<tab>neutral
//! value`; the rows are sorted by name, ignoring case. In names `*` stands for any text and `#` for a number.

use htc_base::text::table::{
    compare_key, count_families, count_lines, family_line_numbers, line_starts, matches_family_pattern,
    table_row,
};
use htc_base::text::unqualified_name;

static PARAMETER_TEXT: &[u8] = include_bytes!("supported/parameters.tsv");
static PARAMETER_STARTS: [u32; count_lines(include_bytes!("supported/parameters.tsv"))] =
    line_starts(include_bytes!("supported/parameters.tsv"));
static PARAMETER_FAMILIES: [u32; count_families(PARAMETER_TEXT, &PARAMETER_STARTS)] =
    family_line_numbers(PARAMETER_TEXT, &PARAMETER_STARTS);
static ATTRIBUTE_TEXT: &[u8] = include_bytes!("supported/attributes.tsv");
static ATTRIBUTE_STARTS: [u32; count_lines(include_bytes!("supported/attributes.tsv"))] =
    line_starts(include_bytes!("supported/attributes.tsv"));
static ATTRIBUTE_FAMILIES: [u32; count_families(ATTRIBUTE_TEXT, &ATTRIBUTE_STARTS)] =
    family_line_numbers(ATTRIBUTE_TEXT, &ATTRIBUTE_STARTS);

/// Table of parameters or attributes with their levels of support.
#[derive(Clone, Copy)]
struct SupportTable {
    text: &'static [u8],
    /// Offset of each line in `text`.
    starts: &'static [u32],
    /// Indexes of the lines that are families.
    families: &'static [u32],
}
static PARAMETER_TABLE: SupportTable =
    SupportTable { text: PARAMETER_TEXT, starts: &PARAMETER_STARTS, families: &PARAMETER_FAMILIES };
static ATTRIBUTE_TABLE: SupportTable =
    SupportTable { text: ATTRIBUTE_TEXT, starts: &ATTRIBUTE_STARTS, families: &ATTRIBUTE_FAMILIES };

/// Level of support of a parameter or attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SupportLevel {
    /// The setting has the same effect as in a pool.
    Supported,
    /// The setting has no effect here, because it configures another daemon, the network or logs.
    OutOfScope,
    /// The setting is unsupported; jobs run, and one warning is printed.
    IgnoredWithWarning,
    /// The setting is unsupported, and a job that it would affect does not start.
    RefusesJob,
}

impl SupportLevel {
    const fn support_word(self) -> &'static [u8] {
        match self {
            SupportLevel::Supported => b"supported",
            SupportLevel::OutOfScope => b"elsewhere",
            SupportLevel::IgnoredWithWarning => b"warned",
            SupportLevel::RefusesJob => b"refused",
        }
    }
}

/// One row of a support table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportEntry {
    /// The name, or the pattern of a family.
    pub name: &'static str,
    /// Level of support.
    pub level: SupportLevel,
    /// The daemons that read it in a pool, separated by commas; for a supported name, `$()` if it is only
    /// expanded.
    pub readers: &'static str,
    /// Behaviour in a pool, as a phrase that follows "would".
    pub pool_behavior: &'static str,
    /// Value that has the same effect as leaving the setting out.
    pub neutral_value: &'static str,
}

impl SupportEntry {
    /// Returns true if one of `daemons` reads the setting.
    pub fn is_read_by(&self, daemons: &[&str]) -> bool {
        self.readers.split(',').any(|reader| daemons.contains(&reader))
    }

    /// Describes the row for a parameter or attribute called `name`, or for several names separated by
    /// commas.
    pub fn describe(&self, name: &str) -> String {
        let daemon = self.readers.split(',').next().unwrap_or_default();
        let consequence = match self.level {
            SupportLevel::RefusesJob => ", so jobs that use it do not start",
            SupportLevel::IgnoredWithWarning | SupportLevel::Supported | SupportLevel::OutOfScope => "",
        };
        let verb = if name.contains(", ") { "are" } else { "is" };
        format!(
            "{name} {verb} unsupported here: the {daemon} of a pool would {}{consequence}",
            self.pool_behavior
        )
    }
}

/// Returns the row of a parameter, or else of the longest pattern that matches it. A prefix up to the last
/// dot is ignored, and so is the slot or slot type of the setting, unless such settings have a row of their
/// own.
pub fn find_parameter(name: &[u8]) -> Option<SupportEntry> {
    let name = unqualified_name(name);
    let find = |name: &[u8]| find_entry(PARAMETER_TABLE, name);
    find(name).or_else(|| {
        let of_slot = ["SLOT_TYPE_#_*", "SLOT#_#_*", "SLOT#_*"]
            .iter()
            .filter(|family| matches_family_pattern(family.as_bytes(), name))
            .find_map(|family| {
                let parts = family.matches('_').count();
                name.splitn(parts + 1, |&b| b == b'_').last()
            });
        of_slot.and_then(find)
    })
}

/// Returns the row of a job attribute.
pub fn find_attribute(name: &[u8]) -> Option<SupportEntry> {
    find_entry(ATTRIBUTE_TABLE, name)
}

/// Returns the rows of parameters, by name.
pub fn parameter_entries() -> impl Iterator<Item = SupportEntry> {
    (0..PARAMETER_STARTS.len()).map(|index| parse_entry(PARAMETER_TEXT, &PARAMETER_STARTS, index))
}

/// Returns the rows of job attributes, by name.
pub fn attribute_entries() -> impl Iterator<Item = SupportEntry> {
    (0..ATTRIBUTE_STARTS.len()).map(|index| parse_entry(ATTRIBUTE_TEXT, &ATTRIBUTE_STARTS, index))
}

/// Returns the rows of job attributes with that level. Every starter calls this function, so
/// other rows are not parsed.
pub fn attributes_with_level(level: SupportLevel) -> impl Iterator<Item = SupportEntry> {
    let has_level = move |index: &usize| {
        table_row(ATTRIBUTE_TEXT, &ATTRIBUTE_STARTS, *index).field(1) == level.support_word()
    };
    (0..ATTRIBUTE_STARTS.len())
        .filter(has_level)
        .map(|index| parse_entry(ATTRIBUTE_TEXT, &ATTRIBUTE_STARTS, index))
}

/// Maximum length of a name; a longer one is not looked up.
const MAX_NAME_LENGTH: usize = 1024;

fn find_entry(table: SupportTable, name: &[u8]) -> Option<SupportEntry> {
    let SupportTable { text, starts, families } = table;
    if name.len() > MAX_NAME_LENGTH {
        return None;
    }
    let index = starts.binary_search_by(|&start| compare_key(text, start, name)).ok().or_else(|| {
        let key = |index: &usize| table_row(text, starts, *index).key();
        let families = families.iter().map(|index| *index as usize);
        // The first letter is compared first because most patterns begin with another one.
        let may_match = |index: &usize| {
            let first = text[starts[*index] as usize];
            first == b'*' || name.first().is_some_and(|byte| byte.eq_ignore_ascii_case(&first))
        };
        let families = families.filter(may_match);
        families.filter(|index| matches_family_pattern(key(index), name)).max_by_key(|index| key(index).len())
    })?;
    Some(parse_entry(text, starts, index))
}

fn parse_entry(text: &'static [u8], starts: &[u32], index: usize) -> SupportEntry {
    let row = table_row(text, starts, index);
    let field = |number| std::str::from_utf8(row.field(number)).unwrap_or_default();
    let all = [SupportLevel::Supported, SupportLevel::IgnoredWithWarning, SupportLevel::RefusesJob];
    let level =
        all.into_iter().find(|one| one.support_word() == row.field(1)).unwrap_or(SupportLevel::OutOfScope);
    SupportEntry {
        name: field(0),
        level,
        readers: field(2),
        pool_behavior: field(3),
        neutral_value: field(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level_of(name: &str) -> Option<SupportLevel> {
        find_parameter(name.as_bytes()).map(|row| row.level)
    }

    #[test]
    fn a_setting_has_its_own_row_or_that_of_its_family() {
        assert_eq!(level_of("start"), Some(SupportLevel::Supported));
        assert_eq!(level_of("STARTD.START"), Some(SupportLevel::Supported));
        assert_eq!(level_of("SLOT_TYPE_12_START"), Some(SupportLevel::Supported));
        assert_eq!(level_of("SLOT_TYPE_12"), Some(SupportLevel::Supported));
        assert_eq!(level_of("SLOT3_2_PREEMPT"), Some(SupportLevel::Supported));
        assert_eq!(level_of("SLOT_TYPE_1_CONSUMPTION_POLICY"), Some(SupportLevel::Supported));
        assert_eq!(level_of("FARM_HOOK_FETCH_WORK"), Some(SupportLevel::Supported));
        assert_eq!(level_of("BENCHMARKS_MIPS_EXECUTABLE"), Some(SupportLevel::Supported));
        assert_eq!(level_of("STARTD_CRON_GPU_EXECUTABLE"), Some(SupportLevel::Supported));
        assert_eq!(level_of("NEGOTIATOR_INTERVAL"), Some(SupportLevel::OutOfScope));
        assert_eq!(level_of("MY_OWN_KNOB"), None);
        assert_eq!(find_attribute(b"toolDaemonCmd").map(|row| row.level), Some(SupportLevel::RefusesJob));
    }

    #[test]
    fn rows_are_sorted_and_describe_the_effect_in_a_pool() {
        let sorted = |names: Vec<String>| assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        sorted(parameter_entries().map(|row| row.name.to_ascii_lowercase()).collect());
        sorted(attribute_entries().map(|row| row.name.to_ascii_lowercase()).collect());
        for row in parameter_entries().chain(attribute_entries()) {
            let is_said =
                !row.readers.is_empty() && !row.pool_behavior.is_empty() && !row.pool_behavior.ends_with('.');
            match row.level {
                SupportLevel::IgnoredWithWarning | SupportLevel::RefusesJob => assert!(is_said, "{row:?}"),
                SupportLevel::OutOfScope => assert!(!row.readers.is_empty(), "{row:?}"),
                SupportLevel::Supported => assert!(row.readers.is_empty() || row.readers == "$()", "{row:?}"),
            }
        }
        let texts = [PARAMETER_TEXT, ATTRIBUTE_TEXT].map(|text| std::str::from_utf8(text).unwrap());
        let words: Vec<&str> =
            texts.iter().flat_map(|text| text.lines()).map(|line| line.split('\t').nth(1).unwrap()).collect();
        assert!(words.iter().all(|word| ["supported", "elsewhere", "warned", "refused"].contains(word)));
    }
}
