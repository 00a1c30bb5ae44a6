//! The written list of differences that must be, each with its reason.

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

/// What has allowed something since the process began, over all recordings: its place in the list, and that of its case.
static USED: Mutex<BTreeSet<(usize, usize)>> = Mutex::new(BTreeSet::new());

/// All exceptions.
#[derive(Debug, Deserialize)]
pub struct Exceptions {
    exception: Vec<Exception>,
    reading: Vec<Reading>,
    /// Whether everything runs as the caller, since the recorded accounts do not exist here.
    #[serde(skip)]
    pub as_caller: bool,
}

/// One exception.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Places it is about: `slot-ad`, `job-ad`, `result-ad`, `machine-ad`, `env`, `fact`, `argv`, each optionally followed
    /// by a dot and the kind of call (`env.FETCH_WORK`, `fact.job`); `calls`, `exit`, `file`, `mode`, `left`.
    places: Vec<String>,
    /// Names, with `*` as wildcard at either end.
    names: Vec<String>,
    /// What may differ.
    allow: Allow,
    /// Why it must.
    reason: String,
    /// Another daemon did it, so that it was not to be compared at all.
    #[serde(default)]
    of_others: bool,
    /// Only where everything runs as the caller.
    #[serde(default)]
    as_caller: bool,
    /// Whether there is a difference at all depends on the machine.
    #[serde(default)]
    by_machine: bool,
    /// Only in these cases of a scenario (prefixes of their names); in all when empty.
    #[serde(default)]
    cases: Vec<String>,
    /// Only in recordings of these titles; everywhere when empty.
    #[serde(default)]
    recordings: Vec<String>,
    /// Only in recordings whose configuration contains this.
    #[serde(default)]
    config: String,
}

/// What may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allow {
    /// The value; the name must be on both sides.
    Value,
    /// It may be missing on our side; where it is there the values must be equal.
    Missing,
    /// It may be on our side only.
    Extra,
    /// Everything about it.
    Anything,
}

impl Exception {
    /// Counts what it allows at a place: what, and its name. `HTC_REPLAY_SAID` has it printed.
    pub fn count(&self, (place, what, name): (&str, &str, &str), values: &mut Tally) {
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

    /// Titles of recordings that are listed.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.exception.iter().flat_map(|exception| exception.recordings.iter().map(String::as_str))
    }

    /// Whether cases of this one recording are listed.
    pub fn names_cases(&self, subject: &Subject) -> bool {
        self.exception.iter().any(|exception| {
            !exception.cases.is_empty() && matches!(&exception.recordings[..], [title] if subject.is(title))
        })
    }

    /// Beginnings of cases that are listed of this one recording, and that it does not have; `known` are those it has.
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

    /// Whether two values that differ agree as far as values of this name can.
    pub fn agree(
        &self,
        about: (&str, &str),
        recorded: &BTreeMap<String, String>,
        ours: &BTreeMap<String, String>,
    ) -> bool {
        self.reading.iter().any(|reading| reading.agrees(about, recorded, ours))
    }

    /// The exception that allows a difference of this kind at this place.
    pub fn find(
        &self,
        (subject, case): (&Subject, &str),
        place: &str,
        name: &str,
        wanted: Allow,
    ) -> Option<&Exception> {
        let found = self.exception.iter().enumerate().find(|(_, exception)| {
            (exception.allow == wanted || exception.allow == Allow::Anything)
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

    /// Exceptions, and cases of them, of recordings that have all been played, that have allowed nothing so far.
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

/// Whether a place is listed, by itself or with all kinds of calls.
pub fn is_at(places: &[String], place: &str) -> bool {
    places.iter().any(|listed| place == listed || place.split('.').next() == Some(listed.as_str()))
}

/// Whether a name is that of a pattern, with `*` as wildcard at either end.
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
        // Cases are those of one recording: of which else would nobody know.
        assert!(list.exception.iter().all(|it| it.cases.is_empty() || it.recordings.len() == 1));
    }
}
