//! Sets of slot groups, one bit for each.

/// Set of numbers below a fixed size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    /// Creates an empty set of numbers below `size`.
    pub(super) fn new(size: usize) -> Self {
        BitSet(vec![0; size.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(super) fn contains(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    pub(super) fn union_with(&mut self, other: &BitSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Adds the numbers that are in both other sets.
    pub(super) fn add_common(&mut self, one: &BitSet, other: &BitSet) {
        let both = one.0.iter().zip(&other.0);
        self.0.iter_mut().zip(both).for_each(|(word, (one, other))| *word |= one & other);
    }

    pub(super) fn remove_all(&mut self, other: &BitSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    /// Iterates over the numbers in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| numbers_of_word(at, word))
    }

    /// Iterates over the numbers below `size` that are not in the set, in ascending order.
    pub(super) fn missing(&self, size: usize) -> impl Iterator<Item = usize> + '_ {
        let words = self.0.iter().enumerate().flat_map(|(at, &word)| numbers_of_word(at, !word));
        words.take_while(move |at| *at < size)
    }

    /// Returns the sum of the weights of all numbers in the set.
    pub(super) fn total_weight(&self, weights: &[usize]) -> usize {
        self.iter().map(|at| weights[at]).sum()
    }
}

/// Iterates over the bits of the word at an index.
fn numbers_of_word(at: usize, word: u64) -> impl Iterator<Item = usize> {
    let rest = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
    let words = std::iter::successors((word != 0).then_some(word), rest);
    words.map(move |rest| at * 64 + rest.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::BitSet;

    #[test]
    fn numbers_are_iterated_in_order_and_weighed() {
        let mut set = BitSet::new(130);
        [3, 64, 129, 0].into_iter().for_each(|at| set.insert(at));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 3, 64, 129]);
        assert_eq!(set.total_weight(&vec![2; 130]), 8);
        assert!(set.missing(130).eq((0..130).filter(|at| !set.contains(*at))));
        let mut twice = BitSet::new(130);
        let mut other = BitSet::new(130);
        [3, 5].into_iter().for_each(|at| other.insert(at));
        twice.add_common(&set, &other);
        assert_eq!(twice.iter().collect::<Vec<_>>(), [3]);
        set.remove_all(&other);
        assert!(!set.contains(3) && set.contains(0));
        set.union_with(&other);
        assert!(set.contains(5));
    }
}
