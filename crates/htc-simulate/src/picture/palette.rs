//! Colours of states in pictures, and escaping of texts.

/// Prefixes of `State/Activity`, with the colour and the legend of each, in the order of the legend. The first prefix
/// that matches is used.
pub(super) const COLOURS: [(&str, &str, &str); 11] = [
    ("Claimed/Busy", "#2b7bba", "Busy: a job runs"),
    ("Claimed/Suspended", "#f2c14e", "Suspended: the job is stopped"),
    ("Claimed/Retiring", "#8e6bbf", "Retiring: the job may finish"),
    ("Claimed", "#a8cbe8", "Claimed/Idle: no job is running"),
    ("Preempting", "#d1495b", "Preempting: the job is vacated"),
    ("Matched", "#7fb069", "Matched: waiting for a claim"),
    ("Unclaimed", "#e9eef2", "Unclaimed: no job"),
    ("Owner", "#8d99ae", "Owner: used by its owner"),
    ("Backfill", "#3d9970", "Backfill: a backfill job runs"),
    ("Drained", "#5b4636", "Drained: accepts no jobs"),
    ("", "#ffffff", "no slot"),
];

/// Returns the colour of a state and activity, and its index in [`COLOURS`].
pub(super) fn colour(name: &str) -> (usize, &'static str) {
    let found = COLOURS.iter().position(|(prefix, ..)| name.starts_with(prefix));
    let at = found.unwrap_or(COLOURS.len() - 1);
    (at, COLOURS[at].1)
}

/// Maximum number of characters of a text in a picture; a longer text is truncated.
const MAX_TEXT_CHARS: usize = 200;

/// Escapes a text for HTML and SVG, and replaces its control characters.
pub fn escape_markup(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at >= MAX_TEXT_CHARS {
            out.push_str("...");
            break;
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_is_escaped() {
        assert_eq!(escape_markup("<script>\0&\"'"), "&lt;script&gt;?&amp;&quot;&#39;");
        assert!(escape_markup(&"x".repeat(10 << 20)).len() < 300);
    }
}
