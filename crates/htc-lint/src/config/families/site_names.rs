//! Names that the site chooses, collected from its configuration.

use bstr::{BStr, BString, ByteSlice};
use rustc_hash::FxHashSet;

use super::{accounting_groups, cron};
use crate::config::name_status::UnreadReason;
use crate::config::parameter_names::{DAEMON_NAMES, is_attribute_list, is_clause_list, list_items};
use htc_base::text::{caseless, similar_names};
use htc_config::{Advice, Config, ConfigView};

/// Names that the site chooses, collected from its configuration.
pub(in crate::config) struct SiteNames {
    /// Daemons, including those of DAEMON_LIST, and local names.
    pub(in crate::config) daemons: Vec<BString>,
    is_daemon: FxHashSet<Vec<u8>>,
    /// Prefixes, in lower case, of settings for the log, the directories or the name of a daemon. They are local names
    /// that some command line contains.
    local_prefixes: FxHashSet<Vec<u8>>,
    /// Names of advertised attributes (STARTD_ATTRS, ...) and of requirement clauses (..._CLAUSES).
    pub(in crate::config) attributes: Vec<BString>,
    /// The same names in lower case.
    is_attribute: FxHashSet<Vec<u8>>,
    /// Prefixes of slot names before their number.
    pub(super) slot_prefixes: Vec<BString>,
    /// Largest slot type number that is read.
    pub(super) last_slot_type: u64,
    /// Cron jobs that the lists of the managers contain.
    pub(super) cron_jobs: Vec<cron::CronJobNames>,
    /// Accounting groups.
    pub(in crate::config) groups: Vec<BString>,
    /// Parameters of [`FAMILIES_OF_MEMBERS`] that the configuration sets, in lower case.
    set_members: FxHashSet<Vec<u8>>,
}

/// Prefixes of the families that have several settings for each member.
const FAMILIES_OF_MEMBERS: [&str; 4] =
    ["STARTD_CRON_", "SCHEDD_CRON_", "SUBMIT_REQUIREMENT_", "SYSTEM_PERIODIC_"];

fn is_family_member(name: &[u8]) -> bool {
    FAMILIES_OF_MEMBERS.iter().any(|start| caseless::starts_with(name, start.as_bytes()))
}

impl SiteNames {
    /// Collects the names from a configuration.
    pub(in crate::config) fn new(config: &Config, view: &ConfigView<'_>) -> SiteNames {
        let mut daemons: Vec<BString> = DAEMON_NAMES.iter().map(|&name| name.into()).collect();
        for parameter in ["DAEMON_LIST", "DC_DAEMON_LIST"] {
            // Misspelled words are left out: no parameter has their name, and a daemon has a similar one.
            let listed = list_items(view, parameter)
                .into_iter()
                .map(|name| BString::from(name.trim_start_with(|c| c == '+')));
            daemons.extend(listed.filter(|name| {
                view.is_defined(&name.to_str_lossy()) || similar_names::nearest(name, DAEMON_NAMES).is_none()
            }));
        }
        let mut attributes = Vec::new();
        let mut slot_prefixes = vec![BString::from("SLOT")];
        slot_prefixes.extend(list_items(view, "STARTD_RESOURCE_PREFIX"));
        for entry in config.set.entries() {
            let name = entry.name.to_str_lossy();
            if is_attribute_list(&entry.name) || is_clause_list(&entry.name) {
                let listed = list_items(view, &name).into_iter();
                attributes.extend(listed.map(|name| BString::from(name.strip_prefix(b"+").unwrap_or(&name))));
            } else if caseless::ends_with(&entry.name, b"_ARGS") {
                daemons.extend(parse_local_names(&entry.current.raw));
            } else if caseless::starts_with(&entry.name, b"SLOT_TYPE_")
                && caseless::ends_with(&entry.name, b"_NAME_PREFIX")
            {
                slot_prefixes.extend(list_items(view, &name));
            }
        }
        for entry in config.set.entries().filter(|entry| !is_attribute_list(&entry.name)) {
            let rest = slot_prefixes.iter().find_map(|prefix| caseless::strip_prefix(&entry.name, prefix));
            let list = rest.map(|rest| rest.trim_start_with(|c| c.is_ascii_digit()));
            let is_list = |list: &[u8]| {
                ["_STARTD_ATTRS", "_STARTD_EXPRS"].iter().any(|end| caseless::eq(list, end.as_bytes()))
            };
            if list.is_some_and(is_list) {
                attributes.extend(list_items(view, &entry.name.to_str_lossy()));
            }
        }
        let is_attribute = attributes.iter().map(|name: &BString| name.to_ascii_lowercase()).collect();
        let is_daemon = daemons.iter().map(|name| name.to_ascii_lowercase()).collect();
        let last = view.number("MAX_SLOT_TYPES", 10);
        let members = config.set.entries().filter(|entry| is_family_member(&entry.name));
        let set = members.map(|entry| entry.name.to_ascii_lowercase()).collect();
        let (crons, groups) = (cron::listed_jobs(view), accounting_groups::listed_groups(view));
        let last_slot_type = u64::try_from(last).unwrap_or(10);
        SiteNames {
            daemons,
            is_daemon,
            local_prefixes: find_local_prefixes(config),
            attributes,
            is_attribute,
            slot_prefixes,
            last_slot_type,
            cron_jobs: crons,
            groups,
            set_members: set,
        }
    }

    /// Returns true if a daemon has this name, or a local name.
    pub(in crate::config) fn is_daemon(&self, name: &[u8]) -> bool {
        self.is_daemon.contains(&name.to_ascii_lowercase())
    }

    /// Returns true if a name before the dot of a parameter is that of a daemon, or a local name.
    pub(in crate::config) fn is_local_name(&self, name: &[u8]) -> bool {
        // SCHEDD2 is a second schedd.
        let stem = name.trim_end_with(|c| c.is_ascii_digit());
        self.is_daemon(stem)
            || self.is_daemon(name)
            || self.local_prefixes.contains(&name.to_ascii_lowercase())
    }

    /// Returns true if a name is that of an advertised attribute, alone or after a prefix and `_`
    /// (`condor_config.cpp`, `config_fill_ad`).
    pub(in crate::config) fn is_attribute_parameter(&self, name: &[u8]) -> bool {
        if self.is_attribute.is_empty() {
            return false;
        }
        let name = name.to_ascii_lowercase();
        let ends = memchr::memchr_iter(b'_', &name).filter(|&at| at > 0).map(|at| &name[at + 1..]);
        self.is_attribute.contains(&name) || ends.into_iter().any(|end| self.is_attribute.contains(end))
    }

    /// Returns true if a name is that of an advertised attribute.
    pub(in crate::config) fn is_attribute(&self, name: &[u8]) -> bool {
        !self.is_attribute.is_empty() && self.is_attribute.contains(&name.to_ascii_lowercase())
    }

    /// Returns true if the configuration sets a parameter of [`FAMILIES_OF_MEMBERS`].
    pub(in crate::config) fn is_set(&self, name: &str) -> bool {
        debug_assert!(is_family_member(name.as_bytes()), "{name}");
        self.set_members.contains(&name.as_bytes().to_ascii_lowercase())
    }

    /// Returns true for the name of a slot: `SLOT` or another slot prefix, and a number.
    pub(super) fn is_slot(&self, name: &[u8]) -> bool {
        self.slot_prefixes.iter().any(|start| {
            let digits = caseless::strip_prefix(name, start);
            digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
        })
    }

    /// Detects a misspelled daemon name before a dot. A prefix that is not similar to a daemon may be a local
    /// name that is given on a command line somewhere.
    pub(in crate::config) fn check_misspelled_prefix(&self, prefix: &[u8]) -> Option<UnreadReason> {
        if self.is_daemon(prefix) || prefix.len() < 5 {
            return None;
        }
        // SCHEDD2 is a second schedd, not a misspelling.
        let ends_in_digit = prefix.last().is_some_and(u8::is_ascii_digit);
        let near = similar_names::nearest(prefix, self.daemons.iter().map(|name| &name[..]))?;
        (!ends_in_digit).then(|| {
            let cause = format!("no daemon has the name or local name {}", BStr::new(prefix));
            UnreadReason::new(cause, Advice::DidYouMean(BString::from(near)))
        })
    }
}

/// Returns the prefixes before the dot, in lower case, of settings that each daemon with a local name needs.
fn find_local_prefixes(config: &Config) -> FxHashSet<Vec<u8>> {
    const ENDINGS: [&str; 11] = [
        "_LOG",
        "_NAME",
        "_HOST",
        "_PORT",
        "_ARGS",
        "_FILE",
        "_HISTORY",
        "_DIR",
        "_CONFIG",
        "_HISTORY_DIR",
        "_LOCK",
    ];
    const NAMES: [&str; 7] = ["LOG", "SPOOL", "EXECUTE", "LOCAL_DIR", "HISTORY", "LOCK", "RUN"];
    let is_daemon_setting = |name: &[u8]| {
        ENDINGS.iter().any(|end| caseless::ends_with(name, end.as_bytes()))
            || NAMES.iter().any(|known| caseless::eq(known.as_bytes(), name))
    };
    let prefixed = config.set.entries().filter_map(|entry| {
        // The name of the subsystem may come before the local name.
        let (before, name) = entry.name.rsplit_once_str(".")?;
        let prefix = before.rsplit_once_str(".").map_or(before, |(_, prefix)| prefix);
        is_daemon_setting(name).then(|| prefix.to_ascii_lowercase())
    });
    prefixed.collect()
}

/// Returns the words after `-local-name` in the arguments of a daemon.
fn parse_local_names(arguments: &[u8]) -> Vec<BString> {
    let words: Vec<&[u8]> = arguments.fields().collect();
    let pairs = words.windows(2).filter(|pair| pair[0].ends_with(b"-local-name") || pair[0] == b"-l");
    pairs.map(|pair| BString::from(pair[1].trim_with(|c| c == '"' || c == '\''))).collect()
}
