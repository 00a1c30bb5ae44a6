//! Where an evaluation keeps what it makes on its way: texts, lists, ads and trees live until it ends.
//!
//! Nothing is moved once it is here, so that values can be copied about as plain references. An evaluation that makes
//! nothing allocates nothing.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::ad::ClassAd;
use crate::eval::computed::{Computed, ComputedList};
use crate::eval::scope::Scope;
use crate::syntax::tree::Tree;

/// A sequence that only grows and never moves its elements: chunks of doubling size.
struct Store<T> {
    chunks: OnceCell<Box<[OnceCell<Chunk<T>>; CHUNKS]>>,
    len: Cell<usize>,
}

/// Room for some elements, each filled once.
type Chunk<T> = Box<[OnceCell<T>]>;

const CHUNKS: usize = 28;
const FIRST: usize = 4;

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store { chunks: OnceCell::new(), len: Cell::new(0) }
    }
}

impl<T> Store<T> {
    /// Adds an element; `None` when there is no room left (more than a billion elements).
    fn add(&self, value: T) -> Option<&T> {
        let at = self.len.get() + FIRST;
        let chunk = (at / FIRST).ilog2() as usize;
        let size = FIRST << chunk;
        let chunks = self.chunks.get_or_init(|| Box::new([const { OnceCell::new() }; CHUNKS]));
        let cells = chunks.get(chunk)?.get_or_init(|| (0..size).map(|_| OnceCell::new()).collect());
        self.len.set(self.len.get() + 1);
        let cell = cells.get(at - size)?;
        Some(cell.get_or_init(|| value))
    }
}

/// What one evaluation has made.
#[derive(Default)]
pub(crate) struct Arena<'a> {
    texts: Store<Vec<u8>>,
    scopes: Store<Scope<'a>>,
    lists: Store<ComputedList<'a>>,
    items: Store<Vec<Computed<'a>>>,
    trees: Store<Arc<Tree>>,
    ads: Store<ClassAd>,
    bytes: Cell<usize>,
}

/// Bytes that the texts made by one evaluation may take together. The reference has no such limit and grows until it is
/// killed; ours fails.
const MAX_BYTES: usize = 1 << 30;

impl<'a> Arena<'a> {
    /// Counts memory; `false` when there has been too much.
    #[inline]
    fn charge(&self, bytes: usize) -> bool {
        let total = self.bytes.get().saturating_add(bytes);
        self.bytes.set(total);
        total <= MAX_BYTES
    }

    pub(crate) fn text(&'a self, text: Vec<u8>) -> Option<&'a [u8]> {
        if text.is_empty() {
            return Some(&[]);
        }
        if !self.charge(text.capacity() + 24) {
            return None;
        }
        self.texts.add(text).map(Vec::as_slice)
    }

    pub(crate) fn scope(&'a self, scope: Scope<'a>) -> Option<&'a Scope<'a>> {
        if !self.charge(size_of::<Scope<'_>>()) {
            return None;
        }
        self.scopes.add(scope)
    }

    pub(crate) fn list(&'a self, list: ComputedList<'a>) -> Option<&'a ComputedList<'a>> {
        if !self.charge(size_of::<ComputedList<'_>>()) {
            return None;
        }
        self.lists.add(list)
    }

    pub(crate) fn items(&'a self, items: Vec<Computed<'a>>) -> Option<&'a [Computed<'a>]> {
        if !self.charge(size_of::<Computed<'_>>() * items.len()) {
            return None;
        }
        self.items.add(items).map(Vec::as_slice)
    }

    pub(crate) fn tree(&'a self, tree: Arc<Tree>) -> Option<&'a Arc<Tree>> {
        if !self.charge(tree.text.len() + tree.nodes.len() * 24) {
            return None;
        }
        self.trees.add(tree)
    }

    pub(crate) fn ad(&'a self, ad: ClassAd) -> Option<&'a ClassAd> {
        if !self.charge(ad.len() * 64) {
            return None;
        }
        self.ads.add(ad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stay_where_they_are() {
        let store = Store::default();
        let all: Vec<&usize> = (0..10_000).filter_map(|i| store.add(i)).collect();
        assert!(all.iter().enumerate().all(|(at, value)| at == **value));
        assert_eq!(all.len(), 10_000);
    }
}
