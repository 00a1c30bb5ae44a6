//! Corrections that `--fix` applies: how they change a line, and the check that each of them is right.
//!
//! A correction is certain only if the corrected text proves it: the text is checked again, and the finding is gone, the
//! intended name is set, and no error has appeared. All others remain advice in words.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use htc_base::text::{Span, caseless};
use htc_config::Advice;
use htc_config::SharedText;
use htc_config::finding::{Finding, Replacement};
use htc_config::lint_rule::{LintRule, LintSeverity};
use htc_config::source_location::SourceLocation;
use htc_config::statement::split_line;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Maximum number of corrections that overlap in one line; each is checked by itself.
const MAX_LAYERS: usize = 4;

/// Maximum number of times that the corrections of one layer are checked together.
const MAX_ROUNDS: usize = 3;

/// Maximum number of lines that are checked one by one to find the correction that causes an error in another line.
const MAX_SINGLE_CHECKS: usize = 12;

/// Returns the findings after the texts of files were replaced, or `None` if they cannot be read.
pub(crate) type CorrectionCheck<'a> = dyn Fn(&[(PathBuf, Vec<u8>)]) -> Option<Vec<Finding>> + 'a;

/// Correction of one finding in one line.
#[derive(Clone, Debug)]
pub struct LineCorrection {
    /// Index of the finding.
    pub finding: usize,
    /// New text of a part of the line.
    pub replacement: Replacement,
}

/// Splits a replacement that inserts lines and keeps the beginning of the replaced text, so that other corrections can
/// change this part. Returns the removal of the text after the part, and the insertion before the part.
fn split_insertion(line: &[u8], replacement: &Replacement) -> Option<(Replacement, Replacement)> {
    let (start, end) = (replacement.span.start as usize, replacement.span.end as usize);
    let inserted = replacement.text.rfind_byte(b'\n')? + 1;
    let kept = replacement.text.get(inserted..).filter(|kept| !kept.is_empty())?;
    let kept_end = start + kept.len();
    if line.get(start..kept_end) != Some(kept) || kept_end > end {
        return None;
    }
    let insertion = Replacement { span: Span::new(start, start), text: replacement.text[..inserted].into() };
    Some((Replacement { span: Span::new(kept_end, end), text: BString::default() }, insertion))
}

/// Applies the corrections of a line from its end to its beginning, without those that overlap; returns the findings
/// whose corrections were applied.
pub fn correct_line(line: &mut BString, corrections: Vec<LineCorrection>) -> Vec<usize> {
    let mut insertions: Vec<LineCorrection> = Vec::new();
    let corrections = corrections.into_iter().map(|LineCorrection { finding, replacement }| {
        let Some((removal, insertion)) = split_insertion(line, &replacement) else {
            return LineCorrection { finding, replacement };
        };
        insertions.push(LineCorrection { finding, replacement: insertion });
        LineCorrection { finding, replacement: removal }
    });
    let mut corrections: Vec<LineCorrection> = corrections.collect();
    corrections.sort_by_key(|it| (it.replacement.span.start, it.replacement.span.end));
    let mut applied = Vec::new();
    let mut limit = line.len();
    let mut last: Option<Replacement> = None;
    for LineCorrection { finding, replacement } in corrections.into_iter().rev() {
        // Two findings may have the same correction.
        if last.as_ref() == Some(&replacement) {
            applied.push(finding);
            continue;
        }
        let (start, end) = (replacement.span.start as usize, replacement.span.end as usize);
        if start > end || end > limit {
            continue;
        }
        line.splice(start..end, replacement.text.iter().copied());
        limit = start;
        last = Some(replacement);
        applied.push(finding);
    }
    // Lines are inserted before all other changes of the line, and only if the rest of their correction was applied.
    for LineCorrection { finding, replacement } in insertions {
        let start = replacement.span.start as usize;
        if start <= limit && applied.contains(&finding) {
            line.splice(start..start, replacement.text.iter().copied());
            limit = start;
        }
    }
    applied
}

/// Removes the corrections that the corrected text does not prove right, so that only their advice in words remains.
///
/// `text_of` returns the text of the source at a place. `check` returns the findings after the texts of files were
/// replaced, or `None` if they cannot be read.
pub(crate) fn drop_wrong_corrections(
    findings: &mut [Finding],
    text_of: &dyn Fn(&SourceLocation) -> Option<BString>,
    check: &CorrectionCheck<'_>,
) {
    let mut waiting: Vec<usize> =
        (0..findings.len()).filter(|&at| findings[at].replacement.is_some()).collect();
    for _ in 0..MAX_LAYERS {
        if waiting.is_empty() {
            return;
        }
        waiting = check_layer(findings, waiting, text_of, check);
    }
    drop_corrections(findings, &waiting);
}

fn drop_corrections(findings: &mut [Finding], indices: &[usize]) {
    indices.iter().for_each(|&at| findings[at].replacement = None);
}

/// Checks the corrections that can be applied together; returns the others.
fn check_layer(
    findings: &mut [Finding],
    mut layer: Vec<usize>,
    text_of: &dyn Fn(&SourceLocation) -> Option<BString>,
    check: &CorrectionCheck<'_>,
) -> Vec<usize> {
    let mut later = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let corrected = CorrectedTexts::new(findings, &layer, text_of);
        later.extend(corrected.skipped.iter().copied());
        drop_corrections(findings, &corrected.impossible);
        layer.retain(|at| !corrected.skipped.contains(at) && !corrected.impossible.contains(at));
        if layer.is_empty() {
            return later;
        }
        let Some(after) = check(&corrected.texts()) else { break };
        let wrong = match corrected.wrong_corrections(findings, &after) {
            LayerResult::Wrong(wrong) => wrong,
            LayerResult::ErrorElsewhere => find_cause_elsewhere(findings, &corrected, text_of, check),
        };
        if wrong.is_empty() {
            return later;
        }
        drop_corrections(findings, &wrong);
        layer.retain(|at| !wrong.contains(at));
        if layer.is_empty() {
            return later;
        }
    }
    drop_corrections(findings, &layer);
    later
}

/// Returns the corrections of those lines that cause an error in another line.
fn find_cause_elsewhere(
    findings: &[Finding],
    corrected: &CorrectedTexts,
    text_of: &dyn Fn(&SourceLocation) -> Option<BString>,
    check: &CorrectionCheck<'_>,
) -> Vec<usize> {
    let lines = || corrected.files.values().flat_map(|file| file.lines.values());
    let all = || lines().flat_map(|line| line.findings.iter().copied()).collect();
    let count = lines().count();
    if count == 1 || count > MAX_SINGLE_CHECKS {
        return all();
    }
    let is_wrong = |line: &&CorrectedLine| {
        let alone = CorrectedTexts::new(findings, &line.findings, text_of);
        let after = check(&alone.texts());
        !after.is_some_and(|after| {
            matches!(alone.wrong_corrections(findings, &after), LayerResult::Wrong(wrong) if wrong.is_empty())
        })
    };
    let wrong: Vec<usize> = lines().filter(is_wrong).flat_map(|line| line.findings.iter().copied()).collect();
    if wrong.is_empty() { all() } else { wrong }
}

/// Result of checking the corrections of one layer.
enum LayerResult {
    /// Only these corrections are wrong; the list may be empty.
    Wrong(Vec<usize>),
    /// An error has appeared in a line that was not corrected.
    ErrorElsewhere,
}

/// Line with its corrections.
struct CorrectedLine {
    before: BString,
    after: BString,
    /// Findings whose corrections were applied.
    findings: Vec<usize>,
    /// Number of the first line of `after` in the corrected file.
    new_number: u32,
    /// Number of lines of `after`.
    count: u32,
}

/// File with its corrected lines, by number.
struct CorrectedFile {
    text: BString,
    /// Byte offset of each line.
    starts: Vec<usize>,
    lines: BTreeMap<u32, CorrectedLine>,
    /// Numbers of the corrected lines in the corrected file.
    new_lines: FxHashSet<u32>,
}

/// Files with the corrections of one layer applied.
struct CorrectedTexts {
    files: BTreeMap<SharedText, CorrectedFile>,
    /// Corrections that overlap others.
    skipped: Vec<usize>,
    /// Corrections that cannot be applied, for example because the text is not available.
    impossible: Vec<usize>,
}

impl CorrectedTexts {
    fn new(
        findings: &[Finding],
        indices: &[usize],
        text_of: &dyn Fn(&SourceLocation) -> Option<BString>,
    ) -> Self {
        let mut texts =
            CorrectedTexts { files: BTreeMap::new(), skipped: Vec::new(), impossible: Vec::new() };
        let mut by_line: BTreeMap<(&SharedText, u32), Vec<usize>> = BTreeMap::new();
        for &at in indices {
            match &findings[at].spot {
                Some(spot) => by_line.entry((&spot.name, spot.line)).or_default().push(at),
                None => texts.impossible.push(at),
            }
        }
        for ((name, number), found) in by_line {
            if !texts.files.contains_key(name) {
                let spot = findings[found[0]].spot.as_ref();
                let Some(text) = spot.and_then(text_of) else {
                    texts.impossible.extend(found);
                    continue;
                };
                texts.files.insert(name.clone(), CorrectedFile::new(text));
            }
            if let Some(file) = texts.files.get_mut(name) {
                let correction = |&at: &usize| {
                    let replacement = findings[at].replacement.clone()?;
                    Some(LineCorrection { finding: at, replacement })
                };
                let corrections: Vec<_> = found.iter().filter_map(correction).collect();
                let applied = file.correct(number, corrections);
                match applied.is_empty() {
                    true => texts.impossible.extend(found),
                    false => texts.skipped.extend(found.iter().filter(|at| !applied.contains(at))),
                }
            }
        }
        texts.files.values_mut().for_each(CorrectedFile::number_lines);
        texts
    }

    fn texts(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let of_file = |(name, file): (&SharedText, &CorrectedFile)| {
            (name.to_path_lossy().into_owned(), file.corrected_text())
        };
        self.files.iter().map(of_file).collect()
    }

    /// Compares the findings before and after the corrections.
    fn wrong_corrections(&self, before: &[Finding], after: &[Finding]) -> LayerResult {
        let mut wrong = Vec::new();
        let (old, new) = (RulesByLine::of(before), RulesByLine::of(after));
        for (name, file) in &self.files {
            for (number, line) in &file.lines {
                let (old, new) = (old.count(name, *number..number + 1), new.count(name, line.new_lines()));
                if !keeps_name(before, line) || !has_fewer_findings(before, line, &old, &new) {
                    wrong.extend(line.findings.iter().copied());
                }
            }
        }
        let (old, new) = (self.errors_elsewhere(before, false), self.errors_elsewhere(after, true));
        match wrong.is_empty() && has_new_error(&old, &new) {
            true => LayerResult::ErrorElsewhere,
            false => LayerResult::Wrong(wrong),
        }
    }

    /// Counts the errors in lines that were not corrected.
    fn errors_elsewhere(&self, findings: &[Finding], is_after: bool) -> ErrorCounts {
        let mut counts = ErrorCounts::default();
        for finding in findings.iter().filter(|finding| is_error(finding)) {
            let spot = finding.spot.as_ref();
            let is_corrected = spot.is_some_and(|spot| {
                self.files.get(&spot.name).is_some_and(|file| match is_after {
                    true => file.new_lines.contains(&spot.line),
                    false => file.lines.contains_key(&spot.line),
                })
            });
            if !is_corrected {
                let text = spot.map(|spot| spot.text.trim().to_vec()).unwrap_or_default();
                *counts.entry((finding.rule, text)).or_default() += 1;
            }
        }
        counts
    }
}

/// Number of errors by rule and text of the line.
type ErrorCounts = FxHashMap<(LintRule, Vec<u8>), usize>;

fn has_new_error(before: &ErrorCounts, after: &ErrorCounts) -> bool {
    after.iter().any(|(key, count)| before.get(key).is_none_or(|old| old < count))
}

fn is_error(finding: &Finding) -> bool {
    finding.rule.severity() == LintSeverity::Error
}

impl CorrectedLine {
    fn new_lines(&self) -> std::ops::Range<u32> {
        self.new_number..self.new_number + self.count
    }
}

impl CorrectedFile {
    fn new(text: BString) -> Self {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', &text).map(|end| end + 1)).collect();
        CorrectedFile { text, starts, lines: BTreeMap::new(), new_lines: FxHashSet::default() }
    }

    /// Corrects a line; returns the findings whose corrections were applied.
    fn correct(&mut self, number: u32, corrections: Vec<LineCorrection>) -> Vec<usize> {
        let Some(&start) = self.starts.get((number as usize).saturating_sub(1)) else { return Vec::new() };
        let end = self.starts.get(number as usize).copied().unwrap_or(self.text.len());
        let before = BString::from(&self.text[start..end]);
        let mut after = before.clone();
        let applied = correct_line(&mut after, corrections);
        if !applied.is_empty() {
            let findings = applied.clone();
            let count = u32::try_from(after.lines().count()).unwrap_or(u32::MAX);
            self.lines.insert(number, CorrectedLine { before, after, findings, new_number: number, count });
        }
        applied
    }

    /// Sets the new numbers of the corrected lines: a correction may insert lines.
    fn number_lines(&mut self) {
        let mut inserted = 0;
        for (number, line) in &mut self.lines {
            line.new_number = number + inserted;
            inserted += line.count.saturating_sub(1);
            self.new_lines.extend(line.new_lines());
        }
    }

    fn corrected_text(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len() + 64);
        for (at, line) in self.text.lines_with_terminator().enumerate() {
            let corrected = u32::try_from(at + 1).ok().and_then(|number| self.lines.get(&number));
            out.extend_from_slice(corrected.map_or(line, |line| &line.after));
        }
        out
    }
}

/// True if a corrected line sets the same name as before, or the name that a finding suggests, with the same prefixes.
fn keeps_name(findings: &[Finding], line: &CorrectedLine) -> bool {
    let (Some(old), Some(new)) = (name_set_by(&line.before), name_set_by(&line.after)) else { return true };
    let is_about = |at: &usize| caseless::eq(&findings[*at].name, old);
    if caseless::eq(old, new) || !line.findings.iter().any(is_about) {
        return true;
    }
    let dots = |name: &[u8]| name.iter().filter(|byte| **byte == b'.').count();
    let is_suggested = |at: &usize| match &findings[*at].fix {
        Some(Advice::DidYouMean(suggested) | Advice::Write(suggested)) => caseless::eq(suggested, new),
        _ => false,
    };
    dots(old) == dots(new) && line.findings.iter().any(is_suggested)
}

/// Returns the name that a line sets. A corrected line may begin with inserted comment lines.
fn name_set_by(line: &[u8]) -> Option<&[u8]> {
    let is_statement = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
    let line = line.lines().map(|line| line.trim()).find(is_statement)?;
    split_line(line).ok().map(|split| split.name)
}

/// Rules of the findings in each line.
struct RulesByLine<'a>(FxHashMap<(&'a [u8], u32), Vec<LintRule>>);

impl<'a> RulesByLine<'a> {
    fn of(findings: &'a [Finding]) -> Self {
        let mut rules: FxHashMap<(&[u8], u32), Vec<LintRule>> = FxHashMap::default();
        for finding in findings {
            if let Some(spot) = &finding.spot {
                rules.entry((&spot.name, spot.line)).or_default().push(finding.rule);
            }
        }
        RulesByLine(rules)
    }

    fn count(&self, name: &[u8], lines: std::ops::Range<u32>) -> FxHashMap<LintRule, usize> {
        let mut counts = FxHashMap::default();
        let rules = lines.filter_map(|line| self.0.get(&(name, line))).flatten();
        rules.for_each(|rule| *counts.entry(*rule).or_default() += 1);
        counts
    }
}

/// True if the corrected findings of a line are gone, and it has no new error.
fn has_fewer_findings(
    findings: &[Finding],
    line: &CorrectedLine,
    old: &FxHashMap<LintRule, usize>,
    new: &FxHashMap<LintRule, usize>,
) -> bool {
    // A comment in a value hides the other mistakes of the value.
    let is_comment = line.findings.iter().all(|&at| findings[at].rule == LintRule::CommentInValue);
    new.iter().all(|(rule, count)| {
        if is_comment && *rule != LintRule::CommentInValue && *rule != LintRule::Syntax {
            return true;
        }
        let corrected = line.findings.iter().filter(|&&at| findings[at].rule == *rule).count();
        let old = old.get(rule).copied().unwrap_or(0);
        *count <= old.saturating_sub(corrected) || corrected == 0 && rule.severity() != LintSeverity::Error
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_config::SourceId;

    fn finding(text: &str, rule: LintRule, (start, end): (usize, usize), new: &str) -> Finding {
        let spot = SourceLocation {
            source: SourceId::OVERLAY,
            name: b"file"[..].into(),
            line: 1,
            text: text.as_bytes().into(),
            span: Span::new(start, end),
        };
        Finding::at(rule, Some(spot), String::new(), None).replaced_by(new)
    }

    /// Returns the correction that remains after a check with these findings.
    fn check_correction(text: &str, found: Finding, after: &[Finding]) -> Option<Replacement> {
        let mut findings = [found];
        drop_wrong_corrections(&mut findings, &|_| Some(text.into()), &|_| Some(after.to_vec()));
        let [finding] = findings;
        finding.replacement
    }

    #[test]
    fn a_comment_is_moved_before_a_corrected_statement() {
        let mut line = BString::from("NUM_CPU = 4 # cores\n");
        let correction = |finding, (start, end), text: &str| LineCorrection {
            finding,
            replacement: Replacement { span: Span::new(start, end), text: text.into() },
        };
        let moved = correction(1, (0, 19), "# cores\nNUM_CPU = 4");
        let mut done = correct_line(&mut line, vec![moved, correction(2, (0, 7), "NUM_CPUS")]);
        done.sort_unstable();
        assert_eq!((line.as_bstr(), done), (b"# cores\nNUM_CPUS = 4\n".as_bstr(), vec![1, 2]));
    }

    #[test]
    fn a_correction_is_kept_if_the_finding_is_gone() {
        let wrong = finding("A = b", LintRule::BadValue, (4, 5), "1");
        assert!(check_correction("A = b\n", wrong.clone(), &[]).is_some());
        assert!(check_correction("A = b\n", wrong.clone(), std::slice::from_ref(&wrong)).is_none());
        let error = finding("A = 1", LintRule::BadExpression, (4, 5), "");
        assert!(check_correction("A = b\n", wrong.clone(), &[error]).is_none());
        let note = finding("A = 1", LintRule::UnusedMacro, (4, 5), "");
        assert!(check_correction("A = b\n", wrong, &[note]).is_some());
    }

    #[test]
    fn a_correction_may_not_set_another_name() {
        let mut wrong = finding("SHEDD.A = 1", LintRule::UnknownParameter, (0, 7), "SCHEDD");
        wrong.name = b"SHEDD.A"[..].into();
        wrong.fix = Some(Advice::DidYouMean("SCHEDD".into()));
        assert!(check_correction("SHEDD.A = 1\n", wrong.clone(), &[]).is_none());
        wrong.fix = Some(Advice::DidYouMean("SCHEDD.A".into()));
        wrong = wrong.replaced_by("SCHEDD.A");
        assert!(check_correction("SHEDD.A = 1\n", wrong, &[]).is_some());
    }
}
