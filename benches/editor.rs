//! Benchmark of the language server: time from a change of a configuration of 2,000 lines to its diagnostics, and from a
//! request for completion to its answer.
//!
//! `cargo bench --bench editor`. Each figure is shown next to its goal.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A connection to the server.
struct Connection {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Connection {
    fn send(&mut self, message: &Value) {
        let content = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{content}", content.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            if let Some(number) = line.strip_prefix("Content-Length: ") {
                length = number.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut content = vec![0; length];
        self.output.read_exact(&mut content).unwrap();
        serde_json::from_slice(&content).unwrap()
    }

    fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) {
        while !is_wanted(&self.receive()) {}
    }
}

/// Returns a configuration of 2,000 lines with macros, conditions and expressions.
fn config() -> String {
    let mut text = String::new();
    for n in 0..400 {
        // Every tenth macro refers to nothing; the nine after it refer to it.
        let before = n / 10 * 10 + 400 * usize::from(n % 10 == 0);
        writeln!(text, "# setting {n}\nSITE_{n} = value {n} of $(SITE_{before}:none)").unwrap();
        writeln!(text, "SLOT_TYPE_{}_START = Owner == \"u{n}\" && \\\n  TARGET.RequestMemory > {n}", n + 1)
            .unwrap();
        writeln!(text, "STARTD_ATTRS = $(STARTD_ATTRS) SITE_{n}").unwrap();
    }
    text
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() {
    // `cargo test` runs benchmarks too; then one run is enough to check that they work.
    let runs = if std::env::args().any(|word| word == "--bench") { 50 } else { 1 };
    let place = tempfile::tempdir().unwrap();
    let uri = format!("file://{}", place.path().join("condor_config").display());
    let mut child = Command::new(Path::new(env!("CARGO_BIN_EXE_htc-config-dump")))
        .arg("lsp")
        .env_clear()
        .env("CONDOR_CONFIG", "/nonexistent/condor_config")
        .env("_CONDOR_NETWORK_HOSTNAME", "bench.example.org")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut connection = Connection {
        input: child.stdin.take().unwrap(),
        output: BufReader::new(child.stdout.take().unwrap()),
    };
    connection
        .send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}));
    connection.until(|message| message["id"] == 0);
    let text = config();
    let lines = text.lines().count();
    let document = json!({"uri": uri, "languageId": "condor-config", "version": 1, "text": text});
    connection.send(
        &json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}),
    );
    connection.until(|message| message["params"]["version"] == 1);
    let (mut published, mut completed) = (Vec::new(), Vec::new());
    for run in 0..runs {
        let version = run + 2;
        let start = json!({"line": lines, "character": run});
        let changes = json!([{"range": {"start": start, "end": start}, "text": "X"}]);
        let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": changes});
        let begin = Instant::now();
        connection.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}));
        connection.until(|message| message["params"]["version"] == version);
        published.push(begin.elapsed());
        let params = json!({"textDocument": {"uri": uri}, "position": {"line": lines, "character": run + 1}});
        let begin = Instant::now();
        connection.send(
            &json!({"jsonrpc": "2.0", "id": version, "method": "textDocument/completion", "params": params}),
        );
        connection.until(|message| message["id"] == version);
        completed.push(begin.elapsed());
    }
    drop(connection);
    child.wait().unwrap();
    println!("change of {lines} lines to diagnostics  {:8.3} ms  (wanted: under 100)", median(published));
    println!("completion at the end of them      {:8.3} ms", median(completed));
}
