//! Values of attributes as text.

use std::collections::BTreeMap;

use htc_base::text::plural::counted;
use htc_classad::{Expr, Value};

use super::attribute_units::{clock_text, unit_of};

/// Maximum number of values that are listed.
const MAX_VALUES: usize = 3;

/// Maximum length of a clause or value in a sentence.
const MAX_LENGTH: usize = 160;

/// Maximum length of a value in a short sentence.
const MAX_SHORT_VALUE: usize = 24;

/// Maximum length of the clause in a short sentence, and in the shortest one.
const MAX_SHORT_CLAUSE: usize = 100;
const MAX_SHORTEST_CLAUSE: usize = 60;

/// Length of a sentence: lists of values and clauses are shortened before the cause and its correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentenceLength {
    /// Up to three values of each list.
    Full,
    /// One value of each list, shortened.
    Short,
    /// No values except numbers.
    Shortest,
}

impl SentenceLength {
    /// All lengths, the longest first.
    pub(super) const ALL: [SentenceLength; 3] =
        [SentenceLength::Full, SentenceLength::Short, SentenceLength::Shortest];

    fn max_values(self) -> usize {
        if self == SentenceLength::Full { MAX_VALUES } else { 1 }
    }

    fn max_value_length(self) -> usize {
        if self == SentenceLength::Full { MAX_LENGTH } else { MAX_SHORT_VALUE }
    }

    fn max_clause_length(self) -> usize {
        match self {
            SentenceLength::Full => MAX_LENGTH,
            SentenceLength::Short => MAX_SHORT_CLAUSE,
            SentenceLength::Shortest => MAX_SHORTEST_CLAUSE,
        }
    }
}

/// Values of an attribute over many slots.
#[derive(Default)]
pub(super) struct ValueSummary {
    smallest: Option<Value>,
    largest: Option<Value>,
    /// Number of slots by value.
    counts: BTreeMap<String, usize>,
    are_numbers: bool,
}

impl ValueSummary {
    pub(super) fn single(value: &Value) -> Self {
        let mut values = ValueSummary::default();
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

    /// True if all values are numbers.
    pub(super) fn are_numbers(&self) -> bool {
        self.are_numbers
    }

    /// Returns the text of the values of an attribute, with the unit of numbers, or their meaning as a time.
    pub(super) fn text_of_attribute(&self, name: &str, length: SentenceLength) -> String {
        let text = self.text_of_length(length);
        match (unit_of(name).filter(|_| self.are_numbers), self.clock_text(name)) {
            (Some(unit), _) => format!("{text} {unit}"),
            (None, Some(time)) => format!("{text}, that is {time}"),
            (None, None) => text,
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
        self.text_of_length(SentenceLength::Full)
    }

    /// Returns a range of numbers, or as many of the most frequent values as a sentence of this length shows.
    pub(super) fn text_of_length(&self, length: SentenceLength) -> String {
        if let ([Some(smallest), Some(largest)], true) = ([&self.smallest, &self.largest], self.are_numbers)
            && self.counts.len() > 1
        {
            return format!("{} to {}", value_text(smallest), value_text(largest));
        }
        let mut values: Vec<(&String, &usize)> = self.counts.iter().collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let more = values.len().saturating_sub(length.max_values());
        let text = |value: &str| shorten_to(value, length.max_value_length());
        let shown: Vec<String> = match &values[..] {
            [(value, _)] => vec![text(value)],
            values => {
                let shown = values.iter().take(length.max_values());
                shown.map(|(value, count)| format!("{} ({count})", text(value))).collect()
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
    // The old syntax begins a negation with a blank.
    shorten(expr.unparse_old().to_string().trim_start())
}

/// Returns the text of a clause for a sentence of this length.
pub(super) fn clause_text(expr: &Expr, length: SentenceLength) -> String {
    shorten_to(&expr_text(expr), length.max_clause_length())
}

fn shorten(text: &str) -> String {
    shorten_to(&text.replace(|c: char| c.is_control(), " "), MAX_LENGTH)
}

/// Shortens a text to `max` characters, unless it already has been shortened to this length.
fn shorten_to(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) if text.len() > at + "...".len() || !text.ends_with("...") => {
            format!("{}...", &text[..at])
        }
        _ => text.to_owned(),
    }
}
