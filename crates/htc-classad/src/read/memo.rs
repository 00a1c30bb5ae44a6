//! What the reader of a stream remembers: how lines begin and which follow one another, what stands behind each name, and texts
//! that were parsed already. The ads of a queue repeat most of theirs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ad::ClassAd;
use crate::read::skeleton::Example;
use crate::syntax::tree::{NodeId, Tree};
use crate::syntax::{Dialect, name};

/// Texts kept at most.
const KEPT: usize = 1024;
/// Texts longer than this are parsed each time.
const LONGEST: usize = 4096;
/// So many texts are looked up before their hits are counted; where fewer than one in eight is found, nothing more is kept.
const TRIAL: u32 = 4096;
/// Beginnings of lines, and names behind which examples are kept, at most: ads of a stranger must not fill the memory.
const BEGINNINGS: usize = 4096;
const EXAMPLES: usize = 1024;
/// From so many misses on a new example is taken at one of as many only: learning costs, and of two that take turns one is to stay.
const MISSES: u32 = 8;
/// Of an ad that is larger the memory is not kept.
const SPARE: usize = 1 << 20;
/// Room for what is added to an ad after it has been read: attributes and bytes.
const MORE: (usize, usize) = (16, 512);
/// What stands between a name and its value, as a rule.
pub(crate) const EQUALS: &[u8] = b" = ";

/// No line.
pub(crate) const NONE: u32 = u32::MAX;

/// A bounded memory of lines and texts. It belongs to the reader of a stream.
#[derive(Debug)]
pub(crate) struct Memo {
    /// In which all texts are read: values of long ads, in the mode of the reader.
    pub(crate) dialect: Dialect,
    /// Whether values end with their line.
    pub(crate) exact: bool,
    /// Whether lines may hold NUL bytes, each of which ends its line.
    pub(crate) nul: bool,
    lines: Vec<Known>,
    by_beginning: FxHashMap<Box<[u8]>, u32>,
    by_hash: FxHashMap<u32, u32>,
    texts: Texts,
    examples: usize,
    /// The line before in the present ad.
    last: u32,
    /// The number of the present ad.
    turn: u64,
    /// Whether all names of the present ad so far are known: then what has not been met in its turn is not there.
    certain: bool,
    /// How many attributes and how much text the ad before held.
    extent: (usize, usize),
    /// An ad nobody needs any more, for its memory.
    spare: Option<ClassAd>,
}

/// Lines that begin alike.
#[derive(Debug)]
pub(crate) struct Known {
    /// The line up to its value, usually `Name = `.
    pub(crate) beginning: Box<[u8]>,
    /// Where the name stands in it.
    name: (u32, u32),
    hash: u32,
    /// What whoever reads has the name under.
    pub(crate) wanted: u32,
    /// The line that followed the last time.
    next: u32,
    /// The ad in which it stood last.
    turn: u64,
    /// Whether it begins in the form that ads are printed in.
    pub(crate) is_usual: bool,
    /// Whether the name is perhaps known with another beginning too.
    twin: bool,
    /// An expression that stood here, and how often no other could be made of it.
    example: Option<Box<Example>>,
    misses: u32,
}

/// Texts and what they were parsed into.
#[derive(Debug, Default)]
struct Texts {
    known: FxHashMap<Box<[u8]>, (NodeId, Arc<Tree>)>,
    tried: u32,
    found: u32,
}

impl Default for Memo {
    fn default() -> Self {
        Memo::new(Dialect::old_syntax(), false)
    }
}

impl Memo {
    /// An empty memory of values of long ads in the mode of a dialect, which end with their line if reading is exact.
    pub(crate) fn new(dialect: Dialect, exact: bool) -> Self {
        Memo {
            dialect: dialect.old(),
            exact,
            nul: true,
            lines: Vec::new(),
            by_beginning: FxHashMap::default(),
            by_hash: FxHashMap::default(),
            texts: Texts::default(),
            examples: 0,
            last: NONE,
            turn: 0,
            certain: false,
            extent: (0, 0),
            spare: None,
        }
    }

    /// An empty ad with room for as much as the one before, which is the present one from now on.
    pub(crate) fn begin(&mut self) -> ClassAd {
        self.turn();
        self.spare.take().unwrap_or_else(|| {
            let (attributes, text) = self.extent;
            ClassAd::sized_as(attributes.min(256) + MORE.0, text.min(1 << 16) + MORE.1)
        })
    }

    /// An ad that is empty is the present one from now on.
    pub(crate) fn turn(&mut self) {
        self.turn += 1;
        self.certain = true;
        self.last = NONE;
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
        self.certain = false;
        self.extent = ad.extent();
    }

    /// The line that is expected now, if any is.
    #[inline]
    pub(crate) fn expected(&self) -> u32 {
        self.lines.get(self.last as usize).map_or(0, |line| line.next)
    }

    #[inline]
    pub(crate) fn line(&self, number: u32) -> Option<&Known> {
        self.lines.get(number as usize)
    }

    /// The line that begins so.
    pub(crate) fn find(&self, beginning: &[u8]) -> Option<u32> {
        self.by_beginning.get(beginning).copied()
    }

    /// Remembers how a line begins, unless there are too many already or its name is no identifier; the name's place is within.
    pub(crate) fn add(&mut self, beginning: &[u8], at: usize, name: &[u8], wanted: u32) -> u32 {
        let is_identifier = !name[0].is_ascii_digit()
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if self.lines.len() >= BEGINNINGS || !is_identifier {
            return NONE;
        }
        let (number, hash) = (self.lines.len() as u32, name::hash(name));
        let twin = self.by_hash.insert(hash, number);
        if let Some(other) = twin.and_then(|other| self.lines.get_mut(other as usize)) {
            other.twin = true;
        }
        self.by_beginning.insert(beginning.into(), number);
        self.lines.push(Known {
            beginning: beginning.into(),
            name: (at as u32, name.len() as u32),
            hash,
            wanted,
            next: NONE,
            turn: 0,
            is_usual: at == 0 && name.len() + EQUALS.len() == beginning.len() && beginning.ends_with(EQUALS),
            twin: twin.is_some(),
            example: None,
            misses: 0,
        });
        number
    }

    /// The line that was expected has come: the line, and as with [`Memo::enter`] the hash of its name.
    #[inline]
    pub(crate) fn come(&mut self, number: u32) -> Option<(&Known, Option<u32>)> {
        let line = self.lines.get_mut(number as usize)?;
        self.last = number;
        let is_new = self.certain && !line.twin && line.turn != self.turn;
        line.turn = self.turn;
        let new = is_new.then_some(line.hash);
        Some((line, new))
    }

    /// The name comes next in the present ad. Its hash, if it cannot be in the ad already.
    #[inline]
    pub(crate) fn enter(&mut self, number: u32) -> Option<u32> {
        if let Some(last) = self.lines.get_mut(self.last as usize) {
            last.next = number;
        }
        match self.come(number) {
            Some((_, new)) => new,
            None => {
                (self.last, self.certain) = (NONE, false);
                None
            }
        }
    }

    /// As [`Memo::enter`] for a name that comes without a line, and its number.
    pub(crate) fn enter_name(&mut self, name: &[u8]) -> (u32, Option<u32>) {
        let expected = self.expected();
        if self.line(expected).is_some_and(|line| line.is_usual && line.name() == name) {
            return (expected, self.enter(expected));
        }
        let beginning = [name, EQUALS].concat();
        let number = match self.find(&beginning) {
            Some(number) => number,
            None if name.is_empty() => NONE,
            None => self.add(&beginning, 0, name, NONE),
        };
        (number, self.enter(number))
    }

    /// Which of the names is wanted has changed.
    pub(crate) fn want(&mut self, name: &[u8], wanted: u32) {
        for line in &mut self.lines {
            if line.name().eq_ignore_ascii_case(name) {
                line.wanted = wanted;
            }
        }
    }

    /// Whether a text is an expression, as far as is known.
    pub(crate) fn is_good(&mut self, number: u32, text: &[u8]) -> bool {
        let example = self.line(number).and_then(|line| line.example.as_ref());
        example.is_some_and(|example| example.fits(text)) || self.texts.get(text).is_some()
    }

    /// The expression that a text is, if it was met before, or can be made of the example of a line. What is
    /// met again keeps its tree, and with it the text that was printed of it: making one comes last.
    pub(crate) fn recall(&mut self, number: u32, text: &[u8]) -> Option<(NodeId, Arc<Tree>)> {
        let example = self.lines.get(number as usize).and_then(|line| line.example.as_ref());
        if let Some(known) = example.and_then(|example| example.same(text)).or_else(|| self.texts.get(text)) {
            return Some(known);
        }
        let (root, tree) = example?.made(text)?;
        self.texts.keep(text, root, &tree);
        Some((root, tree))
    }

    /// An expression of that text stands in a line.
    pub(crate) fn learn(&mut self, number: u32, text: &[u8], root: NodeId, tree: &Arc<Tree>) {
        if text.len() > LONGEST {
            return;
        }
        self.texts.keep(text, root, tree);
        let Some(line) = self.lines.get_mut(number as usize) else { return };
        let learns = match line.example {
            None => self.examples < EXAMPLES,
            Some(_) => {
                line.misses = line.misses.saturating_add(1);
                line.misses < MISSES || line.misses.is_multiple_of(MISSES)
            }
        };
        if learns {
            self.examples += usize::from(line.example.is_none());
            line.example = Some(Box::new(Example::new(text, root, tree)));
        }
    }
}

impl Known {
    #[inline]
    pub(crate) fn name(&self) -> &[u8] {
        &self.beginning[self.name.0 as usize..][..self.name.1 as usize]
    }
}

impl Texts {
    /// What a text was parsed into before.
    fn get(&mut self, text: &[u8]) -> Option<(NodeId, Arc<Tree>)> {
        if text.len() > LONGEST || self.are_useless() {
            return None;
        }
        self.tried = self.tried.saturating_add(1);
        let (root, tree) = self.known.get(text)?;
        self.found = self.found.saturating_add(1);
        Some((*root, Arc::clone(tree)))
    }

    /// Remembers a text.
    fn keep(&mut self, text: &[u8], root: NodeId, tree: &Arc<Tree>) {
        if text.len() > LONGEST || self.are_useless() {
            return;
        }
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        self.known.insert(text.into(), (root, Arc::clone(tree)));
    }

    fn are_useless(&self) -> bool {
        self.tried > TRIAL && self.found < self.tried / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad::ClassAd;
    use crate::read::lines::Keep;

    fn take(memo: &mut Memo, ad: &mut ClassAd, line: &str) {
        memo.take(line.as_bytes(), None, Keep::All, ad).unwrap();
    }

    #[test]
    fn repeated_texts_share_their_tree_and_unique_ones_are_given_up() {
        let mut memo = Memo::default();
        let mut ad = ClassAd::new();
        // By turns, so that each is behind its name only every other time.
        for round in 0..4 {
            let text = if round % 2 == 0 { "B + C" } else { "B - C" };
            take(&mut memo, &mut ad, &format!("A = {text}"));
            assert_eq!(ad.get("a").unwrap().unparse(), text);
        }
        assert!(memo.texts.found > 0);
        for unique in 0..10_000 {
            take(&mut memo, &mut ad, &format!("A = B{unique}"));
            assert_eq!(ad.get("a").unwrap().unparse(), format!("B{unique}"));
        }
        assert!(memo.texts.are_useless() && memo.texts.known.len() <= KEPT);
    }

    #[test]
    fn texts_that_differ_in_numbers_are_made_of_one_another() {
        let mut memo = Memo::default();
        let mut ad = ClassAd::new();
        for unique in 0..1000 {
            take(&mut memo, &mut ad, &format!("A = B + {unique}"));
            assert_eq!(ad.get("a").unwrap().unparse(), format!("B + {unique}"));
        }
        // Each that was parsed would have been learnt.
        assert!(memo.lines[0].misses == 0 && memo.examples == 1);
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
                take(&mut memo, &mut ad, line);
                plain.insert_line(line.as_bytes()).unwrap();
            }
            memo.end(&ad);
            assert_eq!(ad.unparse(), plain.unparse());
            assert!(ad.names().all(|name| ad.contains(name)), "{text}");
            memo.reuse(ad);
        }
    }
}
