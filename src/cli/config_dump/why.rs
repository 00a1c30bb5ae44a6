//! `--why NAME`: the story of one value as text and as JSON.

use std::fmt::Write;

use bstr::{BStr, ByteSlice};
use serde::Serialize;

use crate::config::finding::Finding;
use crate::config::redact;
use crate::lint::config::usage::Use;
use crate::lint::story::{self, Comes, Defined, Stepped, Story};

/// A value as it is shown: masked where that is wanted.
struct Shown<'a> {
    name: &'a BStr,
    redacting: bool,
}

impl Shown<'_> {
    fn text(&self, value: &[u8]) -> String {
        match self.redacting {
            true => redact::masked(self.name, value).to_str_lossy().into_owned(),
            false => value.to_str_lossy().into_owned(),
        }
    }

    fn lines(&self, value: &[u8]) -> String {
        self.text(value).replace('\n', "\n      | ")
    }
}

/// What lint finds wrong with a value, beside who reads it, which the story says.
pub(super) fn is_of_value(finding: &Finding) -> bool {
    !matches!(finding.rule, "unknown-parameter" | "removed-parameter" | "unused-macro")
}

/// Tells the story, and what lint finds wrong with the value.
pub(super) fn tell(story: &Story, findings: &[Finding], redacting: bool, out: &mut String) {
    let shown = Shown { name: story.name.as_ref(), redacting };
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(story.name.to_string());
    for look_up in &story.looked_up {
        let kind = if look_up.kind.is_empty() { String::new() } else { format!(" ({})", look_up.kind) };
        line(format!("  {}{kind} {}", look_up.name, look_up.verdict));
    }
    readers(story, &mut line);
    origin(story, &shown, &mut line);
    for told in &story.in_vain {
        line(format!("  {} sets it in vain: it is always detected", told.place));
        line(format!("      = {}", shown.lines(&told.raw)));
    }
    for left_out in &story.left_out {
        let (condition, number) = &left_out.condition;
        line(format!("  {} is left out: '{condition}' of line {number} does not hold", left_out.place));
        line(format!("      = {}", shown.lines(&left_out.raw)));
    }
    if let Some(meaning) = story.meaning {
        line(format!("  meaning: {meaning}"));
    }
    if let Some(entered) = &story.entered {
        let default = match entered.default.is_empty() {
            true => "none".to_owned(),
            false => shown.lines(&entered.default),
        };
        let range = entered.range.as_ref().map(|(min, max)| format!(", {min} to {max}")).unwrap_or_default();
        line(format!("  default: {default}   (type {}{range})", entered.kind.to_lowercase()));
    }
    for hint in &story.hints {
        line(format!("  {hint}"));
    }
    expansion(story, &shown, &mut line);
    for finding in findings {
        line(format!("  wrong: {} [{}]", finding.message, finding.rule));
        if let Some(fix) = &finding.fix {
            line(format!("    fix: {fix}"));
        }
    }
}

/// Who reads it, where that is not plain.
fn readers(story: &Story, line: &mut dyn FnMut(String)) {
    let is_set = !story.definitions.is_empty();
    match &story.usage {
        Use::Read => {}
        Use::ReferredTo => line("  HTCondor has no such parameter; other values refer to it".to_owned()),
        Use::Mentioned(file) => {
            line(format!("  HTCondor has no such parameter; {file} mentions it"));
        }
        Use::Unread(unread) => {
            line(format!("  nothing reads it: {}", unread.why));
            line(format!("  {}", unread.fix));
        }
        Use::Removed(instead) => {
            line("  HTCondor reads it no more, earlier versions did".to_owned());
            line(format!("  {instead}"));
        }
        // Of a name that nothing sets more is said below.
        Use::Misspelled(_) | Use::Own if !is_set => {}
        Use::Misspelled(near) => {
            line("  HTCondor has no such parameter, and nothing refers to it".to_owned());
            line(format!("  did you mean {near}?"));
        }
        Use::Own => {
            line(
                "  HTCondor has no such parameter, and no value, script or template that was found refers to it"
                    .to_owned(),
            );
        }
    }
}

fn origin(story: &Story, shown: &Shown<'_>, line: &mut dyn FnMut(String)) {
    match &story.comes {
        Comes::Set => {
            let count = story.definitions.len();
            line(format!("  set {count} time{}:", if count == 1 { "" } else { "s" }));
            for (n, told) in story.definitions.iter().enumerate() {
                let counts = match (n + 1 == count, story.usage.is_used()) {
                    (true, true) => "   <- this one counts",
                    (true, false) if count > 1 => "   <- the last one",
                    (true, false) | (false, _) => "",
                };
                line(format!("    {}{counts}", told.place));
                line(format!("      = {}", shown.lines(&told.raw)));
                for (file, number) in &told.included_from {
                    line(format!("      included from {file}, line {number}"));
                }
            }
            if story.raw.as_ref().is_some_and(|raw| raw.is_empty()) {
                line(
                    "  it is set to nothing: readers see it as undefined, and its default is hidden"
                        .to_owned(),
                );
            }
        }
        Comes::Detected(value) => line(format!("  detected: {}", shown.lines(value))),
        Comes::Default(subsystem) => {
            line("  set by no source; the default counts".to_owned());
            if let Some(subsystem) = subsystem {
                line(format!(
                    "  the default is that of subsystem {subsystem}, which goes before plain settings"
                ));
            }
        }
        Comes::Nowhere => {
            let is_known = story.meaning.is_some() || story.usage == Use::Read;
            let more = if is_known { "it has no default" } else { "HTCondor has no such parameter" };
            line(format!("  set by no source, and {more}"));
        }
    }
}

fn expansion(story: &Story, shown: &Shown<'_>, line: &mut dyn FnMut(String)) {
    if let Some(raw) = story.raw.as_ref().filter(|_| !story.steps.is_empty()) {
        line(format!("  expansion of {}", shown.lines(raw)));
    }
    for step in &story.steps {
        let indent = "  ".repeat(step.depth.min(20));
        let origin = match step.origin.is_empty() {
            true => String::new(),
            false => format!("   ({})", step.origin),
        };
        line(format!("  {indent}{} -> {}{origin}", step.reference, shown.lines(&step.value)));
    }
    for message in &story.messages {
        line(format!("  function failed: {message}"));
    }
    match &story.value {
        None => {}
        Some(Ok(value)) if value.is_empty() => {
            line("  value: none; what it expands to is empty, which reads as undefined".to_owned());
        }
        Some(Ok(value)) => line(format!("  value: {}", shown.lines(value))),
        Some(Err(error)) => line(format!("  value: none; {error}")),
    }
}

/// A story for programs.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    name: String,
    /// `set`, `detected`, `default` or `nowhere`.
    from: &'static str,
    /// `daemons`, `other values`, `scripts` or `nobody`.
    read_by: &'static str,
    /// Why nobody reads it, or what was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    looked_up: Vec<LookUp>,
    definitions: Vec<Definition>,
    in_vain: Vec<Definition>,
    left_out: Vec<LeftOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[String; 2]>,
    steps: Vec<Step>,
    messages: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    hints: Vec<String>,
    findings: Vec<Found>,
}

/// What lint finds.
#[derive(Debug, Serialize)]
struct Found {
    rule: &'static str,
    message: String,
    fix: Option<String>,
}

#[derive(Debug, Serialize)]
struct LookUp {
    name: String,
    verdict: &'static str,
}

#[derive(Debug, Serialize)]
struct Definition {
    place: String,
    raw: String,
    included_from: Vec<(String, u32)>,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    place: String,
    raw: String,
    condition: String,
    condition_line: u32,
}

#[derive(Debug, Serialize)]
struct Step {
    depth: usize,
    reference: String,
    value: String,
    origin: String,
}

/// Who reads a value, and why nobody does, or what was probably meant.
fn read_by(usage: &Use) -> (&'static str, Option<String>) {
    match usage {
        Use::Read => ("daemons", None),
        Use::ReferredTo => ("other values", None),
        Use::Mentioned(file) => ("scripts", Some(format!("{file} mentions it"))),
        Use::Unread(unread) => ("nobody", Some(format!("{}; {}", unread.why, unread.fix))),
        Use::Removed(instead) => ("nobody", Some((*instead).to_owned())),
        Use::Misspelled(near) => ("nobody", Some(format!("did you mean {near}?"))),
        Use::Own => ("nobody", None),
    }
}

/// The story for programs.
pub(super) fn record(story: &Story, findings: &[Finding], redacting: bool) -> Record {
    let shown = Shown { name: story.name.as_ref(), redacting };
    let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
    let definition = |told: &Defined| Definition {
        place: text(&told.place),
        raw: shown.text(&told.raw),
        included_from: told.included_from.iter().map(|(file, line)| (text(file), *line)).collect(),
    };
    let left_out = |one: &story::LeftOut| LeftOut {
        place: text(&one.place),
        raw: shown.text(&one.raw),
        condition: text(&one.condition.0),
        condition_line: one.condition.1,
    };
    let step = |step: &Stepped| Step {
        depth: step.depth,
        reference: text(&step.reference),
        value: shown.text(&step.value),
        origin: step.origin.clone(),
    };
    let (read_by, note) = read_by(&story.usage);
    let entered = story.entered.as_ref();
    let (value, error) = match &story.value {
        Some(Ok(value)) => (Some(shown.text(value)), None),
        Some(Err(error)) => (None, Some(error.clone())),
        None => (None, None),
    };
    Record {
        name: text(&story.name),
        from: match story.comes {
            Comes::Set => "set",
            Comes::Detected(_) => "detected",
            Comes::Default(_) => "default",
            Comes::Nowhere => "nowhere",
        },
        read_by,
        note,
        looked_up: story
            .looked_up
            .iter()
            .map(|one| LookUp { name: text(&one.name), verdict: one.verdict })
            .collect(),
        definitions: story.definitions.iter().map(definition).collect(),
        in_vain: story.in_vain.iter().map(definition).collect(),
        left_out: story.left_out.iter().map(left_out).collect(),
        meaning: story.meaning,
        default: entered.map(|entered| shown.text(&entered.default)).filter(|default| !default.is_empty()),
        kind: entered.map(|entered| entered.kind),
        range: entered.and_then(|entered| entered.range.as_ref()).map(|(min, max)| [text(min), text(max)]),
        steps: story.steps.iter().map(step).collect(),
        messages: story.messages.iter().map(|message| text(message)).collect(),
        value,
        error,
        hints: story.hints.clone(),
        findings: findings
            .iter()
            .map(|it| Found { rule: it.rule, message: it.message.clone(), fix: it.fix.clone() })
            .collect(),
    }
}

/// Hints about a name, a line each.
pub(super) fn hints(hints: &[String], out: &mut String) {
    for hint in hints {
        let _ = writeln!(out, "  {hint}");
    }
}
