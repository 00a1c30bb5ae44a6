//! Set of attributes whose expressions are being evaluated, to detect attributes that depend on themselves.

/// Number of keys that are stored without an allocation; few expressions have more nested attributes.
const INLINE_CAPACITY: usize = 8;

/// Stack of the keys of attributes that are being evaluated. A nested evaluation sees only the keys that it
/// has added itself.
#[derive(Default)]
pub(super) struct ActiveAttributes {
    inline: [usize; INLINE_CAPACITY],
    overflow: Vec<usize>,
    len: usize,
    /// Index of the first key that belongs to the current evaluation.
    start: usize,
}

impl ActiveAttributes {
    #[inline]
    pub(super) fn contains(&self, key: usize) -> bool {
        let few = &self.inline[self.start.min(INLINE_CAPACITY)..self.len.min(INLINE_CAPACITY)];
        few.contains(&key)
            || self
                .overflow
                .iter()
                .skip(self.start.saturating_sub(INLINE_CAPACITY))
                .any(|other| *other == key)
    }

    #[inline]
    pub(super) fn push(&mut self, key: usize) {
        match self.inline.get_mut(self.len) {
            Some(place) => *place = key,
            None => self.overflow.push(key),
        }
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
        self.overflow.truncate(self.len.saturating_sub(INLINE_CAPACITY));
    }

    /// Begins a nested evaluation. Returns the argument for [`ActiveAttributes::end_evaluation`].
    pub(super) fn begin_evaluation(&mut self) -> usize {
        std::mem::replace(&mut self.start, self.len)
    }

    pub(super) fn end_evaluation(&mut self, outer: usize) {
        self.len = self.start;
        self.overflow.truncate(self.len.saturating_sub(INLINE_CAPACITY));
        self.start = outer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_has_only_its_own_keys() {
        for before in [0, 3, 7, 8, 9, 20] {
            let mut active = ActiveAttributes::default();
            (0..before).for_each(|key| active.push(key));
            assert!((0..before).all(|key| active.contains(key)), "{before}");
            let outer = active.begin_evaluation();
            assert!(!(0..before).any(|key| active.contains(key)), "{before}");
            (100..112).for_each(|key| active.push(key));
            assert!((100..112).all(|key| active.contains(key)), "{before}");
            active.pop();
            assert!(active.contains(110) && !active.contains(111), "{before}");
            active.end_evaluation(outer);
            assert!((0..before).all(|key| active.contains(key)) && !active.contains(100), "{before}");
            (0..before).for_each(|_| active.pop());
            assert!(!active.contains(0));
        }
    }
}
