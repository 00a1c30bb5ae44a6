//! Life cycle of the server, and messages that are not valid.

use serde_json::{Value, json};

use crate::client::{Client, Place, framed};

fn code(answer: Result<Value, Value>) -> i64 {
    answer.expect_err("an error")["code"].as_i64().expect("a code")
}

#[test]
fn a_connection_begins_with_initialize_and_ends_with_exit() {
    let place = Place::new(&[]);
    let mut client = Client::start(&place, &[]);
    assert_eq!(code(client.request("textDocument/hover", json!({}))), -32002);
    client.notify("textDocument/didOpen", json!({"ignored": "before initialize"}));
    let result = client.request("initialize", json!({"capabilities": {}})).expect("capabilities");
    for provider in ["hover", "completion", "definition", "references", "documentSymbol", "codeAction"] {
        assert!(!result["capabilities"][format!("{provider}Provider")].is_null(), "{provider}: {result}");
    }
    assert_eq!(result["capabilities"]["textDocumentSync"]["change"], 2);
    assert_eq!(code(client.request("initialize", json!({"capabilities": {}}))), -32600);
    client.notify("initialized", json!({}));
    assert_eq!(code(client.request("textDocument/rename", json!({}))), -32601);
    assert_eq!(code(client.request("$/unknown", json!({}))), -32601);
    client.notify("$/unknown", json!({}));
    client.notify("unknown/notification", json!({}));
    assert_eq!(code(client.request("textDocument/hover", json!({"position": 1}))), -32602);
    let at = json!({"textDocument": {"uri": "file:///not/open"}, "position": {"line": 0, "character": 0}});
    let error = client.request("textDocument/hover", at).expect_err("the document is not open");
    assert_eq!(error["message"], "the document is not open: file:///not/open");
    client.notify("textDocument/didChange", json!({"textDocument": 5}));
    let shown = client.notice("window/showMessage");
    assert!(shown["message"].as_str().unwrap().starts_with("textDocument/didChange: "), "{shown}");
    assert_eq!(client.request("shutdown", Value::Null), Ok(Value::Null));
    assert_eq!(code(client.request("textDocument/hover", json!({}))), -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.end(), (String::new(), 0));
}

#[test]
fn an_end_without_shutdown_has_status_1() {
    let place = Place::new(&[]);
    let mut client = Client::ready(&place, &[], Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.end(), ("htc-config-dump: received exit before shutdown\n".to_owned(), 1));
    assert_eq!(Client::ready(&place, &[], Value::Null).end(), (String::new(), 1));
    assert_eq!(Client::start(&place, &[]).end(), (String::new(), 1));
    let mut client = Client::ready(&place, &[], Value::Null);
    client.request("shutdown", Value::Null).expect("an answer");
    assert_eq!(client.end(), (String::new(), 0));
}

#[test]
fn content_that_is_not_a_message_is_refused_and_the_next_one_is_read() {
    let place = Place::new(&[]);
    let mut client = Client::ready(&place, &[], Value::Null);
    for (content, code, id) in [
        ("{\"jsonrpc\"", -32700, Value::Null),
        ("\u{fffd}", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("{\"jsonrpc\": \"2.0\", \"id\": 77}", -32600, json!(77)),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"shutdown\"}", -32600, json!(1.5)),
    ] {
        client.write(&framed(content));
        let answer = client.receive();
        assert_eq!((answer["error"]["code"].as_i64(), &answer["id"]), (Some(code), &id), "{content}");
    }
    client.shut_down();
}

#[test]
fn input_without_headers_ends_the_server_with_a_message() {
    let place = Place::new(&[]);
    for input in ["hello\n", "Content-Length: many\r\n\r\n", "Content-Type: x\r\n\r\n{}"] {
        let mut client = Client::start(&place, &[]);
        client.write(input.as_bytes());
        let (text, status) = client.end();
        assert_eq!(status, 3, "{text}");
        assert!(text.contains("standard input does not follow the Language Server Protocol: "), "{text}");
        assert!(text.contains("\nhint: "), "{text}");
    }
}

#[test]
fn settings_that_are_not_valid_are_refused() {
    let place = Place::new(&[]);
    for (options, message) in [
        (json!({"configfile": "x"}), "unknown field `configfile`"),
        (json!({"subsystem": "STARTDD"}), "did you mean STARTD?"),
        (json!({"for": "1.0"}), "for: unknown version: '1.0'"),
        (json!({"select": ["no-such-rule"]}), "lint has no rule 'no-such-rule'"),
        (json!([1]), "initializationOptions: "),
    ] {
        let mut client = Client::start(&place, &[]);
        let params = json!({"capabilities": {}, "initializationOptions": options});
        let error = client.request("initialize", params).expect_err("an error");
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
        // The editor may correct them and try again.
        client.request("initialize", json!({"capabilities": {}})).expect("capabilities");
        client.shut_down();
    }
    for words in
        [&["lsp", "--json"][..], &["lsp", "--subsystem", "X"], &["lsp", "--for", "1"], &["lsp", "--fix"]]
    {
        let output = place.command(words).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
}
