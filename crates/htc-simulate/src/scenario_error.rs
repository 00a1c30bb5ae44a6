//! Errors in a scenario, described in terms of TOML: the key, its value, and what was expected.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::scenario::{
    HookBehaviour, JobGroup, MachineSpec, PresencePattern, QueueRules, Scenario, ScenarioEvent,
};
use htc_base::text::similar_names::nearest;
use htc_runner::deserialize_fault::{DeserializeFault, ExpectedType, FoundValue, keys_of};

/// Error in the text of a scenario.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ScenarioError {
    /// Error message.
    pub message: String,
    /// Suggestion, or `None`.
    pub hint: Option<String>,
    /// Position of the error in the text, as a range of bytes.
    pub span: Range<usize>,
}

/// Header of a table, the names of its key, and a function that returns the keys that are valid in the table.
type TableDescription = (&'static str, &'static [&'static str], fn() -> &'static [&'static str]);

/// Tables of a scenario: header, alternative names, and valid keys of each.
const TABLES: [TableDescription; 7] = [
    ("[[machine]]", &["machine", "machines"], keys_of::<MachineSpec>),
    ("[[jobs]]", &["jobs", "job"], keys_of::<JobGroup>),
    ("[queue]", &["queue"], keys_of::<QueueRules>),
    ("[[hook]]", &["hook", "hooks"], keys_of::<HookBehaviour>),
    ("[[keyboard]]", &["keyboard", "keyboards"], keys_of::<PresencePattern>),
    ("[[load]]", &["load", "loads"], keys_of::<PresencePattern>),
    ("[[event]]", &["event", "events"], keys_of::<ScenarioEvent>),
];

/// Describes why a text is not a valid scenario: a fault of a value or, if no value has a fault, an error of the TOML
/// parser.
pub(super) fn explain_toml_error(
    text: &str,
    fault: Option<DeserializeFault>,
    error: &toml::de::Error,
) -> ScenarioError {
    let span = error.span().unwrap_or(0..0);
    if let Some(error) = array_for_table_error(text) {
        return error;
    }
    let path =
        DeTable::parse(text).ok().and_then(|table| key_path_at(table.get_ref(), &span)).unwrap_or_default();
    let value = text.get(span.clone()).unwrap_or_default();
    let (message, hint) = match fault {
        None => (error.message().to_owned(), None),
        Some(DeserializeFault::UnknownKey { name, known }) => {
            (format!("unknown key '{name}'"), suggest_key(&name, known, span.start, text))
        }
        Some(DeserializeFault::UnknownWord { word, known }) => {
            let hint = nearest_word(&word, known).map(|near| format!("did you mean '{near}'?"));
            (format!("unknown word '{word}'"), Some(hint.unwrap_or_else(|| list_known(known))))
        }
        Some(DeserializeFault::MissingKey(name)) => {
            let place = path.first().map_or_else(String::new, |key| format!(" in {}", table_header(key)));
            (format!("the key '{name}' is missing{place}"), None)
        }
        Some(DeserializeFault::DuplicateKey(name)) => {
            (format!("'{name}' is given twice, once under another name of the same key"), None)
        }
        Some(DeserializeFault::WrongType { found, expected }) => wrong_type(&found, &expected, value, &path),
        Some(DeserializeFault::Message(message)) => match path.last() {
            Some(key) => (format!("'{key}': {message}"), None),
            None => (message, None),
        },
    };
    ScenarioError { message, hint, span }
}

fn list_known(known: &[&str]) -> String {
    format!("known here: {}", known.join(", "))
}

/// Describes a value in the text, in terms of TOML.
fn describe_value(value: &str) -> String {
    let is_date = |value: &str| value.len() >= 8 && value.as_bytes().get(4) == Some(&b'-');
    match value.trim_start().chars().next() {
        Some('[') => "a list".to_owned(),
        Some('{') => "a table".to_owned(),
        Some('t' | 'f') => value.to_owned(),
        Some('"' | '\'') => format!("the text {value}"),
        Some(_) if is_date(value) => format!("the date {value}"),
        _ => format!("the number {value}"),
    }
}

/// Returns the error for a list where a single table is expected. The deserializer would treat the items of the list
/// as values of the table's keys.
fn array_for_table_error(text: &str) -> Option<ScenarioError> {
    let whole = DeTable::parse(text).ok()?;
    let single = TABLES.iter().filter(|(line, ..)| !line.starts_with("[["));
    single.flat_map(|(line, names, _)| names.iter().map(move |name| (line, name))).find_map(|(line, name)| {
        let (key, value) = whole.get_ref().iter().find(|(key, _)| key.get_ref() == *name)?;
        let message = format!("'{name}' is a list: expected one table, which begins with a line {line}");
        matches!(value.get_ref(), DeValue::Array(_)).then(|| ScenarioError {
            message,
            hint: None,
            span: key.span(),
        })
    })
}

/// Returns the message and the hint for a value of the wrong type.
fn wrong_type(
    found: &FoundValue,
    expected: &ExpectedType,
    value: &str,
    path: &[String],
) -> (String, Option<String>) {
    let key = path.last().map(String::as_str).unwrap_or_default();
    // A table that may be repeated is read as a list.
    let table = match (expected, path) {
        (ExpectedType::List, [key]) => Some(table_header(key)),
        (ExpectedType::Struct(_), _) => path.first().map(|key| table_header(key)),
        _ => None,
    };
    let is_too_large = |max: u64| matches!(found, FoundValue::Integer(number) if *number > max.into());
    let wanted = match (table, expected) {
        (Some(table), _) if table.starts_with("[[") => {
            format!("tables, each of which begins with a line {table}")
        }
        (Some(table), _) => format!("a table, which begins with a line {table}"),
        (None, ExpectedType::Unsigned { max }) if *max <= u32::MAX.into() && is_too_large(*max) => {
            format!("a whole number up to {max}")
        }
        (None, ExpectedType::Unsigned { .. }) => "a whole number, not negative".to_owned(),
        (None, ExpectedType::Integer) => "a whole number".to_owned(),
        (None, ExpectedType::Real) => "a number".to_owned(),
        (None, ExpectedType::Text) => "a string in quotes".to_owned(),
        (None, ExpectedType::Boolean) => "true or false".to_owned(),
        (None, ExpectedType::List) => "a list [ .. ]".to_owned(),
        (None, ExpectedType::Map | ExpectedType::Struct(_)) => "a table".to_owned(),
        (None, ExpectedType::Word(_)) => "a word in quotes".to_owned(),
        (None, ExpectedType::SmallerNumber) => "a smaller number".to_owned(),
        (None, ExpectedType::Described(text)) => text.clone(),
    };
    let description = match found {
        // The deserializer represents a date as a table.
        FoundValue::Table if value.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("the date {value}")
        }
        found => describe_found(found).unwrap_or_else(|| describe_value(value)),
    };
    let message = match key {
        "" => format!("{description}: expected {wanted}"),
        key => format!("'{key}' is {description}: expected {wanted}"),
    };
    let hint = match expected {
        ExpectedType::Word(known) => Some(list_known(known)),
        _ => None,
    };
    (message, hint)
}

/// Describes a value in terms of TOML, or returns `None` for a value that must be shown as in the text.
fn describe_found(found: &FoundValue) -> Option<String> {
    Some(match found {
        FoundValue::Boolean(value) => value.to_string(),
        FoundValue::Integer(number) => format!("the number {number}"),
        FoundValue::Real(number) => format!("the number {}", format_real(*number)),
        FoundValue::Text(text) => format!("the string {text:?}"),
        FoundValue::List => "a list".to_owned(),
        FoundValue::Table => "a table".to_owned(),
        FoundValue::Other(_) => return None,
    })
}

fn format_real(number: f64) -> String {
    let text = number.to_string();
    if number.is_finite() && !text.contains('.') { format!("{text}.0") } else { text }
}

/// Returns the header line of the table with this key.
fn table_header(key: &str) -> String {
    let of = TABLES.iter().find(|(_, names, _)| names.contains(&key));
    of.map_or_else(|| format!("[{key}]"), |(line, ..)| (*line).to_owned())
}

/// Returns the path of keys to the value with this range in the text, or `None` if there is no such value.
fn key_path_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<Vec<String>> {
    table.iter().find_map(|(key, value)| {
        let below = match value.get_ref() {
            _ if value.span() == *span => Some(Vec::new()),
            DeValue::Table(table) => key_path_at(table, span),
            DeValue::Array(items) => items.iter().find_map(|item| match item.get_ref() {
                _ if item.span() == *span => Some(Vec::new()),
                DeValue::Table(table) => key_path_at(table, span),
                _ => None,
            }),
            _ => None,
        }?;
        Some(std::iter::once(key.get_ref().to_string()).chain(below).collect())
    })
}

/// Returns the range of a key's value in the table with the given name and index. If the table does not have the key,
/// returns the range of the table.
pub(super) fn span_of_key(text: &str, table: &str, index: usize, key: &str) -> Range<usize> {
    let Ok(whole) = DeTable::parse(text) else { return 0..0 };
    find_table(whole.get_ref(), table, index).map_or(0..0, |(span, table)| {
        let found = table.iter().find(|(it, _)| it.get_ref() == key);
        found.map_or(span, |(_, value)| value.span())
    })
}

/// Returns the range of a parameter in the key `knobs` of a table. If `table` is empty, searches the `knobs` of the
/// scenario itself.
pub(super) fn span_of_parameter(text: &str, table: &str, index: usize, name: &str) -> Range<usize> {
    let Ok(whole) = DeTable::parse(text) else { return 0..0 };
    let above = match table {
        "" => Some((0..0, whole.get_ref())),
        table => find_table(whole.get_ref(), table, index),
    };
    let found = above.and_then(|(_, above)| {
        let (_, knobs) = above.iter().find(|(it, _)| it.get_ref() == "knobs")?;
        let DeValue::Table(knobs) = knobs.get_ref() else { return None };
        knobs.iter().find(|(it, _)| it.get_ref().eq_ignore_ascii_case(name)).map(|(it, _)| it.span())
    });
    found.unwrap_or(0..0)
}

/// Returns the table with the given name and index, under any of the key's alternative names.
fn find_table<'a, 'b>(
    whole: &'a DeTable<'b>,
    table: &str,
    index: usize,
) -> Option<(Range<usize>, &'a DeTable<'b>)> {
    let (_, names, _) = TABLES.iter().find(|(_, names, _)| names.contains(&table))?;
    let (_, value) = whole.iter().find(|(key, _)| names.contains(&key.get_ref().as_ref()))?;
    let one = match value.get_ref() {
        DeValue::Array(items) => items.get(index)?,
        _ => value,
    };
    match one.get_ref() {
        DeValue::Table(table) => Some((one.span(), table)),
        _ => None,
    }
}

fn nearest_word<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_ascii_lowercase();
    let by_beginning =
        || known.iter().copied().find(|word| word.starts_with(&lower) || lower.starts_with(*word));
    nearest(&lower, known.iter().copied()).or_else(by_beginning)
}

/// Returns a suggestion for an unknown key: a similar key of the table or, if it has no similar key, of another table.
fn suggest_key(name: &str, known: &[&str], at: usize, text: &str) -> Option<String> {
    let here = table_header_at(text, at);
    let elsewhere = |wanted: &dyn Fn(&str) -> bool| {
        let others = TABLES.iter().filter(|(line, ..)| Some(*line) != here);
        others
            .clone()
            .find_map(|(line, _, keys)| keys().iter().find(|key| wanted(key)).map(|key| (*key, *line)))
    };
    let of = |(key, line): (&str, &str)| match key == name {
        true => format!("'{key}' is a key of {line}"),
        false => format!("did you mean '{key}', a key of {line}?"),
    };
    let known_here = || (!known.is_empty()).then(|| list_known(known));
    let lower = name.to_ascii_lowercase();
    if let Some(found) = elsewhere(&|key| key == name).filter(|_| !known.contains(&name)) {
        return Some(of(found));
    }
    if here.is_some() && top_level_keys().contains(&name) {
        return Some(format!("'{name}' belongs at the top, above all tables"));
    }
    if let Some(near) = nearest_word(name, known) {
        return Some(format!("did you mean '{near}'?"));
    }
    match elsewhere(&|key| nearest(&lower, [key]).is_some()) {
        Some(found) => Some(of(found)),
        None => known_here(),
    }
}

fn top_level_keys() -> &'static [&'static str] {
    keys_of::<Scenario>()
}

/// Returns the header of the table that contains the position `at`, or `None` if it is before the first table.
fn table_header_at(text: &str, at: usize) -> Option<&'static str> {
    let above = text.get(..at).unwrap_or_default();
    let header = above.lines().rev().map(str::trim).find(|line| line.starts_with('['))?;
    let name = header.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
    TABLES.iter().find(|(_, names, _)| names.contains(&name)).map(|(line, ..)| *line)
}

#[cfg(test)]
mod tests {
    use super::TABLES;
    use crate::Scenario;

    fn explained(text: &str) -> (String, String, String) {
        let error = Scenario::parse(text).expect_err(text);
        let place = text.get(error.span.clone()).unwrap_or_default().to_owned();
        (error.message, error.hint.unwrap_or_default(), place)
    }

    #[test]
    fn a_value_of_a_wrong_form_is_reported_with_key_and_expected_form() {
        for (text, message, place) in [
            (
                "length = 10\nkeyboard = 5\n",
                "'keyboard' is the number 5: expected tables, each of which begins with a line [[keyboard]]",
                "5",
            ),
            (
                "length = 10\nqueue = 5\n",
                "'queue' is the number 5: expected a table, which begins with a line [queue]",
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
                "'count' is the string \"ten\": expected a whole number, not negative",
                "'ten'",
            ),
            (
                "length = 2026-11-02\n",
                "'length' is the date 2026-11-02: expected seconds or a time such as 90, \"10m\", \"1h30m\", \"2d\"",
                "2026-11-02",
            ),
            ("length = 10\n[[jobs]]\nname = 7\n", "'name' is the number 7: expected a string in quotes", "7"),
            (
                "length = 10\n[[event]]\nat = 1\nresume = 'yes'\n",
                "'resume' is the string \"yes\": expected true or false",
                "'yes'",
            ),
        ] {
            let (message_text, _, at) = explained(text);
            assert_eq!((message_text.as_str(), at.as_str()), (message, place), "{text}");
        }
    }

    /// Checks that the error for an invalid value of any key names the key, in terms that users know.
    #[test]
    fn every_key_is_named_with_an_invalid_value() {
        let tables = TABLES.iter().map(|(line, _, keys)| (*line, keys()));
        let all = std::iter::once(("", super::top_level_keys())).chain(tables);
        let (mut refused, mut keys) = (0, 0);
        for (line, names) in all {
            let is_table = |name: &str| TABLES.iter().any(|(_, names, _)| names.contains(&name));
            for key in names.iter().filter(|key| !is_table(key)) {
                keys += 1;
                for value in
                    ["true", "nan", "-7.5", "[]", "{}", "[[1]]", "['12 parsecs']", "99999999999999999999"]
                {
                    let length =
                        if ["length", "until", "duration"].contains(key) { "" } else { "length = 10\n" };
                    let needed = ["[[hook]]", "[[event]]"].iter().position(|it| *it == line);
                    let needed = needed.map_or("", |at| ["type = 'FETCH_WORK'\n", "at = 1\n"][at]);
                    let needed = if needed.starts_with(&format!("{key} ")) { "" } else { needed };
                    let text = format!("{length}{line}\n{needed}{key} = {value}\n");
                    let Err(error) = Scenario::parse(&text) else { continue };
                    // Only a missing key is reported at the whole table.
                    let is_whole = text.get(error.span.clone()).is_some_and(|at| at.starts_with("[["));
                    if is_whole && !value.starts_with('[') {
                        continue;
                    }
                    refused += 1;
                    let message_text = &error.message;
                    assert!(message_text.contains(&format!("'{key}'")), "{text}: {message_text}");
                    let of_reader = ["untagged", "variant", "wanted", "any valid", "type "];
                    assert!(
                        !of_reader.iter().any(|word| message_text.contains(word)),
                        "{text}: {message_text}"
                    );
                }
            }
        }
        assert!(keys > 50 && refused > 6 * keys, "{refused} of {keys}");
    }

    #[test]
    fn a_single_table_in_place_of_a_list_has_a_hint() {
        let (message_text, _, _) = explained("length = 10\n[keyboard]\nbusy = '5m'\n");
        assert_eq!(
            message_text,
            "'keyboard' is a table: expected tables, each of which begins with a line [[keyboard]]"
        );
    }

    #[test]
    fn a_key_in_the_wrong_table_is_reported_with_the_right_one() {
        for (text, hint) in [
            ("length = 10\nidel = 0\n", "did you mean 'idle', a key of [[event]]?"),
            ("length = 10\ncomand = 'drain'\n", "did you mean 'command', a key of [[event]]?"),
            ("length = 10\nruns = 5\n", "'runs' is a key of [[jobs]]"),
            ("length = 10\n[[event]]\nat = 1\nruns = 5\n", "'runs' is a key of [[jobs]]"),
            ("[[jobs]]\nlength = 10\n", "'length' belongs at the top, above all tables"),
            ("length = 10\n[[event]]\nat = 1\nseed = 3\n", "'seed' belongs at the top, above all tables"),
        ] {
            assert_eq!(explained(text).1, hint, "{text}");
        }
    }

    #[test]
    fn invalid_text_is_reported_with_its_location() {
        let hook = "length = 10\n[[hook]]\ntype = 'FETCH_WORK'\n";
        let event = "length = 10\n[[event]]\nat = 1\n";
        for (text, message, place) in [
            (
                format!("{hook}percent = -5\nhangs = true\n"),
                "'percent' is -5: expected a number from 0 to 100",
                "-5",
            ),
            (format!("{hook}percent = nan\nhangs = true\n"), "'percent' is NaN", "nan"),
            (format!("{hook}percent = 500\nhangs = true\n"), "'percent' is 500", "500"),
            (hook.to_owned(), "this table changes nothing about the hook", "[[hook]]"),
            (
                format!("{hook}hangs = true\nfails = true\n"),
                "'fails' and 'hangs' cannot be used together",
                "true",
            ),
            (format!("{hook}hangs = true\ntakes = 5\n"), "'hangs' and 'takes' cannot be used together", "5"),
            (
                "length = 10\n[[hook]]\ntype = 'REPLY_FETCH'\ntakes = 5\n".to_owned(),
                "'takes' has no effect for a hook that nothing waits for",
                "5",
            ),
            (
                "length = 10\n[[hook]]\ntype = 'EVICT_CLAIM'\nprints = 'x'\n".to_owned(),
                "'prints' has no effect for a hook whose output nothing reads",
                "'x'",
            ),
            (
                format!("{hook}prints = 'Cmd = \"/bin/true\"'\n"),
                "the output is a job",
                "'Cmd = \"/bin/true\"'",
            ),
            (format!("{event}load = nan\n"), "'load' is NaN", "nan"),
            (format!("{event}load = -3\n"), "'load' is -3", "-3"),
            (format!("{event}load = 1e300\n"), "expected a number from 0 to 1000000", "1e300"),
            (
                "length = '1h'\n[[jobs]]\nevery = '10m'\n".to_owned(),
                "'every' has no effect without 'count': one job arrives",
                "'10m'",
            ),
            (
                "length = '1h'\n[[jobs]]\nwithin = '10m'\n".to_owned(),
                "'within' has no effect without 'count': one job arrives",
                "'10m'",
            ),
            (event.to_owned(), "the event does nothing", "[[event]]"),
            (format!("{event}resume = true\n"), "'resume' has no effect without 'command'", "true"),
            (
                format!("{event}command = 'suspend'\nhow = 'fast'\n"),
                "'how' has no effect for 'suspend'",
                "'fast'",
            ),
            (
                format!("{event}command = 'vacate'\nreason = 'x'\n"),
                "'reason' has no effect for 'vacate'",
                "'x'",
            ),
            (
                format!("{event}command = 'vacate'\nresume = true\n"),
                "'resume' has no effect for 'vacate'",
                "true",
            ),
            (
                format!("{event}command = 'drain'\nslot = 'slot1'\n"),
                "'drain' is for the whole execution point and takes no slot",
                "'slot1'",
            ),
            (
                format!("{event}command = 'hold'\nslot = 'slot1'\n"),
                "'hold' is not supported in a simulation",
                "'hold'",
            ),
            ("length = 10\n[[jobs]]\ncpus = 0.5\n".to_owned(), "'0.5' is not a valid number", "0.5"),
            (
                "length = 10\n[[jobs]]\nexit = 99999999999\n".to_owned(),
                "'exit' is 99999999999",
                "99999999999",
            ),
            ("length = 10\n[[jobs]]\nowner = []\n".to_owned(), "expected at least one name", "[]"),
            ("length = 10\n[[jobs]]\nowner = {}\n".to_owned(), "expected at least one name", "{}"),
            ("length = 10\n[[keyboard]]\nload = 2\n".to_owned(), "'load' has no effect for a keyboard", "2"),
            (
                "length = 10\n[[keyboard]]\nhours = '08:00-08:00'\n".to_owned(),
                "it ends when it starts",
                "'08:00-08:00'",
            ),
            (
                "length = 10\n[[load]]\nbusy = [0]\naway = [0]\n".to_owned(),
                "the state would change forever",
                "[0]",
            ),
            (
                "length = 10\n[[machine]]\nname = 'a'\ncount = 2\n[[machine]]\nname = 'a1'\n".to_owned(),
                "two machines are called 'a1': see [[machine]] 1",
                "'a1'",
            ),
            (
                "length = 10\n[[machine]]\n[[machine]]\nname = 'b'\ncount = 200000\n".to_owned(),
                "there are 200001 machines, but at most 100000 can be simulated",
                "200000",
            ),
            (
                "length = 10\n[[job]]\ncount = 4\n[[job]]\ncount = 4000000000\n".to_owned(),
                "there are 4000000004 jobs, but at most 50000000 can be simulated",
                "4000000000",
            ),
            (
                "length = 10\n[[queue]]\nretry = 5\n".to_owned(),
                "'queue' is a list: expected one table",
                "queue",
            ),
        ] {
            let (message_text, _, at) = explained(&text);
            assert!(message_text.contains(message), "{text}: {message_text}");
            assert_eq!(at, place, "{text}: {message_text}");
        }
    }

    #[test]
    fn times_outside_of_the_simulation_are_reported_with_their_location() {
        let start = "start = 2026-11-02 08:00:00\nlength = '1h'\n";
        let hook = "[[hook]]\ntype = 'FETCH_WORK'\nhangs = true\n";
        for (text, message, place) in [
            (
                format!("{start}[[event]]\nat = '2h'\nidle = 0\n"),
                "'at' is 2h after the start: it ends after 1h",
                "'2h'",
            ),
            (
                format!("{start}[[event]]\nat = 2026-11-01\nidle = 0\n"),
                "'at' is before the start",
                "2026-11-01",
            ),
            (format!("{start}{hook}from = '30m'\nto = '20m'\n"), "'to' must be after 'from'", "'20m'"),
        ] {
            let scenario = Scenario::parse(&text).unwrap();
            let error = scenario.validate_times(&|_| 0).expect_err(&text);
            assert!(error.message.contains(message), "{text}: {error}");
            assert_eq!(&text[error.span], place, "{text}");
        }
        let text = format!("{start}{hook}to = '20m'\n[[event]]\nat = '1h'\nidle = 0\n");
        assert_eq!(Scenario::parse(&text).unwrap().validate_times(&|_| 0), Ok(()));
    }

    #[test]
    fn a_missing_key_is_reported_with_its_table() {
        assert_eq!(explained("[[job]]\n").0, "the key 'length' is missing");
        assert_eq!(explained("length = 10\n[[event]]\nidle = 0\n").0, "the key 'at' is missing in [[event]]");
    }
}
