//! Comparison of the result of a suite case with its expectations.

use std::fmt::Display;
use std::path::PathBuf;

use bstr::ByteSlice;

use super::call::{CallEnding, CallOutcome, HookExecution};
use super::call_findings::find_problems;
use super::expectation;
use super::finding::Finding;
use super::judge::judge_call;
use super::suite::{Expect, SuiteCase};
use super::suite_case::ParsedExpectations;
use super::suite_hook::CallableHookCase;
use super::verdict::Verdict;
use htc_base::process::Exit;
use htc_base::world::World;
use htc_classad::ClassAd;

/// Result of a suite case.
#[derive(Clone, Debug, Default)]
pub struct CaseResult {
    /// Name of the suite and the case.
    pub name: String,
    /// Duration of the case in seconds.
    pub seconds: f64,
    /// Descriptions of the failures; empty if the case passed.
    pub failures: Vec<String>,
    /// Names of the keys in `expect` that were not met.
    pub unmet: Vec<&'static str>,
    /// Reason why the case was skipped, or `None`.
    pub skipped: Option<String>,
    /// Verdict, or `None` if the hook could not be called.
    pub verdict: Option<Verdict>,
    /// Outcome of the hook call, or `None` if the hook was not called.
    pub outcome: Option<CallOutcome>,
    /// Words of the findings other than notes.
    pub findings: Vec<&'static str>,
    /// Path of the suite file, and the index of the case in it.
    pub source: (PathBuf, usize),
}

pub(super) fn failed_result(case: &SuiteCase, reason: String) -> CaseResult {
    CaseResult {
        name: case.name.clone(),
        failures: vec![reason],
        source: case.source.clone(),
        ..CaseResult::default()
    }
}

/// Returns the result of a case that was skipped for the given reason.
pub(super) fn skipped_result(case: &SuiteCase, reason: String) -> CaseResult {
    CaseResult { failures: Vec::new(), skipped: Some(reason), ..failed_result(case, String::new()) }
}

pub(super) fn judge_case(case: &SuiteCase, ready: &CallableHookCase, outcome: &CallOutcome) -> CaseResult {
    let setup = &ready.setup;
    let verdict = judge_call(ready.directories.case(), outcome, &setup.path, &*setup.world, setup.quirks);
    let findings = find_problems(ready.directories.case(), outcome, &verdict);
    let subject = ready.directories.case().subject();
    let result_of_call = CallResult { subject, outcome: outcome.clone(), verdict, findings: &findings };
    compare_with_expectations(case, &ready.wanted, result_of_call, &*setup.world)
}

/// Result of a hook call that is compared with expectations.
pub(super) struct CallResult<'a> {
    /// Input ad of the call.
    pub(super) subject: &'a ClassAd,
    pub(super) outcome: CallOutcome,
    pub(super) verdict: Verdict,
    pub(super) findings: &'a [Finding],
}

/// Compares the result of a call with the expectations.
pub(super) fn compare_with_expectations(
    case: &SuiteCase,
    wanted: &ParsedExpectations,
    result_of_call: CallResult<'_>,
    world: &dyn World,
) -> CaseResult {
    let CallResult { subject, outcome, verdict, findings } = result_of_call;
    let mut differences = compare_call(wanted, &outcome, &verdict, findings);
    let result = verdict.result_ads.first().unwrap_or(subject);
    let unmet = expectation::unmet_expectations(&wanted.expectations, result, subject, world);
    differences.extend(unmet.into_iter().map(|text| ("result", text)));
    let (unmet, failures) = differences.into_iter().unzip();
    let words = findings.iter().filter(|one| !one.rule.is_note()).map(|one| one.rule.word()).collect();
    CaseResult {
        name: case.name.clone(),
        seconds: outcome.took.as_secs_f64(),
        failures,
        unmet,
        skipped: None,
        verdict: Some(verdict),
        outcome: Some(outcome),
        findings: words,
        source: case.source.clone(),
    }
}

/// Returns true if no process of the call can still be running: the hook ended by itself and left no process behind.
pub(super) fn has_nothing_running(outcome: &CallOutcome) -> bool {
    matches!(&outcome.ending, CallEnding::Ran(ended) if ended.exit.is_some() && ended.left_behind.is_empty() && !ended.pipe_held_open)
}

/// Differences from the expectations. Each has the name of the key in `expect` and a description.
#[derive(Default)]
struct ExpectationDifferences(Vec<(&'static str, String)>);

impl ExpectationDifferences {
    fn add(&mut self, what: &'static str, wanted: &dyn Display, got: &dyn Display) {
        let name = if what == "seconds" { "within" } else { what };
        self.0.push((name, format!("{what}\n  - {wanted}\n  + {got}")));
    }
}

/// Returns all differences of a call from the expectations, except those of the expressions in `result`.
fn compare_call(
    wanted: &ParsedExpectations,
    outcome: &CallOutcome,
    verdict: &Verdict,
    findings: &[Finding],
) -> Vec<(&'static str, String)> {
    let mut wrong = ExpectationDifferences::default();
    compare_verdict(&wanted.expect, verdict, &mut wrong);
    match &outcome.ending {
        CallEnding::Ran(ended) => compare_run(wanted, ended, &mut wrong),
        _ => compare_uncalled(&wanted.expect, &mut wrong),
    }
    compare_findings(&wanted.expect, findings, &mut wrong);
    if let Some(limit) = wanted.expect.within
        && outcome.took.as_secs_f64() > limit
    {
        wrong.add("seconds", &limit, &outcome.took.as_secs_f64());
    }
    wrong.0
}

fn compare_verdict(expect: &Expect, verdict: &Verdict, wrong: &mut ExpectationDifferences) {
    let got = || match verdict.reason.is_empty() {
        true => verdict.decision.to_string(),
        false => format!("{} ({})", verdict.decision, verdict.reason),
    };
    match &expect.verdict {
        Some(wanted) if wanted != verdict.decision.word() => wrong.add("verdict", wanted, &got()),
        None if !verdict.good => wrong.add("verdict", &"a success", &got()),
        _ => {}
    }
    let (code, subcode) = verdict.hold.unzip();
    let codes = [("hold code", expect.code, code), ("hold subcode", expect.subcode, subcode)];
    for (what, wanted, got) in codes {
        if let Some(wanted) = wanted.filter(|wanted| got != Some(*wanted)) {
            wrong.add(what, &wanted, &got.map_or_else(|| "none".to_owned(), |code| code.to_string()));
        }
    }
    if let Some(reason) = expect.reason.as_ref().filter(|reason| !verdict.reason.contains(reason.as_str())) {
        wrong.add("reason", reason, &verdict.reason);
    }
}

fn compare_run(
    ParsedExpectations { expect, stderr: pattern, .. }: &ParsedExpectations,
    ended: &HookExecution,
    wrong: &mut ExpectationDifferences,
) {
    let exit = match ended.exit {
        Some(Exit::Code(code)) => format!("exited {code}"),
        Some(Exit::Signal { number, .. }) => format!("signalled {number}"),
        None => "killed".to_owned(),
    };
    let wanted = match &expect.exit {
        Some(toml::Value::Integer(code)) => Some(format!("exited {code}")),
        Some(toml::Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    if let Some(wanted) = wanted.filter(|wanted| *wanted != exit) {
        wrong.add("exit", &wanted, &exit);
    }
    if let Some(wanted) = expect.stdout.as_ref().filter(|wanted| ended.stdout != wanted.as_bytes()) {
        wrong.add("stdout", wanted, &ended.stdout.as_bstr());
    }
    let complained = pattern.as_ref().is_some_and(|pattern| pattern.is_match(&ended.stderr) != Ok(true));
    let should_be_silent = expect.stderr.as_deref() == Some("") && !ended.stderr.is_empty();
    if complained || should_be_silent {
        wrong.add("stderr", &expect.stderr.as_deref().unwrap_or_default(), &ended.stderr.as_bstr());
    }
}

fn compare_uncalled(expect: &Expect, wrong: &mut ExpectationDifferences) {
    let never = "nothing: the hook was not called";
    if let Some(wanted) = &expect.exit {
        wrong.add("exit", wanted, &never);
    }
    if let Some(wanted) = &expect.stdout {
        wrong.add("stdout", wanted, &never);
    }
    if let Some(wanted) = expect.stderr.as_deref().filter(|wanted| !wanted.is_empty()) {
        wrong.add("stderr", &wanted, &never);
    }
}

fn compare_findings(expect: &Expect, findings: &[Finding], wrong: &mut ExpectationDifferences) {
    if let Some(wanted) = &expect.findings {
        let mut got: Vec<&str> =
            findings.iter().filter(|one| !one.rule.is_note()).map(|one| one.rule.word()).collect();
        let mut wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        got.sort_unstable();
        wanted.sort_unstable();
        if got != wanted {
            let words = |words: &[&str]| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
            wrong.add("findings", &words(&wanted), &words(&got));
        }
    }
    for note in expect.notes.iter().flatten() {
        if !findings.iter().any(|one| one.rule.is_note() && one.rule.word() == note) {
            wrong.add("notes", note, &"no attribute of that name");
        }
    }
}
