//! Refresh of all measured and published attributes, followed by policy evaluation (`ResMgr::compute_dynamic`, `eval_all`).

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
    /// Refreshes all ads and evaluates the policy of all slots (`eval_all`).
    pub(super) fn evaluate_all(&mut self) {
        if self.is_skipping_polls() {
            return self.evaluate_due();
        }
        self.refresh_all();
        self.check_noclaim_shutdown();
        let keys: Vec<_> = self.slots.keys().collect();
        for key in keys {
            // Slots are evaluated in order, so a slot sees the attributes of earlier slots as they are after their evaluation.
            self.collect_slot_attributes();
            let mut was_drained = false;
            if let Some(slot) = self.slots.get_mut(&key) {
                was_drained = (slot.state, slot.activity) == (SlotState::Drained, Activity::Idle);
                slot.insert_slot_attributes(&self.core);
                slot.evaluate_policy(&mut self.core);
            }
            self.remove_free_dynamic_slots();
            // 25.14 resumes after a drain only when it evaluates a drained slot, so slots evaluated before the last slot was
            // drained do not cause it to resume.
            if was_drained {
                self.check_drain_completed(DrainCheckTime::SlotTurn);
            }
        }
        // Slots are also polled while jobs cause load, even if no slot is claimed (`check_polling`).
        if self.slots.values().any(Slot::needs_polling) || self.core.load.of_jobs > 0.0 {
            self.core.start_polling();
        } else {
            self.core.schedule.poll_at = None;
        }
    }

    /// Evaluates only the slots that are due, if polls are skipped.
    fn evaluate_due(&mut self) {
        self.core.current_time = self.core.now.epoch();
        if self.core.publish_set.machine {
            self.redistribute_load();
        }
        let evaluated = self.take_slots_to_evaluate();
        // A poll lets resting slots fetch work, in their order.
        let asking = self.slots_due_to_fetch();
        let mut keys = [&evaluated[..], &asking].concat();
        keys.sort_unstable();
        keys.dedup();
        keys.iter().for_each(|key| self.catch_up_slot(*key));
        self.core.current_time = self.core.now.epoch();
        for key in &keys {
            if let Some(slot) = self.slots.get_mut(key) {
                slot.evaluate_latches(&self.core);
                slot.refresh_ad(&self.core);
                slot.record_ad_refresh(self.core.now);
            }
        }
        for key in &keys {
            if evaluated.binary_search(key).is_ok() {
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
            self.core.schedule.poll_at = None;
        }
    }

    /// Refreshes the live ads of all slots (`compute_dynamic`).
    pub(super) fn refresh_all(&mut self) {
        let core = &mut self.core;
        core.current_time = core.now.epoch();
        core.slot_count = i64::try_from(self.slots.len()).unwrap_or(i64::MAX);
        let parts = self.slots.values().map(|slot| SlotDrainCost {
            runtime: slot.claims.current.as_ref().map_or(0, |claim| claim.job_run_time(core.now)),
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
            // Latches are evaluated before the refresh, so they record a change of their attribute one refresh later.
            slot.evaluate_latches(&self.core);
            slot.refresh_ad(&self.core);
        }
        // Ads that are sent list the dynamic slots that exist now.
        self.update_child_lists();
        self.publish_slot_attributes();
    }

    /// Distributes to the slots the part of the machine's load that jobs do not cause. Slots in Owner come first, then Unclaimed,
    /// then all others (`ResMgr::assign_load_to_slots`).
    fn distribute_load(&mut self) {
        for (key, load) in self.changed_load_shares() {
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.usage.owner_load = load;
            }
        }
    }

    /// Distributes the load if polls are skipped: only slots whose share changes are woken.
    fn redistribute_load(&mut self) {
        for (key, load) in self.changed_load_shares() {
            self.wake_slot_family(key);
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.usage.owner_load = load;
            }
        }
    }

    /// Returns the slots whose share of the load changes, with the new share.
    fn changed_load_shares(&mut self) -> Vec<(SlotKey, f64)> {
        let mut left = (self.core.load.measured.load - self.core.load.of_jobs).max(0.0);
        let has_load = left > 0.0;
        // The load to distribute was zero before and is still zero.
        if !std::mem::replace(&mut self.core.load.is_shared, has_load) && !has_load {
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
                    if load != slot.usage.owner_load {
                        changed.push((slot.key, load));
                    }
                }
            }
        }
        changed
    }

    /// Publishes STARTD_SLOT_ATTRS: copies each listed attribute of each slot into all slot ads, as `<slot>_<attribute>`.
    fn publish_slot_attributes(&mut self) {
        self.collect_slot_attributes();
        self.slots.values_mut().for_each(|slot| slot.insert_slot_attributes(&self.core));
    }

    /// Collects the current values of STARTD_SLOT_ATTRS. Ads that are sent have these values, and not the copies in the slot's
    /// live ad (`publishSlotAttrs`).
    pub(super) fn collect_slot_attributes(&mut self) {
        if self.core.settings.slot_attributes.is_empty() {
            return self.core.shared_attributes.clear();
        }
        let settings = self.core.settings.clone();
        let mut shared = Vec::new();
        for slot in self.slots.values() {
            for name in &settings.slot_attributes {
                let Some(mut expr) = slot.ads.live.get(name.clone()) else { continue };
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

    /// Replaces the ads of cron jobs, and merges them into the slot ads at once (`adlist_updated`). In the reference, attributes
    /// that a cron job no longer prints stay in the internal ads until these are rebuilt.
    pub(super) fn replace_cron_ads(&mut self, ads: CronAds) {
        let printed = std::mem::replace(&mut self.core.cron_ads, ads).merged_ad();
        let (mut gone, stay) = (false, self.core.quirks().decide(Quirk::CronStaleAttributes));
        for slot in self.slots.values_mut() {
            let mut before = std::mem::replace(&mut slot.ads.live, ClassAd::new());
            if stay.as_reference {
                self.core.merge_cron_ads(&mut before);
                slot.ads.live = before;
            } else {
                slot.rebuild_ad(&self.core);
                // Attributes that the cron job had overridden may be missing until the slot's ad is refreshed.
                gone |= printed.names().any(|name| before.contains(name) && !slot.ads.live.contains(name));
            }
        }
        if gone {
            self.core.report(stay, None);
        }
    }
}
