//! Names that nothing reads, and definitions without effect.

use bstr::{BStr, BString, ByteSlice};
use htc_config::Advice;
use htc_config::lint_rule::LintRule;
use rustc_hash::FxHashSet;

use super::families::accounting_groups::is_certain_slip;
use super::invented_names::{find_intended_parameter, is_submit_command};
use super::lint_subject::LintSubject;
use super::name_status::UnreadReason;
use super::name_usage::{self, NameUsage, differs_by_a_letter};
use super::parameter_names::is_attribute_list;
use super::referenced_names::collect_names;
use htc_base::text::{caseless, list, similar_names, unqualified_name};
use htc_config::condition::split_if_keyword;
use htc_config::defaults;
use htc_config::finding::Finding;
use htc_config::lines::LogicalLines;
use htc_config::macro_definition::{Definition, MacroEntry};
use htc_config::registry::ValueType;

/// Types of hooks that are called, and those for which arguments or a timeout are read.
const HOOK_TYPES: [&str; 11] = [
    "FETCH_WORK",
    "REPLY_FETCH",
    "EVICT_CLAIM",
    "PREPARE_JOB",
    "UPDATE_JOB_INFO",
    "JOB_EXIT",
    "TRANSLATE_JOB",
    "JOB_CLEANUP",
    "JOB_FINALIZE",
    "PREPARE_JOB_BEFORE_TRANSFER",
    "SHADOW_PREPARE_JOB",
];
const HOOKS_WITH_TIMEOUT: [&str; 2] = ["JOB_EXIT", "SHADOW_PREPARE_JOB"];
const HOOKS_WITH_ARGUMENTS: [&str; 2] = ["PREPARE_JOB", "SHADOW_PREPARE_JOB"];

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        if let Some(finding) = check_hook_parameter(subject, entry) {
            findings.push(finding);
        } else {
            check_unread(subject, entry, findings);
        }
        check_shadowed(subject, entry, findings);
    }
    check_without_effect(subject, findings);
}

/// Reports a name that looks like a hook parameter but is not one.
fn check_hook_parameter(subject: &LintSubject<'_>, entry: &MacroEntry) -> Option<Finding> {
    let name = unqualified_name(&entry.name);
    let upper = name.to_ascii_uppercase();
    let at = upper.find("_HOOK_").filter(|&at| at > 0)?;
    let (keyword, rest) = (&name[..at], &upper[at + "_HOOK_".len()..]);
    let is_keyword = rest == b"KEYWORD" && caseless::ends_with(keyword, b"_JOB");
    if is_keyword || subject.known.is_known(name) {
        return None;
    }
    // An example in the manual has such a macro for the directory of the hooks.
    let is_macro = matches!(
        name_usage::classify_usage(subject, &entry.name),
        NameUsage::ReferredTo | NameUsage::Mentioned(_)
    );
    if is_macro
        && similar_names::nearest(BStr::new(&rest), HOOK_TYPES.iter().map(|hook| hook.as_bytes())).is_none()
    {
        return None;
    }
    let UnreadReason { cause, fix, .. } = explain_unread_hook_parameter(keyword, rest);
    let message = format!("nothing reads {}{cause}", entry.name);
    Some(replace_name(subject, subject.make_finding(LintRule::HookKnob, &entry.current, None, message, fix)))
}

/// Returns the reason why nothing reads a hook parameter, and the correction.
fn explain_unread_hook_parameter(keyword: &[u8], rest: &[u8]) -> UnreadReason {
    let of_job = keyword.len().checked_sub("_JOB".len()).filter(|_| caseless::ends_with(keyword, b"_JOB"));
    let of_job = of_job.filter(|&end| end > 0);
    let keyword = BStr::new(&keyword[..of_job.unwrap_or(keyword.len())]);
    let did_you_mean =
        |cause: String, name: String| UnreadReason::new(cause, Advice::DidYouMean(name.into()));
    let (base, part) = ["_TIMEOUT", "_ARGS"]
        .iter()
        .find_map(|part| Some((rest.strip_suffix(part.as_bytes())?, *part)))
        .unwrap_or((rest, ""));
    let (base, rest) = (BStr::new(base), BStr::new(rest));
    if base == "REPLY_CLAIM" {
        let instead = format!("{keyword}_HOOK_REPLY_FETCH");
        let fix = format!("use {instead}, which is called for accepted and rejected jobs");
        return UnreadReason::new(", though the manual lists it", fix);
    }
    if rest == "KEYWORD" {
        let cause = ": the keyword of a daemon is <SUBSYSTEM>_JOB_HOOK_KEYWORD".to_owned();
        let is_caller =
            ["STARTD", "STARTER", "SHADOW"].iter().any(|known| caseless::eq(known.as_bytes(), keyword));
        return match is_caller {
            true => did_you_mean(cause, format!("{keyword}_JOB_HOOK_KEYWORD")),
            false => UnreadReason::new(
                cause,
                "write STARTD_JOB_HOOK_KEYWORD for fetch hooks, STARTER_JOB_HOOK_KEYWORD for those of jobs",
            ),
        };
    }
    let is_hook = HOOK_TYPES.iter().any(|hook| base == hook);
    let near = similar_names::nearest(base, HOOK_TYPES.iter().map(|hook| hook.as_bytes()));
    if of_job.is_some() && near.is_some() {
        let cause = ": parameters of hooks are <KEYWORD>_HOOK_<TYPE>".to_owned();
        return UnreadReason::new(cause, format!("write {keyword}_HOOK_{rest}"));
    }
    let read = |hooks: [&str; 2]| hooks.map(|hook| format!("_HOOK_{hook}{part}")).join(" and ");
    if is_hook && part == "_TIMEOUT" {
        let read = read(HOOKS_WITH_TIMEOUT);
        let fix = format!("make the hook end by itself, with timeout -s KILL; only {read} are read");
        return UnreadReason::new(format!(": the caller waits for {base} without a limit"), fix);
    }
    if is_hook && part == "_ARGS" {
        let read = read(HOOKS_WITH_ARGUMENTS);
        let fix = format!("write a script that calls the hook with arguments; only {read} are read");
        return UnreadReason::new(format!(": {base} has no parameter for arguments"), fix);
    }
    if of_job.is_some() && similar_names::nearest(rest, ["KEYWORD"]).is_some() {
        return did_you_mean(String::new(), format!("{keyword}_JOB_HOOK_KEYWORD"));
    }
    let parts = [(HOOKS_WITH_TIMEOUT, "_TIMEOUT"), (HOOKS_WITH_ARGUMENTS, "_ARGS")];
    let with_parts = parts.map(|(hooks, part)| hooks.map(|hook| format!("{hook}{part}"))).concat();
    if let Some(near) = similar_names::nearest(rest, &with_parts) {
        return did_you_mean(String::new(), format!("{keyword}_HOOK_{near}"));
    }
    let cause = format!(": {base} is not a hook type");
    match near {
        Some(near) => did_you_mean(cause, format!("{keyword}_HOOK_{}{part}", BStr::new(near))),
        None => UnreadReason::new(cause, format!("write one of the types {}", HOOK_TYPES.join(", "))),
    }
}

/// Reports a name that nothing reads and nothing refers to.
fn check_unread(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    let name = &entry.name;
    let (mut holds_in_part, mut is_certain) = (false, true);
    let (rule, message, fix) = match name_usage::classify_usage(subject, name) {
        NameUsage::Read | NameUsage::ReferredTo | NameUsage::Mentioned(_) => return,
        NameUsage::Unread(unread) => {
            holds_in_part = unread.holds_in_part;
            if let Advice::DidYouMean(intended) = &unread.fix {
                let is_of_group = caseless::starts_with(unqualified_name(name), b"GROUP_");
                is_certain = !is_of_group || is_certain_slip(name, intended);
            }
            (LintRule::UnknownParameter, format!("nothing reads {name}: {}", unread.cause), unread.fix)
        }
        NameUsage::SiteOwn | NameUsage::Misspelled(_)
            if find_intended_parameter(unqualified_name(name)).is_some() =>
        {
            (
                LintRule::UnknownParameter,
                format!("HTCondor has no parameter {name}, and nothing refers to it"),
                find_intended_parameter(unqualified_name(name)).unwrap_or_else(|| "remove it".into()),
            )
        }
        NameUsage::Misspelled(near) => {
            let refers_to_itself = subject.referenced_names().is_self_reference(name);
            let bare = unqualified_name(name);
            // If the name were replaced, the reference in the value would have to be replaced, too.
            is_certain = !refers_to_itself && differs_by_a_letter(bare, &near);
            let other = if refers_to_itself { "nothing else" } else { "nothing" };
            let prefix = &name[..name.len() - bare.len()];
            (
                LintRule::UnknownParameter,
                format!("HTCondor has no parameter {name}, and {other} refers to it"),
                Advice::DidYouMean([prefix, &near[..]].concat().into()),
            )
        }
        NameUsage::Removed(instead) => (
            LintRule::RemovedParameter,
            format!("HTCondor 25 no longer reads {name} (earlier versions did)"),
            instead.into(),
        ),
        NameUsage::SiteOwn if is_submit_command(name) => (
            LintRule::UnknownParameter,
            format!("{name} is a command of submit files, which has no effect in a configuration"),
            "write it in the submit file, or set a JOB_DEFAULT_ parameter or a job transform".into(),
        ),
        NameUsage::SiteOwn if !subject.reports_unused_macros => return,
        NameUsage::SiteOwn => (
            LintRule::UnusedMacro,
            format!(
                "{name} is not an HTCondor parameter, and no value, script, submit file or template that was found refers to it"
            ),
            format!("keep it if a script or submit file reads it (condor_config_val {name})").into(),
        ),
    };
    let finding = subject.make_finding(rule, &entry.current, None, message, fix);
    let finding = if is_certain { replace_name(subject, finding) } else { finding };
    findings.push(Finding { holds_in_part, ..finding });
}

/// Adds the correction of a misspelled name, if the finding points at the name and HTCondor reads the suggested name.
fn replace_name(subject: &LintSubject<'_>, finding: Finding) -> Finding {
    let Some(Advice::DidYouMean(near)) = finding.fix.clone() else { return finding };
    let is_name = near.iter().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(b));
    let is_place = finding.spot.as_ref().is_some_and(|spot| {
        let place = spot.text.get(spot.span.start as usize..spot.span.end as usize);
        place.is_some_and(|place| caseless::eq(place, &finding.name))
    });
    let is_read = subject.known.is_known(&near);
    if is_name && is_place && is_read { finding.replaced_by(near) } else { finding }
}

/// Reports a definition that the same file replaces before anything can read it.
fn check_shadowed(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    let mut later = &entry.current;
    for earlier in entry.replaced.iter().rev() {
        let here = std::mem::replace(&mut later, earlier);
        let same_file = earlier.place.source == here.place.source;
        if !same_file || !earlier.is_user_written() || !here.is_user_written() || earlier.raw == here.raw {
            continue;
        }
        // It is not a mistake if the new value contains the old one, or if a condition chooses between the two.
        let contains_earlier = !earlier.raw.is_empty() && here.raw.contains_str(&earlier.raw);
        if contains_earlier
            || refers_to_itself(subject, here)
            || if_depth(subject, here) > 0
            || if_depth(subject, earlier) > 0
        {
            continue;
        }
        if is_read_between(subject, entry, earlier, here) {
            continue;
        }
        if let Some(finding) = check_replaced_list(subject, earlier, here) {
            findings.push(finding);
            continue;
        }
        let line = here.place.line.map_or_else(String::new, |line| format!(" in line {line}"));
        let message =
            format!("{} is set again{line} of the same file, so this value is never used", earlier.name);
        let fix = "remove one of the two, or append with '+='";
        let finding = subject.make_finding(LintRule::ShadowedDefinition, earlier, None, message, fix);
        findings.push(Finding { holds_in_part: true, ..finding });
    }
}

/// Reports a list to which a file first adds items and which it then replaces.
fn check_replaced_list(
    subject: &LintSubject<'_>,
    earlier: &Definition,
    here: &Definition,
) -> Option<Finding> {
    let is_list = is_attribute_list(&here.name)
        || htc_config::registry::find(&here.name).is_some_and(|found| found.value_type == ValueType::List);
    if !is_list || !refers_to_itself(subject, earlier) {
        return None;
    }
    let kept: Vec<&[u8]> = list::split(&here.raw).collect();
    let lost: Vec<&[u8]> = list::split(&earlier.raw)
        .filter(|item| !item.contains(&b'$') && !kept.iter().any(|kept| caseless::eq(kept, item)))
        .collect();
    if lost.is_empty() {
        return None;
    }
    let line = earlier.place.line.map_or_else(String::new, |line| format!(" of line {line}"));
    let lost = bstr::join(", ", lost);
    let message = format!("this replaces the list{line}: {} is no longer in {}", BStr::new(&lost), here.name);
    let fix = format!("write {0} = $({0}) {1}", here.name, here.raw);
    let finding = subject.make_finding(LintRule::ReplacedList, here, None, message, fix);
    Some(Finding { holds_in_part: true, ..finding })
}

/// Returns the text of a source from a definition to the end.
fn text_from_definition<'a>(subject: &LintSubject<'a>, definition: &Definition) -> &'a [u8] {
    let source = subject.config.set.source(definition.place.source);
    let text: &[u8] = source.text.as_deref().unwrap_or_default();
    text.get(definition.place.offset as usize..).unwrap_or_default()
}

fn refers_to_itself(subject: &LintSubject<'_>, definition: &Definition) -> bool {
    let Some(line) = LogicalLines::new(text_from_definition(subject, definition)).next_line() else {
        return false;
    };
    let mut names = FxHashSet::default();
    collect_names(&line.text, &mut names);
    let appends = htc_config::statement::split_line(&line.text).is_ok_and(|split| {
        matches!(
            split.operator,
            htc_config::statement::StatementOperator::Append { .. }
                | htc_config::statement::StatementOperator::Here
        )
    });
    appends || names.contains(&definition.name.to_ascii_lowercase())
}

/// Returns the number of `if`s that enclose a definition.
fn if_depth(subject: &LintSubject<'_>, definition: &Definition) -> u32 {
    let place = &definition.place;
    subject.source_index(place.source).map_or(0, |index| index.if_depth(place.offset))
}

/// Returns true if a statement between two definitions may use the first one while the file is read: a condition, an
/// include or a template. Also true if a heading is between them.
fn is_read_between(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    earlier: &Definition,
    later: &Definition,
) -> bool {
    let text = text_from_definition(subject, earlier);
    let length = (later.place.offset as usize).saturating_sub(earlier.place.offset as usize);
    let mut lines = LogicalLines::new(text.get(..length).unwrap_or_default());
    lines.next_line();
    let name = entry.name.to_ascii_lowercase();
    while let Some(line) = lines.next_line() {
        // Parts of a file with their own headings may override one another on purpose, as separate files do.
        if is_heading(&line.text) {
            return true;
        }
        let at_once = split_if_keyword(&line.text).is_some()
            || ["include", "@include", "error", "warning"]
                .iter()
                .any(|word| caseless::starts_with(&line.text, word.as_bytes()));
        let uses_template =
            caseless::starts_with(&line.text, b"use ") || caseless::starts_with(&line.text, b"@use ");
        if uses_template {
            return true;
        }
        if at_once {
            let mut names = FxHashSet::default();
            collect_names(&line.text, &mut names);
            let words = line.text.split(|b| !(b.is_ascii_alphanumeric() || b"_./".contains(b)));
            if names.contains(&name) || words.into_iter().any(|word| caseless::eq(word, &name)) {
                return true;
            }
        }
    }
    false
}

/// Returns true for `# --- words`, `####`, `# ===`: a line that starts another part of a file.
fn is_heading(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"#") else {
        return false;
    };
    let rest = rest.trim_start();
    rest.len() >= 3 && rest[..3].iter().all(|b| b"-=#*~".contains(b))
}

/// Returns the condition under which a name is detected, or `None` if it is always detected (condor_config.cpp,
/// `reinsert_specials`).
fn detection_condition(name: &[u8]) -> Option<&'static str> {
    [
        ("IPV4_ADDRESS", "on a host with IPv4"),
        ("IPV6_ADDRESS", "on a host with IPv6"),
        ("TILDE", "on a host that has an account named condor"),
    ]
    .into_iter()
    .find(|(detected, _)| caseless::eq(detected.as_bytes(), name))
    .map(|(_, condition)| condition)
}

/// Reports settings of names that are always detected, and general settings that a default of the subsystem
/// overrides.
fn check_without_effect(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.config.set.displaced_entries().filter(|entry| entry.current.is_user_written()) {
        let name = &entry.name;
        let message = match detection_condition(name) {
            Some(condition) => format!("{name} is detected {condition}: setting it has no effect there"),
            None => format!("{name} is always detected: setting it has no effect"),
        };
        findings.push(subject.make_finding(LintRule::NoEffect, &entry.current, None, message, None));
    }
    let names: FxHashSet<Vec<u8>> = defaults::subsystem_names().map(<[u8]>::to_ascii_lowercase).collect();
    for entry in subject.user_written_entries() {
        if !names.contains(&entry.name.to_ascii_lowercase()) {
            continue;
        }
        let owner = ["MASTER", "SHADOW", "STARTD", "STARTER", "SCHEDD", "COLLECTOR", "NEGOTIATOR"]
            .iter()
            .find(|daemon| {
                defaults::find_in_subsystem(daemon.as_bytes(), &entry.name).is_some()
                    && subject.config.set.find_with_prefix(daemon.as_bytes(), &entry.name).is_none()
            });
        let is_constant = defaults::find(&entry.name).is_some_and(|parameter| parameter.has_flag("const"));
        if let Some(daemon) = owner.filter(|_| !is_constant) {
            let specific = defaults::find_in_subsystem(daemon.as_bytes(), &entry.name);
            let default =
                specific.map(|specific| BString::from(specific.default().into_owned())).unwrap_or_default();
            if default == entry.current.raw {
                continue;
            }
            findings.push(subject.make_finding(
                LintRule::NoEffect,
                &entry.current,
                None,
                format!("the {daemon} still uses its own default for {}, {default}", entry.name),
                format!("set {daemon}.{}", entry.name),
            ));
        }
    }
}
