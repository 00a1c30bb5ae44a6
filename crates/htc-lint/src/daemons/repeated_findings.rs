//! Findings that say again what another finding says: a user corrects one mistake, and all of them are gone.

use htc_config::finding::Finding;
use htc_config::lint_rule::{LintRule, LintSeverity};
use rustc_hash::FxHashSet;

/// Line of a source, or `None` if a finding has no place.
type LinePlace = Option<(u32, u32)>;

fn line_of(finding: &Finding) -> LinePlace {
    finding.spot.as_ref().map(|spot| (spot.source.number(), spot.line))
}

/// Rule whose findings have consequences in the same line, and the rules that report those.
const CONSEQUENCES: [(LintRule, &[LintRule]); 5] = [
    (LintRule::ColonAssignment, &[LintRule::BadExpression, LintRule::BadValue]),
    (LintRule::NeverExpanded, &[LintRule::Reference, LintRule::Unbalanced]),
    (LintRule::Unbalanced, &[LintRule::Transform, LintRule::Expression]),
    (
        LintRule::CommentInValue,
        &[
            LintRule::NamedNotDefined,
            LintRule::BadExpression,
            LintRule::BadValue,
            LintRule::UnknownAttribute,
            LintRule::UnquotedString,
            LintRule::RestIgnored,
        ],
    ),
    (LintRule::Quotes, &[LintRule::Trap, LintRule::UnknownAttribute]),
];

/// Drops the findings that only repeat another one.
pub(super) fn drop_repeated_findings(findings: &mut Vec<Finding>) {
    for (cause, consequences) in CONSEQUENCES {
        let lines: FxHashSet<LinePlace> =
            findings.iter().filter(|finding| finding.rule == cause).map(line_of).collect();
        if !lines.is_empty() {
            findings.retain(|finding| {
                let line = line_of(finding);
                !consequences.contains(&finding.rule) || line.is_none() || !lines.contains(&line)
            });
        }
    }
    drop_statements_after_comments(findings);
    drop_consequences_of_references(findings);
    drop_findings_inside_others(findings);
}

/// Drops the syntax error of the line after a comment that ended a value: it was meant to continue the value.
fn drop_statements_after_comments(findings: &mut Vec<Finding>) {
    let comments = findings.iter().filter(|finding| finding.rule == LintRule::CommentInValue);
    let next: FxHashSet<LinePlace> =
        comments.filter_map(line_of).map(|(source, line)| Some((source, line + 1))).collect();
    findings.retain(|finding| finding.rule != LintRule::Syntax || !next.contains(&line_of(finding)));
}

/// Joins a finding about a value that is invalid because it contains an undefined macro with the one about the macro. The
/// result has the place and the correction of the macro, and the rule of the value if that is an error: a daemon does not
/// start, whatever the cause is.
fn drop_consequences_of_references(findings: &mut Vec<Finding>) {
    let is_reference =
        |finding: &Finding| matches!(finding.rule, LintRule::MisspelledReference | LintRule::Undefined);
    let is_value = |finding: &Finding| matches!(finding.rule, LintRule::BadValue | LintRule::BadExpression);
    let mut joined: Vec<(usize, LintRule, String)> = Vec::new();
    let mut dropped = FxHashSet::default();
    for (at, value) in findings.iter().enumerate().filter(|(_, finding)| is_value(finding)) {
        let cause = findings.iter().position(|other| {
            is_reference(other)
                && !value.name.is_empty()
                && other.name.eq_ignore_ascii_case(&value.name)
                && line_of(other) == line_of(value)
        });
        if let Some(cause) = cause {
            dropped.insert(at);
            joined.push((cause, value.rule, value.message.clone()));
        }
    }
    for (cause, rule, message) in joined {
        if rule.severity() == LintSeverity::Error {
            findings[cause].rule = rule;
        }
        findings[cause].message.push_str(&format!("; {message}"));
    }
    let mut at = 0;
    findings.retain(|_| {
        at += 1;
        !dropped.contains(&(at - 1))
    });
}

/// Drops a finding about a string without quotes that is inside the place of one about the same string in other quotes.
fn drop_findings_inside_others(findings: &mut Vec<Finding>) {
    let outer: Vec<(LinePlace, u32, u32)> = findings
        .iter()
        .filter(|finding| matches!(finding.rule, LintRule::MisleadingExpression | LintRule::Trap))
        .filter_map(|finding| {
            let span = finding.spot.as_ref()?.span;
            Some((line_of(finding), span.start, span.end))
        })
        .collect();
    findings.retain(|finding| {
        let is_name = matches!(finding.rule, LintRule::UnquotedString | LintRule::UnknownAttribute);
        let Some(spot) = finding.spot.as_ref().filter(|_| is_name) else { return true };
        let line = line_of(finding);
        !outer.iter().any(|(other, start, end)| {
            *other == line && *start <= spot.span.start && spot.span.end <= *end && end - start <= 80
        })
    });
}
