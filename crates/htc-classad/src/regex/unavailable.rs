//! Replacement of the module with compiled patterns, for a build without PCRE2.

use std::convert::Infallible;

use super::{Captures, MatchError, PatternError, RegexOptions, SearchOptions};

/// Compiled pattern. Without the feature `regex`, no value of this type can be created.
#[derive(Debug)]
pub struct Regex {
    never: Infallible,
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Always fails: the crate was built without the feature `regex`.
    pub fn compile(_pattern: impl AsRef<[u8]>, _options: RegexOptions) -> Result<Regex, PatternError> {
        let message =
            "regular expressions are unavailable (htc-classad was built without the feature `regex`)";
        Err(PatternError { code: 0, offset: 0, message: message.to_owned() })
    }

    /// Returns the number of groups in the pattern, not counting the whole match.
    pub fn groups(&self) -> usize {
        match self.never {}
    }

    /// Returns true if the pattern matches anywhere in `subject`.
    ///
    /// # Errors
    /// Fails if the match takes too many steps or too much memory.
    pub fn is_match(&self, _subject: impl AsRef<[u8]>) -> Result<bool, MatchError> {
        match self.never {}
    }

    /// Returns the first match of a search, or `None` if the pattern does not match.
    ///
    /// # Errors
    /// Fails if the match takes too many steps or too much memory.
    pub fn captures(
        &self,
        _subject: impl AsRef<[u8]>,
        _search: SearchOptions,
    ) -> Result<Option<Captures>, MatchError> {
        match self.never {}
    }
}
