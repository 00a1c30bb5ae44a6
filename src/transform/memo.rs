//! What a step has worked out before: most ads of a stream have the same attributes, and most macros expand to the same
//! text for each of them.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use bstr::BString;
use rustc_hash::FxHashMap;

use crate::classad::regex::{Captures, MatchError, Regex, Search};
use crate::classad::{Expr, ParseError};

/// The groups of a match that took place, as far as the last that did.
pub(super) type Groups = Rc<[Range<usize>]>;

/// How a match ended.
pub(super) type Match = Result<Option<Groups>, MatchError>;

/// How many names a pattern remembers.
const NAMES: usize = 2048;
/// Longer texts and names are not remembered.
const LONGEST: usize = 4096;

/// The memory of one step. It makes no difference to what is done.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    parsed: RefCell<Option<(BString, Expr)>>,
    matched: RefCell<FxHashMap<BString, Match>>,
}

impl Memo {
    /// The expression of an expanded text: the one of the last time if the text is the same.
    pub(super) fn parse(
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
        if text.len() <= LONGEST {
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

    /// Whether the pattern of the step matches a name, and how.
    ///
    /// # Errors
    /// The match was given up, which counts as none in the reference.
    pub(super) fn matches(&self, regex: &Regex, name: &[u8]) -> Match {
        if let Some(known) = self.matched.borrow().get(name) {
            return known.clone();
        }
        let groups =
            |captures: &Captures| (0..captures.len()).map(|n| captures.group(n).unwrap_or(0..0)).collect();
        let found =
            regex.captures(name, Search::default()).map(|found| found.map(|captures| groups(&captures)));
        let mut matched = self.matched.borrow_mut();
        if matched.len() < NAMES && name.len() <= LONGEST {
            matched.insert(name.into(), found.clone());
        }
        found
    }
}
