//! Values of the wrong type: numbers, booleans, expressions, strings without quotes.

use bstr::{BStr, BString, ByteSlice};
use htc_config::lint_rule::LintRule;
use rustc_hash::FxHashSet;

use super::brackets::find_unbalanced;
use super::lint_subject::LintSubject;
use super::parameter_names::is_attribute_list;
use super::reference_rules::{has_invalid_reference, policy_consequence};
use super::referenced_names::collect_names;
use htc_base::text::{caseless, unqualified_name};
use htc_classad::{Expr, ParseError, pitfalls};
use htc_config::defaults::{self, ParameterType};
use htc_config::finding::Finding;
use htc_config::macro_set::{Definition, FoundMacro, MacroEntry};
use htc_config::value_error::ValueProblem;

/// Parameters that daemons evaluate as expressions in ads, without prefixes of slot types or subsystems.
const EXPRESSION_PARAMETERS: [&str; 47] = [
    "START",
    "RANK",
    "SUSPEND",
    "CONTINUE",
    "PREEMPT",
    "KILL",
    "WANT_SUSPEND",
    "WANT_VACATE",
    "WANT_HOLD",
    "WANT_HOLD_REASON",
    "WANT_HOLD_SUBCODE",
    "IS_OWNER",
    "IsOwner",
    "CPU_BUSY",
    "CpuBusy",
    "MAXJOBRETIREMENTTIME",
    "MACHINEMAXVACATETIME",
    "FETCHWORKDELAY",
    "CLAIM_WORKLIFE",
    "HIBERNATE",
    "UNHIBERNATE",
    "SLOT_WEIGHT",
    "SLOTWEIGHT",
    "PERIODIC_CHECKPOINT",
    "SYSTEM_PERIODIC_HOLD",
    "SYSTEM_PERIODIC_HOLD_REASON",
    "SYSTEM_PERIODIC_HOLD_SUBCODE",
    "SYSTEM_PERIODIC_RELEASE",
    "SYSTEM_PERIODIC_REMOVE",
    "SYSTEM_PERIODIC_VACATE",
    "SYSTEM_ON_VACATE_COOL_DOWN",
    "NEGOTIATOR_PRE_JOB_RANK",
    "NEGOTIATOR_POST_JOB_RANK",
    "PREEMPTION_REQUIREMENTS",
    "PREEMPTION_RANK",
    "JOB_ROUTER_SOURCE_JOB_CONSTRAINT",
    "START_LOCAL_UNIVERSE",
    "START_SCHEDULER_UNIVERSE",
    "START_BACKFILL",
    "EVICT_BACKFILL",
    "APPEND_REQUIREMENTS",
    "JOB_DEFAULT_REQUESTMEMORY",
    "JOB_DEFAULT_REQUESTDISK",
    "JOB_DEFAULT_REQUESTCPUS",
    "DEFRAG_REQUIREMENTS",
    "SINGULARITY_JOB",
    "SINGULARITY_IMAGE_EXPR",
];

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
        let name = strip_prefixes(&entry.name);
        if let Some(expression) = expression_kind(subject, name) {
            check_expression(subject, entry, expression, findings);
        } else if let Some(parameter) = defaults::find(name) {
            check_type(subject, entry, parameter.parameter_type(), findings);
        }
    }
}

/// Removes the subsystem, local name or slot type from a name.
fn strip_prefixes(name: &[u8]) -> &[u8] {
    let name = unqualified_name(name);
    if !caseless::starts_with(name, b"SLOT_TYPE_") {
        return name;
    }
    let rest = &name["SLOT_TYPE_".len()..];
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    match rest[digits..].strip_prefix(b"_") {
        Some(rest) if digits > 0 && !rest.is_empty() => rest,
        _ => name,
    }
}

/// Reason why a value must be an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpressionKind {
    /// HTCondor evaluates it.
    Policy,
    /// It is advertised as an attribute of an ad.
    Advertised,
}

fn expression_kind(subject: &LintSubject<'_>, name: &[u8]) -> Option<ExpressionKind> {
    let is_periodic =
        caseless::starts_with(name, b"SYSTEM_PERIODIC_") && !caseless::ends_with(name, b"_NAMES");
    let is_requirement = caseless::starts_with(name, b"SUBMIT_REQUIREMENT_")
        && !caseless::ends_with(name, b"_IS_WARNING")
        && !caseless::eq(name, b"SUBMIT_REQUIREMENT_NAMES");
    if is_periodic
        || is_requirement
        || EXPRESSION_PARAMETERS.iter().any(|known| caseless::eq(known.as_bytes(), name))
    {
        return Some(ExpressionKind::Policy);
    }
    if is_attribute_list(name) {
        return None;
    }
    let advertised = subject.known.advertised_attributes().iter().any(|attribute| {
        caseless::eq(attribute, name)
            || caseless::starts_with(name, b"SLOT")
                && caseless::ends_with(name, attribute)
                && name[..name.len() - attribute.len()].ends_with(b"_")
                && name[4..name.len() - attribute.len() - 1].iter().all(u8::is_ascii_digit)
    });
    advertised.then_some(ExpressionKind::Advertised)
}

fn check_expression<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    kind: ExpressionKind,
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
    if value.is_empty() {
        return;
    }
    match Expr::parse_with(&value, subject.dialect()) {
        Err(error) => findings.push(invalid_expression_finding(subject, entry, (&value, &error), kind)),
        Ok(expr) => {
            check_expression_traps(subject, entry, &value, findings);
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
        ExpressionKind::Policy => "is evaluated as a ClassAd expression and is none",
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

/// Adds a correction of a whole value that is in one line of a file as it is.
fn replace_value(finding: Finding, raw: &[u8], text: &str) -> Finding {
    let is_value = finding.spot.as_ref().is_some_and(|spot| {
        spot.text.get(spot.span.start as usize..spot.span.end as usize).is_some_and(|place| place == raw)
    });
    let is_plain = !raw.is_empty() && !raw.iter().any(|b| b"\\\n\r".contains(b));
    if is_value && is_plain { finding.replaced_by(text) } else { finding }
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

/// Returns where a piece of an expanded value was written: in the value itself, or in one that it refers to.
fn find_written_piece<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    piece: &[u8],
) -> Option<(&'a Definition, (usize, usize))> {
    if piece.is_empty() {
        return None;
    }
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let stands = |raw: &[u8]| {
        raw.find_iter(piece).find(|&at| {
            let before = at.checked_sub(1).and_then(|before| raw.get(before));
            !is_part(before) && !is_part(raw.get(at + piece.len()))
        })
    };
    let mut seen: FxHashSet<Vec<u8>> = FxHashSet::default();
    let mut waiting = vec![entry];
    while let Some(entry) = waiting.pop() {
        if let Some(at) = stands(&entry.current.raw).filter(|_| entry.current.is_user_written()) {
            return Some((&entry.current, (at, at + piece.len())));
        }
        let mut names = FxHashSet::default();
        collect_names(&entry.current.raw, &mut names);
        for name in names {
            if let Some(FoundMacro::Set(next)) =
                subject.config.set.find(&name, &subject.config.context, subject.world)
                && seen.insert(name)
            {
                waiting.push(next);
            }
        }
    }
    None
}

/// Reports a word of CGROUP_MEMORY_LIMIT_POLICY other than `hard`, `soft`, `custom` and `none`: it sets no
/// limit.
fn check_memory_policy(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    let is_it = caseless::eq(unqualified_name(&entry.name), b"CGROUP_MEMORY_LIMIT_POLICY");
    let Ok(Some(setting)) = subject.view.string(&entry.name.to_str_lossy()) else { return };
    let word = setting.value.trim().as_bstr();
    if !is_it || word.is_empty() || ["hard", "soft", "custom", "none"].iter().any(|known| word == known) {
        return;
    }
    let message = format!("{}: '{word}' means no limit of memory", entry.name);
    let fix = "the words are hard, soft, custom and none";
    let place = (0, entry.current.raw.len());
    findings.push(subject.make_finding(
        LintRule::BadValue,
        &entry.current,
        Some(place),
        message,
        Some(fix.to_owned()),
    ));
}

/// Checks numbers and booleans of the table.
fn check_type(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    kind: ParameterType,
    findings: &mut Vec<Finding>,
) {
    if has_invalid_reference(&entry.current.raw) {
        return;
    }
    let name = entry.name.to_str_lossy();
    let result = match kind {
        ParameterType::Int | ParameterType::Long => subject.view.int(&name).map(drop),
        ParameterType::Double => subject.view.real(&name).map(drop),
        ParameterType::Bool => subject.view.boolean(&name).map(drop),
        ParameterType::String | ParameterType::Path => subject.view.string(&name).map(drop),
    };
    let Err(error) = result else {
        check_memory_policy(subject, entry, findings);
        return;
    };
    if error.origin.as_ref().is_none_or(|origin| !caseless::eq(&origin.name, &entry.name)) {
        return;
    }
    let raw = &entry.current.raw;
    let value = &error.value;
    let instead = if error.fallback.is_empty() { "its default" } else { &error.fallback.to_str_lossy() };
    let (message, fix) = match &error.problem {
        // Reported for all values together.
        ValueProblem::Expansion(_) => return,
        ValueProblem::NotBoolean => {
            // The readers of such parameters evaluate expressions over attributes in ads.
            if Expr::parse_with(value, subject.dialect()).is_ok_and(|expr| expr.as_attribute().is_none()) {
                return;
            }
            let lower = value.to_ascii_lowercase();
            let fix = match &lower[..] {
                b"yes" | b"t" | b"on" => Some("write true".to_owned()),
                b"no" | b"f" | b"off" => Some("write false".to_owned()),
                _ => None,
            };
            (format!("{name} needs true or false, not '{value}': daemons take {instead}"), fix)
        }
        ValueProblem::NotExpression(_) | ValueProblem::NotNumber(_) => {
            // An expression over attributes may be meant for an ad.
            if Expr::parse_with(value, subject.dialect())
                .is_ok_and(|expr| expr.as_literal().is_none() && expr.as_attribute().is_none())
            {
                return;
            }
            (format!("{name} needs a number, not '{value}': tools take {instead}, daemons stop"), None)
        }
        ValueProblem::TooLow(_) | ValueProblem::TooHigh(_) | ValueProblem::OutOfBounds => {
            let (min, max) = &error.range;
            (
                format!(
                    "{name} must be from {min} to {max}, not {value}: tools take {instead}, daemons stop"
                ),
                None,
            )
        }
    };
    let correct = fix.as_deref().and_then(|fix| fix.strip_prefix("write ")).map(str::to_owned);
    let finding =
        subject.make_finding(LintRule::BadValue, &entry.current, Some((0, raw.len())), message, fix);
    findings.push(match correct {
        Some(text) if raw == value => replace_value(finding, raw, &text),
        _ => finding,
    });
}
