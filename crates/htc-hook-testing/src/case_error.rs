//! What is wrong with a case of a suite.

use std::io;

use super::call_setup::CallError;
use htc_base::text::Span;
use htc_base::text::caret::Caret;
use htc_classad::ParseError;
use htc_classad::regex::PatternError;

/// Why a case cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// Its type.
    #[error("there is no type '{0}'")]
    UnknownType(String),
    /// A parameter in braces.
    #[error("{0} stands for nothing")]
    UnresolvedName(String),
    /// It names no hook.
    #[error("no hook is named")]
    NoHook,
    /// How long it may take.
    #[error("timeout = {0}: expected a number of seconds above 0")]
    TimeOut(f64),
    /// Which verdict it expects, and why there is no such one.
    #[error("verdict = \"{0}\": {1}")]
    Verdict(String, String),
    /// Which exit it expects.
    #[error("exit = {0}: expected a status, or a text such as 'signalled 9'")]
    Exit(toml::Value),
    /// What its standard error is to match.
    #[error("stderr = '{0}': {1}")]
    Pattern(String, PatternError),
    /// An expression, as a line of it is shown.
    #[error("{0}")]
    Expression(String),
    /// A file of it.
    #[error("cannot read '{0}'")]
    Unreadable(String, #[source] io::Error),
    /// An ad of it.
    #[error("an ad of the case: {0}")]
    Ad(String),
    /// A built-in ad: of what, which.
    #[error("no sample {0} '{1}'")]
    Sample(&'static str, String),
    /// The first of its words, and those that there are.
    #[error("words = [\"{0}\"]: expected one of {1}")]
    Word(String, String),
    /// A case of a hook says what only cron jobs have.
    #[error("{0} is for startd-cron and schedd-cron")]
    OnlyForCron(&'static str),
    /// A case of a cron job expects an output.
    #[error("stdout of a cron job is read in blocks: say with 'result' what the ad must have")]
    CronOutput,
    /// A schedd has no slots.
    #[error("a schedd has no slots: sample_slot and slots are for startd-cron")]
    SlotsOfSchedd,
    /// It is never run.
    #[error("runs = 0: expected a number above 0")]
    NoRuns,
    /// When a cron job is run.
    #[error("mode = '{0}': expected Periodic, WaitForExit, OneShot or OnDemand")]
    Mode(String),
    /// METRICS of a cron job.
    #[error("--metrics: {0}")]
    Metrics(String),
    /// The call cannot be made.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A file or directory of the case.
    #[error(transparent)]
    File(#[from] io::Error),
}

impl CaseError {
    /// A wrong expression; `source` names where it stands.
    pub(super) fn from_parse_error(text: &str, source: &str, error: &ParseError) -> Self {
        let span = Span::new(error.span.start as usize, error.span.end as usize);
        let caret = Caret { source, text: text.as_bytes(), span };
        let shown = caret.line().render(&error.to_string());
        CaseError::Expression(shown.lines().next().unwrap_or_default().to_owned())
    }

    /// The whole message with its causes, in one line.
    pub fn to_message(&self) -> String {
        let mut told = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            told += &format!(": {error}");
            cause = error.source();
        }
        told
    }
}
