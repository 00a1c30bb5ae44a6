//! Numbers whose comment gives a larger unit than that of the parameter, and numbers that are far too small.

use bstr::{BString, ByteSlice};
use htc_base::text::{caseless, unqualified_name};
use htc_classad::{Expr, ExprKind};
use htc_config::SharedText;
use htc_config::finding::Finding;
use htc_config::lines::LogicalLines;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::{Definition, MacroEntry};
use htc_config::registry::{self, ValueType};
use rustc_hash::FxHashSet;

use super::attribute_facts::{AttributeUnit, find_facts};
use super::constants::constant_number;
use super::expression_parts::{for_each_part, reference_name, shorten};
use super::lint_subject::LintSubject;
use super::units::{SIZE_WORDS, TIME_WORDS, Unit, parameter_unit};

/// Smallest sensible values of parameters, with the parameter's unit.
const SENSIBLE: [(&str, f64, &str); 5] = [
    ("MAXJOBRETIREMENTTIME", 60.0, "seconds"),
    ("CLASSAD_LIFETIME", 60.0, "seconds"),
    ("MEMORY", 100.0, "MiB"),
    ("JOB_DEFAULT_REQUESTMEMORY", 16.0, "MiB"),
    ("JOB_DEFAULT_REQUESTDISK", 100.0, "KiB"),
];

/// Smallest plausible size of a log, in bytes. A smaller number was probably intended in a larger unit, or as a number
/// of files.
const MIN_LOG_SIZE: f64 = 4096.0;

/// Templates whose first argument is a number of seconds.
const SECONDS_TEMPLATES: [&str; 3] =
    ["LIMIT_JOB_RUNTIMES", "HOLD_IF_RUNTIME_EXCEEDS", "PREEMPT_IF_RUNTIME_EXCEEDS"];

/// Number and its unit in a comment.
struct Quantity {
    number: f64,
    /// Seconds or bytes in the unit.
    factor: f64,
    is_time: bool,
    text: String,
}

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let mismatches = |findings: &[Finding]| -> FxHashSet<SharedText> {
        let found = findings.iter().filter(|finding| finding.rule == LintRule::UnitMismatch);
        found.map(|finding| finding.name.clone()).collect()
    };
    let (reported, first) = (mismatches(findings), findings.len());
    for entry in subject.user_written_entries().filter(|entry| entry.raw().len() < 4000) {
        if !reported.contains(&entry.name) {
            check_parameter(subject, entry, findings);
            check_expression(subject, entry, findings);
        }
    }
    // A finding about the comment is more specific than one about the size of the number.
    let reported = mismatches(&findings[first..]);
    if !reported.is_empty() {
        findings
            .retain(|finding| finding.rule != LintRule::SuspiciousUnit || !reported.contains(&finding.name));
    }
    check_templates(subject, findings);
}

/// Checks a parameter that is one number.
fn check_parameter(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    let Some(number) = entry.raw().to_str().ok().and_then(|raw| raw.trim().parse::<f64>().ok()) else {
        return;
    };
    let Some(Unit { factor: unit, is_time, name: shown }) = parameter_unit(&entry.name) else { return };
    if number <= 0.0 {
        return;
    }
    let place = Some((0, entry.current.raw.len()));
    let comment = comment_before(subject, &entry.current);
    if let Some(quantity) = find_quantities(&comment).into_iter().find(|quantity| {
        quantity.is_time == is_time && is_equal(quantity.number, number) && quantity.factor > unit
    }) {
        let message = format!("{} is in {shown}: {number} is not {}", entry.name, quantity.text);
        let fix = format!("write {number} * {}", quantity.factor / unit);
        let fix = match registry::find(&entry.name).map(|found| found.value_type) {
            Some(ValueType::LogSize) => "write a unit after the number: 10 Mb, 7 Day".to_owned(),
            _ => fix,
        };
        findings.push(subject.make_finding(LintRule::UnitMismatch, &entry.current, place, message, fix));
        return;
    }
    let bare = registry::strip_slot_prefix(unqualified_name(&entry.name));
    let is_log = registry::find(&entry.name).is_some_and(|found| found.value_type == ValueType::LogSize);
    if is_log && number < MIN_LOG_SIZE {
        let message =
            format!("{} is in bytes without a unit: the log is rotated after {number} bytes", entry.name);
        let fix = "write a unit after the number: 10 Mb, 7 Day";
        findings.push(subject.make_finding(LintRule::UnitMismatch, &entry.current, place, message, fix));
        return;
    }
    // A request of at most 1 is intended: the default then never decides where a job runs.
    let is_no_request = number <= 1.0 && caseless::starts_with(bare, b"JOB_DEFAULT_REQUEST");
    let sensible =
        SENSIBLE.iter().find(|(name, ..)| caseless::eq(name.as_bytes(), bare)).filter(|_| !is_no_request);
    if let Some((_, _, unit)) = sensible.filter(|(_, least, _)| number < *least) {
        let message = format!("{} is in {unit}; {number} is very small", entry.name);
        let fix = match *unit {
            "seconds" => format!("write the number in seconds: {number} hours are {}", number * 3600.0),
            "MiB" => format!("write the number in MiB: {number} GiB are {}", number * 1024.0),
            _ => format!("write the number in KiB: {number} GiB are {}", number * 1_048_576.0),
        };
        findings.push(subject.make_finding(LintRule::SuspiciousUnit, &entry.current, place, message, fix));
    }
}

/// Checks comparisons with numbers that the comment gives in another unit.
fn check_expression(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    // The comment is read first, because few comments contain numbers with a unit.
    let in_comment = find_quantities(&comment_before(subject, &entry.current));
    if in_comment.is_empty() {
        return;
    }
    let is_expression = registry::find(&entry.name).is_some_and(|found| found.value_type.is_expression());
    if !is_expression {
        return;
    }
    let Ok(value) = subject.view.expand_raw(&entry.name, entry.raw()) else { return };
    let Ok(expr) = Expr::parse_with(&value, subject.dialect()) else { return };
    let mut problems: Vec<(String, String)> = Vec::new();
    for_each_part(&expr, &mut |part| {
        let ExprKind::Compare(_, left, right) = part.kind() else { return };
        let pair = [(&left, &right), (&right, &left)];
        let Some((unit, is_time, name, number)) = pair.into_iter().find_map(|(side, constant)| {
            let (unit, is_time, name) = operand_unit(side)?;
            Some((unit, is_time, name, constant_number(constant, subject.world)?))
        }) else {
            return;
        };
        // A size that differs from that of the comment is wrong only if the ratio is 1024 or its square.
        let wrong = in_comment.iter().filter(|in_comment| in_comment.is_time == is_time).find(|in_comment| {
            let ratio = number * unit.0 / (in_comment.number * in_comment.factor);
            let is_plain = is_equal(in_comment.number, number) && in_comment.factor > unit.0;
            is_plain || !is_time && (is_equal(ratio, 1024.0) || is_equal(ratio, 1_048_576.0))
        });
        if let Some(wrong) = wrong {
            let message = format!("{name} is in {}: `{}` is not {}", unit.1, shorten(part), wrong.text);
            let fix = format!("write {}", wrong.number * wrong.factor / unit.0);
            problems.push((message, fix));
        }
    });
    for (message, fix) in problems {
        let message = format!("{}: {message}", entry.name);
        let place = Some((0, entry.current.raw.len()));
        findings.push(subject.make_finding(LintRule::UnitMismatch, &entry.current, place, message, fix));
    }
}

/// Returns the unit (factor and name) of an attribute or of an age (`time() - attribute`), true for a time, and the
/// text of the operand.
fn operand_unit(side: &Expr) -> Option<((f64, &'static str), bool, BString)> {
    if let Some(name) = reference_name(side) {
        let unit = find_facts(&name)?.unit?;
        return match unit {
            AttributeUnit::Seconds => Some(((1.0, unit.name()), true, name)),
            _ => Some(((unit.bytes_per_unit()?, unit.name()), false, name)),
        };
    }
    let ExprKind::Other(parts) = side.kind() else { return None };
    let [left, right] = &parts[..] else { return None };
    let is_age = side.operator() == Some("-")
        && matches!(left.kind(), ExprKind::Call(name, _) if name.eq_ignore_ascii_case(b"time"))
        && reference_name(right).is_some();
    is_age.then(|| ((1.0, "seconds"), true, side.unparse()))
}

fn is_equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Returns the comment in the lines directly before a definition.
fn comment_before(subject: &LintSubject<'_>, definition: &Definition) -> BString {
    let source = subject.config.set.source(definition.place.source);
    let text = source.text.as_deref().unwrap_or_default();
    let before = text.get(..definition.place.offset as usize).unwrap_or_default();
    comment_at_end(before)
}

fn comment_at_end(text: &[u8]) -> BString {
    const MAX_LINES: usize = 6;
    let mut lines: Vec<&[u8]> = Vec::new();
    for line in text.strip_suffix(b"\n").unwrap_or(text).rsplit(|byte| *byte == b'\n').take(MAX_LINES) {
        if !line.trim_start().starts_with(b"#") {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    bstr::join(" ", lines).into()
}

/// Finds the numbers with units in a text.
fn find_quantities(text: &[u8]) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(u8::is_ascii_digit).map(|start| at + start) {
        let length = text[start..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let end = start + length;
        at = end;
        let is_word = start
            .checked_sub(1)
            .is_some_and(|before| text[before].is_ascii_alphanumeric() || b"_.*/:=-".contains(&text[before]));
        let Some(number) = text[start..end].to_str().ok().and_then(|digits| digits.parse::<f64>().ok())
        else {
            continue;
        };
        let rest = &text[end..];
        let blanks = rest.iter().take_while(|byte| **byte == b' ' || **byte == b'-').count();
        let word: &[u8] = &rest[blanks..];
        let word = &word[..word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()];
        if is_word || blanks > 1 || word.is_empty() || number <= 0.0 {
            continue;
        }
        let find_factor = |words: &[(&str, f64)]| {
            let found = words.iter().find(|(known, _)| caseless::eq(known.as_bytes(), word));
            found.map(|(_, factor)| *factor)
        };
        // One letter is a unit only directly after its number.
        let is_unit = word.len() > 1 || blanks == 0 || caseless::eq(word, b"h");
        let (time, size) =
            (find_factor(&TIME_WORDS).filter(|_| is_unit), find_factor(&SIZE_WORDS).filter(|_| is_unit));
        if let Some(factor) = time.or(size) {
            let text = format!("{number} {}", word.as_bstr());
            found.push(Quantity { number, factor, is_time: time.is_some(), text });
        }
    }
    found
}

/// Checks the arguments of templates.
fn check_templates(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    // All these templates keep their argument in this macro.
    let Some(entry) = subject.config.set.find_exact(b"MAX_JOB_RUNTIME") else { return };
    for definition in entry.replaced.iter().chain([&entry.current]) {
        if definition.place.template.is_none() {
            continue;
        }
        let source = subject.config.set.source(definition.place.source);
        let text = source.text.as_deref().unwrap_or_default();
        let rest = text.get(definition.place.offset as usize..).unwrap_or_default();
        let Some(line) = LogicalLines::new(rest).next_line() else { continue };
        let is_template =
            SECONDS_TEMPLATES.iter().any(|name| caseless::contains(&line.text, name.as_bytes()));
        let argument =
            line.text.split_once_str(b"(").and_then(|(_, rest)| rest.split(|b| b",)".contains(b)).next());
        let number = argument.and_then(|argument| argument.trim().to_str().ok()?.parse::<f64>().ok());
        let Some(number) = number.filter(|number| is_template && *number > 0.0) else { continue };
        let comment = comment_before(subject, definition);
        let quantity = find_quantities(&comment)
            .into_iter()
            .find(|quantity| quantity.is_time && is_equal(quantity.number, number));
        let fix = format!("write {number} * 3600 for hours, {number} * 60 for minutes");
        let (rule, message) = match quantity {
            Some(quantity) => (
                LintRule::UnitMismatch,
                format!("the argument is in seconds: {number} is not {}", quantity.text),
            ),
            None if number < 60.0 => (
                LintRule::SuspiciousUnit,
                format!("the argument is in seconds: every job is ended after {number} seconds"),
            ),
            None => continue,
        };
        findings.push(subject.make_finding(rule, definition, None, message, fix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        let found = |text: &str| -> Vec<String> {
            find_quantities(text.as_bytes()).into_iter().map(|found| found.text).collect()
        };
        assert_eq!(found("a day (24 hours), 15-minute steps, 7d"), ["24 hours", "15 minute", "7 d"]);
        assert_eq!(found("more than 100 GB or 2TB"), ["100 GB", "2 TB"]);
        for other in ["24.0 x", "slot1 min", "3 m", "5 times", "2*60 min", "12:30 h"] {
            assert_eq!(found(other), Vec::<String>::new(), "{other}");
        }
    }

    #[test]
    fn only_the_comment_directly_before_is_used() {
        assert_eq!(comment_at_end(b"# 5 h\nA = 1\n# a\n# b\n"), "# a # b");
        assert_eq!(comment_at_end(b"# 5 h\n\n"), "");
        assert_eq!(comment_at_end(b"# 5 h\nA = 1\n"), "");
    }
}
