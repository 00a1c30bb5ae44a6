//! Messages for authors of suites about mistakes in a suite.

use htc_base::text::similar_names;
use htc_runner::deserialize_fault::{DeserializeFault, ExpectedType, FoundValue};

/// Valid keys of a case.
const CASE_KEYS: &[&str] = &[
    "name",
    "hook",
    "hook_directory",
    "needs",
    "type",
    "job",
    "job_file",
    "sample_job",
    "slot",
    "slot_file",
    "sample_slot",
    "routed",
    "set",
    "delete",
    "words",
    "env",
    "path_prepend",
    "files",
    "shadow",
    "keyword",
    "reference",
    "prefix",
    "mode",
    "runs",
    "slots",
    "metrics",
    "timeout",
    "expect",
    "each",
];
/// Valid keys of `expect`.
const EXPECT_KEYS: &[&str] = &[
    "verdict", "code", "subcode", "reason", "exit", "stdout", "stderr", "result", "findings", "notes",
    "within",
];

/// Describes why a text is not a valid suite: a fault of a value or, if no value has a fault, an error of the TOML parser.
/// Adds a hint if one is known.
pub fn explain_suite_error(
    fault: Option<&DeserializeFault>,
    error: &toml::de::Error,
) -> (String, Option<String>) {
    match fault {
        Some(DeserializeFault::UnknownKey { name, known }) => {
            explain_unknown_key(name, known.contains(&"subcode"), known.contains(&"defaults"))
        }
        Some(DeserializeFault::WrongType { found, expected }) => {
            let (wanted, hint) = describe_expected(expected);
            (format!("expected {wanted}, found {}", describe_found(found)), hint.map(str::to_owned))
        }
        Some(DeserializeFault::DuplicateKey(name)) => (format!("duplicate key: '{name}'"), None),
        Some(
            fault @ (DeserializeFault::UnknownWord { .. }
            | DeserializeFault::MissingKey(_)
            | DeserializeFault::Message(_)),
        ) => (fault.to_string(), None),
        None => (error.message().to_owned(), None),
    }
}

/// Returns a hint about a string without quotes at the position where the TOML parser found an error, or `None`.
pub fn explain_unquoted_text(suite: &str, at: usize) -> Option<String> {
    let start = suite.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let (key, value) = suite.get(start..)?.lines().next()?.split_once('=')?;
    let value = value.trim();
    let is_text = value.starts_with(|first: char| first.is_ascii_alphabetic() || "./~$_".contains(first));
    let is_plain = !value.contains(['"', '\'', '\\']);
    (is_text && is_plain).then(|| format!("a string must be quoted: write {} = \"{value}\"", key.trim()))
}

fn explain_unknown_key(name: &str, in_expect: bool, at_top: bool) -> (String, Option<String>) {
    let (here, known, elsewhere) = match (in_expect, at_top) {
        (true, _) => ("expect has", EXPECT_KEYS, CASE_KEYS),
        (false, true) => ("a suite has", &["defaults", "case"][..], CASE_KEYS),
        (false, false) => ("a case has", CASE_KEYS, EXPECT_KEYS),
    };
    let hint = if elsewhere.contains(&name) {
        match (in_expect, at_top) {
            (true, _) => format!("it does not belong in expect: put {name} on a line of its own"),
            (false, true) => format!("put {name} below [defaults] or [[case]]"),
            (false, false) => format!("put it in expect: expect = {{ {name} = ... }}"),
        }
    } else if at_top && ["cases", "test", "tests"].contains(&name) {
        "each case begins with [[case]]".to_owned()
    } else {
        match similar_names::nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("its keys are {}", known.join(", ")),
        }
    };
    (format!("{here} no key '{name}'"), Some(hint))
}

/// Describes an expected type in words, with an example if one is useful.
fn describe_expected(expected: &ExpectedType) -> (&str, Option<&'static str>) {
    match expected {
        ExpectedType::Struct("Expect") => {
            ("a table", Some("write expect = { verdict = \"held\", code = 19 }"))
        }
        ExpectedType::Struct("CaseText") => {
            ("a table", Some("a case begins with [[case]]; keys for all cases are in [defaults]"))
        }
        ExpectedType::Struct(_) => ("a table", None),
        ExpectedType::List => ("a list", Some("write [\"one\", \"two\"]")),
        ExpectedType::Map => ("a table", Some("write { NAME = \"value\" }")),
        ExpectedType::Text => ("a string", Some("write it in quotes")),
        ExpectedType::Boolean => ("true or false", None),
        ExpectedType::Unsigned { .. } => ("a number that is not negative", None),
        ExpectedType::Integer | ExpectedType::Real => ("a number", None),
        ExpectedType::SmallerNumber => ("a smaller number", None),
        ExpectedType::Word(_) => ("a string", None),
        ExpectedType::Described(text) => (text.as_str(), None),
    }
}

fn describe_found(found: &FoundValue) -> String {
    match found {
        FoundValue::Boolean(value) => value.to_string(),
        FoundValue::Integer(number) => format!("the number {number}"),
        FoundValue::Real(number) => format!("the number {number:?}"),
        FoundValue::Text(text) => format!("the string {text:?}"),
        FoundValue::List => "a list".to_owned(),
        FoundValue::Table => "a table".to_owned(),
        FoundValue::Other(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{CaseText, Expect, parse_suite};
    use super::*;
    use htc_runner::deserialize_fault::keys_of;

    fn wrong(text: &str) -> String {
        let (fault, error) = parse_suite(text).unwrap_err();
        let (message, hint) = explain_suite_error(fault.as_ref(), &error);
        format!("{message} | {}", hint.unwrap_or_default())
    }

    #[test]
    fn errors_of_suites_name_keys() {
        let known = [
            ("[[case]]\ncode = 19\n", "a case has no key 'code' | put it in expect: expect = { code = ... }"),
            ("[[case]]\nhok = 'x'\n", "a case has no key 'hok' | did you mean hook?"),
            (
                "[[case]]\nexpect = { hook = 'x' }\n",
                "expect has no key 'hook' | it does not belong in expect: put hook on a line of its own",
            ),
            ("[[case]]\nexpect = { verdikt = 'x' }\n", "expect has no key 'verdikt' | did you mean verdict?"),
            ("hook = 'x'\n", "a suite has no key 'hook' | put hook below [defaults] or [[case]]"),
            ("[[cases]]\n", "a suite has no key 'cases' | each case begins with [[case]]"),
            (
                "[[case]]\nexpect = 'held'\n",
                "expected a table, found the string \"held\" | write expect = { verdict = \"held\", code = 19 }",
            ),
            (
                "[[case]]\nwords = 'held'\n",
                "expected a list, found the string \"held\" | write [\"one\", \"two\"]",
            ),
            ("[[case]]\nname = 7\n", "expected a string, found the number 7 | write it in quotes"),
            ("[[case]]\nshadow = 'yes'\n", "expected true or false, found the string \"yes\" | "),
        ];
        for (text, message) in known {
            assert_eq!(wrong(text), message, "{text}");
        }
    }

    #[test]
    fn a_text_without_quotes_is_suggested_with_quotes() {
        for (text, hint) in [
            ("[[case]]\nhook = ./prep\n", "a string must be quoted: write hook = \"./prep\""),
            ("[[case]]\ntype = prepare\n", "a string must be quoted: write type = \"prepare\""),
        ] {
            let (_, error) = parse_suite(text).unwrap_err();
            let found = explain_unquoted_text(text, error.span().unwrap().start);
            assert_eq!(found.as_deref(), Some(hint), "{text}");
        }
        assert_eq!(explain_unquoted_text("[[case]]\nruns = 12x\n", 16), None);
        assert_eq!(explain_unquoted_text("[[case\n", 2), None);
    }

    #[test]
    fn the_lists_of_keys_are_complete() {
        assert_eq!(keys_of::<CaseText>(), CASE_KEYS);
        assert_eq!(keys_of::<Expect>(), EXPECT_KEYS);
    }
}
