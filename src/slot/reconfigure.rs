//! A configuration that is read while slots run (`ResMgr::reconfig_resources`).

use std::sync::Arc;

use super::execution_point::ExecutionPoint;
use super::settings::{Settings, SlotKind, SlotPlan};
use crate::classad::ClassAd;
use crate::quirks::Quirk;

/// What says how much there is, of the machine and of the slot: it stays until the next start (p74).
const RESOURCES: [&str; 11] = [
    "TotalCpus",
    "TotalMemory",
    "TotalDisk",
    "VirtualMemory",
    "TotalSlotCpus",
    "TotalSlotMemory",
    "TotalSlotDisk",
    "MachineResources",
    "SlotType",
    "SlotTypeID",
    "PartitionableSlot",
];
/// The same for each custom resource.
const OF_CUSTOM: [&str; 4] = ["Total", "Detected", "TotalSlot", "Assigned"];

impl ExecutionPoint {
    /// A new configuration: expressions, hooks and intervals count at once, shares and numbers of slots stay.
    pub(super) fn reconfigure(&mut self, settings: Settings) {
        let limits = self.core.settings.limits;
        let address = self.core.settings.address.clone();
        let settings = Arc::new(Settings { limits, address, ..settings });
        self.core.settings = settings.clone();
        for plan in &settings.slots {
            for slot in self.slots.values_mut().filter(|slot| slot.key.number == plan.number) {
                let plan = Arc::new(with_resources_of(&slot.plan, plan));
                slot.requirements = match slot.kind {
                    SlotKind::Dynamic => plan.child_requirements.clone(),
                    SlotKind::Static | SlotKind::Partitionable => plan.requirements.clone(),
                };
                slot.hooks = plan.hooks_of(slot.key.sub);
                if slot.kind == SlotKind::Dynamic {
                    slot.take_plan_as_child(&plan);
                } else {
                    slot.statics = plan.statics.clone();
                    slot.config = plan.config.clone();
                }
                slot.plan = plan;
                slot.rebuild(&self.core);
            }
        }
        self.core.update_at = Some(self.core.alarm(settings.update_interval));
        if !self.core.has_silently(Quirk::FirstFetchLate) {
            return self.evaluate_all(false);
        }
        // 25.14 makes the ads afresh and sets its timers anew; policy is looked at when they are due (s34).
        self.core.poll_at = self.core.poll_at.map(|_| self.core.alarm(settings.polling_interval));
        self.refresh_all();
    }
}

/// The new plan of a slot with the resources it was made with.
fn with_resources_of(old: &SlotPlan, new: &SlotPlan) -> SlotPlan {
    let custom = old.amounts.custom.iter().chain(&new.amounts.custom);
    let custom = custom.flat_map(|one| OF_CUSTOM.map(|prefix| format!("{prefix}{}", one.tag)));
    let names: Vec<String> = RESOURCES.map(str::to_owned).into_iter().chain(custom).collect();
    let keep = |old: &ClassAd, new: &ClassAd| {
        let mut ad = new.clone();
        for name in &names {
            match old.get(name.as_str()) {
                Some(expr) => ad.insert(name.as_str(), expr.clone()),
                None => drop(ad.remove(name)),
            }
        }
        Arc::new(ad)
    };
    SlotPlan {
        amounts: old.amounts.clone(),
        statics: keep(&old.statics, &new.statics),
        config: keep(&old.config, &new.config),
        ..new.clone()
    }
}
