//! Jobs from the point of view of a slot: the jobs that it accepts, and the clauses that refuse the others.

use serde::Serialize;

use super::analysis::{Analysis, Refusal, RefusalSource};
use super::bit_set::BitSet;
use super::cause::longest_within;
use super::clauses::ClauseSide;

/// Clause by which a group of slots refuses jobs, or by which jobs refuse it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotCause {
    /// Side whose ad contains the clause.
    pub side: ClauseSide,
    /// Attribute that contains the clause.
    pub attribute: String,
    /// Text of the clause.
    pub clause: String,
    /// Number of jobs that the clause refuses.
    pub refuses: usize,
    /// Number of jobs that only this clause refuses.
    pub alone: usize,
    /// Place where a configuration sets the attribute, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Reason for the largest group of refused jobs.
    pub sentence: String,
    /// The sentence with shorter lists of values, the longest first.
    #[serde(skip)]
    pub shorter_sentences: Vec<String>,
}

impl SlotCause {
    /// Returns the longest form of the sentence that has at most `max` characters, or the shortest form.
    pub fn sentence_within(&self, max: usize) -> &str {
        longest_within(&self.sentence, &self.shorter_sentences, max)
    }
}

/// Jobs from the point of view of one group of slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotView {
    /// Number of jobs that the slots accept.
    pub accepted_jobs: usize,
    /// Groups of jobs that the slots accept: the first job of each group, and the number of jobs.
    pub accepted: Vec<(String, usize)>,
    /// Clauses that refuse jobs; those that refuse most come first.
    pub causes: Vec<SlotCause>,
}

/// Count of one condition, with the largest group of jobs that it refuses.
struct ConditionCount<'a> {
    source: RefusalSource<'a>,
    refuses: usize,
    alone: usize,
    largest: usize,
}

impl Analysis<'_> {
    /// Returns the jobs that a group of slots accepts, and the clauses that refuse the others.
    pub fn slot_view(&self, slot: usize) -> SlotView {
        let mut counts: Vec<ConditionCount<'_>> = Vec::new();
        let mut accepted = Vec::new();
        for (job, group) in self.job_groups().iter().enumerate() {
            let refusing = self.refusals_of_pair(job, slot);
            if refusing.is_empty() {
                accepted.push((group.first.clone(), group.count));
            }
            let are_equivalent = |(one, other): (&RefusalSource<'_>, &RefusalSource<'_>)| {
                self.compare_same_attributes(*one, *other)
            };
            let are_clauses = refusing.iter().all(|it| matches!(it, RefusalSource::Clause(_)));
            let is_alone = refusing.iter().zip(refusing.iter().skip(1)).all(are_equivalent)
                && !(are_clauses && self.is_refused_despite_requirements(job, slot));
            let alone = if is_alone { group.count } else { 0 };
            for source in refusing {
                match counts.iter_mut().find(|count| is_same(count.source, source)) {
                    Some(count) => {
                        count.refuses += group.count;
                        count.alone += alone;
                        if self.job_groups()[count.largest].count < group.count {
                            count.largest = job;
                        }
                    }
                    None => counts.push(ConditionCount { source, refuses: group.count, alone, largest: job }),
                }
            }
        }
        counts.sort_by_key(|count| std::cmp::Reverse((count.refuses, count.alone)));
        let causes = counts.into_iter().map(|count| self.slot_cause(slot, &count)).collect();
        SlotView { accepted_jobs: self.slot_groups()[slot].accepted_jobs, accepted, causes }
    }

    fn slot_cause(&self, slot: usize, count: &ConditionCount<'_>) -> SlotCause {
        let mut only = BitSet::new(self.weights.len());
        only.insert(slot);
        let refusal = Refusal {
            source: count.source,
            equivalent: Vec::new(),
            alone: only.clone(),
            slots: only,
            refuses: count.refuses,
            alone_count: count.alone,
        };
        let cause = self.describe(count.largest, &refusal);
        SlotCause {
            side: cause.side,
            attribute: cause.attribute,
            clause: cause.clause,
            refuses: cause.refuses,
            alone: cause.alone,
            place: cause.place,
            sentence: cause.sentence,
            shorter_sentences: cause.shorter_sentences,
        }
    }
}

fn is_same(one: RefusalSource<'_>, other: RefusalSource<'_>) -> bool {
    match (one, other) {
        (RefusalSource::Clause(one), RefusalSource::Clause(other)) => one == other,
        (RefusalSource::Other(one), RefusalSource::Other(other)) => {
            one.attribute == other.attribute && one.text == other.text
        }
        _ => false,
    }
}
