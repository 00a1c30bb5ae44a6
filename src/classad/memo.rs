//! Texts of expressions that were parsed already: the ads of a queue repeat most of theirs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::tree::{NodeId, Tree};

/// Texts kept at most.
const KEPT: usize = 1024;
/// Texts longer than this are parsed each time.
const LONGEST: usize = 4096;
/// So many texts are looked up before their hits are counted; where fewer than one in eight is found, nothing more is kept.
const TRIAL: u32 = 4096;

/// A bounded memory of texts and what they were parsed into. It belongs to the reader of a stream.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    known: FxHashMap<Box<[u8]>, (NodeId, Arc<Tree>)>,
    tried: u32,
    found: u32,
}

impl Memo {
    /// What a text was parsed into before.
    pub(crate) fn get(&mut self, text: &[u8]) -> Option<(NodeId, Arc<Tree>)> {
        if text.len() > LONGEST || self.is_useless() {
            return None;
        }
        self.tried = self.tried.saturating_add(1);
        let (root, tree) = self.known.get(text)?;
        self.found = self.found.saturating_add(1);
        Some((*root, Arc::clone(tree)))
    }

    /// Remembers a text.
    pub(crate) fn keep(&mut self, text: &[u8], root: NodeId, tree: &Arc<Tree>) {
        if text.len() > LONGEST || self.is_useless() {
            return;
        }
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        self.known.insert(text.into(), (root, Arc::clone(tree)));
    }

    fn is_useless(&self) -> bool {
        self.tried > TRIAL && self.found < self.tried / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classad::ClassAd;

    #[test]
    fn repeated_texts_share_their_tree_and_unique_ones_are_given_up() {
        let mut memo = Memo::default();
        let mut ad = ClassAd::new();
        for round in 0..2 {
            ad.take_line(b"A = B + 1", Some(&mut memo)).unwrap();
            assert_eq!(memo.found, round);
        }
        assert_eq!(ad.get("a").unwrap().unparse(), "B + 1");
        for unique in 0..10_000 {
            ad.take_line(format!("A = B + {unique}").as_bytes(), Some(&mut memo)).unwrap();
            assert_eq!(ad.get("a").unwrap().unparse(), format!("B + {unique}"));
        }
        assert!(memo.is_useless() && memo.known.len() <= KEPT);
    }
}
