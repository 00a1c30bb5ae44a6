//! How one thing stands that was looked at.

use serde::Serialize;

/// How one thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// It works.
    Good,
    /// A run begins and goes on, but not all that the configuration asks for happens.
    Note,
    /// Something will fail.
    Fails,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// What it is about: `hooks`, `execute`, `clock` ...
    pub subject: &'static str,
    /// How it stands.
    pub standing: CheckStatus,
    /// What was found.
    pub found: String,
    /// What to do about it; empty where nothing is to be done.
    pub todo: String,
}

impl DoctorCheck {
    /// All is well.
    pub fn passed(subject: &'static str, found: impl Into<String>) -> Self {
        DoctorCheck { subject, standing: CheckStatus::Good, found: found.into(), todo: String::new() }
    }

    /// Something a user should know.
    pub fn noted(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        DoctorCheck { subject, standing: CheckStatus::Note, found: found.into(), todo: todo.into() }
    }

    /// Something that will fail.
    pub fn failed(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        DoctorCheck { subject, standing: CheckStatus::Fails, found: found.into(), todo: todo.into() }
    }
}

/// A sentence that may say behind a semicolon what is to be done, as those of other rooms do.
pub(super) fn failed_with_advice(subject: &'static str, sentence: &str) -> DoctorCheck {
    match sentence.rsplit_once("; ") {
        Some((found, todo)) => DoctorCheck::failed(subject, found, todo),
        None => DoctorCheck::failed(subject, sentence, "correct what it names"),
    }
}
