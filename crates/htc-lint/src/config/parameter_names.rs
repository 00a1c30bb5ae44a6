//! Names of parameters: those of the table, others that daemons read, and lists.

use bstr::BString;

use htc_base::text::table::{count_lines, line_starts};
use htc_base::text::{caseless, list, unqualified_name};
use htc_config::{ConfigView, defaults};

static OTHER_NAMES: &[u8] = include_bytes!("../data/other-names.txt");
static OTHER_NAME_STARTS: [u32; count_lines(include_bytes!("../data/other-names.txt"))] =
    line_starts(include_bytes!("../data/other-names.txt"));

/// Names of daemons and tools that are part of parameter names.
pub const DAEMON_NAMES: [&str; 34] = [
    "MASTER",
    "COLLECTOR",
    "NEGOTIATOR",
    "SCHEDD",
    "STARTD",
    "STARTER",
    "SHADOW",
    "GRIDMANAGER",
    "KBDD",
    "CREDD",
    "HAD",
    "REPLICATION",
    "TRANSFERER",
    "JOB_ROUTER",
    "ROOSTER",
    "SHARED_PORT",
    "DEFRAG",
    "GANGLIAD",
    "VM_GAHP",
    "TOOL",
    "SUBMIT",
    "DAGMAN",
    "PREEN",
    "ANNEXD",
    "C_GAHP",
    "C_GAHP_WORKER_THREAD",
    "EC2_GAHP",
    "GCE_GAHP",
    "PROCD",
    "VIEW_SERVER",
    "CREDMON_OAUTH",
    "CREDMON_KRB",
    "ADSTASH",
    "PLACEMENTD",
];

/// Subsystems whose names are prefixes of parameters, each with its name in the registry.
pub(super) const SUBSYSTEMS: [(&str, &str); 14] = [
    ("MASTER", "master"),
    ("COLLECTOR", "collector"),
    ("NEGOTIATOR", "negotiator"),
    ("SCHEDD", "schedd"),
    ("STARTD", "startd"),
    ("STARTER", "starter"),
    ("SHADOW", "shadow"),
    ("GRIDMANAGER", "gridmanager"),
    ("JOB_ROUTER", "job_router"),
    ("DEFRAG", "defrag"),
    ("GANGLIAD", "gangliad"),
    ("ROOSTER", "rooster"),
    ("KBDD", "kbdd"),
    ("CREDD", "credd"),
];

/// Returns true if the table or the daemons' sources have a parameter with exactly this name.
pub(super) fn is_parameter(name: &[u8]) -> bool {
    defaults::find_qualified(name).is_some()
        || htc_config::detected::is_detected(name)
        || OTHER_NAME_STARTS.binary_search_by(|&start| caseless::cmp(name_at(start), name)).is_ok()
}

fn name_at(start: u32) -> &'static [u8] {
    let rest = &OTHER_NAMES[start as usize..];
    &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
}

/// Returns the parameters without an entry in the table.
pub(super) fn other_names() -> impl Iterator<Item = &'static [u8]> {
    OTHER_NAME_STARTS.iter().map(|&start| name_at(start))
}

/// Returns true if a parameter lists attributes whose values are parameters of the same names.
pub(super) fn is_attribute_list(name: &[u8]) -> bool {
    let name = unqualified_name(name);
    let is_list = [
        "NEGOTIATOR_MATCH_EXPRS",
        "STARTD_ATTRS",
        "STARTD_EXPRS",
        "SCHEDD_ATTRS",
        "SCHEDD_EXPRS",
        "MASTER_ATTRS",
        "MASTER_EXPRS",
        "COLLECTOR_ATTRS",
        "COLLECTOR_EXPRS",
        "NEGOTIATOR_ATTRS",
        "NEGOTIATOR_EXPRS",
        "SUBMIT_ATTRS",
        "SUBMIT_EXPRS",
        "STARTD_LATCH_EXPRS",
        "STARTER_ATTRS",
        "JOB_ROUTER_ATTRS",
        "GRIDMANAGER_ATTRS",
        "CREDD_ATTRS",
        "DEFRAG_ATTRS",
    ];
    let starts = |prefix: &[u8]| caseless::starts_with(name, prefix);
    is_list.iter().any(|list| caseless::eq(list.as_bytes(), name))
        || starts(b"SLOT")
            && (caseless::ends_with(name, b"_STARTD_ATTRS") || caseless::ends_with(name, b"_STARTD_EXPRS"))
}

/// Returns true if a parameter lists clauses of a slot's requirements (`Reqexp.cpp`, `reqexp_config`).
pub(super) fn is_clause_list(name: &[u8]) -> bool {
    let bare = unqualified_name(name);
    caseless::ends_with(bare, b"SLOT_REQUIREMENTS_CLAUSES")
}

/// Returns the items of a list parameter with exactly this name.
pub(super) fn list_items(view: &ConfigView<'_>, name: &str) -> Vec<BString> {
    let value = view.text(name).unwrap_or_default();
    list::split(&value).map(BString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_sources_are_sorted() {
        assert!(OTHER_NAME_STARTS.is_sorted_by(|&a, &b| caseless::cmp(name_at(a), name_at(b)).is_lt()));
        assert!(is_parameter(b"startd_cron_joblist") && !is_parameter(b"NO_SUCH"));
    }
}
