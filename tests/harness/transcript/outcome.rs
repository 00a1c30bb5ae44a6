//! Outcomes of replays: the number of comparisons, the differences, the parts that could not be replayed; and
//! their report.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::path::PathBuf;
use std::time::Duration;

use super::findings::Difference;

/// Numbers of recorded items of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Compared with ours: equal, or reported as a difference.
    pub compared: usize,
    /// Different, but allowed by an exception.
    pub excused: usize,
    /// Not compared: there is no counterpart, or this machine cannot show it.
    pub skipped: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.compared += more.compared;
        self.excused += more.excused;
        self.skipped += more.skipped;
    }
}

impl Tally {
    /// Returns the percentage of the compared items that were excused.
    pub fn excused_percent(&self) -> f64 {
        100.0 * self.excused as f64 / (self.compared + self.excused).max(1) as f64
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} compared, {} excused, {} skipped", self.compared, self.excused, self.skipped)
    }
}

/// Numbers of comparisons of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Calls of hooks and jobs.
    pub calls: Tally,
    /// Attributes, variables, facts and files.
    pub values: Tally,
    /// States of slots, and messages and updates of a router.
    pub states: Tally,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.calls += more.calls;
        self.values += more.values;
        self.states += more.states;
    }
}

impl Counts {
    /// Returns true if nothing was compared.
    pub fn is_nothing(&self) -> bool {
        [self.calls, self.values, self.states].iter().all(|tally| tally.compared + tally.excused == 0)
    }

    /// Returns the same items, counted as not compared.
    pub fn skipped(self) -> Self {
        let skip = |tally: Tally| Tally {
            skipped: tally.compared + tally.excused + tally.skipped,
            ..Tally::default()
        };
        Counts { calls: skip(self.calls), values: skip(self.values), states: skip(self.states) }
    }
}

/// A listed case that needs a feature our programs do not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotDone {
    /// The missing feature, or the reason why it cannot be reproduced.
    pub reason: String,
    /// The case, or `None` for a recording that is one case.
    pub case: Option<String>,
}

/// Outcome of one scenario.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Name of its directory, for messages only.
    pub name: String,
    /// Numbers of comparisons.
    pub counts: Counts,
    /// All differences that no exception covers.
    pub differences: Vec<Difference>,
    /// Cases that differ and are listed as not done.
    pub not_done: Vec<NotDone>,
    /// Checks that were not possible here, with reasons.
    pub left_out: Vec<String>,
    /// The reason why the scenario could not be replayed: a failure.
    pub fault: Option<String>,
    /// The reason why it cannot be replayed on this machine by this user: not a failure, but reported.
    pub not_here: Option<String>,
    /// Duration of the run.
    pub took: Duration,
    /// Number of attempts.
    pub attempts: usize,
    /// Directory of the run, if it is kept.
    pub kept: Option<PathBuf>,
}

/// Status of a scenario, printed as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Compared, without differences.
    Ok,
    /// Some differences.
    Differs,
    /// It could not be replayed.
    Failed,
    /// All of it is listed as not done.
    NotDone,
    /// This machine or user cannot replay it.
    NotHere,
    /// It was replayed, but nothing was compared.
    Nothing,
}

impl Standing {
    fn word(self) -> &'static str {
        match self {
            Standing::Ok => "ok",
            Standing::Differs => "DIFFERS",
            Standing::Failed => "FAILED",
            Standing::NotDone => "not done",
            Standing::NotHere => "not here",
            Standing::Nothing => "NOTHING",
        }
    }

    /// Returns true if the status is not a failure.
    pub fn is_good(self) -> bool {
        matches!(self, Standing::Ok | Standing::NotDone | Standing::NotHere)
    }
}

impl Outcome {
    /// Creates an empty outcome for the scenario of this name.
    pub fn of(name: String) -> Self {
        Outcome { name, attempts: 1, ..Outcome::default() }
    }

    /// Returns the status.
    pub fn standing(&self) -> Standing {
        match (&self.fault, self.differences.is_empty()) {
            (Some(_), _) => Standing::Failed,
            (None, false) => Standing::Differs,
            (None, true) if !self.counts.is_nothing() => Standing::Ok,
            (None, true) if self.not_here.is_some() => Standing::NotHere,
            (None, true) if !self.not_done.is_empty() => Standing::NotDone,
            (None, true) => Standing::Nothing,
        }
    }

    fn line(&self) -> String {
        let tail = match self.attempts {
            0 | 1 => format!("{:.1} s", self.took.as_secs_f64()),
            attempts => format!("{:.1} s, {attempts} attempts", self.took.as_secs_f64()),
        };
        let what = match &self.fault {
            Some(reason) => format!("could not be played: {reason}"),
            None if self.counts.is_nothing() => match &self.not_here {
                Some(reason) => format!("nothing was compared: {reason}"),
                None => "nothing was compared".to_owned(),
            },
            None => format!(
                "{} calls, {} values, {} states compared, {} differences",
                self.counts.calls.compared,
                self.counts.values.compared,
                self.counts.states.compared,
                self.differences.len()
            ),
        };
        format!("{:<34} {:<8}  {what}, {tail}", self.name, self.standing().word())
    }
}

/// Returns the sum of all numbers.
pub fn total(outcomes: &[Outcome]) -> Counts {
    let mut counts = Counts::default();
    outcomes.iter().for_each(|outcome| counts += outcome.counts);
    counts
}

/// Prints the outcomes of the scenarios; returns true if each was replayed, compared and found equal, or is
/// listed as not done.
pub fn report(outcomes: &[Outcome]) -> bool {
    for outcome in outcomes {
        if let Some(kept) = &outcome.kept {
            println!("{}: ran in {}", outcome.name, kept.display());
        }
        for difference in &outcome.differences {
            println!("{}: {difference}", outcome.name);
        }
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for NotDone { reason, case } in &outcome.not_done {
            reasons.entry(reason).or_default().push(case.as_deref().unwrap_or("all of it"));
        }
        for (reason, cases) in reasons {
            println!("{}: not done: {reason}: {}", outcome.name, cases.join(", "));
        }
    }
    let mut left_out: Vec<&str> =
        outcomes.iter().flat_map(|outcome| &outcome.left_out).map(String::as_str).collect();
    left_out.sort_unstable();
    left_out.dedup();
    left_out.iter().for_each(|line| println!("left out: {line}"));
    outcomes.iter().for_each(|outcome| println!("{}", outcome.line()));
    println!("{}", last_line(outcomes));
    outcomes.iter().all(|outcome| outcome.standing().is_good()) && !total(outcomes).is_nothing()
}

/// Returns the totals, in one line.
fn last_line(outcomes: &[Outcome]) -> String {
    let count = |expected: Standing| outcomes.iter().filter(|outcome| outcome.standing() == expected).count();
    let total = total(outcomes);
    format!(
        "{} scenarios: {} ok, {} differ, {} could not be played, {} compared nothing, {} not here, {} not done; {} differences; \
         calls: {}; values: {} ({:.2} %); states: {}",
        outcomes.len(),
        count(Standing::Ok),
        count(Standing::Differs),
        count(Standing::Failed),
        count(Standing::Nothing),
        count(Standing::NotHere),
        count(Standing::NotDone),
        outcomes.iter().map(|outcome| outcome.differences.len()).sum::<usize>(),
        total.calls,
        total.values,
        total.values.excused_percent(),
        total.states,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared() -> Outcome {
        let values = Tally { compared: 99, excused: 1, skipped: 3 };
        Outcome { counts: Counts { values, ..Counts::default() }, ..Outcome::of("one".to_owned()) }
    }

    #[test]
    fn a_recording_that_was_not_replayed_or_compared_is_not_ok() {
        let fault = Outcome { fault: Some("no programs".to_owned()), ..compared() };
        assert_eq!(fault.standing(), Standing::Failed);
        assert!(!report(&[compared(), fault]));
        let nothing = Outcome::of("two".to_owned());
        assert_eq!(nothing.standing(), Standing::Nothing);
        assert!(!report(&[compared(), nothing]));
        assert!(!report(&[]));
        assert!(report(&[compared()]));
    }

    #[test]
    fn the_last_line_counts_what_was_compared_excused_and_skipped() {
        let line = last_line(&[compared(), compared()]);
        assert!(
            line.contains("2 ok") && line.contains("values: 198 compared, 2 excused, 6 skipped (1.00 %)"),
            "{line}"
        );
    }
}
