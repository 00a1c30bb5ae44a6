//! `run --update`: replaces the expectations of failed cases by the actual results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::call::{CallEnding, CallOutcome};
use super::suite::SuiteError;
use super::suite_compare::CaseResult;
use super::verdict::Verdict;
use htc_base::process::Exit;

/// Positions of the cases and their expectations in a suite file.
#[derive(Deserialize)]
struct ExpectPlaces {
    #[serde(default)]
    defaults: DefaultsPlace,
    #[serde(default)]
    case: Vec<CasePlace>,
}

#[derive(Default, Deserialize)]
struct DefaultsPlace {
    expect: Option<Value>,
}

#[derive(Deserialize)]
struct CasePlace {
    expect: Option<Spanned<Value>>,
    each: Option<Value>,
}

/// Writes the actual result of each failed case into its `expect` in the suite file; the rest of the file is
/// unchanged. A case with parameters, or with expectations in `[defaults]`, is not updated, because its text applies
/// to several cases; `report` is called with a message about it. Returns the names of the cases that will pass.
///
/// # Errors
/// A file cannot be read or written, or is no longer a valid suite.
pub fn update_suites(
    done: &[CaseResult],
    report: &mut dyn FnMut(String),
) -> Result<BTreeSet<String>, SuiteError> {
    let mut updated = BTreeSet::new();
    let mut files: BTreeMap<&Path, Vec<&CaseResult>> = BTreeMap::new();
    for one in done.iter().filter(|one| !one.failures.is_empty()) {
        files.entry(&one.source.0).or_default().push(one);
    }
    for (path, cases) in files {
        let text =
            std::fs::read_to_string(path).map_err(|error| SuiteError::Unreadable(path.to_owned(), error))?;
        let places: ExpectPlaces = toml::from_str(&text)
            .map_err(|error| SuiteError::Malformed(path.to_owned(), text.clone(), None, Box::new(error)))?;
        // Edits at later positions are applied first, so that earlier positions stay valid.
        let mut edits: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        for one in cases {
            // If several results come from one case without `each`, the `job_file` of the case has several ads.
            let several = done.iter().filter(|other| other.source == one.source).count() > 1;
            let stands_for_many =
                several && places.case.get(one.source.1).is_some_and(|case| case.each.is_none());
            let made = match stands_for_many {
                true => Err("it refers to several ads"),
                false => case_edit(one, &places, &text),
            };
            match made {
                Ok(edit) => {
                    edits.extend(edit);
                    let left: Vec<&str> = ["stderr", "result", "notes", "within"]
                        .into_iter()
                        .filter(|name| one.unmet.contains(name))
                        .collect();
                    if left.is_empty() {
                        report(format!("updated: {}", one.name));
                        updated.insert(one.name.clone());
                    } else {
                        let left = left.join(", ");
                        report(format!("not updated, edit by hand: {}: the expected {left}", one.name));
                    }
                }
                Err(why) => report(format!("not updated: {}: {why}", one.name)),
            }
        }
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.0.start));
        let mut text = text;
        for (range, new) in edits {
            text.replace_range(range, &new);
        }
        std::fs::write(path, text).map_err(|error| SuiteError::Unwritable(path.to_owned(), error))?;
    }
    Ok(updated)
}

/// Returns the edit for one case, as the range to replace and the new text, or `None` if nothing changes.
fn case_edit(
    one: &CaseResult,
    places: &ExpectPlaces,
    text: &str,
) -> Result<Option<(std::ops::Range<usize>, String)>, &'static str> {
    let (Some(verdict), Some(outcome)) = (&one.verdict, &one.outcome) else {
        return Err("it could not be called");
    };
    let place = places.case.get(one.source.1).ok_or("the file has changed")?;
    if place.each.is_some() {
        return Err("it has parameters");
    }
    let Some(expect) = &place.expect else {
        if places.defaults.expect.is_some() {
            return Err("its expectations are in [defaults]");
        }
        let none = Value::Table(toml::Table::new());
        let new = to_inline_table(&current_expectations(&none, verdict, outcome, &one.findings));
        return insert_expect(text, one.source.1, &new).map(Some).ok_or("its header is not found");
    };
    let range = expect.span();
    if !text[range.clone()].starts_with('{') {
        return Err("its expectations are not written as one table in braces");
    }
    let new = current_expectations(expect.get_ref(), verdict, outcome, &one.findings);
    // If the new table is equal to the old one, the text and its formatting are kept.
    let is_changed = expect.get_ref().as_table() != Some(&new);
    Ok(is_changed.then(|| (range, to_inline_table(&new))))
}

/// Returns an edit that inserts an `expect` after the header of a case that has none. A string may contain a line
/// that looks like a header, so the edit is verified by parsing the changed file.
fn insert_expect(text: &str, number: usize, expect: &str) -> Option<(std::ops::Range<usize>, String)> {
    let cases = |text: &str| -> Option<Vec<toml::Table>> {
        let all: toml::Table = toml::from_str(text).ok()?;
        all.get("case")?.as_array()?.iter().map(|case| case.as_table().cloned()).collect()
    };
    let before = cases(text)?;
    let new = format!("\nexpect = {expect}");
    text.match_indices("[[case]]").map(|(at, header)| at + header.len()).find_map(|at| {
        let changed = format!("{}{new}{}", &text[..at], &text[at..]);
        let mut after = cases(&changed)?;
        after.get_mut(number)?.remove("expect")?;
        (after == before).then(|| (at..at, new.clone()))
    })
}

/// Returns the expectations that the result meets: the existing keys with the actual values, and always the verdict.
fn current_expectations(
    old: &Value,
    verdict: &Verdict,
    outcome: &CallOutcome,
    findings: &[&'static str],
) -> toml::Table {
    let mut new = old.as_table().cloned().unwrap_or_default();
    new.insert("verdict".to_owned(), Value::String(verdict.decision.word().to_owned()));
    let mut present = |name: &str, value: Option<Value>| {
        if new.contains_key(name) {
            match value {
                Some(value) => drop(new.insert(name.to_owned(), value)),
                None => drop(new.remove(name)),
            }
        }
    };
    present("code", verdict.hold.map(|hold| Value::Integer(hold.0)));
    present("subcode", verdict.hold.map(|hold| Value::Integer(hold.1)));
    let keeps_reason =
        old.get("reason").and_then(Value::as_str).is_some_and(|old| verdict.reason.contains(old));
    if !keeps_reason {
        present("reason", (!verdict.reason.is_empty()).then(|| Value::String(verdict.reason.clone())));
    }
    present(
        "findings",
        Some(Value::Array(findings.iter().map(|one| Value::String((*one).to_owned())).collect())),
    );
    if let CallEnding::Ran(ended) = &outcome.ending {
        present(
            "exit",
            match ended.exit {
                Some(Exit::Code(code)) => Some(Value::Integer(i64::from(code))),
                Some(Exit::Signal { number, .. }) => Some(Value::String(format!("signalled {number}"))),
                None => Some(Value::String("killed".to_owned())),
            },
        );
        present("stdout", Some(Value::String(String::from_utf8_lossy(&ended.stdout).into_owned())));
    }
    new
}

/// Formats a table as an inline table that begins with the verdict.
fn to_inline_table(table: &toml::Table) -> String {
    let rank = |name: &str| {
        ["verdict", "code", "subcode", "reason", "exit", "stdout", "stderr", "findings", "result", "within"]
            .iter()
            .position(|known| *known == name)
    };
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| rank(name));
    let entries: Vec<String> = entries.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", entries.join(", "))
}
