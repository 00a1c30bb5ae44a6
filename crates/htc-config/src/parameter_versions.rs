//! Versions of HTCondor that read a parameter.
//!
//! They come from `param_info.in` at the tags of all releases from 8.2 to 25.14. The first version of a parameter is
//! the release from which on every release has a row for it; its last version is the last release that has a row. The
//! rows of 8.2 are the oldest complete ones. A parameter that an older release reads without a row (`param("NAME")` in
//! its source) has no first version here.
//!
//! A row of the table is `NAME<tab>since<tab>until`; rows are sorted by name, ignoring case. `since` is empty if the
//! parameter is older than the table, `until` if 25.14 reads it.

use std::fmt;

use htc_base::text::table::{compare_key, count_lines, line_starts, table_row};
use htc_base::text::unqualified_name;

static TABLE_TEXT: &[u8] = include_bytes!("data/versions.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("data/versions.tsv"))] =
    line_starts(include_bytes!("data/versions.tsv"));

/// First two numbers of a version of HTCondor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// First number, 25 in 25.14.
    pub major: u32,
    /// Second number, 14 in 25.14.
    pub minor: u32,
}

impl Release {
    fn parse(text: &[u8]) -> Option<Self> {
        let (major, minor) = std::str::from_utf8(text).ok()?.split_once('.')?;
        Some(Release { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

/// Versions that read a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterVersions {
    /// The first version, or `None` if it is 8.2 or older, or not known.
    pub since: Option<Release>,
    /// The last version, or `None` if 25.14 reads the parameter.
    pub until: Option<Release>,
}

/// Returns the versions that read a parameter, or `None` if all versions do, or no version does. A prefix such as
/// `STARTD.` is ignored.
pub fn find(name: &[u8]) -> Option<ParameterVersions> {
    let name = unqualified_name(name);
    let index = ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok()?;
    let row = table_row(TABLE_TEXT, &ROW_STARTS, index);
    Some(ParameterVersions { since: Release::parse(row.field(1)), until: Release::parse(row.field(2)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{defaults, registry};

    #[test]
    fn rows_are_sorted_and_agree_with_the_table_of_25_14() {
        let rows: Vec<(&str, ParameterVersions)> = TABLE_TEXT
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| {
                let name = std::str::from_utf8(line).unwrap().split('\t').next().unwrap();
                (name, find(name.as_bytes()).unwrap())
            })
            .collect();
        assert!(rows.len() > 500 && rows.len() == ROW_STARTS.len());
        for pair in rows.windows(2) {
            assert!(pair[0].0.to_ascii_lowercase() < pair[1].0.to_ascii_lowercase(), "{}", pair[1].0);
        }
        for (name, ParameterVersions { since, until }) in rows {
            assert!(since.is_some() != until.is_some(), "{name}");
            let is_read =
                defaults::find(name.as_bytes()).is_some() || registry::find(name.as_bytes()).is_some();
            assert!(until.is_some() || is_read, "{name}");
        }
    }

    #[test]
    fn parameters_have_the_versions_of_the_release_notes() {
        let release = |major, minor| Some(Release { major, minor });
        let versions = |name: &str| find(name.as_bytes()).map(|found| (found.since, found.until));
        assert_eq!(versions("START"), None);
        assert_eq!(versions("schedd.librarian_database").unwrap().1, None);
        assert!(versions("LIBRARIAN_DATABASE").unwrap().0 > release(25, 0));
        assert_eq!(versions("NO_SUCH_NAME"), None);
    }
}
