//! Texts of others within lines of ours.

/// A text with its control characters escaped, so that it stays within its line and does nothing to a terminal.
///
/// ```
/// use htc_base::text::control_characters::escape_control_characters;
/// assert_eq!(escape_control_characters("two\nlines, \u{1b}[1mé"), "two\\nlines, \\u{1b}[1mé");
/// ```
pub fn escape_control_characters(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// A text of several lines that may quote anything, without what a terminal would obey: a `?` stands for each control
/// character but newlines and tabs, as in the excerpts with carets.
///
/// ```
/// use htc_base::text::control_characters::mask_terminal_controls;
/// assert_eq!(mask_terminal_controls("a\tb\n\u{1b}[2Jé"), "a\tb\n?[2Jé");
/// ```
pub fn mask_terminal_controls(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "?")
}

/// A text with a `?` for each of its control characters: nothing of it is lost in length.
///
/// ```
/// use htc_base::text::control_characters::mask_control_characters;
/// assert_eq!(mask_control_characters("a\tb\n\u{1b}[2Jé"), "a?b??[2Jé");
/// ```
pub fn mask_control_characters(text: &str) -> String {
    text.replace(|c: char| c.is_control(), "?")
}
