//! Human-readable report of one hook call.

use std::io::Write;

use bstr::BString;

use super::report::{self, CheckedCall};
use crate::cli::common::{OutputOptions, Painter, ProgramContext, Status, stdout};
use crate::hook_testing::{AttributeChange, CallEnding, CallSetup, Verdict, describe_process};
use crate::process::{ChildSpec, SessionMode as ProcessSession, Stdio};
use crate::quirks::Quirk;
use crate::text::control_characters::mask_terminal_controls;
use crate::text::plural::counted;

/// Maximum number of ignored attributes that are named in the report.
const MAX_IGNORED_NAMES: usize = 10;

/// Maximum number of changed attributes that are shown. If there are more, only their number is printed.
const MAX_SHOWN_CHANGES: usize = 20;

/// Formats the verdict, the changes and the findings.
pub(super) fn render_verdict(report: &CheckedCall<'_>, painter: Painter) -> String {
    let (setup, call_report) = (report.setup, report.call_report);
    let verdict = &call_report.verdict;
    let mut text = String::new();
    let end = match &call_report.outcome.ending {
        CallEnding::Ran(ended) => {
            let how = ended.exit.map_or("killed".to_owned(), |exit| exit.to_string());
            format!("{how}, {}", duration_text(call_report.outcome.took))
        }
        CallEnding::NotStarted { .. } => "not executed".to_owned(),
        CallEnding::Refused { .. } => "not called".to_owned(),
    };
    let word = match verdict.good {
        true => painter.good(verdict.decision).to_string(),
        false => painter.bad(verdict.decision).to_string(),
    };
    text += &format!("{} {}: {word} ({end})\n", setup.case.hook.name(), setup.path);
    text += &format!("  {}\n", verdict.action);
    if !verdict.reason.is_empty() {
        let reason = verdict.reason.strip_suffix(": <no message>").unwrap_or(&verdict.reason);
        let reason = mask_terminal_controls(reason).replace('\n', "\n           ");
        text += &format!("  because: {reason}\n");
    }
    if let Some((code, subcode)) = verdict.hold {
        text += &format!("  hold code {code}, subcode {subcode}\n");
    }
    if !verdict.next_step.is_empty() {
        text += &format!("  then: {}\n", verdict.next_step);
    }
    text += &render_changes(verdict, painter);
    if !verdict.ignored_attributes.is_empty() {
        let names: Vec<_> = verdict.ignored_attributes.iter().map(ToString::to_string).collect();
        let more = match names.len().saturating_sub(MAX_IGNORED_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more (--json lists all)"),
        };
        let listed = names.iter().take(MAX_IGNORED_NAMES).cloned().collect::<Vec<_>>().join(", ");
        text += &format!("  ignored: {listed}{more}\n");
    }
    if report.has_other_quirks_verdict() {
        let other = &call_report.other_quirks_verdict;
        let behaviour = match setup.quirks {
            crate::quirks::QuirkMode::Manual => "HTCondor 25.14 itself",
            crate::quirks::QuirkMode::Reference => "as in the manual",
        };
        text += &format!("  {}: {}, {}\n", painter.warn(behaviour), other.decision, other.action);
    }
    for quirk in &verdict.quirks {
        // This quirk affects the hook itself, even if it does not affect the verdict.
        let affects_hook = *quirk == Quirk::HooksSpawnedAsDaemons;
        if report.has_other_quirks_verdict() || !verdict.good || affects_hook {
            text += &format!("  25.14 ({}): {}\n", quirk.id(), quirk.line());
        }
    }
    let stdout: &[u8] = match &call_report.outcome.ending {
        CallEnding::Ran(ended) => &ended.stdout,
        _ => b"",
    };
    for finding in &call_report.findings {
        let severity = if finding.rule.is_note() {
            painter.dim("note").to_string()
        } else {
            painter.warn("warning").to_string()
        };
        text += &report::render_finding(finding, stdout, &severity);
    }
    text
}

fn duration_text(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

fn render_changes(verdict: &Verdict, painter: Painter) -> String {
    let mut text = String::new();
    for AttributeChange { name, before, after } in verdict.changes.iter().take(MAX_SHOWN_CHANGES) {
        text += &match (before, after) {
            (None, Some(after)) => format!("  {} {name} = {after}\n", painter.good("+")),
            (Some(before), Some(after)) => {
                format!("  {} {name} = {after}  (was {before})\n", painter.warn("~"))
            }
            (Some(before), None) => format!("  {} {name}  (was {before})\n", painter.bad("-")),
            (None, None) => String::new(),
        };
    }
    let more = verdict.changes.len().saturating_sub(MAX_SHOWN_CHANGES);
    if more > 0 {
        text += &format!("  and {more} more\n");
    }
    text
}

/// Prints a description of the call to standard error, and the input of the hook to standard output. With `--json` or
/// `--jsonl`, prints both to standard output.
pub(super) fn show_input(
    setup: &CallSetup,
    output: &OutputOptions,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let place = setup.create_directories().map_err(super::call::call_problem)?;
    let environment = setup.hook_environment(&place);
    let spec = setup.child_spec(&place, environment).map_err(super::call::call_problem)?;
    let stdin = place.case().input(setup.quirks);
    // The temporary files are removed before the output is written: signals are not caught here, and writing may take long.
    drop(place);
    let status = if setup.refusal.is_some() { Status::No } else { Status::Done };
    let words = |all: &[BString]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut row = describe_process(&spec);
    row.extend([
        ("hook".to_owned(), setup.case.hook.name().into()),
        ("refused".to_owned(), setup.refusal.clone().into()),
        ("argv".to_owned(), words(&spec.argv).into()),
        ("env".to_owned(), words(&spec.env).into()),
        ("stdin".to_owned(), String::from_utf8_lossy(&stdin).into()),
    ]);
    if let Some(text) = output.render_json(&[row])? {
        stdout().write_all(text.as_bytes())?;
        return Ok(status);
    }
    let mut text = String::new();
    if let Some(reason) = &setup.refusal {
        text += &format!("refused: {reason}\n");
    }
    let account = match (&setup.identity, &setup.account) {
        (Some(identity), Some(account)) => format!("{} ({}:{})", account.name, identity.uid, identity.gid),
        (None, Some(account)) => format!("{} (that of this program)", account.name),
        _ => "that of this program".to_owned(),
    };
    text += &format!("account: {account}\n");
    text += &render_call(&spec);
    session.write_stderr(&text);
    stdout().write_all(&stdin)?;
    Ok(status)
}

/// Returns a description of a program call: arguments, directory, umask, session, signals, descriptors and environment.
pub(super) fn render_call(spec: &ChildSpec) -> String {
    let mut text = String::new();
    for (at, word) in spec.argv.iter().enumerate() {
        text += &format!("argv[{at}]: {word}\n");
    }
    if let Some(directory) = &spec.cwd {
        text += &format!("directory: {}\n", directory.display());
    }
    text += &format!("umask: {:03o}\n", spec.umask);
    let group = match spec.session {
        ProcessSession::NewSession => "its own",
        ProcessSession::ForegroundGroup | ProcessSession::NewGroup => "its own group in the caller's session",
        ProcessSession::Inherit | ProcessSession::JoinGroup(_) => "the caller's",
    };
    text += &format!("session and group: {group}\n");
    let mask = match spec.blocked_signals.len() {
        0 => "none blocked".to_owned(),
        count => format!("{count} blocked"),
    };
    let pipe = if spec.ignore_sigpipe { ", SIGPIPE ignored" } else { "" };
    text += &format!("signals: {mask}{pipe}\n");
    let descriptor = |stdio: &Stdio| match stdio {
        Stdio::Closed => "closed".to_owned(),
        Stdio::Null => "/dev/null".to_owned(),
        Stdio::Bytes(bytes) => format!("pipe with {}", counted(bytes.len(), "byte")),
        Stdio::Capture { limit } => format!("pipe, at most {limit} bytes are read"),
        _ => "pipe".to_owned(),
    };
    for (number, stdio) in spec.stdio.iter().enumerate() {
        text += &format!("descriptor {number}: {}\n", descriptor(stdio));
    }
    for entry in &spec.env {
        text += &format!("env: {entry}\n");
    }
    text
}
