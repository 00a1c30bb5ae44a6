//! Statements that a daemon silently reads in a different way than intended.

use bstr::{BStr, ByteSlice};
use htc_base::text::{Span, caseless};
use htc_config::defaults;
use htc_config::finding::{Finding, Replacement};
use htc_config::lines::{LogicalLine, LogicalLines};
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::SourceId;
use htc_config::registry::{self, ValueType};
use htc_config::statement::{self, StatementOperator};

use super::unread_sources::line_location;
use crate::config::{LintSubject, find_unbalanced};

/// Returns the condition of `else if CONDITION`, which HTCondor reads as `else`.
fn text_after_else(statement: &[u8]) -> Option<&[u8]> {
    let rest = caseless::strip_prefix(statement, b"else")?;
    let blanks = rest.len() - rest.trim_start().len();
    let rest = caseless::strip_prefix(rest.trim_start(), b"if")?;
    let condition = rest.trim();
    let is_word = rest.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'(');
    (blanks > 0 && is_word && !condition.is_empty()).then_some(condition)
}

/// Reports a statement that is part of the previous line's value, because that line ends with a backslash. Blanks after
/// the backslash do not change this.
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
    let (number, swallowed) = (0..).zip(&line.pieces).skip(1).find_map(|(number, (start, _))| {
        let start = *start as usize;
        let is_quoted = line.text.get(..start)?.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
        let next = line.pieces.get(number as usize + 1).map_or(line.text.len(), |(next, _)| *next as usize);
        let text = line.text.get(start..next)?.trim();
        let swallowed = swallowed_statement(subject, assignment.name, text).filter(|_| !is_quoted)?;
        Some((number, swallowed))
    })?;
    let before = BStr::new(assignment.name);
    let message = match swallowed {
        SwallowedStatement::Parameter(name) => format!(
            "{} is not set: the backslash before this line makes the line a part of {before}",
            BStr::new(name)
        ),
        SwallowedStatement::Keyword(word) => format!(
            "this {} is not read: the backslash before this line makes the line a part of {before}",
            BStr::new(word)
        ),
    };
    let place = line_location(subject, source, line.first_line + number);
    let fix = "remove the backslash at the end of the line before".to_owned();
    Some(Finding::at(LintRule::TrailingText, place, message, fix))
}

/// Drops findings about the words of a statement that has become a part of a list.
fn drop_findings_in_list(swallowed: &Finding, findings: &mut Vec<Finding>) {
    let place = |finding: &Finding| finding.spot.as_ref().map(|spot| (spot.source, spot.line));
    let line = place(swallowed);
    findings.retain(|other| {
        !matches!(other.rule, LintRule::NamedNotDefined | LintRule::BadValue) || place(other) != line
    });
}

/// Statement that has become a part of a value.
enum SwallowedStatement<'a> {
    Parameter(&'a [u8]),
    Keyword(&'a [u8]),
}

/// Returns the statement that a line in the value of `before` was probably intended to be.
fn swallowed_statement<'a>(
    subject: &LintSubject<'_>,
    before: &[u8],
    text: &'a [u8],
) -> Option<SwallowedStatement<'a>> {
    let parameter = registry::find(before);
    let is_open = parameter.is_none_or(|parameter| {
        parameter.value_type.is_expression()
            || matches!(parameter.value_type, ValueType::Route | ValueType::Transform)
    });
    let word = text.fields().next().unwrap_or_default();
    let has_colon = || text[word.len()..].contains(&b':');
    let is_keyword = match &word.to_ascii_lowercase()[..] {
        b"endif" | b"else" => text.len() == word.len(),
        b"use" | b"include" => has_colon() && text.len() > word.len(),
        _ => false,
    };
    if is_keyword {
        return Some(SwallowedStatement::Keyword(word));
    }
    let is_name = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"_.".contains(byte);
    let length = text.iter().take_while(is_name).count();
    let (name, rest) = text.split_at(length);
    let after = rest.trim_start();
    let after = after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"@")).unwrap_or(after);
    let value = after.strip_prefix(b"=")?;
    let has_blank = rest.starts_with(b" ") || rest.starts_with(b"\t") || value.starts_with(b" ");
    let is_comparison = value.starts_with(b"=") || value.starts_with(b"?") || value.starts_with(b"!");
    // The shares of a slot type and the variables of an environment are assignments, too.
    let holds_assignments = caseless::starts_with(before, b"SLOT_TYPE_")
        || ["_ENVIRONMENT", "_ENV", "_ARGS"].iter().any(|end| caseless::ends_with(before, end.as_bytes()));
    let is_certain = match is_open {
        true => defaults::find(name).is_some(),
        false => subject.known.is_known(name) || name.contains(&b'_'),
    };
    (name.len() > 1 && has_blank && !is_comparison && !holds_assignments && is_certain)
        .then_some(SwallowedStatement::Parameter(name))
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

/// Reports arguments of templates without a closing parenthesis, and `elseif`, which HTCondor skips like any other text
/// if the condition before it is not true.
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for id in subject.config.set.source_ids() {
        let Some(text) = subject.config.set.source(id).text.as_deref() else { continue };
        let mut lines = LogicalLines::new(text);
        while let Some(line) = lines.next_line() {
            if let Some(swallowed) = find_swallowed_statement(subject, id, &line) {
                drop_findings_in_list(&swallowed, findings);
                findings.push(swallowed);
            }
            let statement = line.text.strip_prefix(b"@").unwrap_or(&line.text);
            if !matches!(statement.first(), Some(b'u' | b'U' | b'e' | b'E')) {
                continue;
            }
            let found = if caseless::starts_with(statement, b"use ") {
                find_unbalanced(statement).map(|wrong| {
                    let fix = "write the closing parenthesis of the template's arguments".to_owned();
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
                        let message = "else ignores the condition after it: its lines are read whenever no condition before it is true";
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
