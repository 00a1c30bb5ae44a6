//! Values of the wrong type: numbers, booleans, expressions, strings without quotes.

use bstr::{BStr, BString, ByteSlice};
use htc_config::lint_rule::LintRule;

use super::brackets::find_unbalanced;
use super::expression_rules::check_meaning;
use super::leftover_rules::check_leftovers;
use super::lint_subject::LintSubject;
use super::name_status::NameStatus;
use super::parameter_names::is_attribute_list;
use super::reference_rules::{has_invalid_reference, policy_consequence};
use super::type_rules::{check_type, has_checked_type};
use super::written_pieces::{find_written_piece, replace_value};
use htc_base::text::{caseless, unqualified_name};
use htc_classad::{Expr, ParseError, pitfalls};
use htc_config::finding::Finding;
use htc_config::macro_set::MacroEntry;
use htc_config::registry::{self, RegisteredParameter, ValueType};
use htc_config::value_check::is_size;

/// Machine attributes that values may refer to; any other name was probably meant as a string.
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
}

/// Returns the row of the registry of a name that daemons read; a macro of the site may look like a family of names.
fn find_registered(subject: &LintSubject<'_>, name: &[u8]) -> Option<RegisteredParameter> {
    let found = registry::find(name)?;
    let is_read = || subject.known.classify(name) == NameStatus::Read;
    (!found.has_open_prefix() || is_read()).then_some(found)
}

/// Reason why a value must be an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpressionKind {
    /// HTCondor evaluates it.
    Policy,
    /// HTCondor evaluates it unless it is a size with a unit.
    Size,
    /// It is advertised as an attribute of an ad.
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
    let advertised = subject.known.advertised_attributes();
    advertised.iter().any(|attribute| caseless::eq(attribute, name)).then_some(ExpressionKind::Advertised)
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
    let Ok(value) = subject.view.expand_raw(&entry.name, raw) else {
        return;
    };
    subject.view.take_messages();
    let value = BString::from(value.trim());
    if value.is_empty() || kind == ExpressionKind::Size && is_size(&value) {
        return;
    }
    match Expr::parse_with(&value, subject.dialect()) {
        Err(error) => findings.push(invalid_expression_finding(subject, entry, (&value, &error), kind)),
        Ok(expr) => {
            check_expression_traps(subject, entry, &value, findings);
            check_meaning(subject, entry, parameter, (value.as_bstr(), &expr), findings);
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
    (value, error): (&BString, &ParseError),
    kind: ExpressionKind,
) -> Finding {
    let raw = &entry.current.raw;
    let what = match kind {
        ExpressionKind::Policy | ExpressionKind::Size => "is evaluated as a ClassAd expression and is none",
        ExpressionKind::Advertised => "becomes an attribute of an ad, but its value is no ClassAd expression",
    };
    let is_same = raw == value;
    let wrong = find_unbalanced(value);
    let place = match &wrong {
        Some(wrong) if is_same => (wrong.at, wrong.at + 1),
        _ if is_same => {
            let start = error.span.start as usize;
            (start, (error.span.end as usize).max(start + 1).min(raw.len()))
        }
        _ => (0, raw.len()),
    };
    let mut message = format!("{} {what}: ", entry.name);
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
    let (rule, fix) = match looks_like_text {
        true => (LintRule::UnquotedString, Some(format!("a string needs quotes: \"{value}\""))),
        false => (LintRule::BadExpression, None),
    };
    if rule == LintRule::UnquotedString && is_same {
        let finding = subject.make_finding(rule, &entry.current, Some(place), message, fix);
        let whole = (0, raw.len());
        let whole = subject.make_finding(rule, &entry.current, Some(whole), String::new(), None);
        let line = |finding: &Finding| finding.spot.as_ref().map(|spot| spot.line);
        let is_same_line = line(&whole) == line(&finding);
        let whole = replace_value(whole, raw, &format!("\"{value}\""));
        return Finding { replacement: whole.replacement.filter(|_| is_same_line), ..finding };
    }
    subject.make_finding(rule, &entry.current, Some(place), message, fix)
}

/// Reports an advertised value that is the name of an undefined attribute: probably a string without quotes.
fn check_undefined_attribute<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    value: &BString,
    expr: &Expr,
) -> Option<Finding> {
    let raw = &entry.current.raw;
    let attribute = expr.as_attribute()?;
    let attribute = attribute.as_bytes();
    let is_known = MACHINE_ATTRIBUTES.iter().any(|known| caseless::eq(known.as_bytes(), attribute))
        || subject.known.advertised_attributes().iter().any(|known| caseless::eq(known, attribute))
        || ["Has", "Total", "Detected", "Is"]
            .iter()
            .any(|prefix| caseless::starts_with(attribute, prefix.as_bytes()));
    let is_scoped = attribute.contains(&b'.');
    // Cron jobs may publish any attribute.
    let has_cron = !super::parameter_names::list_items(&subject.view, "STARTD_CRON_JOBLIST").is_empty();
    if is_known || is_scoped || has_cron || raw != value {
        return None;
    }
    let message = format!(
        "{} is advertised as the value of an attribute {}, which nothing here defines: it will be undefined",
        entry.name,
        BStr::new(attribute)
    );
    let fix = format!("a string needs quotes: \"{value}\"");
    let finding =
        subject.make_finding(LintRule::UnquotedString, &entry.current, Some((0, raw.len())), message, fix);
    Some(replace_value(finding, raw, &format!("\"{value}\"")))
}

/// Reports expressions that are valid but probably have another meaning than intended.
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
        // The libraries may define further functions.
        if has_libraries && trap.message.starts_with("there is no function") {
            continue;
        }
        let message = format!("{}: {}", entry.name, trap.message);
        let span = (trap.span.start as usize, trap.span.end as usize);
        let (definition, part) = match *raw == value {
            true => (&entry.current, span),
            false => find_written_piece(subject, entry, value.get(span.0..span.1).unwrap_or_default())
                .unwrap_or((&entry.current, (0, raw.len()))),
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
