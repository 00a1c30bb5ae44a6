//! Findings: what they are called, what they say, where they point.

use htc_base::text::{Span, words};

words! {
    /// What a finding is about. The words are stable; scripts may look for them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Rule.word {
        /// A line of output that is no attribute.
        BadLine => "bad-line",
        /// A string goes on in the next line of the output.
        NewlineInString => "newline-in-string",
        /// Text behind a complete value.
        TextAfterValue => "text-after-value",
        /// An attribute whose name no queue takes.
        BadName => "bad-name",
        /// An attribute that the queue does not write, and the whole answer with it.
        RefusedAttribute => "refused-attribute",
        /// An attribute printed twice with different values.
        PrintedTwice => "printed-twice",
        /// An attribute or output that has no effect here.
        IgnoredOutput => "ignored-output",
        /// An attribute that was read before the hook ran.
        TooLate => "too-late",
        /// Lines end with carriage returns.
        CarriageReturns => "carriage-returns",
        /// The last line of a cron job has no newline.
        LastLine => "last-line",
        /// A NUL byte in the output.
        NulByte => "nul-byte",
        /// The output is longer than the caller reads.
        OutputCut => "output-cut",
        /// The hook has not read all of its input.
        InputNotRead => "input-not-read",
        /// Processes are left behind.
        LeftBehind => "left-behind",
        /// The hook sends a signal to its process group, in which its caller is.
        SignalsCaller => "signals-caller",
        /// The hook ran longer than the caller waits.
        RanTooLong => "ran-too-long",
        /// A status that nobody looks at.
        StatusIgnored => "status-ignored",
        /// A status that throws the answer away.
        AnswerDiscarded => "answer-discarded",
        /// `HookStatusCode` that does not count, or not as meant.
        StatusCode => "status-code",
        /// The interpreter of the first line does not exist.
        MissingInterpreter => "missing-interpreter",
        /// The caller refuses the path, or it cannot be executed.
        BadPath => "bad-path",
        /// A variable is not set that the caller does not pass.
        MissingVariable => "missing-variable",
        /// A command is not found.
        MissingCommand => "missing-command",
        /// The hook takes an attribute for granted that the ad does not have, or looks for another spelling of it.
        MissingAttribute => "missing-attribute",
        /// The hook died of an exception of its language.
        Exception => "exception",
        /// The value of an expression is printed in its place.
        FrozenExpression => "frozen-expression",
        /// A fetched job lacks what it needs.
        IncompleteJob => "incomplete-job",
        /// The reference never calls this hook.
        NeverCalled => "never-called",
        /// The answer asks for what the starter of this package does not do.
        UnsupportedHere => "not-done-here",
        /// A second run answers differently.
        Varies => "varies",
        /// The answer depends on the working directory.
        DependsOnDirectory => "depends-on-directory",
        /// The answer depends on HOME.
        DependsOnHome => "depends-on-home",
        /// The answer depends on the environment of the user's shell.
        DependsOnEnvironment => "depends-on-environment",
    }
}

impl Rule {
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

    pub(super) fn with_place(mut self, place: Span) -> Self {
        self.place = Some(place);
        self
    }
}
