//! What decided, in print.

use crate::simulate::Decided;
use crate::slot::Clause;
use crate::text::one_line::printable;

/// As lines of text behind an indent.
pub(super) fn lines(decided: &Decided, indent: &str) -> String {
    let place = if decided.place.is_empty() { String::new() } else { format!(" ({})", decided.place) };
    let mut text = format!("{indent}{} = {}{place}\n", decided.knob, printable(&decided.expression));
    text += &format!("{indent}    is {}\n", printable(&decided.value));
    if let Some(Clause { text: part, value, .. }) = &decided.because {
        text += &format!("{indent}    because {} is {}\n", printable(part), printable(value));
    }
    for seen in &decided.seen {
        text += &format!("{indent}    {}\n", printable(seen));
    }
    text
}
