//! Translation of errors of the TOML parser into messages for authors of suites.

use htc_base::text::similar_names;

/// Keys of a case.
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
/// Keys of `expect`.
const EXPECT_KEYS: &[&str] = &[
    "verdict", "code", "subcode", "reason", "exit", "stdout", "stderr", "result", "findings", "notes",
    "within",
];

/// Translates a message of the TOML parser, and adds a hint if there is one.
pub fn explain_toml_message(message: &str) -> (String, Option<String>) {
    if let Some(name) = backquoted_name(message, "unknown field `") {
        return explain_unknown_key(&name, message.contains("`subcode`"), message.contains("`defaults`"));
    }
    if let Some(rest) = message.strip_prefix("invalid type: ") {
        let (found, wanted) = rest.split_once(", expected ").unwrap_or((rest, "something else"));
        let (wanted, hint) = describe_expected(wanted);
        return (
            format!("{} stands where {wanted} is expected", describe_found(found)),
            hint.map(str::to_owned),
        );
    }
    (message.replace("duplicate field", "this key stands twice:"), None)
}

fn backquoted_name(message: &str, before: &str) -> Option<String> {
    let rest = message.strip_prefix(before)?;
    rest.split_once('`').map(|(name, _)| name.to_owned())
}

fn explain_unknown_key(name: &str, in_expect: bool, at_top: bool) -> (String, Option<String>) {
    let (here, known, elsewhere) = match (in_expect, at_top) {
        (true, _) => ("expect has", EXPECT_KEYS, CASE_KEYS),
        (false, true) => ("a suite has", &["defaults", "case"][..], CASE_KEYS),
        (false, false) => ("a case has", CASE_KEYS, EXPECT_KEYS),
    };
    let hint = if elsewhere.contains(&name) {
        match (in_expect, at_top) {
            (true, _) => format!("it belongs beside expect: put {name} on a line of its own"),
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

/// Describes an expected type, with an example.
fn describe_expected(wanted: &str) -> (&str, Option<&'static str>) {
    match wanted {
        "struct Expect" => ("a table", Some("write expect = { verdict = \"held\", code = 19 }")),
        "struct CaseText" => {
            ("a table", Some("a case begins with [[case]], what all cases have with [defaults]"))
        }
        "a sequence" => ("a list", Some("write [\"one\", \"two\"]")),
        "a map" => ("a table", Some("write { NAME = \"value\" }")),
        "a string" => ("a text", Some("write it in quotes")),
        "a boolean" => ("true or false", None),
        "i64" | "u64" | "f64" => ("a number", None),
        other => (other, None),
    }
}

fn describe_found(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match (kind, value) {
        ("string", text) => format!("the text {text}"),
        ("integer" | "float" | "floating", number) => {
            format!("the number {}", number.trim_start_matches("point ").trim_matches('`'))
        }
        ("boolean", truth) => truth.trim_matches('`').to_owned(),
        ("sequence", _) => "a list".to_owned(),
        ("map", _) => "a table".to_owned(),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::SuiteFile;
    use super::*;

    fn wrong(text: &str) -> String {
        let error = toml::from_str::<SuiteFile>(text).unwrap_err();
        let (message, hint) = explain_toml_message(error.message());
        format!("{message} | {}", hint.unwrap_or_default())
    }

    #[test]
    fn errors_of_suites_speak_of_keys() {
        let known = [
            ("[[case]]\ncode = 19\n", "a case has no key 'code' | put it in expect: expect = { code = ... }"),
            ("[[case]]\nhok = 'x'\n", "a case has no key 'hok' | did you mean hook?"),
            (
                "[[case]]\nexpect = { hook = 'x' }\n",
                "expect has no key 'hook' | it belongs beside expect: put hook on a line of its own",
            ),
            ("[[case]]\nexpect = { verdikt = 'x' }\n", "expect has no key 'verdikt' | did you mean verdict?"),
            ("hook = 'x'\n", "a suite has no key 'hook' | put hook below [defaults] or [[case]]"),
            ("[[cases]]\n", "a suite has no key 'cases' | each case begins with [[case]]"),
            (
                "[[case]]\nexpect = 'held'\n",
                "the text \"held\" stands where a table is expected | write expect = { verdict = \"held\", code = 19 }",
            ),
            (
                "[[case]]\nwords = 'held'\n",
                "the text \"held\" stands where a list is expected | write [\"one\", \"two\"]",
            ),
            ("[[case]]\nname = 7\n", "the number 7 stands where a text is expected | write it in quotes"),
            ("[[case]]\nshadow = 'yes'\n", "the text \"yes\" stands where true or false is expected | "),
        ];
        for (text, message) in known {
            assert_eq!(wrong(text), message, "{text}");
        }
    }

    #[test]
    fn the_lists_of_keys_are_those_that_suites_have() {
        let error = toml::from_str::<SuiteFile>("[[case]]\nx = 1\n").unwrap_err();
        for key in CASE_KEYS {
            assert!(error.message().contains(&format!("`{key}`")), "{key}");
        }
        assert_eq!(error.message().matches('`').count() / 2, CASE_KEYS.len() + 1);
        let error = toml::from_str::<SuiteFile>("[[case]]\nexpect = { x = 1 }\n").unwrap_err();
        for key in EXPECT_KEYS {
            assert!(error.message().contains(&format!("`{key}`")), "{key}");
        }
        assert_eq!(error.message().matches('`').count() / 2, EXPECT_KEYS.len() + 1);
    }
}
