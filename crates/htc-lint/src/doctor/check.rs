//! How one thing stands that was looked at.

use serde::Serialize;

/// How one thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It works.
    Good,
    /// A run begins and goes on, but not all that the configuration asks for happens.
    Note,
    /// Something will fail.
    Fails,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is about: `hooks`, `execute`, `clock` ...
    pub subject: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What was found.
    pub found: String,
    /// What to do about it; empty where nothing is to be done.
    pub todo: String,
}

impl Check {
    /// All is well.
    pub fn good(subject: &'static str, found: impl Into<String>) -> Self {
        Check { subject, standing: Standing::Good, found: found.into(), todo: String::new() }
    }

    /// Something a user should know.
    pub fn note(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Check { subject, standing: Standing::Note, found: found.into(), todo: todo.into() }
    }

    /// Something that will fail.
    pub fn fails(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Check { subject, standing: Standing::Fails, found: found.into(), todo: todo.into() }
    }
}

/// A sentence that may say behind a semicolon what is to be done, as those of other rooms do.
pub(super) fn failing(subject: &'static str, sentence: &str) -> Check {
    match sentence.rsplit_once("; ") {
        Some((found, todo)) => Check::fails(subject, found, todo),
        None => Check::fails(subject, sentence, "correct what it names"),
    }
}
