//! List of allowed differences, with reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use super::Result;
use super::findings::Difference;
use super::outcome::Tally;
use super::readings::Reading;
use super::subject::Subject;

/// The list itself.
const LIST: &str = include_str!("exceptions.toml");

/// Exceptions that have been used since the process began, in all recordings: index in the list, and index of
/// the case.
static USED: Mutex<BTreeSet<(usize, usize)>> = Mutex::new(BTreeSet::new());

/// All exceptions.
#[derive(Debug, Deserialize)]
pub struct Exceptions {
    exception: Vec<Exception>,
    reading: Vec<Reading>,
    /// True if everything runs as the caller, since the recorded accounts do not exist here.
    #[serde(skip)]
    pub as_caller: bool,
}

/// An exception.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Places to which it applies: `slot-ad`, `job-ad`, `result-ad`, `machine-ad`, `env`, `fact`, `argv`,
    /// each optionally followed by a dot and the kind of call (`env.FETCH_WORK`, `fact.job`); `calls`,
    /// `exit`, `file`, `mode`, `left`.
    places: Vec<String>,
    /// Names, with `*` as wildcard at either end.
    names: Vec<String>,
    /// Kind of difference that is allowed.
    allow: Allow,
    /// Reason for the difference.
    reason: String,
    /// True if another daemon causes the difference, so that the values need not be compared.
    #[serde(default)]
    of_others: bool,
    /// True if it applies only if everything runs as the caller.
    #[serde(default)]
    as_caller: bool,
    /// True if the existence of the difference depends on the machine.
    #[serde(default)]
    by_machine: bool,
    /// Cases of a scenario (prefixes of their names) to which it applies; empty for all.
    #[serde(default)]
    cases: Vec<String>,
    /// Titles of recordings to which it applies; empty for all.
    #[serde(default)]
    recordings: Vec<String>,
    /// Text that the configuration of the recording must contain.
    #[serde(default)]
    config: String,
}

/// Kind of difference that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allow {
    /// The value; the name must be on both sides.
    Value,
    /// It may be missing on our side; otherwise the values must be equal.
    Missing,
    /// It may be on our side only.
    Extra,
    /// Any difference.
    Anything,
}

impl Exception {
    /// Counts an allowed difference at a place. `HTC_REPLAY_SAID` makes it print the difference.
    pub fn count(&self, place: &str, what: &str, name: &str, values: &mut Tally) {
        if std::env::var_os("HTC_REPLAY_SAID").is_some() {
            println!("excused {what} {name} in {place}: {}", self.reason);
        }
        if self.of_others { values.skipped += 1 } else { values.excused += 1 }
    }
}

impl Exceptions {
    /// Reads the list.
    pub fn load() -> Result<Self> {
        toml::from_str(LIST).map_err(|error| format!("exceptions.toml: {error}"))
    }

    /// Returns the titles of recordings that are listed.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.exception.iter().flat_map(|exception| exception.recordings.iter().map(String::as_str))
    }

    /// Returns true if cases of this recording are listed.
    pub fn names_cases(&self, subject: &Subject) -> bool {
        self.exception.iter().any(|exception| {
            !exception.cases.is_empty() && matches!(&exception.recordings[..], [title] if subject.is(title))
        })
    }

    /// Returns the prefixes of cases listed for this recording that it does not have; `known` are the cases
    /// it has.
    pub fn unknown(&self, subject: &Subject, known: &[&str]) -> Vec<Difference> {
        let here = self
            .exception
            .iter()
            .filter(|exception| matches!(&exception.recordings[..], [title] if subject.is(title)));
        let listed = here.flat_map(|exception| exception.cases.iter().map(move |case| (exception, case)));
        let missing = listed.filter(|(_, case)| !known.iter().any(|name| name.starts_with(case.as_str())));
        missing
            .map(|(exception, case)| Difference {
                place: case.clone(),
                what: "exception".to_owned(),
                recorded: Some(exception.reason.clone()),
                ours: Some("the recording has no such case (exceptions.toml)".to_owned()),
            })
            .collect()
    }

    /// Returns true if two different values agree as far as values of this name can.
    pub fn agree(
        &self,
        place: &str,
        name: &str,
        recorded: &BTreeMap<String, String>,
        ours: &BTreeMap<String, String>,
    ) -> bool {
        self.reading.iter().any(|reading| reading.agrees(place, name, recorded, ours))
    }

    /// Returns the exception that allows a difference of this kind at this place.
    pub fn find(
        &self,
        subject: &Subject,
        case: &str,
        place: &str,
        name: &str,
        expected: Allow,
    ) -> Option<&Exception> {
        let found = self.exception.iter().enumerate().find(|(_, exception)| {
            (exception.allow == expected || exception.allow == Allow::Anything)
                && is_at(&exception.places, place)
                && (exception.recordings.is_empty()
                    || exception.recordings.iter().any(|title| subject.is(title)))
                && subject.configures(&exception.config)
                && (self.as_caller || !exception.as_caller)
                && (exception.cases.is_empty()
                    || exception.cases.iter().any(|prefix| case.starts_with(prefix)))
                && exception.names.iter().any(|pattern| matches(pattern, name))
        });
        let (index, exception) = found?;
        let of_case = exception.cases.iter().position(|prefix| case.starts_with(prefix));
        USED.lock().unwrap_or_else(PoisonError::into_inner).insert((index, of_case.unwrap_or(0)));
        Some(exception)
    }

    /// Returns the exceptions that have not been used although all their recordings have been replayed.
    pub fn idle(&self, played: &[Subject]) -> Vec<String> {
        let used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        let was_played = |title: &String| played.iter().any(|subject| subject.is(title));
        let all = self.exception.iter().enumerate().filter(|(_, exception)| {
            !exception.by_machine
                && !exception.recordings.is_empty()
                && exception.recordings.iter().all(was_played)
                && (self.as_caller || !exception.as_caller)
        });
        let cases = all.flat_map(|(index, exception)| {
            (0..exception.cases.len().max(1)).map(move |case| (index, case, exception))
        });
        let idle = cases.filter(|&(index, case, _)| !used.contains(&(index, case)));
        idle.map(|(_, case, exception)| {
            let Exception { places, names, cases, recordings, .. } = exception;
            format!("{places:?} {names:?} of {recordings:?}, {:?}: {}", cases.get(case), exception.reason)
        })
        .collect()
    }
}

/// Returns true if a place is listed, by itself or with all kinds of calls.
pub fn is_at(places: &[String], place: &str) -> bool {
    places.iter().any(|listed| place == listed || place.split('.').next() == Some(listed.as_str()))
}

/// Returns true if a name matches a pattern, with `*` as wildcard at either end.
pub fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        _ if pattern == "*" => true,
        (Some(end), None) => name.len() >= end.len() && name.to_lowercase().ends_with(&end.to_lowercase()),
        (None, Some(start)) => name.to_lowercase().starts_with(&start.to_lowercase()),
        _ => pattern.eq_ignore_ascii_case(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exception_has_a_reason() {
        let list = Exceptions::load().unwrap();
        assert!(list.exception.iter().all(|exception| exception.reason.len() > 10));
        // Cases need exactly one recording, because otherwise it would be unclear to which one they belong.
        assert!(list.exception.iter().all(|it| it.cases.is_empty() || it.recordings.len() == 1));
    }
}
