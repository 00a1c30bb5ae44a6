//! The Python process that runs the reference's library.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Question;

/// The answer if the reference crashed or exceeded its time limit.
pub(crate) const CRASHED: &str = "!crashed";

const PROGRAM: &str = include_str!("peer.py");

pub(crate) struct Peer {
    running: Running,
}

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

    fn ask(&mut self, questions: &[Question]) -> Option<Vec<String>> {
        let records: Vec<_> = questions
            .iter()
            .map(|question| (question.kind.word(), &question.my, &question.target, &question.text))
            .collect();
        self.exchange(&records)
    }
}

impl Peer {
    /// Starts Python; `None` if it is missing or lacks the module.
    pub(crate) fn start() -> Option<Self> {
        Some(Peer { running: Running::start(PROGRAM)? })
    }

    /// Returns the answers to all questions. If the process dies, the responsible question is determined, and
    /// the others are sent again.
    pub(crate) fn ask(&mut self, questions: &[Question]) -> Vec<String> {
        if questions.is_empty() {
            return Vec::new();
        }
        if let Some(answers) = self.running.ask(questions) {
            return answers;
        }
        self.running = Running::start(PROGRAM).expect("Python started before");
        if questions.len() == 1 {
            return vec![String::from(CRASHED)];
        }
        let (first, second) = questions.split_at(questions.len() / 2);
        let mut answers = self.ask(first);
        answers.extend(self.ask(second));
        answers
    }
}
