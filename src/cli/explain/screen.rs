//! Text that fits one screen.

use crate::cli::common::terminal_height;
use crate::text::count::format_thousands;

/// Minimum and maximum number of lines of a screen. The minimum is used if standard output is not a terminal.
const LINES: std::ops::RangeInclusive<usize> = 24..=40;
/// Number of columns.
const COLUMNS: usize = 80;

/// Text that fits one screen.
pub(super) struct ScreenText {
    text: String,
    left: usize,
}

impl ScreenText {
    /// Creates an empty screen; one line is left for the next prompt.
    pub(super) fn new() -> Self {
        let lines = terminal_height().map_or(*LINES.start(), usize::from);
        ScreenText::with_lines(lines.clamp(*LINES.start(), *LINES.end()))
    }

    fn with_lines(lines: usize) -> Self {
        ScreenText { text: String::new(), left: lines - 1 }
    }

    /// Returns the number of lines that are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Adds a text.
    pub(super) fn add(&mut self, text: &str) {
        self.left = self.left.saturating_sub(screen_lines(text));
        self.text.push_str(text);
    }

    /// Returns the whole text.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Returns the number of lines of the screen that a text needs.
pub(super) fn screen_lines(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(COLUMNS).max(1)).sum()
}

/// Shortens a text to at most `most` characters, with dots at the end.
pub(super) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// Returns the heading of a table of clauses that refuse some of `all`, with the number of clauses that are not shown.
pub(super) fn table_heading(all: &str, hidden: usize) -> String {
    let hidden = match hidden {
        0 => String::new(),
        some => format!("; {} not shown", count(some, "more clause")),
    };
    format!("  refuses    alone  (of {all}{hidden})\n")
}

/// Returns a number with its noun in the right form.
pub(super) fn count(number: usize, noun: &str) -> String {
    crate::text::plural::counted(format_thousands(number as u64), noun)
}

#[cfg(test)]
mod tests {
    use super::{ScreenText, count, screen_lines, shorten};

    #[test]
    fn long_lines_count_as_several() {
        let mut screen = ScreenText::with_lines(24);
        screen.add(&format!("{}\nb\n\n", "a".repeat(161)));
        assert_eq!((screen.left(), screen_lines("")), (18, 0));
        assert_eq!((shorten("abcd", 3), shorten("abc", 3)), ("abc...".into(), "abc".into()));
        assert_eq!((count(1, "slot"), count(1234, "slot")), ("1 slot".into(), "1,234 slots".into()));
    }
}
