//! The attributes whose expressions are under way, so that one that needs itself is found out.

/// So many fit without an allocation; few expressions nest deeper.
const FEW: usize = 8;

/// A stack of keys. An evaluation that is started afresh within another sees its own part of it only.
#[derive(Default)]
pub(super) struct Active {
    few: [usize; FEW],
    more: Vec<usize>,
    len: usize,
    /// Where the part of the present evaluation begins.
    from: usize,
}

impl Active {
    #[inline]
    pub(super) fn contains(&self, key: usize) -> bool {
        let few = &self.few[self.from.min(FEW)..self.len.min(FEW)];
        few.contains(&key) || self.more.iter().skip(self.from.saturating_sub(FEW)).any(|other| *other == key)
    }

    #[inline]
    pub(super) fn push(&mut self, key: usize) {
        match self.few.get_mut(self.len) {
            Some(place) => *place = key,
            None => self.more.push(key),
        }
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
        self.more.truncate(self.len.saturating_sub(FEW));
    }

    /// Begins the part of another evaluation; gives what [`Active::end`] wants.
    pub(super) fn begin(&mut self) -> usize {
        std::mem::replace(&mut self.from, self.len)
    }

    pub(super) fn end(&mut self, outer: usize) {
        self.len = self.from;
        self.more.truncate(self.len.saturating_sub(FEW));
        self.from = outer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_sees_its_own_keys_only() {
        for before in [0, 3, 7, 8, 9, 20] {
            let mut active = Active::default();
            (0..before).for_each(|key| active.push(key));
            assert!((0..before).all(|key| active.contains(key)), "{before}");
            let outer = active.begin();
            assert!(!(0..before).any(|key| active.contains(key)), "{before}");
            (100..112).for_each(|key| active.push(key));
            assert!((100..112).all(|key| active.contains(key)), "{before}");
            active.pop();
            assert!(active.contains(110) && !active.contains(111), "{before}");
            active.end(outer);
            assert!((0..before).all(|key| active.contains(key)) && !active.contains(100), "{before}");
            (0..before).for_each(|_| active.pop());
            assert!(!active.contains(0));
        }
    }
}
