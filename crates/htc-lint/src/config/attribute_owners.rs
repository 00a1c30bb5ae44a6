//! Attributes that only jobs have, and attributes that only slots have.
//!
//! The table has the attributes that the manual lists for one kind of ads only. It leaves out what ads of the other kind may
//! hold as well: a claimed slot advertises some attributes of its job (`Claim::publish`, SYSTEM_STARTD_JOB_ATTRS), and the
//! negotiator adds some of the slot's to the job. A site may copy more of them (STARTD_JOB_ATTRS).

use htc_base::text::caseless;
use htc_base::text::table::{compare_key, count_lines, line_starts, table_row};

static TABLE_TEXT: &[u8] = include_bytes!("../data/attribute-owners.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("../data/attribute-owners.tsv"))] =
    line_starts(include_bytes!("../data/attribute-owners.tsv"));

/// Kind of the ads that have an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeOwner {
    Job,
    Slot,
}

/// Attributes of slots whose counterpart in jobs has a similar name.
const COUNTERPARTS: [(&str, &str); 6] = [
    ("EnteredCurrentState", "EnteredCurrentStatus"),
    ("State", "JobStatus"),
    ("Cpus", "RequestCpus"),
    ("Memory", "RequestMemory"),
    ("Disk", "RequestDisk"),
    ("GPUs", "RequestGPUs"),
];

impl AttributeOwner {
    /// Returns the kind of the only ads that have an attribute, or `None` if both kinds may have it.
    pub(super) fn of_attribute(name: &[u8]) -> Option<AttributeOwner> {
        let at = ROW_STARTS.binary_search_by(|&start| compare_key(TABLE_TEXT, start, name)).ok()?;
        match table_row(TABLE_TEXT, &ROW_STARTS, at).field(1) {
            b"job" => Some(AttributeOwner::Job),
            _ => Some(AttributeOwner::Slot),
        }
    }
}

/// True if only slots have an attribute.
pub(crate) fn is_slot_attribute(name: &[u8]) -> bool {
    AttributeOwner::of_attribute(name) == Some(AttributeOwner::Slot)
}

/// True if only jobs have an attribute.
pub(crate) fn is_job_attribute(name: &[u8]) -> bool {
    AttributeOwner::of_attribute(name) == Some(AttributeOwner::Job)
}

/// Returns the attribute of jobs that corresponds to one of slots.
pub(crate) fn job_counterpart(name: &[u8]) -> Option<&'static str> {
    COUNTERPARTS.iter().find(|(slot, _)| caseless::eq(slot.as_bytes(), name)).map(|(_, job)| *job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::known_attributes::is_exact_attribute;
    use bstr::ByteSlice;

    #[test]
    fn all_names_are_attributes_of_htcondor() {
        let mut last = Vec::new();
        for at in 0..ROW_STARTS.len() {
            let row = table_row(TABLE_TEXT, &ROW_STARTS, at);
            let name = row.key();
            assert!(is_exact_attribute(name), "{}", name.as_bstr());
            assert!(name.to_ascii_lowercase() > last, "{} is not sorted", name.as_bstr());
            assert!([&b"job"[..], b"slot"].contains(&row.field(1)), "{}", name.as_bstr());
            last = name.to_ascii_lowercase();
        }
    }

    #[test]
    fn attributes_of_both_kinds_of_ads_have_no_owner() {
        let owner = |name: &str| AttributeOwner::of_attribute(name.as_bytes());
        assert_eq!(owner("Owner"), Some(AttributeOwner::Job));
        assert_eq!(owner("numjobstarts"), Some(AttributeOwner::Job));
        assert_eq!(owner("TotalTimeClaimedBusy"), Some(AttributeOwner::Slot));
        for name in
            ["ImageSize", "JobUniverse", "RemoteOwner", "AccountingGroup", "Name", "MyType", "DiskUsage"]
        {
            assert_eq!(owner(name), None, "{name}");
        }
    }
}
