//! Lists of names and the parameters that define their members: routes, transforms, requirements, cron jobs.

use std::cell::LazyCell;

use bstr::{BStr, BString, ByteSlice};
use htc_config::Advice;
use htc_config::lint_rule::LintRule;
use rustc_hash::FxHashSet;

use super::attribute_owners::AttributeOwner;
use super::brackets::find_unbalanced;
use super::families::accounting_groups;
use super::known_attributes::{is_exact_attribute, is_known_attribute};
use super::lint_subject::LintSubject;
use super::list_families::{NAMED_LIST_FAMILIES, NamedListFamily};
use super::name_status::{NameStatus, UnreadReason};
use super::parameter_names::{DAEMON_NAMES, is_attribute_list, list_items};
use htc_base::text::similar_names::{self, SimilarNames};
use htc_base::text::{caseless, unqualified_name};
use htc_config::finding::Finding;
use htc_config::macro_definition::MacroEntry;

/// Parameters of the old router language, which 24.10.2 removed, and their replacements. JOB_ROUTER_ENTRIES_REFRESH is
/// not one of them: its timer still reads the routes again (`JobRouter::config`).
const OLD_ROUTER_PARAMETERS: [(&str, &str); 4] = [
    (
        "JOB_ROUTER_ENTRIES",
        "write each route as JOB_ROUTER_ROUTE_<NAME> and list it in JOB_ROUTER_ROUTE_NAMES; htc-router-translate convert does it",
    ),
    (
        "JOB_ROUTER_ENTRIES_FILE",
        "write each route as JOB_ROUTER_ROUTE_<NAME> in a configuration file; htc-router-translate convert does it",
    ),
    ("JOB_ROUTER_ENTRIES_CMD", "write the routes with 'include command'"),
    ("JOB_ROUTER_DEFAULTS", "use JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES for statements that all routes share"),
];

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for family in &NAMED_LIST_FAMILIES {
        check_members(subject, family, findings);
    }
    for (name, fix) in OLD_ROUTER_PARAMETERS {
        let entry = subject.config.set.find_exact(name.as_bytes()).filter(|entry| !entry.raw().is_empty());
        if let Some(entry) = entry.filter(|entry| entry.current.is_user_written()) {
            let message =
                format!("{name} belongs to the old route language, which no longer works since 24.10.2");
            findings.push(subject.make_finding(
                LintRule::OldSyntax,
                &entry.current,
                None,
                message,
                fix.to_owned(),
            ));
        }
    }
    for entry in subject.user_written_entries() {
        check_brackets(subject, entry, findings);
        if is_attribute_list(&entry.name) {
            check_attribute_list(subject, entry, findings);
        }
    }
    if let Some(entry) =
        subject.config.set.find_exact(b"DAEMON_LIST").filter(|entry| entry.current.is_user_written())
    {
        check_daemon_list(subject, entry, findings);
    }
    if let Some(entry) = subject.config.set.find_exact(accounting_groups::GROUP_LIST.as_bytes()) {
        let listed = accounting_groups::listed_groups(&subject.view);
        for (group, part) in list_words(subject, entry) {
            let is_misspelled = ["GROUP_QUOTA_", "GROUP_QUOTA_DYNAMIC_"]
                .iter()
                .any(|start| is_misspelled_member(subject, &format!("{start}{group}")));
            if is_misspelled {
                continue;
            }
            if let Some(UnreadReason { cause, fix, holds_in_part }) =
                accounting_groups::check_listed_group(BStr::new(&group), &listed, &subject.view)
            {
                let rule = LintRule::NamedNotDefined;
                let finding = subject.make_finding(rule, &entry.current, part, cause, fix);
                findings.push(Finding { holds_in_part, ..finding });
            }
        }
    }
}

/// Returns the words of a list with their positions in its raw value.
fn list_words<'e>(
    subject: &LintSubject<'_>,
    entry: &'e MacroEntry,
) -> impl Iterator<Item = (BString, Option<(usize, usize)>)> + use<'e> {
    let raw = &entry.current.raw;
    let words = list_items(&subject.view, &entry.name.to_str_lossy());
    words.into_iter().map(|word| {
        let part = raw.find(&word[..]).map(|at| (at, at + word.len()));
        (word, part)
    })
}

/// Reports words of DAEMON_LIST for which no parameter names a program (`masterDaemon.cpp`, constructor of `daemon`).
fn check_daemon_list(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    if report_leading_plus(subject, entry, findings) {
        return;
    }
    for (word, part) in list_words(subject, entry) {
        let word = BStr::new(word.trim_start_with(|c| c == '+'));
        if word.is_empty() || subject.view.is_defined(&word.to_str_lossy()) {
            continue;
        }
        let known =
            DAEMON_NAMES.iter().filter(|name| subject.view.is_defined(name)).map(|name| name.as_bytes());
        let message = format!("daemon '{word}' is named here, but no parameter {word} names its program");
        // A word may be the name of a program: condor_master.
        let plain = caseless::strip_prefix(word, b"condor_").map(<[u8]>::to_ascii_uppercase);
        let plain = plain.filter(|plain| DAEMON_NAMES.iter().any(|known| known.as_bytes() == plain));
        let is_name = word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let fix = match plain.or_else(|| similar_names::nearest(word, known).map(<[u8]>::to_vec)) {
            Some(near) => Advice::DidYouMean(near.into()),
            None if !is_name => "separate the daemons by commas or blanks".into(),
            None => format!("set {word} to the path of its program, or remove the name").into(),
        };
        let finding = subject.make_finding(LintRule::NamedNotDefined, &entry.current, part, message, fix);
        findings.push(Finding { holds_in_part: !is_name, ..finding });
    }
}

/// Reports a list whose value begins with a plus sign: `DAEMON_LIST =+ SCHEDD`.
fn report_leading_plus(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) -> bool {
    let Some(rest) = entry.raw().strip_prefix(b"+ ") else { return false };
    let message = format!("{}: the value begins with '+'", entry.name);
    let fix = format!("write {} += {}", entry.name, rest.trim().as_bstr());
    let finding = subject.make_finding(LintRule::NamedNotDefined, &entry.current, Some((0, 1)), message, fix);
    findings.push(Finding { holds_in_part: true, ..finding });
    true
}

/// Reports advertised attributes that nothing defines.
fn check_attribute_list(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    // A latch records when an attribute of the slot changed (`ResState`, STARTD_LATCH_EXPRS).
    let is_latch = caseless::eq(unqualified_name(&entry.name), b"STARTD_LATCH_EXPRS");
    if report_leading_plus(subject, entry, findings) {
        return;
    }
    for (word, part) in list_words(subject, entry) {
        // `+Name` in SUBMIT_ATTRS replaces the value from the submit file (`SubmitHash::SetForcedSubmitAttrs`).
        let word = BString::from(word.strip_prefix(b"+").unwrap_or(&word));
        if is_latch && is_known_attribute(&word) || is_published(subject, &entry.name, &word) {
            continue;
        }
        let is_set = subject.view.raw_bytes(&word).is_some()
            || subject.is_set_with_any_prefix(&word)
            || subject.config.set.entries().any(|other| is_prefixed_attribute(&other.name, &word));
        if is_set || part.is_none() {
            continue;
        }
        let near = subject
            .names_set()
            .nearest(&word, |near| !is_attribute_list(near))
            .map(|near| BString::from(*near));
        // A cron job publishes attributes that no parameter sets.
        if near.is_none() && is_startd_list(&entry.name) && cron_may_publish(subject, &word) {
            continue;
        }
        let limit = subject.environment_limit(&word);
        let message = format!(
            "attribute '{word}' is named here, but no parameter {word} is set: it is not advertised{limit}"
        );
        let fix = match near {
            Some(near) => Advice::DidYouMean(near),
            None => format!("set {word}, or remove the name").into(),
        };
        findings.push(subject.make_finding(LintRule::NamedNotDefined, &entry.current, part, message, fix));
    }
}

/// Maximum size of the script of a cron job that is searched, in bytes.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// True if a cron job of the startd may publish an attribute: its executable cannot be read, is not a script, or mentions the name.
fn cron_may_publish(subject: &LintSubject<'_>, attribute: &[u8]) -> bool {
    let word = attribute.to_ascii_lowercase();
    list_items(&subject.view, "STARTD_CRON_JOBLIST").iter().any(|job| {
        let name = format!("STARTD_CRON_{job}_EXECUTABLE");
        let Some(executable) = subject.view.text(&name) else { return false };
        let path = executable.to_path_lossy().into_owned();
        let Ok(text) = subject.world.read_file(&path, Some(MAX_SCRIPT_BYTES)) else { return true };
        !text.starts_with(b"#!") || text.to_ascii_lowercase().contains_str(&word)
    })
}

/// True for attribute lists of the startd and of its slots.
fn is_startd_list(name: &[u8]) -> bool {
    let name = unqualified_name(name);
    caseless::ends_with(name, b"STARTD_ATTRS") || caseless::ends_with(name, b"STARTD_EXPRS")
}

/// True if HTCondor itself sets an attribute in the ads to which a list adds attributes, always or on some machines
/// (`MachAttributes::publish_static`), so that no parameter has to.
fn is_published(subject: &LintSubject<'_>, list: &[u8], attribute: &[u8]) -> bool {
    let bare = unqualified_name(list);
    let is_of_jobs = caseless::starts_with(bare, b"SUBMIT_");
    let owner = AttributeOwner::of_attribute(attribute);
    let is_possible = match () {
        () if is_of_jobs => owner != Some(AttributeOwner::Slot),
        () if is_startd_list(list) => owner != Some(AttributeOwner::Job),
        () => owner.is_none(),
    };
    let is_of_resource = is_startd_list(list) && subject.is_machine_resource(attribute);
    is_possible && is_exact_attribute(attribute) || is_of_resource
}

/// Returns true if a name is `<PREFIX>_<attribute>`: slots and local names may have their own values.
fn is_prefixed_attribute(name: &[u8], attribute: &[u8]) -> bool {
    let before = name.len().checked_sub(attribute.len() + 1);
    before.is_some_and(|at| at > 0 && name[at] == b'_' && caseless::ends_with(name, attribute))
}

/// Returns the name of the member in a parameter's name.
fn member_name<'n>(family: &NamedListFamily, name: &'n [u8]) -> Option<&'n [u8]> {
    let name = unqualified_name(name);
    if !caseless::starts_with(name, family.prefix.as_bytes())
        || !caseless::ends_with(name, family.suffix.as_bytes())
    {
        return None;
    }
    let end = name.len().checked_sub(family.suffix.len())?;
    let member = name.get(family.prefix.len()..end).filter(|member| !member.is_empty())?;
    let is_part = family.member_suffixes.iter().any(|part| caseless::ends_with(member, part.as_bytes()));
    (!is_part).then_some(member)
}

fn check_members(subject: &LintSubject<'_>, family: &NamedListFamily, findings: &mut Vec<Finding>) {
    let defined: Vec<(&[u8], &MacroEntry)> = subject
        .config
        .set
        .entries()
        .filter(|entry| !entry.raw().is_empty())
        .filter_map(|entry| Some((member_name(family, &entry.name)?, entry)))
        // REASON_<NAME> is a misspelling of <NAME>_REASON. The rules for names report it.
        .filter(|(_, entry)| !subject.known.is_misordered(&entry.name))
        .collect();
    let defined_names: FxHashSet<Vec<u8>> =
        defined.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let near_names = LazyCell::new(|| SimilarNames::new(defined.iter().map(|(name, _)| *name)));
    let mut named: Vec<BString> = Vec::new();
    let unlisted = unlisted_members(subject, family, &defined);
    // Unlisted members that the finding about an undefined name of a list suggests.
    let mut suggested: FxHashSet<Vec<u8>> = FxHashSet::default();
    for list in family.lists {
        let names = list_items(&subject.view, list);
        let Some(entry) = subject.config.set.find_exact(list.as_bytes()) else {
            named.extend(names);
            continue;
        };
        let mut checked: FxHashSet<Vec<u8>> = FxHashSet::default();
        for name in &names {
            let key = name.to_ascii_lowercase();
            if !checked.insert(key.clone()) || defined_names.contains(&key) {
                continue;
            }
            let part = entry.current.raw.find(&name[..]).map(|at| (at, at + name.len()));
            let parameter = format!("{}{name}{}", family.prefix, family.suffix);
            if is_written_somewhere(subject, parameter.as_bytes())
                || is_defined_for_other(subject, family, name)
            {
                continue;
            }
            if is_misspelled_member(subject, &parameter) {
                continue;
            }
            let mut message =
                format!("{} '{name}' is named here, but {parameter} is not set", family.member_noun);
            // A name of one or two letters is similar to every other short name.
            let near = near_names.nearest(name, |near| near.len() > 2 && name.len() > 2);
            let fix = match near {
                Some(near) => Advice::DidYouMean((*near).into()),
                None => advise_undefined_member(subject, family, name, &unlisted),
            };
            let is_suggested = |member: &&BString| {
                let advice = fix.to_string();
                advice.contains(&format!("did you mean {member}?"))
            };
            if let Some(member) = unlisted.iter().find(is_suggested) {
                message.push_str(&format!(", and {} '{member}' is in no list", family.member_noun));
                suggested.insert(member.to_ascii_lowercase());
            }
            // A file that contains the list and one member is expected to contain all of them.
            let is_in_same_source =
                |other: &MacroEntry| other.current.place.source == entry.current.place.source;
            let holds_in_part = defined.iter().any(|(member, other)| {
                is_in_same_source(other) && names.iter().any(|name| caseless::eq(name, member))
            });
            let rule = LintRule::NamedNotDefined;
            let finding = subject.make_finding(rule, &entry.current, part, message, fix);
            findings.push(Finding { holds_in_part, ..finding });
        }
        named.extend(names);
    }
    let defined: Vec<_> =
        defined.into_iter().filter(|(name, _)| !suggested.contains(&name.to_ascii_lowercase())).collect();
    check_unlisted_members(subject, family, &defined, &named, findings);
}

/// True if the configuration sets a misspelling of this parameter, which another finding reports.
pub(crate) fn is_misspelled_member(subject: &LintSubject<'_>, parameter: &str) -> bool {
    let is_meant_by = |name: &[u8]| match subject.known.classify(name) {
        NameStatus::Unread(UnreadReason { fix: Advice::DidYouMean(intended), .. }) => {
            caseless::eq(&intended, parameter.as_bytes())
        }
        _ => false,
    };
    if subject.names_set().nearest(parameter.as_bytes(), |_| true).is_some_and(|near| is_meant_by(near)) {
        return true;
    }
    // Another word for the same setting: `STARTD_CRON_<JOB>_INTERVAL`.
    let Some((member, _)) = parameter.rsplit_once('_').filter(|(member, _)| member.contains("_CRON_")) else {
        return false;
    };
    let is_of_member = |name: &[u8]| caseless::starts_with(name, member.as_bytes());
    subject.user_written_entries().any(|entry| is_of_member(&entry.name) && is_meant_by(&entry.name))
}

/// Returns the members that are defined and that no list contains.
fn unlisted_members(
    subject: &LintSubject<'_>,
    family: &NamedListFamily,
    defined: &[(&[u8], &MacroEntry)],
) -> Vec<BString> {
    if defined.is_empty() {
        return Vec::new();
    }
    let listed: FxHashSet<Vec<u8>> = family
        .lists
        .iter()
        .flat_map(|list| list_items(&subject.view, list))
        .map(|name| name.to_ascii_lowercase())
        .collect();
    let names = defined.iter().filter(|(name, _)| !listed.contains(&name.to_ascii_lowercase()));
    names.map(|(name, _)| BString::from(*name)).collect()
}

/// Returns advice about a listed member that is not defined and not similar to another one.
fn advise_undefined_member(
    subject: &LintSubject<'_>,
    family: &NamedListFamily,
    name: &[u8],
    unlisted: &[BString],
) -> Advice {
    let shown = BStr::new(name);
    let member = |name: &BStr| format!("{}{name}{}", family.prefix, family.suffix);
    if let Some(related) = accounting_groups::find_related(name, unlisted) {
        return format!("did you mean {related}?").into();
    }
    // The only member in no list may be an abbreviation of the name, or the reverse.
    if let [only] = unlisted
        && only.first().map(u8::to_ascii_lowercase) == name.first().map(u8::to_ascii_lowercase)
        && is_subsequence(name, only)
    {
        return format!("did you mean {only}?").into();
    }
    // The name may be defined as JOB_ROUTER_PRE_ROUTE_TRANSFORM_x, which looks like a member of the list
    // JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES but is not one.
    let starts = family.lists.iter().filter_map(|list| list.strip_suffix("NAMES"));
    let mut others = starts.filter(|start| *start != family.prefix).map(|start| format!("{start}{shown}"));
    match others.find(|other| subject.config.set.find_exact(other.as_bytes()).is_some()) {
        Some(other) => format!("rename {other} to {}", member(shown)).into(),
        None => format!("set {}, or remove the name", member(shown)).into(),
    }
}

/// True if the letters of the shorter name appear in the longer one in the same order.
fn is_subsequence(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut rest = long.iter();
    2 * short.len() >= long.len()
        && short.iter().all(|byte| rest.any(|other| other.eq_ignore_ascii_case(byte)))
}

/// Reports members that no list contains.
fn check_unlisted_members(
    subject: &LintSubject<'_>,
    family: &NamedListFamily,
    defined: &[(&[u8], &MacroEntry)],
    named: &[BString],
    findings: &mut Vec<Finding>,
) {
    let listed: FxHashSet<Vec<u8>> = named.iter().map(|name| name.to_ascii_lowercase()).collect();
    let probable = LazyCell::new(|| SimilarNames::new(probable_names(family, named)));
    let list_comments = LazyCell::new(|| comments_with_list(subject, family));
    for (name, entry) in defined {
        let is_in_comment = || list_comments.iter().any(|line| caseless::contains(line, name));
        if listed.contains(&name.to_ascii_lowercase()) || !entry.current.is_user_written() || is_in_comment()
        {
            continue;
        }
        let message = format!("{} '{}' is in no list: it is never used", family.member_noun, BStr::new(name));
        if let Some(other) = find_naming_family(subject, family, name) {
            let correct_name = format!("{}{}{}", other.prefix, BStr::new(name), other.suffix);
            let message = format!("{message}; {} names a {} of this name", other.lists[0], other.member_noun);
            let fix = Advice::DidYouMean(correct_name.into());
            findings.push(subject.make_finding(
                LintRule::DefinedNotNamed,
                &entry.current,
                None,
                message,
                fix,
            ));
            continue;
        }
        let undefined = || -> Vec<BString> {
            let is_undefined =
                |name: &&BString| !defined.iter().any(|(defined, _)| caseless::eq(defined, name));
            named.iter().filter(is_undefined).cloned().collect()
        };
        let fix = match probable.nearest(&entry.name, |_| true) {
            Some(near) => Advice::DidYouMean(near[..].into()),
            None => match accounting_groups::find_related(name, &undefined()) {
                Some(related) => format!("did you mean {}{related}{}?", family.prefix, family.suffix).into(),
                None => format!("add it to {}", family.lists.join(" or ")).into(),
            },
        };
        findings.push(subject.make_finding(LintRule::DefinedNotNamed, &entry.current, None, message, fix));
    }
}

/// True if a source contains a block (`@=`) for a parameter that is not set: a condition or a syntax error keeps the
/// block from being read.
fn is_written_somewhere(subject: &LintSubject<'_>, name: &[u8]) -> bool {
    let texts = subject.config.set.sources().iter().filter_map(|source| source.text.as_deref());
    texts.flat_map(|text| text.lines()).any(|line| {
        let rest = caseless::strip_prefix(line.trim_start(), name).map(<[u8]>::trim_start);
        rest.is_some_and(|rest| rest.starts_with(b"@="))
    })
}

/// Returns another family of transforms or routes whose list contains this name without a definition.
fn find_naming_family<'f>(
    subject: &LintSubject<'_>,
    family: &NamedListFamily,
    name: &[u8],
) -> Option<&'f NamedListFamily> {
    NAMED_LIST_FAMILIES.iter().filter(|other| other.prefix != family.prefix && is_job_rule(other)).find(
        |other| {
            let is_listed = other
                .lists
                .iter()
                .any(|list| list_items(&subject.view, list).iter().any(|word| caseless::eq(word, name)));
            let parameter = format!("{}{}{}", other.prefix, BStr::new(name), other.suffix);
            is_listed && is_job_rule(family) && subject.config.set.find_exact(parameter.as_bytes()).is_none()
        },
    )
}

/// True if a member that is not defined in its family is defined in another family, whose list does not contain it.
fn is_defined_for_other(subject: &LintSubject<'_>, family: &NamedListFamily, name: &[u8]) -> bool {
    is_job_rule(family)
        && NAMED_LIST_FAMILIES.iter().filter(|other| other.prefix != family.prefix && is_job_rule(other)).any(
            |other| {
                let parameter = format!("{}{}{}", other.prefix, BStr::new(name), other.suffix);
                let is_set = subject
                    .config
                    .set
                    .find_exact(parameter.as_bytes())
                    .is_some_and(|entry| entry.current.is_user_written());
                let is_listed = other
                    .lists
                    .iter()
                    .any(|list| list_items(&subject.view, list).iter().any(|word| caseless::eq(word, name)));
                is_set && !is_listed
            },
        )
}

/// True for the families of routes and transforms.
fn is_job_rule(family: &NamedListFamily) -> bool {
    matches!(family.prefix, "JOB_ROUTER_ROUTE_" | "JOB_ROUTER_TRANSFORM_" | "JOB_TRANSFORM_")
}

/// Returns the parameters whose names an unlisted member may misspell: the list itself, or a setting of a listed
/// member.
fn probable_names(family: &NamedListFamily, named: &[BString]) -> Vec<Vec<u8>> {
    let (prefix, suffix) = (family.prefix, family.suffix);
    let parts = named.iter().flat_map(|member| {
        let parts = family.member_suffixes.iter().filter(|part| part.starts_with('_'));
        parts.map(move |part| format!("{prefix}{member}{suffix}{part}").into_bytes())
    });
    family.lists.iter().map(|list| list.as_bytes().to_vec()).chain(parts).collect()
}

/// Returns the comments that mention a list of the family. A member that such a comment names was left out of the list
/// on purpose.
fn comments_with_list<'a>(subject: &LintSubject<'a>, family: &NamedListFamily) -> Vec<&'a [u8]> {
    let texts = subject.config.set.sources().iter().filter_map(|source| source.text.as_deref());
    texts
        .flat_map(|text| text.lines())
        .filter(|line| {
            line.trim_start().starts_with(b"#")
                && family.lists.iter().any(|list| caseless::contains(line, list.as_bytes()))
        })
        .collect()
}

/// Reports unbalanced brackets in the bodies of routes, transforms and old route ads.
fn check_brackets(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    let name = unqualified_name(&entry.name);
    let is = |prefix: &str| caseless::starts_with(name, prefix.as_bytes());
    let raw = &entry.current.raw;
    if is("JOB_ROUTER_ENTRIES") && !is("JOB_ROUTER_ENTRIES_") || is("JOB_ROUTER_DEFAULTS") {
        if let Some(wrong) = find_unbalanced(raw) {
            let part = Some((wrong.at, wrong.at + 1));
            let message = format!("{}: {wrong}", entry.name);
            findings.push(subject.make_finding(LintRule::Unbalanced, &entry.current, part, message, None));
        }
        return;
    }
    // The brackets of an ad of the old syntax may be in several lines.
    let is_body = !raw.trim_start().starts_with(b"[")
        && (is("JOB_ROUTER_ROUTE_") || is("JOB_ROUTER_TRANSFORM_") || is("JOB_TRANSFORM_"))
        && !caseless::ends_with(name, b"_NAMES");
    if !is_body {
        return;
    }
    let mut start = 0;
    for line in raw.split(|&b| b == b'\n') {
        let command = line.trim_start();
        // Patterns of COPY, RENAME and DELETE may contain brackets.
        let is_pattern = command.contains(&b'/')
            && command.split(|b| b" \t".contains(b)).nth(1).is_some_and(|word| word.starts_with(b"/"));
        if !command.starts_with(b"#")
            && !is_pattern
            && let Some(wrong) = find_unbalanced(line)
        {
            let at = start + wrong.at;
            let message = format!("{}: {wrong}", entry.name);
            findings.push(subject.make_finding(
                LintRule::Unbalanced,
                &entry.current,
                Some((at, at + 1)),
                message,
                None,
            ));
        }
        start += line.len() + 1;
    }
}
