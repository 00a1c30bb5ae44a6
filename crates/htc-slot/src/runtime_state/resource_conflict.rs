//! Resource conflicts of a backfill slot with primary slots in use.

use std::collections::BTreeMap;

use crate::resources::ResourceAmounts;

/// Resource conflict of a backfill slot with primary slots in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResourceConflict {
    /// Names of the exhausted resources that the slot has to release.
    pub shortage: String,
    /// Resources that primary slots use, or `None` if the slot runs a job itself, so that nothing is subtracted from its
    /// resources.
    pub in_use: Option<SignedAmounts>,
    /// Devices of the slot that primary slots use, by tag.
    pub contested_devices: BTreeMap<String, Vec<usize>>,
}

impl ResourceConflict {
    /// Subtracts the resources that primary slots use from `amounts`.
    pub(crate) fn subtract_from(&self, amounts: &mut ResourceAmounts) {
        for custom in &mut amounts.custom {
            if let Some(used) = self.contested_devices.get(&custom.tag) {
                custom.assigned.retain(|index| !used.contains(index));
            }
        }
        let Some(in_use) = &self.in_use else { return };
        amounts.cpus = (amounts.cpus - in_use.cpus).max(0.0);
        amounts.memory = (amounts.memory - in_use.memory).max(0);
        for custom in amounts.custom.iter_mut().filter(|custom| custom.machine_devices.is_none()) {
            custom.quantity -= in_use.custom.get(&custom.tag).copied().unwrap_or(0.0);
        }
    }
}

/// Amounts of resources, which may be negative.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SignedAmounts {
    cpus: f64,
    memory: i64,
    disk: i64,
    custom: BTreeMap<String, f64>,
}

impl SignedAmounts {
    /// Adds the resources of a slot, multiplied by `times`.
    pub(crate) fn add(&mut self, amounts: &ResourceAmounts, times: i32) {
        self.cpus += f64::from(times) * amounts.cpus;
        self.memory += i64::from(times) * amounts.memory;
        self.disk += i64::from(times) * amounts.disk;
        for custom in &amounts.custom {
            *self.custom.entry(custom.tag.clone()).or_default() += f64::from(times) * custom.quantity;
        }
    }

    pub(crate) fn clamp_to_zero(mut self) -> Self {
        self.cpus = self.cpus.max(0.0);
        self.memory = self.memory.max(0);
        self.disk = self.disk.max(0);
        self.custom.values_mut().for_each(|quantity| *quantity = quantity.max(0.0));
        self
    }

    /// Returns the names of the resources with a negative amount, such as `Cpus,GPUs`.
    pub(crate) fn shortage_names(&self) -> String {
        let own = [("Cpus", self.cpus < 0.0), ("Memory", self.memory < 0), ("Disk", self.disk < 0)];
        let own = own.into_iter().filter(|(_, short)| *short).map(|(name, _)| name);
        let custom = self.custom.iter().filter(|(_, left)| **left < 0.0).map(|(tag, _)| tag.as_str());
        own.chain(custom).collect::<Vec<_>>().join(",")
    }
}
