//! Everything measured and published anew, and looked at by policy (`ResMgr::compute_dynamic`, `eval_all`).

use super::cron_ads::CronAds;
use super::drain::DrainCheckTime;
use super::events::SlotKey;
use super::execution_point::ExecutionPoint;
use super::execution_point_state::SlotDrainCost;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Expr, Value};

impl ExecutionPoint {
    /// Everything is measured and looked at (`eval_all`).
    pub(super) fn evaluate_all(&mut self) {
        if self.is_skipping_polls() {
            return self.evaluate_due();
        }
        self.refresh_all();
        self.check_noclaim_shutdown();
        let keys: Vec<_> = self.slots.keys().collect();
        for key in keys {
            // A slot sees the others as they are after their turns.
            self.collect_slot_attributes();
            let mut was_drained = false;
            if let Some(slot) = self.slots.get_mut(&key) {
                was_drained = (slot.state, slot.activity) == (SlotState::Drained, Activity::Idle);
                slot.insert_slot_attributes(&self.core);
                slot.evaluate_policy(&mut self.core);
            }
            self.remove_free_dynamic_slots();
            // 25.14 thinks of resuming whenever it looks at a slot that is drained, and not before: the slots whose turn is over
            // do not see that this was the last one.
            if was_drained {
                self.check_drain_completed(DrainCheckTime::SlotTurn);
            }
        }
        // As long as the load of jobs has not gone down their slots are polled, though nothing is claimed (`check_polling`).
        if self.slots.values().any(Slot::needs_polling) || self.core.load_of_jobs > 0.0 {
            self.core.start_polling();
        } else {
            self.core.poll_at = None;
        }
    }

    /// The same where slots rest: only those are looked at that have a reason to be.
    fn evaluate_due(&mut self) {
        self.core.current_time = self.core.now.epoch();
        if self.core.publish_set.machine {
            self.redistribute_load();
        }
        let looked = self.take_slots_due_for_look();
        // Polls let slots ask for work, each in its turn.
        let asking = self.slots_due_to_fetch();
        let mut keys = [&looked[..], &asking].concat();
        keys.sort_unstable();
        keys.dedup();
        keys.iter().for_each(|key| self.catch_up_slot(*key));
        self.core.current_time = self.core.now.epoch();
        for key in &keys {
            if let Some(slot) = self.slots.get_mut(key) {
                slot.evaluate_latches(&self.core);
                slot.refresh_ad(&self.core);
                slot.record_ad_made(self.core.now);
            }
        }
        for key in &keys {
            if looked.binary_search(key).is_ok() {
                self.evaluate_slot(*key);
                self.remove_free_dynamic_slots();
            } else {
                self.let_slot_fetch(*key);
            }
        }
        self.record_poll();
        if self.is_any_slot_polled(&keys) {
            self.core.start_polling();
        } else {
            self.core.poll_at = None;
        }
    }

    /// Brings all live ads up to date (`compute_dynamic`).
    pub(super) fn refresh_all(&mut self) {
        let core = &mut self.core;
        core.current_time = core.now.epoch();
        core.slot_count = i64::try_from(self.slots.len()).unwrap_or(i64::MAX);
        let parts = self.slots.values().map(|slot| SlotDrainCost {
            runtime: slot.current_claim.as_ref().map_or(0, |claim| claim.job_run_time(core.now)),
            retirement: slot.retirement_remaining(core),
            vacate: slot.max_vacate_time(core),
            cpus: slot.amounts.whole_cpus(),
            active: slot.is_active(),
        });
        let mut draining = core.drain_estimate;
        draining.compute(parts, core.current_time);
        core.drain_estimate = draining;
        self.update_coordinated_retirement();
        self.distribute_load();
        self.update_resource_conflicts();
        self.update_child_lists();
        for slot in self.slots.values_mut() {
            // As they stood until now: a latch follows one refresh after its attribute.
            slot.evaluate_latches(&self.core);
            slot.refresh_ad(&self.core);
        }
        // What is sent lists the children as they are now.
        self.update_child_lists();
        self.publish_slot_attributes();
    }

    /// The machine's load not made by jobs goes to the slots in order: Owner, Unclaimed, all others (`ResMgr::assign_load_to_slots`).
    fn distribute_load(&mut self) {
        for (key, load) in self.changed_load_shares() {
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.owner_load = load;
            }
        }
    }

    /// The same where slots rest: how a load is shared moves with the slots' states, and concerns those whose share is another.
    fn redistribute_load(&mut self) {
        for (key, load) in self.changed_load_shares() {
            self.wake_slot_family(key);
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.owner_load = load;
            }
        }
    }

    /// The slots whose share of the load is another, with what it is.
    fn changed_load_shares(&mut self) -> Vec<(SlotKey, f64)> {
        let mut left = (self.core.measured.load - self.core.load_of_jobs).max(0.0);
        let has_load = left > 0.0;
        // None before and none now.
        if !std::mem::replace(&mut self.core.has_load, has_load) && !has_load {
            return Vec::new();
        }
        let mut changed = Vec::new();
        for turn in 0..3 {
            for slot in self.slots.values() {
                let its_turn = match slot.state {
                    SlotState::Owner => 0,
                    SlotState::Unclaimed => 1,
                    _ => 2,
                };
                if its_turn == turn {
                    let load = left.min(slot.amounts.cpus.max(0.0));
                    left -= load;
                    if load != slot.owner_load {
                        changed.push((slot.key, load));
                    }
                }
            }
        }
        changed
    }

    /// STARTD_SLOT_ATTRS: each listed attribute of each slot is copied into all, as `<slot>_<attribute>`.
    fn publish_slot_attributes(&mut self) {
        self.collect_slot_attributes();
        self.slots.values_mut().for_each(|slot| slot.insert_slot_attributes(&self.core));
    }

    /// STARTD_SLOT_ATTRS as they are now: what is sent has them so, whatever the slots' own ads say (`publishSlotAttrs`).
    pub(super) fn collect_slot_attributes(&mut self) {
        if self.core.settings.slot_attributes.is_empty() {
            return self.core.shared_attributes.clear();
        }
        let settings = self.core.settings.clone();
        let mut shared = Vec::new();
        for slot in self.slots.values() {
            for name in &settings.slot_attributes {
                let Some(mut expr) = slot.live_ad.get(name.clone()) else { continue };
                if settings.slot_attributes_evaluated {
                    let value =
                        slot.eval_in_slot_ad(&self.core, None, |context| context.eval_attr(name.clone()));
                    if matches!(value, Value::Undefined | Value::Error) {
                        continue;
                    }
                    expr = Expr::literal(value);
                }
                let name =
                    format!("{}_{}", slot.id, super::runtime_state::claim::lossy_text(name.as_bytes()));
                shared.push((name, expr));
            }
        }
        self.core.shared_attributes = shared;
    }

    /// What cron jobs publish is in the ads at once (`adlist_updated`). What they print no more stays in the internal ads of
    /// the reference until they are made afresh.
    pub(super) fn replace_cron_ads(&mut self, ads: CronAds) {
        let printed = std::mem::replace(&mut self.core.cron_ads, ads).merged_ad();
        let (mut gone, stay) = (false, self.core.quirks().decide(Quirk::CronStaleAttributes));
        for slot in self.slots.values_mut() {
            let mut before = std::mem::replace(&mut slot.live_ad, ClassAd::new());
            if stay.as_reference {
                self.core.merge_cron_ads(&mut before);
                slot.live_ad = before;
            } else {
                slot.rebuild_ad(&self.core);
                // Others are missing until the slot's own are made again.
                gone |= printed.names().any(|name| before.contains(name) && !slot.live_ad.contains(name));
            }
        }
        if gone {
            self.core.report(stay, None);
        }
    }
}
