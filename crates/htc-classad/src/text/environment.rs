//! Parsing of the two syntaxes of a job's environment, and the table of environment variables.
//!
//! * V2 raw: words as in [`super::arguments`], each `NAME=value` (attribute `Environment`).
//! * V1: entries separated by `;`, or by the delimiter that `EnvDelim` or the first character sets (attribute `Env`).
//!
//! Reference: `env.cpp`. Error messages are those of the reference.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use thiserror::Error;

use super::arguments::{self, ArgumentError};
use super::list;

/// Delimiter of V1 text for which no other delimiter is set.
const DEFAULT_V1_DELIMITER: u8 = b';';

/// Error in the text of an environment. The message is that of the reference, if the reference prints one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The text cannot be split into words.
    #[error(transparent)]
    Words(#[from] ArgumentError),
    /// An entry has no `=`.
    #[error("ERROR: Missing '=' after environment variable '{entry}'.")]
    MissingEquals {
        /// Text of the entry.
        entry: BString,
    },
    /// An entry begins with `=`.
    #[error("ERROR: missing variable in '{entry}'.")]
    MissingName {
        /// Text of the entry.
        entry: BString,
    },
    /// The word `''` is not a valid entry. The reference rejects it without a message.
    #[error("an empty word ('') is not an environment entry")]
    EmptyWord,
    /// The text must be V2 quoted, but does not begin with a double quote.
    #[error("Expecting a double-quoted environment string (V2 format).")]
    NotQuoted,
}

impl EnvironmentError {
    /// Returns the message of the reference, which is empty for [`EnvironmentError::EmptyWord`].
    pub fn reference_text(&self) -> String {
        match self {
            EnvironmentError::EmptyWord => String::new(),
            other => other.to_string(),
        }
    }
}

/// Table of environment variables in byte order of their names. Names are case-sensitive, and setting a variable again
/// replaces its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Values by name. The value is `None` for an entry with an unexpanded `$$()` and no `=`, which is kept unchanged.
    table: BTreeMap<BString, Option<BString>>,
}

impl Environment {
    /// Creates an empty environment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a variable. An empty name is ignored, as in the reference.
    pub fn set(&mut self, name: impl Into<BString>, value: impl Into<BString>) {
        let name = name.into();
        if !name.is_empty() {
            self.table.insert(name, Some(value.into()));
        }
    }

    /// Returns the value of a variable, or `None` if it is not set.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&BString> {
        self.table.get(name.as_ref().as_bstr())?.as_ref()
    }

    /// Returns true if the variable is set.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.table.contains_key(name.as_ref().as_bstr())
    }

    /// Removes a variable. Returns true if it was set.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> bool {
        self.table.remove(name.as_ref().as_bstr()).is_some()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns names and values in byte order of the names. The value of an entry with an unexpanded `$$()` is empty.
    pub fn iter(&self) -> impl Iterator<Item = (&BString, &[u8])> {
        self.table.iter().map(|(name, value)| (name, value.as_ref().map_or(&b""[..], |value| value)))
    }

    /// Replaces each value by the result of `change`, which is called with name and value. The value is kept if the
    /// result is `None`.
    pub fn change_values(&mut self, mut change: impl FnMut(&[u8], &[u8]) -> Option<BString>) {
        for (name, value) in &mut self.table {
            if let Some(value) = value
                && let Some(new) = change(name, value)
            {
                *value = new;
            }
        }
    }

    /// Returns the entries in the form for `exec`: `NAME=value`, in byte order of the names.
    pub fn entries(&self) -> Vec<BString> {
        let entry = |(name, value): (&BString, &Option<BString>)| match value {
            Some(value) => BString::from([name.as_slice(), b"=", value].concat()),
            None => name.clone(),
        };
        self.table.iter().map(entry).collect()
    }

    /// Adds all variables of another environment, replacing existing values.
    pub fn merge(&mut self, other: &Environment) {
        self.table.extend(other.table.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Adds one entry `NAME=value`, split at the first `=`.
    ///
    /// # Errors
    /// Fails if the entry is empty, has no name, or contains neither `=` nor `$$`.
    fn merge_entry(&mut self, entry: &[u8]) -> Result<(), EnvironmentError> {
        match entry.find_byte(b'=') {
            _ if entry.is_empty() => Err(EnvironmentError::EmptyWord),
            Some(0) => Err(EnvironmentError::MissingName { entry: entry.into() }),
            Some(at) => {
                self.set(&entry[..at], &entry[at + 1..]);
                Ok(())
            }
            None if entry.contains_str("$$") => {
                self.table.insert(entry.into(), None);
                Ok(())
            }
            None => Err(EnvironmentError::MissingEquals { entry: entry.into() }),
        }
    }

    /// Adds the entries of V2 raw text. If an entry is invalid, the entries before it are still added, as in the
    /// reference.
    ///
    /// # Errors
    /// Fails if a quote is not closed, in which case nothing is added, or if an entry is invalid.
    pub fn merge_v2_raw(&mut self, text: &[u8]) -> Result<(), EnvironmentError> {
        let words = arguments::parse_v2_raw(text)?;
        words.iter().try_for_each(|word| self.merge_entry(word))
    }

    /// Adds the entries of V2 quoted text.
    ///
    /// # Errors
    /// Fails if the double quotes are missing, or for the reasons of [`Environment::merge_v2_raw`].
    fn merge_v2_quoted(&mut self, text: &[u8]) -> Result<(), EnvironmentError> {
        if !arguments::is_v2_quoted(text) {
            return Err(EnvironmentError::NotQuoted);
        }
        let words = arguments::parse_v2_quoted(text)?;
        words.iter().try_for_each(|word| self.merge_entry(word))
    }

    /// Adds the entries of V1 text. `delimiter` is the first character of `EnvDelim`, if set. If the first character of
    /// the text is a valid delimiter, it is used instead.
    ///
    /// # Errors
    /// Fails if an entry is invalid.
    pub fn merge_v1(&mut self, text: &[u8], delimiter: Option<u8>) -> Result<(), EnvironmentError> {
        const PERMITTED: &[u8] = b"!#$%&*+,-/:;<>?@^`|~\x1f";
        let mut delimiter = delimiter.unwrap_or(DEFAULT_V1_DELIMITER);
        let mut rest = text;
        if let Some((&first, after)) = text.split_first()
            && (first == delimiter || PERMITTED.contains(&first))
        {
            delimiter = first;
            rest = after;
        }
        while !rest.is_empty() {
            // A newline is white space at the beginning of an entry, and a delimiter within an entry.
            let skipped = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
            rest = &rest[skipped..];
            let end = rest.iter().position(|&byte| byte == b'\n' || byte == delimiter);
            let (entry, after) = match end {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (rest, &b""[..]),
            };
            if !entry.is_empty() {
                self.merge_entry(entry)?;
            }
            rest = after;
        }
        Ok(())
    }

    /// Adds the entries of a text. The text is V2 quoted if it begins with a double quote, or else V1, as in
    /// `STARTER_JOB_ENVIRONMENT`.
    ///
    /// # Errors
    /// Same as `Environment::merge_v2_quoted` and [`Environment::merge_v1`].
    pub fn merge_v1_raw_or_v2_quoted(&mut self, text: &[u8]) -> Result<(), EnvironmentError> {
        if arguments::is_v2_quoted(text) { self.merge_v2_quoted(text) } else { self.merge_v1(text, None) }
    }

    /// Returns all entries as V2 raw text.
    pub fn to_v2_raw(&self) -> BString {
        arguments::join_v2_raw(self.entries())
    }
}

/// Filter that selects variables of an environment: those that a starter passes on to a job
/// (`JOB_INHERITS_STARTER_ENVIRONMENT` as a list), or those that a submit file copies (`getenv`). Names are
/// case-insensitive and may contain `*`. An item that begins with `!` excludes variables, wherever it is in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentFilter {
    denied: Vec<BString>,
    allowed: Vec<BString>,
}

impl EnvironmentFilter {
    /// Parses a list of items separated by commas, semicolons and white space.
    pub fn parse(text: &[u8]) -> Self {
        let mut filter = EnvironmentFilter::default();
        for item in list::split_by(text, b",; \t\r\n") {
            match item.strip_prefix(b"!") {
                Some(b"") => {}
                Some(name) => filter.denied.push(name.into()),
                None => filter.allowed.push(item.into()),
            }
        }
        filter
    }

    /// Returns true if a variable is selected. A variable whose value has a newline is never selected, because old
    /// versions of HTCondor could not handle it.
    pub fn passes(&self, name: &[u8], value: &[u8]) -> bool {
        let any = |patterns: &[BString]| {
            patterns.iter().any(|pattern| list::matches_wildcard_caseless(pattern, name))
        };
        !value.contains(&b'\n') && !any(&self.denied) && (self.allowed.is_empty() || any(&self.allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1(text: &str, delimiter: Option<u8>) -> Result<String, String> {
        let mut environment = Environment::new();
        environment.merge_v1(text.as_bytes(), delimiter).map_err(|error| error.to_string())?;
        Ok(bstr::join("|", environment.entries()).to_str_lossy().into_owned())
    }

    #[test]
    fn v1_takes_its_delimiter_from_the_text_or_the_ad() {
        assert_eq!(v1("A=1;B=2;;  C= x ;", None).unwrap(), "A=1|B=2|C= x ");
        assert_eq!(v1("A=1;x,B=2", Some(b',')).unwrap(), "A=1;x|B=2");
        assert_eq!(
            v1("A=1,2", Some(b',')).unwrap_err(),
            "ERROR: Missing '=' after environment variable '2'."
        );
    }

    #[test]
    fn a_first_character_that_may_be_a_delimiter_is_one() {
        assert_eq!(v1("|A=1;x|B=2", None).unwrap(), "A=1;x|B=2");
        assert_eq!(v1("|A=1|B=2", Some(b',')).unwrap(), "A=1|B=2");
        assert_eq!(v1("A=1\n\nB=2", Some(b',')).unwrap(), "A=1|B=2");
    }

    #[test]
    fn entries_need_a_name_and_an_equals_sign() {
        let mut environment = Environment::new();
        environment.merge_v2_raw(b"A=1 'B=x y' a=2 A=3 T.A= X==y").unwrap();
        assert_eq!(environment.entries(), ["A=3", "B=x y", "T.A=", "X==y", "a=2"]);
        let text = |entry: &str| {
            let error = Environment::new().merge_v2_raw(entry.as_bytes()).unwrap_err();
            error.reference_text()
        };
        assert_eq!(text("A"), "ERROR: Missing '=' after environment variable 'A'.");
        assert_eq!(text("=x"), "ERROR: missing variable in '=x'.");
        assert_eq!(text("''"), "");
        assert_eq!(text("A='b"), "Unbalanced quote starting here: 'b");
    }

    #[test]
    fn an_unexpanded_macro_is_kept_without_equals_sign() {
        let mut environment = Environment::new();
        environment.merge_v2_raw(b"$$(X) B=1").unwrap();
        assert_eq!(environment.entries(), ["$$(X)", "B=1"]);
        assert_eq!(environment.to_v2_raw(), "$$(X) B=1");
    }

    #[test]
    fn a_marked_name_is_denied_at_any_position_of_the_list() {
        let filter = EnvironmentFilter::parse(b"HTC_*, !htc_secret; PATH");
        assert!(filter.passes(b"htc_x", b"1") && filter.passes(b"Path", b"1"));
        assert!(!filter.passes(b"HTC_SECRET", b"1") && !filter.passes(b"HOME", b"1"));
        assert!(!filter.passes(b"HTC_x", b"a\nb"));
        assert!(EnvironmentFilter::parse(b"!HOME").passes(b"PATH", b""));
    }
}
