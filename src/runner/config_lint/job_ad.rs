//! The ad of a fetched job, before a startd is asked to run it.

use bstr::{BStr, BString, ByteSlice};

use crate::classad::{ClassAd, LineError, Value};
use crate::config::SourceId;
use crate::config::lint::{Finding, Spot};
use crate::text::{Span, caseless, similar};

/// Attributes that must be strings where they are given.
const STRINGS: [&str; 15] = [
    "Cmd",
    "Iwd",
    "In",
    "Out",
    "Err",
    "Args",
    "Arguments",
    "Env",
    "Environment",
    "Owner",
    "User",
    "OsUser",
    "HookKeyword",
    "TransferInput",
    "UserLog",
];

/// Attributes that must be integers, or expressions that give one.
const INTEGERS: [&str; 8] = [
    "JobUniverse",
    "ClusterId",
    "ProcId",
    "JobLeaseDuration",
    "CoreSize",
    "JobStatus",
    "NumJobStarts",
    "JobPrio",
];

/// Others that starters and slots look at.
const OTHERS: [&str; 18] = [
    "RequestCpus",
    "RequestMemory",
    "RequestDisk",
    "RequestGPUs",
    "Requirements",
    "Rank",
    "TransferOutput",
    "TransferExecutable",
    "ShouldTransferFiles",
    "WhenToTransferOutput",
    "KillSig",
    "RemoveKillSig",
    "StreamOut",
    "StreamErr",
    "MaxJobRetirementTime",
    "JobMaxVacateTime",
    "NiceUser",
    "WantIOProxy",
];

/// With more findings than this a text is no ad.
const MOST: usize = 1000;

/// What is wrong with the ad in a text of `Name = value` lines. `name` is that of its file.
pub fn lint(name: &str, text: &[u8]) -> Vec<Finding> {
    let mut ad = ClassAd::new();
    let mut findings = Vec::new();
    let mut seen: Vec<(BString, u32)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if findings.len() > MOST {
            break;
        }
        let spot = |start: usize, end: usize| {
            let span = Span::new(start.min(line.len()), end.clamp(start, line.len().max(start)));
            Some(Spot { source: SourceId::OVERLAY, name: name.into(), line: number, text: line.into(), span })
        };
        let lead = line.iter().take_while(|b| b.is_ascii_whitespace()).count();
        if lead == line.len() || line[lead] == b'#' {
            continue;
        }
        let finding = |spot: Option<Spot>, attribute: &[u8], message: String, fix: Option<String>| Finding {
            rule: "job-ad",
            spot,
            name: attribute.into(),
            message,
            fix,
        };
        let attribute = match ad.insert_line(line) {
            Ok(attribute) => BString::from(attribute.as_bytes()),
            Err(error) => {
                let at = match &error {
                    LineError::Value(error) => (error.span.start as usize, error.span.end as usize),
                    _ => (lead, line.len()),
                };
                let message = format!("the reply ends here, what follows is not read: {error}");
                findings.push(finding(spot(at.0, at.1), b"", message, None));
                continue;
            }
        };
        let whole = (lead, lead + attribute.len());
        if let Some((_, before)) = seen.iter().find(|(known, _)| caseless::eq(known, &attribute)) {
            let message = format!("{attribute} was given in line {before} already; this value counts");
            findings.push(finding(spot(whole.0, whole.1), &attribute, message, None));
        }
        seen.push((attribute.clone(), number));
        let value_at = line.find_byte(b'=').map_or(lead, |eq| {
            eq + 1 + line[eq + 1..].iter().take_while(|b| b.is_ascii_whitespace()).count()
        });
        let expr = ad.get(&attribute);
        let is_in = |list: &[&str]| list.iter().any(|known| caseless::eq(known.as_bytes(), &attribute));
        let literal = expr.as_ref().and_then(|expr| expr.as_literal());
        if is_in(&STRINGS) {
            let is_name = expr.as_ref().is_some_and(|expr| expr.as_attribute().is_some());
            let is_other =
                literal.as_ref().is_some_and(|value| !matches!(value, Value::Str(_) | Value::Undefined));
            if is_name || is_other {
                let shown = BStr::new(&line[value_at..]);
                findings.push(finding(
                    spot(value_at, line.len()),
                    &attribute,
                    format!("{attribute} must be a string"),
                    Some(format!("a string needs quotes: \"{shown}\"")),
                ));
            }
        } else if is_in(&INTEGERS) {
            if literal.is_some_and(|value| !matches!(value, Value::Int(_) | Value::Undefined)) {
                let message = format!("{attribute} must be an integer");
                findings.push(finding(spot(value_at, line.len()), &attribute, message, None));
            }
        } else if !is_in(&OTHERS) {
            let known = STRINGS.iter().chain(&INTEGERS).chain(&OTHERS).copied();
            let known = known.filter(|known| known.len() >= 6);
            if let Some(near) = similar::nearest(&attribute[..], known) {
                findings.push(finding(
                    spot(whole.0, whole.1),
                    &attribute,
                    format!("no daemon looks at {attribute}"),
                    Some(format!("did you mean {near}?")),
                ));
            }
        }
    }
    let mut missing = |attribute: &str, why: &str| {
        findings.push(Finding {
            rule: "job-ad",
            spot: None,
            name: attribute.into(),
            message: format!("{name}: {attribute} is missing: {why}"),
            fix: None,
        });
    };
    if !ad.contains("Cmd") {
        missing("Cmd", "the starter refuses the job");
    }
    if !ad.contains("JobUniverse") {
        missing("JobUniverse", "the manual requires it; 5 is the vanilla universe");
    }
    if !["OsUser", "User", "Owner"].iter().any(|attribute| ad.contains(attribute)) {
        missing("Owner", "a starter that runs as root does not know whose account to take");
    }
    if !ad.contains("Iwd") {
        missing("Iwd", "relative names of files are taken from the scratch directory");
    }
    findings
}
