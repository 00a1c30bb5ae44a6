//! Bodies of routes and transforms.

use bstr::ByteSlice;
use htc_config::lint_rule::LintRule;

use super::lint_scope::LintScope;
use crate::config::LintSubject;
use crate::transforms::{TransformRunner, lint as lint_transform};
use htc_base::text::{caseless, unqualified_name};
use htc_config::finding::Finding;
use htc_config::macro_set::MacroEntry;
use htc_transform::{Transform, TransformLoadError};

/// Returns true if a parameter holds a route or a transform.
fn is_route_or_transform(name: &[u8]) -> bool {
    let name = unqualified_name(name);
    ["JOB_ROUTER_ROUTE_", "JOB_ROUTER_TRANSFORM_", "JOB_TRANSFORM_"]
        .iter()
        .any(|prefix| caseless::starts_with(name, prefix.as_bytes()))
}

/// Returns the number of occurrences of a word in a text, ignoring case.
fn count_word(text: &[u8], word: &str) -> usize {
    let word = word.as_bytes();
    text.windows(word.len().max(1)).filter(|part| caseless::eq(part, word)).count()
}

/// Parses the transform of an entry. If its condition is invalid, reports this, and the other statements are
/// checked with a valid condition.
fn read_transform(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    label: &str,
    findings: &mut Vec<Finding>,
) -> Option<Transform> {
    let raw = &entry.current.raw;
    let TransformLoadError::Requirements { reason, span, text, .. } =
        match Transform::from_parameter(label, raw, subject.dialect()) {
            Ok(transform) => return Some(transform),
            Err(error) => error,
        };
    let part = Some((span.start as usize, (span.end as usize).max(span.start as usize + 1)));
    let message = format!("REQUIREMENTS of {label} is no expression: {reason}");
    findings.push(subject.make_finding(LintRule::Transform, &entry.current, part, message, None));
    Transform::from_parameter(label, &replace_condition(raw, &text)?, subject.dialect()).ok()
}

/// Checks the bodies of routes and transforms with the rules of the transform language.
pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let bodies: Vec<u8> = subject
        .config
        .set
        .entries()
        .filter(|entry| is_route_or_transform(&entry.name))
        .flat_map(|entry| [entry.raw().as_bytes(), b"\n"].concat())
        .collect();
    for entry in subject.user_written_entries().filter(|entry| !entry.raw().is_empty()) {
        let name = unqualified_name(&entry.name);
        let is = |prefix: &str| caseless::starts_with(name, prefix.as_bytes());
        let runner = match () {
            () if caseless::ends_with(name, b"_NAMES") => continue,
            () if is("JOB_ROUTER_ROUTE_") || is("JOB_ROUTER_TRANSFORM_") => TransformRunner::Router,
            () if is("JOB_TRANSFORM_") => TransformRunner::Schedd,
            () => continue,
        };
        let raw = &entry.current.raw;
        // An ad in brackets has the old syntax, which is reported where it is listed.
        if raw.trim_start().starts_with(b"[") {
            if is("JOB_TRANSFORM_") {
                let message = format!("{} has the old syntax: the schedd ignores it", entry.name);
                let fix = "write REQUIREMENTS, SET and the other statements of transforms".to_owned();
                findings.push(subject.make_finding(LintRule::OldSyntax, &entry.current, None, message, fix));
            }
            continue;
        }
        let label = name.to_str_lossy();
        let Some(transform) = read_transform(subject, entry, &label, findings) else { continue };
        for told in lint_transform(&transform, runner, Some(&subject.view), subject.world) {
            // Macros pass from one transform of a chain to the next, and from files that are not known here.
            let name = told.message.split(' ').next().unwrap_or_default();
            let elsewhere = count_word(&bodies, name) > count_word(raw, name);
            if matches!(told.rule, LintRule::Undefined | LintRule::Unused)
                && (!scope.is_complete || elsewhere)
            {
                continue;
            }
            let span = told.line.span(told.at.0, told.at.1);
            let part = (span.start as usize, (span.end as usize).min(raw.len()));
            let fix = Some(told.fix).filter(|fix| !fix.is_empty());
            let finding = subject.make_finding(told.rule, &entry.current, Some(part), told.message, fix);
            // A bracket in the same line that is not balanced has a finding already.
            let line = |finding: &Finding| finding.spot.as_ref().map(|spot| spot.line);
            let is_covered = told.rule == LintRule::Expression
                && findings.iter().any(|other| {
                    other.rule == LintRule::Unbalanced
                        && other.name == entry.name
                        && line(other) == line(&finding)
                });
            if is_covered {
                continue;
            }
            findings.push(match told.replacement {
                Some(text) => finding.replaced_by(text),
                None => finding,
            });
        }
    }
}

/// Replaces the condition in `raw` by one of the same length that is always true, so that all other positions
/// stay the same.
pub(super) fn replace_condition(raw: &[u8], condition: &[u8]) -> Option<Vec<u8>> {
    let at = raw.find(condition).filter(|_| !condition.is_empty())?;
    let mut changed = raw.to_vec();
    changed[at..at + condition.len()].fill(b' ');
    changed[at] = b'1';
    Some(changed)
}
