//! Which attributes of slots and jobs anybody may ask for: what policy expressions and jobs lead to.

use htc_classad::references::{self, Names};
use htc_classad::{AttrName, ClassAd, Expr};

use super::settings::Settings;
use htc_base::text::caseless;

/// What the machine itself asks of a slot's ad.
const ASKED: [&str; 27] = [
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

/// What the machine itself asks of a slot's ad besides.
const ASKED_BESIDES: [&str; 3] = ["MachineMaxVacateTime", "START_BACKFILL", "EVICT_BACKFILL"];
/// What consumption policies are called.
const CONSUMPTION: &[u8] = b"Consumption";

/// The names that policy and the ads of jobs may lead to, in whatever ad they are found; `None` where an expression may look at
/// what it does not name.
pub fn asked<'a>(settings: &Settings, jobs: impl IntoIterator<Item = &'a ClassAd>) -> Option<Names> {
    let mut walk = Walk { names: Names::new(), todo: Vec::new() };
    let built_in = ASKED.iter().chain(&ASKED_BESIDES).map(|name| AttrName::from(*name));
    let configured =
        settings.latches.iter().chain(&settings.slot_attributes).chain(&settings.rollup_attributes);
    for name in built_in.chain(configured.cloned()) {
        walk.want(name);
    }
    for slot in &settings.slots {
        for requirements in [&slot.requirements, &slot.child_requirements] {
            let limits = requirements.limits.as_ref();
            for expr in [&requirements.start, &requirements.whole].into_iter().chain(limits) {
                walk.read(expr)?;
            }
        }
        slot.modify_request.iter().flatten().try_for_each(|expr| walk.read(expr))?;
    }
    // What one job's ad leads to is looked up in all slots, and the other way round.
    let jobs: Vec<&ClassAd> = jobs.into_iter().collect();
    for job in &jobs {
        for (_, expr) in job.iter() {
            if expr.as_literal().is_none() {
                walk.read(&expr)?;
            }
        }
    }
    // Slots of one type differ in literals alone; devices may make an attribute of one more than of another.
    let mut kinds: Vec<(u32, usize, &ClassAd)> =
        settings.slots.iter().map(|slot| (slot.type_id, slot.config.len(), &*slot.config)).collect();
    kinds.sort_by_key(|(type_id, length, _)| (*type_id, *length));
    kinds.dedup_by_key(|(type_id, length, _)| (*type_id, *length));
    let ads: Vec<&ClassAd> = kinds.into_iter().map(|(.., ad)| ad).collect();
    let of_consumption = ads.iter().flat_map(|ad| ad.names().map(AttrName::from));
    for name in of_consumption.filter(|name| caseless::starts_with(name.as_bytes(), CONSUMPTION)) {
        walk.want(name);
    }
    while let Some(name) = walk.todo.pop() {
        for ad in &ads {
            if let Some(expr) = ad.get(&name)
                && expr.as_literal().is_none()
            {
                walk.read(&expr)?;
            }
        }
    }
    Some(walk.names)
}

struct Walk {
    names: Names,
    todo: Vec<AttrName>,
}

impl Walk {
    fn want(&mut self, name: AttrName) {
        if self.names.insert(name.clone()) {
            self.todo.push(name);
        }
    }

    fn read(&mut self, expr: &Expr) -> Option<()> {
        if references::is_open(expr) {
            return None;
        }
        for name in references::every(expr) {
            self.want(name);
        }
        Some(())
    }
}
