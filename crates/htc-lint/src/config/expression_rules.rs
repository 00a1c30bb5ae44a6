//! Valid expressions that cannot have the intended effect: unknown attributes, wrong types, conditions that are never
//! true.

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::{caseless, similar_names, unqualified_name};
use htc_classad::{Expr, Value};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_config::registry::{self, ExpressionScope, RegisteredParameter, ValueType};

use super::bare_words::find_bare_word;
use super::comparison_rules::check_comparisons;
use super::condition_outcomes::{MissingOutcome, find_missing_outcome};
use super::contradictions::find_contradiction;
use super::expression_parts::{for_each_part, reference_name, with_short_numbers};
use super::expression_types::{AttributeReference, ExpressionMistake, ExpressionTypes, TypeSet};
use super::known_attributes::{
    attribute_of_command, clock_attribute, is_exact_attribute, is_known_attribute, nearest_attribute,
    renamed_attribute,
};
use super::lint_subject::LintSubject;
use super::misplaced_operands::{
    PartProblem, find_calculation_with_undefined, find_compared_period, find_number_after_or, is_factor,
};
use super::new_job_rules::{decides_about_new_jobs, find_missing_attribute};
use super::owner_rules::{ReferenceProblem, check_owner};
use super::self_references::find_self_reference;
use super::template_macros::{find_policy_macro, use_statement};
use super::type_rules::{suggest_boolean, suggest_undefined};
use super::written_pieces::{find_written_piece, replace_if_certain, replace_value};

/// Number of the most recent findings that are searched for a duplicate.
const LATEST: usize = 200;

/// Maximum length of an expression that is examined.
const MAX_LENGTH: usize = 20_000;

/// Checks the attributes, types and outcomes of an expression, for the ads with which it is evaluated.
pub(super) fn check_meaning<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    parameter: Option<&RegisteredParameter>,
    value: &BStr,
    expr: &Expr,
    findings: &mut Vec<Finding>,
) {
    if value.len() > MAX_LENGTH {
        let message = format!(
            "{}: only the syntax of this expression was checked: it has {} bytes, and at most {MAX_LENGTH} are examined",
            entry.name,
            value.len()
        );
        let whole = Some((0, entry.current.raw.len()));
        findings.push(subject.make_finding(LintRule::NotChecked, &entry.current, whole, message, None));
        return;
    }
    let is_site = |name: &[u8]| is_advertised(subject, name);
    let (set, types) = ExpressionTypes::examine(expr, &is_site);
    let report =
        |findings: &mut Vec<Finding>, rule: LintRule, part: &BStr, message: String, fix: Option<Advice>| {
            let (definition, place) = find_written_piece(subject, entry, part)
                .unwrap_or((&entry.current, (0, entry.current.raw.len())));
            // Several values may refer to the same macro.
            let is_own = definition.name == entry.name;
            let message = format!("{}: {message}", if is_own { &entry.name } else { &definition.name });
            let finding = subject.make_finding(rule, definition, Some(place), message, fix);
            if is_own || !findings.iter().rev().take(LATEST).any(|other| *other == finding) {
                findings.push(finding);
            }
        };
    for fault in &types.faults {
        let rule = match fault.mistake {
            ExpressionMistake::AlwaysError => LintRule::AlwaysError,
            ExpressionMistake::AlwaysSame => LintRule::ConstantComparison,
            ExpressionMistake::MissingQuotes => LintRule::UnquotedString,
        };
        report(
            findings,
            rule,
            fault.part.unparse().as_bstr(),
            fault.message.clone(),
            fault.fix.clone().map(Advice::Text),
        );
    }
    for (rule, part, message, fix) in find_part_problems(subject, entry, parameter, expr) {
        report(findings, rule, part.as_bstr(), message, fix);
    }
    let Some(parameter) = parameter else { return };
    let scope = parameter.scope().unwrap_or(ExpressionScope::Other);
    let quoted = |name: &BString| {
        types.faults.iter().any(|fault| {
            fault.mistake == ExpressionMistake::MissingQuotes && fault.part.unparse().as_bytes() == &name[..]
        })
    };
    let only = expr.without_parentheses().as_attribute();
    let is_power_state = types.references.iter().any(|one| check_power_state(entry, one).is_some());
    if let Some(name) = &only
        && !is_power_state
        && let Some((message, fix)) = check_lone_attribute(subject, name.as_bytes())
    {
        report(findings, LintRule::UnknownAttribute, name.as_bstr(), message, fix);
        if let Some(finding) = findings.pop() {
            findings.push(match finding.fix.clone() {
                // A truth value with one wrong letter.
                Some(Advice::DidYouMean(near)) if is_slip_of_literal(name.as_bytes(), &near) => {
                    replace_value(finding, name.as_bytes(), near)
                }
                _ => replace_if_certain(finding, name.as_bytes()),
            });
        }
        return;
    }
    let is_checked = |one: &&AttributeReference| !quoted(&one.name) && !is_superseded(one, &types.references);
    for reference in types.references.iter().filter(is_checked) {
        if let Some((message, fix)) = check_power_state(entry, reference) {
            report(findings, LintRule::UnquotedString, reference.name.as_bstr(), message, Some(fix));
            continue;
        }
        if let Some((rule, message, fix)) = check_reference(subject, entry, scope, reference) {
            let is_certain = matches!(fix, Some(Advice::Write(_)));
            report(findings, rule, reference.name.as_bstr(), message, fix);
            if let Some(finding) = findings.pop_if(|finding| is_certain && finding.rule == rule) {
                findings.push(replace_if_certain(finding, &reference.name));
            }
        }
    }
    if types.faults.is_empty()
        && let Some((rule, message, fix)) = check_result(parameter, value, expr, set)
    {
        report(findings, rule, value, message, fix);
    }
    if parameter.value_type == ValueType::Condition {
        for (rule, part, message, fix) in find_impossible_outcome(subject, value, expr) {
            report(findings, rule, part.as_bstr(), message, fix);
        }
    }
}

/// True if an expression also refers to the current name of a renamed attribute: the reference to the old
/// name is then intended for old versions.
fn is_superseded(reference: &AttributeReference, all: &[AttributeReference]) -> bool {
    let new = renamed_attribute(&reference.name);
    new.is_some_and(|new| all.iter().any(|other| caseless::eq(&other.name, new.as_bytes())))
}

/// Finds comparisons that are certainly unintended, references of an attribute to itself, and attributes that new jobs do
/// not have.
fn find_part_problems<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    parameter: Option<&RegisteredParameter>,
    expr: &Expr,
) -> Vec<PartProblem> {
    let mut problems: Vec<PartProblem> = Vec::new();
    for problem in check_comparisons(expr, subject.world, &|name| is_advertised(subject, name)) {
        let part = written_part(subject, entry, &problem.part);
        problems.push((problem.rule, part, problem.message, problem.fix.map(Advice::Text)));
    }
    problems.extend(find_number_after_or(expr));
    problems.extend(find_calculation_with_undefined(expr));
    problems.extend(find_compared_period(expr, entry.raw()));
    let is_of_slot = |found: &RegisteredParameter| found.scope().is_some_and(ExpressionScope::has_my_slot);
    if parameter.is_some_and(is_of_slot) && !has_startd_cron(subject) {
        let is_site = |name: &[u8]| is_site_attribute(subject, name) || suggest_word(name).is_some();
        problems.extend(find_bare_word(subject, expr, &is_site));
    }
    if let Some(part) = find_self_reference(&entry.name, parameter, expr) {
        let part = part.unparse();
        let message = format!("{part} refers to itself: it is undefined");
        let parameter_name = unqualified_name(&entry.name).as_bstr();
        let fix = format!("write $({parameter_name}) for the earlier value of the parameter");
        problems.push((LintRule::AlwaysError, part, message, Some(fix.into())));
    }
    let is_new = parameter.is_some() && decides_about_new_jobs(&entry.name);
    let missing = find_missing_attribute(expr, &|name| is_site_attribute(subject, name));
    if let Some(missing) = missing.filter(|_| is_new) {
        let reference = missing.reference;
        let message = format!(
            "{reference} is undefined for a job that has not run yet, so the condition is not true for a new job"
        );
        let fix = match missing.instead {
            Some(instead) => format!("use {instead}, or write `{reference} =?= undefined || ...`"),
            None => format!("write `{reference} =?= undefined || ...`"),
        };
        problems.push((LintRule::NeverTrue, reference, message, Some(fix.into())));
    }
    problems
}

/// Finds a condition that is never true or never false.
fn find_impossible_outcome(subject: &LintSubject<'_>, value: &BStr, expr: &Expr) -> Vec<PartProblem> {
    let mut problems: Vec<PartProblem> = Vec::new();
    if let Some((first, second, is_only)) = find_contradiction(expr, subject.world) {
        let never_true = if is_only { "the condition" } else { "this part of the condition" };
        let message = format!("`{first}` and `{second}` exclude each other: {never_true} is never true");
        problems.push((LintRule::NeverTrue, second.unparse(), message, None));
        if is_only {
            return problems;
        }
    }
    match find_missing_outcome(expr, subject.world) {
        Some(MissingOutcome::NeverTrue) => {
            let message = "no value of its attributes makes the condition true".to_owned();
            problems.push((LintRule::NeverTrue, value.into(), message, None));
        }
        Some(MissingOutcome::NeverFalse) => {
            let message = "no value of its attributes makes the condition false".to_owned();
            let fix = Some("use && instead of ||, unless the condition is meant to be always true".into());
            let fix = fix.filter(|_| value.contains_str("||"));
            problems.push((LintRule::NeverFalse, value.into(), message, fix));
        }
        None => {}
    }
    problems
}

/// Returns the text of a part if the configuration contains this text, or else the text of the first smaller part that
/// it contains.
fn written_part<'a>(subject: &LintSubject<'a>, entry: &'a MacroEntry, part: &Expr) -> BString {
    let text = |part: &Expr| -> BString {
        with_short_numbers(&part.without_parentheses().unparse().to_str_lossy()).into()
    };
    let whole = text(part);
    let is_written = |text: &BString| find_written_piece(subject, entry, text).is_some();
    if is_written(&whole) {
        return whole;
    }
    if let Some(written) = part.parts().iter().map(text).find(is_written) {
        return written;
    }
    let mut name = None;
    for_each_part(part, &mut |part| {
        let found = reference_name(part).filter(|name| is_written(name));
        name = name.take().or(found);
    });
    name.unwrap_or(whole)
}

/// True if the configuration advertises an attribute with this name, or defines a resource with this name.
fn is_advertised(subject: &LintSubject<'_>, name: &[u8]) -> bool {
    subject.known.is_advertised(name) || subject.is_machine_resource(name)
}

/// True if the configuration defines an attribute with this name: it advertises the attribute, or a transform sets it.
fn is_site_attribute(subject: &LintSubject<'_>, name: &[u8]) -> bool {
    is_advertised(subject, name) || subject.is_in_transforms(name)
}

/// Checks a value that is only the name of an attribute.
fn check_lone_attribute(subject: &LintSubject<'_>, name: &[u8]) -> Option<(String, Option<Advice>)> {
    let shown = BStr::new(name);
    let message = format!("{shown} is the name of an attribute that nothing here defines: it is undefined");
    if is_site_attribute(subject, name) {
        return None;
    }
    let truth = suggest_boolean(name).filter(|_| name.len() <= 8);
    if let Some(fix) = truth.or_else(|| suggest_undefined(name)) {
        return Some((message, Some(fix)));
    }
    if let Some(macro_name) = find_policy_macro(name).filter(|_| subject.view.raw_bytes(name).is_none()) {
        let message = format!("{shown} is a macro of a template; as an attribute it is undefined");
        let fix = format!("write $({macro_name}), after a line '{}'", use_statement());
        return Some((message, Some(fix.into())));
    }
    let has_cron = has_startd_cron(subject);
    let is_policy = htc_config::registry::find(name).is_some();
    let is_defined = is_exact_attribute(name) || is_policy || subject.view.raw_bytes(name).is_some();
    if is_defined
        || has_cron
        || nearest_attribute(name).is_some()
        || !subject.config.unread_sources.is_empty()
    {
        return None;
    }
    let plural = [name, b"s"].concat();
    let fix = match is_exact_attribute(&plural) {
        true => Advice::DidYouMean(plural.into()),
        false => format!("write TARGET.{shown} if it is an attribute of jobs").into(),
    };
    Some((message, Some(fix)))
}

/// True if a name differs from a literal in one letter, or in the order of two letters.
fn is_slip_of_literal(name: &[u8], literal: &[u8]) -> bool {
    let is_literal = [&b"true"[..], b"false", b"undefined"].contains(&literal);
    is_literal && similar_names::distance(&name.to_ascii_lowercase(), literal, 1).is_some()
}

/// True if the startd has cron jobs, which may publish any attribute.
fn has_startd_cron(subject: &LintSubject<'_>) -> bool {
    subject.view.text("STARTD_CRON_JOBLIST").is_some_and(|list| !list.is_empty())
}

/// Numbers written as words, which are names of attributes in an expression.
const NUMBER_WORDS: &str = "zero one two three four five six seven eight nine ten twelve fifteen twenty thirty sixty \
                            hundred thousand infinity unlimited";

/// Units and periods, which are names of attributes in an expression.
const UNIT_WORDS: [&str; 25] = [
    "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "sec", "secs", "second", "seconds", "min", "mins",
    "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "percent",
];

fn check_reference(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    scope: ExpressionScope,
    reference: &AttributeReference,
) -> Option<ReferenceProblem> {
    let name = &reference.name;
    let is_target = reference.scope == "TARGET";
    // The router matches an empty ad with the job (`JobRouter::GetCandidateJobs`).
    let is_job_target = caseless::eq(unqualified_name(&entry.name), b"JOB_ROUTER_SOURCE_JOB_CONSTRAINT");
    if reference.scope == "MY" && is_job_target {
        let message = format!("MY.{name} is always undefined: the job is TARGET here");
        return Some((LintRule::MissingTarget, message, Some(format!("write {name}").into())));
    }
    if is_target && scope.has_no_target() && !is_job_target {
        let message = format!("TARGET.{name} is always undefined: there is no other ad here");
        return Some((LintRule::MissingTarget, message, Some(format!("write {name}").into())));
    }
    let is_other_scope = !reference.scope.is_empty() && !is_target && reference.scope != "MY";
    if is_other_scope || is_site_attribute(subject, name) {
        return None;
    }
    if let Some(problem) = check_owner(scope, reference) {
        return Some(problem);
    }
    if reference.scope.is_empty()
        && let Some(fix) = suggest_word(name).filter(|_| !is_exact_attribute(name))
        && subject.view.raw_bytes(name).is_none()
    {
        let message = format!("{name} is the name of an attribute that nothing defines: it is undefined");
        return Some((LintRule::UnknownAttribute, message, Some(fix)));
    }
    // A policy expression that another one refers to is also an attribute of the slot.
    let is_policy = htc_config::registry::find(name)
        .is_some_and(|found| found.value_type.is_expression() && !found.is_family());
    if is_exact_attribute(name) || is_policy {
        return None;
    }
    let is_macro = subject.view.raw_bytes(name).is_some_and(|raw| !raw.is_empty())
        || htc_config::defaults::find(name).is_some_and(|parameter| parameter.has_flag("const"));
    // A cron job may publish an attribute with the name of a macro.
    if is_macro && scope.has_my_slot() && has_startd_cron(subject) {
        return None;
    }
    if let Some(unit) = time_unit(name).filter(|_| is_macro && reference.scope.is_empty()) {
        let message = format!("{name} is a macro; as an attribute it is undefined");
        let fix = match is_factor(entry.raw(), name) {
            true => Advice::Write(format!("$({unit})").into()),
            // The macro is a number of seconds.
            false => clock_attribute(name).map_or_else(
                || format!("write a product: 2 * $({unit})").into(),
                |clock| format!("write {clock}; $({unit}) is a number of seconds").into(),
            ),
        };
        return Some((LintRule::UnknownAttribute, message, Some(fix)));
    }
    if is_macro && !caseless::eq(name, unqualified_name(&entry.name)) {
        let message = format!("{name} is a macro; as an attribute it is undefined");
        let advertise = match scope.has_my_slot() {
            true => format!(", or add {name} to STARTD_ATTRS"),
            false => String::new(),
        };
        return Some((
            LintRule::UnknownAttribute,
            message,
            Some(format!("write $({name}){advertise}").into()),
        ));
    }
    if let Some(new) = renamed_attribute(name) {
        let message = format!("HTCondor no longer has the attribute {name}, which is now called {new}");
        return Some((LintRule::UnknownAttribute, message, Some(Advice::Write(new.into()))));
    }
    if let Some(attribute) = attribute_of_command(name) {
        let message = format!("{name} is a command of submit files; as an attribute it is undefined");
        return Some((LintRule::UnknownAttribute, message, Some(format!("write {attribute}").into())));
    }
    if is_known_attribute(name) {
        return None;
    }
    // A test for undefined expects that the attribute may be missing.
    let is_tested = caseless::contains(entry.raw(), b"undefined");
    if let Some(problem) = check_unknown_name(subject, scope, reference)
        .filter(|(rule, ..)| *rule != LintRule::UnlistedAttribute || !is_tested)
    {
        return Some(problem);
    }
    let near = nearest_attribute(name)?;
    let message = format!("HTCondor has no attribute {name}: it is undefined unless this site sets it");
    Some((LintRule::UnknownAttribute, message, Some(Advice::DidYouMean(near.into()))))
}

/// Checks a name that neither HTCondor nor this configuration has as an attribute.
fn check_unknown_name(
    subject: &LintSubject<'_>,
    scope: ExpressionScope,
    reference: &AttributeReference,
) -> Option<ReferenceProblem> {
    let name = &reference.name;
    if let Some(replacement) = find_policy_macro(name).filter(|_| reference.scope.is_empty()) {
        let message = format!("{name} is a macro of a template; as an attribute it is undefined");
        let fix = format!("write $({replacement}), after a line '{}'", use_statement());
        return Some((LintRule::UnknownAttribute, message, Some(fix.into())));
    }
    if let Some(replacement) = clock_attribute(name).filter(|_| scope.has_my_slot()) {
        let message = format!("the slot has no attribute {name}: it is undefined unless this site sets it");
        return Some((LintRule::UnknownAttribute, message, Some(format!("write {replacement}").into())));
    }
    let plural = [name, &b"s"[..]].concat();
    if name.len() < 5 && reference.scope != "TARGET" && is_exact_attribute(&plural) {
        let message = format!("HTCondor has no attribute {name}: it is undefined unless this site sets it");
        return Some((LintRule::UnknownAttribute, message, Some(Advice::DidYouMean(plural.into()))));
    }
    let is_of_slot = reference.scope == "MY" && scope == ExpressionScope::Slot
        || reference.scope.is_empty() && scope == ExpressionScope::Machine;
    let may_be_published = has_startd_cron(subject) || !subject.config.unread_sources.is_empty();
    if !is_of_slot || may_be_published || nearest_attribute(name).is_some() {
        return None;
    }
    let message = format!("the slot has no attribute {name}: nothing here advertises it");
    let fix = format!("set {name} and add it to STARTD_ATTRS, or correct the name");
    Some((LintRule::UnlistedAttribute, message, Some(fix.into())))
}

/// Returns the macro for a unit of time (MINUTE, HOUR, DAY). No ad has an attribute with this name.
fn time_unit(name: &[u8]) -> Option<&'static str> {
    ["MINUTE", "HOUR", "DAY"].into_iter().find(|unit| caseless::eq(unit.as_bytes(), name))
}

/// Checks the names of power states, which are strings (`HibernatorBase::stringToSleepState`).
fn check_power_state(entry: &MacroEntry, reference: &AttributeReference) -> Option<(String, Advice)> {
    const STATES: [&str; 14] = [
        "NONE",
        "S1",
        "S2",
        "S3",
        "S4",
        "S5",
        "STANDBY",
        "SLEEP",
        "RAM",
        "MEM",
        "SUSPEND",
        "DISK",
        "HIBERNATE",
        "SHUTDOWN",
    ];
    let name = &reference.name;
    let is_state = STATES.iter().any(|state| caseless::eq(state.as_bytes(), name));
    let is_hibernate = caseless::eq(registry::strip_slot_prefix(unqualified_name(&entry.name)), b"HIBERNATE");
    if !is_state || !is_hibernate || !reference.scope.is_empty() {
        return None;
    }
    let message = format!("{name} is the name of an attribute that nothing defines, not a power state");
    Some((message, Advice::Text(format!("write \"{name}\""))))
}

/// Returns advice about a name that is a word for true, false, undefined, a number or a unit.
fn suggest_word(name: &[u8]) -> Option<Advice> {
    let is_number = NUMBER_WORDS.split(' ').any(|word| caseless::eq(word.as_bytes(), name));
    let is_unit = UNIT_WORDS.iter().any(|word| caseless::eq(word.as_bytes(), name));
    match () {
        () if is_number => Some("write the number in digits".into()),
        () if is_unit => Some("write one number, without a unit".into()),
        () => suggest_boolean(name).filter(|_| name.len() <= 8).or_else(|| suggest_undefined(name)),
    }
}

/// Checks the type of the expression's value.
fn check_result(
    parameter: &RegisteredParameter,
    value: &BStr,
    expr: &Expr,
    set: TypeSet,
) -> Option<ReferenceProblem> {
    let literal = expr.without_parentheses().as_literal();
    match parameter.value_type {
        ValueType::Condition if set.is_only_text() => {
            let text = literal.and_then(|value| value.as_str().map(|text| text.to_str_lossy().into_owned()));
            let fix = text.map(|text| format!("write {text} without quotes").into());
            Some((LintRule::ConstantCondition, "the value is a string, which is never true".to_owned(), fix))
        }
        ValueType::Condition if set.is_only_number() && !expr.without_parentheses().is_reference() => {
            match literal {
                Some(Value::Int(0 | 1)) => None,
                Some(value) => {
                    let message = format!("the condition is the number {value}: it is always true");
                    Some((LintRule::ConstantCondition, message, None))
                }
                None => {
                    let message = "the value is a number: every number but 0 is true".to_owned();
                    let fix = match value.strip_prefix(b"+").map(|rest| rest.trim().as_bstr()) {
                        Some(rest) => format!("write '= {rest}', or '+= {rest}' to append it").into(),
                        None => "put parentheses around the comparison".into(),
                    };
                    Some((LintRule::ConstantCondition, message, Some(fix)))
                }
            }
        }
        ValueType::Number if set.is_only_text() => {
            let text = literal.and_then(|value| value.as_str().map(|text| text.to_str_lossy().into_owned()));
            let is_calculation =
                |text: &String| Expr::parse(text).is_ok_and(|inner| inner.as_attribute().is_none());
            let fix = match text.filter(is_calculation) {
                Some(text) => format!("write {text} without quotes").into(),
                None => "write a number, or an expression that gives one".into(),
            };
            Some((LintRule::AlwaysError, "the value is a string, not a number".to_owned(), Some(fix)))
        }
        ValueType::Text | ValueType::PlainOrText if set.is_only_number_or_boolean() => {
            let fix = "put the string between double quotes".into();
            Some((LintRule::AlwaysError, "the value is not a string".to_owned(), Some(fix)))
        }
        _ => None,
    }
}
