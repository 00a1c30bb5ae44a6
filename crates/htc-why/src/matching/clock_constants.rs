//! Constants that a clause compares with ClockMin or ClockDay, as times of day and days.

use htc_classad::{Context, Expr, ExprKind, Value};

use super::attribute_units::clock_text;
use super::clauses::{Reference, mentioned_references};
use super::value_summary::expr_text;

/// Returns the meaning of the constants that a part compares with the clock: `18 * 60 is 18:00`.
pub(super) fn clock_constants(context: &Context<'_>, part: &Expr) -> Option<String> {
    let mut phrases = Vec::new();
    collect_constants(context, part, MAX_DEPTH, &mut phrases);
    (!phrases.is_empty()).then(|| phrases.join(", "))
}

/// Maximum depth to which an expression is searched.
const MAX_DEPTH: usize = 12;

fn collect_constants(context: &Context<'_>, part: &Expr, depth: usize, phrases: &mut Vec<String>) {
    if depth == 0 {
        return;
    }
    let ExprKind::Compare(_, left, right) = part.kind() else {
        part.parts().iter().for_each(|part| collect_constants(context, part, depth - 1, phrases));
        return;
    };
    for (attribute, constant) in [(&left, &right), (&right, &left)] {
        let Some(reference) = Reference::parse(attribute) else { continue };
        let value = match mentioned_references(constant).is_empty() {
            true => context.eval(constant),
            false => continue,
        };
        let Value::Int(number) = value else { continue };
        if let Some(text) = clock_text(&reference.name.to_string(), number) {
            let phrase = format!("{} is {text}", expr_text(&constant.without_parentheses()));
            if !phrases.contains(&phrase) {
                phrases.push(phrase);
            }
        }
    }
}
