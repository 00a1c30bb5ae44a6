//! Runs all rules on one configuration.

use super::lint_scope::LintScope;
use super::transforms::is_route_or_transform;
use super::{
    cron_jobs, hook_callers, hooks, ignored_text, map_lines, routes, slots, source_lines, transforms,
};
use crate::config as lint;
use crate::config::LintSubject;
use bstr::ByteSlice;
use htc_base::text::caseless;
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lines::LogicalLines;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::{Definition, MacroEntry};
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_config::statement::{StatementOperator, split_line};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rules that report that something is missing.
const ABSENCE_RULES: [LintRule; 11] = [
    LintRule::UnknownParameter,
    LintRule::Undefined,
    LintRule::UnusedMacro,
    LintRule::NamedNotDefined,
    LintRule::DefinedNotNamed,
    LintRule::KeywordWithoutHooks,
    LintRule::Unused,
    LintRule::ShadowedDefinition,
    LintRule::NoReplyHook,
    LintRule::UndefinedCondition,
    LintRule::UnlistedAttribute,
];

/// Runs all rules on a configuration that was loaded with the text of its sources.
pub fn lint(subject: &LintSubject<'_>, scope: LintScope) -> Vec<Finding> {
    let mut findings = lint::lint(subject);
    hooks::lint(subject, scope, &mut findings);
    hook_callers::lint(subject, &mut findings);
    map_lines::lint(subject, scope, &mut findings);
    slots::lint(subject, scope, &mut findings);
    source_lines::lint(subject, &mut findings);
    ignored_text::lint(subject, &mut findings);
    cron_jobs::lint(subject, scope, &mut findings);
    transforms::lint(subject, scope, &mut findings);
    routes::lint(subject, scope, &mut findings);
    if !scope.is_complete {
        drop_incomplete_values(subject, &mut findings);
        // A name that is similar to a known one is misspelled, even if other files are not known.
        let is_slip = |finding: &Finding| matches!(finding.fix, Some(Advice::DidYouMean(_)));
        findings.retain(|finding| {
            let is_absence = ABSENCE_RULES.contains(&finding.rule) || is_about_daemon_list(finding);
            !is_absence || is_slip(finding) || finding.holds_in_part
        });
    }
    drop_repeated_findings(subject, &mut findings);
    lint::sort_findings(&mut findings);
    findings
}

/// True if a finding reports a daemon that is missing in DAEMON_LIST. Another file may add it.
fn is_about_daemon_list(finding: &Finding) -> bool {
    let is_controller = caseless::starts_with(&finding.name, b"MASTER_")
        && caseless::ends_with(&finding.name, b"_CONTROLLER");
    finding.rule == LintRule::Contradiction
        && (is_controller || caseless::eq(&finding.name, b"HAD_USE_REPLICATION"))
}

/// Drops findings that are caused only by a placeholder, a comment or an extra character in a value.
fn drop_repeated_findings(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let names_with = |rule: LintRule| -> FxHashSet<Vec<u8>> {
        let found = findings.iter().filter(|finding| finding.rule == rule);
        found.map(|finding| finding.name.to_ascii_lowercase()).collect()
    };
    let (with_placeholder, with_comment) =
        (names_with(LintRule::TemplateMark), names_with(LintRule::CommentInValue));
    let mut with_extra_text = names_with(LintRule::TrailingText);
    with_extra_text.extend(names_with(LintRule::QuotedValue));
    if with_placeholder.is_empty() && with_comment.is_empty() && with_extra_text.is_empty() {
        return;
    }
    let may_be_consequence = |finding: &Finding| {
        VALUE_RULES.contains(&finding.rule)
            || matches!(
                finding.rule,
                LintRule::HookPath
                    | LintRule::RelativePath
                    | LintRule::NamedNotDefined
                    | LintRule::NotRead
                    | LintRule::CronJob
            )
    };
    let roots = findings.iter().filter(|finding| may_be_consequence(finding));
    let affected = macros_needing(subject, roots, |name, _| with_placeholder.contains(name));
    findings.retain(|finding| {
        let name = finding.name.to_ascii_lowercase();
        !may_be_consequence(finding)
            || ![&with_comment, &with_placeholder, &with_extra_text, &affected]
                .into_iter()
                .any(|names| names.contains(&name))
    });
}

/// Rules about values that may be valid if another file defines the macros in them.
const VALUE_RULES: [LintRule; 7] = [
    LintRule::BadExpression,
    LintRule::BadValue,
    LintRule::AlwaysError,
    LintRule::ConstantComparison,
    LintRule::FunctionFails,
    LintRule::SlotType,
    LintRule::UnquotedString,
];

/// Drops findings about values that need a macro that only an unread file may define.
fn drop_incomplete_values(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    // Routes and transforms define their own macros.
    let is_value =
        |finding: &Finding| VALUE_RULES.contains(&finding.rule) && !is_route_or_transform(&finding.name);
    let roots = findings.iter().filter(|finding| is_value(finding));
    let lacks_value = |name: &[u8]| {
        subject.config.set.find_exact(name).is_some_and(|entry| lacks_earlier_value(subject, entry))
    };
    let incomplete = macros_needing(subject, roots, |name, raw| raw.is_none() || lacks_value(name));
    findings.retain(|finding| {
        let entry = subject.config.set.find_exact(&finding.name).filter(|_| is_value(finding));
        entry.is_none_or(|entry| {
            !incomplete.contains(&finding.name.to_ascii_lowercase()) && !lacks_earlier_value(subject, entry)
        })
    });
}

/// True if all definitions of a name extend an earlier value, so that only another file can have set the first value.
fn lacks_earlier_value(subject: &LintSubject<'_>, entry: &MacroEntry) -> bool {
    let has_default = || {
        let default = htc_config::registry::default_value(&entry.name);
        default.as_deref().is_some_and(|default| !default.is_empty())
    };
    let mut definitions = std::iter::once(&entry.current).chain(entry.replaced.iter().rev());
    definitions.all(|definition| extends_itself(subject, definition)) && !has_default()
}

/// True if a definition contains the earlier value of the same name, by a reference or `+=`.
fn extends_itself(subject: &LintSubject<'_>, definition: &Definition) -> bool {
    let place = &definition.place;
    let text = subject.config.set.source(place.source).text.as_deref().unwrap_or_default();
    let mut lines = LogicalLines::new(text.get(place.offset as usize..).unwrap_or_default());
    let Some(line) = lines.next_line() else { return false };
    let name = definition.name.to_ascii_lowercase();
    let refers = |text: &[u8]| referenced_macros(subject, text).contains(&name);
    let Ok(split) = split_line(&line.text) else { return refers(&line.text) };
    match split.operator {
        StatementOperator::Append { .. } => true,
        // The lines of a block follow the statement. They are searched instead of the value, in which references to the
        // earlier value are expanded.
        StatementOperator::Here => {
            let rest = text.get(place.offset as usize..).unwrap_or_default();
            let tag = [b"@", split.value.trim()].concat();
            let lines = rest.lines().skip(1).take_while(|line| line.trim() != tag);
            lines.into_iter().any(refers)
        }
        _ => refers(&line.text),
    }
}

/// Returns the macros, in lower case, whose values refer, directly or through other macros, to a macro that `is_wanted`
/// accepts. `is_wanted` is called with a macro's name in lower case and its value. Only macros that the values of
/// `findings` need are examined, each once.
fn macros_needing<'f>(
    subject: &LintSubject<'_>,
    findings: impl Iterator<Item = &'f Finding>,
    is_wanted: impl Fn(&[u8], Option<&[u8]>) -> bool,
) -> FxHashSet<Vec<u8>> {
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    let mut visited: FxHashSet<Vec<u8>> = FxHashSet::default();
    for finding in findings {
        let name = finding.name.to_ascii_lowercase();
        if subject.config.set.find_exact(&name).is_some() && visited.insert(name.clone()) {
            waiting.push(name);
        }
    }
    let mut users: FxHashMap<Vec<u8>, Vec<Vec<u8>>> = FxHashMap::default();
    let mut wanted: Vec<Vec<u8>> = Vec::new();
    while let Some(name) = waiting.pop() {
        let of_entry = || subject.config.set.find_exact(&name).map(|entry| entry.raw().to_vec());
        let Some(raw) = subject.view.raw_bytes(&name).or_else(of_entry) else { continue };
        for needed in referenced_macros(subject, &raw) {
            users.entry(needed.clone()).or_default().push(name.clone());
            if is_wanted(&needed, subject.view.raw_bytes(&needed).as_deref()) {
                wanted.push(needed);
            } else if visited.insert(needed.clone()) {
                waiting.push(needed);
            }
        }
    }
    let mut dependents: FxHashSet<Vec<u8>> = FxHashSet::default();
    while let Some(name) = wanted.pop() {
        for user in users.remove(&name).unwrap_or_default() {
            if dependents.insert(user.clone()) {
                wanted.push(user);
            }
        }
    }
    dependents
}

/// Returns the macros, in lower case, that a value needs. For a reference whose default is used, these are
/// the macros in the default.
fn referenced_macros(subject: &LintSubject<'_>, value: &[u8]) -> Vec<Vec<u8>> {
    let (mut names, mut at) = (Vec::new(), 0);
    while let Some(found) =
        next_reference(value, at, &mut None, |function, _| function == MacroFunction::Plain)
    {
        at = found.end;
        let (name, default) = found.name_and_default(value);
        match default {
            // References in a default are shorter than the value, so this recursion ends.
            Some(default) if subject.view.raw_bytes(name).is_none() => {
                names.extend(referenced_macros(subject, default));
            }
            None if !caseless::eq(name, b"DOLLAR") => names.push(name.to_ascii_lowercase()),
            _ => {}
        }
    }
    names
}
