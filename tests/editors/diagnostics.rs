//! Diagnostics are the findings of `lint`, at the same places, for the texts in the editor.

use std::collections::BTreeMap;
use std::fs;

use htc_hooks::config::lint_rule::{ExampleLanguage, LintRule};
use serde_json::{Value, json};

use crate::client::{Client, Place, TextPosition, offset_of, position_at, repository};

/// A finding or diagnostic: rule, severity, line and byte columns, message with the fix.
type FoundPlace = (String, String, u64, u64, u64, String);

/// Returns the findings of `lint` in a file, and those without a place, which are shown at the start.
fn findings(place: &Place, words: &[&str], file: &str) -> Vec<FoundPlace> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let path = place.path(file).display().to_string();
    let saved = place.read(file);
    // The server knows documents by their absolute paths, which some messages name.
    let is_option = words.contains(&"--config-file");
    let absolute: Vec<&str> =
        words.iter().map(|&word| if word == file && !is_option { path.as_str() } else { word }).collect();
    let mut found: Vec<FoundPlace> = place
        .records(&[&["lint", "--json"], &absolute[..]].concat())
        .iter()
        .filter(|record| {
            record["file"].is_null() || record["file"] == file || record["file"] == path.as_str()
        })
        .map(|record| {
            let number = |key: &str| record[key].as_u64();
            let message = match record["fix"].as_str() {
                Some(fix) => format!("{}\nfix: {fix}", text(&record["message"])),
                None => text(&record["message"]),
            };
            let (line, column, end) = match (number("line"), number("column"), number("end_column")) {
                (Some(line), Some(column), Some(end)) => {
                    whole_characters(&saved, line - 1, column - 1, end - 1)
                }
                _ => (0, 0, 0),
            };
            (text(&record["rule"]), text(&record["severity"]), line, column, end, message)
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns a line with columns that are not inside of a character.
fn whole_characters(text: &str, line: u64, start: u64, end: u64) -> (u64, u64, u64) {
    let content = text.split('\n').nth(line as usize).unwrap_or_default();
    let (mut first, mut last) = (start as usize, end as usize);
    while !content.is_char_boundary(first.min(content.len())) {
        first -= 1;
    }
    while !content.is_char_boundary(last.min(content.len())) {
        last += 1;
    }
    (line, first as u64, last as u64)
}

/// Returns the diagnostics with their columns in bytes.
fn places(diagnostics: &[Value], text: &str) -> Vec<FoundPlace> {
    let severities = ["", "error", "warning", "note"];
    let mut found: Vec<FoundPlace> = diagnostics
        .iter()
        .map(|one| {
            let column = |end: &str| {
                let position = &one["range"][end];
                let (line, character) =
                    (position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap());
                let start = offset_of(text, line, 0);
                (line, (offset_of(text, line, character) - start) as u64)
            };
            let ((line, start), (last, end)) = (column("start"), column("end"));
            assert_eq!(line, last, "{one}");
            let severity = severities[one["severity"].as_u64().unwrap() as usize].to_owned();
            let rule = one["code"].as_str().unwrap_or_default().to_owned();
            assert_eq!(one["source"], "htc-config-dump");
            (rule, severity, line, start, end, one["message"].as_str().unwrap().to_owned())
        })
        .collect();
    found.sort();
    found
}

/// Returns the texts of the rules' examples, and files with mistakes.
fn texts() -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for rule in LintRule::ALL {
        let description = rule.description();
        let end = match rule.example_language() {
            ExampleLanguage::Config
            | ExampleLanguage::Here
            | ExampleLanguage::OtherMachine
            | ExampleLanguage::Version24 => "conf",
            ExampleLanguage::Rules => "xfm",
            ExampleLanguage::JobTransform | ExampleLanguage::JobAd => continue,
        };
        for (kind, text) in [("wrong", description.wrong), ("right", description.right)] {
            texts.insert(format!("{}-{kind}.{end}", rule.name()), format!("{text}\n"));
        }
    }
    for file in [
        "tests/data/json/wrong.conf",
        "tests/data/json/wrong.xfm",
        "tests/data/manual/condor_config",
        "tests/data/manual/new-router.config",
        "tests/data/manual/old-router.config",
        "tests/data/manual/rules.xfm",
    ] {
        let name = file.rsplit('/').next().unwrap().to_owned();
        texts.insert(name, fs::read_to_string(repository(file)).expect(file));
    }
    texts.insert(
        "letters".to_owned(),
        "# \u{1f600} ü\nSTRT = \"ü\u{1f600}\" $(NÖ) \u{1f600} $(NO)\nA = é $(X)\r\n".to_owned(),
    );
    texts.insert(
        "windows".to_owned(),
        "STRT = true\r\nNUM_CPUS = four\r\nX @=e\r\n $(Y)\r\n@e\r\nSTART = (\r\n".to_owned(),
    );
    texts.insert("no-end".to_owned(), "A = 1\nNUM_CPUS = four".to_owned());
    texts.insert("empty".to_owned(), String::new());
    texts
}

#[test]
fn diagnostics_are_the_findings_of_lint() {
    let place = Place::new(&[]);
    let mut client = Client::ready(&place, &[], Value::Null);
    let (mut count, mut rules) = (0, std::collections::BTreeSet::new());
    for (name, text) in texts() {
        place.write(&name, &text);
        let uri = place.uri(&name);
        client.open(&uri, "condor-config", &text);
        let shown = places(&client.diagnostics(&uri, 1), &text);
        client.close(&uri);
        assert_eq!(shown, findings(&place, &[&name], &name), "{name}:\n{text}");
        count += shown.len();
        rules.extend(shown.into_iter().map(|it| it.0));
    }
    assert!(count > 80 && rules.len() > 40, "{count} findings of {} rules", rules.len());
    client.shut_down();
}

#[test]
fn settings_of_the_editor_and_of_the_command_line_have_the_same_effect() {
    let text = "START = $(A_LIMIT:1) > 0\nSTRT = true\nNUM_CPUS = four\nSTARTD.NUM_CPUS = 2\nif defined SITE\nX = (\nendif\n";
    let place = Place::new(&[("c", text)]);
    for (words, options) in [
        (vec!["--param", "SITE=1"], json!({"param": {"SITE": "1"}})),
        (vec!["--subsystem", "STARTD"], json!({"subsystem": "STARTD"})),
        (vec!["--select", "bad-value"], json!({"select": ["bad-value"]})),
        (
            vec!["--ignore", "bad-value,unknown-parameter"],
            json!({"ignore": ["bad-value", "unknown-parameter"]}),
        ),
        (vec!["--for", "24.0"], json!({"for": "24.0"})),
    ] {
        let expected = findings(&place, &[&words[..], &["c"]].concat(), "c");
        for mut client in
            [Client::ready(&place, &words, Value::Null), Client::ready(&place, &[], options.clone())]
        {
            client.open(&place.uri("c"), "condor-config", text);
            assert_eq!(places(&client.diagnostics(&place.uri("c"), 1), text), expected, "{words:?}");
            client.shut_down();
        }
    }
    let mut client = Client::ready(&place, &[], Value::Null);
    client.open(&place.uri("c"), "condor-config", text);
    client.diagnostics(&place.uri("c"), 1);
    client.notify(
        "workspace/didChangeConfiguration",
        json!({"settings": {"htcondor": {"select": ["bad-value"]}}}),
    );
    let shown = client.diagnostics(&place.uri("c"), 1);
    assert_eq!(places(&shown, text), findings(&place, &["--select", "bad-value", "c"], "c"));
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"htcondor": {"selct": []}}}));
    assert!(client.notice("window/showMessage")["message"].as_str().unwrap().contains("selct"));
    client.shut_down();
}

#[test]
fn open_texts_replace_files_also_inside_includes() {
    let root = "include : part\nUSED = $(FROM_PART)\nSTART = $(USED) > 0\n";
    let place = Place::new(&[("condor_config", root), ("part", "FROM_PART = 1\n")]);
    let root_uri = place.uri("condor_config");
    let part_uri = place.uri("part");
    let mut client = Client::ready(&place, &["--config-file", "condor_config"], Value::Null);
    client.open(&root_uri, "condor-config", root);
    let words = ["--config-file", "condor_config"];
    assert_eq!(places(&client.diagnostics(&root_uri, 1), root), findings(&place, &words, "condor_config"));
    // The text of the part is changed in the editor only.
    let changed = "FROM_PRT = 1\nNUM_CPUS = four\n";
    client.open(&part_uri, "condor-config", changed);
    let part = places(&client.diagnostics(&part_uri, 1), changed);
    let saved = Place::new(&[("condor_config", root), ("part", changed)]);
    assert_eq!(part, findings(&saved, &words, "part"));
    assert!(part.iter().any(|it| it.0 == "bad-value"), "{part:?}");
    client.replace(&root_uri, 2, &format!("{root}\n"));
    let shown = places(&client.diagnostics(&root_uri, 2), root);
    assert_eq!(shown, findings(&saved, &words, "condor_config"));
    assert!(shown.iter().any(|it| it.0 == "misspelled-reference"), "{shown:?}");
    // Without a selected root, an open document that includes the part is its root.
    client.shut_down();
    let mut client = Client::ready(&place, &[], Value::Null);
    client.open(&part_uri, "condor-config", changed);
    client.diagnostics(&part_uri, 1);
    client.open(&root_uri, "condor-config", root);
    let shown = places(&client.diagnostics(&root_uri, 1), root);
    assert_eq!(shown, findings(&saved, &["condor_config"], "condor_config"));
    // After a document is closed, the text of its file counts again.
    client.close(&part_uri);
    client.replace(&root_uri, 2, root);
    let shown = places(&client.diagnostics(&root_uri, 2), root);
    assert_eq!(shown, findings(&place, &["condor_config"], "condor_config"));
    client.shut_down();
}

/// Random numbers with the same sequence in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

#[test]
fn a_text_after_many_edits_has_the_findings_of_that_text() {
    let place = Place::new(&[]);
    let mut client = Client::ready(&place, &[], Value::Null);
    let uri = place.uri("edited");
    for seed in 0..4 {
        let mut dice = Dice(seed);
        let mut text = "START = ü $(X)\r\nSTRT = \u{1f600}\n".to_owned();
        client.open(&uri, "condor-config", &text);
        client.diagnostics(&uri, 1);
        for version in 2..40 {
            let boundaries: Vec<usize> = (0..=text.len())
                .filter(|&at| text.is_char_boundary(at) && !text[..at].ends_with('\r'))
                .collect();
            let mut ends =
                [boundaries[dice.below(boundaries.len())], boundaries[dice.below(boundaries.len())]];
            ends.sort_unstable();
            ends[1] = ends[1]
                .min(boundaries[boundaries.partition_point(|&at| at < ends[0] + 8).min(boundaries.len() - 1)])
                .max(ends[0]);
            let pieces = [
                "NUM_CPUS = x\n",
                "ü",
                "\u{1f600}",
                "$(",
                ")",
                "if 1\n",
                "endif\r\n",
                "A @=e\n",
                "@e\n",
                "\\\n",
                "# c\n",
                "STRT",
            ];
            let new = pieces[dice.below(pieces.len())];
            let position = |at: usize| {
                let TextPosition { line, character } = position_at(&text, at);
                json!({"line": line, "character": character})
            };
            let range = json!({"start": position(ends[0]), "end": position(ends[1])});
            let change = json!({"range": range, "text": new});
            text.replace_range(ends[0]..ends[1], new);
            let document = json!({"uri": uri, "version": version});
            client.notify(
                "textDocument/didChange",
                json!({"textDocument": document, "contentChanges": [change]}),
            );
        }
        place.write("edited", &text);
        let shown = places(&client.diagnostics(&uri, 39), &text);
        assert_eq!(shown, findings(&place, &["edited"], "edited"), "seed {seed}:\n{text}");
        client.close(&uri);
    }
    client.shut_down();
}

/// Returns a configuration of 2,000 lines.
pub(crate) fn large_config() -> String {
    let mut text = String::new();
    for n in 0..400 {
        text.push_str(&format!(
            "# setting {n}\nSITE_{n} = value {n} of $(SITE_{}:none)\n",
            n / 10 * 10 + 400 * usize::from(n % 10 == 0)
        ));
        text.push_str(&format!(
            "SLOT_TYPE_{}_START = Owner == \"u{n}\" && \\\n  TARGET.RequestMemory > {n}\n",
            n + 1
        ));
        text.push_str(&format!("STARTD_ATTRS = $(STARTD_ATTRS) SITE_{n}\n"));
    }
    text
}

#[test]
fn changes_of_a_long_configuration_are_published_in_order_and_the_last_one_counts() {
    let text = large_config();
    assert_eq!(text.lines().count(), 2000);
    let place = Place::new(&[("large", &text)]);
    let uri = place.uri("large");
    let mut client = Client::ready(&place, &[], Value::Null);
    client.open(&uri, "condor-config", &text);
    assert_eq!(places(&client.diagnostics(&uri, 1), &text), findings(&place, &["large"], "large"));
    // Fast changes: each event is of a later version, none is of a version that was not sent.
    let changes = 50;
    for version in 2..2 + changes {
        let range = json!({"start": {"line": 2000, "character": 0}, "end": {"line": 2000, "character": 0}});
        let change = json!({"range": range, "text": "x"});
        let document = json!({"uri": uri, "version": version});
        client
            .notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    }
    let (mut events, mut last) = (0, 1);
    while last < 1 + changes {
        let params = client.notice("textDocument/publishDiagnostics");
        let version = params["version"].as_i64().expect("a version");
        assert!(version > last && version <= 1 + changes, "{version} after {last}");
        events += 1;
        last = version;
        if version == 1 + changes {
            let broken = format!("{text}{}", "x".repeat(changes as usize));
            place.write("large", &broken);
            let diagnostics = params["diagnostics"].as_array().unwrap();
            assert_eq!(places(diagnostics, &broken), findings(&place, &["large"], "large"));
        }
    }
    assert!(events <= changes, "{events} events for {changes} changes");
    // Nothing further is published without a change.
    client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": uri}})).expect("symbols");
    client.replace(&uri, 99, &text);
    let params = client.notice("textDocument/publishDiagnostics");
    assert_eq!(params["version"], 99);
    client.shut_down();
}
