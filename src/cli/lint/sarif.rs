//! Findings as a SARIF 2.1.0 log (OASIS Static Analysis Results Interchange Format).

use std::fmt::Write as _;

use bstr::ByteSlice;
use serde_json::{Value, json};

use crate::config::finding::Finding;
use crate::config::lint_rule::{LintRule, LintSeverity};
use crate::config::source_location::SourceLocation;

/// Renders a log with one run.
pub(super) fn render_log(program: &str, findings: &[Finding]) -> anyhow::Result<String> {
    let results: Vec<Value> =
        findings.iter().filter(|finding| finding.rule != LintRule::Elsewhere).map(render_result).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": program,
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": LintRule::ALL.iter().map(|rule| render_rule(*rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

fn level(severity: LintSeverity) -> &'static str {
    severity.word()
}

fn render_rule(rule: LintRule) -> Value {
    let about = rule.description();
    let mut help = about.explanation.to_owned();
    if !about.wrong.is_empty() {
        let _ = write!(help, "\n\nWrong:\n{}", about.wrong);
    }
    if !about.right.is_empty() {
        let _ = write!(help, "\n\nRight:\n{}", about.right);
    }
    json!({
        "id": about.name,
        "shortDescription": {"text": about.explanation},
        "help": {"text": help},
        "defaultConfiguration": {"level": level(about.severity)},
    })
}

fn render_result(finding: &Finding) -> Value {
    let index = LintRule::ALL.iter().position(|rule| *rule == finding.rule);
    let mut message = finding.message.clone();
    if let Some(fix) = &finding.fix {
        let _ = write!(message, "; fix: {fix}");
    }
    let mut result = json!({
        "ruleId": finding.rule.name(),
        "level": level(finding.rule.severity()),
        "message": {"text": message},
    });
    if let Some(index) = index {
        result["ruleIndex"] = index.into();
    }
    let Some(spot) = &finding.spot else { return result };
    let mut region = region(spot, spot.span.start, spot.span.end);
    region["snippet"] = json!({"text": spot.text.to_str_lossy()});
    result["locations"] =
        json!([{"physicalLocation": {"artifactLocation": artifact(spot), "region": region}}]);
    // As in the baseline: rule, parameter and value identify a finding, even if its line moves.
    let (parameter, value) = super::baseline::subject(finding);
    result["partialFingerprints"] =
        json!({"ruleParameterValue/v1": format!("{} {parameter} {value}", finding.rule)});
    if let Some(replacement) = &finding.replacement {
        let advice = finding.fix.as_ref().map(ToString::to_string);
        let description = advice.unwrap_or_else(|| "correct the text".to_owned());
        let deleted = self::region(spot, replacement.span.start, replacement.span.end);
        result["fixes"] = json!([{
            "description": {"text": description},
            "artifactChanges": [{
                "artifactLocation": artifact(spot),
                "replacements": [{
                    "deletedRegion": deleted,
                    "insertedContent": {"text": replacement.text.to_str_lossy()},
                }],
            }],
        }]);
    }
    result
}

/// Returns the region between two byte offsets of a line.
fn region(spot: &SourceLocation, start: u32, end: u32) -> Value {
    let column = |at: u32| spot.text[..spot.text.len().min(at as usize)].chars().count() + 1;
    json!({
        "startLine": spot.line,
        "startColumn": column(start),
        "endLine": spot.line,
        "endColumn": column(end.max(start)),
    })
}

/// Returns the location of a file as a URI reference, which is relative if the file's name is relative.
fn artifact(spot: &SourceLocation) -> Value {
    let mut uri = if spot.name.starts_with(b"/") { "file://".to_owned() } else { String::new() };
    for &byte in spot.name.iter() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                uri.push(byte.into())
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    json!({"uri": uri})
}
