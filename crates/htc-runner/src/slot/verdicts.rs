//! What was made of each slot's last fetch, for whoever asks.

use std::collections::BTreeMap;

use htc_slot::{Notice, SlotHook, SlotKey};

/// The last verdict of each slot.
#[derive(Debug, Default)]
pub(super) struct Verdicts(BTreeMap<SlotKey, (&'static str, String)>);

impl Verdicts {
    /// Takes what a notice tells of them.
    pub(super) fn remember(&mut self, notice: &Notice) {
        match notice {
            Notice::Verdict { slot, hook: SlotHook::FetchWork, job, verdict, reason } => {
                let job = job.as_ref().map(|job| format!("job {job}"));
                let words: Vec<&str> = [job.as_deref(), Some(reason.as_str())]
                    .into_iter()
                    .flatten()
                    .filter(|it| !it.is_empty())
                    .collect();
                self.0.insert(*slot, (verdict, words.join(": ")));
            }
            Notice::Gone { slot } => drop(self.0.remove(slot)),
            Notice::Verdict { .. }
            | Notice::State { .. }
            | Notice::Claim { .. }
            | Notice::Warning { .. }
            | Notice::Quirk { .. } => {}
        }
    }

    /// The last one of a slot, and why.
    pub(super) fn of(&self, slot: SlotKey) -> Option<(&'static str, &str)> {
        self.0.get(&slot).map(|(verdict, reason)| (*verdict, reason.as_str()))
    }
}
