//! `--fix` and `--diff`: corrections that are certain.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::file_problem::file_problem;
use super::replace_file::replace_file;
use crate::cli::common::Problem;
use crate::config::SharedText;
use crate::config::finding::Finding;
use crate::lint::corrections::{LineCorrection, correct_line};

/// A file with its corrections.
#[derive(Debug)]
pub(super) struct CorrectedFile {
    path: PathBuf,
    /// Lines of the file, each with its line end, before and after the corrections.
    before: Vec<BString>,
    after: Vec<BString>,
}

/// Corrections of all files.
#[derive(Debug, Default)]
pub(super) struct CorrectionPlan {
    pub(super) files: Vec<CorrectedFile>,
    /// Indexes of the findings that are corrected.
    corrected: Vec<usize>,
}

impl CorrectionPlan {
    /// Returns the findings that are not corrected.
    pub(super) fn remaining(&self, findings: Vec<Finding>) -> Vec<Finding> {
        let is_left = |at: &usize| self.corrected.binary_search(at).is_err();
        findings.into_iter().enumerate().filter(|(at, _)| is_left(at)).map(|(_, finding)| finding).collect()
    }
}

/// Collects the corrections of findings whose files still have the lines that were read.
///
/// # Errors
/// A file with corrections is not a text file.
pub(super) fn plan(findings: &[Finding]) -> anyhow::Result<CorrectionPlan> {
    let mut by_file: BTreeMap<&SharedText, BTreeMap<u32, Vec<LineCorrection>>> = BTreeMap::new();
    let mut texts: BTreeMap<(&SharedText, u32), &SharedText> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        if let (Some(spot), Some(replacement)) = (&finding.spot, &finding.replacement) {
            let line = by_file.entry(&spot.name).or_default().entry(spot.line).or_default();
            line.push(LineCorrection { finding: at, replacement: replacement.clone() });
            texts.insert((&spot.name, spot.line), &spot.text);
        }
    }
    let mut plan = CorrectionPlan::default();
    for (name, lines) in by_file {
        let path = name.to_path_lossy().into_owned();
        let is_file = std::fs::metadata(&path).is_ok_and(|status| status.is_file());
        let Some(text) = is_file.then(|| std::fs::read(&path).ok()).flatten() else { continue };
        if text.contains(&0) {
            return Err(Problem::unreadable(format!("'{}' is not a text file", path.display())).into());
        }
        let before: Vec<BString> = text.lines_with_terminator().map(BString::from).collect();
        let mut after = before.clone();
        let mut is_changed = false;
        for (number, corrections) in lines {
            let Some(line) = after.get_mut(number as usize - 1) else { continue };
            let expected = texts.get(&(name, number));
            if expected.is_none_or(|expected| line.trim_end_with(|c| c == '\n') != expected.as_bytes()) {
                continue;
            }
            for finding in correct_line(line, corrections) {
                plan.corrected.push(finding);
                is_changed = true;
            }
        }
        if is_changed {
            plan.files.push(CorrectedFile { path, before, after });
        }
    }
    plan.corrected.sort_unstable();
    Ok(plan)
}

/// Writes the corrected files; returns the number of corrections.
pub(super) fn apply(plan: &CorrectionPlan) -> anyhow::Result<usize> {
    for file in &plan.files {
        let text: Vec<u8> = file.after.iter().flat_map(|line| line.iter().copied()).collect();
        replace_file(&file.path, &text).map_err(|error| file_problem("write", &file.path, error))?;
    }
    Ok(plan.corrected.len())
}

/// Describes each corrected line: its place, the old text and the new one.
pub(super) fn describe(plan: &CorrectionPlan) -> Vec<String> {
    let mut described = Vec::new();
    for file in &plan.files {
        for (at, (before, after)) in file.before.iter().zip(&file.after).enumerate() {
            if before != after {
                let new: Vec<&[u8]> = after.lines().map(<[u8]>::trim).collect();
                described.push(format!(
                    "{}:{}: '{}' is now '{}'",
                    file.path.display(),
                    at + 1,
                    before.trim().as_bstr(),
                    BString::from(bstr::join("' and '", new))
                ));
            }
        }
    }
    described
}

/// Number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// Renders the corrections as a unified diff.
pub(super) fn render_diff(plan: &CorrectionPlan) -> Vec<u8> {
    plan.files.iter().flat_map(render_file_diff).collect()
}

fn render_file_diff(file: &CorrectedFile) -> Vec<u8> {
    let CorrectedFile { path, before, after } = file;
    let mut out = header(path);
    let changed: Vec<usize> = (0..before.len()).filter(|&at| before[at] != after[at]).collect();
    let mut changed = changed.into_iter().peekable();
    while let Some(first) = changed.next() {
        let mut last = first;
        while let Some(next) = changed.next_if(|&next| next <= last + 2 * CONTEXT) {
            last = next;
        }
        let (start, end) = (first.saturating_sub(CONTEXT), (last + CONTEXT + 1).min(before.len()));
        let count = end - start;
        let new_count = count_lines(&after[start..end]);
        let new_start = count_lines(&after[..start]) + 1;
        out.extend_from_slice(format!("@@ -{},{count} +{new_start},{new_count} @@\n", start + 1).as_bytes());
        for at in start..end {
            if before[at] == after[at] {
                push_line(&mut out, b' ', &before[at]);
            } else {
                push_line(&mut out, b'-', &before[at]);
                after[at].lines_with_terminator().for_each(|line| push_line(&mut out, b'+', line));
            }
        }
    }
    out
}

/// Returns the number of lines of corrected lines: a correction may insert a line.
fn count_lines(lines: &[BString]) -> usize {
    lines.iter().map(|line| line.lines_with_terminator().count()).sum()
}

fn header(path: &Path) -> Vec<u8> {
    format!("--- {0}\n+++ {0}\n", path.display()).into_bytes()
}

fn push_line(out: &mut Vec<u8>, mark: u8, line: &[u8]) {
    out.push(mark);
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}
