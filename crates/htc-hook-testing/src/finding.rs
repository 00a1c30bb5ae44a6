//! Findings about a hook: rule, message, advice and position of each.

use htc_base::text::{Span, words};
use htc_lint::config::PrintedMistake;

words! {
    /// Rule that a finding is about. The words are stable, so that scripts can compare them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Rule.word {
        /// A line of output is not an attribute.
        BadLine => "bad-line",
        /// A string continues on the next line of the output.
        NewlineInString => "newline-in-string",
        /// Text follows a complete value.
        TextAfterValue => "text-after-value",
        /// The name of an attribute is not valid in any queue.
        BadName => "bad-name",
        /// The queue refuses an attribute, and therefore the whole output.
        RefusedAttribute => "refused-attribute",
        /// A second job follows an empty line, although one call hands out one job.
        SecondJob => "second-job",
        /// An attribute is printed twice with different values.
        PrintedTwice => "printed-twice",
        /// An attribute, or the output as a whole, has no effect for this caller.
        IgnoredOutput => "ignored-output",
        /// The hook sets an attribute that the caller read before the hook ran.
        TooLate => "too-late",
        /// Lines end with carriage returns.
        CarriageReturns => "carriage-returns",
        /// The last line of a cron job has no newline.
        LastLine => "last-line",
        /// The output contains a NUL byte.
        NulByte => "nul-byte",
        /// The output is longer than the caller reads.
        OutputCut => "output-cut",
        /// The hook has not read all of its input.
        InputNotRead => "input-not-read",
        /// The hook left processes behind.
        LeftBehind => "left-behind",
        /// The hook sends a signal to its caller, or to its process group, which includes its caller.
        SignalsCaller => "signals-caller",
        /// The hook depends on a signal that the daemons of 25.14 block in their hooks.
        BlockedSignal => "blocked-signal",
        /// The hook ran longer than the caller waits.
        RanTooLong => "ran-too-long",
        /// The caller ignores the exit status of the hook.
        StatusIgnored => "status-ignored",
        /// The exit status makes the caller ignore the output.
        AnswerDiscarded => "answer-discarded",
        /// `HookStatusCode` is ignored or has an unexpected effect.
        StatusCode => "status-code",
        /// The interpreter in the first line of the hook does not exist.
        MissingInterpreter => "missing-interpreter",
        /// The caller refuses the path of the hook, or the file at the path cannot be executed.
        BadPath => "bad-path",
        /// A variable that the hook uses is not set, because the caller does not pass it.
        MissingVariable => "missing-variable",
        /// A command that the hook uses is not found.
        MissingCommand => "missing-command",
        /// The hook needs an attribute that the job ad lacks or spells differently.
        MissingAttribute => "missing-attribute",
        /// An uncaught exception ended the hook.
        Exception => "exception",
        /// The hook replaces an expression of the job by its value.
        FrozenExpression => "frozen-expression",
        /// A word or path that should be a string has no double quotes.
        UnquotedString => "unquoted-string",
        /// A value has the syntax of another language, such as None of Python.
        ForeignLiteral => "foreign-literal",
        /// A value has a different type than the readers of the attribute expect.
        WrongType => "wrong-type",
        /// A value is always an error.
        AlwaysError => "always-error",
        /// A value refers to an attribute that the ad does not have.
        UnknownAttribute => "unknown-attribute",
        /// A fetched job lacks attributes that every job needs.
        IncompleteJob => "incomplete-job",
        /// HTCondor 25.14 never calls this hook.
        NeverCalled => "never-called",
        /// The output requests something that the starter of this project does not support.
        UnsupportedHere => "not-done-here",
        /// A second call with the same input gives a different output.
        Varies => "varies",
        /// The output depends on the working directory.
        DependsOnDirectory => "depends-on-directory",
        /// The output depends on HOME.
        DependsOnHome => "depends-on-home",
        /// The output depends on the environment of the user's shell.
        DependsOnEnvironment => "depends-on-environment",
    }
}

impl Rule {
    /// Returns true if the finding is a note. All other findings can affect jobs.
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

/// Finding about a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Rule that the finding is about.
    pub rule: Rule,
    /// Description of the problem.
    pub message: String,
    /// Advice on how to fix the problem.
    pub advice: String,
    /// Position of the problem in the output, or `None` if it has none.
    pub place: Option<Span>,
}

impl From<PrintedMistake> for Rule {
    fn from(mistake: PrintedMistake) -> Self {
        match mistake {
            PrintedMistake::UnquotedString => Rule::UnquotedString,
            PrintedMistake::ForeignLiteral => Rule::ForeignLiteral,
            PrintedMistake::WrongType => Rule::WrongType,
            PrintedMistake::AlwaysError => Rule::AlwaysError,
            PrintedMistake::UnknownAttribute => Rule::UnknownAttribute,
        }
    }
}

impl Finding {
    /// Creates a finding that has no position in the output.
    pub fn new(rule: Rule, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Finding { rule, message: message.into(), advice: advice.into(), place: None }
    }

    pub(super) fn with_place(mut self, place: Span) -> Self {
        self.place = Some(place);
        self
    }
}
