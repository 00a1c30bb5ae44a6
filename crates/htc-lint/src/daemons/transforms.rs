//! Bodies of routes and transforms.

use std::cell::LazyCell;

use bstr::ByteSlice;
use htc_config::lint_rule::LintRule;
use htc_config::{Advice, SharedText};
use rustc_hash::{FxHashMap, FxHashSet};

use super::lint_scope::LintScope;
use crate::config::{LintSubject, advise_syntax};
use crate::transforms::{TransformFinding, TransformRunner, attributes_set_by, lint as lint_transform};
use htc_base::text::{Span, caseless, unqualified_name};
use htc_classad::{AttrName, Dialect, Expr};
use htc_config::finding::Finding;
use htc_config::macro_definition::MacroEntry;
use htc_transform::{RuleLine, Transform, TransformHeader, TransformLoadError};

/// True if the value of a parameter is a route or a transform.
pub(super) fn is_route_or_transform(name: &[u8]) -> bool {
    let name = unqualified_name(name);
    ["JOB_ROUTER_ROUTE_", "JOB_ROUTER_TRANSFORM_", "JOB_TRANSFORM_"]
        .iter()
        .any(|prefix| caseless::starts_with(name, prefix.as_bytes()))
}

/// Number of occurrences of each word, in lower case.
type WordCounts = FxHashMap<Vec<u8>, usize>;

/// Counts the words of a text, which consist of letters, digits and underscores.
fn count_words(text: &[u8], counts: &mut WordCounts) {
    let words = text.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    for word in words.filter(|word| !word.is_empty()) {
        *counts.entry(word.to_ascii_lowercase()).or_default() += 1;
    }
}

/// Words of all routes and transforms of a configuration.
struct BodyWords(WordCounts);

impl BodyWords {
    fn collect(subject: &LintSubject<'_>) -> Self {
        let mut counts = WordCounts::default();
        for entry in subject.config.set.entries().filter(|entry| is_route_or_transform(&entry.name)) {
            count_words(entry.raw(), &mut counts);
        }
        BodyWords(counts)
    }

    /// True if a body other than the one with the words `own_words` contains the macro's name. Of a composed name, only
    /// the first word is searched.
    fn is_in_other_body(&self, own_words: &WordCounts, name: &[u8]) -> bool {
        let mut words = name.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
        let word = words.find(|word| !word.is_empty()).unwrap_or_default().to_ascii_lowercase();
        self.0.get(&word) > own_words.get(&word)
    }
}

/// Returns the attributes that some route or transform of a configuration sets.
fn attributes_set_by_all(subject: &LintSubject<'_>) -> FxHashSet<AttrName> {
    let bodies = subject.config.set.entries().filter(|entry| is_route_or_transform(&entry.name));
    let transforms = bodies.filter_map(|entry| {
        let read = |raw: &[u8]| Transform::from_parameter(&entry.name.to_str_lossy(), raw, subject.dialect());
        match read(entry.raw()) {
            Ok(transform) => Some(transform),
            Err(TransformLoadError::Requirements { text, .. }) => {
                read(&replace_condition(entry.raw(), &text)?).ok()
            }
        }
    });
    transforms.flat_map(|transform| attributes_set_by(&transform)).collect()
}

/// True if jobs may have an attribute because of the configuration: another transform of the chain sets it, or a submit
/// template or an additional submit command does.
fn is_set_for_jobs(subject: &LintSubject<'_>, set: &FxHashSet<AttrName>, name: &[u8]) -> bool {
    let is_command = || {
        let commands = subject.view.raw_bytes(b"EXTENDED_SUBMIT_COMMANDS").unwrap_or_default();
        commands.lines().any(|line| {
            line.split_once_str("=").is_some_and(|(command, _)| caseless::eq(command.trim(), name))
        })
    };
    let is_in_template = || {
        let mut templates = subject
            .config
            .set
            .entries()
            .filter(|entry| caseless::starts_with(unqualified_name(&entry.name), b"SUBMIT_TEMPLATE_"));
        templates.any(|template| {
            template.raw().lines().any(|line| {
                let line = line.trim_start();
                let assignment = line.strip_prefix(b"+").or_else(|| caseless::strip_prefix(line, b"MY."));
                assignment
                    .and_then(|assignment| assignment.split_once_str("="))
                    .is_some_and(|(attribute, _)| caseless::eq(attribute.trim(), name))
            })
        })
    };
    set.contains(&AttrName::from(name))
        || subject.known.is_advertised(name)
        || is_command()
        || is_in_template()
}

/// Parses the transform of an entry. `raw` is the value of the entry, possibly with a TRANSFORM replaced. If the
/// condition is invalid, reports it and returns the transform with a valid condition, so that its statements can be
/// checked.
fn read_transform(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    label: &str,
    raw: &[u8],
    findings: &mut Vec<Finding>,
) -> Option<Transform> {
    let error = match Transform::from_parameter(label, raw, subject.dialect()) {
        Ok(transform) => return Some(transform),
        Err(error) => error,
    };
    let error_advice = error.advice().map(Advice::from);
    let TransformLoadError::Requirements { reason, span, text, .. } = error;
    let part = Some((span.start as usize, (span.end as usize).max(span.start as usize + 1)));
    let message = format!("REQUIREMENTS of {label} is not a valid expression: {reason}");
    let fix = error_advice.or_else(|| advise_condition(&text, subject.dialect()));
    findings.push(subject.make_finding(LintRule::Transform, &entry.current, part, message, fix));
    Transform::from_parameter(label, &replace_condition(raw, &text)?, subject.dialect()).ok()
}

/// Returns advice about a condition that is not a valid expression.
pub(super) fn advise_condition(condition: &[u8], dialect: Dialect) -> Option<Advice> {
    let error = Expr::parse_with(condition, dialect.old()).err()?;
    advise_syntax(condition, &error, None, dialect.old()).map(|advice| advice.fix)
}

/// Checks the bodies of routes and transforms with the rules of the transform language.
pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let bodies = LazyCell::new(|| BodyWords::collect(subject));
    let set = LazyCell::new(|| attributes_set_by_all(subject));
    let line_of = |finding: &Finding| finding.spot.as_ref().map(|spot| spot.line);
    let unbalanced: FxHashSet<(SharedText, Option<u32>)> = findings
        .iter()
        .filter(|finding| finding.rule == LintRule::Unbalanced)
        .map(|finding| (finding.name.clone(), line_of(finding)))
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
        // An ad in brackets has the old syntax.
        if raw.trim_start().starts_with(b"[") {
            let effect = match runner {
                TransformRunner::Schedd => "the schedd ignores it",
                _ => "the router refuses it",
            };
            let message = format!("{} has the old syntax: {effect}", entry.name);
            let fix = match runner {
                TransformRunner::Schedd => "write REQUIREMENTS, SET and the other statements of transforms",
                _ => "rewrite it with htc-router-translate convert",
            };
            let fix = fix.to_owned();
            findings.push(subject.make_finding(LintRule::OldSyntax, &entry.current, None, message, fix));
            continue;
        }
        let label = name.to_str_lossy();
        let Some(found) = lint_statements(subject, entry, (&label, runner), findings) else { continue };
        let own_words = LazyCell::new(|| {
            let mut counts = WordCounts::default();
            count_words(raw, &mut counts);
            counts
        });
        for problem in found {
            // Another transform of the chain, or a file that is not known here, may define or use the macro.
            if let Some(name) = &problem.macro_name
                && (!scope.is_complete || bodies.is_in_other_body(&own_words, name))
            {
                continue;
            }
            let (from, to) = (problem.at.start as usize, problem.at.end as usize);
            let word = problem.line.text.get(from..to).unwrap_or_default();
            if problem.rule == LintRule::UnknownAttribute && is_set_for_jobs(subject, &set, word) {
                continue;
            }
            let span = problem.line.locate(problem.at);
            let part = (span.start as usize, (span.end as usize).min(raw.len()));
            let fix = Some(problem.fix.clone()).filter(|fix| !fix.is_empty()).map(Advice::Text);
            let mut finding =
                subject.make_finding(problem.rule, &entry.current, Some(part), String::new(), fix);
            let offset = line_of(&finding).map_or(0, |line| line.saturating_sub(problem.line.number));
            finding.message = problem.describe(offset);
            // Another finding reports an unbalanced bracket in the same line.
            let is_covered = problem.rule == LintRule::Expression
                && unbalanced.contains(&(entry.name.clone(), line_of(&finding)));
            if is_covered {
                continue;
            }
            findings.push(match problem.replacement {
                Some(text) => finding.replaced_by(text),
                None => finding,
            });
        }
    }
}

/// Maximum number of TRANSFORM statements in a parameter after which the statements are checked.
const MAX_TRANSFORMS: usize = 20;

/// Returns the findings in all statements of an entry, including the statements after a TRANSFORM, which are not
/// executed unless the TRANSFORM is moved. Returns `None` if the entry cannot be parsed. Adds a finding about an
/// invalid condition to `findings`.
fn lint_statements(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    (label, runner): (&str, TransformRunner),
    findings: &mut Vec<Finding>,
) -> Option<Vec<TransformFinding>> {
    let mut transform = read_transform(subject, entry, label, entry.raw(), findings)?;
    let mut found = Vec::new();
    // Each round reads the whole text again.
    for _ in 0..MAX_TRANSFORMS {
        let Some(text) = mask_transform(&transform) else { break };
        if found.is_empty() {
            found = lint_transform(&transform, runner, Some(&subject.view), subject.world);
            let TransformHeader { end, ignored, .. } = &transform.envelope;
            let number = |line: &Option<RuleLine>| line.as_ref().map(|line| line.number);
            found.retain(|finding| {
                let line = Some(finding.line.number);
                line == number(end) || line == number(ignored)
            });
        }
        let Some(next) = read_transform(subject, entry, label, &text, findings) else { break };
        transform = next;
    }
    let mut whole = lint_transform(&transform, runner, Some(&subject.view), subject.world);
    found.append(&mut whole);
    Some(found)
}

/// Returns the text of a parameter with its last TRANSFORM and the items replaced by comments of the same length, or
/// `None` if no statement follows them.
fn mask_transform(transform: &Transform) -> Option<Vec<u8>> {
    let TransformHeader { end: Some(end), ignored: Some(_), .. } = &transform.envelope else { return None };
    let mut text = end.source.text.to_vec();
    let span = end.locate(Span::new(0, end.text.len()));
    let mut stop = span.end as usize;
    if end.text.trim_end().ends_with(b"(") {
        for line in text.get(stop..).unwrap_or_default().lines_with_terminator() {
            stop += line.len();
            if line.trim_start().starts_with(b")") {
                break;
            }
        }
    }
    let is_not_newline = |byte: &&mut u8| !matches!(**byte, b'\n' | b'\r');
    text.get_mut(span.start as usize..stop)?.iter_mut().filter(is_not_newline).for_each(|byte| *byte = b'#');
    Some(text)
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
