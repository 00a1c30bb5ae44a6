//! Causes and suggestions for groups of jobs, and the rows of JSON about them.

use htc_classad::{Context, ExprKind};
use serde::Serialize;

use super::analysis::{Analysis, Refusal, RefusalSource};
use super::bit_set::BitSet;
use super::cause::Cause;
use super::clauses::{Clause, ClauseSide, Reference, ReferenceScope};
use super::comparison_boundary::mirror_operator;
use super::devices::DeviceDemand;
use super::evidence::ClauseEvidence;
use super::job_change::{JobChange, Suggestion};
use super::sentence::clause_sentences;
use super::side_names::SideNames;
use super::slot_set::OtherRefusal;
use super::slot_view::SlotCause;
use super::suggestions::SuggestionSearch;
use super::value_summary::value_text;

/// Maximum number of suggestions for each group of jobs.
const MAX_SUGGESTIONS: usize = 3;

/// Explanation of one group of jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobGroupExplanation {
    /// Name of the first job.
    pub first: String,
    /// Name of the last job.
    pub last: String,
    /// Number of jobs in the group.
    pub jobs: usize,
    /// Number of all slots.
    pub slots: usize,
    /// Number of slots that accept these jobs.
    pub accepting_slots: usize,
    /// Clauses that rule out slots; those that rule out most come first.
    pub causes: Vec<Cause>,
    /// Conditions of the job that no slot meets, as text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub impossible: Vec<String>,
    /// Changes that would make slots accept the jobs; empty if some slot accepts them.
    pub suggestions: Vec<SuggestedChange>,
}

/// Suggestion as text, with the numbers of slots that it gains and loses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuggestedChange {
    /// The changes in words.
    pub text: String,
    /// The changes; all are needed.
    pub changes: Vec<JobChange>,
    /// Number of slots that accept the changed job and refuse the current one.
    pub slots_won: usize,
    /// Number of slots that refuse the changed job and accept the current one.
    pub slots_lost: usize,
}

impl From<Suggestion> for SuggestedChange {
    fn from(suggestion: Suggestion) -> Self {
        let text = suggestion.to_string();
        let Suggestion { changes, slots_won, slots_lost, .. } = suggestion;
        SuggestedChange { text, changes, slots_won, slots_lost }
    }
}

/// Explanation of one group of slots.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlotGroupExplanation {
    /// Name of the first slot.
    pub first: String,
    /// Number of slots.
    pub slots: usize,
    /// Number of all jobs.
    pub jobs: usize,
    /// Number of jobs that the slots accept.
    pub accepted_jobs: usize,
    /// Clauses that refuse jobs; those that refuse most come first.
    pub causes: Vec<SlotCause>,
}

impl Analysis<'_> {
    /// Explains a group of jobs.
    pub fn explain_jobs(&self, job: usize) -> JobGroupExplanation {
        let group = &self.job_groups()[job];
        let is_refused = group.accepting_slots == 0;
        let suggestions = if is_refused { self.suggestions(job, MAX_SUGGESTIONS) } else { Vec::new() };
        JobGroupExplanation {
            first: group.first.clone(),
            last: group.last.clone(),
            jobs: group.count,
            slots: self.slot_count(),
            accepting_slots: group.accepting_slots,
            causes: self.causes(job),
            impossible: if is_refused { self.impossible_demands(job) } else { Vec::new() },
            suggestions: suggestions.into_iter().map(SuggestedChange::from).collect(),
        }
    }

    /// Explains a group of slots.
    pub fn explain_slots(&self, slot: usize) -> SlotGroupExplanation {
        let group = &self.slot_groups()[slot];
        SlotGroupExplanation {
            first: group.first.clone(),
            slots: group.count,
            jobs: self.job_count(),
            accepted_jobs: group.accepted_jobs,
            causes: self.slot_view(slot).causes,
        }
    }

    /// Returns the conditions of a group of jobs that no slot meets, such as `no slot has Arch = "ARM"`: comparisons of
    /// the job's Requirements with attributes that slots have.
    pub fn impossible_demands(&self, job: usize) -> Vec<String> {
        let all = self.slot_count();
        let refusing_all =
            self.table.refusals(job).filter(|(_, slots)| slots.total_weight(&self.weights) == all);
        refusing_all
            .filter_map(|(clause, _)| self.impossible_demand(job, &self.table.clauses[clause]))
            .collect()
    }

    fn impossible_demand(&self, job: usize, clause: &Clause) -> Option<String> {
        let ExprKind::Compare(operator, left, right) = clause.expr.kind() else { return None };
        let (name, operator, value) = match (left.as_literal(), right.as_literal()) {
            (None, Some(value)) => (&left, operator, value),
            (Some(value), None) => (&right, mirror_operator(operator), value),
            _ => return None,
        };
        let reference = Reference::parse(name)?;
        let may_be_of_slot = match self.slots.reading_side(clause.side) {
            ClauseSide::Job => reference.scope != ReferenceScope::My,
            ClauseSide::Slot => false,
        };
        let has_attribute = |slot: &usize| self.slots.ad(*slot).contains(&reference.name);
        if !may_be_of_slot || !self.representatives.iter().any(has_attribute) {
            return None;
        }
        if reference.scope == ReferenceScope::Unscoped && self.jobs[job].plain.contains(&reference.name) {
            let SideNames { job, slot } = self.slots.side_names();
            let name = &reference.name;
            return Some(format!("{name} is the {job}'s own attribute; TARGET.{name} is that of the {slot}"));
        }
        // The sentence about upper and lower case already says this.
        let differs_in_case = |slot: &usize| {
            let text = Context::new(self.slots.world()).my(self.slots.ad(*slot)).string(&reference.name);
            let texts = text.zip(value.as_str());
            texts.is_some_and(|(text, value)| text != value && text.eq_ignore_ascii_case(value))
        };
        if operator == "=?=" && self.representatives.iter().any(differs_in_case) {
            return None;
        }
        let operator = if matches!(operator, "==" | "=?=") { "=" } else { operator };
        let slot = self.slots.side_names().slot;
        Some(format!("no {slot} has {} {operator} {}", reference.name, value_text(&value)))
    }

    /// Returns the reasons why slots refuse a group of jobs; those that refuse most slots come first.
    pub fn causes(&self, job: usize) -> Vec<Cause> {
        self.refusals(job).iter().map(|refusal| self.describe(job, refusal)).collect()
    }

    /// Returns at most `limit` small changes to the jobs of a group that make more slots accept them; those that gain
    /// most slots come first.
    pub fn suggestions(&self, job: usize, limit: usize) -> Vec<Suggestion> {
        SuggestionSearch::new(self, job).run(limit)
    }

    pub(super) fn describe(&self, job: usize, refusal: &Refusal<'_>) -> Cause {
        let slot = |set: &BitSet| set.iter().next().map_or(0, |slot| self.representatives[slot]);
        let place = |attribute: &str| self.slots.setting_place(slot(&refusal.slots), attribute);
        let (refuses, alone) = (refusal.refuses, refusal.alone_count);
        match refusal.source {
            RefusalSource::Other(other @ OtherRefusal { attribute, text, sentence }) => Cause {
                sentence: match DeviceDemand::of_claim(self, job, &refusal.slots, attribute)
                    .and_then(|demand| demand.describe(None))
                {
                    Some(phrase) => format!("{sentence}: {phrase}"),
                    None => sentence.clone(),
                },
                side: other.side(),
                attribute: attribute.clone(),
                shorter_sentences: Vec::new(),
                clause: text.clone(),
                refuses,
                alone,
                place: String::new(),
                equivalent: Vec::new(),
                missing: Vec::new(),
            },
            RefusalSource::Clause(clause) => {
                let clause = &self.table.clauses[clause];
                let evidence = ClauseEvidence::collect(self, job, clause, &refusal.slots);
                let mut sentences = clause_sentences(&evidence).into_iter();
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
                    sentence: sentences.next().unwrap_or_default(),
                    shorter_sentences: sentences.collect(),
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
