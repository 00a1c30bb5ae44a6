//! Regular expressions in the reference's dialect: PCRE2 on bytes, unanchored.
//!
//! `regexp()` and related functions, patterns of transforms and map files all use this module. A match may take at most
//! ten million steps (the default limit of PCRE2, which the reference keeps) and 512 MiB of memory. A match that needs
//! more fails with an error instead of running for a very long time.
//!
//! Without the feature `regex`, the crate contains no C code, and only patterns that are plain text, such as `^ana`,
//! work. With any other pattern, functions like `regexp()` return `error`.
//!
//! ```
//! # #[cfg(feature = "regex")] {
//! use htc_classad::regex::{Regex, RegexOptions, SearchOptions};
//! let regex = Regex::compile("^slot([0-9]+)", RegexOptions::NONE).unwrap();
//! let found = regex.captures("slot12@node", SearchOptions::default()).unwrap().unwrap();
//! assert_eq!((found.whole_match(), found.group(1)), (0..6, Some(4..6)));
//! # }
//! ```

use std::ops::Range;

mod cache;
mod literal_pattern;
#[cfg(feature = "regex")]
mod pcre2;
#[cfg(not(feature = "regex"))]
mod unavailable;

pub use cache::RegexCache;
pub(crate) use literal_pattern::LiteralPattern;
#[cfg(feature = "regex")]
pub use pcre2::Regex;
#[cfg(not(feature = "regex"))]
pub use unavailable::Regex;

/// Options for compiling a pattern.
///
/// ```
/// # #[cfg(feature = "regex")] {
/// use htc_classad::regex::{Regex, RegexOptions};
/// let regex = Regex::compile("^SLOT", RegexOptions::CASELESS).unwrap();
/// assert_eq!(regex.is_match("slot1@node"), Ok(true));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegexOptions {
    bits: u32,
}

impl RegexOptions {
    /// No options: matching is case-sensitive, `^` and `$` match at the ends of the text, `.` does not match a newline.
    pub const NONE: RegexOptions = RegexOptions { bits: 0 };
    /// Makes matching case-insensitive.
    pub const CASELESS: RegexOptions = RegexOptions { bits: 1 };
    /// Makes `^` and `$` also match at line boundaries.
    pub const MULTILINE: RegexOptions = RegexOptions { bits: 1 << 1 };
    /// Makes `.` also match a newline.
    const DOTALL: RegexOptions = RegexOptions { bits: 1 << 2 };
    /// Ignores white space and comments in the pattern.
    const EXTENDED: RegexOptions = RegexOptions { bits: 1 << 3 };
    /// Makes quantifiers match as little as possible.
    pub const UNGREEDY: RegexOptions = RegexOptions { bits: 1 << 4 };
    /// Requires that a match begins where the search begins.
    pub const ANCHORED: RegexOptions = RegexOptions { bits: 1 << 5 };

    /// Returns true if all options of `other` are set.
    #[cfg(feature = "regex")]
    const fn has(self, other: RegexOptions) -> bool {
        self.bits & other.bits == other.bits
    }

    /// Returns the options that are set in `self` or in `other`.
    ///
    /// ```
    /// use htc_classad::regex::RegexOptions;
    /// let both = RegexOptions::CASELESS.union(RegexOptions::MULTILINE);
    /// assert_eq!(both, RegexOptions::from_letters("im"));
    /// ```
    #[must_use]
    pub const fn union(self, other: RegexOptions) -> RegexOptions {
        RegexOptions { bits: self.bits | other.bits }
    }

    /// Returns the options named by the letters `i m s x`, ignoring other letters (fnCall.cpp, regexp_helper).
    ///
    /// ```
    /// use htc_classad::regex::RegexOptions;
    /// assert_eq!(RegexOptions::from_letters("iq"), RegexOptions::CASELESS);
    /// assert_eq!(RegexOptions::from_letters(""), RegexOptions::NONE);
    /// ```
    pub fn from_letters(letters: impl AsRef<[u8]>) -> RegexOptions {
        letters.as_ref().iter().fold(RegexOptions::NONE, |options, letter| match letter {
            b'i' => options.union(RegexOptions::CASELESS),
            b'm' => options.union(RegexOptions::MULTILINE),
            b's' => options.union(RegexOptions::DOTALL),
            b'x' => options.union(RegexOptions::EXTENDED),
            _ => options,
        })
    }
}

/// Error from compiling a pattern.
///
/// ```
/// # #[cfg(feature = "regex")] {
/// use htc_classad::regex::{Regex, RegexOptions};
/// let error = Regex::compile("slot(", RegexOptions::NONE).unwrap_err();
/// assert_eq!(error.to_string(), "missing closing parenthesis at byte 5 of the pattern");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {offset} of the pattern")]
#[non_exhaustive]
pub struct PatternError {
    /// PCRE2's error number; messages of transforms contain it.
    pub code: i32,
    /// Byte offset of the error in the pattern.
    pub offset: usize,
    /// PCRE2's error message.
    pub message: String,
}

/// Error of a match that was aborted because it reached the limit of steps or memory.
///
/// ```
/// # #[cfg(feature = "regex")] {
/// use htc_classad::regex::{Regex, RegexOptions};
/// let regex = Regex::compile("(a+)+$", RegexOptions::NONE).unwrap();
/// // Each further letter doubles the number of steps.
/// let error = regex.is_match("a".repeat(40) + "b").unwrap_err();
/// assert!(error.to_string().contains("takes too many steps"));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the match was stopped (PCRE2 {code}): the pattern takes too many steps on this text")]
#[non_exhaustive]
pub struct MatchError {
    /// PCRE2's error number.
    pub code: i32,
}

/// Options of one search: where it begins, and which matches it accepts.
///
/// ```
/// # #[cfg(feature = "regex")] {
/// use htc_classad::regex::{Regex, RegexOptions, SearchOptions};
/// let regex = Regex::compile("[0-9]+", RegexOptions::NONE).unwrap();
/// let after_five = SearchOptions { start: 5, ..SearchOptions::default() };
/// let found = regex.captures("slot1_2", after_five).unwrap().unwrap();
/// assert_eq!(found.whole_match(), 6..7);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// Byte offset in the subject at which the search begins.
    pub start: usize,
    /// True if the match must begin at `start` and must not be empty. Used to continue a global replacement after an
    /// empty match.
    pub anchored_not_empty: bool,
    /// True to skip empty matches.
    pub not_empty: bool,
}

/// Capture groups of a match; group 0 is the whole match.
///
/// ```
/// # #[cfg(feature = "regex")] {
/// use htc_classad::regex::{Regex, RegexOptions, SearchOptions};
/// let regex = Regex::compile("(a)|(b)|(c)", RegexOptions::NONE).unwrap();
/// let found = regex.captures("xb", SearchOptions::default()).unwrap().unwrap();
/// assert_eq!((found.whole_match(), found.group(1), found.group(2)), (1..2, None, Some(1..2)));
/// // The third group comes after the last group that took part in the match.
/// assert_eq!((found.len(), found.group(3), found.is_empty()), (3, None, false));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captures {
    groups: Vec<Option<Range<usize>>>,
}

impl Captures {
    /// Returns the byte range of the whole match in the subject.
    pub fn whole_match(&self) -> Range<usize> {
        self.groups.first().cloned().flatten().unwrap_or(0..0)
    }

    /// Returns the number of groups up to the last group that took part in the match, including group 0. This is
    /// PCRE2's return value.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns true if there are no groups. A match always has group 0, so the result is always false.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the byte range of a group, or `None` if the group did not take part in the match.
    pub fn group(&self, number: usize) -> Option<Range<usize>> {
        self.groups.get(number).cloned().flatten()
    }
}
