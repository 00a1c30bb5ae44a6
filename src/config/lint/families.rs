//! Names with a part that the site chooses, and which of them somebody reads: slots and slot types, cron jobs, daemons
//! under names of their own, permissions, maps, templates that apply themselves.
//!
//! What is read of a family is what the reference's source asks for; the function is named beside each.

use bstr::{BStr, BString, ByteSlice};
use rustc_hash::FxHashSet;

use super::known::{DAEMONS, Standing, is_attribute_list, is_parameter, items};
use crate::config::{Config, View, template};
use crate::text::{bare_name, caseless, similar};

mod cron;
pub(super) mod groups;
mod slots;

/// Why nobody reads a name, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// What is wrong, to stand behind `nothing reads NAME: `.
    pub why: String,
    /// What to do.
    pub fix: String,
}

impl Unread {
    fn standing(why: impl Into<String>, fix: impl Into<String>) -> Option<Standing> {
        Some(Standing::Unread(Unread { why: why.into(), fix: fix.into() }))
    }
}

/// The names that a configuration chooses itself.
pub(super) struct Site {
    /// Daemons, those of DAEMON_LIST too, and local names.
    pub(super) daemons: Vec<BString>,
    is_daemon: FxHashSet<Vec<u8>>,
    /// Attributes that are advertised, and clauses of requirements.
    pub(super) attributes: Vec<BString>,
    /// What slots are called before their number.
    slot_prefixes: Vec<BString>,
    /// The last slot type that is looked at.
    last_slot_type: u64,
    /// Cron jobs: those listed and those that have an executable.
    crons: Vec<cron::Jobs>,
    /// Accounting groups.
    pub(super) groups: Vec<BString>,
    set: FxHashSet<Vec<u8>>,
}

impl Site {
    /// Collects them.
    pub(super) fn new(config: &Config, view: &View<'_>) -> Site {
        let mut daemons: Vec<BString> = DAEMONS.iter().map(|&name| name.into()).collect();
        for knob in ["DAEMON_LIST", "DC_DAEMON_LIST"] {
            // A word that means nothing makes no daemon of what begins with it.
            let listed =
                items(view, knob).into_iter().map(|name| BString::from(name.trim_start_with(|c| c == '+')));
            daemons.extend(listed.filter(|name| view.is_defined(&name.to_str_lossy())));
        }
        let mut attributes = Vec::new();
        let mut slot_prefixes = vec![BString::from("SLOT")];
        slot_prefixes.extend(items(view, "STARTD_RESOURCE_PREFIX"));
        for entry in config.set.entries() {
            let name = entry.name.to_str_lossy();
            if is_attribute_list(&entry.name) || is_clause_list(&entry.name) {
                attributes.extend(items(view, &name));
            } else if caseless::ends_with(&entry.name, b"_ARGS") {
                daemons.extend(local_names(&entry.current.raw));
            } else if caseless::starts_with(&entry.name, b"SLOT_TYPE_")
                && caseless::ends_with(&entry.name, b"_NAME_PREFIX")
            {
                slot_prefixes.extend(items(view, &name));
            }
        }
        let is_daemon = daemons.iter().map(|name| name.to_ascii_lowercase()).collect();
        let last = view.number("MAX_SLOT_TYPES", 10);
        let set = config.set.entries().map(|entry| entry.name.to_ascii_lowercase()).collect();
        let (crons, groups) = (cron::jobs(view), groups::groups(view));
        let last_slot_type = u64::try_from(last).unwrap_or(10);
        Site { daemons, is_daemon, attributes, slot_prefixes, last_slot_type, crons, groups, set }
    }

    /// Whether a daemon has this name, or a local name.
    pub(super) fn is_daemon(&self, name: &[u8]) -> bool {
        self.is_daemon.contains(&name.to_ascii_lowercase())
    }

    /// Whether a name is that of an advertised attribute, by itself or behind a prefix and `_`
    /// (`condor_config.cpp`, `config_fill_ad`).
    pub(super) fn is_of_attribute(&self, name: &[u8]) -> bool {
        self.attributes.iter().any(|attribute| {
            caseless::eq(attribute, name)
                || name.len() > attribute.len() + 1
                    && caseless::ends_with(name, attribute)
                    && name[name.len() - attribute.len() - 1] == b'_'
        })
    }

    fn is_attribute(&self, name: &[u8]) -> bool {
        self.attributes.iter().any(|attribute| caseless::eq(attribute, name))
    }

    fn is_set(&self, name: &str) -> bool {
        self.set.contains(&name.as_bytes().to_ascii_lowercase())
    }

    /// Whether the part before a dot is a slip of a daemon's name. What is near to none may be a local name that is
    /// given on a command line somewhere.
    pub(super) fn prefix_meant(&self, prefix: &[u8]) -> Option<Unread> {
        if self.is_daemon(prefix) || prefix.len() < 5 {
            return None;
        }
        // SCHEDD2 is another SCHEDD, not a slip of it.
        let ends_in_digit = prefix.last().is_some_and(u8::is_ascii_digit);
        let near = similar::nearest(prefix, self.daemons.iter().map(|name| &name[..]))?;
        (!ends_in_digit).then(|| Unread {
            why: format!("no daemon is called {}, nor has that as its local name", BStr::new(prefix)),
            fix: format!("did you mean {}?", BStr::new(near)),
        })
    }
}

/// The words behind `-local-name` in the arguments of a daemon.
fn local_names(arguments: &[u8]) -> Vec<BString> {
    let words: Vec<&[u8]> = arguments.fields().collect();
    let pairs = words.windows(2).filter(|pair| pair[0].ends_with(b"-local-name") || pair[0] == b"-l");
    pairs.map(|pair| BString::from(pair[1].trim_with(|c| c == '"' || c == '\''))).collect()
}

/// Whether a parameter lists clauses of a slot's requirements (`Reqexp.cpp`, `reqexp_config`).
pub(super) fn is_clause_list(name: &[u8]) -> bool {
    let bare = bare_name(name);
    caseless::ends_with(bare, b"SLOT_REQUIREMENTS_CLAUSES")
}

/// The text behind a prefix, whatever its case.
fn behind<'n>(name: &'n [u8], prefix: &str) -> Option<&'n [u8]> {
    caseless::starts_with(name, prefix.as_bytes()).then(|| &name[prefix.len()..])
}

/// A leading number and what follows it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((number, &text[digits..]))
}

/// What a name is, if it belongs to one of the families.
pub(super) fn standing(name: &[u8], site: &Site) -> Option<Standing> {
    slots::standing(name, site)
        .or_else(|| cron::standing(name, site))
        .or_else(|| permission(name, site))
        .or_else(|| auto_use(name))
        .or_else(|| user_map(name))
        .or_else(|| inventory(name))
        .or_else(|| beginning(name))
}

/// What names of families begin with before the part that the site chooses.
const BEGINNINGS: [&str; 10] = [
    "SLOT_TYPE_",
    "NUM_SLOTS_TYPE_",
    "STARTD_CRON_",
    "SCHEDD_CRON_",
    "JOB_ROUTER_ROUTE_",
    "JOB_ROUTER_TRANSFORM_",
    "JOB_TRANSFORM_",
    "SUBMIT_REQUIREMENT_",
    "SYSTEM_PERIODIC_",
    "MACHINE_RESOURCE_",
];

/// A slip in what a family's names begin with.
fn beginning(name: &[u8]) -> Option<Standing> {
    let is_right = BEGINNINGS.iter().any(|known| behind(name, known).is_some());
    if is_right {
        return None;
    }
    let slip = |known: &&str| {
        // Where the name itself has a line below, its beginning ends; otherwise the line is what was left out.
        let mut ends = [known.len() - 1, known.len(), known.len() + 1];
        ends.sort_by_key(|&end| name.get(end - 1) != Some(&b'_'));
        ends.into_iter().find(|&end| {
            let begins = name.get(..end);
            begins.is_some_and(|begins| {
                name.len() > end && similar::distance(begins, known.as_bytes(), 1).is_some()
            })
        })
    };
    let (known, end) = BEGINNINGS.iter().find_map(|known| Some((known, slip(known)?)))?;
    let rest = &name[end..];
    // What is numbered has a number there.
    if known.ends_with("TYPE_") && !rest.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Unread::standing(
        format!("names of this family begin with {known}"),
        format!("did you mean {known}{}?", BStr::new(rest)),
    )
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

/// What is asked of each permission level (`condor_secman.cpp`, `getSecSetting` and its callers).
const SECURITY: [&str; 9] = [
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

/// Names of families without a part that the site chooses, for guesses.
pub(super) fn closed() -> impl Iterator<Item = Vec<u8>> {
    let hosts =
        ["ALLOW_", "DENY_"].into_iter().flat_map(|what| PERMISSIONS.map(|level| [what, level].concat()));
    let security =
        PERMISSIONS.into_iter().flat_map(|level| SECURITY.map(|what| format!("SEC_{level}_{what}")));
    hosts.chain(security).map(String::into_bytes)
}

/// `ALLOW_<LEVEL>`, `DENY_<LEVEL>` with a daemon behind (`condor_ipverify.cpp`, `IpVerify::Init`), `SEC_<LEVEL>_<WHAT>`.
fn permission(name: &[u8], site: &Site) -> Option<Standing> {
    let starts = |text: &[u8], level: &str| caseless::starts_with(text, level.as_bytes());
    if let Some(rest) = behind(name, "ALLOW_").or_else(|| behind(name, "DENY_")) {
        let is_read = PERMISSIONS.iter().filter(|level| starts(rest, level)).any(|level| {
            let rest = &rest[level.len()..];
            rest.is_empty() || rest.strip_prefix(b"_").is_some_and(|daemon| site.is_daemon(daemon))
        });
        return is_read.then_some(Standing::Read);
    }
    let rest = behind(name, "SEC_")?;
    let of_level = |rest: &[u8]| {
        PERMISSIONS.iter().filter(|level| starts(rest, level)).any(|level| {
            let what = rest[level.len()..].strip_prefix(b"_").unwrap_or_default();
            SECURITY.iter().any(|known| caseless::eq(known.as_bytes(), what))
        })
    };
    // SEC_<DAEMON>_<LEVEL>_SESSION_DURATION is asked for, too.
    let of_daemon = || {
        let ends = caseless::ends_with(rest, b"_SESSION_DURATION");
        ends && (0..rest.len())
            .any(|at| rest[at] == b'_' && site.is_daemon(&rest[..at]) && of_level(&rest[at + 1..]))
    };
    (of_level(rest) || of_daemon()).then_some(Standing::Read)
}

/// `AUTO_USE_<CATEGORY>_<NAME>` (`condor_config.cpp`, `apply_auto_use` of `real_config`).
fn auto_use(name: &[u8]) -> Option<Standing> {
    let rest = behind(name, "AUTO_USE_")?;
    let underscore = rest.find_byte(b'_')?;
    let (category, short) = (&rest[..underscore], &rest[underscore + 1..]);
    if template::find(category, short).is_some() {
        return Some(Standing::Read);
    }
    let shown = |text: &[u8]| text.to_str_lossy().into_owned();
    let Some(known) = template::category(category) else {
        let why = format!("there is no category {} of templates", shown(category));
        return Unread::standing(why, "see htc-config-dump use for the categories");
    };
    let why = format!("there is no template {}:{}", shown(known), shown(short));
    let names =
        template::all().filter(|template| template.category() == known).map(|template| template.name());
    Unread::standing(
        why,
        match similar::nearest(short, names) {
            Some(near) => format!("did you mean AUTO_USE_{}_{}?", shown(known), shown(near)),
            None => format!("see htc-config-dump use {}", shown(known)),
        },
    )
}

/// `CLASSAD_USER_MAPFILE_<NAME>` and its brothers (`classad_usermap.cpp`, `reconfig_user_maps`).
fn user_map(name: &[u8]) -> Option<Standing> {
    const KINDS: [&str; 3] = ["CLASSAD_USER_MAPFILE_", "CLASSAD_USER_MAPDATA_", "CLASSAD_USER_MAP_PREFIX_"];
    behind(name, "CLASSAD_USER_MAP")?;
    KINDS.iter().any(|kind| behind(name, kind).is_some()).then_some(Standing::Read)
}

/// Resources whose names begin with a slip of a word that HTCondor gives them itself
/// (`ResAttributes.cpp`, `init_machine_resources`).
fn inventory(name: &[u8]) -> Option<Standing> {
    let tag = behind(name, "MACHINE_RESOURCE_")?;
    let word = &tag[..tag.find_byte(b'_')?];
    if caseless::eq(word, b"INVENTORY") {
        return Some(Standing::Read);
    }
    let is_slip = word.len() > 5 && similar::distance(word, b"INVENTORY", 2).is_some();
    let rest = BStr::new(&tag[word.len()..]);
    is_slip
        .then(|| {
            let why = format!("it makes a resource that is called {}", BStr::new(tag));
            Unread::standing(why, format!("did you mean MACHINE_RESOURCE_INVENTORY{rest}?"))
        })
        .flatten()
}
