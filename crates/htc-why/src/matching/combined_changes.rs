//! Combinations of changes to a job, for slots that several conditions refuse.

use std::ops::RangeInclusive;

use htc_classad::Expr;

use super::bit_set::BitSet;
use super::clauses::Clause;
use super::file_transfer::SHOULD_TRANSFER_FILES;
use super::job_change::JobChange;
use super::suggestions::SuggestionSearch;

/// Maximum number of sets of conditions for which changes are combined.
const MAX_PATTERNS: usize = 4;

/// Maximum number of candidates for each of two conditions.
const MAX_COMBINED: usize = 4;

/// Numbers of conditions beyond two for which changes are combined.
const SEVERAL: RangeInclusive<usize> = 3..=6;

impl SuggestionSearch<'_, '_> {
    /// Tries two changes for the pairs of conditions that refuse most slots together.
    pub(super) fn combine_pairs(&mut self) {
        for (pair, slots) in self.refusing_sets(2..=2) {
            let candidates = |at: usize| {
                let mut candidates = self.candidates(at, &slots);
                candidates.truncate(MAX_COMBINED);
                candidates
            };
            let (one, other) = (candidates(pair[0]), candidates(pair[1]));
            // One change may satisfy both conditions.
            for changes in one.iter().chain(&other) {
                self.try_changes(changes.clone(), &slots);
            }
            for first in &one {
                for second in &other {
                    if let Some(both) = join_changes(first, second) {
                        self.try_changes(both, &slots);
                    }
                }
            }
        }
    }

    /// Tries one change for each condition of a set of three or more: its first candidate for all slots that the set
    /// refuses, and its first candidate for one of these slots.
    pub(super) fn combine_several(&mut self) {
        for (refusals, slots) in self.refusing_sets(SEVERAL) {
            let mut first = BitSet::new(self.analysis.weights.len());
            slots.iter().take(1).for_each(|slot| first.insert(slot));
            for slots in [&slots, &first] {
                let candidates: Option<Vec<Vec<JobChange>>> =
                    refusals.iter().map(|at| self.candidates(*at, slots).into_iter().next()).collect();
                if let Some(candidates) = candidates {
                    self.try_changes(smallest_of_each(candidates.concat()), slots);
                }
            }
        }
    }

    /// Returns the sets of conditions that together refuse slots that nothing else refuses; most slots first.
    fn refusing_sets(&self, sizes: RangeInclusive<usize>) -> Vec<(Vec<usize>, BitSet)> {
        let size = self.analysis.weights.len();
        let mut sets: Vec<(Vec<usize>, BitSet)> = Vec::new();
        for slot in (0..size).filter(|slot| !self.accepting.contains(*slot)) {
            let refusing = (0..self.refusals.len()).filter(|at| self.refusals[*at].slots.contains(slot));
            let refusing: Vec<usize> = refusing.collect();
            if !sizes.contains(&refusing.len()) {
                continue;
            }
            let at = sets.iter().position(|(known, _)| *known == refusing).unwrap_or_else(|| {
                sets.push((refusing, BitSet::new(size)));
                sets.len() - 1
            });
            sets[at].1.insert(slot);
        }
        sets.sort_by_key(|(_, slots)| std::cmp::Reverse(slots.total_weight(&self.analysis.weights)));
        sets.truncate(MAX_PATTERNS);
        sets
    }

    /// Returns the changes that replace a clause about a shared file system, as condor_submit makes them for
    /// `should_transfer_files = YES`, or `None` if the Requirements of jobs are not evaluated.
    pub(super) fn file_transfer_changes(&self, clause: &Clause) -> Option<Vec<JobChange>> {
        if self.analysis.slots.job_conditions().is_some() {
            return None;
        }
        let from = self.analysis.jobs[self.job].plain.get(SHOULD_TRANSFER_FILES);
        let name = SHOULD_TRANSFER_FILES.into();
        let set = JobChange::Set { name, from, to: Expr::literal("YES".to_owned()) };
        let clause = clause.expr.clone();
        // Every starter publishes HasFileTransfer; if no ad has it, only some attributes were printed.
        let is_known = |slot: &usize| self.analysis.slots.ad(*slot).contains("HasFileTransfer");
        let changed = match self.analysis.representatives.iter().any(is_known) {
            true => {
                let with = Expr::parse(b"TARGET.HasFileTransfer").ok()?;
                JobChange::ReplaceClause { clause, with }
            }
            false => JobChange::DropClause { clause },
        };
        Some(vec![set, changed])
    }
}

/// Returns the changes of both lists, or `None` if they change the same attribute or have the same change.
fn join_changes(one: &[JobChange], other: &[JobChange]) -> Option<Vec<JobChange>> {
    let is_same = |first: &JobChange, second: &JobChange| {
        first == second || first.attribute().is_some() && first.attribute() == second.attribute()
    };
    let overlaps = one.iter().any(|first| other.iter().any(|second| is_same(first, second)));
    (!overlaps).then(|| [one, other].concat())
}

/// Returns changes with one for each attribute: the one with the smallest number.
fn smallest_of_each(changes: Vec<JobChange>) -> Vec<JobChange> {
    let number = |change: &JobChange| match change {
        JobChange::Set { to, .. } => to.as_literal().and_then(|value| value.as_real()),
        _ => None,
    };
    let mut kept: Vec<JobChange> = Vec::new();
    for change in changes {
        let has_same_attribute =
            |it: &&mut JobChange| it.attribute().is_some() && it.attribute() == change.attribute();
        if kept.contains(&change) {
            continue;
        }
        match kept.iter_mut().find(has_same_attribute) {
            Some(known) if number(&change).zip(number(known)).is_some_and(|(new, old)| new < old) => {
                *known = change;
            }
            // Setting a value also defines the attribute.
            Some(known) if matches!(known, JobChange::Define { .. }) => *known = change,
            Some(_) => {}
            None => kept.push(change),
        }
    }
    kept
}
