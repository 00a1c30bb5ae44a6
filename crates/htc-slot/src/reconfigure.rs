//! Reconfiguration while slots run (`ResMgr::reconfig_resources`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::devices::Devices;
use super::execution_point::ExecutionPoint;
use super::resources::ResourceAmounts;
use super::settings::{SlotKind, SlotPlan, StartdSettings};
use super::slot::Slot;
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Value};

/// Resource attributes of the machine and of the slot that keep their values until the next start.
const RESOURCE_ATTRIBUTES: [&str; 11] = [
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
/// Prefixes of the attributes for each custom resource that keep their values until the next start.
const CUSTOM_RESOURCE_PREFIXES: [&str; 5] = ["Total", "Detected", "TotalSlot", "Assigned", "Offline"];

impl ExecutionPoint {
    /// Applies a new configuration: expressions, hooks and intervals change at once; resource shares and the number of slots do
    /// not change.
    pub(super) fn reconfigure(&mut self, settings: StartdSettings) {
        let limits = self.core.settings.limits;
        let address = self.core.settings.address.clone();
        let settings = Arc::new(StartdSettings { limits, address, ..settings });
        self.core.settings = settings.clone();
        self.core.latches_have_no_overrides = false;
        self.update_offline_devices(&settings);
        for plan in &settings.slots {
            for slot in self.slots.values_mut().filter(|slot| slot.key.number == plan.number) {
                let plan = Arc::new(keep_resources(&slot.plan, plan));
                slot.requirements = match slot.kind {
                    SlotKind::Dynamic => plan.child_requirements.clone(),
                    SlotKind::Static | SlotKind::Partitionable => plan.requirements.clone(),
                };
                slot.hooks = plan.hooks_of(slot.key.sub);
                if slot.kind == SlotKind::Dynamic {
                    slot.apply_parent_plan(&plan);
                } else {
                    slot.statics = plan.statics.clone();
                    slot.config = plan.config.clone();
                }
                slot.without_requirements = plan.without_requirements.clone();
                slot.plan = plan;
                slot.rebuild_ad(&self.core);
            }
        }
        if settings.backfill.is_none() {
            self.end_backfill();
        }
        self.core.start_updating();
        if !self.core.decide(Quirk::FirstFetchLate) {
            return self.evaluate_all();
        }
        // 25.14 rebuilds the ads and resets its timers; policy is evaluated when they expire.
        self.core.schedule.poll_at =
            self.core.schedule.poll_at.map(|_| self.core.alarm(settings.polling_interval));
        self.refresh_all();
    }
}

impl ExecutionPoint {
    /// Updates which devices are offline (`ReconfigOfflineDevIds`). A job that uses a device which goes offline keeps it.
    fn update_offline_devices(&mut self, settings: &StartdSettings) {
        let comes_back = !self.core.decide(Quirk::OfflineOnlyGrows);
        let mut devices: BTreeMap<String, Arc<Devices>> = BTreeMap::new();
        for custom in self.slots.values().flat_map(|slot| &slot.plan.amounts.custom) {
            if let Some(found) = &custom.machine_devices {
                devices.entry(custom.tag.clone()).or_insert_with(|| found.clone());
            }
        }
        let mut known = std::mem::take(&mut self.core.resources.changes);
        for (tag, devices) in devices {
            let named = settings.offline.get(&tag).cloned().unwrap_or_default();
            if comes_back {
                self.restore_devices(&tag, &devices, &named);
            }
            let start = devices.offline.iter().filter(|id| !comes_back || named.contains(*id));
            let start: BTreeSet<&String> = start.collect();
            let there = |id: &&String| !devices.offline.contains(*id) || comes_back;
            let off: BTreeSet<String> =
                devices.ids.iter().filter(there).filter(|id| named.contains(*id)).cloned().collect();
            let total = devices.ids.iter().filter(there).filter(|id| !off.contains(*id)).count();
            // An inventory program sets Detected<Tag> itself.
            let detected = format!("Detected{tag}");
            let counted =
                |slot: &Slot| matches!(slot.statics.literal(detected.as_str()), Some(Value::Int(_)));
            let names = [format!("Total{tag}"), detected.clone()];
            let own = if self.slots.values().any(counted) { 2 } else { 1 };
            for name in &names[..own] {
                known.set(name.as_str(), i64::try_from(total).unwrap_or(i64::MAX));
            }
            let all: BTreeSet<&String> = off.iter().chain(start).collect();
            let name = format!("Offline{tag}");
            if !all.is_empty() {
                let names: Vec<&str> = all.into_iter().map(String::as_str).collect();
                known.set(name.as_str(), names.join(","));
            } else if known.contains(name.as_str()) || !devices.offline.is_empty() {
                known.set(name.as_str(), "");
            }
            self.core.resources.offline_devices.insert(tag, off);
        }
        self.core.resources.changes = known;
    }

    /// Gives back devices that were offline at the start and are online now: to the first partitionable slot, or else to the
    /// first slot.
    fn restore_devices(&mut self, tag: &str, devices: &Devices, named: &BTreeSet<String>) {
        let free: Vec<usize> = (0..devices.ids.len())
            .filter(|index| {
                devices.offline.contains(&devices.ids[*index]) && !named.contains(&devices.ids[*index])
            })
            .filter(|index| !self.slots.values().any(|slot| slot.has_device(tag, *index)))
            .collect();
        let tops = || self.slots.values().filter(|slot| slot.kind != SlotKind::Dynamic);
        let of = tops().find(|slot| slot.kind == SlotKind::Partitionable).or_else(|| tops().next());
        let Some(slot) = of.map(|slot| slot.key).and_then(|key| self.slots.get_mut(&key)) else { return };
        let mut plan = (*slot.plan).clone();
        for amounts in [&mut slot.amounts, &mut plan.amounts] {
            for custom in amounts.custom.iter_mut().filter(|custom| custom.tag == tag) {
                custom.quantity += free.len() as f64;
                custom.assigned.extend(&free);
                custom.assigned.sort_unstable();
            }
        }
        for ad in [&mut plan.statics, &mut plan.config] {
            plan.amounts.publish_static(Arc::make_mut(ad));
        }
        slot.plan = Arc::new(plan);
    }
}

impl Slot {
    fn has_device(&self, tag: &str, index: usize) -> bool {
        let has = |amounts: &ResourceAmounts| {
            amounts.custom.iter().any(|custom| custom.tag == tag && custom.assigned.contains(&index))
        };
        has(&self.amounts) || has(&self.plan.amounts)
    }
}

/// Returns the new plan of a slot with the resources of its old plan.
fn keep_resources(old: &SlotPlan, new: &SlotPlan) -> SlotPlan {
    let custom = old.amounts.custom.iter().chain(&new.amounts.custom);
    let custom = custom.flat_map(|one| CUSTOM_RESOURCE_PREFIXES.map(|prefix| format!("{prefix}{}", one.tag)));
    let names: Vec<String> = RESOURCE_ATTRIBUTES.map(str::to_owned).into_iter().chain(custom).collect();
    let old_amounts = &old.amounts;
    let mut described = ClassAd::new();
    new.amounts.publish_static(&mut described);
    let keep = |old: &ClassAd, new: &ClassAd| {
        let mut ad = new.clone();
        // Published properties are those of the slot's current devices, not of the devices that the new configuration would
        // assign.
        described.names().for_each(|name| drop(ad.remove(name)));
        old_amounts.publish_static(&mut ad);
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
