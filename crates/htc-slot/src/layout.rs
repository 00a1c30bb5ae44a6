//! Division of the machine's resources among slots (`slot_builder.cpp`, `CpuAttributes`).

use std::collections::BTreeMap;

use htc_base::text::plural::counted;

use super::devices::{DeviceConstraint, Devices};
use super::resources::{CustomResource, ResourceAmounts};
use super::settings::BrokenReason;
use super::slot_type_shares::{ResourceShare, SlotTypeShares};

/// Slot type with its shares and number of slots.
#[derive(Clone, Debug)]
pub struct SlotType {
    /// Number of the slot type, or 0 for slots without a type.
    pub id: u32,
    /// Resource share of each slot.
    pub shares: SlotTypeShares,
    /// Number of slots.
    pub count: u32,
    /// `SLOT_TYPE_<n>_BACKFILL`: true if the slots share the machine with primary slots, as if there were a second machine.
    pub backfill: bool,
}

/// SLOT_CONFIG_FAILURE_MODE: policy for slots that do not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotConfigFailureMode {
    /// The execution point does not start.
    Abort,
    /// No slot is created.
    Clear,
    /// The first slot of a type that does not fit is created and marked broken; no further slots of that type are created.
    #[default]
    Continue,
}

/// Slot with its allocated resources.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotAllocation {
    /// Number of the slot type.
    pub type_id: u32,
    /// Resources of the slot.
    pub amounts: ResourceAmounts,
    /// Reason why the slot is broken, or `None`.
    pub broken: Option<BrokenReason>,
    /// Volume of the slot's execute directory.
    pub volume: Volume,
}

/// Smallest remaining amount that is treated as sufficient; slightly below 0 because of rounding errors.
const SHORTAGE_TOLERANCE: f64 = -0.000_001;
/// Minimum resources of a slot: number of processors, memory in MiB, disk space in KiB.
const MIN_SLOT_AMOUNTS: (f64, i64, i64) = (1.0, 1, 1024);
/// SlotBrokenCode of a slot that does not fit.
const BROKEN_NOT_ENOUGH_RESOURCES: i32 = 1;
/// SlotBrokenCode of a slot without an execute directory (BROKEN_CODE_NO_EXEC_DIR).
const BROKEN_NO_EXECUTE_DIRECTORY: i32 = 3;
/// SlotBrokenCode of a slot that could not get the devices it requests.
const BROKEN_DEVICES_NOT_BOUND: i32 = 2;

/// Result of dividing a machine into slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlotLayout {
    /// The slots, in order of their types.
    pub slots: Vec<SlotAllocation>,
    /// Warnings for the user about slots that were not created.
    pub warnings: Vec<String>,
    /// Disk space in KiB that the slots of each volume have together, by volume id.
    pub provisioned: BTreeMap<String, i64>,
}

/// File system that holds execute directories of slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Id of the volume, such as the device number.
    pub id: String,
    /// Free space to divide among slots, in KiB.
    pub free: i64,
    /// Total size in KiB.
    pub total: i64,
    /// Reason why the volume has no execute directory (SlotBrokenReason of its slots), or `None`.
    pub execute_problem: Option<String>,
}

/// Volumes of all slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotVolumes {
    /// Volume of EXECUTE.
    pub shared: Volume,
    /// Volumes of `SLOT<N>_EXECUTE`, by slot number.
    pub slot_volumes: BTreeMap<u32, Volume>,
}

impl SlotVolumes {
    /// Returns the volume of the slot with this number.
    pub fn volume_of_slot(&self, number: u32) -> &Volume {
        self.slot_volumes.get(&number).unwrap_or(&self.shared)
    }

    fn all_volumes(&self) -> impl Iterator<Item = &Volume> {
        std::iter::once(&self.shared).chain(self.slot_volumes.values())
    }
}

/// Slot with its type and volume during the allocation.
struct SlotPlacement<'a> {
    slot_type: &'a SlotType,
    volume: &'a Volume,
    allocation: SlotAllocation,
}

/// Divides `machine` among slots, and a second copy of it among backfill slots. With [`SlotConfigFailureMode::Abort`], fails at
/// the first slot that does not fit.
pub fn lay_out_slots(
    machine: &ResourceAmounts,
    volumes: &SlotVolumes,
    types: &[SlotType],
    mode: SlotConfigFailureMode,
) -> Result<SlotLayout, String> {
    let mut pools = [
        RemainingResources::from_machine(machine, volumes),
        RemainingResources::from_machine(machine, volumes),
    ];
    let mut placed: Vec<SlotPlacement<'_>> = Vec::new();
    let mut warnings = Vec::new();
    let none = |warning: String| SlotLayout { warnings: vec![warning], ..SlotLayout::default() };
    for kind in types {
        for index in 0..kind.count {
            let number = u32::try_from(placed.len() + 1).unwrap_or(u32::MAX);
            let volume = volumes.volume_of_slot(number);
            let pool = &mut pools[usize::from(kind.backfill)];
            let (slot, short) = pool.allocate_slot(machine, volume, kind);
            if let Some(reason) = &short {
                match mode {
                    SlotConfigFailureMode::Abort => return Err(format!("slot type {}: {reason}", kind.id)),
                    SlotConfigFailureMode::Clear => {
                        return Ok(none(format!("no slot is created: slot type {}: {reason}", kind.id)));
                    }
                    SlotConfigFailureMode::Continue => {}
                }
                if index > 0 {
                    let (id, count) = (kind.id, kind.count);
                    let slots = counted(count, "slot");
                    warnings.push(format!("slot type {id}: {index} of {slots} created: {reason}"));
                    break;
                }
                warnings.push(format!("the first slot of type {} is broken: {reason}", kind.id));
            }
            pool.take_explicit_shares(&slot.amounts, volume, &kind.shares);
            placed.push(SlotPlacement { slot_type: kind, volume, allocation: slot });
        }
    }
    for (backfill, pool) in pools.iter_mut().enumerate() {
        let of_pool = placed.iter_mut().filter(|it| usize::from(it.slot_type.backfill) == backfill).collect();
        if let Some(reason) = distribute_remaining(pool, of_pool) {
            match mode {
                SlotConfigFailureMode::Abort => return Err(reason),
                SlotConfigFailureMode::Clear => return Ok(none(reason)),
                SlotConfigFailureMode::Continue => {}
            }
        }
    }
    let provisioned =
        volumes.all_volumes().map(|volume| (volume.id.clone(), provisioned_disk(volume, &pools, &placed)));
    let provisioned = provisioned.collect();
    Ok(SlotLayout { slots: placed.into_iter().map(|it| it.allocation).collect(), warnings, provisioned })
}

/// Returns the disk space that all slots of a volume have together. If the share of any slot is automatic, this is all of the
/// space (`AvailAttributes::update_provisioned_disk`).
fn provisioned_disk(volume: &Volume, pools: &[RemainingResources; 2], placed: &[SlotPlacement<'_>]) -> i64 {
    let of_pool = |backfill: usize| {
        let automatic = placed.iter().any(|it| {
            usize::from(it.slot_type.backfill) == backfill
                && it.volume.id == volume.id
                && it.slot_type.shares.disk == ResourceShare::Auto
        });
        if automatic { volume.free } else { volume.free - pools[backfill].remaining_disk(volume) as i64 }
    };
    of_pool(0).max(of_pool(1))
}

/// Assigns devices to each slot, in the order of slots and devices. If the slot type has a constraint, only matching devices are
/// assigned. A slot that gets too few devices is marked broken (`CpuAttributes::bind_DevIds`).
pub fn bind_devices(
    layout: &mut SlotLayout,
    machine: &ResourceAmounts,
    types: &[SlotType],
    fits: &dyn Fn(&Devices, usize, &DeviceConstraint) -> bool,
) {
    let all: Vec<Vec<usize>> = machine.custom.iter().map(|custom| custom.assigned.clone()).collect();
    let mut copies = [all.clone(), all];
    for slot in &mut layout.slots {
        let shares = types.iter().find(|kind| kind.id == slot.type_id).map(|kind| &kind.shares);
        let backfill = slot.amounts.is_backfill;
        let left = &mut copies[usize::from(backfill)];
        for (custom, left) in slot.amounts.custom.iter_mut().zip(left) {
            let Some(devices) = custom.machine_devices.clone() else { continue };
            let wanted =
                shares.map_or(DeviceConstraint::None, |shares| shares.device_constraint(&custom.tag));
            let count = custom.quantity.max(0.0) as usize;
            let fit = |index: &usize| fits(&devices, *index, &wanted);
            custom.assigned = match backfill && !devices.shared {
                // Backfill slots get devices from the end of the list, to share as few as possible with primary slots.
                true => left.iter().rev().copied().filter(fit).take(count).collect(),
                false => left.iter().copied().filter(fit).take(count).collect(),
            };
            custom.assigned.sort_unstable();
            if !devices.shared {
                left.retain(|index| !custom.assigned.contains(index));
            }
            if custom.assigned.len() < count && slot.broken.is_none() {
                let reason = format!("Not enough instances of resource {}", custom.tag);
                layout.warnings.push(format!("a slot of type {} is broken: {reason}", slot.type_id));
                slot.broken = Some(BrokenReason { code: BROKEN_DEVICES_NOT_BOUND, reason });
            }
        }
    }
}

/// Resources of the machine that are not yet allocated. Processors are counted as whole numbers.
struct RemainingResources {
    cpus: f64,
    memory: f64,
    swap: f64,
    /// Free space by volume id.
    disks: BTreeMap<String, f64>,
    custom: Vec<f64>,
}

impl RemainingResources {
    fn from_machine(machine: &ResourceAmounts, volumes: &SlotVolumes) -> Self {
        RemainingResources {
            cpus: machine.cpus,
            memory: machine.memory as f64,
            swap: machine.swap as f64,
            disks: volumes.all_volumes().map(|volume| (volume.id.clone(), volume.free as f64)).collect(),
            custom: machine.custom.iter().map(|custom| custom.quantity).collect(),
        }
    }

    fn remaining_disk(&self, volume: &Volume) -> f64 {
        self.disks.get(&volume.id).copied().unwrap_or(0.0)
    }

    /// Allocates a slot from the remaining resources. Also returns which resources are not sufficient, or `None` if all are. A
    /// slot without an execute directory is marked broken.
    fn allocate_slot(
        &self,
        machine: &ResourceAmounts,
        volume: &Volume,
        kind: &SlotType,
    ) -> (SlotAllocation, Option<String>) {
        let mut amounts = explicit_amounts(machine, volume, kind);
        let short = (!self.can_fit(&amounts, volume, &kind.shares))
            .then(|| self.trim_to_fit(&mut amounts, volume, &kind.shares));
        let broken = match (&volume.execute_problem, &short) {
            (Some(reason), _) => {
                Some(BrokenReason { code: BROKEN_NO_EXECUTE_DIRECTORY, reason: reason.clone() })
            }
            (None, Some(reason)) => {
                Some(BrokenReason { code: BROKEN_NOT_ENOUGH_RESOURCES, reason: reason.clone() })
            }
            (None, None) => None,
        };
        let short = short.filter(|_| volume.execute_problem.is_none());
        (SlotAllocation { type_id: kind.id, amounts, broken, volume: volume.clone() }, short)
    }

    /// True if the explicit shares fit into the remaining resources. Only whole processors are counted
    /// (`AvailAttributes::decrement`).
    fn can_fit(&self, amounts: &ResourceAmounts, volume: &Volume, shares: &SlotTypeShares) -> bool {
        let fits = |share: ResourceShare, left: f64, amount: f64| {
            share == ResourceShare::Auto || left - amount >= SHORTAGE_TOLERANCE
        };
        let customs = self.custom.iter().zip(&amounts.custom);
        (shares.cpus == ResourceShare::Auto || self.cpus_left_after(amounts) >= 0.0)
            && fits(shares.memory, self.memory, amounts.memory as f64)
            && fits(shares.swap, self.swap, amounts.swap as f64)
            && fits(shares.disk, self.remaining_disk(volume), amounts.disk as f64)
            && customs
                .into_iter()
                .all(|(left, custom)| fits(shares.custom_share(&custom.tag), *left, custom.quantity))
    }

    /// Returns the number of whole processors left after a slot. A share below one half is not subtracted.
    fn cpus_left_after(&self, amounts: &ResourceAmounts) -> f64 {
        if amounts.fractional_cpus && amounts.cpus < 0.5 {
            return self.cpus;
        }
        // Adding 0 turns -0.0 into 0.0, as the reference's conversion to an integer does.
        (self.cpus - amounts.cpus).trunc() + 0.0
    }

    /// Reduces explicit shares to the remaining resources, and returns a text that names the resources that are not sufficient
    /// (`trim_request_to_fit`).
    fn trim_to_fit(&self, amounts: &mut ResourceAmounts, volume: &Volume, shares: &SlotTypeShares) -> String {
        let mut short: Vec<String> = Vec::new();
        let counted = !(amounts.fractional_cpus && amounts.cpus < 0.5);
        if shares.cpus != ResourceShare::Auto && counted && self.cpus - amounts.cpus < SHORTAGE_TOLERANCE {
            short.push(format!("Cpus ({:.2} short)", amounts.cpus - self.cpus));
            amounts.cpus = self.cpus;
        }
        for (name, share, left, amount) in [
            ("Memory", shares.memory, self.memory, &mut amounts.memory),
            ("Swap", shares.swap, self.swap, &mut amounts.swap),
            ("Disk", shares.disk, self.remaining_disk(volume), &mut amounts.disk),
        ] {
            if share != ResourceShare::Auto && *amount as f64 > left {
                short.push(format!("{name} ({:.0} short)", *amount as f64 - left));
                *amount = left as i64;
            }
        }
        for (left, custom) in self.custom.iter().zip(&mut amounts.custom) {
            if shares.custom_share(&custom.tag) != ResourceShare::Auto
                && left - custom.quantity < SHORTAGE_TOLERANCE
            {
                short.push(format!("{} ({:.2} short)", custom.tag, custom.quantity - left));
                custom.quantity = *left;
            }
        }
        format!("Not enough {}", short.join(" "))
    }

    /// Subtracts the explicit shares of a slot from the remaining resources.
    fn take_explicit_shares(&mut self, amounts: &ResourceAmounts, volume: &Volume, shares: &SlotTypeShares) {
        let taken =
            |share: ResourceShare, amount: f64| if share == ResourceShare::Auto { 0.0 } else { amount };
        if shares.cpus != ResourceShare::Auto {
            self.cpus = self.cpus_left_after(amounts);
        }
        self.memory -= taken(shares.memory, amounts.memory as f64);
        self.swap -= taken(shares.swap, amounts.swap as f64);
        if let Some(left) = self.disks.get_mut(&volume.id) {
            *left -= taken(shares.disk, amounts.disk as f64);
        }
        for (left, custom) in self.custom.iter_mut().zip(&amounts.custom) {
            *left -= taken(shares.custom_share(&custom.tag), custom.quantity);
        }
    }
}

/// Converts explicit shares to amounts. Automatic shares are 0 until they are distributed.
fn explicit_amounts(machine: &ResourceAmounts, volume: &Volume, kind: &SlotType) -> ResourceAmounts {
    let shares = &kind.shares;
    let amount_of = |share: ResourceShare, total: f64| match share {
        ResourceShare::Auto => 0.0,
        ResourceShare::Fraction(part) => part * total,
        ResourceShare::Amount(amount) => amount,
    };
    let least = |share: ResourceShare, amount: i64, least: i64| match share {
        ResourceShare::Auto => 0,
        _ => amount.max(least),
    };
    let cpus = amount_of(shares.cpus, machine.cpus);
    let custom = machine.custom.iter().map(|custom| CustomResource {
        tag: custom.tag.clone(),
        quantity: amount_of(shares.custom_share(&custom.tag), custom.quantity).max(0.0),
        machine_devices: custom.machine_devices.clone(),
        assigned: Vec::new(),
    });
    ResourceAmounts {
        cpus: match shares.cpus {
            ResourceShare::Auto => 0.0,
            _ if shares.fractional_cpus => cpus.max(0.0),
            _ => cpus.max(MIN_SLOT_AMOUNTS.0),
        },
        fractional_cpus: shares.fractional_cpus,
        memory: least(
            shares.memory,
            amount_of(shares.memory, machine.memory as f64) as i64,
            MIN_SLOT_AMOUNTS.1,
        ),
        swap: least(shares.swap, amount_of(shares.swap, machine.swap as f64) as i64, 0),
        disk: least(shares.disk, amount_of(shares.disk, volume.free as f64) as i64, MIN_SLOT_AMOUNTS.2),
        custom: custom.collect(),
        is_backfill: kind.backfill,
    }
}

/// Distributes the remaining resources equally among slots with automatic shares. Returns which resource is not sufficient, or
/// `None` if all are.
fn distribute_remaining(
    left: &mut RemainingResources,
    mut slots: Vec<&mut SlotPlacement<'_>>,
) -> Option<String> {
    let count = |slots: &[&mut SlotPlacement<'_>], share: &dyn Fn(&SlotTypeShares) -> ResourceShare| {
        slots.iter().filter(|it| share(&it.slot_type.shares) == ResourceShare::Auto).count() as f64
    };
    let cpus = left.cpus / count(&slots, &|shares| shares.cpus);
    let part = |left: f64, slots: f64| if slots > 0.0 { (left.max(0.0) / slots).floor() as i64 } else { 0 };
    let memory = part(left.memory, count(&slots, &|shares| shares.memory));
    let swap = part(left.swap, count(&slots, &|shares| shares.swap));
    let disks: BTreeMap<String, i64> = left
        .disks
        .iter()
        .map(|(volume, left)| {
            let is_automatic = |it: &&&mut SlotPlacement<'_>| {
                it.slot_type.shares.disk == ResourceShare::Auto && it.volume.id == *volume
            };
            (volume.clone(), part(*left, slots.iter().filter(is_automatic).count() as f64))
        })
        .collect();
    let tags: Vec<String> = slots
        .first()
        .map(|it| it.allocation.amounts.custom.iter().map(|custom| custom.tag.clone()).collect())
        .unwrap_or_default();
    let begun = left.custom.clone();
    let mut waiting: Vec<f64> =
        tags.iter().map(|tag| count(&slots, &|shares| shares.custom_share(tag))).collect();
    let mut failed = None;
    for SlotPlacement { slot_type: kind, allocation: slot, volume } in slots.iter_mut().map(|it| &mut **it) {
        let disk = disks.get(&volume.id).copied().unwrap_or(0);
        let shares = &kind.shares;
        let mut short = Vec::new();
        if shares.cpus == ResourceShare::Auto {
            slot.amounts.cpus = cpus.max(0.0);
            if cpus < 1.0 && !shares.fractional_cpus {
                short.push(format!("Not enough Cpus ({:.2} short)", 1.0 - cpus));
            }
        }
        if shares.memory == ResourceShare::Auto {
            slot.amounts.memory = memory;
            if memory < 1 {
                short.push("Not enough Memory (1 short)".into());
            }
        }
        if shares.swap == ResourceShare::Auto {
            slot.amounts.swap = swap;
        }
        if shares.disk == ResourceShare::Auto {
            slot.amounts.disk = disk;
            if disk <= 0 {
                short.push("Not enough Disk (1 short)".into());
            }
        }
        for (((custom, left), begun), waiting) in
            slot.amounts.custom.iter_mut().zip(&mut left.custom).zip(&begun).zip(&mut waiting)
        {
            if shares.custom_share(&custom.tag) == ResourceShare::Auto && *waiting > 0.0 {
                // The first slots get one unit more if the amount is not divisible. A remaining fraction is treated as
                // one unit for the last of them, if at least one unit was left when the distribution began
                // (`AvailAttributes::computeAutoShares`).
                let part = (*left / *waiting).ceil().max(0.0);
                custom.quantity = if *begun < 1.0 { 0.0 } else { part };
                *left -= custom.quantity;
                *waiting -= 1.0;
            }
        }
        if let Some(reason) = short.into_iter().next() {
            failed.get_or_insert_with(|| format!("slot type {}: {reason}", kind.id));
            slot.broken.get_or_insert(BrokenReason { code: BROKEN_NOT_ENOUGH_RESOURCES, reason });
        }
    }
    failed
}

#[cfg(test)]
mod tests;
