//! Output of the results of a suite: on the screen, as TAP, as JUnit XML, and as JSON.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::options::SharedOptions;
use crate::cli::common::{
    OptionGroup, Painter, ProgramContext, RowOptions, Status, stdout, write_report_file,
};
use crate::hook_testing::CaseResult;
use crate::text::plural::counted;

/// Formats the cases in the Test Anything Protocol.
fn render_tap(results: &[CaseResult]) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", results.len());
    for (number, case) in results.iter().enumerate() {
        let word = if case.failures.is_empty() { "ok" } else { "not ok" };
        let skip = case.skipped.as_ref().map(|reason| format!(" # SKIP {}", to_one_line(reason)));
        let skip = skip.unwrap_or_default();
        text += &format!("{word} {} - {}{skip}\n", number + 1, to_one_line(&case.name).replace('#', "\\#"));
        for line in case.failures.iter().flat_map(|failure| failure.lines()) {
            text += &format!("# {line}\n");
        }
    }
    text
}

/// Options of `run` that select how results are reported.
#[derive(Args, Clone, Debug)]
pub(super) struct SuiteReportOptions {
    /// Write results as TAP to standard output
    #[arg(long, help_heading = OptionGroup::Output, conflicts_with_all = ["csv", "tsv", "null", "json", "jsonl"])]
    pub tap: bool,
    /// Write results as JUnit XML to FILE
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Output)]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub rows: RowOptions,
}

/// Prints the results of the cases: as rows or TAP to standard output, as JUnit XML to a file.
pub(super) fn report_cases(
    cli: &SharedOptions,
    args: &SuiteReportOptions,
    results: &[CaseResult],
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let painter = Painter::stderr(cli.output.color);
    let bad = results.iter().filter(|case| !case.failures.is_empty()).count();
    let skipped = results.iter().filter(|case| case.skipped.is_some()).count();
    if args.tap {
        stdout().write_all(render_tap(results).as_bytes())?;
    }
    if let Some(file) = args.junit.as_deref() {
        let reports: Vec<CaseReport> = results.iter().map(CaseReport::from_result).collect();
        write_junit(file, &reports)?;
    }
    let row = |case: &CaseResult| {
        serde_json::json!({
            "case": case.name,
            "ok": case.failures.is_empty(),
            "skipped": case.skipped,
            "seconds": case.seconds,
            "verdict": case.verdict.as_ref().map(|verdict| verdict.decision.word()),
            "reason": case.verdict.as_ref().map(|verdict| verdict.reason.clone()),
            "findings": case.findings,
            "failures": case.failures,
        })
    };
    let rows: Vec<_> = results.iter().map(row).collect();
    if let Some(text) = cli.output.render_json(&rows)? {
        stdout().write_all(text.as_bytes())?;
    } else if let Some(text) = args.rows.render(&rows, &[])? {
        stdout().write_all(&text)?;
    }
    for case in results {
        if !case.failures.is_empty() {
            session.write_stderr(&format!("{}: {}\n", painter.bad("failed"), case.name));
            for line in case.failures.iter().flat_map(|failure| failure.lines()) {
                session.write_stderr(&format!("  {line}\n"));
            }
        } else if let Some(reason) = &case.skipped
            && !cli.output.quiet
        {
            session.write_stderr(&format!("{}: {}: {reason}\n", painter.dim("skipped"), case.name));
        }
    }
    if bad > 0 && !cli.output.quiet {
        session.write_stderr("in failed cases, '-' is the expected value and '+' is the actual value\n");
    }
    if !cli.output.quiet {
        let good = results.len() - bad - skipped;
        session.write_stderr(&format!("{} passed, {bad} failed, {skipped} skipped\n", counted(good, "case")));
    }
    Ok(if bad == 0 { Status::Done } else { Status::No })
}

/// Replaces control characters, because a name with a newline would break line-based formats.
fn to_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Result of one case in a report.
pub(super) struct CaseReport {
    pub name: String,
    pub seconds: f64,
    /// Reasons for the failure; empty if the case passed.
    pub failures: Vec<String>,
    pub skipped: Option<String>,
}

impl CaseReport {
    fn from_result(case: &CaseResult) -> Self {
        CaseReport {
            name: case.name.clone(),
            seconds: case.seconds,
            failures: case.failures.clone(),
            skipped: case.skipped.clone(),
        }
    }
}

/// Writes results as JUnit XML.
pub(super) fn write_junit(file: &Path, reports: &[CaseReport]) -> anyhow::Result<()> {
    write_report_file(file, junit_text(reports).as_bytes())
}

fn junit_text(reports: &[CaseReport]) -> String {
    let escape = |text: &str| {
        let clean: String =
            text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '?' } else { c }).collect();
        clean.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    let bad = reports.iter().filter(|case| !case.failures.is_empty()).count();
    let skipped = reports.iter().filter(|case| case.skipped.is_some()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"htc-hook-test\" tests=\"{}\" \
         failures=\"{bad}\" skipped=\"{skipped}\">\n",
        reports.len()
    );
    for case in reports {
        let (suite, name) = case.name.split_once(": ").unwrap_or(("", &case.name));
        text += &format!(
            "<testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
            escape(suite),
            escape(name),
            case.seconds
        );
        if let Some(reason) = &case.skipped {
            text += &format!("<skipped message=\"{}\"/>", escape(reason));
        }
        if !case.failures.is_empty() {
            text += &format!(
                "<failure message=\"not as expected\">{}</failure>",
                escape(&case.failures.join("\n"))
            );
        }
        text += "</testcase>\n";
    }
    text + "</testsuite>\n</testsuites>\n"
}
