//! A finding as a JSON object.

use bstr::ByteSlice;
use serde::Serialize;

use crate::config::finding::Finding;
use crate::config::lint_rule::LintRule;

/// JSON object of a finding. Lines and columns are counted from 1, columns in bytes. An end column is the column after
/// the last byte.
#[derive(Debug, Serialize)]
pub(crate) struct FindingRecord {
    rule: LintRule,
    severity: &'static str,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    name: String,
    message: String,
    fix: Option<String>,
    replacement: Option<ReplacementRecord>,
}

/// JSON object of a correction in the line of its finding.
#[derive(Debug, Serialize)]
struct ReplacementRecord {
    line: u32,
    column: u32,
    end_column: u32,
    text: String,
}

impl FindingRecord {
    /// Names of the members.
    pub(crate) const KEYS: [&'static str; 11] = [
        "rule",
        "severity",
        "file",
        "line",
        "column",
        "end_line",
        "end_column",
        "name",
        "message",
        "fix",
        "replacement",
    ];

    /// Creates the object of a finding.
    pub(crate) fn new(finding: &Finding) -> Self {
        let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
        let spot = finding.spot.as_ref();
        let replacement =
            spot.zip(finding.replacement.as_ref()).map(|(spot, replacement)| ReplacementRecord {
                line: spot.line,
                column: replacement.span.start + 1,
                end_column: replacement.span.end + 1,
                text: text(&replacement.text),
            });
        FindingRecord {
            rule: finding.rule,
            severity: finding.rule.severity().word(),
            file: spot.map(|spot| text(&spot.name)),
            line: spot.map(|spot| spot.line),
            column: spot.map(|spot| spot.span.start + 1),
            end_line: spot.map(|spot| spot.line),
            end_column: spot.map(|spot| spot.span.end.max(spot.span.start) + 1),
            name: text(&finding.name),
            message: finding.message.clone(),
            fix: finding.fix.as_ref().map(ToString::to_string),
            replacement,
        }
    }
}
