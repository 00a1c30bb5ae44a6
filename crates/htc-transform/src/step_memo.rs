//! Cached results of a step. Most ads of a stream have the same attributes, and most macros expand to the same text for
//! every ad, so the results are often needed again.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use bstr::BString;
use rustc_hash::FxHashMap;

use htc_classad::regex::{Captures, MatchError, Regex, SearchOptions};
use htc_classad::{ClassAd, Expr, ParseError};

/// Groups of a match, up to the last group that is part of the match.
pub(super) type MatchGroups = Arc<[Range<usize>]>;

/// Result of matching a name: its groups, or `None` if the name does not match.
pub(super) type MatchResult = Result<Option<MatchGroups>, MatchError>;

/// Maximum number of names that a pattern caches.
const MAX_REMEMBERED_NAMES: usize = 2048;
/// Maximum length of cached texts and names, in bytes.
const MAX_REMEMBERED_BYTES: usize = 4096;

/// Cached results of one step. The cache never changes the result of the step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepMemo {
    parsed: RefCell<Option<(BString, Expr)>>,
    matched: RefCell<FxHashMap<BString, MatchResult>>,
    selected: RefCell<Option<PatternSelection>>,
    buffer: RefCell<Vec<u8>>,
}

/// Matching attributes of an ad, with their new names.
pub(super) type RenamePairs = Arc<[(BString, BString)]>;

/// Attributes of the previous ad that a pattern selected.
#[derive(Clone, Debug)]
struct PatternSelection {
    template: BString,
    /// Names of the ad's attributes, concatenated; `ends` contains the end of each name.
    names: Vec<u8>,
    ends: Vec<usize>,
    pairs: RenamePairs,
}

impl StepMemo {
    /// Takes the buffer for the step's text. [`StepMemo::return_buffer`] stores it for the next use.
    pub(super) fn take_buffer(&self) -> Vec<u8> {
        self.buffer.take()
    }

    /// Stores the buffer for the next [`StepMemo::take_buffer`].
    pub(super) fn return_buffer(&self, buffer: Vec<u8>) {
        if buffer.capacity() <= MAX_REMEMBERED_BYTES {
            self.buffer.replace(buffer);
        }
    }

    /// Parses an expanded text, or returns the previously parsed expression if the text is the same.
    pub(super) fn parse_cached(
        &self,
        text: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<Expr, ParseError>,
    ) -> Result<Expr, ParseError> {
        if let Some((known, expr)) = &*self.parsed.borrow()
            && known == text
        {
            return Ok(expr.clone());
        }
        let expr = parse(text)?;
        if text.len() <= MAX_REMEMBERED_BYTES {
            let mut parsed = self.parsed.borrow_mut();
            match &mut *parsed {
                Some((known, old)) => {
                    known.clear();
                    known.extend_from_slice(text);
                    *old = expr.clone();
                }
                None => *parsed = Some((text.into(), expr.clone())),
            }
        }
        Ok(expr)
    }

    /// Returns the pattern's selection from the previous ad if this ad has the same names in the same order, otherwise
    /// `None`.
    pub(super) fn cached_selection(&self, ad: &ClassAd, template: &[u8]) -> Option<RenamePairs> {
        let selected = self.selected.borrow();
        let selected = selected.as_ref().filter(|known| known.ends.len() == ad.len())?;
        let mut start = 0;
        let same = ad.names().zip(&selected.ends).all(|(name, &end)| {
            let known = &selected.names[start..end];
            start = end;
            name == known
        });
        (same && selected.template == template).then(|| Arc::clone(&selected.pairs))
    }

    /// Caches the attributes that the pattern selected from an ad.
    pub(super) fn cache_selection(&self, ad: &ClassAd, template: &[u8], pairs: &RenamePairs) {
        let mut names = Vec::new();
        let mut ends = Vec::with_capacity(ad.len());
        for name in ad.names() {
            names.extend_from_slice(name);
            ends.push(names.len());
        }
        let kept = names.len() <= MAX_REMEMBERED_NAMES * 32;
        *self.selected.borrow_mut() = kept.then(|| PatternSelection {
            template: template.into(),
            names,
            ends,
            pairs: Arc::clone(pairs),
        });
    }

    /// Matches a name with the step's pattern, or returns the cached result.
    ///
    /// # Errors
    /// The match was aborted, which the reference treats as no match.
    pub(super) fn match_name(&self, regex: &Regex, name: &[u8]) -> MatchResult {
        if let Some(known) = self.matched.borrow().get(name) {
            return known.clone();
        }
        let groups =
            |captures: &Captures| (0..captures.len()).map(|n| captures.group(n).unwrap_or(0..0)).collect();
        let found = regex
            .captures(name, SearchOptions::default())
            .map(|found| found.map(|captures| groups(&captures)));
        let mut matched = self.matched.borrow_mut();
        if matched.len() < MAX_REMEMBERED_NAMES && name.len() <= MAX_REMEMBERED_BYTES {
            matched.insert(name.into(), found.clone());
        }
        found
    }
}
