//! Backfill slots (`SLOT_TYPE_<n>_BACKFILL`), which share the machine with primary slots.
//!
//! The resources that primary slots use are subtracted from those that a backfill slot offers. If both together use
//! more than the machine has, `ResourceConflict` names the resources, for use in PREEMPT
//! (`ResMgr::compute_resource_conflicts`, `MachAttributes::publish_slot_dynamic`).

use std::collections::BTreeMap;

use super::events::SlotKey;
use super::execution_point::ExecutionPoint;
use super::resources::ResourceAmounts;
use super::runtime_state::resource_conflict::{ResourceConflict, SignedAmounts};
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::SlotState;
use htc_base::quirks::Quirk;
use htc_classad::ClassAd;

impl ExecutionPoint {
    /// Updates and publishes the resources for which backfill slots conflict with primary slots in use.
    pub(super) fn update_resource_conflicts(&mut self) {
        if !self.core.has_backfill_slots {
            return;
        }
        let mut in_use = SignedAmounts::default();
        for slot in self.slots.values().filter(|slot| !slot.amounts.is_backfill && slot.is_using_resources())
        {
            in_use.add(&slot.amounts, 1);
        }
        let devices = self.devices_in_use();
        let short = self.find_shortages(&devices);
        let has_shortage = |slot: &Slot| slot.conflict.as_ref().is_some_and(|it| !it.shortage.is_empty());
        let stale = self.slots.values().any(|slot| has_shortage(slot) && !short.contains_key(&slot.key))
            && self.core.decide_and_report(Quirk::ResourceConflictStays, None);
        for slot in self.slots.values_mut().filter(|slot| slot.amounts.is_backfill) {
            let before = slot.conflict.take().unwrap_or_default();
            let unmentioned = if stale { before.shortage.clone() } else { String::new() };
            let own = |tag: &String, used: &Vec<usize>| {
                let custom = slot.amounts.custom.iter().find(|custom| custom.tag == *tag)?;
                Some(used.iter().copied().filter(|index| custom.assigned.contains(index)).collect())
            };
            let conflict = ResourceConflict {
                shortage: short.get(&slot.key).cloned().unwrap_or(unmentioned),
                in_use: (slot.key.sub == 0).then(|| in_use.clone()),
                contested_devices: devices
                    .iter()
                    .filter_map(|(tag, used)| Some((tag.clone(), own(tag, used)?)))
                    .collect(),
            };
            let changed = before != conflict;
            slot.conflict = Some(conflict);
            if changed {
                slot.refresh_ad(&self.core);
            }
        }
    }

    /// Returns the devices that primary slots use, by resource tag.
    fn devices_in_use(&self) -> BTreeMap<String, Vec<usize>> {
        let mut used: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for slot in self.slots.values().filter(|slot| !slot.amounts.is_backfill && slot.is_using_resources())
        {
            let own = slot.amounts.custom.iter();
            for custom in own.filter(|it| it.machine_devices.as_ref().is_some_and(|devices| !devices.shared))
            {
                used.entry(custom.tag.clone()).or_default().extend(&custom.assigned);
            }
        }
        used
    }

    /// Returns the exhausted resources by backfill slot that has to release them. Slots with contested devices release theirs
    /// first.
    fn find_shortages(&mut self, devices: &BTreeMap<String, Vec<usize>>) -> BTreeMap<SlotKey, String> {
        let mut left = SignedAmounts::default();
        for slot in self.slots.values().filter(|slot| slot.key.sub == 0) {
            left.add(&slot.plan.amounts, if slot.amounts.is_backfill { 1 } else { -1 });
        }
        // If the backfill slots are larger than the primary slots, the difference alone is not a shortage.
        let mut left = left.clamp_to_zero();
        let (mut first, mut then) = (Vec::new(), Vec::new());
        let mut twice = false;
        for slot in self.slots.values() {
            let (uses, primary) = (slot.is_using_resources(), !slot.amounts.is_backfill);
            if primary && slot.key.sub == 0 {
                left.add(&slot.plan.amounts, 1);
                twice |= uses;
            }
            if uses {
                left.add(&slot.amounts, -1);
            }
            if uses && !primary {
                let shares = slot.amounts.custom.iter().any(|custom| {
                    let used = devices.get(&custom.tag);
                    used.is_some_and(|used| custom.assigned.iter().any(|index| used.contains(index)))
                });
                if shares { first.insert(0, slot.key) } else { then.push(slot.key) }
            }
        }
        // 25.14 leaves a claimed static slot out of the total, but subtracts its resources from what is left.
        if twice && self.core.decide_and_report(Quirk::ResourceConflictStays, None) {
            for slot in self.slots.values().filter(|slot| slot.key.sub == 0 && !slot.amounts.is_backfill) {
                left.add(&slot.plan.amounts, -i32::from(slot.is_using_resources()));
            }
        }
        let mut short = left.shortage_names();
        if short.is_empty() {
            return BTreeMap::new();
        }
        let mut found = BTreeMap::new();
        for key in first.into_iter().chain(then) {
            found.insert(key, short);
            if let Some(slot) = self.slots.get(&key) {
                left.add(&slot.amounts, 1);
            }
            short = left.shortage_names();
        }
        found
    }
}

impl Slot {
    /// True if the slot is a dynamic slot, or is claimed as a whole.
    fn is_using_resources(&self) -> bool {
        let claimed = matches!(self.state, SlotState::Claimed | SlotState::Preempting);
        self.key.sub > 0 || (claimed && self.kind != SlotKind::Partitionable)
    }

    /// True if a primary slot uses this device.
    pub(super) fn is_device_contested(&self, tag: &str, index: usize) -> bool {
        let devices = self.conflict.as_ref().and_then(|conflict| conflict.contested_devices.get(tag));
        devices.is_some_and(|devices| devices.contains(&index))
    }

    /// Returns the resources that the slot can currently offer.
    pub(super) fn offered_amounts(&self) -> ResourceAmounts {
        let mut amounts = self.amounts.clone();
        if let Some(conflict) = &self.conflict {
            conflict.subtract_from(&mut amounts);
        }
        amounts
    }

    /// Publishes ResourceConflict: the exhausted resources, followed by the contested devices.
    pub(super) fn publish_conflict(&self, ad: &mut ClassAd) {
        let Some(conflict) = &self.conflict else { return };
        let mut words: Vec<&str> =
            (!conflict.shortage.is_empty()).then_some(conflict.shortage.as_str()).into_iter().collect();
        for custom in self.amounts.custom.iter().filter(|_| self.key.sub > 0) {
            let Some((devices, used)) =
                custom.machine_devices.as_ref().zip(conflict.contested_devices.get(&custom.tag))
            else {
                continue;
            };
            words.extend(used.iter().filter_map(|index| devices.ids.get(*index).map(String::as_str)));
        }
        match words.is_empty() {
            true => drop(ad.remove("ResourceConflict")),
            false => ad.set("ResourceConflict", words.join(",")),
        }
    }
}
