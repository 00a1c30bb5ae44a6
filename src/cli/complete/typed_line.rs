//! The command line as a shell gives it, up to the cursor.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::Command;

use crate::cli::common::normalise;

/// A line that is being typed.
pub(super) struct TypedLine {
    /// The words behind the program's name and before the one at the cursor.
    words: Vec<OsString>,
    /// What there is of the word at the cursor.
    pub current: OsString,
    /// How much of it the shell does not replace.
    kept_prefix_length: usize,
}

impl TypedLine {
    /// Reads what a shell's script hands over: the number of the word at the cursor, and all words.
    pub(super) fn from_shell(shell: &OsStr, given: &[OsString]) -> Option<TypedLine> {
        let (at, words) = given.split_first()?;
        let at: usize = at.to_str()?.parse().ok().filter(|at| *at > 0)?;
        let mut words = match words.len() {
            len if len > at => words[..=at].to_vec(),
            // An empty word at the end may be missing.
            len if len == at => [words, &[OsString::new()]].concat(),
            _ => return None,
        };
        let is_bash = shell == "bash";
        if is_bash {
            words = join_separated_words(words);
        }
        let current = words.pop()?;
        let separator = current.as_bytes().iter().rposition(|byte| matches!(byte, b'=' | b':'));
        let kept = if is_bash { separator.map_or(0, |at| at + 1) } else { 0 };
        words.remove(0);
        Some(TypedLine { words, current, kept_prefix_length: kept })
    }

    /// The words before the cursor as clap takes them.
    pub(super) fn words_before_cursor(&self, command: &Command) -> Vec<OsString> {
        normalise(command, &self.words).unwrap_or_else(|_| self.words.clone())
    }

    /// The word at the cursor with a second dash, if it has one alone.
    pub(super) fn with_two_dashes(&self) -> Option<OsString> {
        let bytes = self.current.as_bytes();
        (bytes.starts_with(b"-") && !bytes.starts_with(b"--"))
            .then(|| OsString::from_vec([b"-", bytes].concat()))
    }

    /// A candidate as the shell takes it.
    pub(super) fn without_kept_prefix<'a>(&self, value: &'a str) -> Option<&'a str> {
        value.get(self.kept_prefix_length..)
    }
}

/// bash makes words of `=` and `:` (COMP_WORDBREAKS): what they tie together becomes one word again.
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
