//! Complete report about one call, as JSON.

use serde::Serialize;
use serde_json::Value;

use crate::classad::{ClassAd, format::long};
use crate::hook_testing::{AttributeChange, CallEnding, CallReport, CallSetup, Finding, Rule, Verdict};
use crate::text::caret::Caret;

/// Call whose expectations were checked, with the failed expectations.
pub(super) struct CheckedCall<'a> {
    pub setup: &'a CallSetup,
    pub call_report: &'a CallReport,
    pub failed: &'a [String],
}

#[derive(Serialize)]
struct CallJsonRecord<'a> {
    hook: &'a str,
    path: String,
    argv: Vec<String>,
    seconds: f64,
    exit: Option<String>,
    verdict: VerdictRecord,
    /// Verdict with the other setting of `--quirks`, or `None` if both verdicts are the same.
    other: Option<VerdictRecord>,
    quirks: Vec<&'a str>,
    changes: Vec<ChangeRecord>,
    ignored: Vec<String>,
    findings: Vec<CallFindingRecord>,
    expected: &'a [String],
    stdin: String,
    stdout: String,
    stderr: String,
    result: Vec<Value>,
}

#[derive(Serialize)]
struct VerdictRecord {
    decision: &'static str,
    good: bool,
    says: String,
    reason: String,
    next: String,
    code: Option<i64>,
    subcode: Option<i64>,
}

#[derive(Serialize)]
struct ChangeRecord {
    name: String,
    before: Option<String>,
    after: Option<String>,
}

#[derive(Serialize)]
struct CallFindingRecord {
    rule: &'static str,
    note: bool,
    message: String,
    advice: String,
    line: Option<u32>,
    column: Option<u32>,
}

fn verdict_record(verdict: &Verdict) -> VerdictRecord {
    VerdictRecord {
        decision: verdict.decision.word(),
        good: verdict.good,
        says: verdict.action.clone(),
        reason: verdict.reason.clone(),
        next: verdict.next_step.clone(),
        code: verdict.hold.map(|hold| hold.0),
        subcode: verdict.hold.map(|hold| hold.1),
    }
}

impl CheckedCall<'_> {
    /// Returns true if the verdict differs with the other setting of `--quirks`.
    pub(super) fn has_other_quirks_verdict(&self) -> bool {
        self.call_report.verdict.differs_from(&self.call_report.other_quirks_verdict)
    }

    /// Returns the whole report as JSON.
    pub(super) fn to_json(&self) -> anyhow::Result<Value> {
        let (setup, call_report) = (self.setup, self.call_report);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (mut exit, mut stdout, mut stderr) = (None, String::new(), String::new());
        // Positions are byte offsets in the output, not in the text that displays it.
        let mut printed: &[u8] = b"";
        if let CallEnding::Ran(ended) = &call_report.outcome.ending {
            exit = ended.exit.map(|exit| exit.to_string());
            printed = &ended.stdout;
            stdout = text(printed);
            stderr = text(&ended.stderr);
        }
        let call = CallJsonRecord {
            hook: setup.case.hook.name(),
            path: setup.path.to_string(),
            argv: call_report.record.argv.iter().map(ToString::to_string).collect(),
            seconds: call_report.outcome.took.as_secs_f64(),
            exit,
            verdict: verdict_record(&call_report.verdict),
            other: self.has_other_quirks_verdict().then(|| verdict_record(&call_report.other_quirks_verdict)),
            quirks: call_report.verdict.quirks.iter().map(|quirk| quirk.id()).collect(),
            changes: call_report.verdict.changes.iter().map(change_record).collect(),
            ignored: call_report.verdict.ignored_attributes.iter().map(ToString::to_string).collect(),
            findings: call_report.findings.iter().map(|finding| finding_record(finding, printed)).collect(),
            expected: self.failed,
            stdin: text(&call_report.record.stdin),
            stdout,
            stderr,
            result: call_report.ads_for_next_program().iter().map(ad_to_json).collect(),
        };
        Ok(serde_json::to_value(&call)?)
    }
}

fn change_record(change: &AttributeChange) -> ChangeRecord {
    ChangeRecord {
        name: change.name.to_string(),
        before: change.before.as_ref().map(ToString::to_string),
        after: change.after.as_ref().map(ToString::to_string),
    }
}

fn finding_record(finding: &Finding, stdout: &[u8]) -> CallFindingRecord {
    let place = finding.place.map(|place| place.position(stdout));
    CallFindingRecord {
        rule: finding.rule.word(),
        note: finding.rule.is_note(),
        message: finding.message.clone(),
        advice: finding.advice.clone(),
        line: place.map(|place| place.line),
        column: place.map(|place| place.column),
    }
}

/// Converts an ad to JSON.
pub(super) fn ad_to_json(ad: &ClassAd) -> Value {
    let mut text = Vec::new();
    crate::classad::format::json::push(ad, crate::classad::format::json::JsonLayout::OneLine, &mut text);
    serde_json::from_slice(&text)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&text).into_owned()))
}

/// Formats ads in the long form, separated as JOB_FINALIZE reads them, with an empty line after the last ad.
pub(super) fn ads_to_long_form(ads: &[ClassAd]) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, ad) in ads.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b"\n------\n");
        }
        out.extend_from_slice(&long::print(ad));
    }
    if !out.is_empty() {
        out.push(b'\n');
    }
    out
}

/// Formats a finding as text.
pub(super) fn render_finding(finding: &Finding, stdout: &[u8], severity: &str) -> String {
    let rule: Rule = finding.rule;
    let mut text = match finding.place {
        Some(span) => {
            let message = format!("{severity} {}: {}", rule.word(), finding.message);
            Caret { source: "stdout", text: stdout, span }.render(&message)
        }
        None => format!("{severity} {}: {}", rule.word(), finding.message),
    };
    if !finding.advice.is_empty() {
        text.push_str("\n  hint: ");
        text.push_str(&finding.advice);
    }
    text.push('\n');
    text
}
