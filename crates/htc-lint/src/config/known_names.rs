//! Names that have a meaning in HTCondor: parameters of the table, other parameters that daemons read, and families
//! whose names contain the name of a daemon, slot, job, route or keyword.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::LazyLock;

use bstr::{BString, ByteSlice};

use super::families::{self, SiteNames};
use super::name_status::{NameStatus, UnreadReason};
use super::parameter_names::{is_parameter, other_names};
use super::unread_manual_names::explain_unread_manual_name;
use htc_base::text::caseless;
use htc_base::text::similar_names::{self, SimilarNames};
use htc_config::{Advice, Config, ConfigView, defaults};
use rustc_hash::FxHashMap;

/// Parameter names that contain the name of a daemon, with `*` in place of it.
const DAEMON_NAME_PATTERNS: [&str; 47] = [
    "*",
    "*_ADDRESS_FILE",
    "*_SUPER_ADDRESS_FILE",
    "*_ADMIN_EMAIL",
    "*_ARGS",
    "*_CONFIG",
    "*_DAEMON_AD_FILE",
    "*_DAEMON_HISTORY",
    "*_DEBUG",
    "*_DEBUG_WAIT",
    "*_ENVIRONMENT",
    "*_FLAG",
    "*_HOST",
    "*_IP_ADDR",
    "*_KILL_CHILDREN_ON_EXIT",
    "*_LOCK",
    "*_LOG",
    "*_LOG_KEEP_OPEN",
    "*_MAX_FILE_DESCRIPTORS",
    "*_NAME",
    "*_NOT_RESPONDING_TIMEOUT",
    "*_TIMEOUT_MULTIPLIER",
    "*_USERID",
    "*_USE_SHARED_PORT",
    "*_WATCH_FILE",
    "*_WAIT_FOR_DEBUGGER",
    "*_ATTRS",
    "*_EXPRS",
    "*_PORT",
    "*_PRE_ENVIRONMENT",
    "*_INTERVAL",
    "*_CLASSAD_USER_MAP_NAMES",
    "*_SHUTDOWN",
    "*_LOCAL_JOBS",
    "*_USER",
    "MAX_*_LOG",
    "MAX_NUM_*_LOG",
    "TRUNC_*_LOG_ON_OPEN",
    "MASTER_*_BACKOFF_CONSTANT",
    "MASTER_*_BACKOFF_CEILING",
    "MASTER_*_BACKOFF_FACTOR",
    "MASTER_*_RECOVER_FACTOR",
    "MASTER_*_CONTROLLER",
    "HA_*_LOCK_URL",
    "HA_*_LOCK_HOLD_TIME",
    "HA_*_POLL_PERIOD",
    "SYSTEM_*_ATTRS",
];

/// Patterns of name families; `*` matches any text, and case is ignored.
const NAME_PATTERNS: &[&str] = &[
    "*_D_*_LOG",
    "*_PRINT_FORMAT_FILE",
    "JOB_ROUTER_ROUTE_*",
    "JOB_ROUTER_TRANSFORM_*",
    "JOB_TRANSFORM_*",
    "SUBMIT_REQUIREMENT_*",
    "*_LIMIT",
    "MACHINE_RESOURCE_*",
    "OFFLINE_MACHINE_RESOURCE_*",
    "CONSUMPTION_*",
    "SYSTEM_PERIODIC_HOLD_*",
    "SYSTEM_PERIODIC_RELEASE_*",
    "SYSTEM_PERIODIC_REMOVE_*",
    "SYSTEM_PERIODIC_VACATE_*",
    "MASTER_SHUTDOWN_*",
    "DOCKER_VOLUME_DIR_*",
    "*_CLIENT_ID",
    "*_CLIENT_SECRET_FILE",
    "*_RETURN_URL_SUFFIX",
    "*_AUTHORIZATION_URL",
    "*_TOKEN_URL",
    "*_USER_URL",
    "GRIDMANAGER_*_PER_RESOURCE_*",
    "GRIDMANAGER_JOB_PROBE_*",
    "UPDATE_*_AD",
    "ENVIRONMENT_FOR_Assigned*",
    "ENVIRONMENT_VALUE_FOR_UnAssigned*",
    "VM_TYPE*",
    "ADSTASH_*",
    "BLAH_*",
    "FULL_JOB_*",
    "JOB_ROUTER_CREATE_IDTOKEN_*",
    "SHARED_MACHINE_RESOURCE_*",
    "CONCURRENCY_LIMIT_DEFAULT_*",
    "*_GAHP",
    "*_GAHP_LOG",
];

/// Prefixes of parameters that programs other than HTCondor's daemons and tools read from its configuration.
const FOREIGN_PREFIXES: &[&str] = &[
    "HTCONDORCE_",
    "CONDORCE_",
    "CONDOR_CE_",
    "GLIDEIN_",
    "GLIDECLIENT_",
    "GLIDEFACTORY_",
    "OSG_",
    "BLAHPD_",
    "BATCH_GAHP",
    "APEL_",
    "GRATIA_",
    "PEGASUS_",
    "COLLECTOR_AUDIT_",
    "IS_CENTRAL_COLLECTOR",
    "DISABLE_PILOT_ADS",
    "USE_CE_HOME_DIR",
    "DUTY_CYCLE_",
    "FILE_XFER_LOAD_",
    "ROUTED_JOB_MAX_TIME",
    "FRIENDLY_DAEMONS",
    "UNMAPPED_USERS",
    "SUPERUSERS",
];

/// Names that have a meaning in one configuration.
pub struct KnownParameterNames {
    site: SiteNames,
    names: OnceCell<SimilarNames<Cow<'static, [u8]>>>,
}

impl KnownParameterNames {
    /// Collects the daemons, slots, cron jobs and advertised attributes that a configuration names.
    pub fn new(config: &Config, view: &ConfigView<'_>) -> Self {
        KnownParameterNames { site: SiteNames::new(config, view), names: OnceCell::new() }
    }

    /// Returns the names in the lists of attributes that daemons advertise.
    pub fn advertised_attributes(&self) -> &[BString] {
        &self.site.attributes
    }

    /// True if a name is in one of these lists.
    pub fn is_advertised(&self, name: &[u8]) -> bool {
        self.site.is_attribute(name)
    }

    /// Returns true if a name has a meaning, or may have one.
    pub fn is_known(&self, name: &[u8]) -> bool {
        self.classify(name) == NameStatus::Read
    }

    /// Returns the status of a name. A suggested name keeps the prefixes before the dots.
    pub fn classify(&self, name: &[u8]) -> NameStatus {
        // No family has longer names.
        if name.len() > MAX_NAME_LENGTH {
            return NameStatus::SiteOwn;
        }
        // The name of an accounting group may contain dots.
        if let Some(status) = families::accounting_groups::classify_group_name(name, &self.site.groups) {
            return status;
        }
        let Some(dot) = memchr::memchr(b'.', name) else { return self.classify_bare(name) };
        let (prefix, rest) = (&name[..dot], &name[dot + 1..]);
        let with_prefix =
            |prefix: &[u8], rest: &[u8]| Advice::DidYouMean(bstr::join(".", [prefix, rest]).into());
        if let Some(mut unread) = self.site.check_misspelled_prefix(prefix) {
            if let Advice::DidYouMean(intended) = &unread.fix {
                let near = Some(rest).filter(|rest| self.classify(rest) == NameStatus::SiteOwn);
                let near = near.and_then(|rest| self.nearest_known(rest));
                unread.fix = with_prefix(intended, near.as_deref().map_or(rest, |near| &near[..]));
            }
            return NameStatus::Unread(unread);
        }
        if let Some(unread) = families::classify_slot_prefix(prefix, rest, &self.site) {
            return unread;
        }
        match self.classify(rest) {
            NameStatus::Read if !self.site.is_local_name(prefix) && !is_named_by_site(name) && dot > 0 => {
                let shown = prefix.as_bstr();
                let cause = format!("{shown} is neither a subsystem nor a local name of a daemon");
                let fix = format!("remove the prefix, or start the daemon with -local-name {shown}");
                NameStatus::Unread(UnreadReason::new(cause, Advice::Text(fix)))
            }
            NameStatus::SiteOwn if self.site.is_daemon(prefix) => {
                let joined = [prefix, b"_", rest].concat();
                match self.classify_bare(&joined) {
                    NameStatus::Read => NameStatus::Unread(UnreadReason::new(
                        format!("no parameter is called {}", rest.as_bstr()),
                        Advice::DidYouMean(joined.into()),
                    )),
                    _ => NameStatus::SiteOwn,
                }
            }
            NameStatus::Unread(mut unread) => {
                if let Advice::DidYouMean(intended) = &unread.fix {
                    unread.fix = with_prefix(prefix, intended);
                }
                NameStatus::Unread(unread)
            }
            other => other,
        }
    }

    /// Returns the status of a name without prefixes.
    fn classify_bare(&self, name: &[u8]) -> NameStatus {
        if let Some(unread) = explain_unread_manual_name(name) {
            return NameStatus::Unread(unread);
        }
        if is_parameter(name) {
            return NameStatus::Read;
        }
        if let Some(status) = families::classify_family_name(name, &self.site) {
            return status;
        }
        let foreign = FOREIGN_PREFIXES.iter().any(|prefix| caseless::starts_with(name, prefix.as_bytes()));
        match foreign || self.is_in_family(name) || self.site.is_attribute_parameter(name) {
            true => NameStatus::Read,
            false => {
                let is_read = |name: &[u8]| {
                    let of_family = families::classify_family_name(name, &self.site);
                    is_parameter(name) || of_family == Some(NameStatus::Read)
                };
                families::classify_prefixed_parameter(name, &is_read).unwrap_or(NameStatus::SiteOwn)
            }
        }
    }

    /// Returns true if a name is a setting of a member with its parts in the wrong order.
    pub(super) fn is_misordered(&self, name: &[u8]) -> bool {
        families::classify_misordered_setting(name, &|name| self.site.is_set(name)).is_some()
    }

    fn is_in_family(&self, name: &[u8]) -> bool {
        let of_daemon = DAEMON_NAME_PATTERNS
            .iter()
            .any(|pattern| text_at_star(pattern, name).is_some_and(|daemon| self.site.is_daemon(daemon)));
        let of_family = || NAME_PATTERNS.iter().any(|family| matches_pattern(family.as_bytes(), name));
        of_daemon || of_family() || is_hook_parameter(name)
    }

    /// Returns the known name that a name probably misspells, or `None`.
    pub fn nearest_known(&self, name: &[u8]) -> Option<BString> {
        // The plural of a one-word parameter is not a misspelling: a site may use it for a list.
        let singular = name.strip_suffix(b"s").or_else(|| name.strip_suffix(b"S"));
        if !name.contains(&b'_') && singular.is_some_and(is_parameter) {
            return None;
        }
        let names = self.names.get_or_init(|| {
            let table = defaults::all().map(|parameter| Cow::Borrowed(parameter.name()));
            let others = other_names().map(Cow::Borrowed);
            let of_daemons = self.site.daemons.iter().flat_map(|daemon| {
                DAEMON_NAME_PATTERNS.iter().map(move |pattern| pattern.as_bytes().replace(b"*", &daemon[..]))
            });
            SimilarNames::new(
                table.chain(others).chain(of_daemons.chain(families::fixed_family_names()).map(Cow::Owned)),
            )
        });
        let near = names.nearest(name, |known| is_misspelling(known, name));
        near.map(|near| BString::from(&near[..]))
            .or_else(|| families::find_reordered(name))
            .or_else(|| find_abbreviated(name))
    }
}

/// Parameters by the first three letters of their names, in lower case.
static BY_START: LazyLock<FxHashMap<[u8; 3], Vec<&'static [u8]>>> = LazyLock::new(|| {
    let mut by_start: FxHashMap<[u8; 3], Vec<&'static [u8]>> = FxHashMap::default();
    for name in defaults::all().map(|parameter| parameter.name()).chain(other_names()) {
        if let Some(start) = name.first_chunk::<3>() {
            by_start.entry(start.map(|byte| byte.to_ascii_lowercase())).or_default().push(name);
        }
    }
    by_start
});

/// Returns the only parameter that a name abbreviates: APPEND_REQUIREMENTS for `APPEND_REQ`.
fn find_abbreviated(name: &[u8]) -> Option<BString> {
    let start = name.first_chunk::<3>()?.map(|byte| byte.to_ascii_lowercase());
    let mut found = BY_START.get(&start)?.iter().filter(|known| is_abbreviation(name, known));
    let only = found.next()?;
    found.next().is_none().then(|| BString::from(*only))
}

/// True if each word of a name begins the same word of a parameter, and at least one lacks letters.
fn is_abbreviation(name: &[u8], known: &[u8]) -> bool {
    const MIN_WORD: usize = 3;
    let words = |name: &'_ [u8]| name.split(|&byte| byte == b'_').count();
    if words(name) != words(known) || words(name) < 2 || known.len() < name.len() + 2 {
        return false;
    }
    name.split(|&byte| byte == b'_').zip(known.split(|&byte| byte == b'_')).all(|(word, whole)| {
        word.len() == whole.len() && caseless::eq(word, whole)
            || word.len() >= MIN_WORD && whole.len() > word.len() + 1 && caseless::starts_with(whole, word)
    })
}

/// True for a parameter whose name begins with a part that the site chooses. This part may contain a dot:
/// `NFS.HOME_LIMIT`.
fn is_named_by_site(name: &[u8]) -> bool {
    let mut families = NAME_PATTERNS.iter().filter(|pattern| pattern.starts_with('*'));
    is_parameter(name) || families.any(|family| matches_pattern(family.as_bytes(), name))
}

/// Maximum length of a parameter name, including the names that a site gives its slots, jobs and daemons.
const MAX_NAME_LENGTH: usize = 1024;

/// Returns false if the first or last byte of a name differs from the pattern. This fast check excludes most names.
fn may_match(pattern: &[u8], name: &[u8]) -> bool {
    let is_same = |pattern: Option<&u8>, name: Option<&u8>| match (pattern, name) {
        (Some(b'*'), _) => true,
        (Some(pattern), Some(name)) => pattern.eq_ignore_ascii_case(name),
        _ => pattern == name,
    };
    is_same(pattern.last(), name.last()) && is_same(pattern.first(), name.first())
}

/// Returns the part of a name that the star of its pattern matches.
fn text_at_star<'n>(pattern: &str, name: &'n [u8]) -> Option<&'n [u8]> {
    if !may_match(pattern.as_bytes(), name) {
        return None;
    }
    let (before, after) = pattern.split_once('*')?;
    let inner = name.get(before.len()..name.len().checked_sub(after.len())?)?;
    (caseless::starts_with(name, before.as_bytes()) && caseless::ends_with(name, after.as_bytes()))
        .then_some(inner)
}

/// Returns true if two names differ in more than digits: `LIST1` is not a misspelling of `LIST2`.
fn is_misspelling(known: &[u8], name: &[u8]) -> bool {
    let plain = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|b| !b.is_ascii_digit()).map(u8::to_ascii_lowercase).collect()
    };
    // Short names are similar to many others: only one difference, after the first letter, is accepted.
    let is_short = known.len() < 6 || name.len() < 6;
    let is_near = || {
        known.len() >= 4
            && name.len() >= 3
            && known[0].eq_ignore_ascii_case(&name[0])
            && similar_names::distance(known, name, 1).is_some()
    };
    (!is_short || is_near()) && plain(known) != plain(name)
}

/// Returns true for `<KEYWORD>_HOOK_<TYPE>`, its arguments and timeouts, and the router's list of
/// attributes.
fn is_hook_parameter(name: &[u8]) -> bool {
    const NAME_ENDINGS: [&str; 17] = [
        "_HOOK_FETCH_WORK",
        "_HOOK_REPLY_FETCH",
        "_HOOK_EVICT_CLAIM",
        "_HOOK_PREPARE_JOB",
        "_HOOK_UPDATE_JOB_INFO",
        "_HOOK_JOB_EXIT",
        "_HOOK_EVICT_JOB",
        "_HOOK_TRANSLATE_JOB",
        "_HOOK_JOB_CLEANUP",
        "_HOOK_JOB_FINALIZE",
        "_HOOK_PREPARE_JOB_BEFORE_TRANSFER",
        "_HOOK_SHADOW_PREPARE_JOB",
        "_HOOK_PREPARE_JOB_ARGS",
        "_HOOK_SHADOW_PREPARE_JOB_ARGS",
        "_HOOK_JOB_EXIT_TIMEOUT",
        "_HOOK_SHADOW_PREPARE_JOB_TIMEOUT",
        "_ATTRS_TO_COPY",
    ];
    NAME_ENDINGS
        .iter()
        .any(|end| name.len() > end.len() && caseless::eq(&name[name.len() - end.len()..], end.as_bytes()))
        && !caseless::contains(name, b"_JOB_HOOK_")
        || caseless::ends_with(name, b"_JOB_HOOK_KEYWORD")
        || caseless::eq(name, b"JOB_ROUTER_HOOK_KEYWORD")
}

/// Returns true if a name matches a pattern with any number of stars.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    if !may_match(pattern, name) {
        return false;
    }
    let mut parts = pattern.split(|&b| b == b'*');
    let first = parts.next().unwrap_or_default();
    if !caseless::starts_with(name, first) {
        return false;
    }
    let mut rest = &name[first.len()..];
    let mut parts: Vec<&[u8]> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match (0..=rest.len()).find(|&at| caseless::starts_with(&rest[at..], part)) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && caseless::ends_with(rest, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abbreviated_name_is_one_of_a_parameter() {
        let found = |name: &str| find_abbreviated(name.as_bytes()).map(|name| name.to_string());
        assert_eq!(found("APPEND_REQ").as_deref(), Some("APPEND_REQUIREMENTS"));
        assert_eq!(found("MAX_JOBS_RUN").as_deref(), Some("MAX_JOBS_RUNNING"));
        for own in ["SITE_REQ", "APPEND_RE", "APPEND", "LOCAL_CONFIG", "SCHEDD_BIN", "NUM_CPU"] {
            assert_eq!(found(own), None, "{own}");
        }
    }

    #[test]
    fn names_match_their_families() {
        assert!(
            matches_pattern(b"MAX_*_LOG", b"max_startd_log") && !matches_pattern(b"MAX_*_LOG", b"MAX_LOG")
        );
        assert!(is_hook_parameter(b"KW_HOOK_FETCH_WORK") && !is_hook_parameter(b"KW_JOB_HOOK_PREPARE_JOB"));
        assert!(!is_hook_parameter(b"KW_HOOK_REPLY_CLAIM"));
    }
}
