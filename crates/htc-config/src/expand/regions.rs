//! The regions of a text under expansion that are values of names, each nested in the one before it.

use bstr::BString;
use rustc_hash::FxHashSet;

/// A region of the text that is the value of a name.
struct ExpandedRegion {
    name: BString,
    /// Offset of the first byte of the region in the whole text.
    start: usize,
    /// Number of bytes after the region.
    tail: usize,
}

/// Nested regions, outermost first. A long chain of names has as many regions, so the names are also kept in
/// a set.
#[derive(Default)]
pub(super) struct ExpandedRegions {
    nested: Vec<ExpandedRegion>,
    /// The names, in lower case.
    names: FxHashSet<Vec<u8>>,
}

impl ExpandedRegions {
    /// Removes all regions that do not contain a reference with `start` bytes before it and `tail` bytes
    /// after it.
    pub(super) fn keep_enclosing(&mut self, start: usize, tail: usize) {
        while let Some(last) = self.nested.pop_if(|last| last.start > start || last.tail > tail) {
            self.names.remove(&last.name.to_ascii_lowercase());
        }
    }

    /// Adds a region for the value of a name, nested in all remaining regions.
    pub(super) fn push(&mut self, name: BString, start: usize, tail: usize) {
        self.names.insert(name.to_ascii_lowercase());
        self.nested.push(ExpandedRegion { name, start, tail });
    }

    /// Returns true if a name has a region.
    pub(super) fn has_name(&self, name: &[u8]) -> bool {
        !self.names.is_empty() && self.names.contains(&name.to_ascii_lowercase())
    }

    /// Returns the number of regions.
    pub(super) fn len(&self) -> usize {
        self.nested.len()
    }

    /// Returns the names, outermost first.
    pub(super) fn names(&self) -> impl Iterator<Item = &BString> {
        self.nested.iter().map(|region| &region.name)
    }
}
