//! Answers about a position: hover, completion, definition, references, symbols, corrections.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::{Client, Place, TextPosition, apply_edits, position_at, slice};

const ROOT: &str = "\
# \u{1f600} comment
LOCAL_DIR = /var/lib/pööl
include : part.conf
include ifexist : missing.conf
use POLICY : Always_Run_Jobs
START = $(START) && TARGET.Owner != \"ü\" && regexp(\"x\", Owner)
ENABLE_IPV6 = false
if defined LOCAL_DIR
  EXECUTE = $(LOCAL_DIR)/execute
else
  EXECUTE = /nowhere
endif
NUM_CPUS = $(CORES:2)
JOB_ROUTER_ROUTE_NAMES = first
JOB_ROUTER_ROUTE_first @=end
  REQUIREMENTS MY.WantRoute
  UNIVERSE VANILLA
  LIMIT = 5
  SET Memory_limit $(LIMIT) + $(CORES)
@end
START = $(START) || $(NOTHING:false)
";

const PART: &str = "# part\nCORES = 4\nSTARTD_LOG = $(LOG)/Startd-$(CORES)\n";

fn place() -> Place {
    Place::new(&[("condor_config", ROOT), ("part.conf", PART)])
}

/// Returns a client with both files open, and their URIs.
fn ready(place: &Place) -> (Client, String, String) {
    let mut client = Client::ready(place, &["--config-file", "condor_config"], Value::Null);
    let (root, part) = (place.uri("condor_config"), place.uri("part.conf"));
    client.open(&root, "condor-config", ROOT);
    client.open(&part, "condor-config", PART);
    (client, root, part)
}

/// Returns the position just inside a text, given with the text around it: `before|wanted`.
fn at(text: &str, marked: &str) -> TextPosition {
    let (before, after) = marked.split_once('|').unwrap_or(("", marked));
    let expected = format!("{before}{after}");
    let start = text.find(&expected).unwrap_or_else(|| panic!("{expected} is not in the text"));
    position_at(text, start + before.len())
}

fn hover_text(answer: &Value) -> String {
    answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn hover_shows_the_same_value_and_origin_as_why() {
    let place = place();
    let (mut client, root, part) = ready(&place);
    for (uri, text, marked, name) in [
        (&root, ROOT, "|LOCAL_DIR = ", "LOCAL_DIR"),
        (&root, ROOT, "EXECUTE = $(|LOCAL_DIR", "LOCAL_DIR"),
        (&root, ROOT, "  |EXECUTE = $(", "EXECUTE"),
        (&root, ROOT, "|NUM_CPUS", "NUM_CPUS"),
        (&root, ROOT, "NUM_CPUS = $(|CORES", "CORES"),
        (&root, ROOT, "\n|START = $(START) &&", "START"),
        (&root, ROOT, "defined |LOCAL_DIR", "LOCAL_DIR"),
        (&root, ROOT, "$(|NOTHING", "NOTHING"),
        (&part, PART, "|STARTD_LOG", "STARTD_LOG"),
        (&part, PART, "$(|LOG)", "LOG"),
        (&root, ROOT, "|ENABLE_IPV6", "ENABLE_IPV6"),
    ] {
        let answer = client.ask("hover", uri, at(text, marked));
        let shown = hover_text(&answer);
        let story = &place.records(&["--config-file", "condor_config", "--json", "--why", name])[0];
        match story["value"].as_str() {
            Some(value) => assert!(shown.contains(&format!("Value: `{value}`")), "{name}: {shown}\n{story}"),
            None => assert!(shown.contains("Not set"), "{name}: {shown}\n{story}"),
        }
        if let Some(default) = story["default"].as_str().filter(|_| story["from"] != "default") {
            assert!(shown.contains(&format!("Default: `{default}`")), "{name}: {shown}\n{story}");
        }
        let definitions = story["definitions"].as_array().unwrap();
        for definition in definitions {
            let (_, line) = definition["place"].as_str().unwrap().rsplit_once(", line ").unwrap();
            let line = line.split(',').next().unwrap();
            assert!(shown.contains(&format!("#L{line})")), "{name}: {definition} {shown}");
        }
        assert_eq!(slice(text, &answer["range"]), name);
    }
    client.shut_down();
}

#[test]
fn hover_explains_words_of_the_languages() {
    let place = place();
    let (mut client, root, _) = ready(&place);
    for (marked, expected) in [
        ("|use POLICY", "use CATEGORY : NAME"),
        ("use |POLICY", "ALWAYS_RUN_JOBS"),
        ("|Always_Run_Jobs", "START"),
        ("include : |part.conf", "Includes"),
        ("include ifexist : |missing", "is not read by this configuration"),
        ("TARGET.|Owner", "submitted the job"),
        ("|TARGET.Owner", "matched against"),
        ("&& |regexp", "regexp(pattern, text, options)"),
        ("|REQUIREMENTS", "REQUIREMENTS expression"),
        ("SET |Memory_limit", ""),
        ("$(|LIMIT)", "Set in line 18"),
        ("JOB_ROUTER_ROUTE_NAMES = |first", "JOB\\_ROUTER\\_ROUTE\\_first"),
        ("|endif", "ends an `if`"),
        ("# |\u{1f600}", ""),
    ] {
        let shown = hover_text(&client.ask("hover", &root, at(ROOT, marked)));
        assert!(shown.contains(expected) && shown.is_empty() == expected.is_empty(), "{marked}: {shown}");
    }
    client.shut_down();
}

#[test]
fn secrets_are_masked_on_request() {
    let text = "SEC_PASSWORD = hunter2hunter2\n";
    let place = Place::new(&[("c", text)]);
    for (words, is_masked) in [(vec![], false), (vec!["--redact"], true)] {
        let mut client = Client::ready(&place, &words, Value::Null);
        client.open(&place.uri("c"), "condor-config", text);
        let shown = hover_text(&client.ask("hover", &place.uri("c"), TextPosition { line: 0, character: 2 }));
        assert_eq!(!shown.contains("hunter2"), is_masked, "{shown}");
        client.shut_down();
    }
}

/// Returns `FILE:LINE:TEXT` of each place.
fn shown_places(place: &Place, answer: &Value, texts: &[(&str, &str)]) -> Vec<String> {
    let list = answer.as_array().map_or(&[][..], Vec::as_slice);
    list.iter()
        .map(|one| {
            let uri = one["uri"].as_str().unwrap();
            let (name, text) =
                texts.iter().find(|(name, _)| place.uri(name) == uri).unwrap_or_else(|| panic!("{uri}"));
            let line = one["range"]["start"]["line"].as_u64().unwrap() + 1;
            format!("{name}:{line}:{}", slice(text, &one["range"]))
        })
        .collect()
}

const TEXTS: [(&str, &str); 2] = [("condor_config", ROOT), ("part.conf", PART)];

#[test]
fn definitions_are_found_across_files() {
    let place = place();
    let (mut client, root, part) = ready(&place);
    for (uri, text, marked, expected) in [
        (&root, ROOT, "NUM_CPUS = $(|CORES", "part.conf:2:CORES"),
        (&root, ROOT, "+ $(|CORES)", "part.conf:2:CORES"),
        (&root, ROOT, "EXECUTE = $(|LOCAL_DIR", "condor_config:2:LOCAL_DIR"),
        (&root, ROOT, "  |EXECUTE = /nowhere", "condor_config:9:EXECUTE"),
        (&root, ROOT, "include : |part.conf", "part.conf:1:"),
        (&root, ROOT, "include : part|.conf", "part.conf:1:"),
        (&root, ROOT, "START = $(|START) ||", "condor_config:6:START"),
        (&root, ROOT, "START = $(|START) &&", "condor_config:5:use"),
        (&root, ROOT, "JOB_ROUTER_ROUTE_NAMES = |first", "condor_config:15:JOB_ROUTER_ROUTE_first"),
        (&root, ROOT, "SET Memory_limit $(|LIMIT", "condor_config:18:LIMIT"),
        (&part, PART, "|CORES = ", "part.conf:2:CORES"),
        (&part, PART, "$(|LOG)", ""),
        (&root, ROOT, "include ifexist : |missing", ""),
        (&root, ROOT, "# |\u{1f600}", ""),
    ] {
        let answer = client.ask("definition", uri, at(text, marked));
        assert_eq!(shown_places(&place, &answer, &TEXTS).join(" "), expected, "{marked}");
    }
    // A template is compiled in; its text is a file while the server runs.
    let answer = client.ask("definition", &root, at(ROOT, "|Always_Run_Jobs"));
    let path = answer[0]["uri"].as_str().unwrap().strip_prefix("file://").unwrap().to_owned();
    let body = std::fs::read_to_string(&path).unwrap();
    assert!(body.starts_with("# use POLICY:ALWAYS_RUN_JOBS\n") && body.contains("START=True"), "{body}");
    client.open(&format!("file://{path}"), "condor-config", &body);
    assert!(client.diagnostics(&format!("file://{path}"), 1).is_empty());
    client.shut_down();
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn references_are_found_in_all_files() {
    let place = place();
    let (mut client, root, part) = ready(&place);
    let answer = client.ask("references", &part, at(PART, "|CORES = "));
    assert_eq!(
        shown_places(&place, &answer, &TEXTS),
        ["condor_config:13:CORES", "condor_config:19:CORES", "part.conf:2:CORES", "part.conf:3:CORES"]
    );
    let params = json!({"textDocument": {"uri": root}, "position": {"line": 1, "character": 3},
        "context": {"includeDeclaration": false}});
    let answer = client.request("textDocument/references", params).unwrap();
    assert_eq!(
        shown_places(&place, &answer, &TEXTS),
        ["condor_config:8:LOCAL_DIR", "condor_config:9:LOCAL_DIR"]
    );
    let answer = client.ask("references", &root, at(ROOT, "|JOB_ROUTER_ROUTE_first"));
    assert_eq!(
        shown_places(&place, &answer, &TEXTS),
        ["condor_config:14:first", "condor_config:15:JOB_ROUTER_ROUTE_first"]
    );
    client.shut_down();
}

#[test]
fn symbols_are_the_outline_of_a_file() {
    let place = place();
    let (mut client, root, _) = ready(&place);
    let answer =
        client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": root}})).unwrap();
    let names = |symbols: &Value| -> Vec<String> {
        symbols.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        names(&answer),
        [
            "LOCAL_DIR",
            "part.conf",
            "missing.conf",
            "POLICY:Always_Run_Jobs",
            "START",
            "ENABLE_IPV6",
            "EXECUTE",
            "EXECUTE",
            "NUM_CPUS",
            "JOB_ROUTER_ROUTE_NAMES",
            "JOB_ROUTER_ROUTE_first",
            "START"
        ]
    );
    assert_eq!(names(&answer[10]["children"]), ["MY.WantRoute", "VANILLA", "LIMIT", "Memory_limit"]);
    for symbol in answer.as_array().unwrap() {
        let (range, selected) = (slice(ROOT, &symbol["range"]), slice(ROOT, &symbol["selectionRange"]));
        assert!(range.contains(selected) && !selected.is_empty(), "{symbol}");
    }
    client.shut_down();
}

/// Returns the labels of the completion at the end of a text.
fn labels(client: &mut Client, uri: &str, text: &str, version: i64) -> Vec<String> {
    client.replace(uri, version, text);
    let last = text.rsplit('\n').next().unwrap();
    let at = TextPosition { line: text.matches('\n').count(), character: last.encode_utf16().count() };
    let answer = client.ask("completion", uri, at);
    let items = answer["items"].as_array().unwrap();
    for item in items {
        let edit = &item["textEdit"];
        let changed = apply_edits(text, std::slice::from_ref(edit));
        assert!(changed.ends_with(item["label"].as_str().unwrap()), "{item}");
    }
    items.iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn completion_offers_words_that_fit() {
    let place = Place::new(&[("inc.conf", ""), ("c", "")]);
    let uri = place.uri("c");
    let mut client = Client::ready(&place, &[], Value::Null);
    client.open(&uri, "condor-config", "");
    let head = "MY_LIMIT = ü\nJOB_ROUTER_ROUTE_r1 @=e\n SET A 1\n@e\n";
    let cases = [
        ("NUM_CP", vec!["NUM_CPUS"], vec!["MEMORY", "use"]),
        ("STARTD.num_cp", vec!["NUM_CPUS"], vec![]),
        ("", vec!["use", "include", "if", "START", "MY_LIMIT"], vec!["SET"]),
        ("X = ü\u{1f600} $(MY_", vec!["MY_LIMIT"], vec!["START"]),
        ("X = $(DETECTED_C", vec!["DETECTED_CPUS", "DETECTED_CORES"], vec![]),
        ("X = $", vec!["$(", "$ENV(", "$INT("], vec![]),
        ("use ", vec!["FEATURE", "POLICY", "ROLE", "SECURITY"], vec![]),
        ("use FEATURE : GP", vec!["GPUs"], vec!["PartitionableSlot"]),
        ("ENABLE_IPV6 = ", vec!["True", "False", "auto"], vec!["strcat"]),
        ("STARTD_DEBUG = D_FULL", vec!["D_FULLDEBUG"], vec![]),
        ("SEC_DEFAULT_AUTHENTICATION = ", vec!["REQUIRED", "NEVER"], vec![]),
        ("START = strc", vec!["strcat", "strcmp"], vec![]),
        ("START = TARGET.Job", vec!["JobStatus"], vec!["join"]),
        ("JOB_ROUTER_ROUTE_NAMES = ", vec!["r1"], vec!["NAMES"]),
        ("include : ", vec!["inc.conf"], vec![]),
        ("if defined MY_", vec!["MY_LIMIT"], vec![]),
        ("JOB_ROUTER_ROUTE_x @=e\n  ", vec!["SET", "REQUIREMENTS", "COPY"], vec!["use", "START"]),
        ("JOB_ROUTER_ROUTE_x @=e\n  UNIVERSE ", vec!["VANILLA", "GRID"], vec![]),
        ("JOB_ROUTER_ROUTE_x @=e\n  SET A = Own", vec!["Owner"], vec![]),
        ("# com", vec![], vec!["COMMENT"]),
    ];
    for (number, (text, expected, unwanted)) in (2..).zip(cases) {
        let found = labels(&mut client, &uri, &format!("{head}{text}"), number);
        for word in expected {
            assert!(found.iter().any(|label| label == word), "{text}: {word} is not in {found:?}");
        }
        for word in unwanted {
            assert!(!found.iter().any(|label| label == word), "{text}: {word}");
        }
    }
    client.close(&uri);
    let rules = place.uri("rules");
    client.open(&rules, "condor-transform", "");
    for (number, (text, expected)) in
        (2..).zip([("NAME x\nS", "SET"), ("V = 1\nSET A $(", "V"), ("SET A 1\nREQUIREMENTS Ow", "Owner")])
    {
        assert!(labels(&mut client, &rules, text, number).iter().any(|label| label == expected), "{text}");
    }
    client.shut_down();
}

#[test]
fn code_actions_are_the_corrections_of_fix() {
    let text = "# ü\u{1f600}\nSTRT = true\nSTART : ü\nSTARTD_JOB_HOOK_KEYWORDS = X\nA = é $(A_LIMT)\nA_LIMIT = 1\nSTART = $(A) > $(A_LIMIT)\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let place = Place::new(&[("c", &text)]);
        let uri = place.uri("c");
        let mut client = Client::ready(&place, &[], Value::Null);
        client.open(&uri, "condor-config", &text);
        let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
        let mut actions = |only: Value, range: &Value| {
            let mut context = json!({"diagnostics": []});
            if !only.is_null() {
                context["only"] = only;
            }
            let params = json!({"textDocument": {"uri": uri}, "range": range, "context": context});
            let answer = client.request("textDocument/codeAction", params).unwrap();
            answer.as_array().unwrap().clone()
        };
        let all = actions(json!(["source.fixAll"]), &whole);
        assert_eq!(all.len(), 1);
        let edits = all[0]["edit"]["changes"][&uri].as_array().unwrap().clone();
        assert!(edits.len() >= 2, "{edits:?}");
        let single = actions(json!(["quickfix"]), &whole);
        assert!(
            single
                .iter()
                .all(|action| action["kind"] == "quickfix" && !action["title"].as_str().unwrap().is_empty())
        );
        let second = json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 2}});
        let titles: Vec<Value> =
            actions(Value::Null, &second).iter().map(|action| action["title"].clone()).collect();
        assert!(titles.iter().any(|title| title.as_str().unwrap().contains("START")), "{titles:?}");
        let path = place.path("c");
        let status = place
            .command(&["lint", "--fix", path.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.code().is_some());
        assert_eq!(apply_edits(&text, &edits), place.read("c"));
        client.shut_down();
    }
}
