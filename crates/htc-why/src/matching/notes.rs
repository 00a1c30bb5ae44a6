//! Notes about a clause that is not true: probable mistakes in it, and other explanations of its value.

use htc_classad::{ClassAd, Context, Expr, ExprKind, Value};

use super::analysis::Analysis;
use super::bit_set::BitSet;
use super::clauses::{Clause, ClauseSide, Reference, mentioned_references};
use super::clock_constants::clock_constants;
use super::clock_dependence::ClockDependence;
use super::divided_slots::divided_slots_phrase;
use super::file_transfer::transfers_files;
use super::letter_case::CaseSensitivePart;
use super::missing_requests::MissingRequest;
use super::mistaken_names::MistakenName;
use super::version_comparison::VersionComparison;
use super::wrong_scope::WrongScope;

/// Maximum number of groups of slots that are searched for a note.
const MAX_GROUPS: usize = 100;

/// Maximum number of groups of slots whose times are compared. For more groups, no time is stated.
const MAX_CLOCK_GROUPS: usize = 3;

/// Clause that is not true for a group of jobs and some groups of slots.
pub(super) struct RefusingClause<'a> {
    pub(super) analysis: &'a Analysis<'a>,
    pub(super) job: usize,
    pub(super) clause: &'a Clause,
    pub(super) slots: &'a BitSet,
}

impl<'a> RefusingClause<'a> {
    fn ad_pair(&self, group: usize) -> (&'a ClassAd, &'a ClassAd) {
        let slot = self.analysis.representatives[group];
        let jobs = &self.analysis.jobs[self.job];
        (self.analysis.slots.ad(slot), jobs.for_condition(self.clause.side, self.analysis.slots, slot))
    }

    fn context(&self, group: usize) -> Context<'a> {
        let (slot, job) = self.ad_pair(group);
        self.analysis.slots.context(self.clause.side, slot, job)
    }

    fn first_context(&self) -> Option<Context<'a>> {
        self.slots.iter().next().map(|group| self.context(group))
    }

    /// Returns the versions of the slots and the version that a part requires, or `None` if it does not compare
    /// versions.
    fn version_note(&self, part: &Expr) -> Option<String> {
        let comparison = VersionComparison::find(&self.first_context()?, part)?;
        comparison.describe(self.groups().map(|group| (self.context(group), self.analysis.weights[group])))
    }

    fn groups(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().take(MAX_GROUPS)
    }

    /// Returns the notes about a part of the clause.
    pub(super) fn notes(&self, part: &Expr) -> Vec<String> {
        let names = self.analysis.side_names();
        let mut notes = Vec::new();
        notes.extend(self.wrong_scope(part).map(|wrong| wrong.describe(names)));
        notes.extend(self.mistaken_names(part).iter().map(MistakenName::describe));
        notes.extend(self.case_note(part));
        notes.extend(self.type_note(part));
        let of_request = |reference: &Reference| self.missing_request(reference)?.describe();
        notes.extend(mentioned_references(part).iter().filter_map(of_request));
        let side = self.clause.side;
        notes.extend(divided_slots_phrase(self.analysis, self.job, (side, part), self.slots));
        notes.extend(self.clock_note(part));
        notes.extend(self.first_context().and_then(|context| clock_constants(&context, part)));
        notes.extend(self.version_note(part));
        notes.extend(self.unpublished_notes(part));
        notes.extend(self.file_transfer_note(part));
        notes
    }

    /// Returns true if a part compares a number with a request that is a string. A note explains this.
    pub(super) fn has_text_request(&self, part: &Expr) -> bool {
        let is_text = |reference: &Reference| self.missing_request(reference).is_some_and(|it| it.is_text());
        mentioned_references(part).iter().any(is_text)
    }

    /// Returns the request of the job that a reference names, if it is not a number.
    fn missing_request(&self, reference: &Reference) -> Option<MissingRequest> {
        let side = self.analysis.slots.reading_side(self.clause.side);
        let (slot, job) = self.ad_pair(self.slots.iter().next()?);
        let is_of_job = match reference.defining_side(side, slot, job) {
            Some(found) => found == ClauseSide::Job,
            None => reference.may_be_of_job(side),
        };
        is_of_job.then(|| MissingRequest::find(self.analysis.slots, job, &reference.name)).flatten()
    }

    /// Returns the reference that is looked up in the wrong ad, or `None`.
    pub(super) fn wrong_scope(&self, part: &Expr) -> Option<WrongScope> {
        if self.analysis.slots.job_conditions().is_some() {
            return None;
        }
        self.groups().find_map(|group| {
            let (slot, job) = self.ad_pair(group);
            let has_name = |side: ClauseSide, reference: &Reference| match side {
                ClauseSide::Slot => slot.contains(&reference.name),
                ClauseSide::Job => job.contains(&reference.name),
            };
            let side = self.analysis.slots.reading_side(self.clause.side);
            WrongScope::find(&self.context(group), side, part, &has_name)
        })
    }

    /// Returns the comparison that is not true only because of upper and lower case, or `None`.
    pub(super) fn case_sensitive_part(&self, part: &Expr) -> Option<CaseSensitivePart> {
        self.groups().find_map(|group| CaseSensitivePart::find(&self.context(group), part))
    }

    /// Returns the names in a part that no ad of the analysis has, with their probable corrections.
    pub(super) fn mistaken_names(&self, part: &Expr) -> Vec<MistakenName> {
        let Some(group) = self.slots.iter().next() else { return Vec::new() };
        let (slot, job) = self.ad_pair(group);
        let side = self.analysis.slots.reading_side(self.clause.side);
        let is_published = |reference: &Reference| {
            self.analysis
                .representatives
                .iter()
                .any(|slot| self.analysis.slots.ad(*slot).contains(&reference.name))
        };
        let mistake = |reference: &Reference| {
            if reference.defining_side(side, slot, job).is_some()
                || (reference.may_be_of_slot(side) && is_published(reference))
            {
                return None;
            }
            let ads = [(reference.may_be_of_slot(side), slot), (reference.may_be_of_job(side), job)];
            let ads = ads.into_iter().filter(|(may_have, _)| *may_have).map(|(_, ad)| ad);
            let unquoted = |group| MistakenName::find_unquoted(&self.context(group), part, reference);
            self.groups().find_map(unquoted).or_else(|| MistakenName::find_misspelled(reference, ads))
        };
        mentioned_references(part).iter().filter_map(mistake).collect()
    }

    /// Returns a note that `=?=` is false because the values have different types, such as a string and a
    /// number.
    fn type_note(&self, part: &Expr) -> Option<String> {
        let ExprKind::Compare("=?=", left, right) = part.kind() else { return None };
        let types = |group: usize| {
            let context = self.context(group);
            Some([type_word(&context.eval(&left))?, type_word(&context.eval(&right))?])
        };
        let mut found = self.groups().map(types);
        let first = found.next()??;
        let [left, right] = first;
        let is_common = left != right && found.all(|other| other == Some(first));
        is_common.then(|| format!("=?= is never true for {left} and {right}"))
    }

    fn case_note(&self, part: &Expr) -> Option<String> {
        let group_of = |group: &usize| CaseSensitivePart::find(&self.context(*group), part);
        let (first, found) = self.groups().find_map(|group| Some((group, group_of(&group)?)))?;
        let affected_count: usize = self
            .groups()
            .filter(|group| group_of(group).is_some())
            .map(|group| self.analysis.weights[group])
            .sum();
        let all = self.slots.total_weight(&self.analysis.weights);
        let phrase = found.describe(&self.context(first));
        let slot = self.analysis.side_names().slot;
        let is_complete = self.slots.iter().count() <= MAX_GROUPS;
        let count = if affected_count < all && is_complete {
            format!(" for {affected_count} of {all} {slot}s")
        } else {
            String::new()
        };
        Some(phrase + &count)
    }

    /// Returns a note that the job can be submitted with file transfer instead of a shared file system, or `None`.
    fn file_transfer_note(&self, part: &Expr) -> Option<String> {
        let is_of_files =
            mentioned_references(part).iter().any(|reference| reference.name == "FileSystemDomain");
        if !is_of_files
            || !self.clause.needs_file_transfer()
            || self.analysis.slots.job_conditions().is_some()
            || transfers_files(&self.analysis.jobs[self.job].plain)
        {
            return None;
        }
        Some(
            "the job needs a file system that the slots do not share; submit it with should_transfer_files = YES"
                .to_owned(),
        )
    }

    fn clock_note(&self, part: &Expr) -> Option<String> {
        let dependence = |group: usize| {
            let (slot, job) = self.ad_pair(group);
            ClockDependence { slots: self.analysis.slots, side: self.clause.side, slot, job, part }
        };
        let mut groups = self.slots.iter();
        let first = dependence(groups.next()?);
        let used_phrase = first.used_phrase()?;
        let change = first.change_phrase();
        // If the part reads other attributes of slots, the time may be different in other slots.
        let side = self.analysis.slots.reading_side(self.clause.side);
        let (slot, job) = self.ad_pair(self.slots.iter().next()?);
        let is_same_for_all = |reference: &Reference| {
            let value = || job.get(&reference.name).is_some_and(|value| value.as_literal().is_some());
            reference.defining_side(side, slot, job) == Some(ClauseSide::Job) && value()
        };
        let others: Vec<usize> = groups.take(MAX_CLOCK_GROUPS).collect();
        let is_common = mentioned_references(part).iter().all(is_same_for_all)
            || others.len() < MAX_CLOCK_GROUPS
                && others.iter().all(|group| dependence(*group).change_phrase() == change);
        Some(if is_common { used_phrase + &change } else { used_phrase })
    }

    /// Returns the macros of the configuration that are not published although the part reads them as attributes.
    fn unpublished_notes(&self, part: &Expr) -> Vec<String> {
        let Some(group) = self.slots.iter().next() else { return Vec::new() };
        let (slot, job) = self.ad_pair(group);
        let side = self.analysis.slots.reading_side(self.clause.side);
        let note = |reference: &Reference| {
            if reference.defining_side(side, slot, job).is_some() || !reference.may_be_of_slot(side) {
                return None;
            }
            let name = reference.name.to_string();
            let place = self.analysis.slots.unpublished_place(self.analysis.representatives[group], &name)?;
            Some(format!("{name} is set in {place} but not published; add it to STARTD_ATTRS"))
        };
        mentioned_references(part).iter().filter_map(note).collect()
    }
}

/// Returns the type of a value in words, or `None` if it is neither a text, a number nor a truth value.
fn type_word(value: &Value) -> Option<&'static str> {
    match value {
        Value::Str(_) => Some("a string"),
        Value::Int(_) => Some("an integer"),
        Value::Real(_) => Some("a real"),
        Value::Bool(_) => Some("a boolean"),
        _ => None,
    }
}
