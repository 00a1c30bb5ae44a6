//! Slots of a configuration or of a pool, as the engine of explanations sees them.

use rustc_hash::FxHashMap;

use crate::classad::{ClassAd, Expr};
use crate::runner::slot::CandidateSlots;
use crate::slot::{SlotKey, SlotKind};
use crate::why::matching::{OtherRefusal, SlotSet};
use crate::world::{FrozenClockWorld, World};

/// Slots of a configuration or of a pool.
pub(super) struct CandidateSet<'a> {
    slots: &'a CandidateSlots,
    names: Vec<String>,
    world: &'a dyn World,
    /// World of the configuration's execution point.
    frozen: Option<FrozenClockWorld<'a>>,
    varieties: Vec<u64>,
    empty: ClassAd,
}

impl<'a> CandidateSet<'a> {
    /// Creates the set; `world` is that of a pool's slots.
    pub(super) fn new(slots: &'a CandidateSlots, world: &'a dyn World) -> Self {
        let names = slots.names();
        let (frozen, varieties) = match slots {
            CandidateSlots::Configured { machine, keys, fetching, .. } => {
                let mut index: FxHashMap<(Option<String>, bool), u64> = FxHashMap::default();
                let mut number = |key| {
                    let next = index.len() as u64;
                    *index.entry(key).or_insert(next)
                };
                let variety = |key: &SlotKey| (machine.judgement_key(*key), fetching.contains(&key.number));
                let varieties = keys.iter().map(|key| number(variety(key))).collect();
                (Some(machine.frozen_world()), varieties)
            }
            CandidateSlots::Ads(ads, _) => (None, vec![0; ads.len()]),
        };
        CandidateSet { slots, names, world, frozen, varieties, empty: ClassAd::new() }
    }
}

impl SlotSet for CandidateSet<'_> {
    fn len(&self) -> usize {
        self.names.len()
    }

    fn name(&self, slot: usize) -> &str {
        &self.names[slot]
    }

    fn ad(&self, slot: usize) -> &ClassAd {
        match self.slots {
            CandidateSlots::Configured { machine, keys, .. } => {
                machine.live_ad(keys[slot]).unwrap_or(&self.empty)
            }
            CandidateSlots::Ads(ads, _) => &ads[slot].1,
        }
    }

    fn world(&self) -> &dyn World {
        match &self.frozen {
            Some(frozen) => frozen,
            None => self.world,
        }
    }

    fn variety(&self, slot: usize) -> u64 {
        self.varieties[slot]
    }

    fn adds_default_requests(&self, slot: usize) -> bool {
        match self.slots {
            CandidateSlots::Configured { machine, keys, .. } => {
                machine.slot_kind(keys[slot]) == Some(SlotKind::Static)
            }
            CandidateSlots::Ads(..) => false,
        }
    }

    fn counts_job_requirements(&self, slot: usize) -> bool {
        self.slots.counts_job_requirements(slot)
    }

    fn hidden_expressions(&self) -> Vec<Expr> {
        match self.slots {
            CandidateSlots::Configured { machine, .. } => machine.judging_expressions(),
            CandidateSlots::Ads(..) => Vec::new(),
        }
    }

    fn has_other_conditions(&self, _slot: usize, job: &ClassAd) -> bool {
        match self.slots {
            CandidateSlots::Configured { .. } => true,
            CandidateSlots::Ads(..) => crate::why::matching::requires_devices(job),
        }
    }

    fn other_refusal(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        let offer = self.slots.slot_offer(slot, job, self.world)?;
        (!offer.accepted).then(|| OtherRefusal::new(offer.reason, offer.untrue_conditions))
    }

    fn place(&self, slot: usize, attribute: &str) -> String {
        self.slots.attribute_place(slot, attribute, self.world)
    }
}
