//! Errors of suite cases.

use std::io;

use super::call_setup::CallError;
use htc_base::text::Span;
use htc_base::text::caret::Caret;
use htc_base::text::similar_names;
use htc_classad::ParseError;
use htc_classad::regex::PatternError;
use htc_hook::HookType;

/// Reason why a case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The case does not set the hook type.
    #[error("the case has no `type`: {known}", known = known_types())]
    NoType,
    /// The hook type is unknown.
    #[error("unknown hook type '{0}': {hint}", hint = similar_type(.0))]
    UnknownType(String),
    /// The name in a `${NAME}` has no value.
    #[error("{0} matches nothing")]
    UnresolvedName(String),
    /// The case does not name a hook.
    #[error("the case has no `hook`")]
    NoHook,
    /// The timeout is not valid.
    #[error("timeout = {0}: expected a number of seconds above 0")]
    TimeOut(f64),
    /// The expected verdict is not valid; contains the verdict and the reason.
    #[error("verdict = \"{0}\": {1}")]
    Verdict(String, String),
    /// The expected exit status is not valid.
    #[error("exit = {0}: expected a status, or a string such as 'signalled 9'")]
    Exit(toml::Value),
    /// The regular expression for standard error is not valid.
    #[error("stderr = '{0}': {1}")]
    Pattern(String, PatternError),
    /// An expression is not valid; contains the complete message.
    #[error("{0}")]
    Expression(String),
    /// A file of the case cannot be read.
    #[error("cannot read '{0}'")]
    Unreadable(String, #[source] io::Error),
    /// An ad of the case is not valid; contains the message.
    #[error("an ad of the case: {0}")]
    Ad(String),
    /// No sample has this kind; contains the type of ad and the kind.
    #[error("no sample {0} '{1}'")]
    Sample(&'static str, String),
    /// The first argument is not valid for this hook; contains the argument and the valid ones.
    #[error("words = [\"{0}\"]: expected one of {1}")]
    Word(String, String),
    /// A hook case has this key, which is valid only for cron jobs.
    #[error("{0} is for startd-cron and schedd-cron")]
    OnlyForCron(&'static str),
    /// A cron case has an expected standard output, which is not supported.
    #[error(
        "'stdout' is not for cron jobs, whose output is read in blocks: check the resulting ad with 'result'"
    )]
    CronOutput,
    /// A case for a schedd cron job sets `slots` or `sample_slot`, but a schedd has no slots.
    #[error("a schedd has no slots: sample_slot and slots are for startd-cron")]
    SlotsOfSchedd,
    /// A cron case has `runs = 0`, so that the job would not be run.
    #[error("runs = 0: expected a number above 0")]
    NoRuns,
    /// The mode of a cron job is not valid.
    #[error("mode = '{0}': expected Periodic, WaitForExit, OneShot or OnDemand")]
    Mode(String),
    /// METRICS of a cron job is not valid.
    #[error("--metrics: {0}")]
    Metrics(String),
    /// The call cannot be made.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A file or directory of the case cannot be created, read or written.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Types of suite cases that test a cron job instead of a hook.
const CRON_TYPES: [&str; 3] = ["startd-cron", "schedd-cron", "benchmark"];

fn type_names() -> impl Iterator<Item = &'static str> {
    HookType::ALL.into_iter().map(HookType::word).chain(CRON_TYPES)
}

fn known_types() -> String {
    format!("its types are {}", type_names().collect::<Vec<_>>().join(", "))
}

fn similar_type(name: &str) -> String {
    match similar_names::nearest(name, type_names()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => known_types(),
    }
}

impl CaseError {
    /// Creates the error about an invalid expression; `source` names the place of the expression.
    pub(super) fn from_parse_error(text: &str, source: &str, error: &ParseError) -> Self {
        let span = Span::new(error.span.start as usize, error.span.end as usize);
        let caret = Caret { source, text: text.as_bytes(), span };
        let shown = caret.line().render(&error.to_string());
        CaseError::Expression(shown.lines().next().unwrap_or_default().to_owned())
    }

    /// Returns the message of the error and of its causes in one line.
    pub fn to_message(&self) -> String {
        let mut message = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            message += &format!(": {error}");
            cause = error.source();
        }
        message
    }
}
