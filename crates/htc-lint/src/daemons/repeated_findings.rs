//! Removal of findings that have the same cause as another one: if the user corrects the mistake, all of them
//! disappear.

use bstr::ByteSlice;
use htc_base::text::Span;
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::{LintRule, LintSeverity};
use rustc_hash::FxHashSet;

/// Line of a source, or `None` if a finding has no place.
type LinePlace = Option<(u32, u32)>;

fn line_of(finding: &Finding) -> LinePlace {
    finding.spot.as_ref().map(|spot| (spot.source.number(), spot.line))
}

/// Rules whose mistakes cause other findings in the same line, each with the rules of these findings.
const CONSEQUENCES: [(LintRule, &[LintRule]); 8] = [
    (
        LintRule::IgnoredText,
        &[LintRule::SlotType, LintRule::BadValue, LintRule::NamedNotDefined, LintRule::BadExpression],
    ),
    (
        LintRule::UnknownParameter,
        &[
            LintRule::UnknownAttribute,
            LintRule::UnquotedString,
            LintRule::BadExpression,
            LintRule::ConstantCondition,
            LintRule::Command,
            LintRule::Transform,
        ],
    ),
    (LintRule::Syntax, &[LintRule::UndefinedCondition, LintRule::Unbalanced]),
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

/// Drops the findings that have the same cause as another one.
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
    join_statements_after_comments(findings);
    drop_endif_of_misspelled_if(findings);
    drop_members_of_misspelled_lists(findings);
    join_misspelled_keywords(findings);
    drop_consequences_of_references(findings);
    drop_findings_inside_others(findings);
    drop_second_findings(findings);
}

/// Drops the second finding of a rule in a line, for rules that two parts of this crate check. If the place of a
/// finding about a universe contains that of another one, the inner one remains, because its advice is more specific.
fn drop_second_findings(findings: &mut Vec<Finding>) {
    let is_inside =
        |inner: Span, outer: Span| inner != outer && outer.start <= inner.start && inner.end <= outer.end;
    let universes: Vec<(LinePlace, Span)> = findings
        .iter()
        .filter(|finding| finding.rule == LintRule::Universe)
        .filter_map(|finding| Some((line_of(finding), finding.spot.as_ref()?.span)))
        .collect();
    let mut reported: FxHashSet<(LintRule, LinePlace)> = FxHashSet::default();
    findings.retain(|finding| {
        let Some(spot) = finding.spot.as_ref() else { return true };
        let line = line_of(finding);
        match finding.rule {
            LintRule::Universe => {
                !universes.iter().any(|(other, span)| *other == line && is_inside(*span, spot.span))
            }
            LintRule::Unbalanced | LintRule::ElseIf => reported.insert((finding.rule, line)),
            _ => true,
        }
    });
}

/// Joins the finding about a comment that ends a value with the syntax error of the next line, which was intended to
/// continue the value. The result is an error, because daemons do not start.
fn join_statements_after_comments(findings: &mut Vec<Finding>) {
    let is_error = |finding: &Finding| finding.rule == LintRule::Syntax && finding.spot.is_some();
    let errors: FxHashSet<LinePlace> =
        findings.iter().filter(|finding| is_error(finding)).map(line_of).collect();
    let mut dropped: FxHashSet<LinePlace> = FxHashSet::default();
    for finding in findings.iter_mut().filter(|finding| finding.rule == LintRule::CommentInValue) {
        let next = line_of(finding).map(|(source, line)| (source, line + 1));
        if errors.contains(&next) {
            finding.rule = LintRule::Syntax;
            finding.message.push_str("; daemons exit at the next line, which does not continue the value");
            dropped.insert(next);
        }
    }
    findings.retain(|finding| finding.rule != LintRule::Syntax || !dropped.contains(&line_of(finding)));
}

/// Drops the error about an `endif` without `if` if an earlier line of the source is a misspelled `if`: `ifdef X`.
fn drop_endif_of_misspelled_if(findings: &mut Vec<Finding>) {
    let text_of = |finding: &Finding| {
        let spot = finding.spot.as_ref().filter(|_| finding.rule == LintRule::Syntax)?;
        Some(spot.text.trim().to_ascii_lowercase())
    };
    // An `else` or `elif` without an `if` also leaves an `endif` without an `if`.
    let is_if = |finding: &&Finding| {
        text_of(finding)
            .is_some_and(|text| text.starts_with(b"if") || text == b"else" || text.starts_with(b"elif"))
    };
    let misspelled: Vec<(u32, u32)> = findings.iter().filter(is_if).filter_map(line_of).collect();
    findings.retain(|finding| {
        let place = line_of(finding).filter(|_| text_of(finding).is_some_and(|text| text == b"endif"));
        let has_if_before =
            |(source, line): (u32, u32)| misspelled.iter().any(|it| it.0 == source && it.1 < line);
        !place.is_some_and(has_if_before)
    });
}

/// Drops findings about members that are in no list, if the name of their list is misspelled.
fn drop_members_of_misspelled_lists(findings: &mut Vec<Finding>) {
    let mut suggested: Vec<Vec<u8>> = findings
        .iter()
        .filter(|finding| finding.rule == LintRule::UnknownParameter)
        .filter_map(|finding| match &finding.fix {
            Some(Advice::DidYouMean(intended)) => Some(intended.to_ascii_uppercase()),
            _ => None,
        })
        .collect();
    // The list of cron jobs had another name in earlier versions.
    let removed = findings.iter().filter(|finding| finding.rule == LintRule::RemovedParameter);
    suggested.extend(removed.filter_map(|finding| {
        let name = finding.name.to_ascii_uppercase();
        Some([name.strip_suffix(b"_CRON_JOBS")?, b"_CRON_JOBLIST"].concat())
    }));
    findings.retain(|finding| {
        let is_member = |list: &Vec<u8>| {
            let prefix = list.strip_suffix(b"NAMES").or_else(|| list.strip_suffix(b"JOBLIST"));
            prefix.is_some_and(|prefix| {
                !prefix.is_empty() && finding.name.to_ascii_uppercase().starts_with(prefix)
            })
        };
        let is_absent =
            matches!(finding.rule, LintRule::DefinedNotNamed | LintRule::CronJob | LintRule::UnusedMacro)
                || finding.rule == LintRule::UnknownParameter
                    && !matches!(finding.fix, Some(Advice::DidYouMean(_)));
        !is_absent || !suggested.iter().any(is_member)
    });
}

/// Joins the syntax error of `elseif CONDITION` with the finding about the keyword, which has the place and the correction.
fn join_misspelled_keywords(findings: &mut Vec<Finding>) {
    let is_keyword = |finding: &Finding| finding.rule == LintRule::ElseIf;
    let keywords: Vec<Finding> = findings.iter().filter(|finding| is_keyword(finding)).cloned().collect();
    for finding in findings.iter_mut().filter(|finding| finding.rule == LintRule::Syntax) {
        let keyword = keywords.iter().find(|keyword| line_of(keyword) == line_of(finding));
        if let Some(keyword) = keyword.filter(|_| finding.spot.is_some()) {
            finding.message = format!("{}: {}", finding.message, keyword.message);
            finding.spot.clone_from(&keyword.spot);
            finding.fix.clone_from(&keyword.fix);
            finding.replacement.clone_from(&keyword.replacement);
        }
    }
    let errors: FxHashSet<LinePlace> =
        findings.iter().filter(|finding| finding.rule == LintRule::Syntax).map(line_of).collect();
    findings.retain(|finding| !is_keyword(finding) || !errors.contains(&line_of(finding)));
}

/// Joins a finding about a value that is invalid because it contains an undefined macro, or a reference in the syntax
/// of a shell, with the finding about this macro or reference. The result has the place and the correction of the macro
/// or reference, and the rule of the value if that is an error: a daemon does not start, whatever the cause is.
fn drop_consequences_of_references(findings: &mut Vec<Finding>) {
    let is_reference = |finding: &Finding| {
        matches!(finding.rule, LintRule::MisspelledReference | LintRule::Undefined | LintRule::ShellVariable)
    };
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

/// Drops a finding about a string without double quotes if it is inside the place of a finding about the same string in
/// other quotes.
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
