//! Comparisons of attributes with values that they never have: numbers out of their range, unknown words, values in
//! another unit.

use bstr::{BString, ByteSlice};
use htc_base::text::similar_names;
use htc_base::world::World;
use htc_classad::{Expr, ExprKind, Value};
use htc_config::lint_rule::LintRule;

use super::attribute_facts::{AttributeFacts, AttributeUnit, AttributeWords, find_facts};
use super::comparison_problem::ComparisonProblem;
use super::constants::constant_number;
use super::expression_parts::{for_each_part, reference_name, shorten};
use super::time_kinds::check_time_kinds;
use super::unit_conversion::size_unit;

/// Comparison of an attribute with a number: `attribute operator number`.
struct NumberComparison<'a> {
    whole: &'a Expr,
    name: BString,
    operator: &'static str,
    number: f64,
}

/// Checks all comparisons of an expression; `is_site` is true for attributes that the site sets.
pub(super) fn check_comparisons(
    expr: &Expr,
    world: &dyn World,
    is_site: &dyn Fn(&[u8]) -> bool,
) -> Vec<ComparisonProblem> {
    let mut problems = Vec::new();
    let mut clock_hours: Option<Vec<NumberComparison<'_>>> = Some(Vec::new());
    let mut parts: Vec<Expr> = Vec::new();
    for_each_part(expr, &mut |part| {
        if matches!(part.kind(), ExprKind::Compare(..)) {
            parts.push(part.clone());
        }
    });
    for part in &parts {
        let ExprKind::Compare(operator, left, right) = part.kind() else { continue };
        if let Some(comparison) = read_number_comparison(part, operator, &left, &right, world) {
            let facts = find_facts(&comparison.name).filter(|_| !is_site(&comparison.name));
            let Some(facts) = facts else { continue };
            let found = check_range(&comparison, &facts)
                .or_else(|| check_impossible_size(&comparison, &facts))
                .or_else(|| check_small_number(&comparison, &facts));
            let is_found = found.is_some();
            problems.extend(found);
            if facts.unit == Some(AttributeUnit::MinuteOfDay) {
                let is_hour = (1.0..=24.0).contains(&comparison.number) && !is_found;
                clock_hours = clock_hours.filter(|_| is_hour).map(|mut hours| {
                    hours.push(comparison);
                    hours
                });
            }
            continue;
        }
        let problem = check_words(part, operator, &left, &right, is_site)
            .or_else(|| check_small_age(part, operator, &left, &right, world))
            .or_else(|| check_size_units(part, operator, &left, &right, world, is_site))
            .or_else(|| check_priorities(part, operator, &left, &right, world));
        problems.extend(problem);
    }
    // If one of the numbers is above 24, all of them are minutes.
    problems.extend(clock_hours.unwrap_or_default().iter().map(describe_clock_hour));
    problems.extend(check_time_kinds(&parts, world, is_site));
    problems
}

/// Returns the operator with its operands exchanged.
fn mirrored_operator(operator: &'static str) -> &'static str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

fn read_number_comparison<'a>(
    whole: &'a Expr,
    operator: &'static str,
    left: &Expr,
    right: &Expr,
    world: &dyn World,
) -> Option<NumberComparison<'a>> {
    let read = |attribute: &Expr, number: &Expr, operator| {
        let name = reference_name(attribute)?;
        Some(NumberComparison { whole, name, operator, number: constant_number(number, world)? })
    };
    read(left, right, operator).or_else(|| read(right, left, mirrored_operator(operator)))
}

/// Reports a comparison with a number that the attribute never has.
fn check_range(comparison: &NumberComparison<'_>, facts: &AttributeFacts) -> Option<ComparisonProblem> {
    let NumberComparison { whole, name, operator, number } = comparison;
    let below = facts.least.is_some_and(|least| *number < least);
    let above = facts.most.is_some_and(|most| *number > most);
    let is_least = facts.least == Some(*number);
    let is_most = facts.most == Some(*number);
    let is_true = match *operator {
        "==" | "=?=" => (below || above).then_some(false),
        "!=" | "=!=" => (below || above).then_some(true),
        "<" if below || is_least => Some(false),
        "<=" if below => Some(false),
        ">" if above || is_most => Some(false),
        ">=" if above => Some(false),
        "<" if above => Some(true),
        "<=" if above || is_most => Some(true),
        _ => None,
    }?;
    let range = match (facts.least, facts.most) {
        (Some(least), Some(most)) => format!("is from {least} to {most}"),
        (Some(least), None) => format!("is at least {least}"),
        _ => return None,
    };
    let unit = match facts.unit {
        Some(AttributeUnit::MinuteOfDay) => " (minutes since midnight)",
        _ => "",
    };
    let message = format!("{name} {range}{unit}: `{}` is always {is_true}", shorten(whole));
    let fix = match (&name.to_ascii_lowercase()[..], *number) {
        (b"clockday", 7.0) => Some("write 0 for Sunday".to_owned()),
        (b"clockmin", number) if number > 1439.0 => Some("write hours * 60".to_owned()),
        _ => None,
    };
    Some(ComparisonProblem::new(LintRule::ConstantComparison, whole, message, fix))
}

/// Reports hours of the day that are compared with minutes since midnight.
fn describe_clock_hour(comparison: &NumberComparison<'_>) -> ComparisonProblem {
    let NumberComparison { whole, name, number, .. } = comparison;
    let message = format!("{name} is in minutes since midnight: {number} is 0:{number:02}");
    let fix = Some(format!("write {number} * 60 for {number}:00"));
    ComparisonProblem::new(LintRule::UnitMismatch, whole, message, fix)
}

/// Reports a size that no machine or job has: the number is probably in a smaller unit.
fn check_impossible_size(
    comparison: &NumberComparison<'_>,
    facts: &AttributeFacts,
) -> Option<ComparisonProblem> {
    /// More memory than any machine has, in bytes; `MAX_DISK` is more disk than a job uses.
    const MAX_MEMORY: f64 = 32.0 * 1_099_511_627_776.0;
    const MAX_DISK: f64 = 16.0 * 1_099_511_627_776.0;
    let NumberComparison { whole, name, number, .. } = comparison;
    let unit = facts.unit?;
    let bytes = unit.bytes_per_unit().filter(|bytes| *bytes > 1.0)?;
    let limit = if unit == AttributeUnit::MiB { MAX_MEMORY } else { MAX_DISK };
    if number * bytes < limit {
        return None;
    }
    let message =
        format!("{name} is in {}: {number} is {} TiB", unit.name(), number * bytes / 1_099_511_627_776.0);
    let fix = Some(format!("divide the number by {bytes} if it is in bytes"));
    Some(ComparisonProblem::new(LintRule::UnitMismatch, whole, message, fix))
}

/// Reports a number that is so small that it is probably in a larger unit.
fn check_small_number(
    comparison: &NumberComparison<'_>,
    facts: &AttributeFacts,
) -> Option<ComparisonProblem> {
    let NumberComparison { whole, name, operator, number } = comparison;
    let (unit, sensible) = (facts.unit?, facts.sensible?);
    let is_order =
        matches!(*operator, ">" | ">=") || matches!(*operator, "<" | "<=") && unit != AttributeUnit::Seconds;
    // Round numbers of seconds, such as 60 and 90, are probably intended.
    let is_round = *number >= 49.0 && *number % 10.0 == 0.0 && unit == AttributeUnit::Seconds;
    if !is_order || *number <= 1.0 || *number >= sensible || is_round {
        return None;
    }
    let message = format!("{name} is in {}; {number} is very small", unit.name());
    let fix = match unit {
        AttributeUnit::Seconds => {
            format!("if the number is in minutes or hours, write {number} * $(MINUTE) or {number} * $(HOUR)")
        }
        AttributeUnit::MiB => format!("if the number is in GiB, write {number} * 1024"),
        _ => format!("if the number is in MiB or GiB, write {number} * 1024 or {number} * 1024 * 1024"),
    };
    Some(ComparisonProblem::new(LintRule::SuspiciousUnit, whole, message, Some(fix)))
}

/// Reports an age (the time since an event of a job) that is compared with a small number, which is probably in days or
/// hours.
fn check_small_age(
    whole: &Expr,
    operator: &str,
    left: &Expr,
    right: &Expr,
    world: &dyn World,
) -> Option<ComparisonProblem> {
    const EVENTS: [&str; 5] =
        ["EnteredCurrentStatus", "QDate", "JobStartDate", "JobCurrentStartDate", "CompletionDate"];
    const MOST: f64 = 100.0;
    let number = constant_number(right, world).filter(|number| *number > 1.0 && *number < MOST)?;
    let left = left.without_parentheses();
    let ExprKind::Other(parts) = left.kind() else { return None };
    let [now, event] = &parts[..] else { return None };
    let event = reference_name(event)?;
    let is_age = left.operator() == Some("-")
        && matches!(now.kind(), ExprKind::Call(name, _) if name.eq_ignore_ascii_case(b"time"))
        && EVENTS.iter().any(|known| event.eq_ignore_ascii_case(known.as_bytes()));
    if !is_age || !matches!(operator, ">" | ">=") || number % 10.0 == 0.0 {
        return None;
    }
    let message = format!("`{}` is in seconds; {number} is very small", shorten(&left));
    let fix = format!("if the number is in days or hours, write {number} * 24 * 3600 or {number} * 3600");
    Some(ComparisonProblem::new(LintRule::SuspiciousUnit, whole, message, Some(fix)))
}

/// Reports sizes in different units.
fn check_size_units(
    whole: &Expr,
    operator: &str,
    left: &Expr,
    right: &Expr,
    world: &dyn World,
    is_site: &dyn Fn(&[u8]) -> bool,
) -> Option<ComparisonProblem> {
    let (first, second) = (size_unit(left, world, is_site)?, size_unit(right, world, is_site)?);
    let ratio = first.bytes / second.bytes;
    // A factor of 1000 instead of 1024 does not change the unit.
    if (0.5..2.0).contains(&ratio) || matches!(operator, "=?=" | "=!=") {
        return None;
    }
    let factor = |ratio: f64| match ratio {
        ratio if (900.0..1100.0).contains(&ratio) => Some("1024"),
        ratio if (900_000.0..1_100_000.0).contains(&ratio) => Some("1024 / 1024"),
        _ => None,
    };
    let (small, by) = if ratio < 1.0 { (&first, 1.0 / ratio) } else { (&second, ratio) };
    let message = format!(
        "`{}` compares different units: {} is in {}, {} in {}",
        shorten(whole),
        shorten(&left.without_parentheses()),
        first.unit_name(),
        shorten(&right.without_parentheses()),
        second.unit_name()
    );
    // A calculation may convert in the wrong direction.
    let is_plain = [left, right].iter().any(|side| reference_name(side).as_ref() == Some(&small.name));
    let fix = match factor(by).filter(|_| is_plain) {
        Some(by) => Some(format!("write {} / {by}", small.name)),
        None => Some("convert both sides to the same unit".to_owned()),
    };
    Some(ComparisonProblem::new(LintRule::UnitMismatch, whole, message, fix))
}

/// Reports strings that an attribute never has, or that differ from its values in case.
fn check_words(
    whole: &Expr,
    operator: &str,
    left: &Expr,
    right: &Expr,
    is_site: &dyn Fn(&[u8]) -> bool,
) -> Option<ComparisonProblem> {
    let read = |attribute: &Expr, literal: &Expr| match literal.without_parentheses().as_literal() {
        Some(Value::Str(text)) => Some((reference_name(attribute)?, text.to_str_lossy().into_owned())),
        _ => None,
    };
    let (name, text) = read(left, right).or_else(|| read(right, left))?;
    let words = find_facts(&name).filter(|_| !is_site(&name))?.words?;
    if !matches!(operator, "==" | "!=" | "=?=" | "=!=") || text.is_empty() {
        return None;
    }
    let is_always = if operator.contains('!') { "true" } else { "false" };
    // Any number may follow the word.
    let stem = match words {
        AttributeWords::Numbered(_) => text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
        _ => &text[..],
    };
    let rest = &text[stem.len()..];
    let same = words.words().find(|word| word.eq_ignore_ascii_case(stem));
    let (message, fix) = match (same, operator) {
        (Some(word), "=?=" | "=!=") if word != stem => (
            format!(
                "{operator} is case-sensitive, and {name} has the value \"{word}{rest}\": `{}` is always {is_always}",
                shorten(whole)
            ),
            format!("write \"{word}{rest}\""),
        ),
        (Some(_), _) => return None,
        (None, _) => {
            let near = match words {
                AttributeWords::All(_) => {
                    similar_names::nearest(stem.as_bytes(), words.words().map(str::as_bytes))
                }
                // If other words are possible, only a word that is very similar to a known one is reported.
                _ => words.words().map(str::as_bytes).find(|word| {
                    stem.len() >= 5 && similar_names::distance(word, stem.as_bytes(), 2).is_some()
                }),
            };
            let fix = match (near, words) {
                (Some(near), _) => format!("did you mean \"{}{rest}\"?", near.as_bstr()),
                (None, AttributeWords::All(_)) => {
                    format!("compare it with one of {}", words.words().collect::<Vec<_>>().join(", "))
                }
                (None, _) => return None,
            };
            (format!("{name} is never \"{text}\": `{}` is always {is_always}", shorten(whole)), fix)
        }
    };
    Some(ComparisonProblem::new(LintRule::ConstantComparison, whole, message, Some(fix)))
}

/// Reports a condition for preemption that is true if the running user has the better priority: a larger number is a worse
/// priority.
fn check_priorities(
    whole: &Expr,
    operator: &'static str,
    left: &Expr,
    right: &Expr,
    world: &dyn World,
) -> Option<ComparisonProblem> {
    let is_priority = |expr: &Expr, wanted: &str| {
        let mut has = false;
        let mut is_only = true;
        for_each_part(expr, &mut |part| {
            if let Some(name) = reference_name(part) {
                has |= name.eq_ignore_ascii_case(wanted.as_bytes());
                is_only &= name.eq_ignore_ascii_case(wanted.as_bytes());
            }
        });
        // The priority may be multiplied by a factor, but a difference may not be added to it.
        let is_factor = match expr.kind() {
            ExprKind::Reference => true,
            ExprKind::Other(parts) => {
                matches!(expr.operator(), Some("*" | "/"))
                    && parts.iter().any(|part| constant_number(part, world).is_some())
            }
            _ => false,
        };
        has && is_only && is_factor
    };
    let (running, waiting) = ("RemoteUserPrio", "SubmitterUserPrio");
    let operator = match () {
        () if is_priority(left, running) && is_priority(right, waiting) => operator,
        () if is_priority(right, running) && is_priority(left, waiting) => mirrored_operator(operator),
        () => return None,
    };
    if !matches!(operator, "<" | "<=") {
        return None;
    }
    let message = format!(
        "a larger number is a worse priority: `{}` is true if the running user has the better one",
        shorten(whole)
    );
    let fix = Some("write RemoteUserPrio > SubmitterUserPrio, with a factor if needed".to_owned());
    Some(ComparisonProblem::new(LintRule::MisleadingExpression, whole, message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn rules(text: &str) -> Vec<LintRule> {
        let expr = Expr::parse(text).unwrap();
        let problems = check_comparisons(&expr, &RealWorld::new(), &|name| name == b"MySite");
        problems.into_iter().map(|problem| problem.rule).collect()
    }

    #[test]
    fn comparisons_that_are_always_the_same_are_found() {
        for wrong in [
            "ClockDay == 7",
            "ClockMin < 2400",
            "ClockMin > 18 * 3600",
            "JobStatus == 12",
            "0 > KeyboardIdle",
            "OpSys =?= \"Linux\"",
            "\"x86_64\" =?= TARGET.Arch",
            "OpSysAndVer =!= \"ALMALINUX9\"",
            "OpSys == \"Windwos\"",
            "OpSysAndVer == \"Almalinx9\"",
            "State == \"Unclamed\"",
            "SlotType == \"partitioned\"",
        ] {
            assert_eq!(rules(wrong), [LintRule::ConstantComparison], "{wrong}");
        }
    }

    #[test]
    fn values_in_another_unit_are_found() {
        for wrong in [
            "ClockMin < 8 || ClockMin > 18",
            "DiskUsage > 100 * 1024 * 1024 * 1024",
            "ResidentSetSize > 1.5 * RequestMemory",
            "MemoryUsage * 1024 * 1024 > ImageSize",
            "MY.Memory < TARGET.RequestDisk",
            "QDate > 3600",
            "time() - RemoteWallClockTime > 3600",
            "EnteredCurrentStatus - time() > 3600",
        ] {
            assert!(rules(wrong).contains(&LintRule::UnitMismatch), "{wrong}: {:?}", rules(wrong));
        }
        for small in ["KeyboardIdle > 15", "RequestMemory > 4", "ImageSize > 2000"] {
            assert_eq!(rules(small), [LintRule::SuspiciousUnit], "{small}");
        }
    }

    #[test]
    fn other_comparisons_are_not_reported() {
        for good in [
            "ClockMin < 8 * 60 || ClockMin > 18 * 60",
            "ClockMin > 10 && ClockMin < 480",
            "ClockDay == 0 || ClockDay == 6",
            "Memory >= 0 && Cpus > 0 && JobStatus >= 1",
            "OpSys == \"linux\" && Arch =?= \"X86_64\" && OpSysAndVer =?= \"RedHat9\"",
            "OpSys == \"SOLARIS\" || Arch == \"sparc\"",
            "OpSys =!= \"WINDOWS\"",
            "ResidentSetSize / 1024 > 1.5 * RequestMemory",
            "DiskUsage > 100 * 1024 * 1024",
            "(ImageSize + 1023) / 1024 > Memory",
            "RequestDisk < Disk && ImageSize > 4 * RequestMemory * 1000",
            "time() - QDate > 3600 && CompletionDate > 0",
            "X509UserProxyExpiration - time() > 3600",
            "RemoteUserPrio > SubmitterUserPrio * 1.2",
            "MySite == 5",
            "KeyboardIdle < 5",
        ] {
            assert_eq!(rules(good), [], "{good}");
        }
    }

    #[test]
    fn a_better_priority_is_a_smaller_number() {
        assert_eq!(rules("RemoteUserPrio < SubmitterUserPrio * 1.2"), [LintRule::MisleadingExpression]);
        assert_eq!(rules("TARGET.SubmitterUserPrio > MY.RemoteUserPrio"), [LintRule::MisleadingExpression]);
    }
}
