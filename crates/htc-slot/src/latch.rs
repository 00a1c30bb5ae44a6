//! STARTD_LATCH_EXPRS: when attributes changed last, and to what (`Resource::evaluate_latches`).

use super::core::Core;
use super::kept::latch::{Latch, published};
use super::single::Slot;
use htc_classad::ClassAd;

impl Slot {
    /// Looks at the watched attributes as they stand in the live ad.
    pub(super) fn evaluate_latches(&mut self, core: &Core) {
        let names = &core.settings.latches;
        self.latches.retain(|latch| names.contains(&latch.name));
        for name in names {
            let value = self.look(core, None, |context| context.int(name.clone()));
            let at = match self.latches.iter().position(|latch| latch.name == *name) {
                Some(at) => at,
                None => {
                    let (name, published) = (name.clone(), published(name));
                    self.latches.push(Latch { name, published, value: None, changed: None });
                    self.latches.len() - 1
                }
            };
            if let Some(latch) = self.latches.get_mut(at).filter(|latch| latch.value != value) {
                latch.value = value;
                latch.changed = Some(core.now.epoch());
            }
        }
    }

    /// Whether a watched attribute is another by now, so that the next refresh takes notice of it.
    pub(super) fn latches_lag(&self, core: &Core) -> bool {
        let mut lags = false;
        for name in &core.settings.latches {
            let value = self.look(core, None, |context| context.int(name.clone()));
            let known = self.latches.iter().find(|latch| latch.name == *name);
            lags |= known.and_then(|latch| latch.value) != value;
            // What is counted in the ad itself has no expression that could be watched.
            if super::watch::moves(name.as_bytes()) {
                core.watch.within(1);
            }
        }
        lags
    }

    /// `<Attr>Time`, and `<Attr>Value` of what is no literal.
    pub(super) fn publish_latches(&self, ad: &mut ClassAd) {
        for latch in &self.latches {
            let [value_name, time_name] = &latch.published;
            let is_literal =
                self.config.get(latch.name.clone()).is_none_or(|expr| expr.as_literal().is_some());
            match latch.value.filter(|_| !is_literal) {
                Some(value) => ad.set(value_name, value),
                None => drop(ad.remove(value_name)),
            }
            if let Some(changed) = latch.changed {
                ad.set(time_name, changed);
            }
        }
    }
}
