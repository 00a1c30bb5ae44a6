//! What of the reference's parameters and job attributes is done here, and what is not: one row for each name or family.
//!
//! Every parameter of the reference's table, every name that its daemons read beside it, and every attribute that startd,
//! starter, shadow and router read of a job has a row; `tests/honoured.rs` holds the rows against what the code reads.
//! What is built later moves by the edit of one line. A row is `NAME<tab>standing<tab>of<tab>pool<tab>idle`, sorted by
//! name without case; in names `*` stands for any text and `#` for a number.

use htc_base::text::bare_name;
use htc_base::text::table::{
    compare_key, count_families, count_lines, families, line_starts, matches_family, row,
};

static PARAMETERS: &[u8] = include_bytes!("honoured/parameters.tsv");
static PARAMETER_STARTS: [u32; count_lines(include_bytes!("honoured/parameters.tsv"))] =
    line_starts(include_bytes!("honoured/parameters.tsv"));
static PARAMETER_FAMILIES: [u32; count_families(PARAMETERS, &PARAMETER_STARTS)] =
    families(PARAMETERS, &PARAMETER_STARTS);
static ATTRIBUTES: &[u8] = include_bytes!("honoured/attributes.tsv");
static ATTRIBUTE_STARTS: [u32; count_lines(include_bytes!("honoured/attributes.tsv"))] =
    line_starts(include_bytes!("honoured/attributes.tsv"));
static ATTRIBUTE_FAMILIES: [u32; count_families(ATTRIBUTES, &ATTRIBUTE_STARTS)] =
    families(ATTRIBUTES, &ATTRIBUTE_STARTS);

/// A table: its text, where its lines begin, and which of them are of families.
type Table = (&'static [u8], &'static [u32], &'static [u32]);
static OF_PARAMETERS: Table = (PARAMETERS, &PARAMETER_STARTS, &PARAMETER_FAMILIES);
static OF_ATTRIBUTES: Table = (ATTRIBUTES, &ATTRIBUTE_STARTS, &ATTRIBUTE_FAMILIES);

/// What becomes of a parameter or attribute here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It does what it does in a pool.
    Honoured,
    /// It is for something that is not here: another daemon, the network, logs.
    Elsewhere,
    /// It is not done, of which a warning tells once; jobs run.
    Warned,
    /// It is not done, and a job that it would change does not start.
    Refused,
}

impl Standing {
    const fn word(self) -> &'static [u8] {
        match self {
            Standing::Honoured => b"honoured",
            Standing::Elsewhere => b"elsewhere",
            Standing::Warned => b"warned",
            Standing::Refused => b"refused",
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name, or the pattern of a family.
    pub name: &'static str,
    /// What becomes of it here.
    pub standing: Standing,
    /// Who reads it in a pool, parted by commas; of what is honoured `$()` where it is but expanded.
    pub of: &'static str,
    /// What they would do, to be read after "would".
    pub pool: &'static str,
    /// The value that asks for nothing.
    pub idle: &'static str,
}

impl Row {
    /// Whether one of `daemons` reads it.
    pub fn is_of(&self, daemons: &[&str]) -> bool {
        self.of.split(',').any(|of| daemons.contains(&of))
    }

    /// The row in words, for a parameter or attribute called `name`, or several parted by commas.
    pub fn told(&self, name: &str) -> String {
        let of = self.of.split(',').next().unwrap_or_default();
        let then = match self.standing {
            Standing::Refused => ", so that jobs which want it do not start",
            Standing::Warned | Standing::Honoured | Standing::Elsewhere => "",
        };
        let are = if name.contains(", ") { "are" } else { "is" };
        format!("{name} {are} not done here: the {of} of a pool would {}{then}", self.pool)
    }
}

/// The row of a parameter: its own, else that of the longest pattern that it matches. What stands before a last dot does
/// not count, nor the slot or slot type that the setting is for, unless such settings have a row of their own.
pub fn parameter(name: &[u8]) -> Option<Row> {
    let name = bare_name(name);
    let find = |name: &[u8]| find(OF_PARAMETERS, name);
    find(name).or_else(|| {
        let of_slot = ["SLOT_TYPE_#_*", "SLOT#_#_*", "SLOT#_*"]
            .iter()
            .filter(|family| matches_family(family.as_bytes(), name))
            .find_map(|family| {
                let parts = family.matches('_').count();
                name.splitn(parts + 1, |&b| b == b'_').last()
            });
        of_slot.and_then(find)
    })
}

/// The row of an attribute of jobs.
pub fn attribute(name: &[u8]) -> Option<Row> {
    find(OF_ATTRIBUTES, name)
}

/// The rows of parameters, by name.
pub fn parameters() -> impl Iterator<Item = Row> {
    (0..PARAMETER_STARTS.len()).map(|index| read(PARAMETERS, &PARAMETER_STARTS, index))
}

/// The rows of attributes of jobs, by name.
pub fn attributes() -> impl Iterator<Item = Row> {
    (0..ATTRIBUTE_STARTS.len()).map(|index| read(ATTRIBUTES, &ATTRIBUTE_STARTS, index))
}

/// Those of them of which this becomes; each starter asks.
pub fn attributes_that_are(standing: Standing) -> impl Iterator<Item = Row> {
    let is = move |index: &usize| row(ATTRIBUTES, &ATTRIBUTE_STARTS, *index).field(1) == standing.word();
    (0..ATTRIBUTE_STARTS.len()).filter(is).map(|index| read(ATTRIBUTES, &ATTRIBUTE_STARTS, index))
}

/// No name of a family is longer, whatever a site calls its slots, jobs and daemons.
const MAX_NAME: usize = 1024;

fn find((text, starts, families): Table, name: &[u8]) -> Option<Row> {
    if name.len() > MAX_NAME {
        return None;
    }
    let index = starts.binary_search_by(|&start| compare_key(text, start, name)).ok().or_else(|| {
        let key = |index: &usize| row(text, starts, *index).key();
        let families = families.iter().map(|index| *index as usize);
        families.filter(|index| matches_family(key(index), name)).max_by_key(|index| key(index).len())
    })?;
    Some(read(text, starts, index))
}

fn read(text: &'static [u8], starts: &[u32], index: usize) -> Row {
    let row = row(text, starts, index);
    let field = |number| std::str::from_utf8(row.field(number)).unwrap_or_default();
    let all = [Standing::Honoured, Standing::Warned, Standing::Refused];
    let standing = all.into_iter().find(|one| one.word() == row.field(1)).unwrap_or(Standing::Elsewhere);
    Row { name: field(0), standing, of: field(2), pool: field(3), idle: field(4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(name: &str) -> Option<Standing> {
        parameter(name.as_bytes()).map(|row| row.standing)
    }

    #[test]
    fn a_setting_finds_its_own_row_or_that_of_its_family_whoever_it_is_for() {
        assert_eq!(standing("start"), Some(Standing::Honoured));
        assert_eq!(standing("STARTD.START"), Some(Standing::Honoured));
        assert_eq!(standing("SLOT_TYPE_12_START"), Some(Standing::Honoured));
        assert_eq!(standing("SLOT_TYPE_12"), Some(Standing::Honoured));
        assert_eq!(standing("SLOT3_2_PREEMPT"), Some(Standing::Honoured));
        assert_eq!(standing("SLOT_TYPE_1_CONSUMPTION_POLICY"), Some(Standing::Honoured));
        assert_eq!(standing("FARM_HOOK_FETCH_WORK"), Some(Standing::Honoured));
        assert_eq!(standing("BENCHMARKS_MIPS_EXECUTABLE"), Some(Standing::Honoured));
        assert_eq!(standing("STARTD_CRON_GPU_EXECUTABLE"), Some(Standing::Honoured));
        assert_eq!(standing("NEGOTIATOR_INTERVAL"), Some(Standing::Elsewhere));
        assert_eq!(standing("MY_OWN_KNOB"), None);
        assert_eq!(attribute(b"toolDaemonCmd").map(|row| row.standing), Some(Standing::Refused));
    }

    #[test]
    fn rows_are_sorted_and_say_what_a_pool_would_do() {
        let sorted = |names: Vec<String>| assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        sorted(parameters().map(|row| row.name.to_ascii_lowercase()).collect());
        sorted(attributes().map(|row| row.name.to_ascii_lowercase()).collect());
        for row in parameters().chain(attributes()) {
            let is_said = !row.of.is_empty() && !row.pool.is_empty() && !row.pool.ends_with('.');
            match row.standing {
                Standing::Warned | Standing::Refused => assert!(is_said, "{row:?}"),
                Standing::Elsewhere => assert!(!row.of.is_empty(), "{row:?}"),
                Standing::Honoured => assert!(row.of.is_empty() || row.of == "$()", "{row:?}"),
            }
        }
        let texts = [PARAMETERS, ATTRIBUTES].map(|text| std::str::from_utf8(text).unwrap());
        let words: Vec<&str> =
            texts.iter().flat_map(|text| text.lines()).map(|line| line.split('\t').nth(1).unwrap()).collect();
        assert!(words.iter().all(|word| ["honoured", "elsewhere", "warned", "refused"].contains(word)));
    }
}
