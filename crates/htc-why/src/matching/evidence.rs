//! Values that a clause reads where it is not true.

use htc_classad::{Context, Expr, ExprKind, NameLocation, Value, explain};

use super::analysis::Analysis;
use super::bit_set::BitSet;
use super::cause::MissingAttribute;
use super::clauses::{Clause, ClauseSide, Reference, clause_context};
use super::seen_values::{SeenValues, value_text};

/// Maximum depth to which conditional expressions are followed.
const MAX_DEPTH: usize = 8;

/// Values of one attribute.
pub(super) struct SeenAttribute {
    pub(super) name: String,
    pub(super) side: ClauseSide,
    pub(super) values: SeenValues,
}

/// Deciding part of a clause with what it reads.
pub(super) struct ClauseEvidence {
    /// The deciding part of the clause.
    pub(super) part: Expr,
    /// Its value where it is not true.
    pub(super) value: Value,
    /// Attribute that contains the clause.
    pub(super) attribute: String,
    pub(super) seen: Vec<SeenAttribute>,
    pub(super) missing: Vec<MissingAttribute>,
    /// Names that the job should have.
    pub(super) missing_of_job: Vec<String>,
    /// Names that the job or the slot should have.
    pub(super) missing_of_both: Vec<String>,
    pub(super) slot_count: usize,
    pub(super) refused_count: usize,
    /// Reason for an error, or `None`.
    pub(super) error: Option<String>,
}

impl ClauseEvidence {
    /// Collects the values that a clause reads for a group of jobs and the slots that it refuses.
    pub(super) fn collect(analysis: &Analysis<'_>, job: usize, (clause, slots): (&Clause, &BitSet)) -> Self {
        let heaviest =
            slots.iter().max_by_key(|slot| (analysis.weights[*slot], usize::MAX - slot)).unwrap_or(0);
        let pair = |group: usize| {
            let slot = analysis.representatives[group];
            (analysis.slots.ad(slot), analysis.jobs[job].as_seen_by(analysis.slots, slot))
        };
        let context =
            |group: usize| clause_context(Context::new(analysis.slots.world()), clause.side, pair(group));
        let part = deciding_part(&context(heaviest), clause.expr.clone());
        let found = explain::clauses(&context(heaviest), &part);
        let names = found.iter().flat_map(|clause| &clause.references);
        let mut evidence = ClauseEvidence {
            value: context(heaviest).eval(&part),
            part,
            attribute: clause.attribute.clone(),
            seen: Vec::new(),
            missing: Vec::new(),
            missing_of_job: Vec::new(),
            missing_of_both: Vec::new(),
            slot_count: analysis.slot_count(),
            refused_count: slots.weight(&analysis.weights),
            error: None,
        };
        if evidence.value.is_error() {
            evidence.error = explain::trace(&context(heaviest), &evidence.part).reason();
        }
        for name in names {
            let Ok(expr) = Expr::parse(&name.text) else { continue };
            let Some(reference) = Reference::parse(&expr) else { continue };
            let (slot, ad) = pair(heaviest);
            let side = match name.place {
                NameLocation::Nowhere => None,
                _ => reference.defining_side(clause.side, slot, ad),
            };
            match side {
                Some(side @ ClauseSide::Job) => {
                    let values = SeenValues::single(&context(heaviest).eval(&expr));
                    evidence.add_seen(reference.name.to_string(), side, values);
                }
                Some(side @ ClauseSide::Slot) => {
                    let mut values = SeenValues::default();
                    slots.iter().for_each(|slot| {
                        values.add(&context(slot).eval(&expr), analysis.weights[slot]);
                    });
                    evidence.add_seen(reference.name.to_string(), side, values);
                }
                None => evidence.add_missing(analysis, clause.side, &reference),
            }
        }
        evidence
    }

    /// Adds an attribute that is not there.
    fn add_missing(&mut self, analysis: &Analysis<'_>, side: ClauseSide, reference: &Reference) {
        let name = reference.name.to_string();
        match (reference.may_be_of_job(side), reference.may_be_of_slot(side)) {
            (true, true) => self.missing_of_both.push(name.clone()),
            (true, false) => return self.missing_of_job.push(name),
            _ => {}
        }
        let has = |slot: &usize| analysis.slots.ad(analysis.representatives[*slot]).contains(&reference.name);
        let slots_with = (0..analysis.weights.len()).filter(has).map(|slot| analysis.weights[slot]).sum();
        self.missing.push(MissingAttribute { name, slots_with });
    }

    fn add_seen(&mut self, name: String, side: ClauseSide, values: SeenValues) {
        if !self.seen.iter().any(|seen| seen.side == side && seen.name.eq_ignore_ascii_case(&name)) {
            self.seen.push(SeenAttribute { name, side, values });
        }
    }

    /// Returns the value as text.
    pub(super) fn value_text(&self) -> String {
        value_text(&self.value)
    }
}

/// Follows conditional expressions to the branch that applies, and conjunctions to the first part that is not true.
pub(super) fn deciding_part(context: &Context<'_>, clause: Expr) -> Expr {
    let mut part = clause.without_parentheses();
    for _ in 0..MAX_DEPTH {
        let next = match part.kind() {
            ExprKind::Conditional(condition, first, second) => match context.eval(&condition).truth() {
                // A literal says nothing; the condition is the reason.
                Some(true) if first.as_literal().is_some() => return negated(&condition).unwrap_or(part),
                Some(false) if second.as_literal().is_some() => condition,
                Some(true) => first,
                Some(false) => second,
                None => condition,
            },
            ExprKind::And(..) => {
                let parts = explain::conjuncts(&part);
                match parts.into_iter().find(|part| context.eval(part).truth() != Some(true)) {
                    Some(part) => part,
                    None => break,
                }
            }
            _ => break,
        };
        part = next.without_parentheses();
    }
    part
}

fn negated(condition: &Expr) -> Option<Expr> {
    let text = format!("!({})", condition.without_parentheses().unparse());
    Expr::parse(text.as_bytes()).ok()
}
