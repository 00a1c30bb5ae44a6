//! `--explain`: the parts of an expression with their values, the places where names were found, and one line
//! with the reason for the result.

use std::io::{self, Write};

use serde_json::{Value as Json, json};

use super::options::ClassadEvalCli;
use crate::classad::explain::{self, TraceStep};
use crate::classad::{Context, Expr, NameLocation, Value};
use crate::cli::common::Painter;

/// Maximum number of parts shown in a tree.
const MAX_LINES: usize = 400;
/// Maximum number of characters that are printed of a part of an expression.
const MAX_EXPRESSION_WIDTH: usize = 60;

/// Evaluates the expression, prints the explanation and returns the value.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub(super) fn print_explanation(
    context: &Context<'_>,
    expr: &Expr,
    cli: &ClassadEvalCli,
    out: &mut impl Write,
) -> io::Result<Option<Value>> {
    let step = explain::trace(context, expr);
    if cli.output.wants_json() {
        let mut tree = tree_json(&step);
        tree["why"] = json!(explain::cause_of_value(context, expr, &step));
        writeln!(out, "{tree}")?;
    } else {
        let painter = Painter::stdout(cli.output.color);
        let mut lines = Vec::new();
        collect(&step, 0, &mut lines);
        let text_width = lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
        let value_width = lines.iter().map(|line| line.value.chars().count().min(40)).max().unwrap_or(0);
        for line in &lines {
            let pad = " ".repeat(text_width - line.text.chars().count());
            let value = match line.value.as_str() {
                "true" => painter.good(&line.value).to_string(),
                "false" | "error" => painter.bad(&line.value).to_string(),
                "undefined" => painter.warn(&line.value).to_string(),
                other => other.to_owned(),
            };
            if line.place.is_empty() {
                writeln!(out, "{}", format!("{}{pad}  {value}", line.text).trim_end())?;
            } else {
                let gap = " ".repeat(value_width.saturating_sub(line.value.chars().count()));
                writeln!(out, "{}{pad}  {value}{gap}  {}", line.text, painter.dim(&line.place))?;
            }
        }
        if let Some(why) = explain::cause_of_value(context, expr, &step) {
            writeln!(out, "{} {why}", painter.bold("why:"))?;
        }
    }
    Ok(step.value)
}

struct ExplanationLine {
    text: String,
    value: String,
    place: String,
}

fn shorten(text: &str, most: usize) -> String {
    let clean = text.replace(|c: char| c.is_control(), " ");
    match clean.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &clean[..at]),
        None => clean,
    }
}

fn collect(step: &TraceStep, depth: usize, lines: &mut Vec<ExplanationLine>) {
    let mut todo = vec![(step, depth)];
    while let Some((step, depth)) = todo.pop() {
        if lines.len() == MAX_LINES {
            lines.push(ExplanationLine {
                text: "...".to_owned(),
                value: String::new(),
                place: String::new(),
            });
            return;
        }
        let text = step.expr.unparse().to_string();
        let indent = "  ".repeat(depth.min(30));
        let text = format!("{indent}{}", shorten(text.trim_start(), MAX_EXPRESSION_WIDTH));
        let value = value_text(step.value.as_ref());
        let place = step.place.map(place_text).unwrap_or_default();
        lines.push(ExplanationLine {
            text,
            value: shorten(&value, MAX_EXPRESSION_WIDTH),
            place: place.to_owned(),
        });
        todo.extend(step.steps.iter().rev().filter(|step| is_shown(step)).map(|step| (step, depth + 1)));
    }
}

/// Returns true if a part is shown. Literals, and the ads of `MY` and `TARGET`, need no explanation.
fn is_shown(step: &TraceStep) -> bool {
    let is_scope = || {
        let text = step.expr.unparse();
        [&b"MY"[..], b"TARGET", b"other", b"self"].iter().any(|word| text.eq_ignore_ascii_case(word))
    };
    let is_ad = matches!(step.value, Some(Value::Ad(_)));
    !step.is_literal() && (!is_ad || !is_scope())
}

fn value_text(value: Option<&Value>) -> String {
    match value {
        Some(value) => value.unparse_old().to_string(),
        None => "cannot be evaluated".to_owned(),
    }
}

fn place_text(place: NameLocation) -> &'static str {
    match place {
        NameLocation::My => "in MY",
        NameLocation::Target => "in TARGET",
        NameLocation::Nested => "in a nested ad",
        NameLocation::Match => "of the match",
        NameLocation::Nowhere => "found nowhere",
    }
}

fn tree_json(step: &TraceStep) -> Json {
    let steps: Vec<Json> = step.steps.iter().filter(|step| is_shown(step)).map(tree_json).collect();
    let mut tree = json!({
        "expr": step.expr.unparse().to_string().trim_start(),
        "value": value_text(step.value.as_ref()),
        "type": step.value.as_ref().map_or("failure", Value::type_name),
    });
    if let Some(place) = step.place {
        tree["place"] = json!(match place {
            NameLocation::My => "my",
            NameLocation::Target => "target",
            NameLocation::Nested => "nested",
            NameLocation::Match => "match",
            NameLocation::Nowhere => "nowhere",
        });
    }
    if !steps.is_empty() {
        tree["steps"] = json!(steps);
    }
    tree
}
