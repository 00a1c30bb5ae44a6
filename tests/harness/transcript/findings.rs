//! Differences found by a comparison, and the comparison of two calls.

use std::collections::BTreeMap;
use std::fmt;

use super::calls::Call;
use super::exceptions::{Allow, Exceptions};
use super::normalise;
use super::outcome::Counts;
use super::subject::Subject;

/// A difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The job and the record.
    pub place: String,
    /// The part that differs.
    pub what: String,
    /// The recorded value, or `None` if only ours exists.
    pub recorded: Option<String>,
    /// Our value, or `None` if only the recorded one exists.
    pub ours: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "(nothing)".to_owned());
        write!(
            f,
            "{}: {}: recorded {}, ours {}",
            self.place,
            self.what,
            side(&self.recorded),
            side(&self.ours)
        )
    }
}

/// Collects the differences of one scenario.
pub struct Findings<'a> {
    pub counts: Counts,
    pub differences: Vec<Difference>,
    /// The allowed differences.
    pub exceptions: &'a Exceptions,
    /// The recording, because some exceptions apply only to some recordings.
    pub subject: &'a Subject,
    /// True if the recorded accounts exist here.
    pub own_accounts: bool,
    /// Compare only calls of this type of hook.
    pub only: Option<&'a str>,
}

impl<'a> Findings<'a> {
    pub fn new(
        exceptions: &'a Exceptions,
        subject: &'a Subject,
        own_accounts: bool,
        only: Option<&'a str>,
    ) -> Self {
        Findings {
            counts: Counts::default(),
            differences: Vec::new(),
            exceptions,
            subject,
            own_accounts,
            only,
        }
    }

    /// Adds a difference.
    pub fn differ(&mut self, place: &str, what: &str, recorded: Option<String>, ours: Option<String>) {
        self.differences.push(Difference { place: place.to_owned(), what: what.to_owned(), recorded, ours });
    }

    /// Returns true if an exception of this scenario allows the difference.
    pub fn allowed(&self, case: &str, place: &str, name: &str, expected: Allow) -> bool {
        self.exceptions.find(self.subject, case, place, name, expected).is_some()
    }

    /// Compares two calls of the same program.
    pub fn call(&mut self, place: &str, recorded: &Call, ours: &Call) {
        let kind = recorded.kind();
        if self.only.is_some_and(|only| only != kind) {
            self.counts.calls.skipped += 1;
            return;
        }
        self.counts.calls.compared += 1;
        let words = |argv: &[String]| BTreeMap::from([("words".to_owned(), format!("{argv:?}"))]);
        self.maps(place, &format!("argv.{kind}"), &words(&recorded.argv), &words(&ours.argv));
        match (&recorded.stdin, &ours.stdin) {
            (Some(then), Some(now)) => self.input(place, &kind, then, now),
            // For hooks that do not read their input, no input is recorded here.
            (Some(then), None) => self.counts.values.skipped += attributes(then).len(),
            (None, _) => {}
        }
        if let Some(then) = &recorded.env {
            let now = ours.env.as_deref().unwrap_or_default();
            let map = |env: &[(String, String)]| {
                env.iter().map(|(name, value)| normalise::variable(name, value)).collect::<BTreeMap<_, _>>()
            };
            let (mut then, mut now) = (map(then), map(now));
            if !self.own_accounts {
                self.counts.values.skipped += usize::from(then.remove("HOME").is_some());
                now.remove("HOME");
            }
            self.maps(place, &format!("env.{kind}"), &then, &now);
        }
        if let Some(then) = &recorded.job_ad {
            let now = ours.job_ad.as_deref().unwrap_or_default();
            self.maps(place, "job-ad", &attributes(then), &attributes(now));
        }
        if let Some(then) = &recorded.machine_ad {
            let now = ours.machine_ad.as_deref().unwrap_or_default();
            self.maps(place, "machine-ad", &attributes(then), &attributes(now));
        }
        let mut then: BTreeMap<String, String> = recorded
            .meta
            .iter()
            .map(|(name, value)| (name.clone(), normalise::list(&normalise::scratch(value))))
            .collect();
        if !self.own_accounts {
            let gone = ["uid", "gid", "groups"].iter().filter(|name| then.remove(**name).is_some());
            self.counts.values.skipped += gone.count();
        }
        // A hook that outlives the scratch directory has no current directory any more.
        if ours.meta.get("cwd").is_some_and(|place| place == "?") && then.remove("cwd").is_some() {
            self.counts.values.skipped += 1;
        }
        let now: BTreeMap<String, String> = ours
            .meta
            .iter()
            .filter(|(name, _)| then.contains_key(*name))
            .map(|(name, value)| (name.clone(), normalise::list(value)))
            .collect();
        self.maps(place, &format!("fact.{kind}"), &then, &now);
    }

    /// Compares standard input: one ad, or job ad, `-----` and slot ad.
    fn input(&mut self, place: &str, kind: &str, recorded: &[u8], ours: &[u8]) {
        let (then, now) = (parts(recorded), parts(ours));
        if then.len() != now.len() {
            self.differ(place, "ads on stdin", Some(then.len().to_string()), Some(now.len().to_string()));
        }
        for (index, (then, now)) in then.iter().zip(&now).enumerate() {
            let what = if kind == "FETCH_WORK" || index == 1 { "slot-ad" } else { "job-ad" };
            let (left, right) = (attributes(then.as_bytes()), attributes(now.as_bytes()));
            self.maps(place, &format!("{what}.{kind}"), &left, &right);
            let sorted = |text: &str| {
                let names: Vec<&str> =
                    text.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
                names.iter().take_while(|name| **name != "ClaimId").is_sorted()
            };
            if sorted(then) && !sorted(now) {
                self.differ(
                    place,
                    "order of attributes on stdin",
                    Some("sorted".to_owned()),
                    Some("not sorted".to_owned()),
                );
            }
        }
        let ends = |bytes: &[u8]| bytes.last() == Some(&b'\n');
        if !recorded.is_empty() && ends(recorded) != ends(ours) {
            let word = |yes: bool| Some(if yes { "a newline".to_owned() } else { "no newline".to_owned() });
            self.differ(place, "end of stdin", word(ends(recorded)), word(ends(ours)));
        }
    }

    /// Compares names with values; differences allowed by the exceptions are not reported.
    pub fn maps(
        &mut self,
        place: &str,
        what: &str,
        recorded: &BTreeMap<String, String>,
        ours: &BTreeMap<String, String>,
    ) {
        for (name, then) in recorded {
            let now = ours.get(name);
            if now == Some(then) || self.exceptions.agree(what, name, recorded, ours) {
                self.counts.values.compared += 1;
                continue;
            }
            let expected = if now.is_some() { Allow::Value } else { Allow::Missing };
            if let Some(exception) = self.exceptions.find(self.subject, place, what, name, expected) {
                exception.count(place, what, name, &mut self.counts.values);
                continue;
            }
            self.counts.values.compared += 1;
            self.differ(place, &format!("{what} {name}"), Some(then.clone()), now.cloned());
        }
        for (name, now) in ours.iter().filter(|(name, _)| !recorded.contains_key(*name)) {
            match self.exceptions.find(self.subject, place, what, name, Allow::Extra) {
                Some(exception) => exception.count(place, what, name, &mut self.counts.values),
                None => self.differ(place, &format!("{what} {name}"), None, Some(now.clone())),
            }
        }
    }
}

/// Returns the ads in a standard input.
fn parts(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.split("-----\n").map(str::to_owned).collect()
}

/// Returns the attributes of a long form, with their spelling; paths are made comparable.
pub fn attributes(ad: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(ad);
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.trim().to_owned(), normalise::scratch(value.trim()))).collect()
}
