//! Priority queue that returns the smallest entry first. It is optimized for entries that are mostly added in
//! ascending order: all slots fetch with the same delay, so the slot that has just fetched usually comes last.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Priority queue. Entries that are added in ascending order are in a deque, which needs no search; all others are in
/// a heap.
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

    /// Returns the smallest entry without removing it, or `None` if the queue is empty.
    pub(super) fn peek(&self) -> Option<T> {
        match (self.ascending.front().copied(), self.heap.peek()) {
            (Some(first), Some(Reverse(other))) => Some(first.min(*other)),
            (first, other) => first.or(other.map(|Reverse(other)| *other)),
        }
    }

    /// Removes the smallest entry.
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
        fn the_smallest_item_comes_first_for_any_order_of_insertion(
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
