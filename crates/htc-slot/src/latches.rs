//! Latches (STARTD_LATCH_EXPRS): values of attributes, and the time of their last change (`Resource::evaluate_latches`).

use super::execution_point_state::ExecutionPointState;
use super::runtime_state::latch::{Latch, published_names};
use super::slot::Slot;
use htc_classad::ClassAd;

impl Slot {
    /// Evaluates the latched attributes in the live ad, and records those that changed.
    pub(super) fn evaluate_latches(&mut self, core: &ExecutionPointState) {
        let names = &core.settings.latches;
        self.ads.latches.retain(|latch| names.contains(&latch.name));
        for name in names {
            let value = self.eval_in_slot_ad(core, None, |context| context.int(name.clone()));
            let at = match self.ads.latches.iter().position(|latch| latch.name == *name) {
                Some(at) => at,
                None => {
                    let (name, published) = (name.clone(), published_names(name));
                    self.ads.latches.push(Latch {
                        name,
                        published_names: published,
                        value: None,
                        changed_at: None,
                    });
                    self.ads.latches.len() - 1
                }
            };
            if let Some(latch) = self.ads.latches.get_mut(at).filter(|latch| latch.value != value) {
                latch.value = value;
                latch.changed_at = Some(core.now.epoch());
            }
        }
    }

    /// True if a latched attribute has changed since the last refresh, which the next refresh records.
    pub(super) fn has_stale_latches(&self, core: &ExecutionPointState) -> bool {
        let mut lags = false;
        for name in &core.settings.latches {
            let value = self.eval_in_slot_ad(core, None, |context| context.int(name.clone()));
            let known = self.ads.latches.iter().find(|latch| latch.name == *name);
            lags |= known.and_then(|latch| latch.value) != value;
            // An attribute that counts time has no expression that the change predictor could observe.
            if super::change_prediction::is_time_dependent(name.as_bytes()) {
                core.schedule.change_predictor.note_change_within(1);
            }
        }
        lags
    }

    /// Publishes `<Attr>Time` for each latch, and `<Attr>Value` unless the attribute is a literal.
    pub(super) fn publish_latches(&self, ad: &mut ClassAd) {
        for latch in &self.ads.latches {
            let [value_name, time_name] = &latch.published_names;
            let is_literal =
                self.config.get(latch.name.clone()).is_none_or(|expr| expr.as_literal().is_some());
            match latch.value.filter(|_| !is_literal) {
                Some(value) => ad.set(value_name, value),
                None => drop(ad.remove(value_name)),
            }
            if let Some(changed) = latch.changed_at {
                ad.set(time_name, changed);
            }
        }
    }
}
