//! Purposes of the parameters of hooks, slots, cron jobs and the router, in one sentence each.
//!
//! The texts are our own. HTCondor's table has texts for some parameters, which are not repeated here.

use htc_base::text::table::{compare_key, count_lines, line_starts, matches_family_pattern, table_row};

static TABLE_TEXT: &[u8] = include_bytes!("data/descriptions.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("data/descriptions.tsv"))] =
    line_starts(include_bytes!("data/descriptions.tsv"));

/// Purpose of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// One sentence.
    pub text: &'static str,
    /// True if HTCondor's own table describes the parameter as well, so that `-info` prints a description of it.
    pub in_table: bool,
}

/// Returns the description of a name, or else that of the longest pattern that matches it
/// (`*_HOOK_FETCH_WORK`). A prefix up to the first dot is ignored.
pub fn find_description(name: &[u8]) -> Option<Description> {
    let name = memchr::memchr(b'.', name).map_or(name, |dot| &name[dot + 1..]);
    let found =
        ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok().or_else(|| {
            let key = |index: &usize| table_row(TABLE_TEXT, &ROW_STARTS, *index).key();
            let patterns =
                (0..ROW_STARTS.len()).filter(|index| memchr::memchr2(b'*', b'#', key(index)).is_some());
            patterns
                .filter(|index| matches_family_pattern(key(index), name))
                .max_by_key(|index| key(index).len())
        })?;
    let row = table_row(TABLE_TEXT, &ROW_STARTS, found);
    let text = std::str::from_utf8(row.field(1)).unwrap_or_default();
    Some(Description { text, in_table: row.field(2) == b"table" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(name: &str) -> Option<&'static str> {
        find_description(name.as_bytes()).map(|found| found.text)
    }

    #[test]
    fn the_table_is_sorted_and_each_row_is_a_sentence() {
        let keys: Vec<_> = (0..ROW_STARTS.len())
            .map(|at| table_row(TABLE_TEXT, &ROW_STARTS, at).key().to_ascii_lowercase())
            .collect();
        assert!(keys.is_sorted() && keys.len() > 100);
        for key in keys {
            let text = find_description(&key).unwrap().text;
            assert!(text.ends_with('.') && text.len() > 20, "{text}");
        }
    }

    #[test]
    fn a_name_has_its_own_text_or_that_of_the_narrowest_pattern() {
        assert!(starts("farm_hook_fetch_work").unwrap().contains("fetch work"));
        assert!(starts("FARM_HOOK_PREPARE_JOB_BEFORE_TRANSFER").unwrap().contains("input files"));
        assert_eq!(starts("SLOT_TYPE_1_START"), starts("slot_type_22_start"));
        assert!(starts("SLOT_TYPE_1").unwrap().contains("resource"));
        assert!(starts("STARTD_CRON_GPU_MODE").unwrap().contains("OneShot"));
        assert!(starts("SLOT1_JOB_HOOK_KEYWORD").unwrap().contains("that slot"));
        assert!(starts("STARTD.START").unwrap().contains("slot accepts a job"));
        assert_eq!(starts("_HOOK_FETCH_WORK"), None);
        assert_eq!(starts("SLOT_TYPE_"), None);
        // A setting of a type that has no text of its own, and a name that is mistyped.
        assert_eq!(starts("SLOT_TYPE_1_PREEMPT"), None);
        assert_eq!(starts("SLOT_TYPE_1_PARTITIONABEL"), None);
        assert_eq!(starts("SLOT_TYPE_X"), None);
        assert_eq!(starts("MY_OWN_KNOB"), None);
    }
}
