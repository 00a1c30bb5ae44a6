//! Text about the expression that decided a change or a refusal.

use crate::simulate::DecidingExpression;
use crate::slot::EvaluatedCondition;
use crate::text::control_characters::mask_control_characters;

/// Formats the deciding expression as indented lines.
pub(super) fn indented_lines(decided: &DecidingExpression, indent: &str) -> String {
    let place = if decided.place.is_empty() { String::new() } else { format!(" ({})", decided.place) };
    let mut text =
        format!("{indent}{} = {}{place}\n", decided.knob, mask_control_characters(&decided.expression));
    text += &format!("{indent}    is {}\n", mask_control_characters(&decided.value));
    if let Some(EvaluatedCondition { text: part, value, .. }) = &decided.because {
        text += &format!(
            "{indent}    because {} is {}\n",
            mask_control_characters(part),
            mask_control_characters(value)
        );
    }
    for seen in &decided.seen {
        text += &format!("{indent}    {}\n", mask_control_characters(seen));
    }
    text
}
