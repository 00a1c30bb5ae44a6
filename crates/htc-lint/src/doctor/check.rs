//! Result of one check.

use htc_base::FixableError;
use serde::Serialize;

/// Status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// The checked item works.
    Good,
    /// A run would work, but part of the configuration would have no effect.
    Note,
    /// A problem that makes jobs or hooks fail.
    Fails,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// Subject: `hooks`, `execute`, `clock` ...
    pub subject: &'static str,
    /// Status.
    pub standing: CheckStatus,
    /// Description of the result.
    pub found: String,
    /// Correction; empty if nothing is to be done.
    pub todo: String,
}

impl DoctorCheck {
    /// Creates the result of a check without problems.
    pub fn passed(subject: &'static str, found: impl Into<String>) -> Self {
        DoctorCheck { subject, standing: CheckStatus::Good, found: found.into(), todo: String::new() }
    }

    /// Creates a note for the user.
    pub fn noted(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        DoctorCheck { subject, standing: CheckStatus::Note, found: found.into(), todo: todo.into() }
    }

    /// Creates the result of a check that failed.
    pub fn failed(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        DoctorCheck { subject, standing: CheckStatus::Fails, found: found.into(), todo: todo.into() }
    }

    /// Creates the result of a check that failed with an error, which says how to correct it.
    pub fn failed_with_fix(subject: &'static str, error: &dyn FixableError) -> Self {
        let todo = error.fix().unwrap_or_else(|| "correct the setting that the message names".to_owned());
        DoctorCheck::failed(subject, error.problem(), todo)
    }
}
