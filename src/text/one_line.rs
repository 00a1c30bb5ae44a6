//! Texts of others within a line of ours.

/// A text with its control characters escaped, so that it stays within its line and does nothing to a terminal.
///
/// ```
/// use htc_hooks::text::one_line::one_line;
/// assert_eq!(one_line("two\nlines, \u{1b}[1mé"), "two\\nlines, \\u{1b}[1mé");
/// ```
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}
