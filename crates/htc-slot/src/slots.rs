//! Collection of all slots of an execution point, with constant-time lookup by key and iteration in order.

use super::events::SlotKey;
use super::slot::Slot;

/// All slots of an execution point. Configured slots are boxed, so that a search touches little memory even with thousands of
/// slots.
pub(super) struct Slots {
    /// Slot families, indexed by slot number minus 1.
    families: Vec<SlotFamily>,
    count: usize,
}

/// Configured slot with its dynamic slots.
#[derive(Default)]
struct SlotFamily {
    configured: Option<Box<Slot>>,
    /// Dynamic slots, sorted by number.
    dynamic: Vec<Slot>,
}

impl SlotFamily {
    fn all_slots(&self) -> impl Iterator<Item = &Slot> {
        self.configured.as_deref().into_iter().chain(&self.dynamic)
    }

    fn all_slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.configured.as_deref_mut().into_iter().chain(&mut self.dynamic)
    }

    /// Returns the index of a dynamic slot, or the index at which to insert it.
    fn find_dynamic_slot(&self, sub: u32) -> Result<usize, usize> {
        self.dynamic.binary_search_by_key(&sub, |slot| slot.key.sub)
    }
}

impl Slots {
    /// Creates the collection from the slots of a configuration.
    pub(super) fn from_slots(slots: impl Iterator<Item = Slot>) -> Slots {
        let mut all = Slots { families: Vec::new(), count: 0 };
        slots.for_each(|slot| all.insert(slot));
        all
    }

    fn family(&self, number: u32) -> Option<&SlotFamily> {
        self.families.get((number as usize).checked_sub(1)?)
    }

    fn family_mut(&mut self, number: u32) -> Option<&mut SlotFamily> {
        self.families.get_mut((number as usize).checked_sub(1)?)
    }

    pub(super) fn get(&self, key: &SlotKey) -> Option<&Slot> {
        let family = self.family(key.number)?;
        match key.sub {
            0 => family.configured.as_deref(),
            sub => family.dynamic.get(family.find_dynamic_slot(sub).ok()?),
        }
    }

    pub(super) fn get_mut(&mut self, key: &SlotKey) -> Option<&mut Slot> {
        let family = self.family_mut(key.number)?;
        match key.sub {
            0 => family.configured.as_deref_mut(),
            sub => {
                let at = family.find_dynamic_slot(sub).ok()?;
                family.dynamic.get_mut(at)
            }
        }
    }

    /// Adds a slot, replacing any slot with the same key.
    pub(super) fn insert(&mut self, slot: Slot) {
        let number = slot.key.number.max(1) as usize;
        if self.families.len() < number {
            self.families.resize_with(number, SlotFamily::default);
        }
        let family = &mut self.families[number - 1];
        let is_new = match slot.key.sub {
            0 => family.configured.replace(Box::new(slot)).is_none(),
            sub => match family.find_dynamic_slot(sub) {
                Ok(at) => {
                    family.dynamic[at] = slot;
                    false
                }
                Err(at) => {
                    family.dynamic.insert(at, slot);
                    true
                }
            },
        };
        self.count += usize::from(is_new);
    }

    pub(super) fn remove(&mut self, key: &SlotKey) -> Option<Slot> {
        let family = self.family_mut(key.number)?;
        let slot = match key.sub {
            0 => *family.configured.take()?,
            sub => {
                let at = family.find_dynamic_slot(sub).ok()?;
                family.dynamic.remove(at)
            }
        };
        self.count -= 1;
        Some(slot)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Slot> {
        self.families.iter().flat_map(SlotFamily::all_slots)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.families.iter_mut().flat_map(SlotFamily::all_slots_mut)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = SlotKey> {
        self.values().map(|slot| slot.key)
    }

    /// Returns the slot with this number and its dynamic slots.
    pub(super) fn slots_with_number(&self, number: u32) -> impl Iterator<Item = &Slot> {
        self.family(number).into_iter().flat_map(SlotFamily::all_slots)
    }

    /// Returns the slot with this number and its dynamic slots, mutably.
    pub(super) fn slots_with_number_mut(&mut self, number: u32) -> impl Iterator<Item = &mut Slot> {
        self.family_mut(number).into_iter().flat_map(SlotFamily::all_slots_mut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll_skipping::tests::point;
    use std::collections::BTreeSet;

    #[test]
    fn slots_are_found_and_iterated_in_order_after_any_changes() {
        let mut point = point("", false);
        let plan = point.slots.get(&SlotKey::from_number(1)).unwrap().plan.clone();
        let mut make = |number: u32, sub: u32| {
            let mut slot = Slot::new(plan.clone(), &mut point.core);
            slot.key = SlotKey { number, sub };
            slot
        };
        let mut slots = Slots::from_slots([make(3, 0), make(1, 0)].into_iter());
        let mut plain = BTreeSet::from([SlotKey::from_number(1), SlotKey::from_number(3)]);
        for turn in 0..500u32 {
            let key = SlotKey { number: 1 + turn * 7 % 4, sub: turn * 11 % 5 };
            if turn % 3 == 0 {
                assert_eq!(slots.remove(&key).map(|slot| slot.key), plain.take(&key));
            } else {
                slots.insert(make(key.number, key.sub));
                plain.insert(key);
            }
            assert_eq!(slots.keys().collect::<BTreeSet<_>>(), plain);
            assert!(slots.keys().is_sorted());
            assert_eq!(slots.len(), plain.len());
            for number in 0..6 {
                let of: Vec<_> = slots.slots_with_number(number).map(|slot| slot.key).collect();
                assert!(of.iter().all(|key| key.number == number && slots.get(key).is_some()));
                assert_eq!(of.len(), plain.iter().filter(|key| key.number == number).count());
            }
            assert_eq!(slots.get_mut(&key).is_some(), plain.contains(&key));
        }
    }
}
