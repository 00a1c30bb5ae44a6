//! Command line up to the cursor, as a shell passes it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::Command;

use crate::cli::common::normalise;

/// Command line that is being typed.
pub(super) struct TypedLine {
    /// Words between the program's name and the word at the cursor.
    words: Vec<OsString>,
    /// Part of the word at the cursor that is before the cursor.
    pub current: OsString,
    /// Number of bytes at the start of the word that the shell does not replace.
    kept_prefix_length: usize,
}

impl TypedLine {
    /// Parses the arguments that a completion script passes: the number of the word at the cursor, and all words.
    pub(super) fn from_shell(shell: &OsStr, arguments: &[OsString]) -> Option<TypedLine> {
        let (at, words) = arguments.split_first()?;
        let at: usize = at.to_str()?.parse().ok().filter(|at| *at > 0)?;
        let mut words = match words.len() {
            len if len > at => words[..=at].to_vec(),
            // If the word at the cursor is empty, the script may leave it out.
            len if len == at => [words, &[OsString::new()]].concat(),
            _ => return None,
        };
        let is_bash = shell == "bash";
        if is_bash {
            words = join_separated_words(words);
        }
        let current = words.pop()?;
        let separator = current.as_bytes().iter().rposition(|byte| matches!(byte, b'=' | b':'));
        let kept_prefix_length = if is_bash { separator.map_or(0, |at| at + 1) } else { 0 };
        words.remove(0);
        Some(TypedLine { words, current, kept_prefix_length })
    }

    /// Returns the words before the cursor in the form that clap expects.
    pub(super) fn words_before_cursor(&self, command: &Command) -> Vec<OsString> {
        normalise(command, &self.words).unwrap_or_else(|_| self.words.clone())
    }

    /// Returns the word at the cursor with a second dash if it begins with exactly one dash, otherwise `None`.
    pub(super) fn with_two_dashes(&self) -> Option<OsString> {
        let bytes = self.current.as_bytes();
        (bytes.starts_with(b"-") && !bytes.starts_with(b"--"))
            .then(|| OsString::from_vec([b"-", bytes].concat()))
    }

    /// Returns a candidate without the part that the shell does not replace.
    pub(super) fn without_kept_prefix<'a>(&self, value: &'a str) -> Option<&'a str> {
        value.get(self.kept_prefix_length..)
    }
}

/// Joins words that bash splits at `=` and `:` (COMP_WORDBREAKS).
fn join_separated_words(words: Vec<OsString>) -> Vec<OsString> {
    let is_separator =
        |word: &OsStr| !word.is_empty() && word.as_bytes().iter().all(|byte| b"=:".contains(byte));
    let mut out: Vec<OsString> = Vec::new();
    let mut open = false;
    for word in words {
        let separator = is_separator(&word);
        match out.last_mut() {
            Some(last) if separator || open => last.push(&word),
            _ => out.push(word),
        }
        open = separator;
    }
    out
}
