//! Sharing the machine out to slots (`slot_builder.cpp`, `CpuAttributes`).

use std::collections::BTreeMap;

use super::devices::{Constraint, Devices};
use super::resources::{Amounts, Custom};
use super::settings::Broken;
use super::shares::{Share, Shares};

/// A type of slot and how many of it are wanted.
#[derive(Clone, Debug)]
pub struct SlotType {
    /// Its number; 0 for slots without a type.
    pub id: u32,
    /// What each gets.
    pub shares: Shares,
    /// How many.
    pub count: u32,
    /// `SLOT_TYPE_<n>_BACKFILL`: whether they are shared out of a second, whole copy of the machine.
    pub backfill: bool,
}

/// SLOT_CONFIG_FAILURE_MODE: what becomes of slots that do not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    /// The execution point does not start.
    Abort,
    /// There are no slots at all.
    Clear,
    /// The first of a type that does not fit is made and marked broken, further ones are not made.
    #[default]
    Continue,
}

/// A slot as it was shared out.
#[derive(Clone, Debug, PartialEq)]
pub struct LaidOut {
    /// Its type.
    pub type_id: u32,
    /// What it has.
    pub amounts: Amounts,
    /// Why it is of no use.
    pub broken: Option<Broken>,
    /// Where its execute directory is.
    pub volume: Volume,
}

/// Below this a resource has run out.
const SHORT: f64 = -0.000_001;
/// The least a slot has: processors, MiB, KiB.
const LEAST: (f64, i64, i64) = (1.0, 1, 1024);
/// SlotBrokenCode of a slot that does not fit.
const NOT_ENOUGH: i32 = 1;
/// SlotBrokenCode of a slot that has no directory for its jobs (BROKEN_CODE_NO_EXEC_DIR).
const NO_EXECUTE: i32 = 3;
/// SlotBrokenCode of a slot that could not be given devices it asks for.
const NOT_BOUND: i32 = 2;

/// How a machine was shared out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The slots, in order of their types.
    pub slots: Vec<LaidOut>,
    /// What a user should know of it: slots that were not made.
    pub warnings: Vec<String>,
    /// The disk that the slots of each volume have together, in KiB.
    pub provisioned: BTreeMap<String, i64>,
}

/// A file system that slots have their execute directories on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// What names it, such as its device number.
    pub id: String,
    /// What is shared out, in KiB.
    pub free: i64,
    /// Its whole size in KiB.
    pub total: i64,
    /// Why there is no execute directory on it: SlotBrokenReason of its slots.
    pub missing: Option<String>,
}

/// The volumes of all slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    /// That of EXECUTE.
    pub shared: Volume,
    /// Those of `SLOT<N>_EXECUTE`, by the number of the slot.
    pub own: BTreeMap<u32, Volume>,
}

impl Volumes {
    /// The volume of a slot.
    pub fn of(&self, number: u32) -> &Volume {
        self.own.get(&number).unwrap_or(&self.shared)
    }

    fn all(&self) -> impl Iterator<Item = &Volume> {
        std::iter::once(&self.shared).chain(self.own.values())
    }
}

/// A slot with its type and its volume, while shares are given out.
struct Placed<'a> {
    kind: &'a SlotType,
    volume: &'a Volume,
    slot: LaidOut,
}

/// Shares `machine` out, once to slots and once more to backfill slots. The error, in words, is the first thing that does not fit with
/// [`FailureMode::Abort`].
pub fn lay_out(
    machine: &Amounts,
    volumes: &Volumes,
    types: &[SlotType],
    mode: FailureMode,
) -> Result<Layout, String> {
    let mut pools = [Pool::of(machine, volumes), Pool::of(machine, volumes)];
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let mut warnings = Vec::new();
    let none = |warning: String| Layout { warnings: vec![warning], ..Layout::default() };
    for kind in types {
        for index in 0..kind.count {
            let number = u32::try_from(placed.len() + 1).unwrap_or(u32::MAX);
            let volume = volumes.of(number);
            let pool = &mut pools[usize::from(kind.backfill)];
            let (slot, short) = pool.place((machine, volume), kind);
            if let Some(reason) = &short {
                match mode {
                    FailureMode::Abort => return Err(format!("slot type {}: {reason}", kind.id)),
                    FailureMode::Clear => {
                        return Ok(none(format!("no slot is made: slot type {}: {reason}", kind.id)));
                    }
                    FailureMode::Continue => {}
                }
                if index > 0 {
                    let (id, count) = (kind.id, kind.count);
                    warnings.push(format!("slot type {id}: {index} of {count} slots are made: {reason}"));
                    break;
                }
                warnings.push(format!("the first slot of type {} is broken: {reason}", kind.id));
            }
            pool.take((&slot.amounts, volume), &kind.shares);
            placed.push(Placed { kind, volume, slot });
        }
    }
    for (backfill, pool) in pools.iter_mut().enumerate() {
        let of_pool = placed.iter_mut().filter(|it| usize::from(it.kind.backfill) == backfill).collect();
        if let Some(reason) = share_rest(pool, of_pool) {
            match mode {
                FailureMode::Abort => return Err(reason),
                FailureMode::Clear => return Ok(none(reason)),
                FailureMode::Continue => {}
            }
        }
    }
    let provisioned = volumes.all().map(|volume| (volume.id.clone(), provisioned(volume, &pools, &placed)));
    let provisioned = provisioned.collect();
    Ok(Layout { slots: placed.into_iter().map(|it| it.slot).collect(), warnings, provisioned })
}

/// The disk that all slots of a volume have: all of it if a share is automatic (`AvailAttributes::update_provisioned_disk`).
fn provisioned(volume: &Volume, pools: &[Pool; 2], placed: &[Placed<'_>]) -> i64 {
    let of_pool = |backfill: usize| {
        let automatic = placed.iter().any(|it| {
            usize::from(it.kind.backfill) == backfill
                && it.volume.id == volume.id
                && it.kind.shares.disk == Share::Auto
        });
        if automatic { volume.free } else { volume.free - pools[backfill].disk_of(volume) as i64 }
    };
    of_pool(0).max(of_pool(1))
}

/// Gives each slot its devices, in order of the slots and of the devices; those that a slot type names by a constraint are
/// the only ones for it. With too few of them the slot is broken (`CpuAttributes::bind_DevIds`).
pub fn bind(
    layout: &mut Layout,
    machine: &Amounts,
    types: &[SlotType],
    fits: &dyn Fn(&Devices, usize, &Constraint) -> bool,
) {
    let all: Vec<Vec<usize>> = machine.custom.iter().map(|custom| custom.bound.clone()).collect();
    let mut copies = [all.clone(), all];
    for slot in &mut layout.slots {
        let shares = types.iter().find(|kind| kind.id == slot.type_id).map(|kind| &kind.shares);
        let backfill = slot.amounts.backfill;
        let left = &mut copies[usize::from(backfill)];
        for (custom, left) in slot.amounts.custom.iter_mut().zip(left) {
            let Some(devices) = custom.devices.clone() else { continue };
            let wanted = shares.map_or(Constraint::None, |shares| shares.constraint(&custom.tag));
            let count = custom.quantity.max(0.0) as usize;
            let fit = |index: &usize| fits(&devices, *index, &wanted);
            custom.bound = match backfill && !devices.shared {
                // So that they seldom meet with those that other slots use.
                true => left.iter().rev().copied().filter(fit).take(count).collect(),
                false => left.iter().copied().filter(fit).take(count).collect(),
            };
            custom.bound.sort_unstable();
            if !devices.shared {
                left.retain(|index| !custom.bound.contains(index));
            }
            if custom.bound.len() < count && slot.broken.is_none() {
                let reason = format!("Not enough instances of resource {}", custom.tag);
                layout.warnings.push(format!("a slot of type {} is broken: {reason}", slot.type_id));
                slot.broken = Some(Broken { code: NOT_BOUND, reason });
            }
        }
    }
}

/// What is left of the machine. Processors are counted in whole ones.
struct Pool {
    cpus: f64,
    memory: f64,
    swap: f64,
    /// By the name of the volume.
    disks: BTreeMap<String, f64>,
    custom: Vec<f64>,
}

impl Pool {
    fn of(machine: &Amounts, volumes: &Volumes) -> Self {
        Pool {
            cpus: machine.cpus,
            memory: machine.memory as f64,
            swap: machine.swap as f64,
            disks: volumes.all().map(|volume| (volume.id.clone(), volume.free as f64)).collect(),
            custom: machine.custom.iter().map(|custom| custom.quantity).collect(),
        }
    }

    fn disk_of(&self, volume: &Volume) -> f64 {
        self.disks.get(&volume.id).copied().unwrap_or(0.0)
    }

    /// Makes a slot of what is left; says what there is too little of. A slot without a directory is broken.
    fn place(&self, (machine, volume): (&Amounts, &Volume), kind: &SlotType) -> (LaidOut, Option<String>) {
        let mut amounts = explicit(machine, volume, kind);
        let short = (!self.fits((&amounts, volume), &kind.shares))
            .then(|| self.trim((&mut amounts, volume), &kind.shares));
        let broken = match (&volume.missing, &short) {
            (Some(reason), _) => Some(Broken { code: NO_EXECUTE, reason: reason.clone() }),
            (None, Some(reason)) => Some(Broken { code: NOT_ENOUGH, reason: reason.clone() }),
            (None, None) => None,
        };
        let short = short.filter(|_| volume.missing.is_none());
        (LaidOut { type_id: kind.id, amounts, broken, volume: volume.clone() }, short)
    }

    /// True if the explicit shares fit; of processors only whole ones are counted (`AvailAttributes::decrement`).
    fn fits(&self, (amounts, volume): (&Amounts, &Volume), shares: &Shares) -> bool {
        let fits = |share: Share, left: f64, amount: f64| share == Share::Auto || left - amount >= SHORT;
        let customs = self.custom.iter().zip(&amounts.custom);
        (shares.cpus == Share::Auto || self.cpus_without(amounts) >= 0.0)
            && fits(shares.memory, self.memory, amounts.memory as f64)
            && fits(shares.swap, self.swap, amounts.swap as f64)
            && fits(shares.disk, self.disk_of(volume), amounts.disk as f64)
            && customs
                .into_iter()
                .all(|(left, custom)| fits(shares.custom(&custom.tag), *left, custom.quantity))
    }

    /// The processors that are left after a slot, in whole ones; parts below a half are not taken off at all.
    fn cpus_without(&self, amounts: &Amounts) -> f64 {
        if amounts.fractional_cpus && amounts.cpus < 0.5 {
            return self.cpus;
        }
        // Beside 0 the sign of nothing is lost, as in an integer.
        (self.cpus - amounts.cpus).trunc() + 0.0
    }

    /// Cuts explicit shares down to what is left; says what there is too little of (`trim_request_to_fit`).
    fn trim(&self, (amounts, volume): (&mut Amounts, &Volume), shares: &Shares) -> String {
        let mut short: Vec<String> = Vec::new();
        let counted = !(amounts.fractional_cpus && amounts.cpus < 0.5);
        if shares.cpus != Share::Auto && counted && self.cpus - amounts.cpus < SHORT {
            short.push(format!("Cpus ({:.2} short)", amounts.cpus - self.cpus));
            amounts.cpus = self.cpus;
        }
        for (name, share, left, amount) in [
            ("Memory", shares.memory, self.memory, &mut amounts.memory),
            ("Swap", shares.swap, self.swap, &mut amounts.swap),
            ("Disk", shares.disk, self.disk_of(volume), &mut amounts.disk),
        ] {
            if share != Share::Auto && *amount as f64 > left {
                short.push(format!("{name} ({:.0} short)", *amount as f64 - left));
                *amount = left as i64;
            }
        }
        for (left, custom) in self.custom.iter().zip(&mut amounts.custom) {
            if shares.custom(&custom.tag) != Share::Auto && left - custom.quantity < SHORT {
                short.push(format!("{} ({:.2} short)", custom.tag, custom.quantity - left));
                custom.quantity = *left;
            }
        }
        format!("Not enough {}", short.join(" "))
    }

    /// Takes the explicit shares of a slot.
    fn take(&mut self, (amounts, volume): (&Amounts, &Volume), shares: &Shares) {
        let taken = |share: Share, amount: f64| if share == Share::Auto { 0.0 } else { amount };
        if shares.cpus != Share::Auto {
            self.cpus = self.cpus_without(amounts);
        }
        self.memory -= taken(shares.memory, amounts.memory as f64);
        self.swap -= taken(shares.swap, amounts.swap as f64);
        if let Some(left) = self.disks.get_mut(&volume.id) {
            *left -= taken(shares.disk, amounts.disk as f64);
        }
        for (left, custom) in self.custom.iter_mut().zip(&amounts.custom) {
            *left -= taken(shares.custom(&custom.tag), custom.quantity);
        }
    }
}

/// Explicit shares as amounts; automatic ones are 0 for now.
fn explicit(machine: &Amounts, volume: &Volume, kind: &SlotType) -> Amounts {
    let shares = &kind.shares;
    let of = |share: Share, total: f64| match share {
        Share::Auto => 0.0,
        Share::Fraction(part) => part * total,
        Share::Amount(amount) => amount,
    };
    let least = |share: Share, amount: i64, least: i64| match share {
        Share::Auto => 0,
        _ => amount.max(least),
    };
    let cpus = of(shares.cpus, machine.cpus);
    let custom = machine.custom.iter().map(|custom| Custom {
        tag: custom.tag.clone(),
        quantity: of(shares.custom(&custom.tag), custom.quantity).max(0.0),
        devices: custom.devices.clone(),
        bound: Vec::new(),
    });
    Amounts {
        cpus: match shares.cpus {
            Share::Auto => 0.0,
            _ if shares.fractional_cpus => cpus.max(0.0),
            _ => cpus.max(LEAST.0),
        },
        fractional_cpus: shares.fractional_cpus,
        memory: least(shares.memory, of(shares.memory, machine.memory as f64) as i64, LEAST.1),
        swap: least(shares.swap, of(shares.swap, machine.swap as f64) as i64, 0),
        disk: least(shares.disk, of(shares.disk, volume.free as f64) as i64, LEAST.2),
        custom: custom.collect(),
        backfill: kind.backfill,
    }
}

/// Automatic shares: equal parts of what is left. Says what there is too little of.
fn share_rest(left: &mut Pool, mut slots: Vec<&mut Placed<'_>>) -> Option<String> {
    let count = |slots: &[&mut Placed<'_>], share: &dyn Fn(&Shares) -> Share| {
        slots.iter().filter(|it| share(&it.kind.shares) == Share::Auto).count() as f64
    };
    let cpus = left.cpus / count(&slots, &|shares| shares.cpus);
    let part = |left: f64, slots: f64| if slots > 0.0 { (left.max(0.0) / slots).floor() as i64 } else { 0 };
    let memory = part(left.memory, count(&slots, &|shares| shares.memory));
    let swap = part(left.swap, count(&slots, &|shares| shares.swap));
    let disks: BTreeMap<String, i64> = left
        .disks
        .iter()
        .map(|(volume, left)| {
            let asks = |it: &&&mut Placed<'_>| it.kind.shares.disk == Share::Auto && it.volume.id == *volume;
            (volume.clone(), part(*left, slots.iter().filter(asks).count() as f64))
        })
        .collect();
    let tags: Vec<String> = slots
        .first()
        .map(|it| it.slot.amounts.custom.iter().map(|custom| custom.tag.clone()).collect())
        .unwrap_or_default();
    let begun = left.custom.clone();
    let mut waiting: Vec<f64> = tags.iter().map(|tag| count(&slots, &|shares| shares.custom(tag))).collect();
    let mut failed = None;
    for Placed { kind, slot, volume } in slots.iter_mut().map(|it| &mut **it) {
        let disk = disks.get(&volume.id).copied().unwrap_or(0);
        let shares = &kind.shares;
        let mut short = Vec::new();
        if shares.cpus == Share::Auto {
            slot.amounts.cpus = cpus.max(0.0);
            if cpus < 1.0 && !shares.fractional_cpus {
                short.push(format!("Not enough Cpus ({:.2} short)", 1.0 - cpus));
            }
        }
        if shares.memory == Share::Auto {
            slot.amounts.memory = memory;
            if memory < 1 {
                short.push("Not enough Memory (1 short)".into());
            }
        }
        if shares.swap == Share::Auto {
            slot.amounts.swap = swap;
        }
        if shares.disk == Share::Auto {
            slot.amounts.disk = disk;
            if disk <= 0 {
                short.push("Not enough Disk (1 short)".into());
            }
        }
        for (((custom, left), begun), waiting) in
            slot.amounts.custom.iter_mut().zip(&mut left.custom).zip(&begun).zip(&mut waiting)
        {
            if shares.custom(&custom.tag) == Share::Auto && *waiting > 0.0 {
                // The surplus goes to the first slots. A part of one that a fraction has left is a whole one for the last of
                // them: what counts is whether there was one when sharing began (`AvailAttributes::computeAutoShares`).
                let part = (*left / *waiting).ceil().max(0.0);
                custom.quantity = if *begun < 1.0 { 0.0 } else { part };
                *left -= custom.quantity;
                *waiting -= 1.0;
            }
        }
        if let Some(reason) = short.into_iter().next() {
            failed.get_or_insert_with(|| format!("slot type {}: {reason}", kind.id));
            slot.broken.get_or_insert(Broken { code: NOT_ENOUGH, reason });
        }
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_base::quirks::Quirks;

    fn machine() -> Amounts {
        Amounts {
            cpus: 8.0,
            memory: 8000,
            swap: 24_683_672,
            disk: 82_434_258,
            custom: vec![Custom { tag: "Cogs".into(), quantity: 5.0, ..Custom::default() }],
            ..Amounts::default()
        }
    }

    fn volumes() -> Volumes {
        let shared = Volume { id: "1".into(), free: 82_434_258, ..Volume::default() };
        Volumes { shared, own: BTreeMap::new() }
    }

    fn kind(id: u32, text: &str, count: u32) -> SlotType {
        let shares = Shares::parse(text, &["Cogs".into()], Quirks::None).unwrap_or_default();
        SlotType { id, shares, count, backfill: false }
    }

    fn seen(types: &[SlotType]) -> Vec<(i64, i64, i64)> {
        let slots = lay_out(&machine(), &volumes(), types, FailureMode::Continue).unwrap_or_default().slots;
        slots.iter().map(|it| (it.amounts.whole_cpus(), it.amounts.memory, it.amounts.swap)).collect()
    }

    #[test]
    fn fractions_are_of_the_machine_and_auto_is_of_the_rest() {
        // Recordings s31h, s31b.
        assert_eq!(seen(&[kind(1, "cpus=33%, mem=33.3%", 3)]), [(2, 2663, 8_227_890); 3]);
        let slots = seen(&[kind(1, "1/2", 1), kind(2, "1/4", 2)]);
        assert_eq!(slots, [(4, 4000, 12_341_836), (2, 2000, 6_170_918), (2, 2000, 6_170_918)]);
    }

    /// Measured with 25.14 (8 processors): what shares leave is whole before it is divided, and the last one may take a part too much.
    #[test]
    fn automatic_shares_divide_the_whole_processors_that_are_left() {
        let cpus = |types: &[SlotType]| seen(types).into_iter().map(|(cpus, ..)| cpus).collect::<Vec<_>>();
        assert_eq!(cpus(&[kind(1, "33%", 1), kind(2, "auto", 2)]), [2, 2, 2]);
        let third = |count| kind(1, "cpus=1/3", count);
        assert_eq!(cpus(&[third(2), kind(2, "cpus=auto", 1)]), [2, 2, 2]);
        assert_eq!(cpus(&[third(1), kind(2, "cpus=auto", 1)]), [2, 5]);
        assert_eq!(cpus(&[third(1), kind(2, "cpus=auto", 3)]), [2, 1, 1, 1]);
    }

    #[test]
    fn each_volume_has_a_disk_of_its_own() {
        let own = Volume { id: "2".into(), free: 5_000_000, ..Volume::default() };
        let missing = Volume { missing: Some("no".into()), ..Volume::default() };
        let volumes = Volumes { own: BTreeMap::from([(2, own), (4, missing)]), ..volumes() };
        let types = [kind(1, "cpus=1,mem=10%,swap=10%,disk=100%", 2), kind(2, "cpus=1,mem=10%,swap=10%", 2)];
        let layout = lay_out(&machine(), &volumes, &types[..1], FailureMode::Continue).unwrap_or_default();
        let disks: Vec<i64> = layout.slots.iter().map(|slot| slot.amounts.disk).collect();
        assert_eq!((disks, layout.warnings), (vec![82_434_258, 5_000_000], Vec::new()));
        assert_eq!(layout.provisioned["2"], 5_000_000);
        let layout = lay_out(&machine(), &volumes, &types[1..], FailureMode::Continue).unwrap_or_default();
        let disks: Vec<i64> = layout.slots.iter().map(|slot| slot.amounts.disk).collect();
        assert_eq!(disks, [82_434_258, 5_000_000]);
        let types = [kind(1, "cpus=1,mem=10%,swap=10%,disk=10%", 4)];
        let layout = lay_out(&machine(), &volumes, &types, FailureMode::Continue).unwrap_or_default();
        assert_eq!(layout.provisioned["1"], 2 * 8_243_425);
        let broken = layout.slots[3].broken.as_ref();
        assert_eq!(broken.map(|broken| (broken.code, broken.reason.as_str())), Some((NO_EXECUTE, "no")));
    }

    #[test]
    fn what_does_not_fit_is_one_broken_slot_of_its_type() {
        // Recording s31c.
        let types = [kind(1, "cpus=25%, mem=1/2, disk=10%, swap=20%", 2), kind(2, "cpus=2, memory=500", 2)];
        let slots = lay_out(&machine(), &volumes(), &types, FailureMode::Continue).unwrap_or_default().slots;
        assert_eq!((slots.len(), slots[2].amounts.memory), (3, 0));
        assert_eq!(
            slots[2].broken.as_ref().map(|broken| broken.reason.as_str()),
            Some("Not enough Memory (500 short)")
        );
        assert!(lay_out(&machine(), &volumes(), &types, FailureMode::Abort).is_err());
        let none = lay_out(&machine(), &volumes(), &types, FailureMode::Clear).unwrap_or_default();
        assert!(none.slots.is_empty() && none.warnings.len() == 1);
    }

    #[test]
    fn custom_resources_leave_their_surplus_to_the_first_slots() {
        let slots = lay_out(&machine(), &volumes(), &[kind(1, "auto", 3)], FailureMode::Continue)
            .unwrap_or_default()
            .slots;
        let cogs: Vec<f64> = slots.iter().map(|slot| slot.amounts.custom[0].quantity).collect();
        assert_eq!(cogs, [2.0, 2.0, 1.0]);
    }

    /// Recording s31e: 25 % of 10 leaves 7.5, of which three slots get 3, 3 and 2.
    #[test]
    fn what_a_fraction_of_a_custom_resource_leaves_is_whole_for_the_others() {
        let cogs = |quantity: f64, types: &[SlotType]| {
            let custom = vec![Custom { tag: "Cogs".into(), quantity, ..Custom::default() }];
            let layout = lay_out(&Amounts { custom, ..machine() }, &volumes(), types, FailureMode::Continue);
            let slots = layout.unwrap_or_default().slots;
            slots.iter().map(|slot| slot.amounts.custom[0].quantity).collect::<Vec<_>>()
        };
        let auto = |count| kind(2, "cpus=1", count);
        assert_eq!(cogs(10.0, &[kind(1, "cpus=1, cogs=25%", 1), auto(3)]), [2.5, 3.0, 3.0, 2.0]);
        assert_eq!(cogs(5.0, &[kind(1, "cpus=1, cogs=5%", 1), auto(5)]), [0.25, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(
            cogs(1.0, &[kind(1, "cpus=1, cogs=5%", 1), auto(1)]),
            [0.05, 0.0],
            "less than one is none"
        );
    }

    #[test]
    fn only_the_first_slot_of_a_type_is_made_of_what_is_left() {
        // Recordings s31i, s31o.
        let layout =
            lay_out(&machine(), &volumes(), &[kind(1, "cpus=5, mem=5000", 2)], FailureMode::Continue);
        let layout = layout.unwrap_or_default();
        assert_eq!((layout.slots.len(), layout.slots[0].amounts.swap), (1, 24_683_672));
        assert_eq!(
            layout.warnings,
            ["slot type 1: 1 of 2 slots are made: Not enough Cpus (2.00 short) Memory (2000 short)"]
        );
    }
}
