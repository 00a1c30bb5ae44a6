//! `--fix` and `--diff`: application of corrections that are certain.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::file_problem::file_problem;
use super::replace_file::replace_file;
use crate::cli::common::Problem;
use crate::config::SharedText;
use crate::config::finding::Finding;
use crate::lint::corrections::{LineCorrection, correct_line};

/// Maximum number of times that corrected texts are checked again, for mistakes that were hidden by corrected ones.
const MAX_RECHECKS: usize = 3;

/// Function that returns the findings after the texts of files were replaced, or `None` if they cannot be checked again.
pub(in crate::cli) type Recheck<'a> = dyn Fn(&[(PathBuf, Vec<u8>)]) -> Option<Vec<Finding>> + 'a;

/// A file with its corrections.
#[derive(Debug)]
pub(super) struct CorrectedFile {
    path: PathBuf,
    /// Lines of the file with their newlines, before the corrections and after them. A corrected line may consist of
    /// several lines.
    before: Vec<BString>,
    after: Vec<BString>,
}

impl CorrectedFile {
    /// Reads a file, or returns `None` if it is not a regular file that can be read.
    fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        let is_file = std::fs::metadata(path).is_ok_and(|status| status.is_file());
        let Some(text) = is_file.then(|| std::fs::read(path).ok()).flatten() else { return Ok(None) };
        if text.contains(&0) {
            return Err(Problem::unreadable(format!("'{}' is not a text file", path.display())).into());
        }
        let before: Vec<BString> = text.lines_with_terminator().map(BString::from).collect();
        Ok(Some(CorrectedFile { path: path.to_owned(), after: before.clone(), before }))
    }

    fn corrected_text(&self) -> Vec<u8> {
        self.after.iter().flat_map(|line| line.iter().copied()).collect()
    }

    /// Returns, for each line of the original text, the number of its first line in the corrected text.
    fn line_numbers(&self) -> Vec<u32> {
        let mut next = 1;
        let number = |line: &BString| {
            let number = next;
            next += u32::try_from(line.lines_with_terminator().count()).unwrap_or(u32::MAX);
            number
        };
        self.after.iter().map(number).collect()
    }

    /// Corrects line `number` of the corrected text if it is still the line that was checked. Returns the findings
    /// whose corrections were applied. `numbers` is the result of [`Self::line_numbers`].
    fn correct(&mut self, number: u32, corrections: LineCorrections<'_>, numbers: &[u32]) -> Vec<usize> {
        let Some(at) = numbers.partition_point(|first| *first <= number).checked_sub(1) else {
            return Vec::new();
        };
        let lines = &mut self.after[at];
        let skipped = (number - numbers[at]) as usize;
        let start = lines.lines_with_terminator().take(skipped).map(<[u8]>::len).sum::<usize>();
        let Some(line) = lines[start..].lines_with_terminator().next() else { return Vec::new() };
        if line.trim_end_with(|c| c == '\n') != corrections.text.as_bytes() {
            return Vec::new();
        }
        let (end, mut line) = (start + line.len(), BString::from(line));
        let applied = correct_line(&mut line, corrections.corrections);
        if !applied.is_empty() {
            lines.splice(start..end, line.iter().copied());
        }
        applied
    }
}

/// Corrections of one line, and its text when it was checked.
struct LineCorrections<'a> {
    text: &'a SharedText,
    corrections: Vec<LineCorrection>,
}

/// Corrections of all files.
#[derive(Debug, Default)]
pub(super) struct CorrectionPlan {
    pub(super) files: Vec<CorrectedFile>,
    /// Number of corrections.
    count: usize,
    /// Findings that are not corrected.
    remaining: Vec<Finding>,
}

impl CorrectionPlan {
    /// Returns the findings that are not corrected, with their locations in the corrected files.
    pub(super) fn into_remaining(self) -> Vec<Finding> {
        self.remaining
    }

    fn corrected_texts(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.files.iter().map(|file| (file.path.clone(), file.corrected_text())).collect()
    }

    /// Applies the corrections of findings to the corrected texts. Returns true if there are any.
    fn add(&mut self, findings: Vec<Finding>) -> anyhow::Result<bool> {
        let mut by_file: BTreeMap<&SharedText, BTreeMap<u32, LineCorrections<'_>>> = BTreeMap::new();
        for (at, finding) in findings.iter().enumerate() {
            if let (Some(spot), Some(replacement)) = (&finding.spot, &finding.replacement) {
                let empty = || LineCorrections { text: &spot.text, corrections: Vec::new() };
                let line = by_file.entry(&spot.name).or_default().entry(spot.line).or_insert_with(empty);
                line.corrections.push(LineCorrection { finding: at, replacement: replacement.clone() });
            }
        }
        let mut corrected = Vec::new();
        for (name, lines) in by_file {
            let path = name.to_path_lossy();
            if !self.files.iter().any(|file| file.path == path) {
                self.files.extend(CorrectedFile::read(&path)?);
            }
            let Some(file) = self.files.iter_mut().find(|file| file.path == path) else { continue };
            let numbers = file.line_numbers();
            // A correction may insert lines, so the last line is corrected first.
            for (number, corrections) in lines.into_iter().rev() {
                corrected.extend(file.correct(number, corrections, &numbers));
            }
        }
        self.files.retain(|file| file.before != file.after);
        corrected.sort_unstable();
        self.count += corrected.len();
        let is_left = |at: usize| corrected.binary_search(&at).is_err();
        let left = findings.into_iter().enumerate().filter(|(at, _)| is_left(*at));
        self.remaining = left.map(|(_, finding)| finding).collect();
        Ok(!corrected.is_empty())
    }
}

/// Collects the corrections of findings whose lines have not changed since they were checked, and of mistakes that
/// become visible after these corrections.
///
/// # Errors
/// Returns an error if a file with corrections is not a text file.
pub(super) fn plan(findings: Vec<Finding>, recheck: &Recheck<'_>) -> anyhow::Result<CorrectionPlan> {
    let mut plan = CorrectionPlan::default();
    let mut has_corrected = plan.add(findings)?;
    for _ in 0..MAX_RECHECKS {
        if !has_corrected {
            break;
        }
        let Some(after) = recheck(&plan.corrected_texts()) else { break };
        has_corrected = plan.add(after)?;
    }
    Ok(plan)
}

/// Writes the corrected files, and returns the number of corrections.
pub(super) fn apply(plan: &CorrectionPlan) -> anyhow::Result<usize> {
    for file in &plan.files {
        replace_file(&file.path, &file.corrected_text())
            .map_err(|error| file_problem("write", &file.path, error))?;
    }
    Ok(plan.count)
}

/// Returns a description of each corrected line: its location, its old and its new text.
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

/// Returns the number of lines of a corrected text, into which corrections may have inserted lines.
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
