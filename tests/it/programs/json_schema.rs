//! Tests that `--json` prints one array and `--jsonl` one line for each of its elements, for every verb, and that each element
//! matches its schema in `docs/schemas`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::children::write_executable;
use crate::support::point::Point;

/// Schema and command line of each call. A schema describes one element of the output.
pub(crate) const CALLS: &str = include_str!("../../data/json_calls.tsv");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn schema(name: &str) -> Value {
    let path = root().join(format!("docs/schemas/{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the violations of a schema by a value. Supports only the keywords of JSON Schema that the schemas in `docs/schemas`
/// use.
fn wrong(value: &Value, schema: &Value, root: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Some(words) = schema.as_object() else { return vec![format!("{place}: no schema")] };
    for (word, expected) in words {
        match word.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "version" => {}
            "$ref" => {
                let name = expected.as_str().and_then(|path| path.strip_prefix('#')).unwrap();
                found.extend(wrong(value, root.pointer(name).unwrap_or(root), root, place));
            }
            "type" => {
                let is = type_of(value);
                let fits = |name: &Value| name == is || (name == "number" && is == "integer");
                let names = expected.as_array().cloned().unwrap_or_else(|| vec![expected.clone()]);
                if !names.iter().any(fits) {
                    found.push(format!("{place}: {is}, not {expected}: {value}"));
                }
            }
            "enum" => {
                if !expected.as_array().unwrap().contains(value) {
                    found.push(format!("{place}: {value} is not one of {expected}"));
                }
            }
            "properties" => {
                for (name, schema) in expected.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        found.extend(wrong(value, schema, root, &format!("{place}.{name}")));
                    }
                }
            }
            "required" => {
                for name in expected.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        found.push(format!("{place}: {name} is missing"));
                    }
                }
            }
            "additionalProperties" => {
                let known = words.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    match expected {
                        Value::Bool(false) => found.push(format!("{place}: {name} is not described")),
                        Value::Bool(true) => {}
                        schema => found.extend(wrong(value, schema, root, &format!("{place}.{name}"))),
                    }
                }
            }
            "items" => {
                for (number, value) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(wrong(value, expected, root, &format!("{place}[{number}]")));
                }
            }
            other => found.push(format!("{place}: the word '{other}' of the schema means nothing here")),
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// Creates a directory with the input of the calls: the files of the manual's examples, and some files with faults.
pub(crate) fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    copy(&root().join("tests/data/manual"), place.path());
    copy(&root().join("examples/quickstart"), &place.path().join("quickstart"));
    copy(&root().join("tests/data/json"), place.path());
    for stage in ["claimed", "done", "failed", "output"] {
        std::fs::create_dir(place.path().join("quickstart/queue").join(stage)).unwrap();
    }
    for hook in std::fs::read_dir(place.path().join("hooks")).unwrap() {
        let path = hook.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        write_executable(&path, &text);
    }
    let kept = call(place.path(), "htc-hook-test prepare hooks/prepare --ads job.ad --keep calls");
    assert_eq!(kept.0, 0);
    place
}

/// Returns exit status, standard output and standard error of a shell command line.
fn call(place: &Path, line: &str) -> (i32, String, String) {
    let output = shell(place, line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Returns the command for a shell command line, with the programs in PATH.
pub(crate) fn shell(place: &Path, line: &str) -> Command {
    let programs: PathBuf = Path::new(env!("CARGO_BIN_EXE_htc-hook-test")).parent().unwrap().into();
    let path = std::env::join_paths([&programs, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", line])
        .current_dir(place)
        .env("PATH", path)
        .env("TZ", "UTC")
        .env("CONDOR_CONFIG", place.join("condor_config"))
        .stdin(Stdio::null());
    command
}

/// Inserts an option after the verb of a command line, before the arguments of a hook.
fn with(line: &str, option: &str) -> String {
    let (program, rest) = line.split_once(' ').unwrap();
    let has_verbs = program != "htc-classad-eval" && !rest.starts_with('-');
    match rest.split_once(' ').filter(|_| has_verbs) {
        Some((verb, rest)) => format!("{program} {verb} {option} {rest}"),
        None => format!("{program} {option} {rest}"),
    }
}

#[test]
fn json_of_every_verb_matches_its_schema() {
    let place = place();
    let mut faults = Vec::new();
    for (name, line) in CALLS.lines().map(|line| line.split_once('\t').unwrap()) {
        let schema = schema(name);
        let (_, text, stderr) = call(place.path(), &with(line, "--json"));
        let rows = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Array(rows)) => rows,
            other => {
                faults.push(format!("{line}: no array: {other:?} {text} {stderr}"));
                continue;
            }
        };
        for row in &rows {
            faults.extend(
                wrong(row, &schema, &schema, "").into_iter().take(5).map(|fault| format!("{line}: {fault}")),
            );
        }
        let (_, text, _) = call(place.path(), &with(line, "--jsonl"));
        let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        match lines {
            Ok(lines) if lines.len() == rows.len() => {}
            Ok(lines) => faults.push(format!("{line}: {} rows, and {} lines", rows.len(), lines.len())),
            Err(error) => faults.push(format!("{line}: a line is no JSON: {error}: {text}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn output_of_a_running_execution_point_matches_its_schemas() {
    let point = Point::new().parameter("FetchWorkDelay = 300");
    let control = point.path("control").display().to_string();
    let point = point.arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    let rows: Value = serde_json::from_slice(&point.ask(["status", "--json"]).stdout).unwrap();
    assert!(point.ask(["off"]).status.success());
    let run = point.end(child);
    let mut faults = Vec::new();
    for (name, rows) in [("slot-status", rows.as_array().unwrap()), ("event", &run.events)] {
        let schema = schema(name);
        assert!(!rows.is_empty(), "{name}");
        faults.extend(rows.iter().flat_map(|row| wrong(row, &schema, &schema, name)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let version = schema("event")["version"].clone();
    let start = run.events.iter().find(|event| event["event"] == "start").unwrap();
    assert_eq!(start["schema"], version);
}

#[test]
fn every_schema_has_an_output_and_describes_it() {
    let mut used: BTreeSet<String> =
        CALLS.lines().map(|line| line.split_once('\t').unwrap().0.to_owned()).collect();
    used.extend(["slot-status".to_owned(), "event".to_owned()]);
    for entry in std::fs::read_dir(root().join("docs/schemas")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(used.remove(&name), "{name} is the schema of nothing");
        assert!(schema(&name)["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
    }
    assert!(used.is_empty(), "no schema: {used:?}");
}

#[test]
fn a_row_that_violates_its_schema_is_found() {
    let schema: Value = serde_json::from_str(
        r##"{"type":"object","required":["a"],"additionalProperties":false,
            "properties":{"a":{"type":["integer","null"]},"b":{"type":"array","items":{"$ref":"#"}}}}"##,
    )
    .unwrap();
    let faults = |text: &str| wrong(&serde_json::from_str(text).unwrap(), &schema, &schema, "");
    assert!(faults(r#"{"a":1}"#).is_empty() && faults(r#"{"a":null,"b":[{"a":2}]}"#).is_empty());
    for bad in [r#"{}"#, r#"{"a":"1"}"#, r#"{"a":1,"c":2}"#, r#"{"a":1,"b":[{"a":1.5}]}"#, "[]"] {
        assert_eq!(faults(bad).len(), 1, "{bad}");
    }
}

#[test]
fn verbs_that_print_only_text_refuse_json() {
    let place = place();
    for line in [
        "htc-hook-test init hooks/prepare",
        "htc-slot-run simulate --init",
        "htc-config-dump use POLICY:Desktop",
        "htc-config-dump --summary",
    ] {
        let (status, text, stderr) = call(place.path(), &format!("{line} --jsonl"));
        assert!(
            status == 2
                && text.is_empty()
                && (stderr.contains("--jsonl cannot be used with")
                    || stderr.contains("--jsonl has no effect in")),
            "{line}: {stderr}"
        );
        let (status, text, stderr) = call(place.path(), line);
        assert!(status == 0 && !text.is_empty(), "{line}: {stderr}");
    }
}

#[test]
fn router_events_match_their_schema() {
    let place = place();
    std::fs::create_dir(place.path().join("q")).unwrap();
    std::fs::copy(place.path().join("router.ads"), place.path().join("q/1.0.ad")).unwrap();
    let line = "htc-router-translate run --queue q --once --config-file router.config --events events";
    let (status, _, stderr) = call(place.path(), line);
    assert_eq!(status, 0, "{stderr}");
    let text = std::fs::read_to_string(place.path().join("events")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = schema("event");
    let faults: Vec<String> = rows.iter().flat_map(|row| wrong(row, &schema, &schema, "")).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let kinds: Vec<&str> = rows.iter().map(|row| row["event"].as_str().unwrap()).collect();
    let log = kinds.len() - 2;
    assert!(log > 0 && kinds[0] == "start" && kinds[log + 1] == "stop", "{kinds:?}");
    // The messages of both outputs are the same.
    let err = rows[1..=log].iter().filter(|row| !stderr.contains(row["reason"].as_str().unwrap())).count();
    assert_eq!(err, 0, "{stderr}{text}");
}
