//! Maximum number of attempts until a recording agrees: a list, so that races that become more frequent are
//! noticed.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Result;
use super::findings::Difference;
use super::outcome::Outcome;
use super::subject::Subject;

/// The list itself.
const LIST: &str = include_str!("../../attempts.toml");

/// The list: titles of recordings and their numbers of attempts.
#[derive(Debug, Deserialize)]
pub struct Attempts {
    attempts: BTreeMap<String, usize>,
}

impl Attempts {
    /// Reads the list.
    pub fn load() -> Result<Self> {
        toml::from_str(LIST).map_err(|error| format!("attempts.toml: {error}"))
    }

    /// Titles that are listed.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.attempts.keys().map(String::as_str)
    }

    /// Reports more attempts than are listed.
    pub fn check(&self, subject: &Subject, outcome: &mut Outcome) {
        let written = self.attempts.get(subject.title()).copied().unwrap_or(1);
        if outcome.attempts > written {
            outcome.differences.push(Difference {
                place: "attempts".to_owned(),
                what: "more than tests/attempts.toml allows".to_owned(),
                recorded: Some(written.to_string()),
                ours: Some(outcome.attempts.to_string()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_attempts_than_written_down_are_a_difference() {
        let list = Attempts { attempts: BTreeMap::from([(String::new(), 3)]) };
        for (attempts, differences) in [(1, 0), (3, 0), (4, 1)] {
            let mut outcome = Outcome { attempts, ..Outcome::default() };
            list.check(&Subject::default(), &mut outcome);
            assert_eq!(outcome.differences.len(), differences);
        }
    }
}
