//! Why a text is no scenario, told in words of TOML: which key, what stands there, what is expected.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::scenario::{Behaviour, Done, Group, Machine, Pattern, QueueRules};
use crate::text::similar::nearest;

/// Why a text is no scenario.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ScenarioError {
    /// What is wrong.
    pub message: String,
    /// What may have been meant.
    pub hint: Option<String>,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
}

/// How a table begins, the names of its key, and the keys that stand in it.
type Table = (&'static str, &'static [&'static str], fn() -> Vec<String>);

/// Tables of a scenario: how each begins, other names it is known by, and the keys that stand in it.
const TABLES: [Table; 7] = [
    ("[[machine]]", &["machine", "machines"], keys_of::<Machine>),
    ("[[jobs]]", &["jobs", "job"], keys_of::<Group>),
    ("[queue]", &["queue"], keys_of::<QueueRules>),
    ("[[hook]]", &["hook", "hooks"], keys_of::<Behaviour>),
    ("[[keyboard]]", &["keyboard", "keyboards"], keys_of::<Pattern>),
    ("[[load]]", &["load", "loads"], keys_of::<Pattern>),
    ("[[event]]", &["event", "events"], keys_of::<Done>),
];

/// The keys of a table, as its reader lists them to somebody who gives one that it does not know.
fn keys_of<T: DeserializeOwned>() -> Vec<String> {
    let error = toml::from_str::<T>("'?' = 0\n").err();
    let message = error.as_ref().map_or("", toml::de::Error::message);
    quoted(message).into_iter().skip(1).map(str::to_owned).collect()
}

fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// A message of the reader of TOML.
pub(super) fn told(text: &str, error: &toml::de::Error) -> ScenarioError {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    let names = quoted(message);
    let words: Vec<&str> = message.split_whitespace().take(2).collect();
    let path =
        DeTable::parse(text).ok().and_then(|table| path_of(table.get_ref(), &span)).unwrap_or_default();
    match (words.as_slice(), names.split_first()) {
        (["unknown", "field"], Some((name, known))) => {
            let hint = other_key(name, known, span.start, text);
            ScenarioError { message: format!("unknown key '{name}'"), hint, span }
        }
        (["unknown", "variant"], Some((name, known))) => {
            let hint = near(name, known).map(|near| format!("did you mean '{near}'?"));
            let known = || format!("known here: {}", known.join(", "));
            ScenarioError {
                message: format!("unknown word '{name}'"),
                hint: Some(hint.unwrap_or_else(known)),
                span,
            }
        }
        (["missing", "field"], Some((name, _))) => {
            let place = path.first().map_or_else(String::new, |key| format!(" in {}", written(key)));
            ScenarioError { message: format!("the key '{name}' is missing{place}"), hint: None, span }
        }
        (["duplicate", "field"], Some((name, _))) => {
            let message = format!("'{name}' is given twice, once by another name of the same key");
            ScenarioError { message, hint: None, span }
        }
        (["invalid", "type:" | "value:"], _) => {
            let value = text.get(span.clone()).unwrap_or_default();
            wrong_form((message, value), &path, span)
        }
        _ => ScenarioError { message: message.to_owned(), hint: None, span },
    }
}

/// A value that is not of the form that its key has.
fn wrong_form((message, value): (&str, &str), path: &[String], span: Range<usize>) -> ScenarioError {
    let (_, rest) = message.split_once(": ").unwrap_or(("", message));
    let (given, expected) = rest.rsplit_once(", expected ").unwrap_or((rest, ""));
    let key = path.last().map(String::as_str).unwrap_or_default();
    // The tables that may stand several times are lists to the reader.
    let table = match (expected, path) {
        ("a sequence", [key]) => Some(written(key)),
        _ if expected.starts_with("struct ") => path.first().map(|key| written(key)),
        _ => None,
    };
    let expected = match (table, expected) {
        (Some(table), _) if table.starts_with("[[") => format!("tables, each begun by a line {table}"),
        (Some(table), _) => format!("a table, begun by a line {table}"),
        (None, "u32") if quoted(given).first().is_some_and(|number| number.parse::<u64>().is_ok()) => {
            format!("a whole number up to {}", u32::MAX)
        }
        (None, "u32" | "u64" | "u16" | "u8" | "usize") => "a whole number, not negative".to_owned(),
        (None, "i64" | "i32") => "a whole number".to_owned(),
        (None, "f64" | "f32") => "a number".to_owned(),
        (None, "a string") => "a text in quotes".to_owned(),
        (None, "a boolean") => "true or false".to_owned(),
        (None, "a sequence") => "a list [ .. ]".to_owned(),
        (None, "a map") => "a table".to_owned(),
        (None, other) => other.to_owned(),
    };
    // A date is a table to the reader.
    let is_date = given.starts_with("map") && value.starts_with(|first: char| first.is_ascii_digit());
    let given = if is_date { format!("the date {value}") } else { form(given) };
    let message = match key {
        "" => format!("{given}: expected {expected}"),
        key => format!("'{key}' is {given}: expected {expected}"),
    };
    ScenarioError { message, hint: None, span }
}

/// What the reader says of a value, in words of TOML.
fn form(given: &str) -> String {
    let value = quoted(given).first().map_or_else(String::new, |value| format!(" {value}"));
    match given.split_whitespace().next() {
        Some("integer") => format!("the number{value}"),
        Some("floating") => format!("the number{value}"),
        Some("boolean") => value.trim_start().to_owned(),
        Some("string") => format!("the text {}", given.trim_start_matches("string ")),
        Some("map") => "a table".to_owned(),
        Some("sequence") => "a list".to_owned(),
        _ => given.to_owned(),
    }
}

/// How the line is written that begins the table of a key.
fn written(key: &str) -> String {
    let of = TABLES.iter().find(|(_, names, _)| names.contains(&key));
    of.map_or_else(|| format!("[{key}]"), |(line, ..)| (*line).to_owned())
}

/// The keys that lead to the value that stands there.
fn path_of(table: &DeTable<'_>, span: &Range<usize>) -> Option<Vec<String>> {
    table.iter().find_map(|(key, value)| {
        let below = match value.get_ref() {
            _ if value.span() == *span => Some(Vec::new()),
            DeValue::Table(table) => path_of(table, span),
            DeValue::Array(items) => items.iter().find_map(|item| match item.get_ref() {
                _ if item.span() == *span => Some(Vec::new()),
                DeValue::Table(table) => path_of(table, span),
                _ => None,
            }),
            _ => None,
        }?;
        Some(std::iter::once(key.get_ref().to_string()).chain(below).collect())
    })
}

fn near<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_ascii_lowercase();
    let by_beginning =
        || known.iter().copied().find(|word| word.starts_with(&lower) || lower.starts_with(*word));
    nearest(&lower, known.iter().copied()).or_else(by_beginning)
}

/// Which key was meant: one of this table, else one of another.
fn other_key(name: &str, known: &[&str], at: usize, text: &str) -> Option<String> {
    let here = table_at(text, at);
    let elsewhere = |wanted: &dyn Fn(&str) -> bool| {
        let others = TABLES.iter().filter(|(line, ..)| Some(*line) != here);
        others
            .clone()
            .find_map(|(line, _, keys)| keys().into_iter().find(|key| wanted(key)).map(|key| (key, line)))
    };
    let of = |(key, line): (String, &&str)| match key == name {
        true => format!("'{key}' is a key of {line}"),
        false => format!("did you mean '{key}', a key of {line}?"),
    };
    let known_here = || (!known.is_empty()).then(|| format!("known here: {}", known.join(", ")));
    let lower = name.to_ascii_lowercase();
    if let Some(found) = elsewhere(&|key| key == name).filter(|_| !known.contains(&name)) {
        return Some(of((found.0, found.1)));
    }
    if here.is_some() && top_level().iter().any(|key| key == name) {
        return Some(format!("'{name}' stands at the top, above all tables"));
    }
    if let Some(near) = near(name, known) {
        return Some(format!("did you mean '{near}'?"));
    }
    match elsewhere(&|key| nearest(&lower, [key]).is_some()) {
        Some(found) => Some(of((found.0, found.1))),
        None => known_here(),
    }
}

fn top_level() -> Vec<String> {
    keys_of::<super::scenario::Scenario>()
}

/// The line that begins the table in which this place is; none at the top.
fn table_at(text: &str, at: usize) -> Option<&'static str> {
    let above = text.get(..at).unwrap_or_default();
    let header = above.lines().rev().map(str::trim).find(|line| line.starts_with('['))?;
    let name = header.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
    TABLES.iter().find(|(_, names, _)| names.contains(&name)).map(|(line, ..)| *line)
}

#[cfg(test)]
mod tests {
    use crate::runner::simulate::Scenario;

    fn said(text: &str) -> (String, String, String) {
        let error = Scenario::read(text).expect_err(text);
        let place = text.get(error.span.clone()).unwrap_or_default().to_owned();
        (error.message, error.hint.unwrap_or_default(), place)
    }

    #[test]
    fn a_value_of_another_form_is_told_with_its_key_and_the_form_that_is_expected() {
        for (text, message, place) in [
            (
                "length = 10\nkeyboard = 5\n",
                "'keyboard' is the number 5: expected tables, each begun by a line [[keyboard]]",
                "5",
            ),
            (
                "length = 10\nqueue = 5\n",
                "'queue' is the number 5: expected a table, begun by a line [queue]",
                "5",
            ),
            (
                "length = 10\n[[jobs]]\ncount = -1\n",
                "'count' is the number -1: expected a whole number, not negative",
                "-1",
            ),
            (
                "length = 10\n[[jobs]]\ncount = 4294967296\n",
                "'count' is the number 4294967296: expected a whole number up to 4294967295",
                "4294967296",
            ),
            (
                "length = 10\n[[jobs]]\ncount = 'ten'\n",
                "'count' is the text \"ten\": expected a whole number, not negative",
                "'ten'",
            ),
            (
                "length = 2026-11-02\n",
                "'length' is the date 2026-11-02: expected seconds or a time such as 90, \"10m\", \"1h30m\", \"2d\"",
                "2026-11-02",
            ),
            ("length = 10\n[[jobs]]\nname = 7\n", "'name' is the number 7: expected a text in quotes", "7"),
            (
                "length = 10\n[[event]]\nat = 1\nresume = 'yes'\n",
                "'resume' is the text \"yes\": expected true or false",
                "'yes'",
            ),
        ] {
            let (told, _, at) = said(text);
            assert_eq!((told.as_str(), at.as_str()), (message, place), "{text}");
        }
    }

    #[test]
    fn one_table_where_there_may_be_several_is_told_how_it_begins() {
        let (told, _, _) = said("length = 10\n[keyboard]\nbusy = '5m'\n");
        assert_eq!(told, "'keyboard' is a table: expected tables, each begun by a line [[keyboard]]");
    }

    #[test]
    fn a_key_that_stands_in_the_wrong_table_is_told_where_it_belongs() {
        for (text, hint) in [
            ("length = 10\nidel = 0\n", "did you mean 'idle', a key of [[event]]?"),
            ("length = 10\ncomand = 'drain'\n", "did you mean 'command', a key of [[event]]?"),
            ("length = 10\nruns = 5\n", "'runs' is a key of [[jobs]]"),
            ("length = 10\n[[event]]\nat = 1\nruns = 5\n", "'runs' is a key of [[jobs]]"),
            ("[[jobs]]\nlength = 10\n", "'length' stands at the top, above all tables"),
            ("length = 10\n[[event]]\nat = 1\nseed = 3\n", "'seed' stands at the top, above all tables"),
        ] {
            assert_eq!(said(text).1, hint, "{text}");
        }
    }

    #[test]
    fn a_key_that_is_missing_is_told_with_its_table() {
        assert_eq!(said("[[job]]\n").0, "the key 'length' is missing");
        assert_eq!(said("length = 10\n[[event]]\nidle = 0\n").0, "the key 'at' is missing in [[event]]");
    }
}
