//! The two languages in which a job's environment is written, and the table they fill.
//!
//! * V2 raw: words as in [`super::arguments`], each `NAME=value` (attribute `Environment`).
//! * V1: entries between `;`, or whatever `EnvDelim` or the first character says (attribute `Env`).
//!
//! Reference: `env.cpp`; recordings c02, c03 and c13. Errors print the reference's own words.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use thiserror::Error;

use super::arguments::{self, ArgumentError};
use super::list;

/// The delimiter of V1 where nothing says otherwise.
const DEFAULT_V1_DELIMITER: u8 = b';';

/// Why a text is no environment. The printed form is the reference's, except where it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EnvironmentError {
    /// The words cannot be read.
    #[error(transparent)]
    Words(#[from] ArgumentError),
    /// An entry has no `=`.
    #[error("ERROR: Missing '=' after environment variable '{entry}'.")]
    MissingEquals {
        /// The entry.
        entry: BString,
    },
    /// An entry begins with `=`.
    #[error("ERROR: missing variable in '{entry}'.")]
    MissingName {
        /// The entry.
        entry: BString,
    },
    /// The word `''` stands for no variable. The reference refuses it without a text (recording c02 012).
    #[error("an empty word ('') is no environment entry")]
    EmptyWord,
    /// A V2 quoted text was wanted and there is no double quote.
    #[error("Expecting a double-quoted environment string (V2 format).")]
    NotQuoted,
}

impl EnvironmentError {
    /// The reference's own text, which is empty for [`EnvironmentError::EmptyWord`].
    pub fn reference_text(&self) -> String {
        match self {
            EnvironmentError::EmptyWord => String::new(),
            other => other.to_string(),
        }
    }
}

/// Environment variables in byte order of their names, which differ by case. A later setting wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `None` is an unexpanded `$$()` entry, kept as it is and without `=`.
    table: BTreeMap<BString, Option<BString>>,
}

impl Environment {
    /// An empty environment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a variable. An empty name is ignored, as the reference does.
    pub fn set(&mut self, name: impl Into<BString>, value: impl Into<BString>) {
        let name = name.into();
        if !name.is_empty() {
            self.table.insert(name, Some(value.into()));
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&BString> {
        self.table.get(name.as_ref().as_bstr())?.as_ref()
    }

    /// Whether there is such a variable.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.table.contains_key(name.as_ref().as_bstr())
    }

    /// Removes a variable and says whether it was there.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> bool {
        self.table.remove(name.as_ref().as_bstr()).is_some()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Names and values in byte order of names; entries kept verbatim have an empty value.
    pub fn iter(&self) -> impl Iterator<Item = (&BString, &[u8])> {
        self.table.iter().map(|(name, value)| (name, value.as_ref().map_or(&b""[..], |value| value)))
    }

    /// Replaces each value by what `change` makes of it; `None` keeps it.
    pub fn change_values(&mut self, mut change: impl FnMut(&[u8], &[u8]) -> Option<BString>) {
        for (name, value) in &mut self.table {
            if let Some(value) = value
                && let Some(new) = change(name, value)
            {
                *value = new;
            }
        }
    }

    /// The entries as `exec` takes them, `NAME=value` in byte order of names.
    pub fn entries(&self) -> Vec<BString> {
        let entry = |(name, value): (&BString, &Option<BString>)| match value {
            Some(value) => BString::from([name.as_slice(), b"=", value].concat()),
            None => name.clone(),
        };
        self.table.iter().map(entry).collect()
    }

    /// Takes over all variables of another environment; its values win.
    pub fn merge(&mut self, other: &Environment) {
        self.table.extend(other.table.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Adds one entry `NAME=value`, split at the first `=`.
    ///
    /// # Errors
    /// No name, or no `=` in an entry that has no `$$` either.
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

    /// Adds the entries of a V2 raw text. What stands before a mistake stays added, as in the reference.
    ///
    /// # Errors
    /// An unbalanced quote (then nothing is added), or an entry that is none.
    pub fn merge_v2_raw(&mut self, text: &[u8]) -> Result<(), EnvironmentError> {
        let words = arguments::parse_v2_raw(text)?;
        words.iter().try_for_each(|word| self.merge_entry(word))
    }

    /// Adds the entries of a V2 quoted text.
    ///
    /// # Errors
    /// Missing quotes, or those of [`Environment::merge_v2_raw`].
    fn merge_v2_quoted(&mut self, text: &[u8]) -> Result<(), EnvironmentError> {
        if !arguments::is_v2_quoted(text) {
            return Err(EnvironmentError::NotQuoted);
        }
        let words = arguments::parse_v2_quoted(text)?;
        words.iter().try_for_each(|word| self.merge_entry(word))
    }

    /// Adds the entries of a V1 text. `delimiter` is the first character of `EnvDelim`, if there is one; a
    /// permitted delimiter as first character of the text overrides it.
    ///
    /// # Errors
    /// An entry that is none.
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
            // A newline is white space at the start of an entry and a delimiter within it.
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

    /// Adds a text that is V2 quoted if it begins with a double quote, else V1: `STARTER_JOB_ENVIRONMENT`.
    ///
    /// # Errors
    /// Those of `Environment::merge_v2_quoted` and [`Environment::merge_v1`].
    pub fn merge_v1_raw_or_v2_quoted(&mut self, text: &[u8]) -> Result<(), EnvironmentError> {
        if arguments::is_v2_quoted(text) { self.merge_v2_quoted(text) } else { self.merge_v1(text, None) }
    }

    /// The whole as V2 raw text.
    pub fn to_v2_raw(&self) -> BString {
        arguments::join_v2_raw(self.entries())
    }
}

/// Which variables of its own environment a starter hands to a job (`JOB_INHERITS_STARTER_ENVIRONMENT` as a list) or
/// a submit takes (`getenv`): names with `*`, in any case; `!` in front denies wherever it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentFilter {
    denied: Vec<BString>,
    allowed: Vec<BString>,
}

impl EnvironmentFilter {
    /// Reads the list; commas, semicolons and white space separate.
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

    /// Whether a variable passes. A value with a newline never does, since old versions could not handle it.
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
    fn a_first_character_that_may_delimit_does() {
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
    fn the_list_of_inherited_names_denies_wherever_the_mark_stands() {
        let filter = EnvironmentFilter::parse(b"HTC_*, !htc_secret; PATH");
        assert!(filter.passes(b"htc_x", b"1") && filter.passes(b"Path", b"1"));
        assert!(!filter.passes(b"HTC_SECRET", b"1") && !filter.passes(b"HOME", b"1"));
        assert!(!filter.passes(b"HTC_x", b"a\nb"));
        assert!(EnvironmentFilter::parse(b"!HOME").passes(b"PATH", b""));
    }
}
