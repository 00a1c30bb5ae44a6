//! Findings: what they are called, what they say, where they point.

use crate::text::Span;

/// What a finding is about. The words are stable; scripts may look for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// A line of output that is no attribute.
    BadLine,
    /// A string goes on in the next line of the output.
    NewlineInString,
    /// Text behind a complete value.
    TextAfterValue,
    /// An attribute whose name no queue takes.
    BadName,
    /// An attribute that the queue does not write, and the whole answer with it.
    RefusedAttribute,
    /// An attribute printed twice with different values.
    PrintedTwice,
    /// An attribute or output that has no effect here.
    IgnoredOutput,
    /// An attribute that was read before the hook ran.
    TooLate,
    /// Lines end with carriage returns.
    CarriageReturns,
    /// The last line of a cron job has no newline.
    LastLine,
    /// A NUL byte in the output.
    NulByte,
    /// The output is longer than the caller reads.
    OutputCut,
    /// The hook has not read all of its input.
    InputNotRead,
    /// Processes are left behind.
    LeftBehind,
    /// The hook ran longer than the caller waits.
    RanTooLong,
    /// A status that nobody looks at.
    StatusIgnored,
    /// A status that throws the answer away.
    AnswerDiscarded,
    /// `HookStatusCode` that does not count, or not as meant.
    StatusCode,
    /// The interpreter of the first line does not exist.
    MissingInterpreter,
    /// The caller refuses the path, or it cannot be executed.
    BadPath,
    /// A variable is not set that the caller does not pass.
    MissingVariable,
    /// A command is not found.
    MissingCommand,
    /// The hook takes an attribute for granted that the ad does not have, or looks for another spelling of it.
    MissingAttribute,
    /// The hook died of an exception of its language.
    Exception,
    /// The value of an expression is printed in its place.
    FrozenExpression,
    /// A fetched job lacks what it needs.
    IncompleteJob,
    /// The reference never calls this hook.
    NeverCalled,
    /// The answer asks for what the starter of this package does not do.
    NotDoneHere,
    /// A second run answers differently.
    Varies,
    /// The answer depends on the working directory.
    DependsOnDirectory,
    /// The answer depends on HOME.
    DependsOnHome,
    /// The answer depends on the environment of the user's shell.
    DependsOnEnvironment,
}

impl Rule {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Rule::BadLine => "bad-line",
            Rule::NewlineInString => "newline-in-string",
            Rule::TextAfterValue => "text-after-value",
            Rule::BadName => "bad-name",
            Rule::RefusedAttribute => "refused-attribute",
            Rule::PrintedTwice => "printed-twice",
            Rule::IgnoredOutput => "ignored-output",
            Rule::TooLate => "too-late",
            Rule::CarriageReturns => "carriage-returns",
            Rule::LastLine => "last-line",
            Rule::NulByte => "nul-byte",
            Rule::OutputCut => "output-cut",
            Rule::InputNotRead => "input-not-read",
            Rule::LeftBehind => "left-behind",
            Rule::RanTooLong => "ran-too-long",
            Rule::StatusIgnored => "status-ignored",
            Rule::AnswerDiscarded => "answer-discarded",
            Rule::StatusCode => "status-code",
            Rule::MissingInterpreter => "missing-interpreter",
            Rule::BadPath => "bad-path",
            Rule::MissingVariable => "missing-variable",
            Rule::MissingCommand => "missing-command",
            Rule::MissingAttribute => "missing-attribute",
            Rule::Exception => "exception",
            Rule::FrozenExpression => "frozen-expression",
            Rule::IncompleteJob => "incomplete-job",
            Rule::NeverCalled => "never-called",
            Rule::NotDoneHere => "not-done-here",
            Rule::Varies => "varies",
            Rule::DependsOnDirectory => "depends-on-directory",
            Rule::DependsOnHome => "depends-on-home",
            Rule::DependsOnEnvironment => "depends-on-environment",
        }
    }

    /// Whether it is only worth knowing; all others cost jobs sooner or later.
    pub fn is_note(self) -> bool {
        matches!(
            self,
            Rule::CarriageReturns
                | Rule::InputNotRead
                | Rule::StatusIgnored
                | Rule::PrintedTwice
                | Rule::NeverCalled
                | Rule::IgnoredOutput
        )
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub rule: Rule,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub advice: String,
    /// Where in the output, if it stands there.
    pub place: Option<Span>,
}

impl Finding {
    /// A finding about the hook as a whole.
    pub fn new(rule: Rule, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Finding { rule, message: message.into(), advice: advice.into(), place: None }
    }

    pub(super) fn at(mut self, place: Span) -> Self {
        self.place = Some(place);
        self
    }
}
