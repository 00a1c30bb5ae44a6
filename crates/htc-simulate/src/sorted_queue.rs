//! A queue whose smallest entry is taken first, to which entries come mostly in order: slots ask for work after one delay, so that
//! who has asked asks next behind all others.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Entries that were added behind all others wait in a row, where nothing has to be searched; the rest is a heap.
#[derive(Debug)]
pub(super) struct SortedQueue<T> {
    ascending: VecDeque<T>,
    heap: BinaryHeap<Reverse<T>>,
}

impl<T: Ord + Copy> SortedQueue<T> {
    pub(super) fn new() -> Self {
        SortedQueue { ascending: VecDeque::new(), heap: BinaryHeap::new() }
    }

    pub(super) fn push(&mut self, entry: T) {
        if self.ascending.back().is_none_or(|last| *last <= entry) {
            self.ascending.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    /// The smallest.
    pub(super) fn peek(&self) -> Option<T> {
        match (self.ascending.front().copied(), self.heap.peek()) {
            (Some(first), Some(Reverse(other))) => Some(first.min(*other)),
            (first, other) => first.or(other.map(|Reverse(other)| *other)),
        }
    }

    /// Takes the smallest away.
    pub(super) fn pop(&mut self) {
        match (self.ascending.front(), self.heap.peek()) {
            (Some(first), Some(Reverse(other))) if other < first => drop(self.heap.pop()),
            (None, _) => drop(self.heap.pop()),
            _ => drop(self.ascending.pop_front()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_smallest_comes_first_in_whatever_order_they_were_added(
            steps in proptest::collection::vec((any::<bool>(), 0u8..40, any::<bool>()), 0..200),
        ) {
            let (mut queue, mut plain) = (SortedQueue::new(), BinaryHeap::new());
            let mut last = 0;
            for (pops, number, in_order) in steps {
                if pops {
                    queue.pop();
                    plain.pop();
                } else {
                    let entry = u32::from(number) + if in_order { last } else { 0 };
                    last = entry;
                    queue.push(entry);
                    plain.push(Reverse(entry));
                }
                prop_assert_eq!(queue.peek(), plain.peek().map(|Reverse(entry)| *entry));
            }
        }
    }
}
