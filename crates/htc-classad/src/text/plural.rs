//! Numbers with nouns for messages, in singular or plural.

use std::fmt::Display;

/// Returns a number followed by its noun, which is in the singular only after 1: `1 job`, `2 jobs`, `0
/// processes`.
///
/// ```
/// use htc_classad::text::plural::counted;
///
/// assert_eq!(counted(1, "job"), "1 job");
/// assert_eq!(counted(0, "job"), "0 jobs");
/// assert_eq!(counted(2, "more process"), "2 more processes");
/// assert_eq!(counted("1,000", "slot"), "1,000 slots");
/// ```
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = match (count.as_str(), noun.ends_with('s')) {
        ("1", _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}
