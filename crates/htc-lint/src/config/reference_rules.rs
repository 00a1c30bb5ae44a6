//! `$(...)` that is never expanded, and references to misspelled names.

use bstr::{BStr, BString, ByteSlice};
use htc_config::Advice;
use htc_config::lint_rule::LintRule;
use rustc_hash::{FxHashMap, FxHashSet};

use super::environment_names::environment_reference;
use super::invalid_references::find_invalid_references;
use super::lint_subject::LintSubject;
use super::template_macros::{find_policy_macro, use_statement};
use htc_base::text::space::trim;
use htc_base::text::{caseless, similar_names, unqualified_name};
use htc_classad::Expr;
use htc_config::expand::{ExpandErrorKind, MAX_LENGTH};
use htc_config::finding::Finding;
use htc_config::macro_definition::Definition;
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_config::statement::is_name_byte;
use htc_config::{ExpandError, FunctionFailure};

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let mut lengths = ExpandedLengths::default();
    let mut cycles: FxHashSet<Vec<Vec<u8>>> = FxHashSet::default();
    for entry in subject.user_written_entries() {
        let definition = &entry.current;
        if memchr::memchr(b'$', &definition.raw).is_none() {
            continue;
        }
        let first = findings.len();
        check_invalid_references(subject, definition, findings);
        if lengths.is_finite(subject, &definition.raw) {
            // Expanding each value of a long chain takes quadratic time.
        } else if let Err(error) = subject.expand_entry(entry) {
            // One finding is enough for each cycle. Its other members, and the values that refer to them, fail for the
            // same reason.
            let cycle = members_of_cycle(&error);
            let is_member = cycle.is_empty() || cycle.contains(&entry.name.to_ascii_lowercase());
            if is_member && (cycle.is_empty() || cycles.insert(cycle)) {
                let message = format!("{} cannot be expanded: {error}", entry.name);
                findings.push(subject.make_finding(LintRule::Endless, definition, None, message, None));
            }
        }
        let failures = subject.view.take_messages();
        check_function_failures(subject, definition, &failures, findings);
        drop_unexpanded_arguments(first, findings);
        check_undefined_references(subject, definition, findings);
    }
    check_replaced_domains(subject, findings);
    check_empty_self_references(subject, findings);
}

/// Returns the sorted names, in lower case, of the values that refer to each other; nothing for another error.
fn members_of_cycle(error: &ExpandError) -> Vec<Vec<u8>> {
    let Some((last, before)) = error.chain.split_last().filter(|_| error.kind == ExpandErrorKind::Cycle)
    else {
        return Vec::new();
    };
    let start = before.iter().position(|name| caseless::eq(name, last)).unwrap_or(0);
    let mut members: Vec<Vec<u8>> = before[start..].iter().map(|name| name.to_ascii_lowercase()).collect();
    members.sort_unstable();
    members
}

/// Reports `A = $(A)` if A has no earlier value and no default.
fn check_empty_self_references(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        let has_default = htc_config::registry::default_value(&entry.name).is_some();
        if !entry.raw().is_empty() || !entry.replaced.is_empty() || has_default {
            continue;
        }
        let message = format!("{} refers only to itself and has no earlier value: it is empty", entry.name);
        let finding = subject.make_finding(LintRule::Undefined, &entry.current, None, message, None);
        let is_itself = finding.spot.as_ref().is_some_and(|spot| {
            let value = spot.text.split_once_str("=").map_or(&b""[..], |(_, value)| value.trim());
            let name = value.strip_prefix(b"$(").and_then(|rest| rest.strip_suffix(b")"));
            name.is_some_and(|name| caseless::eq(name.trim(), &entry.name))
        });
        findings.extend(is_itself.then_some(finding));
    }
}

/// Drops a finding about text that is never expanded if a function fails at the same place: the text is the
/// argument of the function.
fn drop_unexpanded_arguments(first: usize, findings: &mut Vec<Finding>) {
    let new_findings = findings.split_off(first);
    let place = |finding: &Finding| finding.spot.as_ref().map(|spot| (spot.line, spot.span.start));
    let failing: Vec<_> =
        new_findings.iter().filter(|finding| finding.rule == LintRule::FunctionFails).map(place).collect();
    findings.extend(
        new_findings
            .into_iter()
            .filter(|finding| finding.rule != LintRule::NeverExpanded || !failing.contains(&place(finding))),
    );
}

/// Reports undefined references in values that expand to nothing and are therefore replaced (`set_default_domains`,
/// condor_config.cpp `check_domain_attributes`).
fn check_replaced_domains(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for name in ["UID_DOMAIN", "FILESYSTEM_DOMAIN"] {
        let entry = subject.config.set.find_exact(name.as_bytes());
        let Some(entry) = entry.filter(|entry| !entry.current.is_user_written()) else { continue };
        let Some(written) = entry.replaced.last().filter(|written| written.is_user_written()) else {
            continue;
        };
        let first = findings.len();
        check_undefined_references(subject, written, findings);
        for finding in &mut findings[first..] {
            finding.message.push_str(&format!("; {name} is then the name of the host"));
        }
    }
}

/// Upper bounds of the lengths of expanded values, as far as they can be computed without expanding them.
#[derive(Default)]
struct ExpandedLengths(FxHashMap<Vec<u8>, ExpandedLength>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpandedLength {
    /// The length is being computed. A reference to it from another value is circular.
    InProgress,
    /// The value has at most this number of bytes.
    AtMost(usize),
    /// The length cannot be computed this way.
    Unknown,
}

impl ExpandedLengths {
    /// Returns true if the expansion of a value certainly ends.
    fn is_finite(&mut self, subject: &LintSubject<'_>, raw: &[u8]) -> bool {
        matches!(self.length_of_value(subject, raw), ExpandedLength::AtMost(_))
    }

    /// Computes the length of a value and of all values to which it refers. There is no recursion, because chains may
    /// be long.
    fn length_of_value(&mut self, subject: &LintSubject<'_>, raw: &[u8]) -> ExpandedLength {
        let mut waiting: Vec<Vec<u8>> = plain_references(raw).unwrap_or_default();
        while let Some(name) = waiting.pop() {
            let known = self.0.get(&name).copied();
            if matches!(known, Some(ExpandedLength::AtMost(_) | ExpandedLength::Unknown)) {
                continue;
            }
            let value = subject.view.raw_bytes(&name).unwrap_or_default();
            let needed = plain_references(&value);
            let missing: Vec<Vec<u8>> =
                needed.iter().flatten().filter(|one| !self.0.contains_key(*one)).cloned().collect();
            if known.is_none() && !missing.is_empty() {
                self.0.insert(name.clone(), ExpandedLength::InProgress);
                waiting.push(name);
                waiting.extend(missing);
                continue;
            }
            let length = self.sum_lengths(&value, needed.as_deref());
            self.0.insert(name, length);
        }
        self.sum_lengths(raw, plain_references(raw).as_deref())
    }

    fn sum_lengths(&self, value: &[u8], needed: Option<&[Vec<u8>]>) -> ExpandedLength {
        let mut total = value.len();
        for name in needed.into_iter().flatten() {
            match self.0.get(name) {
                Some(ExpandedLength::AtMost(length)) => total = total.saturating_add(*length),
                _ => return ExpandedLength::Unknown,
            }
        }
        match needed {
            Some(_) if total < MAX_LENGTH => ExpandedLength::AtMost(total),
            _ => ExpandedLength::Unknown,
        }
    }
}

/// Returns the names that a value refers to, in lower case, or `None` if it contains more than plain
/// references.
fn plain_references(raw: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(found) = next_reference(raw, at, &mut None, |_, _| true) {
        let (name, default) = found.name_and_default(raw);
        if found.function != MacroFunction::Plain || default.is_some() {
            return None;
        }
        names.push(name.to_ascii_lowercase());
        at = found.end;
    }
    // The result of one reference may form another reference.
    let dollars = memchr::memchr_iter(b'$', raw).count();
    (dollars == names.len()).then_some(names)
}

/// Returns true for routes, transforms and submit templates, whose references may refer to macros outside of the
/// configuration.
fn has_own_macro_language(name: &[u8]) -> bool {
    let name = unqualified_name(name);
    ["JOB_ROUTER_", "JOB_TRANSFORM_", "SUBMIT_TEMPLATE_"]
        .iter()
        .any(|prefix| caseless::starts_with(name, prefix.as_bytes()))
}

/// Returns true if the byte at `at` is within the parentheses of a reference or function, where it is a
/// default or an argument that may never be evaluated.
fn is_inside_reference(raw: &[u8], at: usize) -> bool {
    let mut open = Vec::new();
    for (n, &byte) in raw[..at.min(raw.len())].iter().enumerate() {
        match byte {
            b'(' => {
                let word =
                    raw[..n].iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                open.push(raw[..n - word].last() == Some(&b'$'));
            }
            b')' => drop(open.pop()),
            _ => {}
        }
    }
    open.contains(&true)
}

/// Returns true if a value contains a reference that is never expanded; further findings about it are not
/// needed.
pub(super) fn has_invalid_reference(raw: &[u8]) -> bool {
    !find_invalid_references(raw).is_empty()
}

fn check_invalid_references(subject: &LintSubject<'_>, definition: &Definition, findings: &mut Vec<Finding>) {
    // A template has references to its arguments: $(1), $(1?), $(2+).
    if caseless::starts_with(unqualified_name(&definition.name), b"SUBMIT_TEMPLATE_") {
        return;
    }
    let found = find_invalid_references(&definition.raw);
    let effect = policy_consequence(&definition.name).filter(|_| !found.is_empty()).filter(|_| {
        let value =
            subject.view.expand_raw(&definition.name, &definition.raw).unwrap_or_else(|_| BString::default());
        Expr::parse_with(value.trim(), subject.dialect()).is_err()
    });
    subject.view.take_messages();
    for invalid in found {
        let text = BStr::new(&definition.raw[invalid.start..invalid.end]);
        let mut message = format!("'{text}' is never expanded: {}", invalid.cause);
        if let Some(effect) = effect {
            message.push_str(&format!("; the value is then not a valid expression: {effect}"));
        }
        let part = Some((invalid.start, invalid.end));
        let correct = match &invalid.fix {
            Advice::Write(text) => Some(text.clone()),
            Advice::Text(_) | Advice::DidYouMean(_) => None,
        };
        let is_closed = text.ends_with(b")");
        let finding = subject.make_finding(LintRule::NeverExpanded, definition, part, message, invalid.fix);
        let is_place = finding.spot.as_ref().is_some_and(|spot| {
            let place = spot.text.get(spot.span.start as usize..spot.span.end as usize);
            place.is_some_and(|place| place == text.as_bytes())
        });
        findings.push(match correct {
            Some(correct) if is_closed && is_place => finding.replaced_by(correct),
            _ => finding,
        });
    }
}

/// Returns the consequence of a policy that is not a valid expression (`user_job_policy.cpp`,
/// `UserPolicy::Config`).
pub(super) fn policy_consequence(name: &[u8]) -> Option<&'static str> {
    let name = unqualified_name(name);
    [
        ("SYSTEM_PERIODIC_HOLD", "the schedd ignores it without a message, so it never holds a job"),
        ("SYSTEM_PERIODIC_RELEASE", "the schedd ignores it without a message, so it never releases a job"),
        ("SYSTEM_PERIODIC_REMOVE", "the schedd ignores it without a message, so it never removes a job"),
        ("SYSTEM_PERIODIC_VACATE", "the schedd ignores it without a message, so it never vacates a job"),
    ]
    .into_iter()
    .find(|(policy, _)| caseless::eq(policy.as_bytes(), name))
    .map(|(_, effect)| effect)
}

/// Reports references without a default to names that nothing defines.
fn check_undefined_references(
    subject: &LintSubject<'_>,
    definition: &Definition,
    findings: &mut Vec<Finding>,
) {
    let raw = &definition.raw;
    let mut at = 0;
    while let Some(found) = next_reference(raw, at, &mut None, |function, _| function == MacroFunction::Plain)
    {
        at = found.end;
        let (name, default) = found.name_and_default(raw);
        let is_attribute = caseless::starts_with(name, b"MY.") || caseless::starts_with(name, b"TARGET.");
        if default.is_some() {
            let place = (found.dollar, found.end);
            findings.extend(check_reference_with_default(subject, definition, name, place));
        }
        if default.is_some() || is_attribute || caseless::eq(name, b"DOLLAR") {
            continue;
        }
        // Parts of a name that is composed of references, and the arguments of templates, are skipped.
        let is_whole = !name.is_empty() && name.iter().any(|b| !b.is_ascii_digit());
        if !is_whole || subject.view.raw_bytes(name).is_some() || subject.known.is_known(name) {
            continue;
        }
        let part = Some((found.dollar, found.end));
        let limit = subject.environment_limit(name);
        let message = format!("{} is not defined: the reference expands to nothing{limit}", name.as_bstr());
        // A reference to the parameter itself would be circular.
        let near = suggest_name(subject, name)
            .filter(|near| !caseless::eq(near, &definition.name) && environment_reference(name).is_none());
        if let Some(near) = near {
            let correct = format!("$({})", near.as_bstr());
            let fix = Advice::DidYouMean(correct.clone().into());
            let finding = subject.make_finding(LintRule::MisspelledReference, definition, part, message, fix);
            let is_reference = finding.spot.as_ref().is_some_and(|spot| {
                let place = spot.text.get(spot.span.start as usize..spot.span.end as usize);
                place.is_some_and(|place| *place == raw[found.dollar..found.end])
            });
            findings.push(if is_reference { finding.replaced_by(correct) } else { finding });
        } else if !has_own_macro_language(&definition.name)
            && !is_inside_reference(raw, found.dollar)
            && !subject.is_set_with_any_prefix(name)
        {
            let fix = match environment_reference(name) {
                Some(reference) => Advice::Write(reference.into()),
                None if find_policy_macro(name).is_some() => {
                    format!("write '{}' before, which defines {}", use_statement(), name.as_bstr()).into()
                }
                None => format!("define {0}, or write $({0}:default)", name.as_bstr()).into(),
            };
            findings.push(subject.make_finding(LintRule::Undefined, definition, part, message, fix));
        }
    }
}

/// Reports `$(SITE_CORE:4)` if nothing sets SITE_CORE and nothing refers to SITE_CORES, which the same file sets.
fn check_reference_with_default(
    subject: &LintSubject<'_>,
    definition: &Definition,
    name: &[u8],
    place: (usize, usize),
) -> Option<Finding> {
    let is_known = subject.view.raw_bytes(name).is_some()
        || subject.known.is_known(name)
        || subject.is_set_with_any_prefix(name)
        || has_own_macro_language(&definition.name);
    if is_known || name.len() < 6 {
        return None;
    }
    let without_digits = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| !byte.is_ascii_digit()).map(u8::to_ascii_lowercase).collect()
    };
    let is_slip = |near: &[u8]| {
        similar_names::distance(near, name, 1).is_some() && without_digits(near) != without_digits(name)
    };
    let near = subject.names_set().nearest(name, |near| is_slip(near))?;
    let entry = subject.config.set.find_exact(near)?;
    // A name that is similar to an undefined reference is treated as used. The values are therefore searched here for
    // the name itself.
    let reference = [b"$(", *near].concat();
    let is_unused = !subject.known.is_known(near)
        && !subject.user_written_entries().any(|other| caseless::contains(other.raw(), &reference));
    let is_here = entry.current.place.source == definition.place.source && entry.current.is_user_written();
    if !is_unused || !is_here {
        return None;
    }
    let message = format!("{} is not defined: the reference expands to its default", BStr::new(name));
    let fix = Advice::Text(format!("did you mean {}?", BStr::new(*near)));
    let rule = LintRule::MisspelledReference;
    Some(subject.make_finding(rule, definition, Some(place), message, fix))
}

/// Reports functions that fail when a value is expanded, because a daemon then exits with an error.
fn check_function_failures(
    subject: &LintSubject<'_>,
    definition: &Definition,
    failures: &[FunctionFailure],
    findings: &mut Vec<Finding>,
) {
    let raw = &definition.raw;
    if has_own_macro_language(&definition.name) {
        return;
    }
    let is_function = |function| !matches!(function, MacroFunction::Plain | MacroFunction::Env);
    let mut at = 0;
    while let Some(found) = next_reference(raw, at, &mut None, |function, _| is_function(function)) {
        at = found.end;
        let part = Some((found.dollar, found.end));
        let word = raw[found.dollar..found.body - 1].to_str_lossy();
        let failure = failures.iter().find(|failure| failure.text.starts_with(word.as_bytes()));
        let name = argument_name(found.function, found.body(raw));
        let is_undefined =
            |name: &&[u8]| subject.view.raw_bytes(name).is_none() && !subject.is_set_with_any_prefix(name);
        if let Some(name) = name.filter(is_undefined) {
            let message = format!("{} in {word}() is not defined", name.as_bstr());
            let fix = match suggest_name(subject, name) {
                Some(near) => Advice::DidYouMean(near.into()),
                None => format!("define {}", name.as_bstr()).into(),
            };
            findings.push(subject.make_finding(LintRule::FunctionFails, definition, part, message, fix));
        } else if let Some(failure) = failure {
            let text = failure.text.to_str_lossy();
            let message = format!("{} cannot be expanded: {}", definition.name, text.trim_end_matches('!'));
            let fix = advise_about_failure(subject, found.function, found.body(raw), &word);
            findings.push(subject.make_finding(LintRule::FunctionFails, definition, part, message, fix));
        } else if found.function == MacroFunction::Eval && is_invalid_expression(subject, found.body(raw)) {
            let body = found.body(raw).as_bstr();
            let message = format!("$EVAL({body}) is empty: its argument is not a valid expression");
            let fix = "correct the expression".to_owned();
            findings.push(subject.make_finding(LintRule::FunctionFails, definition, part, message, fix));
        }
    }
}

/// True if the argument of `$EVAL()`, or the value of the parameter that it names, is not a valid expression.
fn is_invalid_expression(subject: &LintSubject<'_>, body: &[u8]) -> bool {
    let raw = subject.view.raw_bytes(trim(body)).unwrap_or_else(|| trim(body).into());
    let value = subject.view.expand_raw(BStr::new(""), &raw).unwrap_or_default();
    subject.view.take_messages();
    !value.trim().is_empty() && Expr::parse_with(value.trim(), subject.dialect()).is_err()
}

/// Returns the correction of a function that fails.
fn advise_about_failure(
    subject: &LintSubject<'_>,
    function: MacroFunction,
    body: &[u8],
    word: &str,
) -> Option<Advice> {
    let (letters, example) = match function {
        MacroFunction::Int => (&b"diouxXcp"[..], "%d"),
        MacroFunction::Real => (&b"eEfFgGaAp"[..], "%.2f"),
        MacroFunction::String => (&b"sSp"[..], "%s"),
        _ => return None,
    };
    if let Some(comma) = body.find_byte(b',')
        && !has_conversion(&body[comma + 1..], letters)
    {
        return Some(format!("write a format for {word}(), such as {example}").into());
    }
    if function == MacroFunction::String {
        return None;
    }
    let calculation = trim(body.split(|&byte| byte == b',').next().unwrap_or_default());
    let digits = calculation.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let unit = calculation[digits..].trim();
    let is_unit = digits > 0 && !unit.is_empty() && unit.iter().all(u8::is_ascii_alphabetic);
    if is_unit {
        let number = BStr::new(&calculation[..digits]);
        let fix = format!("write a number without '{}': {number}, converted to the unit", BStr::new(unit));
        return Some(format!("{fix} of the parameter").into());
    }
    Some(advise_number_parameter(subject, calculation, word).into())
}

/// True if a `printf` format has a conversion with one of these letters.
fn has_conversion(format: &[u8], letters: &[u8]) -> bool {
    memchr::memchr_iter(b'%', format).any(|percent| {
        let end = format[percent + 1..].iter().find(|byte| !b"0123456789-+ #.hl'".contains(byte));
        end.is_some_and(|end| letters.contains(end))
    })
}

/// Returns advice to move a calculation from `$INT()` or `$REAL()` to another parameter, in which names need `$(...)`.
fn advise_number_parameter(subject: &LintSubject<'_>, calculation: &[u8], function: &str) -> String {
    let mut value = String::new();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    for word in calculation.chunk_by(|&a, &b| is_name(a) == is_name(b)) {
        let shown = word.to_str_lossy();
        match is_name(word[0]) && subject.view.raw_bytes(word).is_some() {
            true => value += &format!("$({shown})"),
            false => value += &shown,
        }
    }
    format!("define another parameter, e.g. OTHER = {value}, and write {function}(OTHER)")
}

/// Returns the first argument of a function if it must be the name of a parameter and is a name, or `None` if not.
fn argument_name(function: MacroFunction, body: &[u8]) -> Option<&[u8]> {
    let takes_name = function.takes_parameter_name();
    let first = trim(body.split(|&byte| byte == b',' || byte == b':').next()?);
    let is_name = first.iter().all(|&byte| is_name_byte(byte) && byte != b'/')
        && first.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && !first.contains(&b'.');
    let is_literal =
        [&b"true"[..], b"false", b"undefined", b"error"].iter().any(|word| caseless::eq(word, first));
    (takes_name && is_name && !is_literal).then_some(first)
}

/// Returns the name that an undefined name probably misspells.
fn suggest_name(subject: &LintSubject<'_>, name: &[u8]) -> Option<Vec<u8>> {
    let letters = |text: &[u8]| text.iter().filter(|b| !b.is_ascii_digit()).count();
    let is_not_numbered = |known: &[u8]| {
        // Names that differ only in numbers are members of a family.
        known.len() >= 6
            && !(letters(known) == letters(name) && known.len() == name.len() && letters(known) < known.len())
    };
    // `$(MINUTES)` stands for the macro MINUTE.
    let singular = name.strip_suffix(b"s").or_else(|| name.strip_suffix(b"S"));
    let is_macro = |singular: &&[u8]| singular.len() > 2 && subject.view.raw_bytes(singular).is_some();
    if let Some(singular) = singular.filter(is_macro) {
        return Some(singular.to_vec());
    }
    if name.len() < 6 {
        return None;
    }
    // Two letters of a short name may differ on purpose: TEST_DIR and TEMP_DIR.
    const MIN_LENGTH_OF_TWO_SLIPS: usize = 12;
    let is_slip = |near: &[u8]| {
        name.len() >= MIN_LENGTH_OF_TWO_SLIPS || similar_names::distance(near, name, 1).is_some()
    };
    let name_of_site = subject.names_set().nearest(name, |known| is_not_numbered(known) && is_slip(known));
    let name_of_site = name_of_site.map(|near| near.to_vec());
    name_of_site.or_else(|| subject.known.nearest_known(name).map(Vec::from).filter(|near| is_slip(near)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_defaults_are_inside_references() {
        for (raw, inside) in [
            ("$(X)", false),
            ("a (b $(X))", false),
            ("$(A) $(X)", false),
            ("$(A:$(X))", true),
            ("$CHOICE(N, $(X))", true),
            ("$(A:(b) $(X))", true),
        ] {
            let at = raw.find("$(X)").unwrap();
            assert_eq!(is_inside_reference(raw.as_bytes(), at), inside, "{raw}");
        }
    }
}
