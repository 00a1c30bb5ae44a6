//! The parts of a text under expansion that came from names, each within the one before it.

use bstr::BString;
use rustc_hash::FxHashSet;

/// A part of the text that came from one name.
struct ExpandedRegion {
    name: BString,
    /// Its first byte, counted from the start of the whole text.
    start: usize,
    /// Number of bytes after it.
    tail: usize,
}

/// Parts within one another, the outermost first. A long chain of names makes as many, so that none is looked for one by one.
#[derive(Default)]
pub(super) struct ExpandedRegions {
    nested: Vec<ExpandedRegion>,
    /// The names, in small letters.
    names: FxHashSet<Vec<u8>>,
}

impl ExpandedRegions {
    /// Leaves those that hold a reference with so many bytes before and behind it.
    pub(super) fn keep_enclosing(&mut self, start: usize, tail: usize) {
        while let Some(last) = self.nested.pop_if(|last| last.start > start || last.tail > tail) {
            self.names.remove(&last.name.to_ascii_lowercase());
        }
    }

    /// The place of a name is one of its own, within all that are left.
    pub(super) fn push(&mut self, name: BString, start: usize, tail: usize) {
        self.names.insert(name.to_ascii_lowercase());
        self.nested.push(ExpandedRegion { name, start, tail });
    }

    /// Returns true if a name has such a part.
    pub(super) fn has_name(&self, name: &[u8]) -> bool {
        !self.names.is_empty() && self.names.contains(&name.to_ascii_lowercase())
    }

    /// Returns their number.
    pub(super) fn len(&self) -> usize {
        self.nested.len()
    }

    /// The names, the outermost first.
    pub(super) fn names(&self) -> impl Iterator<Item = &BString> {
        self.nested.iter().map(|region| &region.name)
    }
}
