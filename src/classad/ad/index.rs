//! A hash table over the names of a large ad.

/// Open addressing by hash, at most half full.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) slots: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;
/// Up to this many attributes a look at all hashes is faster than an index.
pub(super) const INDEX_FROM: usize = 64;

impl Index {
    pub(super) fn build(hashes: &[u32]) -> Self {
        let mut index = Index { slots: vec![EMPTY; (hashes.len() * 4).next_power_of_two()] };
        for (at, hash) in hashes.iter().enumerate() {
            index.place(*hash, at as u32);
        }
        index
    }

    pub(super) fn place(&mut self, hash: u32, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = entry;
    }

    /// The entries that may have this hash.
    pub(super) fn candidates(&self, hash: u32) -> impl Iterator<Item = usize> + '_ {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        std::iter::from_fn(move || {
            let entry = self.slots[at];
            at = (at + 1) & mask;
            (entry != EMPTY).then_some(entry as usize)
        })
    }
}
