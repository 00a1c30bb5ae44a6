//! Reports of transforms: problems with carets on standard error, and the lines of the reference's `-verbose`.

use std::fmt::Write as _;

use bstr::ByteSlice;
use serde_json::json;

use crate::classad::ClassAd;
use crate::classad::format::json;
use crate::cli::common::{Problem as CliProblem, ProgramContext, Status};
use crate::config::condition::{ConditionError, IfError};
use crate::job::Universe;
use crate::text::Span;
use crate::text::caret::{Caret, LineCaret};
use crate::transform::{
    CommandKeyword, CommandSyntaxError, FailureReason, IncludeError, Observer, ProblemKind, RuleLine,
    Transform, TransformEvent, TransformFailure, TransformLoadError, TransformProblem, TransformRequirements,
};

/// Returns the error for a failed transform, with the location of the failure.
pub(super) fn problem_from_failure(failure: &TransformFailure, status: Status) -> anyhow::Error {
    let problem = CliProblem::new(status, failure.to_string());
    let span = failure.line.locate(failure.at);
    let source = &failure.line.source;
    let problem = problem.at(&Caret { source: &source.name, text: &source.text, span });
    let hint = match &failure.reason {
        FailureReason::Command(CommandSyntaxError::UnknownKeyword(word)) => {
            Some(crate::transform::command_hint(word))
        }
        FailureReason::Condition(IfError::Condition { keyword, reason, .. })
            if *keyword == "if" || *reason == ConditionError::Complex => Some(
            "HTCondor 25.14 accepts an expression as a condition only if its value is true; use EVALMACRO v (...) =?= true and 'if $(v)'".into(),
        ),
        FailureReason::Include(IncludeError::Refused { .. }) => Some("rules run commands only with --exec".into()),
        _ => None,
    };
    problem.maybe_hint(hint).into()
}

/// Returns the error for a text that is not a valid transform.
pub(super) fn load_problem(error: &TransformLoadError, status: Status) -> anyhow::Error {
    let TransformLoadError::Requirements { reason, line, span, .. } = error;
    let problem = CliProblem::new(status, format!("REQUIREMENTS: {reason}"));
    let source = &line.source;
    let problem = problem.at(&Caret { source: &source.name, text: &source.text, span: *span });
    problem.maybe_hint(error.advice()).into()
}

/// Returns the error for a statement that has a problem. Its location is in the file if no macro expansion precedes the
/// error, otherwise in the expanded text.
pub(super) fn statement_problem(
    line: &RuleLine,
    problem: &TransformProblem,
    status: Status,
) -> anyhow::Error {
    let error = CliProblem::new(status, problem.kind.to_string());
    let source = &line.source;
    if let Some(place) = problem.in_line {
        let span = line.locate(place);
        return error.at(&Caret { source: &source.name, text: &source.text, span }).into();
    }
    let points = !matches!(problem.kind, ProblemKind::Function(_));
    let (text, span) =
        if points { (&problem.text, problem.at) } else { (&line.text, Span::new(0, line.text.len())) };
    let first = text.lines().next().unwrap_or_default();
    let error =
        error.at_line(&LineCaret { source: &source.name, line: line.number, text: first, span, cut: 0 });
    if points { error.hint("the line above is shown after macro expansion").into() } else { error.into() }
}

/// Observer that only reports problems on standard error.
pub(super) struct StderrObserver<'a> {
    program: &'a ProgramContext,
}

impl<'a> StderrObserver<'a> {
    /// Creates an observer that prints in the name of this program.
    pub(super) fn new(program: &'a ProgramContext) -> Self {
        StderrObserver { program }
    }
}

impl Observer for StderrObserver<'_> {
    fn wants_steps(&self) -> bool {
        false
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        match event {
            TransformEvent::Problem(found) => {
                self.program.report(&statement_problem(line, &found, Status::Failed))
            }
            TransformEvent::Warning(text) => self.program.warn(&text.to_str_lossy()),
            _ => {}
        }
    }
}

/// Observer that records the lines of `condor_transform_ads -verbose`, which are printed to standard output before the ad.
pub(super) struct VerboseObserver<'a> {
    stderr: StderrObserver<'a>,
    verbose: bool,
    lines: Vec<u8>,
}

impl<'a> VerboseObserver<'a> {
    /// Creates an observer; if `verbose` is false, it only reports problems.
    pub(super) fn new(program: &'a ProgramContext, verbose: bool) -> Self {
        VerboseObserver { stderr: StderrObserver::new(program), verbose, lines: Vec::new() }
    }

    /// Returns and removes the recorded lines.
    pub(super) fn take_lines(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.lines)
    }

    fn add_line(&mut self, parts: &[&[u8]]) {
        // The reference prints C strings, which end at the NUL byte that `SET X, 1` leaves in the name.
        let texts = parts.iter().filter_map(|part| part.split(|&b| b == 0).next());
        texts.for_each(|part| self.lines.extend_from_slice(part));
        self.lines.push(b'\n');
    }
}

impl Observer for VerboseObserver<'_> {
    fn wants_steps(&self) -> bool {
        self.verbose
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        match event {
            TransformEvent::Command { keyword, attribute, text } => {
                let name = keyword.name().as_bytes();
                match keyword {
                    CommandKeyword::Delete => self.add_line(&[name, b" ", attribute]),
                    CommandKeyword::Name | CommandKeyword::Requirements => self.add_line(&[name, b" ", text]),
                    CommandKeyword::Universe => {
                        let number = Universe::parse_number(attribute).to_string();
                        self.add_line(&[name, b" ", number.as_bytes()]);
                    }
                    _ => self.add_line(&[name, b" ", attribute, b" to ", text]),
                }
            }
            TransformEvent::Evaluated { keyword: CommandKeyword::EvalMacro, attribute, text } => {
                self.add_line(&[b"          ", attribute, b" = ", text]);
            }
            TransformEvent::Evaluated { attribute, text, .. } => {
                self.add_line(&[b"    SET ", attribute, b" to ", text]);
            }
            TransformEvent::Problem(TransformProblem { kind: ProblemKind::Undefined { .. }, .. }) => {}
            event @ (TransformEvent::Problem(_) | TransformEvent::Warning(_)) => {
                self.stderr.on_event(line, event)
            }
            _ => {}
        }
    }
}

/// Observer that records the steps of a transform as text, one line per step.
#[derive(Default)]
pub(super) struct ExplanationObserver {
    /// Recorded lines.
    pub text: String,
}

impl Observer for ExplanationObserver {
    fn wants_steps(&self) -> bool {
        true
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        let place = format!("{}:{}", line.source.name, line.number);
        let what = match event {
            TransformEvent::Command { keyword, attribute, text } => {
                let attribute = attribute.as_bstr();
                match keyword {
                    CommandKeyword::Delete => format!("{} {attribute}", keyword.name()),
                    _ => format!("{} {attribute} {}", keyword.name(), text.as_bstr()),
                }
            }
            TransformEvent::Evaluated { attribute, text, .. } => {
                format!("  {} evaluates to {}", attribute.as_bstr(), text.as_bstr())
            }
            TransformEvent::Changed { attribute, old, new } => {
                let attribute = attribute.as_bstr();
                match (old, new) {
                    (None, Some(new)) => format!("  added {attribute} = {}", new.unparse()),
                    (Some(old), Some(new)) if old.unparse() == new.unparse() => {
                        format!("  {attribute} stays {}", new.unparse())
                    }
                    (Some(old), Some(new)) => {
                        format!("  changed {attribute}: {} -> {}", old.unparse(), new.unparse())
                    }
                    (Some(old), None) => format!("  removed {attribute} = {}", old.unparse()),
                    (None, None) => return,
                }
            }
            TransformEvent::NoEffect(idle) => format!("  nothing done: {}", idle.text()),
            TransformEvent::Assigned { name, value } => {
                format!("macro {} = {}", name.as_bstr(), value.as_bstr())
            }
            TransformEvent::Condition { enabled } => {
                format!(
                    "{}  [{}]",
                    line.text,
                    if enabled {
                        "the next statements are executed"
                    } else {
                        "the next statements are skipped"
                    }
                )
            }
            TransformEvent::Skipped => format!("skipped: {}", line.text),
            TransformEvent::EmptyInclude(name) => format!("  {} is empty", name.as_bstr()),
            TransformEvent::Warning(text) => format!("warning: {}", text.as_bstr()),
            TransformEvent::Problem(problem) => format!("  problem: {}", problem.kind),
        };
        let _ = writeln!(self.text, "{place}: {}", what.replace('\n', "\\n"));
    }
}

/// Observer that records the steps of a transform as JSON.
#[derive(Default)]
pub(super) struct StepRecorder {
    /// JSON records, one per step.
    pub records: Vec<serde_json::Value>,
}

impl StepRecorder {
    /// Records that a transform was skipped because its REQUIREMENTS are not true.
    pub(super) fn record_skipped(
        &mut self,
        transform: &Transform,
        requirements: &TransformRequirements,
        reason: Option<&str>,
    ) {
        self.records.push(json!({
            "event": "not-applied",
            "transform": lossy_text(&transform.name),
            "file": requirements.line.source.name,
            "line": requirements.line.number,
            "requirements": lossy_text(&requirements.text),
            "reason": reason,
        }));
    }
}

impl Observer for StepRecorder {
    fn wants_steps(&self) -> bool {
        true
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        let value = |expr: Option<&crate::classad::Expr>| expr.map(|expr| expr.unparse().to_string());
        let mut record = match event {
            TransformEvent::Command { keyword, attribute, text: written } => {
                json!({ "event": "command", "command": keyword.name(), "attribute": lossy_text(attribute), "text": lossy_text(written) })
            }
            TransformEvent::Evaluated { keyword, attribute, text: result } => {
                json!({ "event": "evaluated", "command": keyword.name(), "attribute": lossy_text(attribute), "value": lossy_text(result) })
            }
            TransformEvent::Changed { attribute, old, new } => {
                json!({ "event": "changed", "attribute": lossy_text(attribute), "old": value(old), "new": value(new) })
            }
            TransformEvent::NoEffect(idle) => json!({ "event": "nothing", "reason": idle.text() }),
            TransformEvent::Assigned { name, value } => {
                json!({ "event": "macro", "name": lossy_text(name), "value": lossy_text(value) })
            }
            TransformEvent::Condition { enabled } => {
                json!({ "event": "condition", "text": lossy_text(&line.text), "enabled": enabled })
            }
            TransformEvent::Skipped => json!({ "event": "skipped", "text": lossy_text(&line.text) }),
            TransformEvent::EmptyInclude(name) => {
                json!({ "event": "empty include", "name": lossy_text(name) })
            }
            TransformEvent::Warning(said) => json!({ "event": "warning", "text": lossy_text(said) }),
            TransformEvent::Problem(problem) => {
                json!({ "event": "problem", "text": problem.kind.to_string() })
            }
        };
        if let Some(fields) = record.as_object_mut() {
            fields.insert("file".into(), json!(line.source.name));
            fields.insert("line".into(), json!(line.number));
        }
        self.records.push(record);
    }
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Changes of an ad, sorted by attribute name.
pub(super) struct AdDifference {
    changes: Vec<(String, Option<String>, Option<String>)>,
}

impl AdDifference {
    /// Returns the difference between the states of an ad `before` and `after` a change.
    pub(super) fn between(before: &ClassAd, after: &ClassAd) -> Self {
        let mut changes = Vec::new();
        for (name, old) in before.sorted() {
            let new = after.get(name).map(|new| new.unparse().to_string());
            let old = old.unparse().to_string();
            if new.as_deref() != Some(&old) {
                changes.push((name.to_string(), Some(old), new));
            }
        }
        for (name, new) in after.sorted() {
            if !before.contains(name) {
                changes.push((name.to_string(), None, Some(new.unparse().to_string())));
            }
        }
        changes.sort();
        AdDifference { changes }
    }

    /// Returns the changes as a list of objects with the name, old value and new value of each attribute.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let record = |(name, old, new): &(String, Option<String>, Option<String>)| json!({ "attribute": name, "old": old, "new": new });
        self.changes.iter().map(record).collect()
    }
}

impl std::fmt::Display for AdDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, old, new) in &self.changes {
            match (old, new) {
                (None, Some(new)) => writeln!(f, "  + {name} = {new}")?,
                (Some(old), None) => writeln!(f, "  - {name} = {old}")?,
                (Some(old), Some(new)) => writeln!(f, "  ~ {name} = {new}  (was {old})")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Formats an ad as one line of JSON.
pub(super) fn ad_to_json_line(ad: &ClassAd) -> Vec<u8> {
    let mut out = Vec::new();
    json::push(ad, json::JsonLayout::OneLine, &mut out);
    while out.last() == Some(&b'\n') {
        out.pop();
    }
    out
}

/// Returns the error for a finding of the linter, with its location.
pub(super) fn problem_from_finding(
    finding: &crate::lint::transforms::TransformFinding,
    status: Status,
) -> anyhow::Error {
    let span = finding.line.locate(finding.at);
    let source = &finding.line.source;
    let problem = CliProblem::new(status, finding.message.clone());
    problem.at(&Caret { source: &source.name, text: &source.text, span }).hint(finding.fix.clone()).into()
}
