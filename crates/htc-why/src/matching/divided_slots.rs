//! Partitionable slots that have enough of a resource in total, but not enough free, because dynamic slots use the
//! rest.

use std::collections::BTreeMap;

use htc_base::text::plural::counted;
use htc_classad::{AttrName, ClassAd, Context, Expr, ExprKind, Value, explain};

use super::analysis::Analysis;
use super::bit_set::BitSet;
use super::clauses::{ClauseSide, Reference};
use super::value_summary::value_text;

/// Maximum number of users that are named.
const MAX_USERS: usize = 2;

/// Resource of which a job asks for more than partitionable slots have free.
struct ScarceResource<'a> {
    analysis: &'a Analysis<'a>,
    name: AttrName,
    wanted: f64,
}

/// Partitionable slot with the amounts of one resource.
struct DividedSlot {
    /// Index of the slot.
    number: usize,
    total: f64,
    free: f64,
}

/// Returns how much of a resource the refusing slots have in all and who uses the rest, for a clause that compares a
/// number of the job with an amount of the slot; `None` if the slots are not divided.
pub(super) fn divided_slots_phrase(
    analysis: &Analysis<'_>,
    job: usize,
    (side, part): (ClauseSide, &Expr),
    slots: &BitSet,
) -> Option<String> {
    let (name, wanted) = compared_amount(analysis, job, (side, part), slots)?;
    let resource = ScarceResource { analysis, name, wanted };
    let divided: Vec<DividedSlot> =
        slots.iter().flat_map(|group| resource.divided_slots(group)).filter(|it| it.free < wanted).collect();
    resource.describe(&divided, slots)
}

/// Returns the attribute of the slot and the number of the job that a part of a clause compares, if the attribute must
/// be at least as large as the number.
fn compared_amount(
    analysis: &Analysis<'_>,
    job: usize,
    (side, part): (ClauseSide, &Expr),
    slots: &BitSet,
) -> Option<(AttrName, f64)> {
    // WithinResourceLimits contains `TARGET.RequestGPUs is undefined || TARGET.RequestGPUs <= MY.GPUs`.
    let alternatives = explain::disjuncts(part);
    if alternatives.len() > 1 {
        return alternatives.iter().find_map(|part| compared_amount(analysis, job, (side, part), slots));
    }
    let ExprKind::Compare(operator, left, right) = part.kind() else { return None };
    let (amount, number) = match operator {
        ">=" | ">" => (left, right),
        "<=" | "<" => (right, left),
        _ => return None,
    };
    let group = slots.iter().next()?;
    let slot = analysis.slots.ad(analysis.representatives[group]);
    let job = analysis.jobs[job].for_condition(side, analysis.slots, analysis.representatives[group]);
    let reference = Reference::parse(&amount)?;
    let reading_side = analysis.slots.reading_side(side);
    if reference.defining_side(reading_side, slot, job) != Some(ClauseSide::Slot) {
        return None;
    }
    let wanted = match analysis.slots.context(side, slot, job).eval(&number) {
        value @ (Value::Int(_) | Value::Real(_)) => value.as_real()?,
        _ => return None,
    };
    Some((reference.name, wanted))
}

impl ScarceResource<'_> {
    fn total_name(&self) -> String {
        format!("TotalSlot{}", self.name)
    }

    /// Returns the partitionable slots of a group from which dynamic slots were carved.
    fn divided_slots(&self, group: usize) -> Vec<DividedSlot> {
        let divided = |number: &usize| {
            let ad = self.analysis.slots.ad(*number);
            let context = Context::new(self.analysis.slots.world()).my(ad);
            if context.boolean("PartitionableSlot") != Some(true) {
                return None;
            }
            let (total, free) = (context.real(self.total_name())?, context.real(&self.name)?);
            (total > free).then_some(DividedSlot { number: *number, total, free })
        };
        self.analysis.slot_groups()[group].members.iter().filter_map(divided).collect()
    }

    /// Returns the slot with the largest amount of the resource when no dynamic slot uses it, and the amount.
    fn largest_slot(&self, slots: &BitSet) -> Option<(usize, f64)> {
        let amount = |number: usize| {
            let context = Context::new(self.analysis.slots.world()).my(self.analysis.slots.ad(number));
            let is_divided = context.boolean("PartitionableSlot") == Some(true);
            let total = is_divided.then(|| context.real(self.total_name())).flatten();
            Some((number, total.or_else(|| context.real(&self.name))?))
        };
        let members = slots.iter().flat_map(|group| &self.analysis.slot_groups()[group].members);
        members.filter_map(|number| amount(*number)).max_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn describe(&self, divided: &[DividedSlot], slots: &BitSet) -> Option<String> {
        let names = self.analysis.side_names();
        let largest = divided.iter().rev().max_by(|one, other| one.total.total_cmp(&other.total))?;
        let enough: Vec<&DividedSlot> = divided.iter().filter(|slot| slot.total >= self.wanted).collect();
        let (name, slot) = (&self.name, names.slot);
        if let Some(shown) = enough.iter().rev().max_by(|one, other| one.free.total_cmp(&other.free)) {
            let count = match enough.len() {
                1 => String::new(),
                all => format!("{all} {slot}s have enough in total: "),
            };
            let (total, used) = (number_text(shown.total), number_text(shown.total - shown.free));
            let users = self.users_phrase(shown);
            let shown = self.analysis.slots.name(shown.number);
            return Some(format!(
                "{count}{shown} has {total} {name} in total, but dynamic slots use {used} of them{users}"
            ));
        }
        let free: f64 = divided.iter().map(|slot| slot.free).sum();
        let total = number_text(largest.total);
        let all = if free >= self.wanted && divided.len() > 1 {
            format!(
                "; {} are free on {} together, but a job runs in one slot",
                number_text(free),
                counted(divided.len(), slot)
            )
        } else {
            String::new()
        };
        if let Some((number, size)) = self.largest_slot(slots).filter(|(_, size)| *size > largest.total) {
            let (shown, size) = (self.analysis.slots.name(number), number_text(size));
            return Some(format!("the largest, {shown}, has only {size} {name}{all}"));
        }
        Some(format!(
            "the largest, {}, has only {total} {name} when nothing uses it{all}",
            self.analysis.slots.name(largest.number)
        ))
    }

    /// Returns the users of the dynamic slots with the amounts that they use: " (bob 8, eve 4)", or an empty
    /// text if they are not known.
    fn users_phrase(&self, divided: &DividedSlot) -> String {
        let parent = self.analysis.slots.ad(divided.number);
        let mut used = self.users_of_lists(parent);
        if used.is_empty() {
            used = self.users_of_slots(divided.number);
        }
        let mut users: Vec<(String, f64)> = used.into_iter().collect();
        users.sort_by(|one, other| other.1.total_cmp(&one.1));
        let more = users.len().saturating_sub(MAX_USERS);
        let shown =
            users.iter().take(MAX_USERS).map(|(user, amount)| format!("{user} {}", number_text(*amount)));
        let mut shown: Vec<String> = shown.collect();
        if more > 0 {
            shown.push(counted(more, "more user"));
        }
        if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
    }

    /// Returns the amount that each user has, from the lists of dynamic slots in the ad of the partitionable
    /// slot.
    fn users_of_lists(&self, parent: &ClassAd) -> BTreeMap<String, f64> {
        let context = Context::new(self.analysis.slots.world()).my(parent);
        let list = |name: String| match context.eval_attr(&name) {
            Value::List(list) => list.iter().map(|item| context.eval(item)).collect::<Vec<Value>>(),
            _ => Vec::new(),
        };
        let users = list("ChildRemoteUser".to_owned());
        let mut used = BTreeMap::new();
        for (at, amount) in list(format!("Child{}", self.name)).iter().enumerate() {
            let user = match users.get(at) {
                Some(Value::Str(user)) => user.to_string(),
                _ => "unclaimed".to_owned(),
            };
            *used.entry(user).or_insert(0.0) += amount.as_real().unwrap_or(0.0);
        }
        used.retain(|_, amount| *amount > 0.0);
        used
    }

    /// Returns the amount that each user has, from the ads of the dynamic slots of the same machine:
    /// slot1_1@host is one of slot1@host.
    fn users_of_slots(&self, parent: usize) -> BTreeMap<String, f64> {
        let slots = self.analysis.slots;
        let mut used = BTreeMap::new();
        let is_child = |name: &str| is_dynamic_slot_of(name, slots.name(parent));
        for slot in (0..slots.len()).filter(|slot| is_child(slots.name(*slot))) {
            let context = Context::new(slots.world()).my(slots.ad(slot));
            let user = context.string("RemoteUser").or_else(|| context.string("RemoteOwner"));
            let user = user.map_or_else(|| "unclaimed".to_owned(), |user| user.to_string());
            *used.entry(user).or_insert(0.0) += context.real(&self.name).unwrap_or(0.0);
        }
        used
    }
}

/// True if a slot has the name of a dynamic slot of a partitionable slot: slot1_1@host is one of slot1@host.
pub(super) fn is_dynamic_slot_of(name: &str, parent: &str) -> bool {
    let [(child, child_host), (prefix, parent_host)] =
        [name, parent].map(|name| name.split_once('@').unwrap_or((name, "")));
    child_host == parent_host && child.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_'))
}

/// Formats a number, without a fraction if it is whole.
fn number_text(number: f64) -> String {
    let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
    if is_whole { (number as i64).to_string() } else { value_text(&Value::Real(number)) }
}
