//! Parameter families: names with a part that the site chooses, for slots and slot types, cron jobs, daemons of the
//! site, permissions, maps and auto-use templates.
//!
//! A family has the names that HTCondor's source reads; each list cites the function that reads them.

pub(super) mod accounting_groups;
mod cron;
mod site_names;
mod slots;
mod subsystems;
mod word_order;

use bstr::{BStr, ByteSlice};

pub(super) use self::site_names::SiteNames;
pub(super) use self::slots::classify_slot_prefix;
pub(super) use self::subsystems::classify_prefixed_parameter;
pub(super) use self::word_order::{classify_misordered_setting, find_reordered};
use super::name_status::{NameStatus, UnreadReason};
use super::parameter_names::DAEMON_NAMES;
use htc_base::text::{caseless, similar_names};
use htc_config::template;

/// Returns the status of a name that belongs to a family, or `None` for all other names.
pub(super) fn classify_family_name(name: &[u8], site: &SiteNames) -> Option<NameStatus> {
    classify_misordered_setting(name, &|name| site.is_set(name))
        .or_else(|| classify_misspelled_list(name))
        .or_else(|| slots::classify_slot_name(name, site))
        .or_else(|| cron::classify_cron_name(name, &site.cron_jobs, &|name| site.is_set(name)))
        .or_else(|| classify_permission(name, site))
        .or_else(|| classify_auto_use(name))
        .or_else(|| classify_use(name))
        .or_else(|| classify_user_map(name))
        .or_else(|| subsystems::classify_subsystem_parameter(name))
        .or_else(|| classify_request(name))
        .or_else(|| classify_misspelled_inventory(name))
        .or_else(|| classify_misspelled_prefix(name))
}

/// Prefixes of family names before the part that the site chooses.
const FAMILY_PREFIXES: [&str; 13] = [
    "SLOT_TYPE_",
    "NUM_SLOTS_TYPE_",
    "STARTD_CRON_",
    "SCHEDD_CRON_",
    "JOB_ROUTER_ROUTE_",
    "JOB_ROUTER_TRANSFORM_",
    "JOB_TRANSFORM_",
    "SUBMIT_REQUIREMENT_",
    "SYSTEM_PERIODIC_HOLD_",
    "SYSTEM_PERIODIC_RELEASE_",
    "SYSTEM_PERIODIC_REMOVE_",
    "SYSTEM_PERIODIC_VACATE_",
    "MACHINE_RESOURCE_",
];

/// Detects a misspelled prefix of a family name.
fn classify_misspelled_prefix(name: &[u8]) -> Option<NameStatus> {
    let is_right =
        FAMILY_PREFIXES.iter().any(|known| caseless::strip_prefix(name, known.as_bytes()).is_some());
    if is_right {
        return None;
    }
    let find_prefix_end = |known: &&str| {
        if !may_be_misspelled(name, known.as_bytes()) {
            return None;
        }
        // If the name itself has an underscore at the end of the prefix, the prefix ends there; otherwise the
        // underscore was left out.
        let mut ends = [known.len() - 1, known.len(), known.len() + 1];
        ends.sort_by_key(|&end| name.get(end - 1) != Some(&b'_'));
        ends.into_iter().find(|&end| {
            let begins = name.get(..end);
            begins.is_some_and(|begins| {
                name.len() > end && similar_names::distance(begins, known.as_bytes(), 1).is_some()
            })
        })
    };
    let (known, end) = FAMILY_PREFIXES.iter().find_map(|known| Some((known, find_prefix_end(known)?)))?;
    let rest = &name[end..];
    // The rest makes the prefix the plural of a parameter or list, which is not a member.
    if caseless::eq(rest, b"S") {
        return None;
    }
    // In a family of numbered parameters, a number follows the prefix.
    if known.ends_with("TYPE_") && !rest.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    UnreadReason::misspelled_status(
        format!("names of this family begin with {known}"),
        format!("{known}{}", BStr::new(rest)),
    )
}

/// Words that follow the prefix of a family and are not the names of members.
const LIST_WORDS: [(&str, &[&str]); 7] = [
    ("JOB_ROUTER_ROUTE_", &["NAMES"]),
    ("JOB_TRANSFORM_", &["NAMES"]),
    ("SUBMIT_REQUIREMENT_", &["NAMES"]),
    ("SYSTEM_PERIODIC_HOLD_", &["NAMES", "REASON", "SUBCODE"]),
    ("SYSTEM_PERIODIC_RELEASE_", &["NAMES"]),
    ("SYSTEM_PERIODIC_REMOVE_", &["NAMES", "REASON"]),
    ("SYSTEM_PERIODIC_VACATE_", &["NAMES", "REASON"]),
];

/// Detects `SUBMIT_REQUIREMENT_NAME`, which is not a requirement called NAME.
fn classify_misspelled_list(name: &[u8]) -> Option<NameStatus> {
    LIST_WORDS.iter().find_map(|(prefix, words)| {
        let rest = caseless::strip_prefix(name, prefix.as_bytes())?;
        let is_number = |one: &[u8], other: &[u8]| {
            one.len() == other.len() + 1
                && caseless::starts_with(one, other)
                && caseless::ends_with(one, b"S")
        };
        let word =
            words.iter().find(|word| is_number(word.as_bytes(), rest) || is_number(rest, word.as_bytes()))?;
        UnreadReason::misspelled_status(format!("its name is {prefix}{word}"), format!("{prefix}{word}"))
    })
}

/// True if the first two bytes of a name and of a prefix are equal or differ by one change.
fn may_be_misspelled(name: &[u8], prefix: &[u8]) -> bool {
    let (Some(name), Some(prefix)) = (name.first_chunk::<2>(), prefix.first_chunk::<2>()) else {
        return false;
    };
    let is_same = |a: usize, b: usize| name[a].eq_ignore_ascii_case(&prefix[b]);
    is_same(0, 0) || is_same(1, 1) || is_same(0, 1) || is_same(1, 0)
}

/// Classifies `JOB_DEFAULT_REQUEST<RESOURCE>` (submit_utils.cpp, `SetRequestMem` and its like), and
/// `MODIFY_REQUEST_EXPR_REQUEST<RESOURCE>` (`Resource.cpp`). A machine may define more resources for the latter.
fn classify_request(name: &[u8]) -> Option<NameStatus> {
    const RESOURCES: [&str; 4] = ["MEMORY", "DISK", "CPUS", "GPUS"];
    let (prefix, rest) = ["JOB_DEFAULT_REQUEST", "MODIFY_REQUEST_EXPR_"]
        .into_iter()
        .find_map(|prefix| Some((prefix, caseless::strip_prefix(name, prefix.as_bytes())?)))?;
    let is_default = prefix == "JOB_DEFAULT_REQUEST";
    let before = if is_default { prefix.to_owned() } else { format!("{prefix}REQUEST") };
    let after_request = if is_default { Some(rest) } else { caseless::strip_prefix(rest, b"REQUEST") };
    let resource = after_request.unwrap_or(rest);
    let plain = resource.strip_prefix(b"_").unwrap_or(resource);
    let known = RESOURCES.iter().find(|known| caseless::eq(known.as_bytes(), plain));
    let near = || similar_names::nearest(plain, RESOURCES.iter().map(|known| known.as_bytes()));
    if after_request.is_some()
        && plain.len() == resource.len()
        && (known.is_some() || !is_default && near().is_none())
    {
        return Some(NameStatus::Read);
    }
    let cause = format!("names of this family are {before} and a resource");
    match known.map(|known| known.as_bytes()).or_else(near) {
        Some(near) => UnreadReason::misspelled_status(cause, format!("{before}{}", BStr::new(near))),
        None if is_default => {
            let names = RESOURCES.map(|known| format!("{before}{known}"));
            UnreadReason::never_read_status(cause, format!("write one of {}", names.join(", ")))
        }
        None => UnreadReason::never_read_status(cause, format!("write {before}{}", BStr::new(plain))),
    }
}

/// Permission levels (`condor_perms.cpp`, `makePermStringTable`).
const PERMISSIONS: [&str; 12] = [
    "READ",
    "WRITE",
    "NEGOTIATOR",
    "ADMINISTRATOR",
    "CONFIG",
    "DAEMON",
    "SOAP",
    "DEFAULT",
    "CLIENT",
    "ADVERTISE_STARTD",
    "ADVERTISE_SCHEDD",
    "ADVERTISE_MASTER",
];

/// Security settings that are read for each permission level (`condor_secman.cpp`, `getSecSetting` and its
/// callers).
const SECURITY_SETTINGS: [&str; 9] = [
    "AUTHENTICATION",
    "ENCRYPTION",
    "INTEGRITY",
    "NEGOTIATION",
    "AUTHENTICATION_METHODS",
    "CRYPTO_METHODS",
    "AUTHENTICATION_TIMEOUT",
    "SESSION_DURATION",
    "SESSION_LEASE",
];

/// Returns the family names without a part that the site chooses, to suggest similar names.
pub(super) fn fixed_family_names() -> impl Iterator<Item = Vec<u8>> {
    let hosts =
        ["ALLOW_", "DENY_"].into_iter().flat_map(|prefix| PERMISSIONS.map(|level| [prefix, level].concat()));
    let security = PERMISSIONS
        .into_iter()
        .flat_map(|level| SECURITY_SETTINGS.map(|setting| format!("SEC_{level}_{setting}")));
    hosts.chain(security).map(String::into_bytes)
}

/// Classifies `ALLOW_<LEVEL>`, `DENY_<LEVEL>`, optionally with a daemon (`condor_ipverify.cpp`,
/// `IpVerify::Init`), and `SEC_<LEVEL>_<SETTING>`.
fn classify_permission(name: &[u8], site: &SiteNames) -> Option<NameStatus> {
    let starts = |text: &[u8], level: &str| caseless::starts_with(text, level.as_bytes());
    if let Some(rest) =
        caseless::strip_prefix(name, b"ALLOW_").or_else(|| caseless::strip_prefix(name, b"DENY_"))
    {
        let is_read = PERMISSIONS.iter().filter(|level| starts(rest, level)).any(|level| {
            let rest = &rest[level.len()..];
            rest.is_empty() || rest.strip_prefix(b"_").is_some_and(|daemon| site.is_daemon(daemon))
        });
        if is_read {
            return Some(NameStatus::Read);
        }
        let start = name[..name.len() - rest.len()].to_ascii_uppercase();
        let start = start.as_bstr();
        // ALLOW_WRITE_STARTS: the daemon is misspelled.
        let of_daemon = PERMISSIONS.iter().find_map(|level| {
            let daemon = caseless::strip_prefix(rest, level.as_bytes())?.strip_prefix(b"_")?;
            let near = similar_names::nearest(daemon, DAEMON_NAMES.iter().map(|known| known.as_bytes()))?;
            let cause = format!("no daemon has the name {}", BStr::new(daemon));
            UnreadReason::misspelled_status(cause, format!("{start}{level}_{}", BStr::new(near)))
        });
        return of_daemon.or_else(|| {
            PERMISSIONS.iter().find_map(|level| {
                let daemon = rest.strip_suffix(level.as_bytes())?.strip_suffix(b"_")?;
                let cause = "the permission comes before the daemon".to_owned();
                let corrected = format!("{start}{level}_{}", BStr::new(daemon));
                DAEMON_NAMES.iter().find(|known| caseless::eq(known.as_bytes(), daemon))?;
                UnreadReason::misspelled_status(cause, corrected)
            })
        });
    }
    let rest = caseless::strip_prefix(name, b"SEC_")?;
    let of_subsystem = || {
        let daemons = DAEMON_NAMES.iter().filter(|daemon| !PERMISSIONS.contains(*daemon));
        daemons.into_iter().find_map(|daemon| {
            let setting = caseless::strip_prefix(rest, daemon.as_bytes())?.strip_prefix(b"_")?;
            let known = SECURITY_SETTINGS.iter().find(|known| caseless::eq(known.as_bytes(), setting))?;
            let cause = format!("{daemon} is not a permission level");
            let fix = format!("write SEC_DEFAULT_{known}, or {daemon}.SEC_DEFAULT_{known} for this daemon");
            UnreadReason::never_read_status(cause, fix)
        })
    };
    let of_level = |rest: &[u8]| {
        PERMISSIONS.iter().filter(|level| starts(rest, level)).any(|level| {
            let setting = rest[level.len()..].strip_prefix(b"_").unwrap_or_default();
            SECURITY_SETTINGS.iter().any(|known| caseless::eq(known.as_bytes(), setting))
        })
    };
    // SEC_<DAEMON>_<LEVEL>_SESSION_DURATION is read as well.
    let of_daemon = || {
        let ends = caseless::ends_with(rest, b"_SESSION_DURATION");
        ends && (0..rest.len())
            .any(|at| rest[at] == b'_' && site.is_daemon(&rest[..at]) && of_level(&rest[at + 1..]))
    };
    if of_level(rest) || of_daemon() {
        return Some(NameStatus::Read);
    }
    of_subsystem()
}

/// Detects `USE_ROLE = Execute`, which is not the statement `use ROLE : Execute`.
fn classify_use(name: &[u8]) -> Option<NameStatus> {
    let category = template::find_category(caseless::strip_prefix(name, b"USE_")?)?;
    let category = category.as_bstr();
    UnreadReason::never_read_status("it is not a statement", format!("write 'use {category} : NAME'"))
}

/// Classifies `AUTO_USE_<CATEGORY>_<NAME>` (`condor_config.cpp`, `apply_auto_use` of `real_config`).
fn classify_auto_use(name: &[u8]) -> Option<NameStatus> {
    let rest = caseless::strip_prefix(name, b"AUTO_USE_")?;
    let underscore = rest.find_byte(b'_')?;
    let (category, short) = (&rest[..underscore], &rest[underscore + 1..]);
    if template::find(category, short).is_some() {
        return Some(NameStatus::Read);
    }
    let shown = |text: &[u8]| text.to_str_lossy().into_owned();
    let Some(known) = template::find_category(category) else {
        let cause = format!("there is no category {} of templates", shown(category));
        return UnreadReason::unread_status(cause, "see htc-config-dump use for the categories");
    };
    let cause = format!("there is no template {}:{}", shown(known), shown(short));
    let names =
        template::all().filter(|template| template.category() == known).map(|template| template.name());
    match similar_names::nearest(short, names) {
        Some(near) => {
            UnreadReason::misspelled_status(cause, format!("AUTO_USE_{}_{}", shown(known), shown(near)))
        }
        None => UnreadReason::unread_status(cause, format!("see htc-config-dump use {}", shown(known))),
    }
}

/// Classifies `CLASSAD_USER_MAPFILE_<NAME>` and related names (`classad_usermap.cpp`, `reconfig_user_maps`).
fn classify_user_map(name: &[u8]) -> Option<NameStatus> {
    const MAP_PARAMETERS: [&str; 3] =
        ["CLASSAD_USER_MAPFILE_", "CLASSAD_USER_MAPDATA_", "CLASSAD_USER_MAP_PREFIX_"];
    caseless::strip_prefix(name, b"CLASSAD_USER_MAP")?;
    if MAP_PARAMETERS.iter().any(|kind| caseless::strip_prefix(name, kind.as_bytes()).is_some()) {
        return Some(NameStatus::Read);
    }
    // The words of these names are not separated by underscores.
    MAP_PARAMETERS[..2].iter().find_map(|kind| {
        let with_underscore = kind.replacen("MAP", "MAP_", 1);
        let map = caseless::strip_prefix(name, with_underscore.as_bytes())?;
        UnreadReason::misspelled_status(
            format!("maps are defined by {kind}<NAME>"),
            [kind.as_bytes(), map].concat(),
        )
    })
}

/// Detects resources whose names begin with a misspelled INVENTORY, which is then part of the resource's name
/// (`ResAttributes.cpp`, `init_machine_resources`).
fn classify_misspelled_inventory(name: &[u8]) -> Option<NameStatus> {
    let tag = caseless::strip_prefix(name, b"MACHINE_RESOURCE_")?;
    let word = &tag[..tag.find_byte(b'_')?];
    if caseless::eq(word, b"INVENTORY") {
        return Some(NameStatus::Read);
    }
    let is_slip = word.len() > 5 && similar_names::distance(word, b"INVENTORY", 2).is_some();
    let rest = BStr::new(&tag[word.len()..]);
    is_slip
        .then(|| {
            let cause = format!("it defines a resource called {}", BStr::new(tag));
            UnreadReason::misspelled_status(cause, format!("MACHINE_RESOURCE_INVENTORY{rest}"))
        })
        .flatten()
}
