//! Findings as human-readable lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bstr::ByteSlice;
use rustc_hash::FxHashMap;

use crate::cli::common::Painter;
use crate::config::SharedText;
use crate::config::finding::Finding;
use crate::config::lint_rule::{LintRule, LintSeverity};
use crate::text::caret::LineCaret;
use crate::text::control_characters::mask_terminal_controls;
use crate::text::plural::counted;

/// Maximum number of findings of one rule in one source that are printed. A file that is not a configuration may have
/// millions of findings.
const MAX_SHOWN_PER_RULE: usize = 100;

/// Renders findings. For a rule with more findings than the maximum, the number of further findings is printed.
pub(super) fn render_findings(findings: &[Finding], painter: Painter) -> String {
    let mut text = String::new();
    let mut totals: FxHashMap<(LintRule, Option<&SharedText>), usize> = FxHashMap::default();
    let mut counts = totals.clone();
    let mut cut: Vec<(LintRule, Option<&SharedText>)> = Vec::new();
    let (elsewhere, shown): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|finding| finding.rule == LintRule::Elsewhere);
    fn key(finding: &Finding) -> (LintRule, Option<&SharedText>) {
        (finding.rule, finding.spot.as_ref().map(|spot| &spot.name))
    }
    for finding in &shown {
        *totals.entry(key(finding)).or_insert(0) += 1;
    }
    for finding in shown {
        let key = key(finding);
        // If only one finding exceeds the maximum, it is printed, because a line about it would be as long.
        let limit = if totals[&key] == MAX_SHOWN_PER_RULE + 1 { usize::MAX } else { MAX_SHOWN_PER_RULE };
        let count = counts.entry(key).or_insert(0);
        *count += 1;
        match *count {
            count if count <= limit => text.push_str(&render_finding(finding, painter)),
            count if count == MAX_SHOWN_PER_RULE + 1 => cut.push(key),
            _ => {}
        }
    }
    for key in cut {
        let more = counted(totals[&key] - MAX_SHOWN_PER_RULE, "more finding");
        let source = key.1.map(|name| format!("{name}: ")).unwrap_or_default();
        let _ = writeln!(text, "{source}{more} [{}]; --json prints all of them", key.0);
    }
    text + &list_by_reader(&elsewhere)
}

/// Formats a finding: `file:line:column: severity: message [rule]`, the line with its caret, and the fix.
fn render_finding(finding: &Finding, painter: Painter) -> String {
    let severity = finding.rule.severity();
    let word = format!("{}:", severity.word());
    let word = match severity {
        LintSeverity::Error => painter.bad(word),
        LintSeverity::Warning => painter.warn(word),
        LintSeverity::Note => painter.dim(word),
    };
    let message = mask_terminal_controls(&format!("{} [{}]", finding.message, finding.rule));
    let message = format!("{word} {message}");
    let mut text = match &finding.spot {
        Some(spot) => {
            let name = spot.name.to_str_lossy();
            let caret =
                LineCaret { source: &name, line: spot.line, text: &spot.text, span: spot.span, cut: 0 };
            let shown = caret.render(&message);
            match shown.rsplit_once('\n') {
                Some((before, marks)) => format!("{before}\n{}", painter.bad(marks)),
                None => shown,
            }
        }
        None => message,
    };
    text.push('\n');
    if let Some(fix) = &finding.fix {
        let _ = writeln!(text, "    {} {}", painter.bold("fix:"), mask_terminal_controls(&fix.to_string()));
    }
    text
}

/// Lists the parameters of daemons that this package does not imitate, one line per daemon.
fn list_by_reader(elsewhere: &[&Finding]) -> String {
    let mut readers: BTreeMap<&str, String> = BTreeMap::new();
    for finding in elsewhere {
        let names = readers.entry(&finding.message).or_default();
        let comma = if names.is_empty() { "" } else { "," };
        let _ = write!(names, "{comma} {}", finding.name);
        if let Some(spot) = &finding.spot {
            let _ = write!(names, " ({}:{})", spot.name, spot.line);
        }
    }
    readers.iter().map(|(reader, names)| format!("no effect here, only for {reader}:{names}\n")).collect()
}
