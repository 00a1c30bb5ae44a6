//! Replacement of control characters when text of other programs is printed.

/// Replaces each control character of a text by an escape sequence, so that the text stays on one line and does not
/// affect the terminal.
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

/// Replaces each control character of a multi-line text by `?`, except newlines and tabs, so that the text does not
/// affect the terminal.
///
/// ```
/// use htc_base::text::control_characters::mask_terminal_controls;
/// assert_eq!(mask_terminal_controls("a\tb\n\u{1b}[2Jé"), "a\tb\n?[2Jé");
/// ```
pub fn mask_terminal_controls(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "?")
}

/// Replaces each control character of a text by `?`. The number of characters stays the same.
///
/// ```
/// use htc_base::text::control_characters::mask_control_characters;
/// assert_eq!(mask_control_characters("a\tb\n\u{1b}[2Jé"), "a?b??[2Jé");
/// ```
pub fn mask_control_characters(text: &str) -> String {
    text.replace(|c: char| c.is_control(), "?")
}
