//! List of recorded cases that our programs do not reproduce: cases that need missing features, and cases
//! that cannot be reproduced. Each is replayed all the same, and one that no longer differs must be removed
//! from the list.

use serde::Deserialize;

use super::Result;
use super::findings::Difference;
use super::outcome::{NotDone, Outcome};
use super::subject::Subject;

/// The list itself.
const LIST: &str = include_str!("../../not_done.toml");

/// The list.
#[derive(Debug, Deserialize)]
pub struct List {
    #[serde(default)]
    not_done: Vec<Entry>,
    #[serde(default)]
    cannot: Vec<Entry>,
}

/// Cases of one recording with the same reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The missing feature, or the reason why the cases cannot be reproduced.
    #[serde(alias = "feature")]
    pub reason: String,
    /// Title of the recording.
    pub recording: String,
    /// Names of its cases, or prefixes of names followed by `*` [default: the whole recording].
    #[serde(default)]
    pub cases: Vec<String>,
}

impl Entry {
    /// Returns true if the entry applies to this case; an entry without cases applies to all.
    pub fn is_about(&self, case: Option<&str>) -> bool {
        self.cases.is_empty() || case.is_some_and(|case| self.cases.iter().any(|listed| fits(listed, case)))
    }
}

impl List {
    /// Reads the list.
    pub fn load() -> Result<Self> {
        toml::from_str(LIST).map_err(|error| format!("not_done.toml: {error}"))
    }

    /// Returns all entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.not_done.iter().chain(&self.cannot)
    }

    /// Returns the entries for a recording.
    pub fn of(&self, subject: &Subject) -> impl Iterator<Item = &Entry> {
        let title = subject.title().to_owned();
        self.entries().filter(move |entry| entry.recording == title)
    }

    /// Returns the reason listed for a case of the recording.
    pub fn reason(&self, subject: &Subject, case: &str) -> Option<&str> {
        self.of(subject).find(|entry| entry.is_about(Some(case))).map(|entry| entry.reason.as_str())
    }

    /// Removes listed differences of an execution point's recording: all of them if the recording is listed,
    /// or those of single jobs and runs of a starter, whose places begin with their names.
    pub fn settle(&self, subject: &Subject, outcome: &mut Outcome) {
        for Entry { reason, cases, .. } in self.of(subject) {
            if cases.is_empty() {
                self.settle_all(reason, outcome);
                continue;
            }
            for case in cases {
                let before = outcome.differences.len();
                outcome.differences.retain(|difference| case_of(difference) != *case);
                if before > outcome.differences.len() {
                    outcome.not_done.push(NotDone { reason: reason.clone(), case: Some(case.clone()) });
                } else if outcome.fault.is_none() {
                    outcome.differences.push(passes(case, reason));
                }
            }
        }
    }

    fn settle_all(&self, reason: &str, outcome: &mut Outcome) {
        let fault = outcome.fault.take().is_some();
        if outcome.differences.is_empty() && !fault {
            return outcome.differences.push(passes("", reason));
        }
        outcome.differences.clear();
        outcome.counts = outcome.counts.skipped();
        outcome.not_done.push(NotDone { reason: reason.to_owned(), case: None });
    }

    /// Returns true if cases of this recording are listed.
    pub fn names_cases(&self, subject: &Subject) -> bool {
        self.of(subject).any(|entry| !entry.cases.is_empty())
    }

    /// Returns the cases listed for a recording that it does not have; `known` are the cases it has.
    pub fn unknown(&self, subject: &Subject, known: &[&str]) -> Vec<Difference> {
        let listed = self.of(subject).flat_map(|entry| entry.cases.iter().map(move |case| (entry, case)));
        let missing = listed.filter(|(_, case)| !known.iter().any(|name| fits(case, name)));
        missing
            .map(|(entry, case)| Difference {
                place: case.clone(),
                what: "not done".to_owned(),
                recorded: Some(entry.reason.clone()),
                ours: Some("the recording has no such case (tests/not_done.toml)".to_owned()),
            })
            .collect()
    }
}

/// Returns true if a listed name, or a prefix followed by `*`, matches a case.
fn fits(listed: &str, case: &str) -> bool {
    match listed.strip_suffix('*') {
        Some(beginning) => case.starts_with(beginning),
        None => case == listed,
    }
}

/// Returns the job or the run of a starter to which a difference belongs.
fn case_of(difference: &Difference) -> String {
    let words: Vec<&str> = difference.place.split(' ').collect();
    let words = if words[0] == "job" { words.get(..2).unwrap_or(&words) } else { &words[..1] };
    words.join(" ")
}

/// Reports a case that is listed although it has no differences.
pub fn passes(place: &str, reason: &str) -> Difference {
    Difference {
        place: place.to_owned(),
        what: "not done".to_owned(),
        recorded: Some(reason.to_owned()),
        ours: Some("no difference: take it off the list (tests/not_done.toml)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_case_must_differ_and_one_that_passes_must_leave_the_list() {
        let list: List = toml::from_str(
            "[[not_done]]\nfeature = \"flying\"\nrecording = \"\"\n[[not_done]]\nfeature = \"x\"\nrecording = \"y\"\ncases = [\"1-*\"]\n",
        )
        .unwrap();
        let subject = Subject::default();
        let mut passing = Outcome::of("one".to_owned());
        list.settle(&subject, &mut passing);
        assert_eq!((passing.differences.len(), passing.not_done.len()), (1, 0));
        let mut failing = Outcome { fault: Some("cannot fly".to_owned()), ..Outcome::of("two".to_owned()) };
        list.settle(&subject, &mut failing);
        assert_eq!((failing.fault, failing.not_done.len()), (None, 1));
        let place = |place: &str| Difference { place: place.to_owned(), ..passes("", "") };
        let list: List = toml::from_str(
            "[[not_done]]\nfeature = \"x\"\nrecording = \"\"\ncases = [\"job 1.0\", \"2-*\"]\n",
        )
        .unwrap();
        let differences = vec![place("job 1.0 003-FETCH"), place("job 3.0")];
        let mut outcome = Outcome { differences, ..Outcome::of("three".to_owned()) };
        list.settle(&subject, &mut outcome);
        let told: Vec<&str> = outcome.differences.iter().map(|it| it.place.as_str()).collect();
        assert_eq!((told, outcome.not_done.len()), (vec!["job 3.0", "2-*"], 1));
        assert_eq!(list.unknown(&subject, &["job 1.0", "2-two"]).len(), 0);
        assert_eq!(list.unknown(&subject, &["job 1.00", "1-2-two"]).len(), 2);
        let list: List = toml::from_str(
            "[[not_done]]\nfeature = \"\"\nrecording = \"y\"\n[[not_done]]\nfeature = \"\"\nrecording = \"y\"\ncases = [\"1-*\"]\n",
        )
        .unwrap();
        assert!(list.not_done[1].is_about(Some("1-one")) && !list.not_done[1].is_about(Some("2-two")));
        assert!(!list.not_done[1].is_about(None));
    }
}
