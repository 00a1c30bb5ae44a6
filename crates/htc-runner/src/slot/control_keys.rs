//! Check of the command, the keys and the values of a request, with messages that name the invalid part.

use serde_json::{Map, Value};

use htc_base::text::similar_names::nearest;

/// Request that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidRequest {
    /// The invalid or missing key; `command` if the request as a whole is invalid.
    pub key: String,
    /// Error message.
    pub message: String,
}

/// Type of a key's value.
#[derive(Clone, Copy)]
enum KeyType {
    /// A required string.
    RequiredText,
    Text,
    Words(&'static [&'static str]),
    Integer,
    /// A number of bytes.
    Length,
    Flag,
    /// A list of strings.
    Names,
}

/// Name of a key of a request, and its type.
type RequestKey = (&'static str, KeyType);

const REQUIRED_SLOT: RequestKey = ("slot", KeyType::RequiredText);
const OPTIONAL_SLOT: RequestKey = ("slot", KeyType::Text);
const AD_LENGTH: RequestKey = ("ad_length", KeyType::Length);
const AD_NAME: RequestKey = ("ad_name", KeyType::Text);
const REASON: RequestKey = ("reason", KeyType::Text);
const VACATE_SPEED: RequestKey = ("how", KeyType::Words(&["graceful", "fast"]));

/// The commands, each with its keys other than `command`.
const COMMANDS: [(&str, &[RequestKey]); 16] = [
    ("match", &[REQUIRED_SLOT]),
    (
        "claim",
        &[
            REQUIRED_SLOT,
            AD_LENGTH,
            AD_NAME,
            ("lease", KeyType::Integer),
            ("schedd", KeyType::Text),
            ("preempts", KeyType::Names),
        ],
    ),
    ("activate", &[REQUIRED_SLOT, AD_LENGTH, AD_NAME]),
    ("alive", &[REQUIRED_SLOT]),
    ("hold", &[REQUIRED_SLOT, REASON]),
    ("suspend", &[OPTIONAL_SLOT]),
    ("continue", &[OPTIONAL_SLOT]),
    ("vacate", &[OPTIONAL_SLOT, VACATE_SPEED]),
    ("deactivate", &[REQUIRED_SLOT, VACATE_SPEED]),
    ("release-claim", &[REQUIRED_SLOT, ("waiting", KeyType::Flag)]),
    (
        "drain",
        &[
            ("how", KeyType::Words(&["graceful", "quick", "fast"])),
            REASON,
            ("on_completion", KeyType::Words(&["resume", "exit", "restart", "reconfig"])),
            ("check", KeyType::Text),
            ("start", KeyType::Text),
        ],
    ),
    ("undrain", &[("request_id", KeyType::Text)]),
    ("off", &[("how", KeyType::Words(&["peaceful", "graceful", "fast"]))]),
    ("reconfig", &[]),
    ("ads", &[]),
    ("status", &[OPTIONAL_SLOT, ("counters", KeyType::Flag)]),
];

impl KeyType {
    /// Returns the reason why `value` is not valid for the key `name` of `command`, or `None` if it is valid.
    fn refusal(self, command: &str, name: &str, value: Option<&Value>) -> Option<String> {
        let expected = match (self, value) {
            (KeyType::RequiredText, None) => return Some(format!("'{command}' needs the name of one slot")),
            (_, None)
            | (KeyType::RequiredText | KeyType::Text, Some(Value::String(_)))
            | (KeyType::Text | KeyType::Words(_) | KeyType::Integer, Some(Value::Null))
            | (KeyType::Flag, Some(Value::Bool(_))) => return None,
            (KeyType::Words(words), Some(Value::String(word))) => return unknown_word(words, name, word),
            (KeyType::Words(words), Some(_)) => list_words(words),
            (KeyType::Integer, Some(value)) if value.is_i64() => return None,
            (KeyType::Length, Some(value)) if value.is_u64() => return None,
            (KeyType::Names, Some(Value::Array(names))) if names.iter().all(Value::is_string) => return None,
            (KeyType::RequiredText | KeyType::Text, Some(_)) => "a string".to_owned(),
            (KeyType::Integer, Some(_)) => "an integer".to_owned(),
            (KeyType::Length, Some(_)) => "a number of bytes".to_owned(),
            (KeyType::Flag, Some(_)) => "true or false".to_owned(),
            (KeyType::Names, Some(_)) => "a list of strings".to_owned(),
        };
        let found = value.map_or_else(String::new, Value::to_string);
        Some(format!("'{name}' must be {expected}, not {found}"))
    }
}

fn unknown_word(words: &'static [&'static str], name: &str, word: &str) -> Option<String> {
    if words.contains(&word) {
        return None;
    }
    let hint = did_you_mean(word, words.iter().copied());
    Some(format!("'{word}' is not a valid value{hint}; '{name}' is {}", list_words(words)))
}

fn list_words(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn did_you_mean(word: &str, known: impl Iterator<Item = &'static str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!(" (did you mean '{near}'?)"))
}

/// Returns true for the name of a command.
pub(super) fn is_command(word: &str) -> bool {
    COMMANDS.iter().any(|(name, _)| *name == word)
}

/// Checks the command, its keys and their values.
pub(super) fn check_object(object: &Map<String, Value>) -> Result<(), InvalidRequest> {
    let refuse = |key: &str, message: String| Err(InvalidRequest { key: key.to_owned(), message });
    let names = COMMANDS.map(|(name, _)| name);
    let command = match object.get("command") {
        Some(Value::String(command)) => command.as_str(),
        Some(other) => return refuse("command", format!("'command' must be a string, not {other}")),
        None => return refuse("command", format!("'command' is missing: {}", names.join(", "))),
    };
    let Some((_, keys)) = COMMANDS.iter().find(|(name, _)| *name == command) else {
        let hint = did_you_mean(command, names.into_iter());
        return refuse("command", format!("there is no command '{command}'{hint}: {}", names.join(", ")));
    };
    for name in object.keys().filter(|name| *name != "command") {
        if keys.iter().any(|(known, _)| known == name) {
            continue;
        }
        let elsewhere = COMMANDS.iter().any(|(_, keys)| keys.iter().any(|(known, _)| known == name));
        let message = match (name.as_str(), elsewhere) {
            ("slot", _) => format!("'{command}' is for the whole execution point and takes no slot"),
            (_, true) => format!("'{command}' has no key '{name}'"),
            (_, false) => {
                let hint = did_you_mean(name, keys.iter().map(|(known, _)| *known));
                format!("unknown key '{name}'{hint}")
            }
        };
        return refuse(name, message);
    }
    for (name, kind) in *keys {
        if let Some(message) = kind.refusal(command, name, object.get(*name)) {
            return refuse(name, message);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::control_protocol::SlotControlRequest;
    use super::*;

    /// Returns a value that is valid for a key of this type.
    fn valid_value(kind: KeyType) -> Value {
        match kind {
            KeyType::RequiredText | KeyType::Text => "slot1".into(),
            KeyType::Words(words) => words[0].into(),
            KeyType::Integer | KeyType::Length => 7.into(),
            KeyType::Flag => true.into(),
            KeyType::Names => vec!["slot1_1"].into(),
        }
    }

    fn request_with_all_keys(command: &str, keys: &[RequestKey]) -> Map<String, Value> {
        let values = keys.iter().map(|(name, kind)| ((*name).to_owned(), valid_value(*kind)));
        let mut object: Map<String, Value> = values.collect();
        object.insert("command".to_owned(), command.into());
        object
    }

    fn refusal(object: &Map<String, Value>) -> InvalidRequest {
        SlotControlRequest::parse(&serde_json::to_vec(object).unwrap()).unwrap_err()
    }

    #[test]
    fn the_table_of_keys_agrees_with_the_requests() {
        for (command, keys) in COMMANDS {
            let object = request_with_all_keys(command, keys);
            let request = SlotControlRequest::parse(&serde_json::to_vec(&object).unwrap()).unwrap();
            assert_eq!(serde_json::to_value(request).unwrap(), Value::Object(object));
            for (name, kind) in keys {
                let KeyType::Words(words) = kind else { continue };
                for word in *words {
                    let text = format!(r#"{{"command":"{command}","slot":"slot1","{name}":"{word}"}}"#);
                    let object: Map<String, Value> = serde_json::from_str(&text).unwrap();
                    let known = |name: &str| name == "command" || keys.iter().any(|(key, _)| *key == name);
                    let object: Map<_, _> = object.into_iter().filter(|(name, _)| known(name)).collect();
                    assert!(
                        SlotControlRequest::parse(&serde_json::to_vec(&object).unwrap()).is_ok(),
                        "{text}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_command_refuses_an_extra_key_by_its_name() {
        for (command, keys) in COMMANDS {
            let all = COMMANDS.iter().flat_map(|(_, keys)| keys.iter().map(|(name, _)| *name));
            for extra in all.chain(["hwo", "Command", ""]) {
                if keys.iter().any(|(name, _)| *name == extra) {
                    continue;
                }
                let mut object = request_with_all_keys(command, keys);
                object.insert(extra.to_owned(), Value::Null);
                let error = refusal(&object);
                assert_eq!(error.key, extra, "{command}: {error}");
                // Deserialization refuses the object as well, without the table of keys.
                assert!(serde_json::from_value::<SlotControlRequest>(Value::Object(object)).is_err());
            }
            for (name, _) in keys {
                let object = serde_json::to_string(&request_with_all_keys(command, keys)).unwrap();
                let twice = object.replacen('{', &format!("{{\"{name}\":null,"), 1);
                assert!(SlotControlRequest::parse(twice.as_bytes()).is_err(), "{twice}");
            }
        }
    }

    #[test]
    fn every_argument_with_a_wrong_value_is_refused_by_its_name() {
        for (command, keys) in COMMANDS {
            for (name, _) in keys {
                let mut object = request_with_all_keys(command, keys);
                object.insert((*name).to_owned(), serde_json::json!({ "a": 1.5 }));
                let error = refusal(&object);
                assert_eq!(error.key, *name, "{command}");
                assert!(error.message.contains(&format!("'{name}'")), "{error}");
            }
        }
    }
}
