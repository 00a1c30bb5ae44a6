//! `lint`: prints the mistakes in a configuration.

use crate::config::lint_rule::LintRule;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use bstr::ByteSlice;
use serde::Serialize;

use crate::cli::common::{OutputOptions, Painter, Problem, ProgramContext, Status, stdout};
use crate::config::finding::Finding;
use crate::config::{ConfigError, LoadOptions, LookupContext};
use crate::lint::daemons::unsupported_here::OUT_OF_SCOPE_RULE;
use crate::lint::daemons::{LintRequest, LintResult};
use crate::text::caret::LineCaret;
use crate::text::control_characters::mask_terminal_controls;
use crate::world::World;

/// Settings of a lint run.
pub(super) struct LintCommand {
    /// Files that form the configuration; if empty, the usual configuration and the files that it names are
    /// checked.
    pub(super) files: Vec<PathBuf>,
    /// Ad of a fetched job that is checked instead of the configuration.
    pub(super) job_ad: Option<PathBuf>,
    /// True to report unsupported settings instead of mistakes.
    pub(super) here: bool,
    /// Options for loading the configuration.
    pub(super) options: LoadOptions,
    /// Daemon for which the configuration is read.
    pub(super) who: LookupContext,
    /// Output format.
    pub(super) output: OutputOptions,
    /// True if secrets are masked.
    pub(super) redact: bool,
}

/// Finding as JSON.
#[derive(Debug, Serialize)]
struct FindingRecord {
    rule: LintRule,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    name: String,
    message: String,
    fix: Option<String>,
}

/// Checks a configuration and prints the findings; the status is 1 if there are any.
pub(super) fn run(
    request: &LintCommand,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let wanted = LintRequest {
        context: &request.who,
        options: &request.options,
        files: &request.files,
        only_unsupported: request.here,
        redact: request.redact,
    };
    if let Some(file) = &request.job_ad {
        let name = file.display().to_string();
        let file = if name == "-" { PathBuf::from("/dev/stdin") } else { file.clone() };
        let text = world
            .read_file(&file, Some(64 << 20))
            .map_err(|error| Problem::cannot_read(&name).caused_by(error))?;
        let findings = wanted.lint_job_ad(&name, &text, world);
        let lines = text.iter().filter(|&&byte| byte == b'\n').count();
        return print_findings(findings, &format!("{} read", count_text(lines, "line")), request, session);
    }
    let judged = wanted.lint_config(world).map_err(|error| config_problem(&error))?;
    for warning in judged.warnings.iter().take(MAX_WARNINGS) {
        session.warn(warning);
    }
    if judged.warnings.len() > MAX_WARNINGS {
        session.warn(&format!("the first {MAX_WARNINGS} of {} warnings are shown", judged.warnings.len()));
    }
    let LintResult { findings, source_count: sources, setting_count: settings, is_partial: part, .. } =
        judged;
    let read = format!("{} and {} read", count_text(sources, "source"), count_text(settings, "setting"));
    let taken = "; taken for a part of a configuration, what may stand elsewhere is not missed";
    print_findings(findings, &format!("{read}{}", if part { taken } else { "" }), request, session)
}

/// Maximum number of findings printed; a text with more is hardly a configuration.
const MAX_FINDINGS: usize = 1000;
/// Maximum number of warnings about loading that are printed before the findings.
const MAX_WARNINGS: usize = 100;

/// Prints findings and a summary; the status is 1 if there are any, 4 if only something could not be checked.
fn print_findings(
    mut findings: Vec<Finding>,
    read: &str,
    request: &LintCommand,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let elsewhere = take_findings_of_others(&mut findings);
    let shown = &findings[..findings.len().min(MAX_FINDINGS)];
    let output = &request.output;
    let text = match output.wants_json() {
        true => {
            let records: Vec<FindingRecord> = shown.iter().chain(&elsewhere).map(finding_record).collect();
            output.render_json(&records)?.unwrap_or_default()
        }
        false => {
            let painter = Painter::stdout(output.color);
            let text: String = shown.iter().map(|finding| render_finding(finding, painter)).collect();
            text + &list_by_reader(&elsewhere)
        }
    };
    stdout().write_all(text.as_bytes())?;
    session.write_stderr(&findings_summary(&findings, read));
    Ok(match () {
        () if findings.is_empty() => Status::Done,
        () if findings.iter().all(|finding| finding.rule == LintRule::NotRead) => Status::Undefined,
        () => Status::No,
    })
}

/// Returns a summary such as `3 findings (2 unused-macro, 1 syntax); 4 sources and 52 settings read`.
fn findings_summary(findings: &[Finding], read: &str) -> String {
    let mut rules: Vec<(LintRule, usize)> = Vec::new();
    for finding in findings {
        match rules.iter_mut().find(|(rule, _)| *rule == finding.rule) {
            Some((_, count)) => *count += 1,
            None => rules.push((finding.rule, 1)),
        }
    }
    rules.sort_by_key(|&(rule, count)| (std::cmp::Reverse(count), rule));
    let rules: Vec<String> = rules.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    let mut text = match findings.len() {
        0 => "no findings".to_owned(),
        many => format!("{} ({})", count_text(many, "finding"), rules.join(", ")),
    };
    if findings.len() > MAX_FINDINGS {
        text.push_str(&format!(", of which the first {MAX_FINDINGS} are shown"));
    }
    format!("{text}; {read}\n")
}

fn count_text(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn config_problem(error: &ConfigError) -> Problem {
    if let Some(problem) = Problem::from_missing_config(error) {
        return problem;
    }
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let problem = Problem::unreadable(said.join("\n"));
    problem.maybe_hint(error.hint.as_deref())
}

fn finding_record(finding: &Finding) -> FindingRecord {
    let text = |bytes: &[u8]| bytes.to_str_lossy().into_owned();
    FindingRecord {
        rule: finding.rule,
        file: finding.spot.as_ref().map(|spot| text(&spot.name)),
        line: finding.spot.as_ref().map(|spot| spot.line),
        column: finding.spot.as_ref().map(|spot| spot.span.start + 1),
        name: text(&finding.name),
        message: finding.message.clone(),
        fix: finding.fix.clone(),
    }
}

/// Formats a finding: `file:line:column: message [rule]`, the line with its caret, the fix.
fn render_finding(finding: &Finding, painter: Painter) -> String {
    let message = mask_terminal_controls(&format!("{} [{}]", finding.message, finding.rule));
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
        let _ = writeln!(text, "    {} {}", painter.bold("fix:"), mask_terminal_controls(fix));
    }
    text
}

/// Removes and returns the findings about settings of other daemons.
fn take_findings_of_others(findings: &mut Vec<Finding>) -> Vec<Finding> {
    findings.extract_if(.., |finding| finding.rule == OUT_OF_SCOPE_RULE).collect()
}

/// Lists the settings of other daemons, one line per daemon.
fn list_by_reader(elsewhere: &[Finding]) -> String {
    let mut readers: BTreeMap<&str, String> = BTreeMap::new();
    for finding in elsewhere {
        let names = readers.entry(&finding.message).or_default();
        let comma = if names.is_empty() { "" } else { "," };
        let _ = write!(names, "{comma} {}", finding.name);
        if let Some(spot) = &finding.spot {
            let _ = write!(names, " ({}:{})", spot.name, spot.line);
        }
    }
    readers.iter().map(|(reader, names)| format!("not here, but for {reader}:{names}\n")).collect()
}
