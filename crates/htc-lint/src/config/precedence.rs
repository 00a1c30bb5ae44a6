//! Operators that apply only to a part of a macro's value, and `&&` mixed with `||` without parentheses.

use bstr::{BString, ByteSlice};
use htc_base::text::caseless;
use htc_classad::{Expr, ExprKind};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_config::macro_reference::{MacroFunction, next_reference};

use super::lint_subject::LintSubject;
use super::name_status::NameStatus;

/// Maximum length of a value that is examined.
const MAX_LENGTH: usize = 4_000;
/// Maximum depth to which expressions are compared.
const MAX_DEPTH: usize = 80;

/// Checks a value that is an expression.
pub(super) fn check_precedence(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    value: &[u8],
    findings: &mut Vec<Finding>,
) {
    let raw = &entry.current.raw;
    if value.len() > MAX_LENGTH || raw.len() > MAX_LENGTH {
        return;
    }
    let Ok(expanded) = Expr::parse_with(value, subject.dialect()) else { return };
    for (at, end, name) in plain_references(raw) {
        let is_whole = raw[..at].trim().is_empty() && raw[end..].trim().is_empty();
        if is_whole || is_quoted(raw, at) || !raw.contains_str("&&") && !raw[..at].trim_end().ends_with(b"!")
        {
            continue;
        }
        let Some(inner) = subject.view.raw_bytes(&name) else { continue };
        let Ok(inner) = subject.view.expand_raw(&name, &inner) else { continue };
        // Only a value with `||` or `?:` outside of parentheses is affected.
        let is_open = !has_outer_parentheses(&inner)
            && Expr::parse_with(&inner, subject.dialect())
                .is_ok_and(|inner| matches!(inner.kind(), ExprKind::Or(..) | ExprKind::Conditional(..)))
            && !caseless::starts_with(inner.trim(), b"ifthenelse");
        if !is_open {
            continue;
        }
        let (before, middle, after): (&[u8], &[u8], &[u8]) = (&raw[..at], &raw[at..end], &raw[end..]);
        let grouped = [before, b"(", middle, b")", after].concat();
        let Ok(grouped) = subject.view.expand_raw(&entry.name, &grouped) else { continue };
        let Ok(grouped) = Expr::parse_with(&grouped, subject.dialect()) else { continue };
        if is_same(&expanded, &grouped, 0) {
            continue;
        }
        let message = format!(
            "{}: the value of {} has || outside of parentheses, and the operator next to it binds more tightly: only a part of \
             the value is its operand",
            entry.name,
            raw[at..end].as_bstr()
        );
        let fix = format!("write ({})", raw[at..end].as_bstr());
        let rule = LintRule::MisleadingExpression;
        let finding = subject.make_finding(rule, &entry.current, Some((at, end)), message, fix);
        findings.push(finding);
        return;
    }
}

/// Reports statements that extend the earlier value of a policy but are true whatever this value is.
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        let is_joined = entry.replaced.iter().chain([&entry.current]).any(|it| it.raw.contains_str("||"));
        if !is_joined {
            continue;
        }
        let is_policy = htc_config::registry::find(&entry.name)
            .is_some_and(|found| found.value_type == htc_config::registry::ValueType::Condition);
        let is_read = matches!(subject.known.classify(&entry.name), NameStatus::Read);
        if !is_policy || !is_read {
            continue;
        }
        for definition in entry.replaced.iter().chain([&entry.current]) {
            let source = subject.config.set.source(definition.place.source);
            let text = source.text.as_deref().unwrap_or_default();
            let text = text.get(definition.place.offset as usize..).unwrap_or_default();
            let Some(line) = htc_config::lines::LogicalLines::new(text).next_line() else { continue };
            let Some((_, written)) = line.text.split_once_str(b"=") else { continue };
            if is_bypassed(written, &entry.name, subject) {
                let message = format!(
                    "{0}: && binds more tightly than ||, so the last part is true whatever the earlier value of {0} is",
                    entry.name
                );
                let fix = "put the parts with || in parentheses";
                let rule = LintRule::MisleadingExpression;
                findings.push(subject.make_finding(rule, definition, None, message, fix));
            }
        }
    }
}

/// True for `$(START) && a || b`: one alternative contains the earlier value and a condition, and the last alternative
/// does not contain it.
fn is_bypassed(written: &[u8], name: &[u8], subject: &LintSubject<'_>) -> bool {
    const OWN: &str = "HtcEarlierValue";
    const OTHER: &str = "HtcMacro";
    if written.len() > MAX_LENGTH || !written.contains_str("||") || !written.contains_str("&&") {
        return false;
    }
    // Each macro is replaced by one operand.
    let (mut text, mut at): (Vec<u8>, usize) = (Vec::new(), 0);
    for (start, end, found) in plain_references(written) {
        if start < at {
            return false;
        }
        text.extend_from_slice(&written[at..start]);
        let word = if caseless::eq(&found, name) { OWN } else { OTHER };
        text.extend_from_slice(word.as_bytes());
        at = end;
    }
    text.extend_from_slice(&written[at..]);
    let Ok(expr) = Expr::parse_with(text.trim(), subject.dialect()) else { return false };
    let mut alternatives = Vec::new();
    collect_open(&expr, true, &mut alternatives);
    let has_earlier_value = |part: &Expr| {
        let mut operands = Vec::new();
        collect_open(part, false, &mut operands);
        operands.iter().any(|operand| operand.unparse() == OWN)
    };
    let (Some(first), Some(last)) = (alternatives.first(), alternatives.last()) else { return false };
    alternatives.len() > 1
        && has_earlier_value(first)
        && first.unparse() != OWN
        && !has_earlier_value(last)
        && matches!(first.kind(), ExprKind::And(..))
        && !has_outer_parentheses(&first.unparse())
}

/// Collects the operands of `||` (or of `&&`) outside of parentheses.
fn collect_open(expr: &Expr, is_or: bool, operands: &mut Vec<Expr>) {
    let is_open = !has_outer_parentheses(&expr.unparse());
    match expr.kind() {
        ExprKind::Or(left, right) if is_or && is_open => {
            collect_open(&left, is_or, operands);
            collect_open(&right, is_or, operands);
        }
        ExprKind::And(left, right) if !is_or && is_open => {
            collect_open(&left, is_or, operands);
            collect_open(&right, is_or, operands);
        }
        _ => operands.push(expr.clone()),
    }
}

/// Returns the references `$(NAME)` of a text: start, end and name.
fn plain_references(text: &[u8]) -> Vec<(usize, usize, BString)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(reference) =
        next_reference(text, at, &mut None, |function, _| function == MacroFunction::Plain)
    {
        at = reference.end;
        let start = text[..reference.body].rfind(b"$(").unwrap_or(reference.body);
        found.push((start, reference.end, reference.name_and_default(text).0.into()));
    }
    found
}

/// True if the byte at `at` is between double quotes.
fn is_quoted(raw: &[u8], at: usize) -> bool {
    raw[..at].iter().filter(|byte| **byte == b'"').count() % 2 == 1
}

/// True if one pair of parentheses encloses the whole text.
fn has_outer_parentheses(text: &[u8]) -> bool {
    let text = text.trim();
    if !text.starts_with(b"(") {
        return false;
    }
    let (mut depth, mut is_text) = (0usize, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => is_text = !is_text,
            b'(' if !is_text => depth += 1,
            b')' if !is_text => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == text.len();
                }
            }
            _ => {}
        }
    }
    false
}

/// True if two expressions are equal apart from parentheses and from the grouping of equal operators.
fn is_same(first: &Expr, second: &Expr, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let all = |first: &[Expr], second: &[Expr]| {
        first.len() == second.len() && first.iter().zip(second).all(|(a, b)| is_same(a, b, depth + 1))
    };
    match (first.kind(), second.kind()) {
        (ExprKind::And(..), ExprKind::And(..)) | (ExprKind::Or(..), ExprKind::Or(..)) => {
            all(&operands(first), &operands(second))
        }
        (ExprKind::Not(a), ExprKind::Not(b)) => is_same(&a, &b, depth + 1),
        (ExprKind::Compare(a, ..), ExprKind::Compare(b, ..)) => {
            a == b && all(&first.parts(), &second.parts())
        }
        (ExprKind::Conditional(..), ExprKind::Conditional(..)) => all(&first.parts(), &second.parts()),
        (ExprKind::Call(a, _), ExprKind::Call(b, _)) => a == b && all(&first.parts(), &second.parts()),
        (ExprKind::Other(a), ExprKind::Other(b)) => first.operator() == second.operator() && all(&a, &b),
        (ExprKind::Literal(_), ExprKind::Literal(_)) | (ExprKind::Reference, ExprKind::Reference) => {
            first.without_parentheses().unparse() == second.without_parentheses().unparse()
        }
        (ExprKind::Select(..), ExprKind::Select(..)) => true,
        _ => false,
    }
}

/// Returns the operands of a chain of `&&` or of `||`.
fn operands(expr: &Expr) -> Vec<Expr> {
    let (mut found, mut waiting) = (Vec::new(), vec![expr.clone()]);
    let is_and = matches!(expr.kind(), ExprKind::And(..));
    while let Some(next) = waiting.pop() {
        match next.kind() {
            ExprKind::And(left, right) if is_and => waiting.extend([right, left]),
            ExprKind::Or(left, right) if !is_and => waiting.extend([right, left]),
            _ => found.push(next),
        }
    }
    found
}
