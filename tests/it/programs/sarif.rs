//! Compares SARIF logs of lint with a table made from the schema of SARIF 2.1.0 (OASIS, `sarif-schema-2.1.0.json`).

use std::process::{Command, Stdio};

use serde_json::Value;

/// Value of a property.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    /// Integer from this minimum on.
    Integer(i64),
    Word(&'static [&'static str]),
    /// URI reference, which has no blanks and only escaped bytes above 127.
    UriReference,
    /// Object whose values are strings.
    Texts,
    Object(&'static str),
    /// Array of objects, with at least this number of them.
    Array(&'static str, usize),
}

/// Object of the schema. All of them forbid properties that the schema does not name.
struct ObjectShape {
    name: &'static str,
    required: &'static [&'static str],
    /// The properties that lint writes, of those that the schema names.
    properties: &'static [(&'static str, Shape)],
}

const LEVELS: Shape = Shape::Word(&["none", "note", "warning", "error"]);
const MESSAGE: Shape = Shape::Object("message");

const OBJECTS: &[ObjectShape] = &[
    ObjectShape {
        name: "log",
        required: &["version", "runs"],
        properties: &[
            ("$schema", Shape::UriReference),
            ("version", Shape::Word(&["2.1.0"])),
            ("runs", Shape::Array("run", 0)),
        ],
    },
    ObjectShape {
        name: "run",
        required: &["tool"],
        properties: &[
            ("tool", Shape::Object("tool")),
            ("columnKind", Shape::Word(&["utf16CodeUnits", "unicodeCodePoints"])),
            ("results", Shape::Array("result", 0)),
        ],
    },
    ObjectShape {
        name: "tool",
        required: &["driver"],
        properties: &[("driver", Shape::Object("toolComponent"))],
    },
    ObjectShape {
        name: "toolComponent",
        required: &["name"],
        properties: &[
            ("name", Shape::Text),
            ("semanticVersion", Shape::Text),
            ("rules", Shape::Array("reportingDescriptor", 0)),
        ],
    },
    ObjectShape {
        name: "reportingDescriptor",
        required: &["id"],
        properties: &[
            ("id", Shape::Text),
            ("shortDescription", Shape::Object("multiformatMessageString")),
            ("help", Shape::Object("multiformatMessageString")),
            ("defaultConfiguration", Shape::Object("reportingConfiguration")),
        ],
    },
    ObjectShape { name: "reportingConfiguration", required: &[], properties: &[("level", LEVELS)] },
    ObjectShape {
        name: "multiformatMessageString",
        required: &["text"],
        properties: &[("text", Shape::Text)],
    },
    ObjectShape {
        name: "result",
        required: &["message"],
        properties: &[
            ("ruleId", Shape::Text),
            ("ruleIndex", Shape::Integer(-1)),
            ("level", LEVELS),
            ("message", MESSAGE),
            ("locations", Shape::Array("location", 0)),
            ("partialFingerprints", Shape::Texts),
            ("fixes", Shape::Array("fix", 0)),
        ],
    },
    // Of a message, either the text or an id is required.
    ObjectShape { name: "message", required: &["text"], properties: &[("text", Shape::Text)] },
    ObjectShape {
        name: "location",
        required: &[],
        properties: &[("physicalLocation", Shape::Object("physicalLocation"))],
    },
    // Of a physical location, either this or an address is required.
    ObjectShape {
        name: "physicalLocation",
        required: &["artifactLocation"],
        properties: &[
            ("artifactLocation", Shape::Object("artifactLocation")),
            ("region", Shape::Object("region")),
        ],
    },
    ObjectShape { name: "artifactLocation", required: &[], properties: &[("uri", Shape::UriReference)] },
    // Of a region, the line or an offset is required.
    ObjectShape {
        name: "region",
        required: &["startLine"],
        properties: &[
            ("startLine", Shape::Integer(1)),
            ("startColumn", Shape::Integer(1)),
            ("endLine", Shape::Integer(1)),
            ("endColumn", Shape::Integer(1)),
            ("snippet", Shape::Object("artifactContent")),
        ],
    },
    ObjectShape { name: "artifactContent", required: &[], properties: &[("text", Shape::Text)] },
    ObjectShape {
        name: "fix",
        required: &["artifactChanges"],
        properties: &[("description", MESSAGE), ("artifactChanges", Shape::Array("artifactChange", 1))],
    },
    ObjectShape {
        name: "artifactChange",
        required: &["artifactLocation", "replacements"],
        properties: &[
            ("artifactLocation", Shape::Object("artifactLocation")),
            ("replacements", Shape::Array("replacement", 1)),
        ],
    },
    ObjectShape {
        name: "replacement",
        required: &["deletedRegion"],
        properties: &[
            ("deletedRegion", Shape::Object("region")),
            ("insertedContent", Shape::Object("artifactContent")),
        ],
    },
];

/// Returns the violations of the table by an object.
fn check_object(value: &Value, name: &str, place: &str) -> Vec<String> {
    let shape = OBJECTS.iter().find(|object| object.name == name).unwrap();
    let Some(object) = value.as_object() else { return vec![format!("{place} is not an object: {value}")] };
    let missing = shape.required.iter().filter(|key| !object.contains_key(**key));
    let mut wrong: Vec<String> = missing.map(|key| format!("{place}.{key} is missing")).collect();
    for (key, value) in object {
        let place = format!("{place}.{key}");
        match shape.properties.iter().find(|(known, _)| known == key) {
            None => wrong.push(format!("{place} is not in the table of {name}")),
            Some((_, shape)) => wrong.extend(check_value(value, *shape, &place)),
        }
    }
    wrong
}

fn check_value(value: &Value, shape: Shape, place: &str) -> Vec<String> {
    let is_reference = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_right = match shape {
        Shape::Object(name) => return check_object(value, name, place),
        Shape::Array(name, least) => {
            let items = value.as_array().filter(|items| items.len() >= least);
            let Some(items) = items else { return vec![format!("{place} is not a list of {least} or more")] };
            let wrong = items.iter().enumerate();
            return wrong
                .flat_map(|(at, item)| check_object(item, name, &format!("{place}[{at}]")))
                .collect();
        }
        Shape::Text => value.is_string(),
        Shape::Integer(least) => value.as_i64().is_some_and(|number| number >= least),
        Shape::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Shape::UriReference => value.as_str().is_some_and(is_reference),
        Shape::Texts => value.as_object().is_some_and(|object| object.values().all(Value::is_string)),
    };
    if is_right { Vec::new() } else { vec![format!("{place}: {value}")] }
}

/// Returns the log that lint writes about a configuration.
fn log_of(name: &str, text: &[u8]) -> Value {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join(name), text).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"))
        .args(["lint", "--format", "sarif", name])
        .current_dir(place.path())
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    serde_json::from_slice(&run.stdout).unwrap()
}

#[test]
fn sarif_logs_keep_to_the_schema() {
    let mistakes = concat!(
        "STRT = true\nNUM_CPUS = four\nSTART : Owner == \"\u{e4}\" &&\nINCLUDE : nothing/here\nA = $(B)\nB = $(A)\n",
        "JOB_TRANSFORM_NAMES = t\nJOB_TRANSFORM_t @=e\n  SETT A 1\n  SET B \"x\" # y\n@e\nLOG = /x, \nnot a statement\n"
    );
    let mut fixes = 0;
    for (name, text) in [
        ("condor_config", mistakes.as_bytes()),
        ("a \u{e4} b", b"NUM_CPUS = \xff\xfe\nSTARTD_ATTRS = X\nX = a b\n"),
        ("empty", b""),
    ] {
        let log = log_of(name, text);
        let wrong = check_object(&log, "log", "");
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let run = &log["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().is_empty(), text.is_empty(), "{name}");
        for result in run["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
            fixes += usize::from(result.get("fixes").is_some());
        }
    }
    assert!(fixes > 2, "{fixes}");
}

#[test]
fn violations_of_the_schema_are_found() {
    let log = log_of("condor_config", b"STRT = true\n");
    let broken = |pointer: &str, key: &str, value: Option<Value>| {
        let mut log = log.clone();
        let object = log.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        match value {
            Some(value) => object.insert(key.to_owned(), value),
            None => object.remove(key),
        };
        check_object(&log, "log", "")
    };
    let region = "/runs/0/results/0/locations/0/physicalLocation/region";
    for (pointer, key, value) in [
        ("", "version", None),
        ("", "rules", Some(Value::Null)),
        ("/runs/0/results/0", "message", None),
        ("/runs/0/results/0", "level", Some("fatal".into())),
        (region, "startLine", Some(0.into())),
        (region, "startLine", None),
        ("/runs/0/results/0/fixes/0", "artifactChanges", Some(Value::Array(Vec::new()))),
    ] {
        assert_eq!(broken(pointer, key, value).len(), 1, "{pointer} {key}");
    }
}
