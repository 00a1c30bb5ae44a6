//! Values of attributes as text.

use std::collections::BTreeMap;

use htc_base::text::plural::counted;
use htc_classad::{Expr, Value};

use super::attribute_units::{clock_text, unit_of};

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

    /// Returns the text of the values of an attribute, with the unit of numbers, or their meaning as a time.
    pub(super) fn text_of_attribute(&self, name: &str) -> String {
        match (unit_of(name).filter(|_| self.are_numbers), self.clock_text(name)) {
            (Some(unit), _) => format!("{} {unit}", self.text()),
            (None, Some(time)) => format!("{}, that is {time}", self.text()),
            (None, None) => self.text(),
        }
    }

    /// Returns the values of an attribute of the clock as times of day or days, or `None`.
    pub(super) fn clock_text(&self, name: &str) -> Option<String> {
        let text = |value: &Option<Value>| match value {
            Some(Value::Int(number)) if self.are_numbers => clock_text(name, *number),
            _ => None,
        };
        let (smallest, largest) = (text(&self.smallest)?, text(&self.largest)?);
        Some(if smallest == largest { smallest } else { format!("{smallest} to {largest}") })
    }

    /// Returns the only value, without the quotes of a string, or `None` if there are several.
    pub(super) fn only_text(&self) -> Option<String> {
        let mut values = self.counts.keys();
        let only = values.next().filter(|_| values.next().is_none())?;
        Some(only.trim_matches('"').to_owned())
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
            more => format!("{} and {}", shown.join(", "), counted(more, "more value")),
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
