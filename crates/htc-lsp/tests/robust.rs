//! The server survives every text: unfinished statements, positions anywhere, odd bytes, random edits; and cancels
//! requests that were received together with their cancellation.

#![allow(clippy::unwrap_used, reason = "tests fail by it")]

use htc_config::{CommandPolicy, LoadOptions, LookupContext};
use htc_lsp::{Server, ServerSettings};
use htc_os::RealWorld;
use lsp_server::Message;
use serde_json::{Value, json};

const URI: &str = "file:///nonexistent/editor/condor_config";

const TEXT: &str = "\
# \u{1f600} c\r\nA = $(B:$(C)) ü \\\n  $INT(D,%d) && 'x\nif defined A\n  use FEATURE : GPUs(1, $(A)), Monitor(\nelse\nendif\n\
include ifexist : $(A)/f\ninclude command : prog |\nJOB_ROUTER_ROUTE_NAMES = r\nJOB_ROUTER_ROUTE_r @=e\n REQUIREMENTS MY.x && (\n\
 SET Y = \"a $(B)\"\n COPY /a(/ b\n UNIVERSE\n@e\nSTARTD.START = TARGET.Owner == \"u\" && strcat(\n[s]\nbad line\n$(A) = 1\nX @=\n y\n@\nZ";

const REQUESTS: [&str; 6] =
    ["hover", "completion", "definition", "references", "documentSymbol", "codeAction"];

fn settings() -> ServerSettings {
    ServerSettings {
        load: LoadOptions { environment: false, commands: CommandPolicy::Skipped, ..LoadOptions::default() },
        context: LookupContext { subsystem: "TOOL".into(), local_name: "".into() },
        version: htc_config::target_version::TargetVersion::default(),
        select: Vec::new(),
        ignore: Vec::new(),
        used_by: Vec::new(),
        redact: false,
    }
}

fn message(value: Value) -> Message {
    serde_json::from_value(value).unwrap()
}

/// A server that has been initialized, with a document open.
struct Session {
    server: Server,
    world: RealWorld,
}

impl Session {
    fn new(language: &str, text: &str) -> Self {
        let mut session = Session { server: Server::new(settings(), "test", None), world: RealWorld::new() };
        session.send(json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}}));
        let item = json!({"uri": URI, "languageId": language, "version": 1, "text": text});
        session.send(json!({"method": "textDocument/didOpen", "params": {"textDocument": item}}));
        session
    }

    fn send(&mut self, value: Value) -> Vec<Value> {
        let answers = self.server.receive(vec![message(value)], &self.world);
        answers.iter().map(|answer| serde_json::to_value(answer).unwrap()).collect()
    }

    fn replace(&mut self, text: &str) {
        let change = json!({"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": text}]});
        assert!(self.send(json!({"method": "textDocument/didChange", "params": change})).is_empty());
    }

    /// Sends every kind of request about a position. Code actions are requested only at every third position, because
    /// the server checks the text for them.
    fn send_all_requests(&mut self, line: usize, character: usize) {
        let position = json!({"line": line, "character": character});
        for request in REQUESTS {
            if request == "codeAction" && !(line + character).is_multiple_of(3) {
                continue;
            }
            let mut params = json!({"textDocument": {"uri": URI}, "position": position});
            if request == "references" {
                params["context"] = json!({"includeDeclaration": true});
            } else if request == "codeAction" {
                params["range"] = json!({"start": position, "end": position});
                params["context"] = json!({"diagnostics": []});
            }
            let answers =
                self.send(json!({"id": 2, "method": format!("textDocument/{request}"), "params": params}));
            assert!(
                answers.len() == 1 && answers[0].get("result").is_some(),
                "{request} {line}:{character} {answers:?}"
            );
        }
    }
}

/// Returns the distance between the positions that are tried: `complete` if `HTC_ALL_COMBINATIONS` is set, as in
/// `.ci/full`, otherwise three times as much.
fn step(complete: usize) -> usize {
    if std::env::var_os("HTC_ALL_COMBINATIONS").is_some() { complete } else { 3 * complete }
}

#[test]
fn every_position_of_a_text_has_answers() {
    for language in ["condor-config", "condor-transform", "classad"] {
        let mut session = Session::new(language, TEXT);
        for (line, text) in TEXT.split('\n').enumerate() {
            for character in (0..text.encode_utf16().count() + 2).step_by(step(5)) {
                session.send_all_requests(line, character);
            }
        }
        session.send_all_requests(99, 99);
        assert!(!session.server.publish(&session.world).is_empty());
    }
}

#[test]
fn every_prefix_of_a_text_has_answers() {
    for language in ["condor-config", "condor-transform"] {
        let mut session = Session::new(language, "");
        for (number, (end, _)) in TEXT.char_indices().step_by(step(3)).enumerate() {
            let text = &TEXT[..end];
            session.replace(text);
            let last = text.rsplit('\n').next().unwrap_or_default();
            let position =
                json!({"line": text.matches('\n').count(), "character": last.encode_utf16().count()});
            let params = json!({"textDocument": {"uri": URI}, "position": position});
            let answers =
                session.send(json!({"id": 3, "method": "textDocument/completion", "params": params}));
            assert!(answers[0].get("result").is_some(), "{answers:?}");
            if number % 16 == 0 {
                session.server.publish(&session.world);
            }
        }
    }
}

#[test]
fn texts_of_odd_bytes_have_answers() {
    for text in [
        "\0",
        "A = \0\nB = 1\n",
        "\u{feff}A = 1\n",
        "\r\r\n\n\r",
        "A = $(",
        "A @=",
        "@",
        ":",
        "=",
        "use",
        "use :",
        "\\\n\\\n",
        "if",
        "A=\u{10ffff}\n",
    ] {
        for language in ["condor-config", "condor-transform"] {
            let mut session = Session::new(language, text);
            for line in 0..3 {
                (0..4).step_by(step(1)).for_each(|character| session.send_all_requests(line, character));
            }
            session.server.publish(&session.world);
        }
    }
}

#[test]
fn a_request_is_cancelled_if_the_cancellation_came_with_it() {
    let mut session = Session::new("condor-config", TEXT);
    let at = json!({"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}});
    let request = |id: Value| message(json!({"id": id, "method": "textDocument/hover", "params": at}));
    let cancel = |id: Value| message(json!({"method": "$/cancelRequest", "params": {"id": id}}));
    let batch =
        vec![request(json!(7)), request(json!("x")), cancel(json!(7)), request(json!(8)), cancel(json!(99))];
    let answers = session.server.receive(batch, &session.world);
    let codes: Vec<(Value, Option<i64>)> = answers
        .iter()
        .map(|answer| serde_json::to_value(answer).unwrap())
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].as_i64()))
        .collect();
    assert_eq!(codes, [(json!(7), Some(-32800)), (json!("x"), None), (json!(8), None)]);
}

#[test]
fn diagnostics_are_published_for_changed_documents_only() {
    let mut session = Session::new("condor-config", "NUM_CPUS = four\n");
    let publish = |session: &mut Session| -> Vec<(String, usize)> {
        let messages = session.server.publish(&session.world);
        let values = messages.iter().map(|one| serde_json::to_value(one).unwrap());
        values
            .map(|one| {
                let uri = one["params"]["uri"].as_str().unwrap().to_owned();
                (uri, one["params"]["diagnostics"].as_array().unwrap().len())
            })
            .collect()
    };
    assert!(session.server.has_changes());
    assert_eq!(publish(&mut session), [(URI.to_owned(), 1)]);
    assert!(!session.server.has_changes());
    assert!(publish(&mut session).is_empty());
    session.replace("NUM_CPUS = 4\n");
    assert_eq!(publish(&mut session), [(URI.to_owned(), 0)]);
    session.replace("NUM_CPUS = four\n");
    assert_eq!(publish(&mut session), [(URI.to_owned(), 1)]);
    session.send(json!({"method": "textDocument/didClose", "params": {"textDocument": {"uri": URI}}}));
    assert_eq!(publish(&mut session), [(URI.to_owned(), 0)]);
    assert!(publish(&mut session).is_empty());
}
