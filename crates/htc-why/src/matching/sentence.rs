//! Sentences about clauses that are not true.

use std::collections::BTreeMap;

use htc_classad::{Expr, Value};

use super::clauses::ClauseSide;
use super::evidence::{ClauseEvidence, SeenAttribute};

/// Maximum number of values that are listed.
const MAX_VALUES: usize = 3;

/// Maximum length of a clause or value in a sentence.
const MAX_LENGTH: usize = 160;

/// Values of an attribute over many slots.
#[derive(Default)]
pub(super) struct SeenValues {
    smallest: Option<Value>,
    largest: Option<Value>,
    /// Number of slots by value.
    counts: BTreeMap<String, usize>,
    are_numbers: bool,
}

impl SeenValues {
    pub(super) fn single(value: &Value) -> Self {
        let mut values = SeenValues::default();
        values.add(value, 1);
        values
    }

    pub(super) fn add(&mut self, value: &Value, weight: usize) {
        let number = match value {
            Value::Int(_) | Value::Real(_) => value.as_real(),
            _ => None,
        };
        self.are_numbers = number.is_some() && (self.counts.is_empty() || self.are_numbers);
        if let Some(number) = number {
            let is_less =
                |other: &Option<Value>| other.as_ref().and_then(Value::as_real).is_none_or(|it| number < it);
            let is_more =
                |other: &Option<Value>| other.as_ref().and_then(Value::as_real).is_none_or(|it| number > it);
            if is_less(&self.smallest) {
                self.smallest = Some(value.clone());
            }
            if is_more(&self.largest) {
                self.largest = Some(value.clone());
            }
        }
        *self.counts.entry(value_text(value)).or_default() += weight;
    }

    /// Returns a range of numbers, or the most frequent values.
    pub(super) fn text(&self) -> String {
        if let ([Some(smallest), Some(largest)], true) = ([&self.smallest, &self.largest], self.are_numbers)
            && self.counts.len() > 1
        {
            return format!("{} to {}", value_text(smallest), value_text(largest));
        }
        let mut values: Vec<(&String, &usize)> = self.counts.iter().collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let more = values.len().saturating_sub(MAX_VALUES);
        let shown: Vec<String> = match &values[..] {
            [(value, _)] => vec![(*value).clone()],
            values => {
                values.iter().take(MAX_VALUES).map(|(value, count)| format!("{value} ({count})")).collect()
            }
        };
        match more {
            0 => shown.join(", "),
            more => format!("{} and {more} more values", shown.join(", ")),
        }
    }
}

/// Returns a value as people write it: 0.3 instead of 3.000000000000000E-01.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Undefined => "undefined".to_owned(),
        Value::Real(number) if number.is_finite() && number.abs() < 1e15 => {
            let text = format!("{number}");
            if text.contains('.') { text } else { text + ".0" }
        }
        other => shorten(&other.unparse().to_string()),
    }
}

/// Returns an expression in one line, shortened.
pub(super) fn expr_text(expr: &Expr) -> String {
    shorten(&expr.unparse_old().to_string())
}

fn shorten(text: &str) -> String {
    let line = text.replace(|c: char| c.is_control(), " ");
    match line.char_indices().nth(MAX_LENGTH) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

/// Returns why a clause is not true.
pub(super) fn clause_sentence(evidence: &ClauseEvidence) -> String {
    let text = expr_text(&evidence.part);
    let mut reasons = Vec::new();
    reasons.extend(seen_phrase(evidence, ClauseSide::Slot));
    reasons.extend(seen_phrase(evidence, ClauseSide::Job));
    for missing in &evidence.missing {
        reasons.push(match missing.slots_with {
            0 if evidence.missing_of_both.contains(&missing.name) => {
                format!("neither the job nor any slot has {}", missing.name)
            }
            0 => format!("no slot has {}", missing.name),
            with => format!("{} is not there; {with} of {} slots have it", missing.name, evidence.slot_count),
        });
    }
    if !evidence.missing_of_job.is_empty() {
        reasons.push(format!("the job has no {}", evidence.missing_of_job.join(" and no ")));
    }
    reasons.extend(evidence.error.clone());
    if evidence.part.is_reference() && evidence.missing.len() + evidence.missing_of_job.len() == 1 {
        return reasons.join(", ");
    }
    let is_bare = evidence.part.as_literal().is_some() || evidence.part.is_reference();
    let said = match is_bare {
        // A literal is repeated by its value; the attribute that contains it is more useful.
        true if evidence.part.as_literal().is_some() => {
            format!("{} is {}", evidence.attribute, evidence.value_text())
        }
        true => {
            let whose = match evidence.seen.first().map(|seen| seen.side) {
                Some(ClauseSide::Job) => " (of the job)",
                _ => "",
            };
            return format!("{text} is {}{whose}", evidence.value_text());
        }
        false => format!("{text} is not true"),
    };
    if reasons.is_empty() { said } else { format!("{said}: {}", reasons.join(", ")) }
}

/// Returns the values of one side: "the slots have 2000 to 8000", "the job asks for 32000".
fn seen_phrase(evidence: &ClauseEvidence, side: ClauseSide) -> Option<String> {
    let seen: Vec<&SeenAttribute> = evidence.seen.iter().filter(|seen| seen.side == side).collect();
    let values = match &seen[..] {
        [] => return None,
        [one] => one.values.text(),
        many => {
            let named = |seen: &&SeenAttribute| format!("{} {}", seen.name, seen.values.text());
            many.iter().map(named).collect::<Vec<_>>().join(" and ")
        }
    };
    let asks = seen.len() == 1 && seen[0].name.len() > 7 && seen[0].name[..7].eq_ignore_ascii_case("Request");
    Some(match (side, asks, evidence.refused_count) {
        (ClauseSide::Job, true, _) => format!("the job asks for {values}"),
        (ClauseSide::Job, false, _) => format!("the job has {values}"),
        (ClauseSide::Slot, _, 1) => format!("the slot has {values}"),
        (ClauseSide::Slot, ..) => format!("the slots have {values}"),
    })
}
