//! `lint` of all programs: options, selection of findings, output formats and exit status.

mod baseline;
mod corrections;
mod file_problem;
mod github;
mod options;
mod record;
mod replace_file;
mod rule_table;
mod sarif;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use self::baseline::BaselineCounts;
use crate::cli::common::{OutputOptions, Painter, ProgramContext, Status, render_objects, stdout};
use crate::config::finding::Finding;
use crate::config::lint_rule::{LintRule, LintSeverity};

pub(super) use corrections::Recheck;
pub(super) use options::{LintFormat, LintOptions, parse_rule, parse_version};
pub(super) use record::FindingRecord;
pub(super) use rule_table::{print_explanation, print_rules};

/// Findings of one run, and a description of the checked input.
#[derive(Debug, Default)]
pub(super) struct LintReport {
    /// Findings in the order of their places.
    pub(super) findings: Vec<Finding>,
    /// Text that is printed after the numbers of findings, such as `2 sources and 30 settings read`.
    pub(super) read: String,
}

/// Filters, corrects and prints findings, and returns the exit status. `recheck` checks corrected texts.
///
/// # Errors
/// Returns an error if the options contradict each other, or a file cannot be read or written.
pub(super) fn finish(
    report: LintReport,
    recheck: &Recheck<'_>,
    options: &LintOptions,
    output: &OutputOptions,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let format = options.format(output)?;
    let LintReport { mut findings, read } = report;
    findings.retain(|finding| options.selects(finding.rule));
    if let Some(path) = &options.write_baseline {
        let count = baseline::write(path, &findings)?;
        program.write_stderr(&format!("{} written to {}\n", count_text(count, "finding"), path.display()));
        return Ok(Status::Done);
    }
    let mut of_baseline = BaselineCounts::default();
    if let Some(path) = &options.baseline {
        of_baseline = baseline::remove_known(path, &mut findings, |rule| options.selects(rule))?;
    }
    if options.fix || options.diff {
        let recheck = |texts: &[(PathBuf, Vec<u8>)]| {
            let mut found = recheck(texts)?;
            found.retain(|finding| options.selects(finding.rule));
            if let Some(path) = &options.baseline {
                baseline::remove_known(path, &mut found, |rule| options.selects(rule)).ok()?;
            }
            Some(found)
        };
        if options.diff {
            let status = status(&findings, options.strict);
            stdout().write_all(&corrections::render_diff(&corrections::plan(findings, &recheck)?))?;
            stdout().flush()?;
            return Ok(status);
        }
        let corrected = corrections::plan(findings, &recheck)?;
        let applied = corrections::apply(&corrected)?;
        program.write_stderr(&format!(
            "{} in {}\n",
            count_text(applied, "correction"),
            count_text(corrected.files.len(), "file")
        ));
        for line in corrections::describe(&corrected) {
            program.write_stderr(&format!("{line}\n"));
        }
        findings = corrected.into_remaining();
    }
    let status = status(&findings, options.strict);
    let summary = summary(&findings);
    let findings = options.order.apply(
        findings,
        |finding| serde_json::to_string(&FindingRecord::new(finding)),
        program,
    )?;
    let painter = Painter::stdout(output.color);
    let records = || -> Vec<FindingRecord> { findings.iter().map(FindingRecord::new).collect() };
    let rows = options
        .rows
        .report_form()
        .map(|form| render_objects(form, &records(), &FindingRecord::KEYS))
        .transpose()?;
    let text = match format {
        LintFormat::Text => text::render_findings(&findings, painter),
        LintFormat::Json | LintFormat::Jsonl => {
            let form = OutputOptions {
                json: format == LintFormat::Json,
                jsonl: format == LintFormat::Jsonl,
                ..*output
            };
            form.render_json(&records())?.unwrap_or_default()
        }
        LintFormat::Sarif => sarif::render_log(program.name(), &findings)?,
        LintFormat::Github => github::render_commands(&findings),
    };
    let mut out = stdout();
    out.write_all(rows.as_deref().unwrap_or(text.as_bytes()))?;
    out.flush()?;
    if !output.quiet {
        let mut known = match of_baseline.known {
            0 => String::new(),
            known => format!("; {} of the baseline not shown", count_text(known, "finding")),
        };
        if of_baseline.gone > 0 {
            known +=
                &format!("; {} of the baseline no longer found", count_text(of_baseline.gone, "finding"));
        }
        program.write_stderr(&format!("{summary}{known}; {read}\n"));
    }
    Ok(status)
}

/// Returns the exit status: 1 for errors and warnings, and for notes only with `--strict`. If all of these findings are
/// about sources that could not be read, returns the status for an undefined answer.
fn status(findings: &[Finding], strict: bool) -> Status {
    let counts = |finding: &&Finding| {
        finding.rule != LintRule::Elsewhere && (strict || finding.rule.severity() != LintSeverity::Note)
    };
    let mut counted = findings.iter().filter(counts).peekable();
    match () {
        () if counted.peek().is_none() => Status::Done,
        () if counted.all(|finding| finding.rule == LintRule::NotRead) => Status::Undefined,
        () => Status::No,
    }
}

/// Returns a line such as `3 findings: 2 errors, 1 warning (2 bad-value, 1 unused-macro)`.
fn summary(findings: &[Finding]) -> String {
    let counted: Vec<&Finding> =
        findings.iter().filter(|finding| finding.rule != LintRule::Elsewhere).collect();
    if counted.is_empty() {
        return "no findings".to_owned();
    }
    let severities = [LintSeverity::Error, LintSeverity::Warning, LintSeverity::Note].map(|severity| {
        (counted.iter().filter(|finding| finding.rule.severity() == severity).count(), severity.word())
    });
    let severities: Vec<String> = severities
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| count_text(*count, word))
        .collect();
    let mut rules: Vec<(LintRule, usize)> = Vec::new();
    for finding in &counted {
        match rules.iter_mut().find(|(rule, _)| *rule == finding.rule) {
            Some((_, count)) => *count += 1,
            None => rules.push((finding.rule, 1)),
        }
    }
    rules.sort_by_key(|&(rule, count)| (std::cmp::Reverse(count), rule));
    let rules: Vec<String> = rules.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    format!("{}: {} ({})", count_text(counted.len(), "finding"), severities.join(", "), rules.join(", "))
}

/// Returns a number with its noun in the singular or plural.
pub(super) fn count_text(count: usize, noun: &str) -> String {
    crate::text::plural::counted(count, noun)
}
