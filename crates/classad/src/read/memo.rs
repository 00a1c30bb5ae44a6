//! What the reader of a stream remembers: texts of expressions that were parsed already, and the names of the ad before. The
//! ads of a queue repeat most of theirs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ad::ClassAd;
use crate::read::skeleton::Example;
use crate::syntax::Dialect;
use crate::syntax::tree::{NodeId, Tree};

/// Texts kept at most.
const KEPT: usize = 1024;
/// Texts longer than this are parsed each time.
const LONGEST: usize = 4096;
/// So many texts are looked up before their hits are counted; where fewer than one in eight is found, nothing more is kept.
const TRIAL: u32 = 4096;

/// A bounded memory of texts and what they were parsed into. It belongs to the reader of a stream.
#[derive(Debug)]
pub(crate) struct Memo {
    /// In which all texts are read: values of long ads, in the mode of the reader.
    pub(crate) dialect: Dialect,
    known: FxHashMap<Box<[u8]>, (NodeId, Arc<Tree>)>,
    tried: u32,
    found: u32,
    /// An expression for the hash of a name: the one that stood there last, or one with the same skeleton.
    examples: FxHashMap<u32, Habit>,
    names: Names,
    /// Whether the names of the present ad have been the first of those so far.
    alike: bool,
    /// How much text the ad before held.
    text: usize,
    /// An ad nobody needs any more, for its memory.
    spare: Option<ClassAd>,
}

impl Default for Memo {
    fn default() -> Self {
        Memo::new(Dialect::old_syntax())
    }
}

/// What stands behind a name.
#[derive(Debug)]
struct Habit {
    example: Example,
    /// How often no expression could be made of the example.
    misses: u32,
}

/// Names of which examples are kept at most.
const EXAMPLES: usize = 1024;
/// From so many misses on a new example is taken at one of as many only: learning costs, and of two that take turns one is to stay.
const MISSES: u32 = 8;

/// The names of an ad in the order in which they came.
#[derive(Debug, Default)]
struct Names {
    hashes: Vec<u32>,
    /// What a line with each begins with, `Name = `, one behind the other.
    text: Vec<u8>,
    ends: Vec<u32>,
}

/// What stands between a name and its value.
const EQUALS: &[u8] = b" = ";
/// Of an ad that is larger the memory is not kept.
const SPARE: usize = 1 << 20;
/// Room for what is added to an ad after it has been read: attributes and bytes.
const MORE: (usize, usize) = (16, 512);

impl Memo {
    /// An empty memory of values of long ads in the mode of a dialect.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Memo {
            dialect: dialect.old(),
            known: FxHashMap::default(),
            tried: 0,
            found: 0,
            examples: FxHashMap::default(),
            names: Names::default(),
            alike: false,
            text: 0,
            spare: None,
        }
    }

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
        self.spare.take().unwrap_or_else(|| {
            let attributes = self.names.hashes.len().min(256);
            ClassAd::sized_as(attributes + MORE.0, self.text.min(1 << 16) + MORE.1)
        })
    }

    /// Takes back an ad that is done with: its memory becomes that of the next.
    pub(crate) fn reuse(&mut self, mut ad: ClassAd) {
        if ad.extent().1 <= SPARE {
            ad.clear();
            self.spare = Some(ad);
        }
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
                names.text.extend_from_slice(EQUALS);
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

    /// What the next line of an ad begins with if it has the name that the ad before had at this place, and the hash of that
    /// name. Only where a line that begins so can be nothing but an attribute.
    #[inline]
    pub(crate) fn next_line(&self, at: usize) -> Option<(u32, &[u8])> {
        let line = self.names.line_at(at).filter(|_| self.alike)?;
        (line[0].is_ascii_alphabetic() || line[0] == b'_').then(|| (self.names.hashes[at], line))
    }

    /// The expression that a text is, if it is the example behind the name of that hash.
    #[inline]
    pub(crate) fn same(&self, hash: u32, text: &[u8]) -> Option<(NodeId, Arc<Tree>)> {
        self.examples.get(&hash)?.example.same(text)
    }

    /// The expression that a text is, if it was met before, or can be made of the example behind the name of that hash. What is
    /// met again keeps its tree, and with it the text that was printed of it: making one comes last.
    pub(crate) fn recall(&mut self, hash: u32, text: &[u8]) -> Option<(NodeId, Arc<Tree>)> {
        if let Some(known) = self.same(hash, text).or_else(|| self.get(text)) {
            return Some(known);
        }
        let (root, tree) = self.examples.get(&hash)?.example.made(text)?;
        self.keep(text, root, &tree);
        Some((root, tree))
    }

    /// The expression of that text stands behind the name of that hash.
    pub(crate) fn learn(&mut self, hash: u32, text: &[u8], root: NodeId, tree: &Arc<Tree>) {
        if text.len() > LONGEST {
            return;
        }
        if let Some(habit) = self.examples.get_mut(&hash) {
            habit.misses = habit.misses.saturating_add(1);
            if habit.misses < MISSES || habit.misses % MISSES == 0 {
                habit.example = Example::new(text, root, tree);
            }
        } else if self.examples.len() < EXAMPLES {
            let example = Example::new(text, root, tree);
            self.examples.insert(hash, Habit { example, misses: 0 });
        }
    }

    fn is_useless(&self) -> bool {
        self.tried > TRIAL && self.found < self.tried / 8
    }
}

impl Names {
    #[inline]
    fn line_at(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    fn is_at(&self, at: usize, name: &[u8]) -> bool {
        self.line_at(at).is_some_and(|line| line[..line.len() - EQUALS.len()] == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad::ClassAd;

    #[test]
    fn repeated_texts_share_their_tree_and_unique_ones_are_given_up() {
        let mut memo = Memo::default();
        let mut ad = ClassAd::new();
        // By turns, so that each is behind its name only every other time.
        for round in 0..4 {
            let text = if round % 2 == 0 { "B + C" } else { "B - C" };
            ad.take_line(format!("A = {text}").as_bytes(), &mut memo).unwrap();
            assert_eq!(ad.get("a").unwrap().unparse(), text);
        }
        assert!(memo.found > 0);
        for unique in 0..10_000 {
            ad.take_line(format!("A = B{unique}").as_bytes(), &mut memo).unwrap();
            assert_eq!(ad.get("a").unwrap().unparse(), format!("B{unique}"));
        }
        assert!(memo.is_useless() && memo.known.len() <= KEPT);
    }

    #[test]
    fn texts_that_differ_in_numbers_are_made_of_one_another() {
        let mut memo = Memo::default();
        let mut ad = ClassAd::new();
        for unique in 0..1000 {
            ad.take_line(format!("A = B + {unique}").as_bytes(), &mut memo).unwrap();
            assert_eq!(ad.get("a").unwrap().unparse(), format!("B + {unique}"));
        }
        // Each that was parsed would have been learnt.
        assert!(memo.examples.values().all(|habit| habit.misses == 0) && memo.examples.len() == 1);
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
                ad.take_line(line.as_bytes(), &mut memo).unwrap();
                plain.insert_line(line.as_bytes()).unwrap();
            }
            memo.end(&ad);
            assert_eq!(ad.unparse(), plain.unparse());
            assert!(ad.names().all(|name| ad.contains(name)), "{text}");
            memo.reuse(ad);
        }
    }

    #[test]
    fn lines_that_are_taken_at_a_glance_are_what_they_are() {
        let values = [
            "1",
            "-12",
            "0",
            "-0",
            "007",
            "123456789012345678",
            "1234567890123456789",
            "-",
            "1.5",
            "-0.25",
            "1.",
            "1e3",
            "1 + 1",
            "true",
            "FALSE",
            "truex",
            "undefined",
            "\"\"",
            "\"a b\"",
            "\"a\\\"b\"",
            "\"a\\\\\"",
            "\"a\" + \"b\"",
            "\"open",
            " 5",
            "\"a\" ",
            "\"a\"\r",
            "5\r",
            "B + 1",
            "B + 1 ",
            "B + 12",
            "\t7",
            "",
        ];
        let mut memo = Memo::default();
        let mut glances = 0;
        // Each value thrice in a row, so that it is met behind itself as well as behind others.
        for value in values.iter().flat_map(|value| [value; 3]) {
            let text = format!("A = {value}\nB = 2\n");
            let (mut ad, mut plain) = (memo.begin(), ClassAd::new());
            let mut rest = text.as_bytes();
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
                let expected = plain.insert_line(line);
                match ad.take_next(rest, &memo) {
                    Some(used) => {
                        glances += 1;
                        assert_eq!(used, end + 1, "{text}");
                        assert!(expected.is_ok(), "{text}");
                    }
                    None => {
                        let taken = ad.take_line(line, &mut memo).map(|_| ());
                        assert_eq!(taken, expected.map(|_| ()), "{text}");
                    }
                }
                rest = &rest[end + 1..];
            }
            memo.end(&ad);
            assert_eq!(ad.unparse(), plain.unparse(), "{text}");
            memo.reuse(ad);
        }
        assert!(glances > values.len(), "{glances}");
    }

    #[test]
    fn nothing_but_an_attribute_is_taken_at_a_glance() {
        let mut memo = Memo::default();
        for line in [&b" --x = 1"[..], b" *** = 1", b" #a = 1", b" ...b = 1"] {
            let mut ad = memo.begin();
            ad.take_line(line, &mut memo).unwrap();
            memo.end(&ad);
            let mut next = memo.begin();
            assert_eq!(next.take_next(&[&line[1..], b"\n"].concat(), &memo), None);
        }
    }
}
