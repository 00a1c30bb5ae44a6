//! Dynamic slots: carved from a partitionable one for a job, gone when it is done (`create_dslot`, Resource.cpp).

use std::sync::Arc;

use bstr::BString;

use super::core::Core;
use super::devices::Constraint;
use super::execution_point::ExecutionPoint;
use super::interface::{Notice, SlotKey, StarterSignal};
use super::resources::{Amounts, Custom};
use super::settings::{SlotHooks, SlotKind, SlotPlan};
use super::single::Slot;
use crate::classad::{AttrName, ClassAd, Context, Expr, Value};
use crate::world::Frozen;

/// What a partitionable slot lists of its children, beside resources and STARTD_PARTITIONABLE_SLOT_ATTRS.
const ROLLUP: [&str; 10] = [
    "Name",
    "DSlotId",
    "CurrentRank",
    "RemoteUser",
    "RemoteOwner",
    "AccountingGroup",
    "State",
    "Activity",
    "EnteredCurrentState",
    "RetirementTimeRemaining",
];

impl SlotPlan {
    /// The hooks of the slot itself, or of its dynamic slot number `sub`.
    pub(super) fn hooks_of(&self, sub: u32) -> Option<SlotHooks> {
        if sub == 0 {
            return self.hooks.clone();
        }
        let own = self.child_hooks.iter().find(|(number, _)| *number == sub);
        own.map(|(_, hooks)| hooks.clone()).or_else(|| self.child_default.clone())
    }
}

impl Slot {
    /// A dynamic slot below `parent`, in Owner/Idle.
    fn child(parent: &mut Slot, sub: u32, amounts: Amounts, core: &mut Core) -> Slot {
        let mut slot = Slot::new(parent.plan.clone(), core);
        // Its claim is the one the parent offered; the parent has the new one. A dynamic slot keeps its own.
        if parent.kind == SlotKind::Partitionable {
            std::mem::swap(&mut slot.current, &mut parent.current);
            slot.splittable = true;
        }
        slot.key.sub = sub;
        slot.id = format!("{}_{sub}", parent.plan.id);
        slot.kind = SlotKind::Dynamic;
        slot.amounts = amounts;
        slot.hooks = parent.plan.hooks_of(sub);
        slot.requirements = parent.plan.child_requirements.clone();
        let plan = parent.plan.clone();
        slot.take_plan_as_child(&plan);
        slot.owner_load = parent.owner_load;
        slot.rebuild(core);
        slot
    }

    /// Unchanging attributes: those of the parent, but for what is its own.
    pub(super) fn take_plan_as_child(&mut self, plan: &SlotPlan) {
        let mut of_parent = ClassAd::new();
        plan.amounts.publish_static(&mut of_parent);
        let own = |ad: &ClassAd| {
            let mut ad = ad.clone();
            of_parent.names().for_each(|name| drop(ad.remove(name)));
            if let Some(Value::Str(name)) = ad.get("Name").and_then(|expr| expr.as_literal()) {
                let name = BString::from(<_ as AsRef<[u8]>>::as_ref(&name).to_vec());
                let at = name.iter().position(|&byte| byte == b'@').unwrap_or(name.len());
                let mut full = BString::from(self.id.as_str());
                full.extend_from_slice(&name[at..]);
                ad.set("Name", Value::from(full));
            }
            ad.remove("PartitionableSlot");
            ad.set("DynamicSlot", true);
            ad.set("SlotType", Value::from(BString::from("Dynamic")));
            ad.set("ParentSlotId", i64::from(self.key.number));
            ad.set("DSlotId", i64::from(self.key.sub));
            ad.set("PslotRollupInformation", true);
            self.amounts.publish_static(&mut ad);
            Arc::new(ad)
        };
        self.statics = own(&plan.statics);
        self.config = own(&plan.config);
    }
}

impl ExecutionPoint {
    /// Carves a dynamic slot for the job out of a partitionable one, or out of a dynamic one with all that it takes along.
    /// Rounding edits the job's requests.
    pub(super) fn carve(&mut self, key: SlotKey, job: &mut ClassAd) -> Result<SlotKey, String> {
        let used: Vec<u32> = self.slots.of_number(key.number).map(|slot| slot.key.sub).collect();
        let sub = (1..).find(|sub| !used.contains(sub)).unwrap_or(u32::MAX);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(parent) = slots.get_mut(&key) else { return Err("its slot is gone".into()) };
        // A slot that is matched is closed to all but its claim (`Resource::willingToRun`).
        parent.restore_requirements(core);
        let mut edited = job.clone();
        let shared = core.world.clone();
        let world = Frozen { world: &*shared, now: core.now };
        for (name, expr) in
            ["RequestCpus", "RequestDisk", "RequestMemory"].into_iter().zip(&parent.plan.modify_request)
        {
            let Some(expr) = expr else { continue };
            let value = Context::new(&world).my(job).target(&parent.live).eval(expr);
            let number = match value {
                Value::Int(number) => number,
                Value::Real(number) => number as i64,
                _ => continue,
            };
            edited.set(name, number);
        }
        let fits = |job: &ClassAd| {
            parent.look(core, Some(job), |context| context.boolean("Requirements")) == Some(true)
        };
        if fits(&edited) {
            *job = edited;
        } else if parent.plan.must_modify || !fits(job) {
            return Err("what it asks for, rounded, is more than the slot has left".into());
        }
        let mut amounts = match parent.plan.consumption {
            true => parent.consumption(job, &world)?,
            false => {
                let context = Context::new(&world).my(job).target(&parent.live);
                requested(&context, &parent.amounts)?
            }
        };
        match super::consumption::drops_require(parent, core) {
            true => choose(&mut amounts, parent, core, &ClassAd::new())?,
            false => choose(&mut amounts, parent, core, job)?,
        }
        parent.amounts.take(&amounts);
        let child = Slot::child(parent, sub, amounts, core);
        parent.refresh(core);
        let child_key = child.key;
        slots.insert(child);
        if let Some(top) = slots.get_mut(&SlotKey::of(key.number)) {
            top.children = (top.children.0 + 1, core.now.epoch());
            top.refresh(core);
        }
        core.slot_count += 1;
        Ok(child_key)
    }

    /// The slot that a job given to this one would run in: itself, or a dynamic slot that is carved out of it for the job. It is
    /// not claimed. 25.14 tells REPLY_FETCH of the slot that is carved up (quirk accept-before-dslot).
    ///
    /// # Errors
    /// The job does not fit, in words.
    pub fn slot_for(&mut self, key: SlotKey, job: &ClassAd) -> Result<SlotKey, String> {
        let splits = self.slots.get(&key).is_some_and(|slot| slot.kind == SlotKind::Partitionable);
        if splits { self.carve(key, &mut job.clone()) } else { Ok(key) }
    }

    /// Takes away dynamic slots that are free; what they had goes back.
    pub(super) fn remove_gone(&mut self) {
        while let Some(key) = self.core.gone.pop() {
            if self.slots.get(&key).is_none_or(|slot| slot.is_active() || slot.fetching.is_some()) {
                continue;
            }
            self.core.tell(Notice::Gone { slot: key });
            let Some(mut child) = self.slots.remove(&key) else { continue };
            self.forget(&child);
            child.signal(&mut self.core, StarterSignal::Kill, None);
            child.drop_waiting(&mut self.core, "the dynamic slot goes away");
            child.give_up_current(&mut self.core, "the dynamic slot goes away");
            self.core.slot_count -= 1;
            if let Some(parent) = self.slots.get_mut(&SlotKey::of(key.number)) {
                parent.amounts.give_back(&child.amounts);
                parent.children = (parent.children.0 - 1, self.core.now.epoch());
                parent.refresh(&self.core);
            }
        }
    }

    /// Child... lists of all partitionable slots, evaluated (`publishDynamicChildSummaries`).
    pub(super) fn list_children(&mut self) {
        let settings = self.core.settings.clone();
        if !settings.rollup || !self.core.wants.children {
            return;
        }
        let mut names: Vec<String> = ROLLUP.iter().map(|name| (*name).to_owned()).collect();
        names.extend(["Cpus", "Memory", "Disk"].map(str::to_owned));
        names.extend(settings.resource_tags.iter().cloned());
        let listed = settings.rollup_attributes.iter().map(|name| super::claim::lossy(name.as_bytes()));
        names.extend(listed);
        let parents: Vec<u32> = self
            .slots
            .values()
            .filter(|slot| slot.kind == SlotKind::Partitionable)
            .map(|slot| slot.key.number)
            .collect();
        for number in parents {
            let mut lists = ClassAd::new();
            for name in &names {
                let children =
                    self.slots.values().filter(|slot| slot.key.number == number && slot.key.sub > 0);
                let values: Vec<String> = children
                    .map(|slot| {
                        let value = slot.look(&self.core, None, |context| context.eval_attr(name.as_str()));
                        Expr::literal(value).unparse().to_string()
                    })
                    .collect();
                let text = format!("{{ {} }}", values.join(","));
                if let Ok(expr) = Expr::parse(text.as_bytes()) {
                    lists.insert(AttrName::from(format!("Child{name}").as_str()), expr);
                }
            }
            if let Some(parent) = self.slots.get_mut(&SlotKey::of(number)) {
                parent.child_lists = lists;
            }
        }
    }
}

/// What a dynamic slot for the job gets (`CpuAttributes::buildSlotRequest`, slot_builder.cpp).
fn requested(context: &Context<'_>, parent: &Amounts) -> Result<Amounts, String> {
    let number = |name: &str| {
        let own = context.int(format!("_condor_{name}"));
        own.or_else(|| context.int(name))
    };
    let need = |name: &str| number(name).ok_or_else(|| format!("the job's {name} is no number"));
    let real = |name: &str| context.real(name).unwrap_or(0.0);
    let cpus = if parent.fractional_cpus {
        real("RequestCpus")
    } else {
        number("RequestCpus").unwrap_or(1).max(1) as f64
    };
    let memory = need("RequestMemory")?;
    let custom = parent.custom.iter().map(|custom| Custom {
        tag: custom.tag.clone(),
        quantity: real(&format!("Request{}", custom.tag)).max(0.0),
        devices: custom.devices.clone(),
        bound: Vec::new(),
    });
    Ok(Amounts {
        cpus,
        fractional_cpus: parent.fractional_cpus,
        memory: if parent.fractional_cpus { memory } else { memory.max(1) },
        swap: number("RequestVirtualMemory").unwrap_or(0),
        disk: need("RequestDisk")?,
        custom: custom.collect(),
        backfill: parent.backfill,
    })
}

/// Whether a slot that does not split has the devices that a job asks for.
pub(super) fn has_devices(slot: &Slot, core: &Core, job: &ClassAd) -> Result<(), String> {
    if slot.amounts.custom.iter().all(|custom| custom.devices.is_none()) {
        return Ok(());
    }
    let context = Context::new(&*core.world).my(job).target(&slot.live);
    let mut wanted = slot.amounts.clone();
    for custom in &mut wanted.custom {
        custom.quantity = context.real(format!("Request{}", custom.tag)).unwrap_or(0.0).max(0.0);
    }
    choose(&mut wanted, slot, core, job)
}

/// Chooses devices for a dynamic slot, those that the job's Require<Tag> holds for.
fn choose(amounts: &mut Amounts, parent: &Slot, core: &Core, job: &ClassAd) -> Result<(), String> {
    let world = Frozen { world: &*core.world, now: core.now };
    for custom in amounts.custom.iter_mut().filter(|custom| custom.quantity > 0.0) {
        let Some(devices) = &custom.devices else { continue };
        let require = match custom.tag.as_str() {
            "GPUs" => "RequireGPUs".to_owned(),
            tag => format!("Require{tag}"),
        };
        let wanted = match job.get(require.as_str()) {
            Some(expr) => Constraint::of_job(&expr, job, &world),
            None => Constraint::None,
        };
        let mine = parent.amounts.custom.iter().find(|mine| mine.tag == custom.tag);
        let free = mine.map(|mine| mine.available(&core.offline)).unwrap_or_default();
        let free: Vec<usize> =
            free.into_iter().filter(|index| !parent.is_contested(&custom.tag, *index)).collect();
        let free = parent.amounts.in_order(free, devices);
        let fit = free.into_iter().filter(|index| devices.fits(*index, &wanted, &world, core.quirks()));
        let count = custom.quantity as usize;
        custom.bound = fit.take(count).collect();
        custom.bound.sort_unstable();
        if custom.bound.len() < count {
            let (tag, found) = (&custom.tag, custom.bound.len());
            return Err(match wanted {
                Constraint::None => format!("{found} of {count} {tag} are free"),
                _ => format!(
                    "{require} holds for {found} of the {tag} that are free, and {count} are asked for"
                ),
            });
        }
    }
    Ok(())
}

impl SlotKind {
    /// SlotType as the ad has it.
    pub fn name(self) -> &'static str {
        match self {
            SlotKind::Static => "Static",
            SlotKind::Partitionable => "Partitionable",
            SlotKind::Dynamic => "Dynamic",
        }
    }
}
