//! Values of the wrong type: numbers, booleans, expressions, strings without quotes.

use bstr::{BStr, BString, ByteSlice};
use htc_config::Advice;
use htc_config::lint_rule::LintRule;

use super::advertised_text::{AdvertisedText, suggest_advertised};
use super::brackets::find_unbalanced;
use super::expression_rules::check_meaning;
use super::expression_types::ExpressionTypes;
use super::known_attributes::is_known_attribute;
use super::leftover_rules::check_leftovers;
use super::lint_subject::LintSubject;
use super::name_status::NameStatus;
use super::parameter_names::is_attribute_list;
use super::precedence::check_precedence;
use super::reference_rules::{has_invalid_reference, policy_consequence};
use super::referenced_names::collect_names;
use super::syntax_advice::advise_syntax;
use super::type_rules::{check_port_ranges, check_type, has_checked_type};
use super::units::parameter_unit;
use super::written_pieces::{correct_part, find_written_piece, replace_value};
use htc_base::text::{caseless, unqualified_name};
use htc_classad::{Expr, ParseError, pitfalls};
use htc_config::finding::Finding;
use htc_config::macro_definition::{MacroEntry, SourceKind};
use htc_config::registry::{self, RegisteredParameter, ValueType};
use htc_config::value_check::is_size;
use rustc_hash::FxHashSet;

/// Attributes to which advertised values may refer. Any other name was probably intended as a string.
const MACHINE_ATTRIBUTES: [&str; 60] = [
    "Memory",
    "Cpus",
    "Disk",
    "GPUs",
    "State",
    "Activity",
    "LoadAvg",
    "CondorLoadAvg",
    "TotalLoadAvg",
    "KeyboardIdle",
    "ConsoleIdle",
    "Arch",
    "OpSys",
    "OpSysAndVer",
    "OpSysMajorVer",
    "OpSysName",
    "OpSysLongName",
    "OpSysShortName",
    "OpSysVer",
    "Machine",
    "Name",
    "SlotID",
    "SlotType",
    "SlotTypeID",
    "TotalMemory",
    "TotalCpus",
    "TotalDisk",
    "TotalSlots",
    "TotalSlotCpus",
    "TotalSlotMemory",
    "TotalSlotDisk",
    "TotalGPUs",
    "DetectedCpus",
    "DetectedMemory",
    "DaemonStartTime",
    "UtsnameNodename",
    "UtsnameRelease",
    "CurrentTime",
    "MyType",
    "TargetType",
    "Owner",
    "User",
    "JobUniverse",
    "ImageSize",
    "Start",
    "Rank",
    "Requirements",
    "FileSystemDomain",
    "UidDomain",
    "VirtualMemory",
    "KFlops",
    "Mips",
    "HasDocker",
    "HasSingularity",
    "HasFileTransfer",
    "IsWakeAble",
    "CondorVersion",
    "CondorPlatform",
    "ClientMachine",
    "NumJobs",
];

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        let parameter = find_registered(subject, &entry.name);
        if check_leftovers(subject, entry, parameter.as_ref(), findings) {
            continue;
        }
        match (expression_kind(subject, &entry.name, parameter.as_ref()), &parameter) {
            (Some(kind), _) => check_expression(subject, entry, kind, parameter.as_ref(), findings),
            (None, Some(parameter)) if has_checked_type(parameter) => {
                check_type(subject, entry, parameter, findings);
            }
            _ => {}
        }
    }
    check_template_values(subject, findings);
    check_port_ranges(subject, findings);
}

/// Checks the values that a template has built from the arguments in the `use` statement.
fn check_template_values(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let entries = subject.config.set.entries().filter(|entry| {
        let is_file = subject.config.set.source(entry.current.place.source).kind == SourceKind::File;
        is_file && entry.current.place.template.is_some()
    });
    for entry in entries {
        let parameter = find_registered(subject, &entry.name);
        let first = findings.len();
        match (expression_kind(subject, &entry.name, parameter.as_ref()), &parameter) {
            (Some(kind), _) => check_expression(subject, entry, kind, parameter.as_ref(), findings),
            (None, Some(parameter)) if has_checked_type(parameter) => {
                check_type(subject, entry, parameter, findings);
            }
            _ => {}
        }
        // Other findings are about the text of the template itself, which is correct.
        let new_findings = findings.split_off(first);
        let is_value =
            |finding: &Finding| matches!(finding.rule, LintRule::BadExpression | LintRule::BadValue);
        findings.extend(new_findings.into_iter().filter(is_value).map(|finding| Finding {
            message: format!("{}; the template sets it from these arguments", finding.message),
            replacement: None,
            ..finding
        }));
    }
}

/// Family of the concurrency limits, whose names a site chooses.
const CONCURRENCY_LIMITS: &str = "*_LIMIT";

/// Returns the registry entry of a name, or `None` if daemons do not read it: a macro of the site may look like a
/// member of a family.
fn find_registered(subject: &LintSubject<'_>, name: &[u8]) -> Option<RegisteredParameter> {
    let found = registry::find(name)?;
    if has_list_elsewhere(subject, name) {
        return Some(found);
    }
    if found.is_family() && matches!(subject.known.classify(name), NameStatus::Unread(_)) {
        return None;
    }
    if !found.has_open_prefix() {
        return Some(found);
    }
    // A value that others refer to is a macro of the site: MEM_LIMIT = 4GB.
    let is_macro = || subject.referenced_names().contains(name);
    let is_limit = found.value_type == ValueType::Real && found.name == CONCURRENCY_LIMITS;
    let is_read = subject.known.classify(name) == NameStatus::Read && !(is_limit && is_macro());
    is_read.then_some(found)
}

/// True for a setting of a group or cron job if the configuration does not set the list of groups or jobs, which is
/// then probably in another file.
fn has_list_elsewhere(subject: &LintSubject<'_>, name: &[u8]) -> bool {
    const FAMILIES: [(&str, &str); 3] = [
        ("GROUP_", "GROUP_NAMES"),
        ("STARTD_CRON_", "STARTD_CRON_JOBLIST"),
        ("SCHEDD_CRON_", "SCHEDD_CRON_JOBLIST"),
    ];
    let bare = unqualified_name(name);
    let is_set = |list: &str| {
        let entry = subject.config.set.find_exact(list.as_bytes());
        entry.is_some_and(|entry| entry.current.is_user_written())
    };
    let mut families = FAMILIES.iter();
    families.any(|(prefix, list)| caseless::starts_with(bare, prefix.as_bytes()) && !is_set(list))
        && !subject.referenced_names().contains(name)
}

/// Reason why a value must be an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpressionKind {
    /// HTCondor evaluates the value.
    Policy,
    /// HTCondor evaluates the value unless it is a size with a unit.
    Size,
    /// The value is advertised as an attribute of an ad.
    Advertised,
}

fn expression_kind(
    subject: &LintSubject<'_>,
    name: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<ExpressionKind> {
    if parameter.is_some_and(|parameter| parameter.value_type.is_expression()) {
        return Some(ExpressionKind::Policy);
    }
    let is_size = parameter.is_some_and(|parameter| parameter.value_type == ValueType::SizeOrNumber);
    if is_size {
        return Some(ExpressionKind::Size);
    }
    let name = registry::strip_slot_prefix(unqualified_name(name));
    if is_attribute_list(name) {
        return None;
    }
    subject.known.is_advertised(name).then_some(ExpressionKind::Advertised)
}

fn check_expression<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    kind: ExpressionKind,
    parameter: Option<&RegisteredParameter>,
    findings: &mut Vec<Finding>,
) {
    let raw = &entry.current.raw;
    // References that are never expanded are reported separately.
    if has_invalid_reference(raw) {
        return;
    }
    let Ok(value) = subject.expand_entry(entry) else {
        return;
    };
    subject.view.take_messages();
    let value = BString::from(value.trim());
    if value.is_empty() || kind == ExpressionKind::Size && is_size(&value) {
        return;
    }
    let may_be_plain = parameter.is_some_and(|it| it.value_type == ValueType::PlainOrText);
    match Expr::parse_with(&value, subject.dialect()) {
        Err(_) if may_be_plain && !value.contains(&b'"') && !value.contains(&b'(') => {}
        Err(error) => findings.push(invalid_expression_finding(subject, entry, &value, &error, kind)),
        Ok(expr) => {
            check_expression_traps(subject, entry, &value, findings);
            check_precedence(subject, entry, &value, findings);
            check_meaning(subject, entry, parameter, value.as_bstr(), &expr, findings);
            if kind == ExpressionKind::Advertised {
                findings.extend(check_undefined_attribute(subject, entry, &value, &expr));
            }
        }
    }
}

/// Returns the finding about a value that is not a valid expression.
fn invalid_expression_finding<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    value: &BString,
    error: &ParseError,
    kind: ExpressionKind,
) -> Finding {
    let raw = &entry.current.raw;
    let problem = match kind {
        ExpressionKind::Policy | ExpressionKind::Size => "is not a valid ClassAd expression",
        ExpressionKind::Advertised => {
            "becomes an attribute of an ad, but its value is not a ClassAd expression"
        }
    };
    let is_same = raw == value;
    let wrong = find_unbalanced(value);
    let advice = match &wrong {
        Some(_) => None,
        None => advise_syntax(value, error, parameter_unit(&entry.name), subject.dialect()),
    };
    let place = match (&wrong, &advice) {
        (Some(wrong), _) if is_same => (wrong.at, wrong.at + 1),
        (None, Some(advice)) if is_same => (advice.place.start, advice.place.end),
        _ if is_same => {
            let start = error.span.start as usize;
            (start, (error.span.end as usize).max(start + 1).min(raw.len()))
        }
        _ => (0, raw.len()),
    };
    let mut message = format!("{} {problem}: ", entry.name);
    match &wrong {
        Some(wrong) => message.push_str(&wrong.to_string()),
        None => message.push_str(&error.to_string()),
    }
    if let Some(effect) = policy_consequence(&entry.name) {
        message.push_str(&format!("; {effect}"));
    }
    if !is_same {
        message.push_str(&format!(" (expanded: {value})"));
    }
    let looks_like_text = kind == ExpressionKind::Advertised && wrong.is_none() && !value.contains(&b'"');
    // Quotes would become part of the hook's path.
    if looks_like_text && entry.name.to_ascii_uppercase().contains_str("_HOOK_") {
        let fix =
            "advertise an attribute of another name, such as 'HasHook = true'; a hook's path has no quotes";
        let rule = LintRule::UnquotedString;
        return subject.make_finding(rule, &entry.current, Some(place), message, fix);
    }
    let suggested = looks_like_text.then(|| suggest_advertised(raw, value));
    let (rule, fix) = match &suggested {
        Some(suggested) => (LintRule::UnquotedString, Some(suggested.advice.clone())),
        None => {
            let fix = advice.as_ref().map(|advice| advice.fix.clone());
            (LintRule::BadExpression, fix.or_else(|| advise_expression(entry, value)))
        }
    };
    if rule == LintRule::UnquotedString && is_same {
        let finding = subject.make_finding(rule, &entry.current, Some(place), message, fix);
        let whole = (0, raw.len());
        let whole = subject.make_finding(rule, &entry.current, Some(whole), String::new(), None);
        let line = |finding: &Finding| finding.spot.as_ref().map(|spot| spot.line);
        let is_same_line = line(&whole) == line(&finding);
        let replacement = suggested.and_then(|suggested| suggested.replacement);
        let whole = match replacement {
            Some(text) => replace_value(whole, raw, text),
            None => whole,
        };
        return Finding { replacement: whole.replacement.filter(|_| is_same_line), ..finding };
    }
    let finding = subject.make_finding(rule, &entry.current, Some(place), message, fix);
    match advice.filter(|_| is_same) {
        Some(advice) => correct_part(finding, raw, &advice),
        None => finding,
    }
}

/// Returns advice about an expression that is not valid.
fn advise_expression(entry: &MacroEntry, value: &BString) -> Option<Advice> {
    let is_operator = |text: &[u8]| text.starts_with(b"||") || text.starts_with(b"&&");
    if is_operator(value.trim_start()) {
        let operator = value.trim_start()[..2].as_bstr();
        let bare = unqualified_name(&entry.name).as_bstr();
        return Some(
            format!("remove {operator} and the $({bare}) before it, which has no value here").into(),
        );
    }
    let is_text = registry::find(&entry.name).is_some_and(|found| found.value_type == ValueType::Text);
    let is_plain = !value.contains(&b'"') && find_unbalanced(value).is_none();
    (is_text && is_plain).then(|| Advice::Text(format!("write \"{value}\", with the quotes")))
}

/// Reports an advertised value that is the name of an undefined attribute: probably a string without quotes.
fn check_undefined_attribute<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    value: &BString,
    expr: &Expr,
) -> Option<Finding> {
    let raw = &entry.current.raw;
    if raw == value && is_word_with_signs(value) && expr_names_are_undefined(subject, expr) {
        let message = format!(
            "{} is advertised as the result of a calculation with attributes that nothing here defines: it will be undefined",
            entry.name
        );
        return Some(advertised_finding(subject, entry, value, message));
    }
    let attribute = expr.as_attribute()?;
    let attribute = attribute.as_bytes();
    let is_known = MACHINE_ATTRIBUTES.iter().any(|known| caseless::eq(known.as_bytes(), attribute))
        || subject.known.is_advertised(attribute)
        || ["Has", "Total", "Detected", "Is"]
            .iter()
            .any(|prefix| caseless::starts_with(attribute, prefix.as_bytes()));
    // A machine's name has dots: `vm.example.org`.
    let is_host = HOST_MACROS.iter().any(|host| caseless::eq(raw.trim(), host.as_bytes()));
    let is_scoped = attribute.contains(&b'.') && !is_host;
    // Cron jobs may publish any attribute.
    let has_cron = || !super::parameter_names::list_items(&subject.view, "STARTD_CRON_JOBLIST").is_empty();
    if is_known || is_scoped || raw[..] != value[..] && !is_host || has_cron() {
        return None;
    }
    let message = format!(
        "{} is advertised as the value of an attribute {}, which nothing here defines: it will be undefined",
        entry.name,
        BStr::new(attribute)
    );
    Some(advertised_finding(subject, entry, value, message))
}

/// Macros that are the name of the machine.
const HOST_MACROS: [&str; 3] = ["$(HOSTNAME)", "$(FULL_HOSTNAME)", "$(UID_DOMAIN)"];

/// Returns the finding about an advertised value that is undefined, with the value that was probably intended.
fn advertised_finding(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    value: &[u8],
    message: String,
) -> Finding {
    let raw = &entry.current.raw;
    let AdvertisedText { advice, replacement } = suggest_advertised(raw, value);
    let whole = Some((0, raw.len()));
    let finding =
        subject.make_finding(LintRule::UnquotedString, &entry.current, whole, message, Some(advice));
    match replacement {
        Some(text) => replace_value(finding, raw, text),
        None => finding,
    }
}

/// True for a word such as `R12-4`, `us-east-1a` or `node/rack`, which is a calculation only by accident.
fn is_word_with_signs(value: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-/".contains(byte);
    value.first().is_some_and(u8::is_ascii_alphabetic)
        && value.iter().all(is_letter)
        && value.iter().any(|byte| b"-/".contains(byte))
}

/// True if nothing is known to define any attribute of an expression.
fn expr_names_are_undefined(subject: &LintSubject<'_>, expr: &Expr) -> bool {
    let (_, types) = ExpressionTypes::examine(expr, &|_| false);
    !types.references.is_empty()
        && types.references.iter().all(|reference| {
            let name = reference.name.as_bytes();
            !is_known_attribute(name)
                && subject.view.raw_bytes(name).is_none()
                && !subject.known.is_advertised(name)
        })
}

/// True if a default to which the value refers contains this piece of text.
fn is_in_default(subject: &LintSubject<'_>, raw: &[u8], piece: &[u8]) -> bool {
    let mut names = FxHashSet::default();
    collect_names(raw, &mut names);
    !piece.is_empty()
        && names.iter().any(|name| {
            let is_set =
                subject.config.set.find_exact(name).is_some_and(|entry| entry.current.is_user_written());
            let default = htc_config::registry::default_value(name).filter(|_| !is_set);
            default.is_some_and(|default| default.contains_str(piece))
        })
}

/// Reports expressions that are valid but probably do not mean what was intended.
fn check_expression_traps<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    value: &[u8],
    findings: &mut Vec<Finding>,
) {
    let raw = &entry.current.raw;
    let has_libraries =
        ["CLASSAD_USER_LIBS", "CLASSAD_USER_PYTHON_MODULES"].iter().any(|name| subject.view.is_defined(name));
    for trap in pitfalls::find(value, subject.dialect()) {
        // Another rule checks the names of power states.
        let span = trap.span.start as usize..trap.span.end as usize;
        if caseless::eq(unqualified_name(&entry.name), b"HIBERNATE")
            && value.get(span).is_some_and(|piece| caseless::eq(piece, b"NONE"))
        {
            continue;
        }
        // The libraries may define further functions.
        if has_libraries && trap.is_unknown_function {
            continue;
        }
        let message = format!("{}: {}", entry.name, trap.message);
        let span = (trap.span.start as usize, trap.span.end as usize);
        let (definition, part) = match *raw == value {
            true => (&entry.current, span),
            false => {
                let piece = value.get(span.0..span.1).unwrap_or_default();
                // Not reported: this part of the value comes from a default, not from the file of the user.
                if is_in_default(subject, raw, piece) {
                    continue;
                }
                find_written_piece(subject, entry, piece).unwrap_or((&entry.current, (0, raw.len())))
            }
        };
        findings.push(subject.make_finding(
            LintRule::MisleadingExpression,
            definition,
            Some(part),
            message,
            trap.hint,
        ));
    }
}
