//! Findings as diagnostics of the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use htc_base::text::Span;
use htc_base::world::World;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintSeverity;
use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Position, Range};

use crate::configuration::{CheckOutcome, LoadedConfiguration};
use crate::documents::DocumentLanguage;
use crate::overlay_world::OverlayWorld;
use crate::positions::LineIndex;
use crate::workspace::Workspace;

/// Name of the program in diagnostics.
pub(crate) const SOURCE: &str = "htc-config-dump";

/// Lines of one file, as findings and as editors count them.
pub(crate) struct FileLines<'a> {
    text: &'a [u8],
    lines: LineIndex,
    /// Starts of the lines that end with `\n`.
    starts: Vec<usize>,
}

impl<'a> FileLines<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|at| at + 1)).collect();
        FileLines { text, lines: LineIndex::new(text), starts }
    }

    /// Returns the range of a span in a line. `line` counts from 1.
    pub(crate) fn range(&self, line: u32, span: Span) -> Range {
        let start = self.starts.get((line as usize).saturating_sub(1)).copied().unwrap_or(self.text.len());
        let place = Span::new(start + span.start as usize, start + span.end.max(span.start) as usize);
        self.lines.range(self.text, place)
    }

    /// Returns the content of a line. `line` counts from 1.
    pub(crate) fn line(&self, line: u32) -> Option<&'a [u8]> {
        let start = *self.starts.get((line as usize).checked_sub(1)?)?;
        self.text[start..].split(|&byte| byte == b'\n').next()
    }
}

/// Returns the diagnostics of all files that have any, and an empty list for each open document that has none.
pub fn collect_diagnostics(
    workspace: &mut Workspace,
    world: &OverlayWorld<'_>,
) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
    workspace.check(world);
    let mut all: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
    for document in workspace.documents().iter() {
        let diagnostics = all.entry(document.path.clone()).or_default();
        if workspace.language(document) == DocumentLanguage::Rules {
            let lines = FileLines::new(document.text());
            let findings = workspace.check_rules(document, world);
            diagnostics.extend(findings.iter().map(|finding| diagnostic_in_file(finding, &lines)));
        }
    }
    for (configuration, outcome) in workspace.outcomes() {
        add_outcome(configuration, outcome, world, &mut all);
    }
    for diagnostics in all.values_mut() {
        // Two configurations may include the same file.
        let mut known = BTreeSet::new();
        diagnostics.retain(|one| {
            let code = match &one.code {
                Some(NumberOrString::String(code)) => code.clone(),
                _ => String::new(),
            };
            known.insert((one.range.start, one.range.end, code, one.message.clone()))
        });
    }
    all
}

fn add_outcome(
    configuration: &LoadedConfiguration,
    outcome: &CheckOutcome,
    world: &OverlayWorld<'_>,
    all: &mut BTreeMap<PathBuf, Vec<Diagnostic>>,
) {
    let Some(root) = root_of(configuration, world) else { return };
    match outcome {
        CheckOutcome::Unreadable(error) => {
            let messages: Vec<String> =
                error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
            let message = messages.join("\n").trim().to_owned();
            all.entry(root).or_default().push(diagnostic_at_start(LintSeverity::Error, None, message));
        }
        CheckOutcome::Findings(findings) => {
            let mut lines: BTreeMap<&Path, FileLines<'_>> = BTreeMap::new();
            for finding in findings {
                let path = finding.spot.as_ref().and_then(|spot| configuration.path(spot.source));
                let text = path.and_then(|path| Some((path, configuration.text(path)?)));
                match text {
                    Some((path, text)) => {
                        let lines = lines.entry(path).or_insert_with(|| FileLines::new(text));
                        all.entry(path.to_owned()).or_default().push(diagnostic_in_file(finding, lines));
                    }
                    None => all.entry(root.clone()).or_default().push(diagnostic_without_file(finding)),
                }
            }
        }
    }
}

/// Returns the file that diagnostics without a place belong to.
fn root_of(configuration: &LoadedConfiguration, world: &OverlayWorld<'_>) -> Option<PathBuf> {
    configuration.root_path().map(Path::to_owned).or_else(|| {
        let root = configuration.config().root.as_ref()?;
        Some(world.document_path(&root.to_path_lossy()))
    })
}

fn severity(severity: LintSeverity) -> DiagnosticSeverity {
    match severity {
        LintSeverity::Error => DiagnosticSeverity::ERROR,
        LintSeverity::Warning => DiagnosticSeverity::WARNING,
        LintSeverity::Note => DiagnosticSeverity::INFORMATION,
    }
}

fn message(finding: &Finding) -> String {
    match &finding.fix {
        Some(fix) => format!("{}\nfix: {fix}", finding.message),
        None => finding.message.clone(),
    }
}

fn diagnostic_in_file(finding: &Finding, lines: &FileLines<'_>) -> Diagnostic {
    let range = finding.spot.as_ref().map(|spot| lines.range(spot.line, spot.span)).unwrap_or_default();
    let code = finding.rule.name();
    Diagnostic { range, ..diagnostic_at_start(finding.rule.severity(), Some(code), message(finding)) }
}

/// Returns the diagnostic for a finding in the output of a command, on the command line, or about the configuration as
/// a whole.
fn diagnostic_without_file(finding: &Finding) -> Diagnostic {
    let place = finding.spot.as_ref();
    let place = place.map_or_else(String::new, |spot| format!("{}, line {}: ", spot.name, spot.line));
    let message = format!("{place}{}", message(finding));
    diagnostic_at_start(finding.rule.severity(), Some(finding.rule.name()), message)
}

fn diagnostic_at_start(level: LintSeverity, code: Option<&str>, message: String) -> Diagnostic {
    Diagnostic {
        range: Range::new(Position::new(0, 0), Position::new(0, 0)),
        severity: Some(severity(level)),
        code: code.map(|code| NumberOrString::String(code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message,
        ..Diagnostic::default()
    }
}

/// Returns the findings of the checked configurations that are in this file.
pub(crate) fn findings_in_file<'w>(
    workspace: &'w Workspace,
    path: &'w Path,
) -> impl Iterator<Item = &'w Finding> {
    workspace.outcomes().flat_map(move |(configuration, outcome)| {
        let findings = match outcome {
            CheckOutcome::Findings(findings) => &findings[..],
            CheckOutcome::Unreadable(_) => &[],
        };
        findings.iter().filter(move |finding| {
            finding.spot.as_ref().is_some_and(|spot| configuration.path(spot.source) == Some(path))
        })
    })
}

/// Returns the findings about an open document, which is part of a configuration or a rules file.
pub(crate) fn document_findings(workspace: &Workspace, path: &Path, world: &dyn World) -> Vec<Finding> {
    match workspace.documents().by_path(path) {
        Some(document) if workspace.language(document) == DocumentLanguage::Rules => {
            workspace.check_rules(document, world)
        }
        _ => findings_in_file(workspace, path).cloned().collect(),
    }
}
