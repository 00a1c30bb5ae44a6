//! Dynamic slots: carved out of a partitionable slot for a job, and removed when the job has finished (`create_dslot`,
//! Resource.cpp).

use std::sync::Arc;

use bstr::BString;

use super::device_choice::choose_devices;
use super::events::{SlotKey, SlotNotice, StarterSignal};
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::resources::{CustomResource, ResourceAmounts};
use super::settings::{SlotHookPaths, SlotKind, SlotPlan};
use super::slot::Slot;
use super::unfit_reason::UnfitReason;
use htc_base::quirks::{Quirk, QuirkDecision};
use htc_base::world::FrozenClockWorld;
use htc_classad::{AttrName, ClassAd, Context, Expr, Value};

/// Reason for refusing a claim of a partitionable slot whose dynamic slot does not accept the job.
const DYNAMIC_SLOT_REFUSES: &str = "the dynamic slot refuses the job";

/// Attributes of its dynamic slots that a partitionable slot lists in any case. Resources and STARTD_PARTITIONABLE_SLOT_ATTRS are
/// listed in addition.
const ROLLUP_ATTRIBUTES: [&str; 10] = [
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
    /// Returns the hooks of the slot itself (`sub` 0), or of its dynamic slot number `sub`.
    pub(super) fn hooks_of(&self, sub: u32) -> Option<SlotHookPaths> {
        if sub == 0 {
            return self.hooks.clone();
        }
        let own = self.child_hooks.iter().find(|(number, _)| *number == sub);
        own.map(|(_, hooks)| hooks.clone()).or_else(|| self.default_child_hooks.clone())
    }
}

impl Slot {
    /// Creates a dynamic slot below `parent`, in Owner/Idle.
    fn new_dynamic(
        parent: &mut Slot,
        sub: u32,
        amounts: ResourceAmounts,
        core: &mut ExecutionPointState,
    ) -> Slot {
        let mut slot = Slot::new(parent.plan.clone(), core);
        // The new slot gets the claim that its partitionable parent offered, and the parent gets a new claim. A parent that is a
        // dynamic slot itself keeps its claim.
        if parent.kind == SlotKind::Partitionable {
            std::mem::swap(&mut slot.claims.current, &mut parent.claims.current);
            slot.splittable = true;
        }
        slot.key.sub = sub;
        slot.id = format!("{}_{sub}", parent.plan.id);
        slot.kind = SlotKind::Dynamic;
        slot.amounts = amounts;
        slot.hooks = parent.plan.hooks_of(sub);
        slot.requirements = parent.plan.child_requirements.clone();
        let plan = parent.plan.clone();
        slot.apply_parent_plan(&plan);
        slot.usage.owner_load = parent.usage.owner_load;
        slot.rebuild_ad(core);
        slot
    }

    /// Sets the attributes that the slot takes from the parent's plan, with the slot's own name and resources.
    pub(super) fn apply_parent_plan(&mut self, plan: &SlotPlan) {
        let own = DynamicSlotAttributes::new(plan, self.key, &self.id, &self.amounts);
        let (statics, config) = (own.apply_to(&plan.statics), own.apply_to(&plan.config));
        (self.statics, self.config) = (Arc::new(statics), Arc::new(config));
    }

    /// Decides if the job's device requirements are ignored; returns `None` if the slot has no consumption policy.
    fn device_requirements_decision(&self, core: &ExecutionPointState) -> Option<QuirkDecision> {
        self.plan.has_consumption_policy.then(|| core.quirks().decide(Quirk::ConsumptionDropsRequire))
    }

    /// Rounds the job's requests, and returns the resources of a dynamic slot for the job.
    fn amounts_for_job(
        &self,
        core: &ExecutionPointState,
        job: &mut ClassAd,
    ) -> Result<ResourceAmounts, UnfitReason> {
        let world = FrozenClockWorld { world: &*core.world, now: core.now };
        self.round_requests(core, job)?;
        let mut amounts = match self.plan.has_consumption_policy {
            true => self.consumption_amounts(job, &world)?,
            false => requested_amounts(&Context::new(&world).my(job).target(&self.ads.live), &self.amounts)?,
        };
        match self.device_requirements_decision(core).is_some_and(|drops| drops.as_reference) {
            true => choose_devices(&mut amounts, self, core, &ClassAd::new())?,
            false => choose_devices(&mut amounts, self, core, job)?,
        }
        Ok(amounts)
    }

    /// Applies MODIFY_REQUEST_EXPR_... to the job's requests. If the modified requests do not fit, the job keeps its own
    /// requests, unless MUST_MODIFY_REQUEST_EXPRS forbids that.
    fn round_requests(&self, core: &ExecutionPointState, job: &mut ClassAd) -> Result<(), UnfitReason> {
        let world = FrozenClockWorld { world: &*core.world, now: core.now };
        let mut edited = job.clone();
        for (name, expr) in
            ["RequestCpus", "RequestDisk", "RequestMemory"].into_iter().zip(&self.plan.modify_request)
        {
            let Some(expr) = expr else { continue };
            let value = Context::new(&world).my(job).target(&self.ads.live).eval(expr);
            let number = match value {
                Value::Int(number) => number,
                Value::Real(number) => number as i64,
                _ => continue,
            };
            edited.set(name, number);
        }
        let fits = |job: &ClassAd| {
            self.eval_in_slot_ad(core, Some(job), |context| context.boolean("Requirements")) == Some(true)
        };
        if fits(&edited) {
            *job = edited;
            return Ok(());
        }
        if !fits(job) {
            return Err(self.unfit_reason(core, job));
        }
        match self.plan.must_modify {
            true => Err(self.unfit_reason(core, &edited).with_prefix("the job's requests are rounded")),
            false => Ok(()),
        }
    }

    /// Returns why a dynamic slot with these resources would refuse the job (DSLOT_REQUIREMENTS_CLAUSES). Only claims are refused
    /// for this reason, not fetched jobs.
    fn dynamic_slot_unfit_reason(
        &self,
        core: &ExecutionPointState,
        job: &ClassAd,
        amounts: &ResourceAmounts,
    ) -> Option<UnfitReason> {
        let world = FrozenClockWorld { world: &*core.world, now: core.now };
        let key = SlotKey { sub: 1, ..self.key };
        let id = format!("{}_1", self.id);
        let own = DynamicSlotAttributes::new(&self.plan, key, &id, amounts);
        let mut ad = self.ads.live.clone();
        ad.chain(Some(Arc::new(own.apply_to(&self.plan.config))));
        amounts.publish_dynamic(&mut ad, false, &core.resources.offline_devices);
        ad.insert("Requirements", self.plan.child_requirements.expr.clone());
        let taken = self.job_with_consumption(&ad, job, &world);
        let job = taken.as_ref().unwrap_or(job);
        let accepts = Context::new(&world).my(&ad).target(job).boolean("Requirements") == Some(true);
        (!accepts).then(|| UnfitReason::from_requirements(&ad, job, &world).with_prefix(DYNAMIC_SLOT_REFUSES))
    }

    /// Checks if a dynamic slot could be carved for the job. The inner `Option` is the reason why a claim would be
    /// refused although a slot could be carved.
    pub(super) fn check_split(
        &self,
        core: &ExecutionPointState,
        job: &ClassAd,
    ) -> Result<Option<UnfitReason>, UnfitReason> {
        let mut job = job.clone();
        let amounts = self.amounts_for_job(core, &mut job)?;
        Ok(self.dynamic_slot_unfit_reason(core, &job, &amounts))
    }
}

/// Attributes of a dynamic slot that differ from those of its parent.
struct DynamicSlotAttributes<'a> {
    key: SlotKey,
    id: &'a str,
    amounts: &'a ResourceAmounts,
    parent_attributes: ClassAd,
}

impl<'a> DynamicSlotAttributes<'a> {
    fn new(plan: &SlotPlan, key: SlotKey, id: &'a str, amounts: &'a ResourceAmounts) -> Self {
        let mut of_parent = ClassAd::new();
        plan.amounts.publish_static(&mut of_parent);
        DynamicSlotAttributes { key, id, amounts, parent_attributes: of_parent }
    }

    /// Converts an ad of the parent to the ad of the dynamic slot.
    fn apply_to(&self, ad: &ClassAd) -> ClassAd {
        let mut ad = ad.clone();
        self.parent_attributes.names().for_each(|name| drop(ad.remove(name)));
        if let Some(Value::Str(name)) = ad.get("Name").and_then(|expr| expr.as_literal()) {
            let name = BString::from(<_ as AsRef<[u8]>>::as_ref(&name).to_vec());
            let at = name.iter().position(|&byte| byte == b'@').unwrap_or(name.len());
            let mut full = BString::from(self.id);
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
        ad
    }
}

impl ExecutionPoint {
    /// Rounds the job's requests, and carves a dynamic slot for the job out of a partitionable slot, or out of a dynamic slot
    /// that can be split again.
    pub(super) fn carve_dynamic_slot(
        &mut self,
        key: SlotKey,
        job: &mut ClassAd,
    ) -> Result<SlotKey, UnfitReason> {
        let used: Vec<u32> = self.slots.slots_with_number(key.number).map(|slot| slot.key.sub).collect();
        let sub = (1..).find(|sub| !used.contains(sub)).unwrap_or(u32::MAX);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(parent) = slots.get_mut(&key) else {
            return Err("its slot no longer exists".to_owned().into());
        };
        // A matched slot refuses every job, so its configured Requirements are restored for the claim (`Resource::willingToRun`).
        parent.restore_requirements(core);
        if let Some(drops) = parent.device_requirements_decision(core) {
            core.report(drops, key);
        }
        let amounts = parent.amounts_for_job(core, job)?;
        parent.amounts.subtract(&amounts);
        let child = Slot::new_dynamic(parent, sub, amounts, core);
        parent.refresh_ad(core);
        let child_key = child.key;
        slots.insert(child);
        if let Some(top) = slots.get_mut(&SlotKey::from_number(key.number)) {
            top.children = (top.children.0 + 1, core.now.epoch());
            top.refresh_ad(core);
        }
        core.slot_count += 1;
        self.refresh_carved_slots(child_key);
        Ok(child_key)
    }

    /// Publishes the attributes of a new dynamic slot and of its parent after the split (`ResMgr::compute_and_refresh`), without
    /// waiting for a poll.
    fn refresh_carved_slots(&mut self, child: SlotKey) {
        self.collect_slot_attributes();
        let ExecutionPoint { core, slots, .. } = self;
        for key in [SlotKey::from_number(child.number), child] {
            let Some(slot) = slots.get_mut(&key) else { continue };
            slot.insert_slot_attributes(core);
            if slot.splittable && core.publish_set.claim {
                slot.ads.live.set("IsSplittable", true);
            }
        }
    }

    /// Carves a dynamic slot for a claim, after checking that the new slot would accept the job.
    pub(super) fn carve_for_claim(
        &mut self,
        key: SlotKey,
        job: &mut ClassAd,
    ) -> Result<SlotKey, UnfitReason> {
        let child = self.carve_dynamic_slot(key, job)?;
        let Some(slot) = self.slots.get_mut(&child) else { return Ok(child) };
        slot.check_willing_to_run(&self.core, job).map(|()| child).map_err(|unfit| {
            self.core.slots_to_remove.push(child);
            unfit.with_prefix(DYNAMIC_SLOT_REFUSES)
        })
    }

    /// Returns the slot in which a job given to this slot would run: the slot itself, or a dynamic slot that is carved out of it.
    /// Makes no claim. 25.14 calls REPLY_FETCH with the ad of the parent (quirk accept-before-dslot).
    ///
    /// # Errors
    /// Fails if the job does not fit; the error is the reason.
    pub fn slot_for_job(&mut self, key: SlotKey, job: &ClassAd) -> Result<SlotKey, String> {
        let splits = self.slots.get(&key).is_some_and(|slot| slot.kind == SlotKind::Partitionable);
        if splits {
            self.carve_dynamic_slot(key, &mut job.clone()).map_err(|unfit| unfit.reason)
        } else {
            Ok(key)
        }
    }

    /// Calls `turn` for every slot. Dynamic slots that become free are removed before the next call.
    pub(super) fn for_each_slot(&mut self, mut turn: impl FnMut(&mut Slot, &mut ExecutionPointState)) {
        let keys: Vec<_> = self.slots.keys().collect();
        for key in keys {
            if let Some(slot) = self.slots.get_mut(&key) {
                turn(slot, &mut self.core);
            }
            self.remove_free_dynamic_slots();
        }
    }

    /// Removes free dynamic slots and returns their resources to the parent.
    pub(super) fn remove_free_dynamic_slots(&mut self) {
        while let Some(key) = self.core.slots_to_remove.pop() {
            if self
                .slots
                .get(&key)
                .is_none_or(|slot| slot.is_active() || slot.fetch.state.running_call().is_some())
            {
                continue;
            }
            self.core.notify(SlotNotice::SlotRemoved { slot: key });
            let Some(mut child) = self.slots.remove(&key) else { continue };
            self.forget_slot(&child);
            child.signal_starter(&mut self.core, StarterSignal::Kill, None);
            child.drop_waiting_claim(&mut self.core, "the dynamic slot is removed");
            child.give_up_current_claim(&mut self.core, "the dynamic slot is removed");
            self.core.slot_count -= 1;
            let number = SlotKey::from_number(key.number);
            if let Some(parent) = self.slots.get_mut(&number) {
                // The returned resources may change the result of the parent's policy, so the parent is evaluated next. Removing
                // a dynamic slot affects no other slot.
                parent.wake(&mut self.core);
                self.core.schedule.poll_skipper.iter_mut().for_each(|skipper| skipper.mark_touched(number));
                parent.amounts.add_back(&child.amounts);
                parent.children = (parent.children.0 - 1, self.core.now.epoch());
                parent.refresh_ad(&self.core);
            }
        }
    }

    /// Updates the Child... lists of all partitionable slots (`publishDynamicChildSummaries`).
    pub(super) fn update_child_lists(&mut self) {
        let settings = self.core.settings.clone();
        if !settings.publishes_rollup || !self.core.publish_set.children {
            return;
        }
        let mut names: Vec<String> = ROLLUP_ATTRIBUTES.iter().map(|name| (*name).to_owned()).collect();
        names.extend(["Cpus", "Memory", "Disk"].map(str::to_owned));
        names.extend(settings.resource_tags.iter().cloned());
        let listed = settings
            .rollup_attributes
            .iter()
            .map(|name| super::runtime_state::claim::lossy_text(name.as_bytes()));
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
                        let value = slot
                            .eval_in_slot_ad(&self.core, None, |context| context.eval_attr(name.as_str()));
                        Expr::literal(value).unparse().to_string()
                    })
                    .collect();
                let text = format!("{{ {} }}", values.join(","));
                if let Ok(expr) = Expr::parse(text.as_bytes()) {
                    lists.insert(AttrName::from(format!("Child{name}").as_str()), expr);
                }
            }
            if let Some(parent) = self.slots.get_mut(&SlotKey::from_number(number)) {
                parent.ads.child_lists = lists;
            }
        }
    }
}

/// Returns the resources of a dynamic slot for the job (`CpuAttributes::buildSlotRequest`, slot_builder.cpp).
fn requested_amounts(context: &Context<'_>, parent: &ResourceAmounts) -> Result<ResourceAmounts, String> {
    let number = |name: &str| {
        let own = context.int(format!("_condor_{name}"));
        own.or_else(|| context.int(name))
    };
    let need = |name: &str| number(name).ok_or_else(|| format!("the job's {name} is not a number"));
    let real = |name: &str| context.real(name).unwrap_or(0.0);
    let cpus = if parent.fractional_cpus {
        real("RequestCpus")
    } else {
        number("RequestCpus").unwrap_or(1).max(1) as f64
    };
    let memory = need("RequestMemory")?;
    let custom = parent.custom.iter().map(|custom| CustomResource {
        tag: custom.tag.clone(),
        quantity: real(&format!("Request{}", custom.tag)).max(0.0),
        machine_devices: custom.machine_devices.clone(),
        assigned: Vec::new(),
    });
    Ok(ResourceAmounts {
        cpus,
        fractional_cpus: parent.fractional_cpus,
        memory: if parent.fractional_cpus { memory } else { memory.max(1) },
        swap: number("RequestVirtualMemory").unwrap_or(0),
        disk: need("RequestDisk")?,
        custom: custom.collect(),
        is_backfill: parent.is_backfill,
    })
}

impl SlotKind {
    /// Returns SlotType as published in the ad.
    pub fn name(self) -> &'static str {
        match self {
            SlotKind::Static => "Static",
            SlotKind::Partitionable => "Partitionable",
            SlotKind::Dynamic => "Dynamic",
        }
    }
}
