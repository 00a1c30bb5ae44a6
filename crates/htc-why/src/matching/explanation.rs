//! Causes and suggestions for groups of jobs.

use super::analysis::{Analysis, Refusal, RefusalSource};
use super::bit_set::BitSet;
use super::cause::Cause;
use super::clauses::ClauseSide;
use super::evidence::ClauseEvidence;
use super::job_change::Suggestion;
use super::sentence::clause_sentence;
use super::slot_set::OtherRefusal;
use super::suggestions::SuggestionSearch;

impl Analysis<'_> {
    /// Returns the causes for which slots refuse a group of jobs; those that refuse most slots come first.
    pub fn causes(&self, job: usize) -> Vec<Cause> {
        self.refusals(job).iter().map(|refusal| self.describe(job, refusal)).collect()
    }

    /// Returns at most `limit` small changes of a group of jobs that win slots; those that win most come first.
    pub fn suggestions(&self, job: usize, limit: usize) -> Vec<Suggestion> {
        SuggestionSearch::new(self, job).run(limit)
    }

    pub(super) fn describe(&self, job: usize, refusal: &Refusal<'_>) -> Cause {
        let slot = |set: &BitSet| set.iter().next().map_or(0, |slot| self.representatives[slot]);
        let place = |attribute: &str| self.slots.place(slot(&refusal.slots), attribute);
        let (refuses, alone) = (refusal.refuses, refusal.alone_count);
        match refusal.source {
            RefusalSource::Other(OtherRefusal { attribute, text, sentence }) => Cause {
                side: if attribute.starts_with("Require") { ClauseSide::Job } else { ClauseSide::Slot },
                attribute: attribute.clone(),
                clause: text.clone(),
                refuses,
                alone,
                place: String::new(),
                sentence: sentence.clone(),
                equivalent: Vec::new(),
                missing: Vec::new(),
            },
            RefusalSource::Clause(clause) => {
                let clause = &self.table.clauses[clause];
                let evidence = ClauseEvidence::collect(self, job, (clause, &refusal.slots));
                Cause {
                    side: clause.side,
                    attribute: clause.attribute.clone(),
                    clause: clause.text.clone(),
                    refuses,
                    alone,
                    place: if clause.side == ClauseSide::Slot {
                        place(&clause.attribute)
                    } else {
                        String::new()
                    },
                    sentence: clause_sentence(&evidence),
                    equivalent: refusal
                        .equivalent
                        .iter()
                        .map(|at| self.table.clauses[*at].text.clone())
                        .collect(),
                    missing: evidence.missing,
                }
            }
        }
    }
}
