//! Random numbers for tests, and the sizes of samples.

/// Random numbers (xorshift), the same in every run unless `HTC_SEED` is set.
pub(crate) struct Random {
    state: u64,
    #[allow(dead_code, reason = "one of the test files does not use it")]
    /// True if expressions may read attributes that they do not name.
    pub(crate) reads_any: bool,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let user_seed = std::env::var("HTC_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
        let state = user_seed.map_or(seed, |user_seed| seed ^ user_seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Random { state: state.max(1), reads_any: false }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % limit
    }

    pub(crate) fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// Returns the size of a sample: that of an environment variable (`.ci/full`), or the ordinary one.
pub(crate) fn sample_size(variable: &str, ordinary: usize) -> usize {
    std::env::var(variable).ok().and_then(|size| size.parse().ok()).unwrap_or(ordinary)
}
