//! Memo of a reader of long ads: the beginnings of lines, the order of lines, a template expression for each attribute,
//! and texts that were parsed before. The ads of a queue mostly repeat these.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ad::ClassAd;
use crate::ad_io::expr_template::ExprTemplate;
use crate::syntax::tree::{ExprTree, NodeId};
use crate::syntax::{Dialect, name};

/// Maximum number of texts in the memo.
const MAX_TEXTS: usize = 1024;
/// Maximum length of a text in the memo, in bytes; longer texts are parsed each time.
const MAX_TEXT_LENGTH: usize = 4096;
/// Number of lookups after which the hits are counted. If fewer than one in eight lookups was a hit, no more texts are
/// added.
const TRIAL_LOOKUPS: u32 = 4096;
/// Maximum number of line beginnings and of templates, so that untrusted ads cannot exhaust memory.
const MAX_LINES: usize = 4096;
const MAX_TEMPLATES: usize = 1024;
/// Number of misses after which a new template is learned only at every eighth miss. Learning is expensive, and if two
/// expressions alternate, the template of one should remain.
const MISSES_BEFORE_SAMPLING: u32 = 8;
/// Maximum size in bytes of a discarded ad whose memory is reused.
const MAX_SPARE_SIZE: usize = 1 << 20;
/// Capacity for changes after reading an ad: numbers of attributes and of bytes of text.
const EXTRA_CAPACITY: (usize, usize) = (16, 512);
/// Usual separator between a name and its value.
pub(crate) const NAME_VALUE_SEPARATOR: &[u8] = b" = ";

/// Attribute that every job ad has exactly once. A second occurrence in one ad means that two ads were joined by
/// mistake.
pub(crate) const CLUSTER_ID: &[u8] = b"ClusterId";

/// Number that means "no line".
pub(crate) const NO_LINE: u32 = u32::MAX;

/// Bounded memo of lines and texts, owned by the reader of a stream.
#[derive(Debug)]
pub(crate) struct LineMemo {
    /// Dialect of all texts: old syntax, in the mode of the reader.
    pub(crate) dialect: Dialect,
    /// True if a value must extend to the end of its line.
    pub(crate) exact: bool,
    /// True if lines may contain NUL bytes. A NUL byte ends the line that contains it.
    pub(crate) may_have_nul: bool,
    lines: Vec<KnownLine>,
    by_beginning: FxHashMap<Box<[u8]>, u32>,
    by_hash: FxHashMap<u32, u32>,
    texts: ParsedTexts,
    template_count: usize,
    /// Number of the previous line of the current ad.
    last_line: u32,
    /// Number of the current ad.
    ad_number: u64,
    /// Number of lines of the current ad that set [`CLUSTER_ID`].
    cluster_id_count: u32,
    /// True if the last line read has an integer that does not fit in 64 bits and whose text was not in the memo.
    pub(crate) has_large_integer: bool,
    /// True if all names of the current ad so far are known. A known line that has not occurred in the ad is then
    /// certainly a new attribute.
    all_names_known: bool,
    /// Number of attributes and number of bytes of text of the previous ad.
    last_ad_size: (usize, usize),
    /// Discarded ad whose memory is reused, or `None`.
    spare_ad: Option<ClassAd>,
}

/// Lines of different ads that have the same beginning.
#[derive(Debug)]
pub(crate) struct KnownLine {
    /// Beginning of the line up to the value, usually `Name = `.
    pub(crate) beginning: Box<[u8]>,
    /// Offset and length of the name within the beginning.
    name: (u32, u32),
    hash: u32,
    /// Index of the name in the reader's list of wanted names.
    pub(crate) wanted_index: u32,
    /// Number of the line that last followed this line.
    next_line: u32,
    /// Number of the last ad that had this line.
    last_ad_number: u64,
    /// True if the beginning has the form in which ads are printed.
    pub(crate) is_usual: bool,
    /// True if the memo may have the same name with a different beginning.
    has_other_beginning: bool,
    /// True if the name is [`CLUSTER_ID`].
    is_cluster_id: bool,
    /// Template from an expression on this line, or `None`.
    template: Option<Box<ExprTemplate>>,
    misses: u32,
}

/// Texts that were parsed before, with their expressions.
#[derive(Debug, Default)]
struct ParsedTexts {
    by_text: FxHashMap<Box<[u8]>, (NodeId, Arc<ExprTree>)>,
    lookups: u32,
    hits: u32,
}

impl Default for LineMemo {
    fn default() -> Self {
        LineMemo::new(Dialect::old_syntax(), false)
    }
}

impl LineMemo {
    /// Creates an empty memo for long ads in the mode of a dialect. If `exact` is true, values must extend to the end
    /// of their line.
    pub(crate) fn new(dialect: Dialect, exact: bool) -> Self {
        LineMemo {
            dialect: dialect.old(),
            exact,
            may_have_nul: true,
            lines: Vec::new(),
            by_beginning: FxHashMap::default(),
            by_hash: FxHashMap::default(),
            texts: ParsedTexts::default(),
            template_count: 0,
            last_line: NO_LINE,
            ad_number: 0,
            cluster_id_count: 0,
            has_large_integer: false,
            all_names_known: false,
            last_ad_size: (0, 0),
            spare_ad: None,
        }
    }

    /// Begins a new ad and returns it, with the capacity of the previous ad.
    pub(crate) fn begin_ad(&mut self) -> ClassAd {
        self.begin_caller_ad();
        self.spare_ad.take().unwrap_or_else(|| {
            let (attributes, text) = self.last_ad_size;
            ClassAd::sized_as(attributes.min(256) + EXTRA_CAPACITY.0, text.min(1 << 16) + EXTRA_CAPACITY.1)
        })
    }

    /// Begins a new ad. The caller provides the empty ad.
    pub(crate) fn begin_caller_ad(&mut self) {
        self.ad_number += 1;
        self.cluster_id_count = 0;
        self.all_names_known = true;
        self.last_line = NO_LINE;
    }

    /// Takes a discarded ad, whose memory is reused for a later ad.
    pub(crate) fn reuse(&mut self, mut ad: ClassAd) {
        if ad.content_size().1 <= MAX_SPARE_SIZE {
            ad.clear();
            self.spare_ad = Some(ad);
        }
    }

    /// Records the size of a complete ad.
    pub(crate) fn end_ad(&mut self, ad: &ClassAd) {
        self.all_names_known = false;
        self.last_ad_size = ad.content_size();
    }

    /// Returns true if the current ad sets [`CLUSTER_ID`] more than once.
    pub(crate) fn repeats_cluster_id(&self) -> bool {
        self.cluster_id_count > 1
    }

    /// Returns the number of the line that is expected next: the line that last followed the previous line of this ad.
    /// At the beginning of an ad, returns 0, the number of the first line of the memo.
    #[inline]
    pub(crate) fn expected_line(&self) -> u32 {
        self.lines.get(self.last_line as usize).map_or(0, |line| line.next_line)
    }

    #[inline]
    pub(crate) fn line_by_number(&self, number: u32) -> Option<&KnownLine> {
        self.lines.get(number as usize)
    }

    /// Returns the number of the known line with this beginning, or `None`.
    pub(crate) fn find_line(&self, beginning: &[u8]) -> Option<u32> {
        self.by_beginning.get(beginning).copied()
    }

    /// Adds the beginning of a line and returns its number, or [`NO_LINE`] if the memo is full or the name is not an
    /// identifier. `at` is the offset of the name; `wanted` is its index among the wanted names.
    pub(crate) fn add_line(&mut self, beginning: &[u8], at: usize, name: &[u8], wanted: u32) -> u32 {
        let is_identifier = !name[0].is_ascii_digit()
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if self.lines.len() >= MAX_LINES || !is_identifier {
            return NO_LINE;
        }
        let (number, hash) = (self.lines.len() as u32, name::hash(name));
        let same_hash = self.by_hash.insert(hash, number);
        if let Some(other) = same_hash.and_then(|other| self.lines.get_mut(other as usize)) {
            other.has_other_beginning = true;
        }
        self.by_beginning.insert(beginning.into(), number);
        self.lines.push(KnownLine {
            beginning: beginning.into(),
            name: (at as u32, name.len() as u32),
            hash,
            wanted_index: wanted,
            next_line: NO_LINE,
            last_ad_number: 0,
            is_usual: at == 0
                && name.len() + NAME_VALUE_SEPARATOR.len() == beginning.len()
                && beginning.ends_with(NAME_VALUE_SEPARATOR),
            has_other_beginning: same_hash.is_some(),
            is_cluster_id: name.eq_ignore_ascii_case(CLUSTER_ID),
            template: None,
            misses: 0,
        });
        number
    }

    /// Records that the expected line is the next one of the ad. Returns the same as
    /// [`LineMemo::enter_line`].
    #[inline]
    pub(crate) fn accept_expected(&mut self, number: u32) -> Option<(&KnownLine, Option<u32>)> {
        let line = self.lines.get_mut(number as usize)?;
        self.last_line = number;
        let is_new =
            self.all_names_known && !line.has_other_beginning && line.last_ad_number != self.ad_number;
        line.last_ad_number = self.ad_number;
        self.cluster_id_count += u32::from(line.is_cluster_id);
        let new = is_new.then_some(line.hash);
        Some((line, new))
    }

    /// Records that a line follows in the current ad. Returns the hash of its name if the ad certainly lacks the name,
    /// or else `None`.
    #[inline]
    pub(crate) fn enter_line(&mut self, number: u32) -> Option<u32> {
        if let Some(last) = self.lines.get_mut(self.last_line as usize) {
            last.next_line = number;
        }
        match self.accept_expected(number) {
            Some((_, new)) => new,
            None => {
                (self.last_line, self.all_names_known) = (NO_LINE, false);
                None
            }
        }
    }

    /// Records a name that was read from another syntax, as [`LineMemo::enter_line`] does for a line. Returns the
    /// number of its line, and the hash if the ad certainly lacks the name.
    pub(crate) fn enter_name(&mut self, name: &[u8]) -> (u32, Option<u32>) {
        let expected = self.expected_line();
        if self.line_by_number(expected).is_some_and(|line| line.is_usual && line.name() == name) {
            return (expected, self.enter_line(expected));
        }
        let beginning = [name, NAME_VALUE_SEPARATOR].concat();
        let number = match self.find_line(&beginning) {
            Some(number) => number,
            None if name.is_empty() => NO_LINE,
            None => self.add_line(&beginning, 0, name, NO_LINE),
        };
        (number, self.enter_line(number))
    }

    /// Changes the index of a name among the wanted names to `wanted`.
    pub(crate) fn set_wanted(&mut self, name: &[u8], wanted: u32) {
        for line in &mut self.lines {
            if line.name().eq_ignore_ascii_case(name) {
                line.wanted_index = wanted;
            }
        }
    }

    /// Returns true if a text matches the template of a line or is in the memo, which means that it is a valid
    /// expression.
    pub(crate) fn is_known_expression(&mut self, number: u32, text: &[u8]) -> bool {
        let example = self.line_by_number(number).and_then(|line| line.template.as_ref());
        example.is_some_and(|example| example.matches_text(text)) || self.texts.get(text).is_some()
    }

    /// Returns the expression for a text that was parsed before or matches the template of a line, or `None`. The
    /// template is tried last, because a text that was parsed before keeps its tree and the cached printed form.
    pub(crate) fn recall_expression(&mut self, number: u32, text: &[u8]) -> Option<(NodeId, Arc<ExprTree>)> {
        let example = self.lines.get(number as usize).and_then(|line| line.template.as_ref());
        if let Some(known) =
            example.and_then(|example| example.parsed_if_same(text)).or_else(|| self.texts.get(text))
        {
            return Some(known);
        }
        let (root, tree) = example?.build_tree(text)?;
        self.texts.remember(text, root, &tree);
        Some((root, tree))
    }

    /// Adds an expression that was parsed on a line to the memo, and to the templates if appropriate.
    pub(crate) fn learn_expression(&mut self, number: u32, text: &[u8], root: NodeId, tree: &Arc<ExprTree>) {
        if text.len() > MAX_TEXT_LENGTH {
            return;
        }
        self.texts.remember(text, root, tree);
        let Some(line) = self.lines.get_mut(number as usize) else { return };
        let learns = match line.template {
            None => self.template_count < MAX_TEMPLATES,
            Some(_) => {
                line.misses = line.misses.saturating_add(1);
                line.misses < MISSES_BEFORE_SAMPLING || line.misses.is_multiple_of(MISSES_BEFORE_SAMPLING)
            }
        };
        if learns {
            self.template_count += usize::from(line.template.is_none());
            line.template = Some(Box::new(ExprTemplate::new(text, root, tree)));
        }
    }
}

impl KnownLine {
    #[inline]
    pub(crate) fn name(&self) -> &[u8] {
        &self.beginning[self.name.0 as usize..][..self.name.1 as usize]
    }
}

impl ParsedTexts {
    /// Returns the parsed expression of a text, or `None` if it is not in the memo.
    fn get(&mut self, text: &[u8]) -> Option<(NodeId, Arc<ExprTree>)> {
        if text.len() > MAX_TEXT_LENGTH || self.are_hits_rare() {
            return None;
        }
        self.lookups = self.lookups.saturating_add(1);
        let (root, tree) = self.by_text.get(text)?;
        self.hits = self.hits.saturating_add(1);
        Some((*root, Arc::clone(tree)))
    }

    /// Adds a text to the memo.
    fn remember(&mut self, text: &[u8], root: NodeId, tree: &Arc<ExprTree>) {
        if text.len() > MAX_TEXT_LENGTH || self.are_hits_rare() {
            return;
        }
        if self.by_text.len() >= MAX_TEXTS {
            self.by_text.clear();
        }
        self.by_text.insert(text.into(), (root, Arc::clone(tree)));
    }

    fn are_hits_rare(&self) -> bool {
        self.lookups > TRIAL_LOOKUPS && self.hits < self.lookups / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad::ClassAd;
    use crate::ad_io::line_reader::KeptAttributes;

    fn take(memo: &mut LineMemo, ad: &mut ClassAd, line: &str) {
        memo.read_line(line.as_bytes(), None, KeptAttributes::All, ad).unwrap();
    }

    #[test]
    fn repeated_texts_share_their_tree_and_unique_ones_are_not_cached() {
        let mut memo = LineMemo::default();
        let mut ad = ClassAd::new();
        // The texts alternate, so that each text follows its name only in every second ad.
        for round in 0..4 {
            let text = if round % 2 == 0 { "B + C" } else { "B - C" };
            take(&mut memo, &mut ad, &format!("A = {text}"));
            assert_eq!(ad.get("a").unwrap().unparse(), text);
        }
        assert!(memo.texts.hits > 0);
        for unique in 0..10_000 {
            take(&mut memo, &mut ad, &format!("A = B{unique}"));
            assert_eq!(ad.get("a").unwrap().unparse(), format!("B{unique}"));
        }
        assert!(memo.texts.are_hits_rare() && memo.texts.by_text.len() <= MAX_TEXTS);
    }

    #[test]
    fn texts_that_differ_in_numbers_share_a_template() {
        let mut memo = LineMemo::default();
        let mut ad = ClassAd::new();
        for unique in 0..1000 {
            take(&mut memo, &mut ad, &format!("A = B + {unique}"));
            assert_eq!(ad.get("a").unwrap().unparse(), format!("B + {unique}"));
        }
        // Parsing a text again would have counted as a miss or added a template.
        assert!(memo.lines[0].misses == 0 && memo.template_count == 1);
    }

    #[test]
    fn ads_are_read_correctly_whether_or_not_their_names_repeat() {
        let mut memo = LineMemo::default();
        let texts = [
            "A = 1\nB = 2\nC = 3",
            "A = 4\nB = 5\nC = 6",
            "A = 1\nA = 2\nB = 3",
            "A = 7\nb = 8\nB = 9\nC = 1",
            "A = 1",
        ];
        for text in texts.iter().chain(&texts) {
            let mut ad = memo.begin_ad();
            let mut plain = ClassAd::new();
            for line in text.lines() {
                take(&mut memo, &mut ad, line);
                plain.insert_line(line.as_bytes()).unwrap();
            }
            memo.end_ad(&ad);
            assert_eq!(ad.unparse(), plain.unparse());
            assert!(ad.names().all(|name| ad.contains(name)), "{text}");
            memo.reuse(ad);
        }
    }
}
