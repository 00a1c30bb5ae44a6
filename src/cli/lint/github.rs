//! Findings as workflow commands of GitHub Actions.

use bstr::ByteSlice;

use crate::config::finding::Finding;
use crate::config::lint_rule::{LintRule, LintSeverity};

/// Renders one command per finding: `::error file=F,line=L,col=C,...::message`.
pub(super) fn render_commands(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings.iter().filter(|finding| finding.rule != LintRule::Elsewhere) {
        let command = match finding.rule.severity() {
            LintSeverity::Error => "error",
            LintSeverity::Warning => "warning",
            LintSeverity::Note => "notice",
        };
        let place = finding.spot.as_ref().map_or_else(String::new, |spot| {
            format!(
                "file={},line={},endLine={},col={},endColumn={},",
                escape_property(&spot.name.to_str_lossy()),
                spot.line,
                spot.line,
                spot.span.start + 1,
                spot.span.end.max(spot.span.start) + 1
            )
        });
        let fix = finding.fix.as_ref().map_or_else(String::new, |fix| format!("\nfix: {fix}"));
        let message = escape_message(&format!("{}{fix}", finding.message));
        text.push_str(&format!("::{command} {place}title={}::{message}\n", finding.rule));
    }
    text
}

fn escape_message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_message(text).replace(':', "%3A").replace(',', "%2C")
}
