//! `--hooks`: prints a table of the hooks that daemons would call.

use std::fmt::Write;

use crate::cli::common::{Painter, render_table};
use crate::lint::daemons::HookReport;

/// Formats the report as text.
pub(super) fn render_report(report: &HookReport, painter: Painter) -> String {
    let mut text = String::new();
    for caller in &report.callers {
        let keyword = caller.keyword.as_deref().unwrap_or("no keyword: no hooks");
        let _ = writeln!(text, "{}: {}", caller.caller, painter.bold(keyword));
        for step in &caller.lookup_steps {
            let _ = writeln!(text, "  {step}");
        }
    }
    if !report.hooks.is_empty() {
        text.push('\n');
        let columns = ["<CALLER", "<PARAMETER", "<PATH", "<TIME-OUT", "<ARGUMENTS", "<VERDICT"];
        let rows = report.hooks.iter().map(|row| {
            vec![
                row.caller.clone(),
                row.knob.clone(),
                row.path.clone().unwrap_or_else(|| "-".to_owned()),
                row.time_out.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s")),
                row.arguments.clone().unwrap_or_else(|| "-".to_owned()),
                // The path is printed in another column.
                row.refused.as_ref().map_or_else(|| row.verdict.clone(), |why| format!("refused: {why}")),
            ]
        });
        text.push_str(&render_table(&columns, rows, painter));
    }
    for keyword in &report.unused_keywords {
        let _ = writeln!(
            text,
            "\nkeyword {keyword} has hooks, but no parameter selects it; jobs may select it with HookKeyword"
        );
    }
    text
}
