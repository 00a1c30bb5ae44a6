//! A Python process that has the reference's library.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A Python process that has the module.
pub(crate) struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts a program whose first line is the version of the library.
    pub(crate) fn start(program: &str) -> Option<Self> {
        let python = std::env::var_os("HTC_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
        let mut child = Command::new(python)
            .args(["-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let stdin = child.stdin.take()?;
        let stdout = BufReader::new(child.stdout.take()?);
        let mut running = Running { child, stdin, stdout };
        let mut version = String::new();
        running.stdout.read_line(&mut version).ok()?;
        version.contains('.').then_some(running)
    }

    /// Sends a question and waits for the answer; both are a line of JSON.
    pub(crate) fn exchange<A: DeserializeOwned>(&mut self, question: &impl Serialize) -> Option<A> {
        let mut line = serde_json::to_string(question).ok()?;
        line.push('\n');
        self.stdin.write_all(line.as_bytes()).ok()?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).ok()?;
        serde_json::from_str(&answer).ok()
    }
}
