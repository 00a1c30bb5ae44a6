//! Statements that a daemon reads without a message although something is missing in them.

use bstr::{BStr, ByteSlice};
use htc_base::text::{Span, caseless};
use htc_config::defaults;
use htc_config::finding::{Finding, Replacement};
use htc_config::lines::{LogicalLine, LogicalLines};
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::SourceId;
use htc_config::statement::{self, StatementOperator};

use super::unread_sources::line_location;
use crate::config::{LintSubject, find_unbalanced};

/// Returns the condition of `else if CONDITION`, which is read as `else`.
fn text_after_else(statement: &[u8]) -> Option<&[u8]> {
    let rest = caseless::strip_prefix(statement, b"else")?;
    let blanks = rest.len() - rest.trim_start().len();
    let rest = caseless::strip_prefix(rest.trim_start(), b"if")?;
    let condition = rest.trim();
    let is_word = rest.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'(');
    (blanks > 0 && is_word && !condition.is_empty()).then_some(condition)
}

/// Reports a parameter that a backslash at the end of the line before makes a part of that line's value. Blanks after the
/// backslash do not prevent it.
fn find_swallowed_statement(
    subject: &LintSubject<'_>,
    source: SourceId,
    line: &LogicalLine<'_>,
) -> Option<Finding> {
    let assignment = statement::split_line(&line.text).ok().filter(|_| line.pieces.len() > 1)?;
    let is_value = matches!(assignment.operator, StatementOperator::Equal | StatementOperator::Append { .. });
    if !is_value || line.text.starts_with(b"#") {
        return None;
    }
    let (number, name) = (0..).zip(&line.pieces).skip(1).find_map(|(number, (start, _))| {
        let text = line.text.get(*start as usize..)?.trim_start();
        let length = text.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
        let (name, rest) = text.split_at(length);
        (rest.starts_with(b" = ") && defaults::find(name).is_some()).then_some((number, name))
    })?;
    let (name, before) = (BStr::new(name), BStr::new(assignment.name));
    let message =
        format!("{name} is not set: the backslash before this line makes the line a part of {before}");
    let place = line_location(subject, source, line.first_line + number);
    let fix = "remove the backslash at the end of the line before".to_owned();
    Some(Finding::at(LintRule::TrailingText, place, message, fix))
}

/// Adds the correction of a word that should be `elif`.
fn write_elif(finding: Finding) -> Finding {
    let Some(spot) = &finding.spot else { return finding };
    let start = spot.span.start as usize;
    let line = spot.text.get(start..spot.span.end as usize).unwrap_or_default();
    let line = if line.starts_with(b"@") { return finding } else { line };
    let words = ["elseif", "elsif"].iter().find(|word| caseless::starts_with(line, word.as_bytes()));
    let length = match words {
        Some(word) => word.len(),
        None => match text_after_else(line) {
            Some(condition) => line.find(condition).unwrap_or(0),
            None => return finding,
        },
    };
    let text = if words.is_some() { "elif" } else { "elif " };
    let span = Span::new(start, start + length);
    Finding { replacement: Some(Replacement { span, text: text.into() }), ..finding }
}

/// Reports arguments of templates that are not closed, and `elseif`, which is skipped like any other text while the
/// condition before it is not true.
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for id in subject.config.set.source_ids() {
        let Some(text) = subject.config.set.source(id).text.as_deref() else { continue };
        let mut lines = LogicalLines::new(text);
        while let Some(line) = lines.next_line() {
            findings.extend(find_swallowed_statement(subject, id, &line));
            let statement = line.text.strip_prefix(b"@").unwrap_or(&line.text);
            if !matches!(statement.first(), Some(b'u' | b'U' | b'e' | b'E')) {
                continue;
            }
            let found = if caseless::starts_with(statement, b"use ") {
                find_unbalanced(statement).map(|wrong| {
                    let fix = "close the arguments of the template".to_owned();
                    (LintRule::Unbalanced, format!("the template's arguments: {wrong}"), fix)
                })
            } else {
                let word = statement.fields().next().unwrap_or_default();
                let is_other_elif =
                    ["elseif", "elsif"].iter().any(|known| caseless::eq(known.as_bytes(), word));
                let condition = text_after_else(statement);
                if is_other_elif {
                    let message = format!("{} is not a keyword", BStr::new(word));
                    Some((LintRule::ElseIf, message, "write 'elif'".to_owned()))
                } else {
                    condition.map(|condition| {
                        let message = "else ignores the condition after it: its lines are read whenever no condition before is true";
                        (LintRule::ElseIf, message.to_owned(), format!("write 'elif {}'", BStr::new(condition)))
                    })
                }
            };
            if let Some((rule, message, fix)) = found {
                let place = line_location(subject, id, line.first_line);
                let finding = Finding::at(rule, place, message, fix);
                findings.push(if rule == LintRule::ElseIf { write_elif(finding) } else { finding });
            }
        }
    }
}
