//! Values that a clause reads for the slots that it refuses.

use htc_classad::{Context, Expr, ExprKind, NameLocation, Value, explain};

use super::analysis::Analysis;
use super::bit_set::BitSet;
use super::cause::MissingAttribute;
use super::clauses::{Clause, ClauseSide, Reference, mentioned_references};
use super::device_call::DeviceCall;
use super::devices::DeviceDemand;
use super::notes::RefusingClause;
use super::side_names::SideNames;
use super::value_summary::{ValueSummary, value_text};
use super::zero_terms::simplify_comparison;

/// Maximum depth to which conditional expressions are followed.
const MAX_DEPTH: usize = 8;

/// Maximum number of slots that are named as examples of those that have an attribute.
const MAX_EXAMPLES: usize = 2;

/// Values of one attribute.
pub(super) struct AttributeValues {
    pub(super) name: String,
    pub(super) side: ClauseSide,
    pub(super) values: ValueSummary,
}

/// Values of an attribute in refusing slots that have it, although others lack it.
pub(super) struct RefusedValues {
    pub(super) name: String,
    pub(super) slot_count: usize,
    pub(super) values: ValueSummary,
}

/// Deciding part of a clause, with the values that it reads.
pub(super) struct ClauseEvidence {
    /// The deciding part of the clause.
    pub(super) part: Expr,
    /// Value of `part` in the largest group of slots that the clause refuses.
    pub(super) value: Value,
    /// Attribute that contains the clause.
    pub(super) attribute: String,
    pub(super) attributes: Vec<AttributeValues>,
    pub(super) missing: Vec<MissingAttribute>,
    /// Missing attributes that only the job could have.
    pub(super) missing_of_job: Vec<String>,
    /// Missing attributes that the job or the slot could have.
    pub(super) missing_of_both: Vec<String>,
    pub(super) slot_count: usize,
    pub(super) refused_count: usize,
    /// Missing attributes that some of the refusing slots have.
    pub(super) refused_with: Vec<RefusedValues>,
    /// Phrase for the property that the counted devices lack, or `None`.
    pub(super) devices: Option<String>,
    /// Hints about probable mistakes in the clause, and other explanations of its value.
    pub(super) notes: Vec<String>,
    /// Reason for an error, or `None`.
    pub(super) error: Option<String>,
    /// Number of refusing slots that are being drained.
    pub(super) draining_count: usize,
    pub(super) side_names: SideNames,
}

impl ClauseEvidence {
    /// Collects the values that a clause reads for a group of jobs and the slots that it refuses.
    pub(super) fn collect(analysis: &Analysis<'_>, job: usize, clause: &Clause, slots: &BitSet) -> Self {
        let heaviest =
            slots.iter().max_by_key(|slot| (analysis.weights[*slot], usize::MAX - slot)).unwrap_or(0);
        let pair = |group: usize| {
            let slot = analysis.representatives[group];
            (analysis.slots.ad(slot), analysis.jobs[job].for_condition(clause.side, analysis.slots, slot))
        };
        let context = |group: usize| {
            let (slot, job) = pair(group);
            analysis.slots.context(clause.side, slot, job)
        };
        let reading_side = analysis.slots.reading_side(clause.side);
        let part = explained_part(&context(heaviest), clause.expr.clone());
        let found = explain::clauses(&context(heaviest), &part);
        let names = found.iter().flat_map(|clause| &clause.references);
        let mut evidence = ClauseEvidence {
            value: context(heaviest).eval(&part),
            part: part.clone(),
            attribute: clause.attribute.clone(),
            attributes: Vec::new(),
            missing: Vec::new(),
            missing_of_job: Vec::new(),
            missing_of_both: Vec::new(),
            slot_count: analysis.slot_count(),
            refused_count: slots.total_weight(&analysis.weights),
            refused_with: Vec::new(),
            devices: None,
            notes: RefusingClause { analysis, job, clause, slots }.notes(&part),
            error: None,
            draining_count: 0,
            side_names: analysis.slots.side_names(),
        };
        if clause.side == ClauseSide::Slot && evidence.reads_nothing_of_job(&found) {
            evidence.draining_count = slots.iter().map(|group| draining_count(analysis, group)).sum();
        }
        if evidence.value.is_error()
            && !(RefusingClause { analysis, job, clause, slots }).has_text_request(&evidence.part)
        {
            evidence.error = explain::trace(&context(heaviest), &evidence.part).reason();
        }
        // Names in the condition on devices are those of devices, not of slots.
        let call = DeviceCall::find(&part);
        let mentioned = mentioned_references(&part);
        let is_of_devices =
            |reference: &Reference| call.is_some() && !mentioned.iter().any(|it| it.name == reference.name);
        for name in names {
            let Ok(expr) = Expr::parse(&name.text) else { continue };
            let Some(reference) = Reference::parse(&expr).filter(|it| !is_of_devices(it)) else { continue };
            let (slot, ad) = pair(heaviest);
            let side = match name.place {
                NameLocation::Nowhere => None,
                _ => reference.defining_side(reading_side, slot, ad),
            };
            match side {
                Some(side @ ClauseSide::Job) => {
                    let values = ValueSummary::single(&context(heaviest).eval(&expr));
                    evidence.add_attribute(reference.name.to_string(), side, values);
                }
                Some(side @ ClauseSide::Slot) => {
                    let mut values = ValueSummary::default();
                    slots.iter().for_each(|slot| {
                        values.add(&context(slot).eval(&expr), analysis.weights[slot]);
                    });
                    evidence.add_attribute(reference.name.to_string(), side, values);
                }
                None => {
                    evidence.add_missing(analysis, reading_side, &reference);
                    let has_attribute = |group: &usize| pair(*group).0.contains(&reference.name);
                    let mut values = ValueSummary::default();
                    let mut slot_count = 0;
                    for group in slots.iter().filter(has_attribute) {
                        values.add(&context(group).eval(&expr), analysis.weights[group]);
                        slot_count += analysis.weights[group];
                    }
                    let name = reference.name.to_string();
                    evidence.refused_with.push(RefusedValues { name, slot_count, values });
                }
            }
        }
        if let Some(call) = call {
            let wanted = wanted_devices(&context(heaviest), &part, &call);
            let demand = DeviceDemand::of_clause(analysis, job, slots, (clause.side, call));
            evidence.devices = demand.and_then(|demand| demand.describe(wanted));
        }
        evidence
    }

    /// Returns true if the clause reads no attribute of the job, as START while a slot is being drained.
    fn reads_nothing_of_job(&self, found: &[explain::Clause]) -> bool {
        found.iter().flat_map(|clause| &clause.references).all(|name| name.place != NameLocation::Target)
    }

    /// Adds an attribute that is missing.
    fn add_missing(&mut self, analysis: &Analysis<'_>, side: ClauseSide, reference: &Reference) {
        let name = reference.name.to_string();
        match (reference.may_be_of_job(side), reference.may_be_of_slot(side)) {
            (true, true) => self.missing_of_both.push(name.clone()),
            (true, false) => return self.missing_of_job.push(name),
            _ => {}
        }
        let has_attribute =
            |slot: &usize| analysis.slots.ad(analysis.representatives[*slot]).contains(&reference.name);
        let groups: Vec<usize> = (0..analysis.weights.len()).filter(has_attribute).collect();
        let slots_with = groups.iter().map(|slot| analysis.weights[*slot]).sum();
        let members = groups.iter().flat_map(|group| &analysis.slot_groups()[*group].members);
        let examples = members.take(MAX_EXAMPLES).map(|slot| analysis.slots.name(*slot).to_owned()).collect();
        self.missing.push(MissingAttribute { name, slots_with, examples });
    }

    fn add_attribute(&mut self, name: String, side: ClauseSide, values: ValueSummary) {
        if !self.attributes.iter().any(|known| known.side == side && known.name.eq_ignore_ascii_case(&name)) {
            self.attributes.push(AttributeValues { name, side, values });
        }
    }

    /// Returns the value as text.
    pub(super) fn value_text(&self) -> String {
        value_text(&self.value)
    }
}

/// Returns the number of devices with which a call is compared, or `None` if it is not compared with a number.
fn wanted_devices(context: &Context<'_>, part: &Expr, call: &DeviceCall) -> Option<usize> {
    let ExprKind::Compare(_, left, right) = part.kind() else { return None };
    let other = match (left == call.expr, right == call.expr) {
        (true, false) => right,
        (false, true) => left,
        _ => return None,
    };
    context.eval(&other).as_real().filter(|number| *number > 0.0).map(|number| number.ceil() as usize)
}

/// Returns the number of slots of a group that are being drained. Slots of one group may differ in this,
/// because no job reads it.
fn draining_count(analysis: &Analysis<'_>, group: usize) -> usize {
    let is_draining = |slot: &&usize| {
        let ad = analysis.slots.ad(**slot);
        Context::new(analysis.slots.world()).my(ad).boolean("Draining") == Some(true)
    };
    analysis.slot_groups()[group].members.iter().filter(is_draining).count()
}

/// Returns the part of a clause that is explained: the one that decides, without terms that are 0.
pub(super) fn explained_part(context: &Context<'_>, clause: Expr) -> Expr {
    simplify_comparison(context, deciding_part(context, clause))
}

/// Follows conditional expressions to the branch that applies, and conjunctions to the first part that is not true.
pub(super) fn deciding_part(context: &Context<'_>, clause: Expr) -> Expr {
    let mut part = clause.without_parentheses();
    for _ in 0..MAX_DEPTH {
        let next = match part.kind() {
            ExprKind::Conditional(condition, first, second) => match context.eval(&condition).truth() {
                // A literal explains nothing; the condition itself is the reason.
                Some(true) if first.as_literal().is_some() => {
                    return negate_condition(&condition).unwrap_or(part);
                }
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

fn negate_condition(condition: &Expr) -> Option<Expr> {
    let text = format!("!({})", condition.without_parentheses().unparse());
    Expr::parse(text.as_bytes()).ok()
}
