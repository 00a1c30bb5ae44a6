//! Statements that do not have the intended effect: text between the name and `=`, conditions with an undefined macro,
//! and comments in continued values (`Parse_macros`, config.cpp).

use std::cell::OnceCell;

use bstr::{BStr, ByteSlice};
use htc_base::text::{Span, caseless};
use htc_config::condition::split_if_keyword;
use htc_config::defaults;
use htc_config::finding::{Finding, Replacement};
use htc_config::lines::{LogicalLine, LogicalLines};
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::SourceId;
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_config::statement::{self, SplitLine, StatementOperator};

use super::unread_sources::line_location;
use crate::config::LintSubject;

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let first = findings.len();
    for id in subject.config.set.source_ids() {
        let Some(text) = subject.config.set.source(id).text.as_deref() else { continue };
        let starts: OnceCell<Vec<usize>> = OnceCell::new();
        let is_comment = |line: u32| {
            let ends = || memchr::memchr_iter(b'\n', text).map(|end| end + 1);
            let starts = starts.get_or_init(|| std::iter::once(0).chain(ends()).collect());
            let start = line.checked_sub(1).and_then(|at| starts.get(at as usize));
            start.is_some_and(|&start| {
                text[start..].trim_start_with(|c| c == ' ' || c == '\t').starts_with(b"#")
            })
        };
        let mut lines = LogicalLines::new(text);
        let mut block_end: Option<Vec<u8>> = None;
        while let Some(line) = lines.next_line() {
            if let Some(end) = &block_end {
                if line.text.trim() == &end[..] {
                    block_end = None;
                }
                continue;
            }
            if line.text.starts_with(b"#") {
                continue;
            }
            if line.line > line.first_line && is_comment(line.line) {
                findings.extend(find_comment_in_value(subject, id, &line));
            }
            if split_if_keyword(&line.text).is_some() {
                findings.extend(check_condition(subject, id, &line));
                continue;
            }
            let Ok(split) = statement::split_line(&line.text) else { continue };
            if split.operator == StatementOperator::Here {
                block_end = Some([b"@", split.value.trim()].concat());
            }
            findings.extend(check_words(subject, id, &line, &split));
        }
    }
    drop_consequences(first, findings);
}

/// Drops findings about an unused name that such a statement sets, because they have the same cause.
fn drop_consequences(first: usize, findings: &mut Vec<Finding>) {
    let place = |finding: &Finding| finding.spot.as_ref().map(|spot| (spot.source, spot.line));
    let new_findings = findings.split_off(first);
    let lines: Vec<_> = new_findings
        .iter()
        .filter(|finding| finding.rule == LintRule::IgnoredText)
        .filter_map(place)
        .collect();
    if !lines.is_empty() {
        let is_other = |finding: &Finding| {
            let is_name = matches!(finding.rule, LintRule::UnusedMacro | LintRule::UnknownParameter);
            !is_name || !place(finding).is_some_and(|place| lines.contains(&place))
        };
        findings.retain(is_other);
    }
    findings.extend(new_findings);
}

/// Reports a comment that is the last line of a value: it follows a backslash and does not end in one itself, so that
/// the value ends with the comment (`getline_implementation`, config.cpp).
fn find_comment_in_value(
    subject: &LintSubject<'_>,
    source: SourceId,
    line: &LogicalLine<'_>,
) -> Option<Finding> {
    let split = statement::split_line(&line.text).ok().filter(|_| line.pieces.len() > 1)?;
    let place = line_location(subject, source, line.line)?;
    let comment = place.text.trim();
    let last = comment.chars().next_back().filter(|last| *last != '\\')?;
    let name = split.name.as_bstr();
    let message = format!(
        "this comment ends the value of {name}, and its last character '{last}' becomes a part of it"
    );
    let fix = format!("write the comment before the line of {name}");
    Some(Finding::at(LintRule::CommentInValue, Some(place), message, fix))
}

/// Reports text between the name and the operator, and a keyword that is set like a parameter.
fn check_words(
    subject: &LintSubject<'_>,
    source: SourceId,
    line: &LogicalLine<'_>,
    split: &SplitLine<'_>,
) -> Option<Finding> {
    let SplitLine { name, words, operator, value, operator_at } = *split;
    let is_keyword = ["use", "include"].iter().any(|known| caseless::eq(known.as_bytes(), name));
    if is_keyword {
        return check_keyword(subject, source, line, split);
    }
    let is_invalid = !statement::is_valid_name(name) || operator == StatementOperator::Colon;
    if words.is_empty() || is_invalid {
        return None;
    }
    let (shown, words_shown) = (name.as_bstr(), words.as_bstr());
    let message =
        format!("the text '{words_shown}' between the name and the operator is ignored: this sets {shown}");
    let joined = [name, b"_", &words.replace(" ", "_")].concat();
    let is_known = |name: &[u8]| defaults::find(name).is_some();
    let last = words.fields().last().unwrap_or_default();
    // Commands of shells and of other languages that set a variable.
    let is_command = ["set", "setenv", "export", "declare", "local", "let", "var", "define", "param"]
        .iter()
        .any(|command| caseless::eq(command.as_bytes(), name));
    let fix = match () {
        () if is_known(&joined) => format!("did you mean {}?", joined.as_bstr()),
        () if is_known(last) || is_command => format!("write {} = {}", last.as_bstr(), value.as_bstr()),
        () => format!("write the text after the operator, or {}", joined.as_bstr()),
    };
    let mut place = line_location(subject, source, line.first_line);
    if let Some(place) = &mut place {
        let at = place.text.find(words).filter(|at| *at < place.text.len());
        let at = at.unwrap_or(operator_at);
        place.span = Span::new(at, (at + words.len()).min(place.text.len()));
    }
    Some(Finding::at(LintRule::IgnoredText, place, message, fix))
}

/// Reports `use ROLE = Execute`, which sets a macro called use.
fn check_keyword(
    subject: &LintSubject<'_>,
    source: SourceId,
    line: &LogicalLine<'_>,
    split: &SplitLine<'_>,
) -> Option<Finding> {
    if split.operator != StatementOperator::Equal {
        return None;
    }
    let (name, words, value) = (split.name.as_bstr(), split.words.as_bstr(), split.value.as_bstr());
    let message = format!("this sets a macro called {name}; it is not a statement");
    let words = if words.is_empty() { String::new() } else { format!("{words} ") };
    let fix = format!("write a colon: {name} {words}: {value}");
    let place = line_location(subject, source, line.first_line);
    let finding = Finding::at(LintRule::IgnoredText, place, message, fix);
    let equals = finding.spot.as_ref().and_then(|spot| spot.text.find_byte(b'='));
    // A line that is continued may have its operator in another line.
    let replacement = equals
        .filter(|_| line.pieces.len() == 1)
        .map(|at| Replacement { span: Span::new(at, at + 1), text: ":".into() });
    Some(Finding { replacement, ..finding })
}

/// Reports a macro in a condition that nothing sets.
fn check_condition(subject: &LintSubject<'_>, source: SourceId, line: &LogicalLine<'_>) -> Option<Finding> {
    let (_, condition) = split_if_keyword(&line.text)?;
    let found = next_reference(condition, 0, &mut None, |function, _| function == MacroFunction::Plain)?;
    let (name, default) = found.name_and_default(condition);
    let is_name = !name.is_empty() && name.iter().any(|byte| !byte.is_ascii_digit());
    if default.is_some() || !is_name || subject.view.raw_bytes(name).is_some() || subject.known.is_known(name)
    {
        return None;
    }
    let shown = BStr::new(name);
    let is_test = caseless::starts_with(condition.trim_start_with(|c| c == '!' || c == ' '), b"defined");
    let (message, fix) = match is_test {
        true => (
            format!("{shown} is not set, so no name follows 'defined' in the condition"),
            format!("write 'defined {shown}'"),
        ),
        false => (
            format!("{shown} is not set: the condition is never true"),
            format!("set {shown} before, or write 'if defined {shown}'"),
        ),
    };
    let place = line_location(subject, source, line.first_line);
    Some(Finding::at(LintRule::UndefinedCondition, place, message, fix))
}
