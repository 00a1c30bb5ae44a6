//! The open `if`s of a source, with their places for messages.

use bstr::{BStr, BString};

use crate::condition::split_if_keyword;
use crate::loader::SkippedBranch;
use htc_base::text::space::trim;
use htc_base::text::{Span, caseless};

/// An open `if`.
#[derive(Clone, Debug)]
pub(super) struct OpenCondition {
    /// Text of its last `if`, `elif` or `else` line, and the number of that line.
    pub(super) branch: (BString, u32),
    /// Place of the `if`.
    pub(super) opened_at: Span,
    /// Number of characters before the `if`.
    indentation: usize,
    /// True if its condition is the same on all machines of one version.
    is_fixed: bool,
}

/// The open `if`s, from the outermost to the innermost.
#[derive(Debug, Default)]
pub(super) struct OpenConditions {
    open: Vec<OpenCondition>,
    /// An `if` without an `endif`: an `endif` with the indentation of an outer `if` has closed it.
    unclosed: Option<OpenCondition>,
    /// Last line that was probably intended as an `endif`, and true if such a line has been reported as invalid.
    misspelled_end: Option<(Span, bool)>,
}

impl OpenConditions {
    /// Returns the `if` without an `endif`: the one that the indentation shows, or else the innermost open one.
    pub(super) fn left_open(&self) -> Option<&OpenCondition> {
        self.unclosed.as_ref().or(self.open.last())
    }

    /// Returns the last line that was probably intended to end an `if`.
    pub(super) fn misspelled_end(&self) -> Option<Span> {
        self.misspelled_end.map(|(span, _)| span)
    }

    /// True if a line that was probably intended to end an `if` has been reported.
    pub(super) fn has_reported_end(&self) -> bool {
        self.misspelled_end.is_some_and(|(_, is_reported)| is_reported)
    }

    pub(super) fn add_misspelled_end(&mut self, span: Span, is_reported: bool) {
        let was_reported = self.has_reported_end();
        self.misspelled_end = Some((span, is_reported || was_reported));
    }

    /// Adds an `if` with the text of its line and the number of characters before it.
    pub(super) fn open(&mut self, (text, line): (&[u8], u32), opened_at: Span, indentation: usize) {
        let is_fixed = is_fixed_condition(text);
        self.open.push(OpenCondition { branch: (text.into(), line), opened_at, indentation, is_fixed });
    }

    /// Removes the innermost `if` at an `endif` with this number of characters before it.
    pub(super) fn close(&mut self, indentation: usize) {
        let Some(closed) = self.open.pop() else { return };
        let is_of_outer = closed.indentation > indentation
            && self.open.iter().any(|outer| outer.indentation == indentation);
        if is_of_outer {
            self.unclosed.get_or_insert(closed);
        }
    }

    /// Continues the innermost `if` with an `elif` or `else`.
    pub(super) fn begin_branch(&mut self, text: &[u8], line: u32) {
        if let Some(last) = self.open.last_mut() {
            last.branch = (text.into(), line);
            last.is_fixed |= is_fixed_condition(text);
        }
    }

    /// Returns the innermost branch, and its kind.
    pub(super) fn innermost(&self) -> ((BString, u32), SkippedBranch) {
        let branch = self.open.last().map(|open| open.branch.clone()).unwrap_or_default();
        let kind = match self.open.iter().any(|open| open.is_fixed) {
            true => SkippedBranch::NeverTaken,
            false => SkippedBranch::MayBeTakenElsewhere,
        };
        (branch, kind)
    }
}

/// True for a condition that is a literal or compares the version: `if false`, `elif version >= 25.0`.
fn is_fixed_condition(line: &[u8]) -> bool {
    let Some((_, text)) = split_if_keyword(line) else { return false };
    let text = trim(text.strip_prefix(b"!").unwrap_or(text));
    let is_word = |word: &str| caseless::eq(text, word.as_bytes());
    let is_version = caseless::starts_with(text, b"version")
        && text.get(b"version".len()).is_none_or(|next| BStr::new(b" \t<>=!").contains(next));
    is_version
        || ["true", "false", "yes", "no", "t", "f"].into_iter().any(is_word)
        || !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
