//! `htc-router-translate lint`: reports mistakes in transform rules.

use std::io::Write;
use std::sync::Arc;

use bstr::ByteSlice as _;
use clap::Args;
use rustc_hash::FxHashMap;

use super::rules::{self, RulesOptions};
use crate::cli::common::{ConfigOptions, OutputOptions, ProgramContext as Program, Status, stdout};
use crate::config::MacroSource;
use crate::lint::transforms as lint;
use crate::lint::transforms::TransformFinding;
use crate::os::RealWorld;
use crate::quirks::QuirkMode;
use crate::runner::configured_world;
use crate::text::LineCounter;
use crate::text::caret::Caret;
use crate::text::control_characters::mask_terminal_controls;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct LintArguments {
    #[command(flatten)]
    rules: RulesOptions,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    output: OutputOptions,
    /// Further rules files
    #[arg(value_name = "FILE")]
    files: Vec<std::path::PathBuf>,
}

/// Runs the verb: status 0 if nothing was found, 1 otherwise, 3 if a transform cannot be loaded.
pub(super) fn run(arguments: &LintArguments, program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let config = rules::load_config(&arguments.config, &arguments.rules, &world, program)?;
    let world = match &config {
        Some(config) => configured_world(world, config, &mut |text| program.warn(text)),
        None => world,
    };
    let view = config.as_ref().map(|config| config.view(&world));
    let mut named = arguments.rules.clone();
    named.rules.extend(arguments.files.iter().cloned());
    // A configuration without further rules: the whole router is checked.
    let named = named.or_all_of_router(view.as_ref());
    let transforms = rules::load_usable(&named, QuirkMode::Manual, view.as_ref(), &world, program)?;
    let knobs = view.as_ref().map(|view| view as &dyn MacroSource);
    let mut findings = Vec::new();
    for (transform, runner) in &transforms.transforms {
        findings.extend(lint::lint(transform, *runner, knobs, &world));
    }
    let mut out = stdout();
    if arguments.output.wants_json() {
        let records: Vec<_> = findings
            .iter()
            .zip(line_numbers(&findings))
            .map(|(finding, line)| finding_to_json(finding, line))
            .collect();
        if arguments.output.jsonl {
            for record in &records {
                writeln!(out, "{record}")?;
            }
        } else {
            writeln!(out, "{}", serde_json::to_string_pretty(&records)?)?;
        }
    } else {
        print_findings(&findings, &mut out)?;
    }
    out.flush()?;
    if !findings.is_empty() && !arguments.output.quiet {
        program.write_stderr(&format!(
            "{}: {} finding{}\n",
            program.name(),
            findings.len(),
            rules::plural_suffix(findings.len())
        ));
    }
    Ok(match (transforms.broken, findings.len()) {
        (0, 0) => Status::Done,
        (0, _) => Status::No,
        _ => Status::Unreadable,
    })
}

/// Maximum number of findings of one rule in one source that are printed: a file that is not a rules file may
/// have millions.
const MAX_SHOWN_PER_RULE: usize = 100;

/// Prints findings, and the number of further ones for each rule that exceeds the maximum.
fn print_findings(findings: &[TransformFinding], out: &mut impl Write) -> std::io::Result<()> {
    let mut counts = FxHashMap::default();
    let mut cut: Vec<&TransformFinding> = Vec::new();
    let of = |finding: &TransformFinding| (finding.rule, Arc::as_ptr(&finding.line.source));
    for (finding, line) in findings.iter().zip(line_numbers(findings)) {
        let source = &finding.line.source;
        let count = counts.entry(of(finding)).or_insert(0);
        *count += 1;
        if *count == MAX_SHOWN_PER_RULE + 1 {
            cut.push(finding);
        }
        if *count > MAX_SHOWN_PER_RULE {
            continue;
        }
        let span = finding.line.span(finding.at.0, finding.at.1);
        let caret = Caret { source: &source.name, text: &source.text, span };
        let message = mask_terminal_controls(&format!(
            "{}: {} [{}]",
            finding.rule.severity().word(),
            finding.message,
            finding.rule
        ));
        writeln!(out, "{}", caret.numbered_line(line).render(&message))?;
        writeln!(out, "    fix: {}", mask_terminal_controls(&finding.fix))?;
    }
    for finding in cut {
        let (more, name) = (counts[&of(finding)] - MAX_SHOWN_PER_RULE, &finding.line.source.name);
        writeln!(out, "{name}: {more} more like these [{}]; --json has them", finding.rule)?;
    }
    Ok(())
}

/// Returns the line number of each finding.
fn line_numbers(findings: &[TransformFinding]) -> impl Iterator<Item = u32> {
    let mut counted: Option<(&Arc<_>, LineCounter<'_>)> = None;
    findings.iter().map(move |finding| {
        let source = &finding.line.source;
        let counter = match &mut counted {
            Some((of, counter)) if Arc::ptr_eq(of, source) => counter,
            other => &mut other.insert((source, LineCounter::new(&source.text))).1,
        };
        counter.line(finding.line.span(finding.at.0, finding.at.0).start)
    })
}

fn finding_to_json(finding: &TransformFinding, line: u32) -> serde_json::Value {
    let source = &finding.line.source;
    let span = finding.line.span(finding.at.0, finding.at.0);
    let before = &source.text[..source.text.len().min(span.start as usize)];
    let column = before.len() - before.rfind_byte(b'\n').map_or(0, |newline| newline + 1) + 1;
    serde_json::json!({
        "file": source.name,
        "line": line,
        "column": column,
        "end_column": column + finding.at.1.saturating_sub(finding.at.0),
        "rule": finding.rule,
        "severity": finding.rule.severity().word(),
        "message": finding.message,
        "fix": finding.fix,
    })
}
