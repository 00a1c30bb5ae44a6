//! Hash table over the names of a large ad.

/// Hash table with open addressing. At most half of its slots are used.
#[derive(Clone, Debug)]
pub(super) struct NameIndex {
    pub(super) slots: Vec<u32>,
    /// Number of slots that are [`REMOVED`].
    removed: usize,
}

const EMPTY: u32 = u32::MAX;
/// Value of a slot whose entry was removed. Searches continue after such a slot, so that later entries are found.
const REMOVED: u32 = u32::MAX - 1;
/// Maximum number of attributes without an index: up to this number, scanning all hashes is faster.
pub(super) const INDEX_THRESHOLD: usize = 64;

impl NameIndex {
    pub(super) fn build(hashes: &[u32]) -> Self {
        let mut index = NameIndex { slots: vec![EMPTY; (hashes.len() * 4).next_power_of_two()], removed: 0 };
        for (at, hash) in hashes.iter().enumerate() {
            index.insert(*hash, at as u32);
        }
        index
    }

    pub(super) fn insert(&mut self, hash: u32, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = entry;
    }

    /// Marks the slot of an entry as removed.
    pub(super) fn remove(&mut self, hash: u32, entry: u32) {
        if self.replace_entry(hash, entry, REMOVED) {
            self.removed += 1;
        }
    }

    /// Changes the number of an entry to `now`.
    pub(super) fn renumber(&mut self, hash: u32, entry: u32, now: u32) {
        self.replace_entry(hash, entry, now);
    }

    /// Returns true if the index should be rebuilt, because it has so many removed slots that searches become slow.
    pub(super) fn needs_rebuild(&self) -> bool {
        self.removed * 4 > self.slots.len()
    }

    fn replace_entry(&mut self, hash: u32, entry: u32, new: u32) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != EMPTY {
            if self.slots[at] == entry {
                self.slots[at] = new;
                return true;
            }
            at = (at + 1) & mask;
        }
        false
    }

    /// Returns the numbers of the entries that may have this hash.
    pub(super) fn candidates(&self, hash: u32) -> impl Iterator<Item = usize> + '_ {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        let mut next = move || {
            let entry = self.slots[at];
            at = (at + 1) & mask;
            entry
        };
        std::iter::from_fn(move || {
            let mut entry = next();
            while entry == REMOVED {
                entry = next();
            }
            (entry != EMPTY).then_some(entry as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_after_any_number_of_removals() {
        // Only a few different hashes, so that searches encounter removed slots.
        let hash = |n: u32| n % 50;
        let mut hashes: Vec<u32> = (0..400).map(hash).collect();
        let mut index = NameIndex::build(&hashes);
        for turn in 0..100_000_u32 {
            let at = (turn as usize * 7919) % hashes.len();
            let old = hashes.swap_remove(at);
            index.remove(old, at as u32);
            if at < hashes.len() {
                index.renumber(hashes[at], hashes.len() as u32, at as u32);
            }
            if turn % 3 > 0 || hashes.len() < 100 {
                hashes.push(hash(turn));
                if hashes.len() * 2 > index.slots.len() {
                    index = NameIndex::build(&hashes);
                } else {
                    index.insert(hash(turn), hashes.len() as u32 - 1);
                }
            }
            if index.needs_rebuild() {
                index = NameIndex::build(&hashes);
            }
            if turn % 1000 == 0 {
                for (at, hash) in hashes.iter().enumerate() {
                    assert!(index.candidates(*hash).any(|found| found == at), "{turn}: {at}");
                }
                assert_eq!(
                    index.candidates(49).filter(|&found| hashes[found] == 49).count(),
                    hashes.iter().filter(|&&hash| hash == 49).count()
                );
            }
        }
    }
}
