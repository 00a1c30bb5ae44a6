//! What is wrong with what a hook prints.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use super::call::Ended;
use super::case::{Case, Protocol};
use super::finding::{Finding, Rule};
use super::verdict::Verdict;
use crate::classad::{Dialect, Expr, LineError, is_private};
use crate::hook::reply::{self, BadLine};
use crate::hook::{Caller, HookType};
use crate::text::{Span, caseless};

/// Whether the answer is read line by line to its end, rather than up to the first bad line.
fn reads_all(hook: HookType) -> bool {
    matches!(
        hook,
        HookType::FetchWork | HookType::TranslateJob | HookType::RouterUpdateJobInfo | HookType::JobFinalize
    )
}

/// Whether anything of the answer counts at all.
fn counts(case: &Case) -> bool {
    let thrown_away = matches!(case.hook, HookType::JobExit | HookType::JobCleanup);
    let old = case.protocol == Protocol::Old && case.hook == HookType::PrepareJob;
    case.hook.is_output_read() && !thrown_away && !old
}

pub(super) fn output(case: &Case, ended: &Ended, verdict: &Verdict, found: &mut Vec<Finding>) {
    let text = reply::visible(&ended.stdout);
    if text.len() < ended.stdout.len() {
        let lost = ended.stdout.len() - text.len();
        found.push(
            Finding::new(
                Rule::NulByte,
                format!("a NUL byte ends the output; {lost} bytes behind it are lost"),
                "print text only",
            )
            .at(Span::new(text.len(), text.len())),
        );
    }
    if ended.cut {
        found.push(Finding::new(
            Rule::OutputCut,
            format!("the output reaches PIPE_BUFFER_MAX, {} bytes: the rest is lost", case.output_limit),
            "print only what changes, or raise PIPE_BUFFER_MAX where the hook is called",
        ));
    }
    if !counts(case) {
        if let Some((_, span)) = reply::lines(text).next() {
            let who = case.hook.caller().name();
            found.push(
                Finding::new(
                    Rule::IgnoredOutput,
                    format!("the {who} throws away what {} prints", case.hook.name()),
                    "nothing printed here has an effect; write to a file or to standard error",
                )
                .at(span),
            );
        }
        return;
    }
    if let Some(bad) = &verdict.bad {
        found.push(bad_line(case, bad, verdict));
    }
    lines(case, text, verdict, found);
    if let Some(at) = text.find(b"\r\n") {
        found.push(
            Finding::new(
                Rule::CarriageReturns,
                "lines end with a carriage return",
                "harmless here; other programs that read the ad may keep it",
            )
            .at(Span::new(at, at + 1)),
        );
    }
    older_forms(text, verdict, found);
    if case.hook == HookType::FetchWork
        && let Some(job) = verdict.result.first()
    {
        for (name, why) in [
            ("Cmd", "there is nothing to run"),
            ("JobUniverse", "the starter takes 5 (vanilla) for granted"),
            ("Owner", "the job's account cannot be found where the startd runs as root"),
        ] {
            let user = name == "Owner" && (job.contains("User") || job.contains("OsUser"));
            if !job.contains(name) && !user {
                found.push(Finding::new(
                    Rule::IncompleteJob,
                    format!("the fetched job has no {name}: {why}"),
                    format!("print {name} as well"),
                ));
            }
        }
    }
}

/// The old form of arguments and environment is not looked at where the new one stands (`ArgList::AppendArgsFromClassAd`,
/// `Env::MergeFrom`).
fn older_forms(text: &[u8], verdict: &Verdict, found: &mut Vec<Finding>) {
    let Some(job) = verdict.result.last() else { return };
    for (old, new, what) in [("Args", "Arguments", "arguments"), ("Env", "Environment", "environment")] {
        let name_of =
            |line: &[u8]| line.split(|&byte| byte == b'=').next().unwrap_or_default().trim().to_owned();
        let printed = |wanted: &str| {
            reply::lines(text)
                .find(|(_, at)| {
                    caseless::eq(&name_of(&text[at.start as usize..at.end as usize]), wanted.as_bytes())
                })
                .map(|(_, at)| at)
        };
        if let Some(place) = printed(old)
            && job.string(new).is_some()
        {
            found.push(
                Finding::new(
                    Rule::IgnoredOutput,
                    format!("{old} has no effect: the job has {new}, which is its {what}"),
                    format!("print {new} in its place; it is written another way than {old}"),
                )
                .at(place),
            );
        }
    }
}

fn bad_line(case: &Case, bad: &BadLine, verdict: &Verdict) -> Finding {
    let consequence = if reads_all(case.hook) {
        "it spoils the whole answer"
    } else if verdict.good {
        "it and all lines behind it are ignored, and the hook succeeds all the same"
    } else {
        "it and all lines behind it are ignored"
    };
    let open_string = matches!(&bad.error, Some(LineError::Value(_)))
        && bad.line.split_once_str("=").is_some_and(|(_, value)| is_open_string(value));
    let what = match &bad.error {
        _ if open_string => "a string goes on in the next line".to_owned(),
        None => "a name cannot stand in quotes".to_owned(),
        Some(LineError::Value(error)) => error.to_string(),
        Some(other) => other.to_string(),
    };
    let (rule, advice) = if open_string {
        (Rule::NewlineInString, "keep a message on one line; write a newline as a blank or as '; '")
    } else if bad.line.starts_with(b"#") {
        (Rule::BadLine, "comments are not understood here; print nothing but 'Name = value' lines")
    } else if bad.line.iter().all(|&byte| byte == b'-') {
        (Rule::BadLine, "separators are not understood here; print one ad and nothing else")
    } else {
        (Rule::BadLine, "print nothing but 'Name = value' lines; send everything else to standard error")
    };
    Finding::new(rule, format!("{what}: {consequence}"), advice).at(bad.wrong())
}

/// Whether a value begins with a quote that the line does not close.
fn is_open_string(value: &[u8]) -> bool {
    let value = value.trim();
    let Some(rest) = value.strip_prefix(b"\"") else { return false };
    let mut escaped = false;
    for &byte in rest {
        match byte {
            b'\\' if !escaped => escaped = true,
            b'"' if !escaped => return false,
            _ => escaped = false,
        }
    }
    true
}

/// Goes through the lines that count.
fn lines(case: &Case, text: &[u8], verdict: &Verdict, found: &mut Vec<Finding>) {
    let end = verdict.bad.as_ref().map_or(text.len(), |bad| bad.span.start as usize);
    let mut seen: BTreeMap<Vec<u8>, BString> = BTreeMap::new();
    for (_, span) in reply::lines(text) {
        if span.start as usize >= end {
            break;
        }
        let line = span.slice(text);
        let Some((name, value)) = line.split_once_str("=") else { continue };
        let indent = value.iter().take_while(|byte| **byte == b' ').count();
        let start = span.start as usize + name.len() + 1 + indent;
        let (name, value) = (name.trim_end_with(|c| c == ' '), &value[indent..]);
        let name_span = Span::new(span.start as usize, span.start as usize + name.len());
        if let Ok((_, used)) = Expr::parse_prefix(value, Dialect::old_syntax()) {
            let rest = value[used..].trim();
            if !rest.is_empty() {
                let from = start + used + value[used..].len() - value[used..].trim_start().len();
                found.push(
                    Finding::new(
                        Rule::TextAfterValue,
                        format!("the value of {} ends before this text, which is ignored", name.as_bstr()),
                        "print one expression a line; quote strings",
                    )
                    .at(Span::new(from, span.end as usize)),
                );
            }
        }
        if !is_name(name) {
            let consequence = match case.hook.caller() {
                Caller::Router => "the queue refuses it, and the whole answer with it",
                _ => "no expression can refer to it",
            };
            found.push(
                Finding::new(
                    Rule::BadName,
                    format!("'{}' is no attribute name: {consequence}", name.as_bstr()),
                    "names are letters, digits and underscores",
                )
                .at(name_span),
            );
        }
        let key = name.to_ascii_lowercase();
        if seen.get(&key).is_some_and(|before| *before != value) {
            found.push(
                Finding::new(
                    Rule::PrintedTwice,
                    format!("{} is printed again with another value: the last one counts", name.as_bstr()),
                    "print each attribute once",
                )
                .at(name_span),
            );
        }
        seen.insert(key, BString::from(value));
        attribute(case, verdict, name.as_bstr(), value, name_span, found);
    }
}

fn is_name(name: &[u8]) -> bool {
    name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Attributes that a starter has read before a prepare hook runs (`JobInfoCommunicator::initJobInfo`, `JICLocal::initJobInfo`).
const READ_BEFORE: [&str; 11] = [
    "Iwd",
    "In",
    "Out",
    "Err",
    "StarterUserLog",
    "Owner",
    "User",
    "OsUser",
    "ClusterId",
    "ProcId",
    "HookKeyword",
];

/// What the transfer of input has read before PREPARE_JOB runs (`FileTransfer::Init`); PREPARE_JOB_BEFORE_TRANSFER can set it.
const READ_BY_TRANSFER: [&str; 4] =
    ["TransferInput", "TransferExecutable", "PublicInputFiles", "TransferInputRemaps"];

fn attribute(
    case: &Case,
    verdict: &Verdict,
    name: &BStr,
    value: &[u8],
    place: Span,
    found: &mut Vec<Finding>,
) {
    let is = |other: &str| caseless::eq(name, other.as_bytes());
    let prepares = matches!(case.hook, HookType::PrepareJob | HookType::PrepareJobBeforeTransfer);
    let transferred = case.hook == HookType::PrepareJob && READ_BY_TRANSFER.iter().any(|early| is(early));
    if prepares && (transferred || READ_BEFORE.iter().any(|early| is(early))) {
        let same = Expr::parse_prefix(value, Dialect::old_syntax())
            .is_ok_and(|(value, _)| case.job.get(name).as_ref() == Some(&value));
        if !same {
            let (message, advice) = match transferred {
                true => (
                    format!("{name} was read before the hook ran: input is transferred earlier"),
                    "set it in PREPARE_JOB_BEFORE_TRANSFER, or where the job is made",
                ),
                false => (
                    format!("{name} was read before the hook ran: the ad changes, the run does not"),
                    "set it where the job is made (fetch hook, submit file)",
                ),
            };
            found.push(Finding::new(Rule::TooLate, message, advice).at(place));
        }
    }
    // Requirements and the like are expressions on purpose: a program that parses the ad and prints it back loses them.
    let before = case.subject().get(name).filter(|_| case.hook != HookType::FetchWork);
    let after = Expr::parse_prefix(value, Dialect::old_syntax()).ok().map(|(value, _)| value);
    if before.is_some_and(|before| before.as_literal().is_none())
        && after.is_some_and(|after| after.as_literal().is_some())
    {
        found.push(
            Finding::new(
                Rule::FrozenExpression,
                format!("{name} was an expression, and is a mere value from now on"),
                "print only what the hook is to change",
            )
            .at(place),
        );
    }
    if verdict.ignored.iter().any(|ignored| caseless::eq(ignored, name)) && !prepares {
        found.push(
            Finding::new(
                Rule::IgnoredOutput,
                format!(
                    "{name} is set by the {} itself: what is printed has no effect",
                    case.hook.caller().name()
                ),
                "leave it out",
            )
            .at(place),
        );
    }
    if verdict.refused.as_ref().is_some_and(|refused| caseless::eq(refused, name)) && is_name(name) {
        found.push(
            Finding::new(
                Rule::RefusedAttribute,
                format!("the queue does not write {name}, and with it nothing of the answer"),
                "print only what the hook is to change",
            )
            .at(place),
        );
    }
    let reads_status = prepares || case.hook == HookType::ShadowPrepareJob;
    if is_private(name) && reads_status {
        found.push(
            Finding::new(
                Rule::IgnoredOutput,
                format!("{name} is private: neither the job nor any other hook gets to see it"),
                "hand it on under another name",
            )
            .at(place),
        );
    }
    if is("HookStatusCode") {
        let code =
            Expr::parse_prefix(value, Dialect::old_syntax()).ok().and_then(|(value, _)| value.as_literal());
        let message = match code {
            _ if !reads_status => Some(format!("nobody reads HookStatusCode from {}", case.hook.name())),
            Some(crate::classad::Value::Int(code)) if code < 0 && prepares => {
                Some("a negative HookStatusCode does not count: the exit status does".to_owned())
            }
            Some(crate::classad::Value::Str(_)) => {
                Some("a HookStatusCode in quotes does not count: the exit status does".to_owned())
            }
            _ => None,
        };
        if let Some(message) = message {
            let advice = "0 is success, 1 to 299 hold the job, 300 and more send it back to idle";
            found.push(Finding::new(Rule::StatusCode, message, advice).at(place));
        }
    }
}
