//! What came of a case, compared with what was expected.

use std::path::PathBuf;

use bstr::ByteSlice;

use super::call::{Ending, Outcome};
use super::expectation;
use super::find::find;
use super::finding::Finding;
use super::suite::SuiteCase;
use super::suite_case::{Ready, Wanted};
use super::verdict::{Verdict, verdict};
use crate::classad::ClassAd;
use crate::process::Exit;
use crate::world::World;

/// What came of a case.
#[derive(Clone, Debug)]
pub struct Done {
    /// The suite and the case.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
    /// Why it failed; empty for success.
    pub failures: Vec<String>,
    /// The names of the expectations that were not met.
    pub unmet: Vec<&'static str>,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// The verdict on it, if it could be called.
    pub verdict: Option<Verdict>,
    /// What came of the call.
    pub outcome: Option<Outcome>,
    /// The words of the findings, notes left out.
    pub findings: Vec<&'static str>,
    /// Its file, and its number there.
    pub source: (PathBuf, usize),
}

pub(super) fn failed(case: &SuiteCase, why: String) -> Done {
    Done {
        name: case.name.clone(),
        seconds: 0.0,
        failures: vec![why],
        unmet: Vec::new(),
        skipped: None,
        verdict: None,
        outcome: None,
        findings: Vec::new(),
        source: case.source.clone(),
    }
}

/// A case that was not called.
pub(super) fn skipped(case: &SuiteCase, why: String) -> Done {
    Done { failures: Vec::new(), skipped: Some(why), ..failed(case, String::new()) }
}

pub(super) fn judge(case: &SuiteCase, ready: &Ready, outcome: &Outcome) -> Done {
    let setup = &ready.setup;
    let judged = verdict(ready.place.case(), outcome, &setup.path, &*setup.world, setup.quirks);
    let findings = find(ready.place.case(), outcome, &judged);
    done(case, &ready.wanted, ready.place.case().subject(), outcome.clone(), judged, &findings, &*setup.world)
}

/// What came of a call, compared with what was expected of it; `subject` is the ad that went in.
pub(super) fn done(
    case: &SuiteCase,
    wanted: &Wanted,
    subject: &ClassAd,
    outcome: Outcome,
    judged: Verdict,
    findings: &[Finding],
    world: &dyn World,
) -> Done {
    let mut differences = compare(wanted, &outcome, &judged, findings);
    let result = judged.result.first().unwrap_or(subject);
    let unmet = expectation::unmet(&wanted.expectations, result, subject, world);
    differences.extend(unmet.into_iter().map(|text| ("result", text)));
    let (unmet, failures) = differences.into_iter().unzip();
    let words = findings.iter().filter(|one| !one.rule.is_note()).map(|one| one.rule.word()).collect();
    Done {
        name: case.name.clone(),
        seconds: outcome.took.as_secs_f64(),
        failures,
        unmet,
        skipped: None,
        verdict: Some(judged),
        outcome: Some(outcome),
        findings: words,
        source: case.source.clone(),
    }
}

/// Whether nothing of a call can still run: it ended by itself, and left nothing behind.
pub(super) fn is_over(outcome: &Outcome) -> bool {
    matches!(&outcome.ending, Ending::Ran(ended) if ended.exit.is_some() && ended.left_behind.is_empty() && !ended.held)
}

/// Everything that is not as expected.
fn compare(
    wanted: &Wanted,
    outcome: &Outcome,
    judged: &Verdict,
    findings: &[Finding],
) -> Vec<(&'static str, String)> {
    let Wanted { expect, stderr: pattern, .. } = wanted;
    let mut wrong = Vec::new();
    let mut differ = |what: &'static str, wanted: &dyn std::fmt::Display, got: &dyn std::fmt::Display| {
        let name = if what == "seconds" { "within" } else { what };
        wrong.push((name, format!("{what}\n  - {wanted}\n  + {got}")));
    };
    match &expect.verdict {
        Some(wanted) if wanted != judged.decision.word() => {
            differ("verdict", wanted, &format!("{} ({})", judged.decision, judged.reason));
        }
        None if !judged.good => {
            differ("verdict", &"a success", &format!("{} ({})", judged.decision, judged.reason));
        }
        _ => {}
    }
    let none = || "none".to_owned();
    if let Some(code) = expect.code
        && judged.hold.map(|hold| hold.0) != Some(code)
    {
        differ("hold code", &code, &judged.hold.map_or_else(none, |hold| hold.0.to_string()));
    }
    if let Some(subcode) = expect.subcode
        && judged.hold.map(|hold| hold.1) != Some(subcode)
    {
        differ("hold subcode", &subcode, &judged.hold.map_or_else(none, |hold| hold.1.to_string()));
    }
    if let Some(reason) = &expect.reason
        && !judged.reason.contains(reason.as_str())
    {
        differ("reason", reason, &judged.reason);
    }
    if let Ending::Ran(ended) = &outcome.ending {
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
            differ("exit", &wanted, &exit);
        }
        if let Some(wanted) = &expect.stdout
            && ended.stdout != wanted.as_bytes()
        {
            differ("stdout", wanted, &ended.stdout.as_bstr());
        }
        let complained = pattern.as_ref().is_some_and(|pattern| pattern.is_match(&ended.stderr) != Ok(true));
        let should_be_silent = expect.stderr.as_deref() == Some("") && !ended.stderr.is_empty();
        if complained || should_be_silent {
            differ("stderr", &expect.stderr.as_deref().unwrap_or_default(), &ended.stderr.as_bstr());
        }
    } else {
        let never = "nothing: the hook was not called";
        if let Some(wanted) = &expect.exit {
            differ("exit", wanted, &never);
        }
        if let Some(wanted) = &expect.stdout {
            differ("stdout", wanted, &never);
        }
        if let Some(wanted) = expect.stderr.as_deref().filter(|wanted| !wanted.is_empty()) {
            differ("stderr", &wanted, &never);
        }
    }
    if let Some(wanted) = &expect.findings {
        let mut got: Vec<&str> =
            findings.iter().filter(|one| !one.rule.is_note()).map(|one| one.rule.word()).collect();
        let mut wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        got.sort_unstable();
        wanted.sort_unstable();
        if got != wanted {
            differ("findings", &wanted.join(", "), &got.join(", "));
        }
    }
    for note in expect.notes.iter().flatten() {
        if !findings.iter().any(|one| one.rule.is_note() && one.rule.word() == note) {
            differ("notes", note, &"none of that name");
        }
    }
    if let Some(limit) = expect.within
        && outcome.took.as_secs_f64() > limit
    {
        differ("seconds", &limit, &outcome.took.as_secs_f64());
    }
    wrong
}
