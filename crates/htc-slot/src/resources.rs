//! Resources of a slot: processors, memory, swap, disk and custom resources (`ResAttributes.cpp`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::devices::Devices;
use htc_classad::{AttrName, ClassAd, Expr, Value};

/// Amounts of all resources of a slot, or of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceAmounts {
    /// Number of processors.
    pub cpus: f64,
    /// True if fractions of processors may be assigned.
    pub fractional_cpus: bool,
    /// Memory in MiB.
    pub memory: i64,
    /// Swap space in KiB.
    pub swap: i64,
    /// Disk space in KiB.
    pub disk: i64,
    /// Custom resources, in order of definition.
    pub custom: Vec<CustomResource>,
    /// True for a backfill slot (`SLOT_TYPE_<n>_BACKFILL`), whose resources are in a second copy of the machine. Devices are then
    /// taken from the end of the list.
    pub is_backfill: bool,
}

/// A custom resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomResource {
    /// Name of the custom resource, as configured.
    pub tag: String,
    /// Amount of the resource. If the resource has ids, the number of its devices.
    pub quantity: f64,
    /// All devices of the machine, or `None` if the resource has no ids.
    pub machine_devices: Option<Arc<Devices>>,
    /// Assigned devices as indexes into the machine's list, sorted.
    pub assigned: Vec<usize>,
}

/// Ids of devices that went offline since the start, by tag.
pub(super) type OfflineDevices = BTreeMap<String, BTreeSet<String>>;

impl CustomResource {
    /// Returns the assigned devices that are online.
    pub(super) fn available_devices(&self, offline: &OfflineDevices) -> Vec<usize> {
        let off = offline.get(&self.tag);
        let is_on = |index: &&usize| {
            let id = self.machine_devices.as_ref().and_then(|devices| devices.ids.get(**index));
            !off.zip(id).is_some_and(|(off, id)| off.contains(id))
        };
        self.assigned.iter().filter(is_on).copied().collect()
    }
}

impl ResourceAmounts {
    /// Returns the number of whole processors, as draining counts them: 0.1 is added before the fraction is dropped.
    pub(super) fn whole_cpus(&self) -> i64 {
        (self.cpus + 0.1) as i64
    }

    /// Returns the value of the attribute Cpus: an integer, unless fractions of processors may be assigned.
    fn cpus_value(&self) -> Value {
        if self.fractional_cpus { Value::Real(self.cpus) } else { Value::Int(self.whole_cpus()) }
    }

    /// Publishes the current amounts: what is left of a partitionable slot, or all resources of a static or dynamic slot. A
    /// broken slot offers nothing.
    pub(super) fn publish_dynamic(&self, ad: &mut ClassAd, broken: bool, offline: &OfflineDevices) {
        if broken {
            ad.set("Cpus", 0i64);
            ad.set("Memory", 0i64);
        } else {
            ad.insert(AttrName::from("Cpus"), Expr::literal(self.cpus_value()));
            ad.set("Memory", self.memory);
        }
        ad.set("Disk", self.disk);
        for custom in &self.custom {
            let tag = custom.tag.as_str();
            let Some(devices) = &custom.machine_devices else {
                ad.set(tag, if broken { 0 } else { custom.quantity as i64 });
                continue;
            };
            let available = custom.available_devices(offline);
            ad.set(tag, if broken { 0 } else { i64::try_from(available.len()).unwrap_or(i64::MAX) });
            if let Some(references) = devices.reference_list(tag, &available) {
                ad.insert(format!("Available{tag}").as_str(), references);
            }
        }
    }

    /// Publishes the amounts that a slot had when it was created (`CpuAttributes::publish_static`).
    pub fn publish_static(&self, ad: &mut ClassAd) {
        ad.set("VirtualMemory", self.swap);
        ad.insert(AttrName::from("TotalSlotCpus"), Expr::literal(self.cpus_value()));
        ad.set("TotalSlotMemory", self.memory);
        ad.set("TotalSlotDisk", self.disk as f64);
        for custom in &self.custom {
            ad.set(format!("TotalSlot{}", custom.tag).as_str(), custom.quantity as i64);
            let assigned = AttrName::from(format!("Assigned{}", custom.tag).as_str());
            match custom.machine_devices.as_ref().filter(|_| !custom.assigned.is_empty()) {
                Some(devices) => {
                    let bound = self.allocation_order(custom.assigned.clone(), devices);
                    ad.insert(assigned, Expr::literal(Value::from(devices.joined_ids(&bound))));
                    devices.publish_properties(&custom.tag, &bound, ad);
                }
                None => drop(ad.remove(&assigned)),
            }
        }
    }

    /// Sorts devices in the order in which they are assigned to slots.
    pub(super) fn allocation_order(&self, mut indexes: Vec<usize>, devices: &Devices) -> Vec<usize> {
        if self.is_backfill && !devices.shared {
            indexes.reverse();
        }
        indexes
    }

    /// Subtracts the resources `part`, including its devices.
    pub(super) fn subtract(&mut self, part: &ResourceAmounts) {
        self.cpus -= part.cpus;
        self.memory -= part.memory;
        self.disk -= part.disk;
        for custom in &part.custom {
            let Some(mine) = self.custom.iter_mut().find(|mine| mine.tag == custom.tag) else { continue };
            mine.quantity -= custom.quantity;
            if mine.machine_devices.as_ref().is_some_and(|devices| !devices.shared) {
                mine.assigned.retain(|index| !custom.assigned.contains(index));
            }
        }
    }

    /// Adds the resources `part`; its devices return to their place in the order.
    pub(super) fn add_back(&mut self, part: &ResourceAmounts) {
        self.cpus += part.cpus;
        self.memory += part.memory;
        self.disk += part.disk;
        for custom in &part.custom {
            let Some(mine) = self.custom.iter_mut().find(|mine| mine.tag == custom.tag) else { continue };
            mine.quantity += custom.quantity;
            mine.assigned.extend(&custom.assigned);
            mine.assigned.sort_unstable();
            mine.assigned.dedup();
        }
    }
}
