//! `--why NAME`: prints the explanation of one value as text or as JSON.

use crate::config::lint_rule::LintRule;
use std::fmt::Write;

use bstr::{BStr, ByteSlice};
use serde::Serialize;

use crate::config::finding::Finding;
use crate::config::redact;
use crate::lint::config::name_usage::NameUsage;
use crate::lint::value_explanation::{
    self, DefinitionRecord, ExpandedValue, ExpansionRecord, ValueExplanation, ValueOrigin,
};

/// Formatter of the values of one parameter, which masks secrets if requested.
struct ValueDisplay<'a> {
    name: &'a BStr,
    redacting: bool,
}

impl ValueDisplay<'_> {
    fn text(&self, value: &[u8]) -> String {
        match self.redacting {
            true => redact::mask_value(self.name, value).to_str_lossy().into_owned(),
            false => value.to_str_lossy().into_owned(),
        }
    }

    fn lines(&self, value: &[u8]) -> String {
        self.text(value).replace('\n', "\n      | ")
    }
}

/// Returns true if a finding is about the value itself. Findings about the readers of the value are not repeated,
/// because the explanation names the readers.
pub(super) fn is_about_value(finding: &Finding) -> bool {
    !matches!(finding.rule, LintRule::UnknownParameter | LintRule::RemovedParameter | LintRule::UnusedMacro)
}

/// Name of the source of settings that override all files.
const OVERRIDING_SOURCE: &str = "<Over>";

/// Appends the explanation, and the findings of lint about the value, to the text.
pub(super) fn render_explanation(
    explanation: &ValueExplanation,
    findings: &[Finding],
    redacting: bool,
    out: &mut String,
) {
    let shown = ValueDisplay { name: explanation.name.as_ref(), redacting };
    let mut line = |text: String| {
        // `<Over>` is the reference's name for settings of the command line.
        let text = match text.trim_start().starts_with(OVERRIDING_SOURCE) {
            true => text.replacen(OVERRIDING_SOURCE, "--param", 1),
            false => text,
        };
        out.push_str(&text);
        out.push('\n');
    };
    line(explanation.name.to_string());
    for look_up in &explanation.looked_up {
        let kind = if look_up.kind.is_empty() { String::new() } else { format!(" ({})", look_up.kind) };
        line(format!("  {}{kind} {}", look_up.name, look_up.verdict));
    }
    push_readers(explanation, &mut line);
    push_origin(explanation, &shown, &mut line);
    for definition in &explanation.ineffective_definitions {
        line(format!("  {} sets it without effect: it is always detected", definition.place));
        line(format!("      = {}", shown.lines(&definition.raw)));
    }
    for disabled in &explanation.disabled_definitions {
        let (condition, number) = &disabled.condition;
        line(format!("  {} is left out: '{condition}' in line {number} is false", disabled.place));
        line(format!("      = {}", shown.lines(&disabled.raw)));
    }
    if let Some(meaning) = explanation.description {
        line(format!("  meaning: {meaning}"));
    }
    if let Some(entry) = &explanation.table_entry {
        let default = match entry.default.is_empty() {
            true => "none".to_owned(),
            false => shown.lines(&entry.default),
        };
        let range = entry.range.as_ref().map(|(min, max)| format!(", {min} to {max}")).unwrap_or_default();
        line(format!("  default: {default}   (type {}{range})", entry.kind.to_lowercase()));
    }
    for hint in &explanation.hints {
        line(format!("  {hint}"));
    }
    push_expansion(explanation, &shown, &mut line);
    for finding in findings {
        line(format!("  wrong: {} [{}]", finding.message, finding.rule));
        if let Some(fix) = &finding.fix {
            line(format!("    fix: {fix}"));
        }
    }
}

/// Adds a line that says what reads the value, unless a daemon reads it.
fn push_readers(explanation: &ValueExplanation, line: &mut dyn FnMut(String)) {
    let is_set = !explanation.definitions.is_empty();
    match &explanation.usage {
        NameUsage::Read => {}
        NameUsage::ReferredTo => {
            line("  HTCondor has no such parameter; other values refer to it".to_owned())
        }
        NameUsage::Mentioned(file) => {
            line(format!("  HTCondor has no such parameter; {file} mentions it"));
        }
        NameUsage::Unread(unread) => {
            line(format!("  nothing reads it: {}", unread.cause));
            line(format!("  {}", unread.fix));
        }
        NameUsage::Removed(instead) => {
            line("  HTCondor 25 no longer reads it (earlier versions did)".to_owned());
            line(format!("  {instead}"));
        }
        // If the name is not set, `render_explanation` adds other lines about it.
        NameUsage::Misspelled(_) | NameUsage::SiteOwn if !is_set => {}
        NameUsage::Misspelled(near) => {
            line("  HTCondor has no such parameter, and nothing refers to it".to_owned());
            line(format!("  did you mean {near}?"));
        }
        NameUsage::SiteOwn => {
            line(
                "  HTCondor has no such parameter, and no value, script or template that was found refers to it"
                    .to_owned(),
            );
        }
    }
}

fn push_origin(explanation: &ValueExplanation, shown: &ValueDisplay<'_>, line: &mut dyn FnMut(String)) {
    match &explanation.value_origin {
        ValueOrigin::Set => {
            let count = explanation.definitions.len();
            line(format!("  set {count} time{}:", if count == 1 { "" } else { "s" }));
            for (n, definition) in explanation.definitions.iter().enumerate() {
                let counts = match (n + 1 == count, explanation.usage.is_used()) {
                    (true, true) => "   <- this one is used",
                    (true, false) if count > 1 => "   <- the last one",
                    (true, false) | (false, _) => "",
                };
                line(format!("    {}{counts}", definition.place));
                line(format!("      = {}", shown.lines(&definition.raw)));
                for (file, number) in &definition.included_from {
                    line(format!("      included from {file}, line {number}"));
                }
            }
            if explanation.raw.as_ref().is_some_and(|raw| raw.is_empty()) {
                line(
                    "  it is set to nothing: readers see it as undefined, and its default is hidden"
                        .to_owned(),
                );
            }
        }
        ValueOrigin::Detected(value) => line(format!("  detected: {}", shown.lines(value))),
        ValueOrigin::Default(subsystem) => {
            line("  no source sets it; the default is used".to_owned());
            if let Some(subsystem) = subsystem {
                line(format!(
                    "  the default is that of subsystem {subsystem}, which takes precedence over plain settings"
                ));
            }
        }
        ValueOrigin::Nowhere => {
            let is_known = explanation.description.is_some() || explanation.usage == NameUsage::Read;
            let more = if is_known { "it has no default" } else { "HTCondor has no such parameter" };
            line(format!("  no source sets it, and {more}"));
        }
    }
}

fn push_expansion(explanation: &ValueExplanation, shown: &ValueDisplay<'_>, line: &mut dyn FnMut(String)) {
    if let Some(raw) = explanation.raw.as_ref().filter(|_| !explanation.steps.is_empty()) {
        line(format!("  expansion of {}", shown.lines(raw)));
    }
    for step in &explanation.steps {
        let indent = "  ".repeat(step.depth.min(20));
        let origin = match step.origin.is_empty() {
            true => String::new(),
            false => format!("   ({})", step.origin),
        };
        line(format!("  {indent}{} -> {}{origin}", step.reference, shown.lines(&step.value)));
    }
    for message in &explanation.messages {
        line(format!("  function failed: {message}"));
    }
    match &explanation.value {
        ExpandedValue::Unset => {}
        ExpandedValue::Value(value) if value.is_empty() => {
            line("  value: none; it expands to nothing, which reads as undefined".to_owned());
        }
        ExpandedValue::Value(value) => line(format!("  value: {}", shown.lines(value))),
        ExpandedValue::Failed(error) => line(format!("  value: none; {error}")),
    }
}

/// Explanation of a value as JSON.
#[derive(Debug, Serialize)]
pub(super) struct ExplanationRecord {
    name: String,
    /// Origin of the value: `set`, `detected`, `default` or `nowhere`.
    from: &'static str,
    /// Reader of the value: `daemons`, `other values`, `scripts` or `nobody`.
    read_by: &'static str,
    /// Reason why nothing reads the value, or the name that was probably intended, or `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    looked_up: Vec<LookUpRecord>,
    definitions: Vec<DefinitionJsonRecord>,
    in_vain: Vec<DefinitionJsonRecord>,
    left_out: Vec<SkippedDefinitionRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[String; 2]>,
    steps: Vec<ExpansionStepRecord>,
    messages: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    hints: Vec<String>,
    findings: Vec<ExplanationFinding>,
}

/// Finding of lint in the JSON output.
#[derive(Debug, Serialize)]
struct ExplanationFinding {
    rule: LintRule,
    message: String,
    fix: Option<String>,
}

#[derive(Debug, Serialize)]
struct LookUpRecord {
    name: String,
    verdict: &'static str,
}

#[derive(Debug, Serialize)]
struct DefinitionJsonRecord {
    place: String,
    raw: String,
    included_from: Vec<(String, u32)>,
}

#[derive(Debug, Serialize)]
struct SkippedDefinitionRecord {
    place: String,
    raw: String,
    condition: String,
    condition_line: u32,
}

#[derive(Debug, Serialize)]
struct ExpansionStepRecord {
    depth: usize,
    reference: String,
    value: String,
    origin: String,
}

/// Returns what reads a value, with the reason why nothing does, or the name that was probably intended.
fn describe_reader(usage: &NameUsage) -> (&'static str, Option<String>) {
    match usage {
        NameUsage::Read => ("daemons", None),
        NameUsage::ReferredTo => ("other values", None),
        NameUsage::Mentioned(file) => ("scripts", Some(format!("{file} mentions it"))),
        NameUsage::Unread(unread) => ("nobody", Some(format!("{}; {}", unread.cause, unread.fix))),
        NameUsage::Removed(instead) => ("nobody", Some((*instead).to_owned())),
        NameUsage::Misspelled(near) => ("nobody", Some(format!("did you mean {near}?"))),
        NameUsage::SiteOwn => ("nobody", None),
    }
}

/// Returns the explanation of a value as JSON.
pub(super) fn explanation_record(
    explanation: &ValueExplanation,
    findings: &[Finding],
    redacting: bool,
) -> ExplanationRecord {
    let shown = ValueDisplay { name: explanation.name.as_ref(), redacting };
    let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
    let definition = |definition: &DefinitionRecord| DefinitionJsonRecord {
        place: text(&definition.place),
        raw: shown.text(&definition.raw),
        included_from: definition.included_from.iter().map(|(file, line)| (text(file), *line)).collect(),
    };
    let skipped = |definition: &value_explanation::DisabledDefinition| SkippedDefinitionRecord {
        place: text(&definition.place),
        raw: shown.text(&definition.raw),
        condition: text(&definition.condition.0),
        condition_line: definition.condition.1,
    };
    let step = |step: &ExpansionRecord| ExpansionStepRecord {
        depth: step.depth,
        reference: text(&step.reference),
        value: shown.text(&step.value),
        origin: step.origin.clone(),
    };
    let (read_by, note) = describe_reader(&explanation.usage);
    let entry = explanation.table_entry.as_ref();
    let (value, error) = match &explanation.value {
        ExpandedValue::Value(value) => (Some(shown.text(value)), None),
        ExpandedValue::Failed(error) => (None, Some(error.clone())),
        ExpandedValue::Unset => (None, None),
    };
    ExplanationRecord {
        name: text(&explanation.name),
        from: match explanation.value_origin {
            ValueOrigin::Set => "set",
            ValueOrigin::Detected(_) => "detected",
            ValueOrigin::Default(_) => "default",
            ValueOrigin::Nowhere => "nowhere",
        },
        read_by,
        note,
        looked_up: explanation
            .looked_up
            .iter()
            .map(|look_up| LookUpRecord { name: text(&look_up.name), verdict: look_up.verdict })
            .collect(),
        definitions: explanation.definitions.iter().map(definition).collect(),
        in_vain: explanation.ineffective_definitions.iter().map(definition).collect(),
        left_out: explanation.disabled_definitions.iter().map(skipped).collect(),
        meaning: explanation.description,
        default: entry.map(|entry| shown.text(&entry.default)).filter(|default| !default.is_empty()),
        kind: entry.map(|entry| entry.kind),
        range: entry.and_then(|entry| entry.range.as_ref()).map(|(min, max)| [text(min), text(max)]),
        steps: explanation.steps.iter().map(step).collect(),
        messages: explanation.messages.iter().map(|message| text(message)).collect(),
        value,
        error,
        hints: explanation.hints.clone(),
        findings: findings
            .iter()
            .map(|it| ExplanationFinding {
                rule: it.rule,
                message: it.message.clone(),
                fix: it.fix.as_ref().map(ToString::to_string),
            })
            .collect(),
    }
}

/// Appends hints about a name to `out`, one per line.
pub(super) fn push_hints(hints: &[String], out: &mut String) {
    for hint in hints {
        let _ = writeln!(out, "  {hint}");
    }
}
