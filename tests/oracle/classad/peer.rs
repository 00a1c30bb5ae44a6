//! The Python process that answers questions about ClassAds.

use super::Question;
use crate::python::Running;

/// The answer if the reference crashed or exceeded its time limit.
pub(crate) const CRASHED: &str = "!crashed";

const PROGRAM: &str = include_str!("peer.py");

pub(crate) struct Peer {
    running: Running,
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
        if let Some(answers) = self.ask_once(questions) {
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

    fn ask_once(&mut self, questions: &[Question]) -> Option<Vec<String>> {
        let records: Vec<_> = questions
            .iter()
            .map(|question| (question.kind.word(), &question.my, &question.target, &question.text))
            .collect();
        self.running.exchange(&records)
    }
}
