//! Attributes of slots and jobs that policy expressions and job ads may refer to, directly or indirectly.

use htc_classad::references::{self, AttrNames};
use htc_classad::{AttrName, ClassAd, Expr};

use super::settings::StartdSettings;
use htc_base::text::caseless;

/// Slot attributes that the execution point itself evaluates in policies.
const POLICY_ATTRIBUTES: [&str; 27] = [
    "START",
    "IsOwner",
    "PREEMPT",
    "PREEMPT_VANILLA",
    "PREEMPT_VM",
    "SUSPEND",
    "SUSPEND_VANILLA",
    "SUSPEND_VM",
    "CONTINUE",
    "CONTINUE_VANILLA",
    "CONTINUE_VM",
    "KILL",
    "KILL_VANILLA",
    "KILL_VM",
    "WANT_SUSPEND",
    "WANT_SUSPEND_VANILLA",
    "WANT_SUSPEND_VM",
    "WANT_VACATE",
    "WANT_VACATE_VANILLA",
    "WANT_VACATE_VM",
    "WANT_HOLD",
    "WANT_HOLD_REASON",
    "WANT_HOLD_SUBCODE",
    "Rank",
    "CLAIM_WORKLIFE",
    "FetchWorkDelay",
    "MaxJobRetirementTime",
];

/// Further slot attributes that the execution point itself evaluates.
const MORE_POLICY_ATTRIBUTES: [&str; 3] = ["MachineMaxVacateTime", "START_BACKFILL", "EVICT_BACKFILL"];
/// Prefix of consumption policy attributes.
const CONSUMPTION_PREFIX: &[u8] = b"Consumption";

/// Returns the attribute names that policies and job ads may refer to, in any ad, or `None` if an expression may refer to
/// attributes that it does not name.
pub fn referenced_attributes<'a>(
    settings: &StartdSettings,
    jobs: impl IntoIterator<Item = &'a ClassAd>,
) -> Option<AttrNames> {
    let mut walk = ReferenceCollector { names: AttrNames::new(), pending: Vec::new() };
    let built_in = POLICY_ATTRIBUTES.iter().chain(&MORE_POLICY_ATTRIBUTES).map(|name| AttrName::from(*name));
    let configured =
        settings.latches.iter().chain(&settings.slot_attributes).chain(&settings.rollup_attributes);
    for name in built_in.chain(configured.cloned()) {
        walk.add_name(name);
    }
    for slot in &settings.slots {
        for requirements in [&slot.requirements, &slot.child_requirements] {
            let limits = requirements.limits.as_ref();
            for expr in [&requirements.start, &requirements.expr].into_iter().chain(limits) {
                walk.add_expression(expr)?;
            }
        }
        slot.modify_request.iter().flatten().try_for_each(|expr| walk.add_expression(expr))?;
    }
    // A name in a job ad may refer to an attribute of any slot ad, and vice versa.
    let jobs: Vec<&ClassAd> = jobs.into_iter().collect();
    for job in &jobs {
        for (_, expr) in job.iter() {
            if expr.as_literal().is_none() {
                walk.add_expression(&expr)?;
            }
        }
    }
    // Slots of one type differ only in literals, unless their devices publish additional attributes.
    let mut kinds: Vec<(u32, usize, &ClassAd)> =
        settings.slots.iter().map(|slot| (slot.type_id, slot.config.len(), &*slot.config)).collect();
    kinds.sort_by_key(|(type_id, length, _)| (*type_id, *length));
    kinds.dedup_by_key(|(type_id, length, _)| (*type_id, *length));
    let ads: Vec<&ClassAd> = kinds.into_iter().map(|(.., ad)| ad).collect();
    let of_consumption = ads.iter().flat_map(|ad| ad.names().map(AttrName::from));
    for name in of_consumption.filter(|name| caseless::starts_with(name.as_bytes(), CONSUMPTION_PREFIX)) {
        walk.add_name(name);
    }
    while let Some(name) = walk.pending.pop() {
        for ad in &ads {
            if let Some(expr) = ad.get(&name)
                && expr.as_literal().is_none()
            {
                walk.add_expression(&expr)?;
            }
        }
    }
    Some(walk.names)
}

struct ReferenceCollector {
    names: AttrNames,
    pending: Vec<AttrName>,
}

impl ReferenceCollector {
    fn add_name(&mut self, name: AttrName) {
        if self.names.insert(name.clone()) {
            self.pending.push(name);
        }
    }

    fn add_expression(&mut self, expr: &Expr) -> Option<()> {
        if references::can_read_any_attribute(expr) {
            return None;
        }
        for name in references::all_names(expr) {
            self.add_name(name);
        }
        Some(())
    }
}
