//! Random numbers that are the same for the same seed (xorshift64*).

/// A random number generator.
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator with a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed | 1);
        // The first numbers of similar seeds are similar.
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number from 0 to `end` - 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from((self.next() >> 33) % end as u64).unwrap_or_default()
    }

    /// Returns true once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of the items.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
