//! Settings of a member that does not exist: `SUBMIT_REQUIREMENT_x_REASON` without `SUBMIT_REQUIREMENT_x`.

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::{caseless, similar_names, unqualified_name};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;

use super::lint_subject::LintSubject;
use super::parameter_names::list_items;

/// Family of members with settings in separate parameters.
struct MemberFamily {
    /// Parameters that list the members; empty if the family has no list.
    lists: &'static [&'static str],
    prefix: &'static str,
    /// Suffixes of the parameters that define a member.
    definitions: &'static [&'static str],
    /// Suffixes of the settings that have no effect without the member.
    settings: &'static [&'static str],
    /// Parts after the prefix that make a parameter of HTCondor, not a setting.
    others: &'static [&'static str],
}

const FAMILIES: [MemberFamily; 9] = [
    MemberFamily {
        lists: &["SUBMIT_REQUIREMENT_NAMES"],
        prefix: "SUBMIT_REQUIREMENT_",
        definitions: &[""],
        settings: &["_REASON", "_IS_WARNING"],
        others: &[],
    },
    MemberFamily {
        lists: &["SYSTEM_PERIODIC_HOLD_NAMES"],
        prefix: "SYSTEM_PERIODIC_HOLD_",
        definitions: &[""],
        settings: &["_REASON", "_SUBCODE"],
        others: &[],
    },
    MemberFamily {
        lists: &["SYSTEM_PERIODIC_RELEASE_NAMES"],
        prefix: "SYSTEM_PERIODIC_RELEASE_",
        definitions: &[""],
        settings: &["_REASON", "_SUBCODE"],
        others: &[],
    },
    MemberFamily {
        lists: &["SYSTEM_PERIODIC_REMOVE_NAMES"],
        prefix: "SYSTEM_PERIODIC_REMOVE_",
        definitions: &[""],
        settings: &["_REASON", "_SUBCODE"],
        others: &[],
    },
    MemberFamily {
        lists: &["SYSTEM_PERIODIC_VACATE_NAMES"],
        prefix: "SYSTEM_PERIODIC_VACATE_",
        definitions: &[""],
        settings: &["_REASON", "_SUBCODE"],
        others: &[],
    },
    MemberFamily {
        lists: &["DOCKER_VOLUMES", "DOCKER_MOUNT_VOLUMES"],
        prefix: "DOCKER_VOLUME_DIR_",
        definitions: &[""],
        settings: &["_MOUNT_IF"],
        others: &[],
    },
    MemberFamily {
        lists: &["SEC_SCITOKENS_PLUGIN_NAMES"],
        prefix: "SEC_SCITOKENS_PLUGIN_",
        definitions: &["_COMMAND", "_MAPPING"],
        settings: &["_COMMAND", "_MAPPING"],
        others: &["NAMES"],
    },
    MemberFamily {
        lists: &["*_CLASSAD_USER_MAP_NAMES"],
        prefix: "CLASSAD_USER_MAP_PREFIX_",
        definitions: &[],
        settings: &[""],
        others: &[],
    },
    MemberFamily {
        lists: &[],
        prefix: "SLOT_TYPE_",
        definitions: &[""],
        settings: &["_PARTITIONABLE", "_NAME_PREFIX"],
        others: &[],
    },
];

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for family in &FAMILIES {
        check_family(subject, family, findings);
    }
}

/// Returns the member in the name of a parameter with one of these suffixes.
fn member_of<'n>(family: &MemberFamily, name: &'n [u8], end: &str) -> Option<&'n [u8]> {
    let rest = caseless::strip_prefix(unqualified_name(name), family.prefix.as_bytes())?;
    let length = rest.len().checked_sub(end.len()).filter(|length| *length > 0)?;
    caseless::ends_with(rest, end.as_bytes()).then(|| &rest[..length])
}

/// Returns the members that the lists name.
fn listed_members(subject: &LintSubject<'_>, family: &MemberFamily) -> Vec<BString> {
    let mut names: Vec<BString> = Vec::new();
    for list in family.lists {
        match list.strip_prefix('*') {
            None => names.extend(list_items(&subject.view, list)),
            Some(end) => {
                let lists = subject.config.set.entries();
                let lists = lists.filter(|entry| caseless::ends_with(&entry.name, end.as_bytes()));
                for entry in lists {
                    names.extend(list_items(&subject.view, &entry.name.to_str_lossy()));
                }
            }
        }
    }
    names
}

/// True if NUM_SLOTS_TYPE_<n> is set for a slot type, so that its other settings have an effect.
fn is_numbered_slot_type(subject: &LintSubject<'_>, family: &MemberFamily, member: &[u8]) -> bool {
    let count = format!("NUM_SLOTS_TYPE_{}", BStr::new(member));
    family.prefix == "SLOT_TYPE_" && subject.config.set.find_exact(count.as_bytes()).is_some()
}

fn check_family(subject: &LintSubject<'_>, family: &MemberFamily, findings: &mut Vec<Finding>) {
    let settings: Vec<(&MacroEntry, &[u8], &str)> = subject
        .user_written_entries()
        .filter_map(|entry| {
            let as_setting = |end: &&'static str| Some((entry, member_of(family, &entry.name, end)?, *end));
            family.settings.iter().find_map(as_setting)
        })
        .collect();
    if settings.is_empty() {
        return;
    }
    let listed = listed_members(subject, family);
    let is_setting = |name: &[u8]| {
        family.settings.iter().any(|end| !end.is_empty() && member_of(family, name, end).is_some())
    };
    let defined: Vec<(&[u8], &MacroEntry)> = subject
        .config
        .set
        .entries()
        .filter(|entry| !family.definitions.contains(&"") || !is_setting(&entry.name))
        .filter_map(|entry| {
            let member = family.definitions.iter().find_map(|end| member_of(family, &entry.name, end))?;
            Some((member, entry))
        })
        .collect();
    let is_list_set = |list: &&str| subject.config.set.find_exact(list.as_bytes()).is_some();
    for (entry, member, end) in settings {
        let is_other = family.others.iter().any(|other| caseless::eq(other.as_bytes(), member));
        let is_listed = listed.iter().any(|known| caseless::eq(known, member));
        // A parameter that defines a member is reported by the rules for lists.
        let is_definition = family.definitions.contains(&end) && listed.is_empty();
        let is_defined = !family.definitions.contains(&end)
            && defined.iter().any(|(known, _)| caseless::eq(known, member));
        let whole = &unqualified_name(&entry.name)[family.prefix.len()..];
        let is_member = listed.iter().any(|known| caseless::eq(known, whole));
        if is_other
            || is_listed
            || is_definition
            || is_defined
            || is_member
            || entry.raw().trim().is_empty()
            || subject.known.is_misordered(&entry.name)
        {
            continue;
        }
        if is_numbered_slot_type(subject, family, member) {
            continue;
        }
        let names = listed.iter().map(|name| &name[..]).chain(defined.iter().map(|(name, _)| *name));
        let near = similar_names::nearest(member, names.filter(|name| !caseless::eq(name, member)));
        let shown = BStr::new(member);
        let problem = match family.definitions.first() {
            Some(definition) if *definition != end => {
                format!("no parameter {}{shown}{definition}", family.prefix)
            }
            _ => format!("{} does not list {shown}", family.lists.join(" or ").replace('*', "SCHEDD")),
        };
        let message = match family.definitions.first() {
            Some(definition) if *definition != end => {
                format!("nothing reads {}: there is {problem}", entry.name)
            }
            _ => format!("nothing reads {}: {problem}", entry.name),
        };
        let fix = match near {
            Some(near) => Advice::DidYouMean(format!("{}{}{end}", family.prefix, BStr::new(near)).into()),
            None => format!("define {shown}, or remove this").into(),
        };
        let source = entry.current.place.source;
        let is_in_same_source = |other: &MacroEntry| other.current.place.source == source;
        let has_list = family.lists.iter().any(|list| {
            subject.config.set.find_exact(list.as_bytes()).is_some_and(|list| list.current.is_user_written())
        });
        // If a file has only settings, the members are probably in another file.
        if near.is_none() && !has_list && !defined.iter().any(|(_, other)| is_in_same_source(other)) {
            continue;
        }
        let holds_in_part =
            family.lists.iter().any(is_list_set) && defined.iter().any(|(_, other)| is_in_same_source(other));
        let finding = subject.make_finding(LintRule::UnknownParameter, &entry.current, None, message, fix);
        findings.push(Finding { holds_in_part, ..finding });
    }
}
