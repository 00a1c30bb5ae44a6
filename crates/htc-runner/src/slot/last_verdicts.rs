//! Verdict on each slot's last fetch, for status requests.

use std::collections::BTreeMap;

use htc_slot::{SlotHookType, SlotKey, SlotNotice};

/// Last verdict of each slot.
#[derive(Debug, Default)]
pub(super) struct LastVerdicts(BTreeMap<SlotKey, (&'static str, String)>);

impl LastVerdicts {
    /// Stores the verdict on a fetch if the notice contains one.
    pub(super) fn remember(&mut self, notice: &SlotNotice) {
        match notice {
            SlotNotice::Verdict { slot, hook: SlotHookType::FetchWork, job, verdict, reason } => {
                let job = job.as_ref().map(|job| format!("job {job}"));
                let words: Vec<&str> = [job.as_deref(), Some(reason.as_str())]
                    .into_iter()
                    .flatten()
                    .filter(|it| !it.is_empty())
                    .collect();
                self.0.insert(*slot, (verdict, words.join(": ")));
            }
            SlotNotice::SlotRemoved { slot } => drop(self.0.remove(slot)),
            SlotNotice::Verdict { .. }
            | SlotNotice::StateChanged { .. }
            | SlotNotice::Claim { .. }
            | SlotNotice::Warning { .. }
            | SlotNotice::Refusal { .. }
            | SlotNotice::Quirk { .. } => {}
        }
    }

    /// Returns the verdict on the last fetch of a slot and its reason, or `None` if the slot has no verdict yet.
    pub(super) fn verdict_of_slot(&self, slot: SlotKey) -> Option<(&'static str, &str)> {
        self.0.get(&slot).map(|(verdict, reason)| (*verdict, reason.as_str()))
    }
}
