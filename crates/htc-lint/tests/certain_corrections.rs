//! Corrections that `lint --fix` applies: each leaves a text without the finding and without a new error.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use htc_config::finding::Finding;
use htc_config::lint_rule::{ExampleLanguage, LintRule, LintSeverity};
use htc_config::target_version::TargetVersion;
use htc_config::{LoadOptions, LookupContext};
use htc_lint::corrections::{LineCorrection, correct_line};
use htc_lint::daemons::LintRequest;
use htc_lint::daemons::rules_file::lint_rules_file;
use htc_os::RealWorld;

/// Returns the findings in a configuration of one file.
fn lint_config(file: &Path, text: &[u8]) -> Vec<Finding> {
    std::fs::write(file, text).unwrap();
    let files = [file.to_owned()];
    let request = LintRequest {
        context: &LookupContext::default(),
        options: &LoadOptions { environment: false, ..LoadOptions::default() },
        files: &files,
        only_unsupported: false,
        used_by: &[],
        version: TargetVersion::default(),
        redact: false,
        checks_corrections: true,
    };
    request.lint_config(&RealWorld::new()).unwrap().findings
}

/// Applies the corrections of all findings; returns the text, and the lines that were corrected with the rules of their
/// findings.
fn apply(text: &[u8], findings: &[Finding]) -> (BString, Vec<(u32, LintRule)>) {
    let mut out = BString::default();
    let mut corrected = Vec::new();
    let mut new_number = 0;
    for (line, number) in text.lines_with_terminator().zip(1u32..) {
        let is_on_line = |finding: &Finding| finding.spot.as_ref().is_some_and(|spot| spot.line == number);
        let corrections = findings.iter().enumerate().filter(|(_, finding)| is_on_line(finding));
        let corrections: Vec<LineCorrection> = corrections
            .filter_map(|(finding, it)| {
                Some(LineCorrection { finding, replacement: it.replacement.clone()? })
            })
            .collect();
        let mut line = BString::from(line);
        let applied = correct_line(&mut line, corrections);
        for after in line.lines_with_terminator() {
            new_number += 1;
            corrected.extend(applied.iter().map(|&at| (new_number, findings[at].rule)));
            out.extend_from_slice(after);
        }
    }
    (out, corrected)
}

/// Corrects a text as `--fix` does, which repeats the corrections because one mistake may hide another; checks the result, and
/// checks that there is no further correction.
fn correct(text: &str, lint: &dyn Fn(&[u8]) -> Vec<Finding>) -> BString {
    const MAX_STEPS: usize = 4;
    let mut text = BString::from(text);
    for _ in 0..MAX_STEPS {
        let before = lint(&text);
        let (after, corrected) = apply(&text, &before);
        if corrected.is_empty() {
            return text;
        }
        let left = lint(&after);
        let line_of = |finding: &Finding| finding.spot.as_ref().map_or(0, |spot| spot.line);
        for finding in &left {
            let is_new = |other: &Finding| other.rule == finding.rule;
            let count = |all: &[Finding]| all.iter().filter(|other| is_new(other)).count();
            let is_error = finding.rule.severity() == LintSeverity::Error;
            let is_corrected = corrected.contains(&(line_of(finding), finding.rule));
            let was_hidden = corrected.contains(&(line_of(finding), LintRule::CommentInValue));
            assert!(
                was_hidden
                    || count(&left) <= count(&before) && (!is_corrected || count(&left) < count(&before))
                    || !is_error && !is_corrected,
                "{text}\nbecame\n{after}\n{finding:#?}"
            );
        }
        text = after;
    }
    panic!("{text}: a second run changes the text again");
}

fn read_data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lint").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// All sets of mistakes in configurations.
const SETS: [&str; 15] = [
    "one-line-1.txt",
    "one-line-2.txt",
    "one-line-3.txt",
    "one-line-4.txt",
    "one-line-5.txt",
    "one-line-6.txt",
    "one-line-10.txt",
    "one-line-11.txt",
    "one-line-12.txt",
    "types-4.txt",
    "parts-7.txt",
    "parts-8.txt",
    "parts-9.txt",
    "families-8.txt",
    "families-9.txt",
];

/// Returns the configurations of a set.
fn samples(set: &str) -> Vec<String> {
    let text = read_data(set);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("{}\n", line.strip_prefix('-').unwrap_or(line).replace("\\n", "\n"))).collect()
}

fn config_file(place: &tempfile::TempDir) -> PathBuf {
    place.path().join("condor_config")
}

#[test]
fn corrected_samples_are_as_intended() {
    let place = tempfile::tempdir().unwrap();
    let file = config_file(&place);
    let mut wrong = Vec::new();
    for row in read_data("corrections-10.tsv").lines() {
        let (before, after) = row.split_once('\t').unwrap();
        let [before, after] = [before, after].map(|text| format!("{}\n", text.replace("\\n", "\n")));
        let found = correct(&before, &|text| lint_config(&file, text));
        if found != after {
            wrong.push(format!("{before}{found}, not {after}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn corrections_of_all_samples_leave_no_error() {
    let place = tempfile::tempdir().unwrap();
    let file = config_file(&place);
    for text in SETS.iter().flat_map(|set| samples(set)) {
        correct(&text, &|text| lint_config(&file, text));
    }
}

/// A comment in the value of a line with another mistake, and two mistakes in neighbouring lines, are corrected together.
#[test]
fn several_mistakes_are_corrected_in_one_run() {
    let place = tempfile::tempdir().unwrap();
    let file = config_file(&place);
    let all: Vec<String> = SETS.iter().flat_map(|set| samples(set)).collect();
    let is_one_line = |text: &&String| text.lines().count() == 1;
    let lines: Vec<&String> = all.iter().filter(is_one_line).step_by(3).collect();
    let is_name = |line: &&&String| {
        let found = lint_config(&file, line.as_bytes());
        found.iter().all(|finding| finding.rule == LintRule::UnknownParameter)
    };
    for line in lines.iter().filter(is_name) {
        correct(&format!("{} # remark\n", line.trim_end()), &|text| lint_config(&file, text));
    }
    for pair in lines.chunks(2).filter(|pair| pair.len() == 2) {
        correct(&format!("{}{}", pair[0], pair[1]), &|text| lint_config(&file, text));
    }
}

#[test]
fn corrections_of_the_examples_of_all_rules_leave_no_error() {
    let place = tempfile::tempdir().unwrap();
    let file = config_file(&place);
    for &rule in LintRule::ALL {
        let text = format!("{}\n", rule.description().wrong);
        match rule.example_language() {
            ExampleLanguage::Config => drop(correct(&text, &|text| lint_config(&file, text))),
            ExampleLanguage::Rules => {
                let world = RealWorld::new();
                drop(correct(&text, &|text| lint_rules_file("rules", text, None, &world)));
            }
            _ => {}
        }
    }
}
