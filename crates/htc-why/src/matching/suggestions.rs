//! Search for small changes to a job that make more slots accept it.
//!
//! Candidates are at the boundaries of comparisons: the values for which a clause just becomes true for a slot that
//! only this clause refuses, or that two clauses refuse. Each is verified by evaluating the changed job for every group
//! of slots.

use htc_classad::{AttrName, ClassAd, Expr, ExprKind, Value};

use super::analysis::{Analysis, Refusal, RefusalSource};
use super::bit_set::BitSet;
use super::clauses::{Clause, ClauseSide, Reference, mentioned_references};
use super::comparison_boundary::{boundary, mirror_operator};
use super::definedness::tested_for_definition;
use super::device_call::DeviceCall;
use super::devices::DeviceDemand;
use super::file_transfer::transfers_files;
use super::job_change::{JobChange, Suggestion};
use super::missing_requests::proposed_request;
use super::notes::RefusingClause;
use super::schedd_attributes::can_owner_set;
use super::suggestion_ranking::{VerifiedChange, choose, distance};
use super::zero_terms::without_zero_terms;

/// Maximum number of slot groups whose values are considered for one clause.
const MAX_SAMPLED_SLOTS: usize = 400;

/// Maximum number of candidates for one clause.
const MAX_CANDIDATES: usize = 8;

/// Maximum depth to which a clause is searched for comparisons.
const MAX_DEPTH: usize = 12;

/// Search for one group of jobs.
pub(super) struct SuggestionSearch<'a, 's> {
    pub(super) analysis: &'a Analysis<'s>,
    pub(super) job: usize,
    pub(super) refusals: Vec<Refusal<'a>>,
    pub(super) accepting: BitSet,
    verified: Vec<VerifiedChange>,
}

impl<'a, 's> SuggestionSearch<'a, 's> {
    pub(super) fn new(analysis: &'a Analysis<'s>, job: usize) -> Self {
        let refusals = analysis.refusals(job);
        SuggestionSearch {
            analysis,
            job,
            refusals,
            accepting: analysis.accepting_slots(job),
            verified: Vec::new(),
        }
    }

    /// Returns at most `limit` suggestions; those that change one condition come first.
    pub(super) fn run(mut self, limit: usize) -> Vec<Suggestion> {
        for at in 0..self.refusals.len() {
            if self.refusals[at].alone_count > 0 {
                let slots = self.refusals[at].alone.clone();
                for changes in self.candidates(at, &slots) {
                    self.try_changes(changes, &slots);
                }
            }
        }
        if self.verified.len() < limit {
            self.combine_pairs();
        }
        if self.verified.is_empty() {
            self.combine_several();
        }
        self.select(limit)
    }

    /// Verifies changes. If a rounded request is still refused, searches for the largest value that is accepted.
    pub(super) fn try_changes(&mut self, changes: Vec<JobChange>, wanted: &BitSet) {
        if self.verified.iter().any(|change| change.suggestion.changes == changes) {
            return;
        }
        if self.verify(changes.clone()) {
            return;
        }
        let Some(slot) = wanted.iter().next() else { return };
        for at in 0..changes.len() {
            let JobChange::Set { name, from: Some(from), to } = &changes[at] else { continue };
            let numbers =
                (from.as_literal().and_then(|it| it.as_int()), to.as_literal().and_then(|it| it.as_int()));
            let (Some(old), Some(new)) = numbers else { continue };
            if new >= old || new <= 0 {
                continue;
            }
            let with_value = |value: i64| {
                let mut changes = changes.clone();
                let (name, from) = (name.clone(), Some(from.clone()));
                changes[at] = JobChange::Set { name, from, to: Expr::literal(value) };
                changes
            };
            let slot = self.analysis.representatives[slot];
            let accepts =
                |value: i64| self.analysis.slots.accepts(slot, &self.changed_job(&with_value(value)));
            if let Some(value) = largest_accepted(new, accepts)
                && self.verify(with_value(value))
            {
                return;
            }
        }
    }

    fn changed_job(&self, changes: &[JobChange]) -> ClassAd {
        let mut job = self.analysis.jobs[self.job].plain.clone();
        changes.iter().for_each(|change| change.apply(&mut job));
        job
    }

    /// Evaluates the changed job for every group of slots, and keeps the changes if they gain slots.
    fn verify(&mut self, changes: Vec<JobChange>) -> bool {
        let (won, lost) = self.gained_and_lost(&changes);
        if changes.iter().any(|change| matches!(change, JobChange::Define { .. })) {
            let gains_the_same = |value: Expr| {
                let changes: Vec<JobChange> = changes.iter().map(|it| it.with_value(&value)).collect();
                self.gained_and_lost(&changes) == (won.clone(), lost.clone())
            };
            if ![Expr::literal(1), Expr::literal("x".to_owned())].into_iter().all(gains_the_same) {
                return false;
            }
        }
        let weights = &self.analysis.weights;
        let (slots_won, slots_lost) = (won.total_weight(weights), lost.total_weight(weights));
        if slots_won <= slots_lost {
            return false;
        }
        self.verified.push(VerifiedChange {
            suggestion: Suggestion {
                changes,
                slots_won,
                slots_lost,
                slot_name: self.analysis.slots.side_names().slot,
            },
            won,
        });
        true
    }

    /// Returns the groups of slots that accept only the changed job, and those that accept only the current one.
    fn gained_and_lost(&self, changes: &[JobChange]) -> (BitSet, BitSet) {
        let job = self.changed_job(changes);
        let size = self.analysis.weights.len();
        let (mut won, mut lost) = (BitSet::new(size), BitSet::new(size));
        for (at, &slot) in self.analysis.representatives.iter().enumerate() {
            match (self.accepting.contains(at), self.analysis.slots.accepts(slot, &job)) {
                (false, true) => won.insert(at),
                (true, false) => lost.insert(at),
                _ => {}
            }
        }
        (won, lost)
    }

    /// Chooses suggestions. Changes of one condition come before changes of two, then those that gain more
    /// slots, then smaller ones. Suggestions that change more and gain no other slot are left out. The last
    /// place is for a change of two conditions that gains more slots than any other.
    fn select(&mut self, limit: usize) -> Vec<Suggestion> {
        // A job that asks for a resource needs some of it.
        self.verified.retain(|change| !change.suggestion.changes.iter().any(gives_up_resource));
        self.verified.sort_by_key(|change| {
            let suggestion = &change.suggestion;
            let removes = suggestion.changes.iter().any(gives_up_condition);
            let won = std::cmp::Reverse(suggestion.slots_won);
            (suggestion.changes.len(), won, removes, distance(suggestion))
        });
        let mut selected: Vec<&VerifiedChange> = Vec::new();
        for change in &self.verified {
            if !selected.iter().any(|other| other.makes_redundant(change)) {
                selected.push(change);
            }
        }
        let chosen = choose(&selected, limit);
        chosen.into_iter().map(|change| change.suggestion.clone()).collect()
    }

    /// Returns changes that may make a condition true for some of these slots; most of them are single changes.
    pub(super) fn candidates(&self, refusal: usize, slots: &BitSet) -> Vec<Vec<JobChange>> {
        let mut collector = CandidateCollector {
            search: self,
            slots: slots.iter().take(MAX_SAMPLED_SLOTS).collect(),
            candidates: Vec::new(),
        };
        let mut transfers = Vec::new();
        let refusal = &self.refusals[refusal];
        let refusing_clause = match refusal.source {
            RefusalSource::Clause(clause) => Some(clause),
            RefusalSource::Other(other) => {
                collector.add_other(&other.attribute);
                None
            }
        };
        for clause in refusing_clause.into_iter().chain(refusal.equivalent.iter().copied()) {
            let clause = &self.analysis.table.clauses[clause];
            if clause.needs_file_transfer() && !transfers_files(&self.analysis.jobs[self.job].plain) {
                transfers.extend(self.file_transfer_changes(clause));
                continue;
            }
            collector.add_corrections(clause);
            if let Some(call) = DeviceCall::find(&clause.expr) {
                let (analysis, slots) = (self.analysis, collector.slot_set());
                let demand = DeviceDemand::of_clause(analysis, self.job, &slots, (clause.side, call));
                if demand.as_ref().is_some_and(DeviceDemand::has_to_wait) {
                    continue;
                }
                collector.add_weaker_devices(demand);
            }
            collector.collect(clause, &clause.expr, MAX_DEPTH);
            if clause.side == ClauseSide::Job && self.analysis.slots.job_conditions().is_none() {
                collector.add_without(clause);
                collector.add_replacements(clause);
            }
        }
        transfers.into_iter().chain(collector.candidates.into_iter().map(|change| vec![change])).collect()
    }
}

/// True if a change gives up a condition of the job as a whole, such as RequireGPUs.
fn gives_up_condition(change: &JobChange) -> bool {
    match change {
        JobChange::Remove { .. } => true,
        JobChange::Set { from: Some(from), to, .. } => {
            from.as_literal().is_none() && to.as_literal() == Some(Value::Bool(true))
        }
        _ => false,
    }
}

/// Returns true if the change sets the request for a resource to 0 or removes it, which the owner is unlikely to want.
fn gives_up_resource(change: &JobChange) -> bool {
    let is_request =
        |name: &AttrName| name.as_bytes().get(..7).is_some_and(|it| it.eq_ignore_ascii_case(b"Request"));
    let (name, to) = match change {
        JobChange::Set { name, to, .. } => (name, to),
        JobChange::Remove { name } => return is_request(name),
        _ => return false,
    };
    is_request(name) && to.as_literal().and_then(|value| value.as_real()).is_some_and(|number| number <= 0.0)
}

/// Returns the largest positive number below `limit` that is accepted, if acceptance is monotone.
fn largest_accepted(limit: i64, accepts: impl Fn(i64) -> bool) -> Option<i64> {
    let (mut low, mut high) = (1, limit);
    if !accepts(low) {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if accepts(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// Candidates for one condition at some slots.
struct CandidateCollector<'c, 'a, 's> {
    search: &'c SuggestionSearch<'a, 's>,
    slots: Vec<usize>,
    candidates: Vec<JobChange>,
}

impl CandidateCollector<'_, '_, '_> {
    fn add(&mut self, change: JobChange) {
        if !self.candidates.contains(&change) && self.candidates.len() < MAX_CANDIDATES {
            self.candidates.push(change);
        }
    }

    fn ad_pair(&self, side: ClauseSide, group: usize) -> (&ClassAd, &ClassAd) {
        let analysis = self.search.analysis;
        let slot = analysis.representatives[group];
        (analysis.slots.ad(slot), analysis.jobs[self.search.job].for_condition(side, analysis.slots, slot))
    }

    /// Returns the attribute of the job that an operand refers to, or `None`.
    fn job_attribute(&self, clause: &Clause, operand: &Expr) -> Option<AttrName> {
        let reference = Reference::parse(operand)?;
        let (slot, job) = self.ad_pair(clause.side, *self.slots.first()?);
        let side = self.search.analysis.slots.reading_side(clause.side);
        let is_of_job = match reference.defining_side(side, slot, job) {
            Some(side) => side == ClauseSide::Job,
            None => reference.may_be_of_job(side) && !reference.may_be_of_slot(side),
        };
        (is_of_job && can_owner_set(&reference.name)).then_some(reference.name)
    }

    /// Searches a clause for comparisons and truth values that depend on the job.
    fn collect(&mut self, clause: &Clause, part: &Expr, depth: usize) {
        if depth == 0 || self.slots.is_empty() {
            return;
        }
        if let Some(tested) = tested_for_definition(part) {
            if let Some(name) = self.job_attribute(clause, &tested) {
                self.add_definition(&name);
            }
            return;
        }
        match part.kind() {
            ExprKind::Compare(operator, left, right) => {
                // `isUndefined(X) == false`
                let tests = [&left, &right].map(|operand| operand.without_parentheses());
                tests
                    .iter()
                    .filter(|operand| tested_for_definition(operand).is_some())
                    .for_each(|operand| self.collect(clause, operand, depth - 1));
                let [left, right] = [left, right].map(|operand| self.without_zero_terms(clause, &operand));
                self.add_boundaries(clause, operator, &left, &right);
                self.add_boundaries(clause, mirror_operator(operator), &right, &left);
            }
            ExprKind::Reference => {
                if let Some(name) = self.job_attribute(clause, part) {
                    self.add_value(&name, Expr::literal(true));
                }
            }
            ExprKind::Not(operand) if operand.without_parentheses().is_reference() => {
                if let Some(name) = self.job_attribute(clause, &operand) {
                    self.add_value(&name, Expr::literal(false));
                }
            }
            _ => part.parts().iter().for_each(|part| self.collect(clause, part, depth - 1)),
        }
    }

    /// Returns an operand without the terms that are 0 for the first of the slots.
    fn without_zero_terms(&self, clause: &Clause, operand: &Expr) -> Expr {
        let Some(&group) = self.slots.first() else { return operand.clone() };
        let (slot, job) = self.ad_pair(clause.side, group);
        without_zero_terms(&self.search.analysis.slots.context(clause.side, slot, job), operand)
    }

    /// Returns the slots as a set of groups.
    fn slot_set(&self) -> BitSet {
        let mut slots = BitSet::new(self.search.analysis.weights.len());
        self.slots.iter().for_each(|slot| slots.insert(*slot));
        slots
    }

    /// Adds weaker conditions on devices, such as RequireGPUs.
    fn add_weaker_devices(&mut self, demand: Option<DeviceDemand<'_>>) {
        let weaker = demand.map(|demand| demand.weaker_conditions()).unwrap_or_default();
        weaker.into_iter().for_each(|(name, condition)| self.add_value(&name, condition));
    }

    /// Adds corrections of a clause of the job that reads the wrong ad, or distinguishes upper and lower case.
    fn add_corrections(&mut self, clause: &Clause) {
        let SuggestionSearch { analysis, job, .. } = self.search;
        if clause.side != ClauseSide::Job || analysis.slots.job_conditions().is_some() {
            return;
        }
        let refusing = RefusingClause { analysis, job: *job, clause, slots: &self.slot_set() };
        let scope = refusing.wrong_scope(&clause.expr).and_then(|wrong| wrong.correct(clause));
        let case = refusing.case_sensitive_part(&clause.expr).and_then(|part| part.correct(&clause.expr));
        let names = refusing.mistaken_names(&clause.expr);
        let names = names.iter().filter_map(|name| name.correct(&clause.expr));
        for with in scope.into_iter().chain(case).chain(names) {
            self.add(JobChange::ReplaceClause { clause: clause.expr.clone(), with });
        }
    }

    fn add_value(&mut self, name: &AttrName, to: Expr) {
        let from = self.search.analysis.jobs[self.search.job].plain.get(name);
        if from.as_ref() != Some(&to) {
            self.add(JobChange::Set { name: name.clone(), from, to });
        }
    }

    /// Adds two changes: one that defines an attribute with any value, and one that removes it.
    fn add_definition(&mut self, name: &AttrName) {
        let from = self.search.analysis.jobs[self.search.job].plain.get(name);
        if from.is_some() {
            self.add(JobChange::Remove { name: name.clone() });
        }
        self.add(JobChange::Define { name: name.clone(), from, to: Expr::literal(true) });
    }

    /// Adds the values for which a comparison of an attribute of the job becomes true.
    fn add_boundaries(&mut self, clause: &Clause, operator: &str, attribute: &Expr, other: &Expr) {
        let Some(name) = self.job_attribute(clause, &without_default(attribute)) else { return };
        let job = &self.search.analysis.jobs[self.search.job].plain;
        let current = job.get(&name);
        let proposed = proposed_request(self.search.analysis.slots, job, &name);
        if let Some(proposed) = &proposed {
            self.add_value(&name, proposed.clone());
        }
        // A whole machine is not a sensible request for a job about which nothing is known.
        let is_sensible = |value: &Value| {
            let limit = proposed.as_ref().and_then(Expr::as_literal).and_then(|it| it.as_real());
            limit.zip(value.as_real()).is_none_or(|(limit, value)| value < limit)
        };
        let is_whole =
            current.as_ref().and_then(Expr::as_literal).is_none_or(|value| matches!(value, Value::Int(_)));
        for value in self.boundary_values(clause, other) {
            if let Some(value) = boundary(operator, &value, is_whole).filter(is_sensible) {
                self.add_value(&name, Expr::literal(value));
            }
        }
    }

    /// Returns representative values of an expression over the slots: the maximum, minimum and median of numbers, or
    /// the most frequent of other values.
    fn boundary_values(&self, clause: &Clause, expr: &Expr) -> Vec<Value> {
        let value = |slot: usize| {
            let (slot, job) = self.ad_pair(clause.side, slot);
            self.search.analysis.slots.context(clause.side, slot, job).eval(expr)
        };
        let weights = &self.search.analysis.weights;
        let mut values: Vec<(Value, usize)> = Vec::new();
        for &slot in &self.slots {
            let value = value(slot);
            if value.is_undefined() || value.is_error() {
                continue;
            }
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, weight)) => *weight += weights[slot],
                None => values.push((value, weights[slot])),
            }
        }
        let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::Real(_));
        if values.iter().all(|(value, _)| is_number(value)) {
            values.sort_by(|(one, _), (other, _)| {
                one.as_real().unwrap_or_default().total_cmp(&other.as_real().unwrap_or_default())
            });
            let last = values.len().saturating_sub(1);
            let chosen = [last, 0, last / 2].into_iter().filter_map(|at| values.get(at));
            return chosen.map(|(value, _)| value.clone()).collect();
        }
        values.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        values.into_iter().take(3).map(|(value, _)| value).collect()
    }

    /// True if an expression of a clause reads an attribute of some of the slots.
    fn reads_slots(&self, clause: &Clause, expr: &Expr) -> bool {
        let side = self.search.analysis.slots.reading_side(clause.side);
        let is_of_slot = |reference: &Reference| {
            self.slots.iter().any(|group| {
                let (slot, job) = self.ad_pair(clause.side, *group);
                reference.defining_side(side, slot, job) == Some(ClauseSide::Slot)
            })
        };
        mentioned_references(expr).iter().any(is_of_slot)
    }

    /// Adds the job's Requirements without a clause.
    fn add_without(&mut self, clause: &Clause) {
        let job = &self.search.analysis.jobs[self.search.job].plain;
        match (job.get("Requirements"), clause.expr.as_literal()) {
            // The clause stands for the missing Requirements of the ad.
            (None, _) => self.add_value(&"Requirements".into(), Expr::literal(true)),
            // Nothing is known about Requirements that could not be read.
            (Some(whole), Some(Value::Error)) if whole == clause.expr => {}
            _ => self.add(JobChange::DropClause { clause: clause.expr.clone() }),
        }
    }

    /// Adds changes that replace the literal in a clause of the job's Requirements.
    fn add_replacements(&mut self, clause: &Clause) {
        let ExprKind::Compare(operator, left, right) = clause.expr.kind() else { return };
        let (kept, literal, oriented) = match (left.as_literal(), right.as_literal()) {
            (None, Some(literal)) => (&left, literal, mirror_operator(operator)),
            (Some(literal), None) => (&right, literal, operator),
            _ => return,
        };
        // A job that asks for a missing attribute does not ask for any of its values.
        if literal.is_undefined() || literal.is_error() {
            return;
        }
        // A value that depends only on the job or the clock is not a limit of the slots.
        if !self.reads_slots(clause, kept) {
            return;
        }
        let is_whole = matches!(literal, Value::Int(_));
        for value in self.boundary_values(clause, kept) {
            let Some(value) = boundary(oriented, &value, is_whole) else { continue };
            let (kept, value) = (kept.unparse(), Expr::literal(value).unparse());
            let text = match right.as_literal() {
                Some(_) => format!("{kept} {operator} {value}"),
                None => format!("{value} {operator} {kept}"),
            };
            if let Ok(with) = Expr::parse(text.as_bytes()) {
                self.add(JobChange::ReplaceClause { clause: clause.expr.clone(), with });
            }
        }
    }

    /// Adds changes for a job that is refused because of devices or because its requests are rounded.
    fn add_other(&mut self, attribute: &str) {
        let Some(&slot) = self.slots.first() else { return };
        let slot = self.search.analysis.representatives[slot];
        let job = self.search.analysis.jobs[self.search.job].plain.clone();
        if job.contains(attribute) && attribute.starts_with("Require") {
            let (analysis, number) = (self.search.analysis, self.search.job);
            let demand = DeviceDemand::of_claim(analysis, number, &self.slot_set(), attribute);
            if demand.as_ref().is_some_and(DeviceDemand::has_to_wait) {
                return;
            }
            self.add_weaker_devices(demand);
            self.add(JobChange::Remove { name: attribute.into() });
        }
        for (name, expr) in job.iter() {
            let number = expr.as_literal().and_then(|value| value.as_int());
            let Some(number) = number.filter(|number| *number > 1 && name.starts_with(b"Request")) else {
                continue;
            };
            let accepts = |value: i64| {
                let mut job = job.clone();
                job.set(name, value);
                self.search.analysis.slots.accepts(slot, &job)
            };
            if let Some(value) = largest_accepted(number, accepts) {
                self.add_value(&name.into(), Expr::literal(value));
            }
        }
    }
}

/// Returns `x` for `x ?: literal`, and any other expression unchanged.
fn without_default(expr: &Expr) -> Expr {
    let parts = expr.parts();
    match &parts[..] {
        [value, default] if expr.operator() == Some("?:") && default.as_literal().is_some() => value.clone(),
        _ => expr.clone(),
    }
}
