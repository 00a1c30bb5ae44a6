//! Arena for the texts, lists, ads and trees that are made during an evaluation, all of which live until the
//! evaluation ends.
//!
//! Nothing in the arena is moved, so values can refer to its contents and be copied. An evaluation that makes nothing
//! allocates no memory.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::ad::ClassAd;
use crate::eval::computed_value::{ComputedList, ComputedValue};
use crate::eval::scope::AdScope;
use crate::syntax::tree::ExprTree;

/// Sequence that grows without moving its elements. It consists of chunks of doubling size.
struct ChunkedStore<T> {
    chunks: OnceCell<Box<[OnceCell<Chunk<T>>; MAX_CHUNKS]>>,
    len: Cell<usize>,
}

/// Space for a fixed number of elements, each of which is set once.
type Chunk<T> = Box<[OnceCell<T>]>;

const MAX_CHUNKS: usize = 28;
const FIRST_CHUNK_LEN: usize = 4;

impl<T> Default for ChunkedStore<T> {
    fn default() -> Self {
        ChunkedStore { chunks: OnceCell::new(), len: Cell::new(0) }
    }
}

impl<T> ChunkedStore<T> {
    /// Adds an element and returns a reference to it, or `None` if there are more than a billion elements.
    fn add(&self, value: T) -> Option<&T> {
        let at = self.len.get() + FIRST_CHUNK_LEN;
        let chunk = (at / FIRST_CHUNK_LEN).ilog2() as usize;
        let size = FIRST_CHUNK_LEN << chunk;
        let chunks = self.chunks.get_or_init(|| Box::new([const { OnceCell::new() }; MAX_CHUNKS]));
        let cells = chunks.get(chunk)?.get_or_init(|| (0..size).map(|_| OnceCell::new()).collect());
        self.len.set(self.len.get() + 1);
        let cell = cells.get(at - size)?;
        Some(cell.get_or_init(|| value))
    }
}

/// Owner of everything that is made during one evaluation.
#[derive(Default)]
pub(crate) struct EvalArena<'a> {
    texts: ChunkedStore<Vec<u8>>,
    scopes: ChunkedStore<AdScope<'a>>,
    lists: ChunkedStore<ComputedList<'a>>,
    items: ChunkedStore<Vec<ComputedValue<'a>>>,
    trees: ChunkedStore<Arc<ExprTree>>,
    ads: ChunkedStore<ClassAd>,
    bytes: Cell<usize>,
}

/// Maximum total size in bytes of the texts made by one evaluation; a larger size makes the evaluation fail. The
/// reference has no such limit and grows until it is killed.
const MAX_BYTES: usize = 1 << 30;

impl<'a> EvalArena<'a> {
    /// Counts memory for texts. Returns false if the limit is exceeded.
    #[inline]
    fn charge_bytes(&self, bytes: usize) -> bool {
        let total = self.bytes.get().saturating_add(bytes);
        self.bytes.set(total);
        total <= MAX_BYTES
    }

    pub(crate) fn add_text(&'a self, text: Vec<u8>) -> Option<&'a [u8]> {
        if text.is_empty() {
            return Some(&[]);
        }
        if !self.charge_bytes(text.capacity() + 24) {
            return None;
        }
        self.texts.add(text).map(Vec::as_slice)
    }

    pub(crate) fn add_scope(&'a self, scope: AdScope<'a>) -> Option<&'a AdScope<'a>> {
        if !self.charge_bytes(size_of::<AdScope<'_>>()) {
            return None;
        }
        self.scopes.add(scope)
    }

    pub(crate) fn add_list(&'a self, list: ComputedList<'a>) -> Option<&'a ComputedList<'a>> {
        if !self.charge_bytes(size_of::<ComputedList<'_>>()) {
            return None;
        }
        self.lists.add(list)
    }

    pub(crate) fn add_items(&'a self, items: Vec<ComputedValue<'a>>) -> Option<&'a [ComputedValue<'a>]> {
        if !self.charge_bytes(size_of::<ComputedValue<'_>>() * items.len()) {
            return None;
        }
        self.items.add(items).map(Vec::as_slice)
    }

    pub(crate) fn add_tree(&'a self, tree: Arc<ExprTree>) -> Option<&'a Arc<ExprTree>> {
        if !self.charge_bytes(tree.text.len() + tree.nodes.len() * 24) {
            return None;
        }
        self.trees.add(tree)
    }

    pub(crate) fn add_ad(&'a self, ad: ClassAd) -> Option<&'a ClassAd> {
        if !self.charge_bytes(ad.len() * 64) {
            return None;
        }
        self.ads.add(ad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_the_arena_keep_their_addresses() {
        let store = ChunkedStore::default();
        let all: Vec<&usize> = (0..10_000).filter_map(|i| store.add(i)).collect();
        assert!(all.iter().enumerate().all(|(at, value)| at == **value));
        assert_eq!(all.len(), 10_000);
    }
}
