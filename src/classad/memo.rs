//! What the reader of a stream remembers: texts of expressions that were parsed already, and the names of the ad before. The
//! ads of a queue repeat most of theirs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ClassAd;
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
    names: Names,
    /// Whether the names of the present ad have been the first of those so far.
    alike: bool,
    /// How much text the ad before held.
    text: usize,
}

/// The names of an ad in the order in which they came.
#[derive(Debug, Default)]
struct Names {
    hashes: Vec<u32>,
    text: Vec<u8>,
    ends: Vec<u32>,
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

    /// An empty ad with room for as much as the one before. From now on its names are compared with those of that one.
    pub(crate) fn begin(&mut self) -> ClassAd {
        self.alike = true;
        ClassAd::sized_as(self.names.hashes.len().min(256), self.text.min(1 << 16))
    }

    /// The ad is complete.
    pub(crate) fn end(&mut self, ad: &ClassAd) {
        self.alike = false;
        self.text = ad.extent().1;
        if ad.hashes() != self.names.hashes {
            let names = &mut self.names;
            names.hashes.clear();
            names.hashes.extend_from_slice(ad.hashes());
            names.text.clear();
            names.ends.clear();
            for name in ad.names() {
                names.text.extend_from_slice(name);
                names.ends.push(u32::try_from(names.text.len()).unwrap_or(u32::MAX));
            }
        }
    }

    /// The hash of a name that is to be the ad's next, if it cannot be one of those before: all of them are those of the ad
    /// before, and so is this.
    pub(crate) fn hash_of_next(&mut self, ad: &ClassAd, name: &[u8]) -> Option<u32> {
        let at = ad.len();
        let hash = self.names.is_at(at, name).then(|| self.names.hashes[at]).filter(|_| self.alike);
        self.alike = hash.is_some();
        hash
    }

    fn is_useless(&self) -> bool {
        self.tried > TRIAL && self.found < self.tried / 8
    }
}

impl Names {
    fn is_at(&self, at: usize, name: &[u8]) -> bool {
        let Some(end) = self.ends.get(at) else { return false };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text[start as usize..*end as usize] == *name
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
    #[test]
    fn ads_with_the_names_of_the_ad_before_and_others_are_what_they_are() {
        let mut memo = Memo::default();
        let texts = [
            "A = 1\nB = 2\nC = 3",
            "A = 4\nB = 5\nC = 6",
            "A = 1\nA = 2\nB = 3",
            "A = 7\nb = 8\nB = 9\nC = 1",
            "A = 1",
        ];
        for text in texts.iter().chain(&texts) {
            let mut ad = memo.begin();
            let mut plain = ClassAd::new();
            for line in text.lines() {
                ad.take_line(line.as_bytes(), Some(&mut memo)).unwrap();
                plain.insert_line(line.as_bytes()).unwrap();
            }
            memo.end(&ad);
            assert_eq!(ad.unparse(), plain.unparse());
            assert!(ad.names().all(|name| ad.contains(name)), "{text}");
        }
    }
}
