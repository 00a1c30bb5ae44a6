//! Scripted client of the language server, and the output of other verbs for the same texts.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Limit of every wait.
const LIMIT: Duration = Duration::from_secs(120);

/// Directory with files, in which programs run.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let place = Place(tempfile::tempdir().expect("a directory"));
        for (name, text) in files {
            place.write(name, text);
        }
        place
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the URI of a file.
    pub(crate) fn uri(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }

    /// Returns the program with a fixed environment: no configuration is found as usual.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
        command.args(words).env_clear().current_dir(self.0.path());
        command.env("CONDOR_CONFIG", "/nonexistent/condor_config");
        command.env("_CONDOR_NETWORK_HOSTNAME", "editor.example.org");
        command
    }

    /// Returns the standard output of the program.
    pub(crate) fn run(&self, words: &[&str]) -> String {
        let Output { stdout, stderr, .. } =
            self.command(words).stdin(Stdio::null()).output().expect("it starts");
        assert!(!stdout.is_empty() || stderr.is_empty() || words.contains(&"--fix"), "{words:?} {stderr:?}");
        String::from_utf8(stdout).expect("text")
    }

    /// Returns the records of a verb that prints JSON.
    pub(crate) fn records(&self, words: &[&str]) -> Vec<Value> {
        let text = self.run(words);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
    }
}

/// Scripted client.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Notifications that were received while an answer was awaited.
    notices: Vec<Value>,
    next_id: i64,
}

/// Returns the content with its header.
pub(crate) fn framed(content: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{content}", content.len()).into_bytes()
}

fn read_message(input: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(number) = line.strip_prefix("Content-Length: ") {
            length = number.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut content = vec![0; length];
    input.read_exact(&mut content).ok()?;
    Some(serde_json::from_slice(&content).expect("JSON"))
}

impl Client {
    /// Starts the server without a message.
    pub(crate) fn start(place: &Place, words: &[&str]) -> Client {
        let mut command = place.command(&[&["lsp"], words].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = child.stdout.take().expect("a pipe");
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read_message(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Client { child, input, messages, notices: Vec::new(), next_id: 1 }
    }

    /// Starts the server and initializes it.
    pub(crate) fn ready(place: &Place, words: &[&str], options: Value) -> Client {
        let mut client = Client::start(place, words);
        let params = json!({"processId": null, "rootUri": null, "initializationOptions": options,
            "capabilities": {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": true}}}});
        client.request("initialize", params).expect("capabilities");
        client.notify("initialized", json!({}));
        client
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the server reads");
        input.flush().expect("the server reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(&framed(&message.to_string()));
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Returns the next message.
    pub(crate) fn receive(&mut self) -> Value {
        self.messages.recv_timeout(LIMIT).unwrap_or_else(|error| {
            let mut text = String::new();
            let _ = self.child.kill();
            if let Some(stderr) = &mut self.child.stderr {
                let _ = stderr.read_to_string(&mut text);
            }
            panic!("no message: {error}: {text}")
        })
    }

    /// Returns the result of a request, or its error.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.notices.push(message);
        }
    }

    /// Returns the next notification of a method.
    pub(crate) fn notice(&mut self, method: &str) -> Value {
        if let Some(at) = self.notices.iter().position(|notice| notice["method"] == method) {
            return self.notices.remove(at)["params"].clone();
        }
        loop {
            let message = self.receive();
            if message["method"] == method {
                return message["params"].clone();
            }
            self.notices.push(message);
        }
    }

    /// Returns the next diagnostics of a document in this version; those of other documents are dropped.
    pub(crate) fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        loop {
            let params = self.notice("textDocument/publishDiagnostics");
            if params["uri"] == uri && params["version"] == version {
                return params["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }

    pub(crate) fn open(&mut self, uri: &str, language: &str, text: &str) {
        let item = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": item}));
    }

    /// Replaces the text of a document.
    pub(crate) fn replace(&mut self, uri: &str, version: i64, text: &str) {
        let params =
            json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]});
        self.notify("textDocument/didChange", params);
    }

    pub(crate) fn close(&mut self, uri: &str) {
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }

    /// Asks about a position.
    pub(crate) fn ask(&mut self, what: &str, uri: &str, at: TextPosition) -> Value {
        let mut params =
            json!({"textDocument": {"uri": uri}, "position": {"line": at.line, "character": at.character}});
        if what == "references" {
            params["context"] = json!({"includeDeclaration": true});
        }
        self.request(&format!("textDocument/{what}"), params).expect("an answer")
    }

    /// Closes standard input; returns standard error and the exit status.
    pub(crate) fn end(mut self) -> (String, i32) {
        drop(self.input.take());
        let mut text = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut text).expect("text");
        (text, self.child.wait().expect("it ends").code().expect("no signal"))
    }

    /// Ends the server as the protocol says.
    pub(crate) fn shut_down(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Ok(Value::Null));
        self.notify("exit", Value::Null);
        assert_eq!(self.end(), (String::new(), 0));
    }
}

/// Line and column in UTF-16 units, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextPosition {
    pub(crate) line: usize,
    pub(crate) character: usize,
}

/// Returns the line and column in UTF-16 units of a byte offset, written independently of the server.
pub(crate) fn position_at(text: &str, at: usize) -> TextPosition {
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    TextPosition { line: before.matches('\n').count(), character: before[start..].encode_utf16().count() }
}

/// Returns the byte offset of a line and column in UTF-16 units.
pub(crate) fn offset_of(text: &str, line: u64, column: u64) -> usize {
    let start: usize = text.split_inclusive('\n').take(line as usize).map(str::len).sum();
    let mut units = 0;
    for (at, letter) in text[start..].char_indices() {
        if units >= column || letter == '\n' {
            return start + at;
        }
        units += letter.len_utf16() as u64;
    }
    text.len()
}

/// Returns the text of a range of the protocol.
pub(crate) fn slice<'t>(text: &'t str, range: &Value) -> &'t str {
    let offset = |end: &str| {
        let position = &range[end];
        offset_of(text, position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap())
    };
    &text[offset("start")..offset("end")]
}

/// Applies edits of the protocol to a text.
pub(crate) fn apply_edits(text: &str, edits: &[Value]) -> String {
    let offset = |position: &Value| {
        offset_of(text, position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap())
    };
    let mut places: Vec<(usize, usize, &str)> = edits
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            (offset(&range["start"]), offset(&range["end"]), edit["newText"].as_str().unwrap())
        })
        .collect();
    places.sort_unstable();
    let mut out = text.to_owned();
    for (start, end, new) in places.into_iter().rev() {
        out.replace_range(start..end, new);
    }
    out
}

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
