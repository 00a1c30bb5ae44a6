//! Events of a run of a transform, for callers that trace, report or compare.

use bstr::{BString, ByteSlice};

use super::command::CommandKeyword;
use super::rules_text::RuleLine;
use super::statement::is_reported_as_syntax_error;
use super::{CommandSyntaxError, IncludeError};
use htc_base::quirks::Quirk;
use htc_base::text::{Span, words};
use htc_classad::Expr;
use htc_config::condition::IfError;

/// Observer of the actions of a transform, called in their order.
pub trait Observer {
    /// Returns true if the observer needs an event for every statement, or false if it needs only problems.
    fn wants_steps(&self) -> bool;

    /// Returns true if the observer needs the reason why an expression on this line is undefined, which is
    /// expensive to determine.
    fn wants_undefined_reason(&self, line: &RuleLine) -> bool {
        let _ = line;
        self.wants_steps()
    }

    /// Called for each event on a line.
    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>);
}

/// Observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentObserver;

impl Observer for SilentObserver {
    fn wants_steps(&self) -> bool {
        false
    }

    fn on_event(&mut self, _: &RuleLine, _: TransformEvent<'_>) {}
}

/// Event during a run of a transform.
#[derive(Debug)]
pub enum TransformEvent<'a> {
    /// A command was reached and its text was expanded. A command with a pattern has one event for each matching
    /// attribute.
    Command {
        /// Keyword of the command.
        keyword: CommandKeyword,
        /// Attribute or macro that the command changes.
        attribute: &'a [u8],
        /// Text after macro expansion; for COPY and RENAME, the new name.
        text: &'a [u8],
    },
    /// EVALSET or EVALMACRO evaluated its expression.
    Evaluated {
        /// Keyword of the command.
        keyword: CommandKeyword,
        /// Attribute or macro.
        attribute: &'a [u8],
        /// Text of the result.
        text: &'a [u8],
    },
    /// An attribute was changed, added or removed.
    Changed {
        /// Name of the attribute.
        attribute: &'a [u8],
        /// Previous value, or `None` if the attribute is new.
        old: Option<&'a Expr>,
        /// New value, or `None` if the attribute was removed.
        new: Option<&'a Expr>,
    },
    /// A command had no effect, which is not an error.
    NoEffect(NoEffectReason),
    /// A macro was assigned.
    Assigned {
        /// Name of the macro.
        name: &'a [u8],
        /// Value, unexpanded.
        value: &'a [u8],
    },
    /// A line of the `if` family was evaluated.
    Condition {
        /// True if the lines after this one are executed.
        enabled: bool,
    },
    /// A line was skipped because of a condition.
    Skipped,
    /// An `include` with this name returned a text without any lines.
    EmptyInclude(&'a [u8]),
    /// The statement `warning : text`, which the reference ignores.
    Warning(&'a [u8]),
    /// A problem occurred, but the transform continues.
    Problem(TransformProblem),
}

words! {
    /// Reason why a command had no effect.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NoEffectReason.text {
        /// DEFAULT: the attribute already has a value.
        Present => "already has a value",
        /// COPY, RENAME, DELETE: the attribute does not exist.
        Absent => "no such attribute",
        /// No attribute matches the pattern.
        NoMatch => "no attribute matches",
    }
}

impl NoEffectReason {}

/// Problem that does not stop a transform; 25.14 prints one line on stderr or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformProblem {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Text after macro expansion in which the problem occurred.
    pub text: BString,
    /// Position of the problem in `text`.
    pub at: Span,
    /// Position of the problem in the line, or `None` if macro expansion changed the text.
    pub in_line: Option<Span>,
}

/// Kind of a [`TransformProblem`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemKind {
    /// SET, DEFAULT: the expression does not parse.
    #[error("{} {attribute}: invalid expression: {reason}", keyword.name())]
    Expression {
        /// Keyword of the command.
        keyword: CommandKeyword,
        /// Attribute, which is unchanged.
        attribute: BString,
        /// Description of the error.
        reason: String,
    },
    /// EVALSET, EVALMACRO: the expression could not be evaluated.
    #[error("{} {attribute}: could not evaluate: {reason}", keyword.name())]
    Evaluate {
        /// Keyword of the command.
        keyword: CommandKeyword,
        /// Attribute or macro, which is unchanged.
        attribute: BString,
        /// Description of the error.
        reason: String,
    },
    /// The name of the attribute is empty.
    #[error("{}: an attribute needs a name", .0.name())]
    NoName(CommandKeyword),
    /// COPY, RENAME: the new name is not valid.
    #[error("{} {attribute}: new name '{new}' is not valid, it must be a letter or _ followed by letters, digits and _", keyword.name())]
    NewName {
        /// Keyword of the command.
        keyword: CommandKeyword,
        /// Attribute that is copied or renamed.
        attribute: BString,
        /// The invalid new name.
        new: BString,
    },
    /// The pattern does not compile; the statement is ignored.
    #[error("/{pattern}/: {reason}, the statement is ignored")]
    Pattern {
        /// Regular expression.
        pattern: BString,
        /// Description of the error.
        reason: String,
        /// Error number of PCRE2.
        code: i32,
    },
    /// The match of an attribute's name was aborted; the name is treated as not matching.
    #[error(
        "/{pattern}/: the match limit of the regular expression was reached on {attribute} (PCRE2 {code}); the name \
         is treated as not matching"
    )]
    MatchLimit {
        /// Regular expression.
        pattern: BString,
        /// Name of the attribute.
        attribute: BString,
        /// Error number of PCRE2.
        code: i32,
    },
    /// A `$FUNC()` in the text reported an error.
    #[error("{0}")]
    Function(String),
    /// An expression evaluated to `undefined` or `error`, and the command stored this value.
    #[error("{} {attribute} is {value}: {reason}", keyword.name())]
    Undefined {
        /// Keyword of the command.
        keyword: CommandKeyword,
        /// Attribute or macro.
        attribute: BString,
        /// `undefined` or `error`.
        value: &'static str,
        /// Reason why the value is `undefined` or `error`, as far as known.
        reason: String,
    },
    /// The character after an attribute's name was removed; in 25.14 it becomes a NUL byte that is part of the name.
    #[error(
        "the '{character}' after {attribute} is dropped; HTCondor 25.14 would make it part of the name; write a space before it"
    )]
    Trailing {
        /// Name of the attribute.
        attribute: BString,
        /// The removed character, `,` or `=`.
        character: char,
    },
    /// DEFAULT replaced the value `undefined`, as the manual says.
    #[error("{0} is undefined and gets the default; {description}", description = Quirk::DefaultKeepsUndefined.description())]
    DefaultOfUndefined(BString),
}

impl ProblemKind {
    /// Returns true if the statement could not be executed, or false if it stored a value that may not be the intended
    /// one.
    pub fn is_failure(&self) -> bool {
        !matches!(
            self,
            ProblemKind::Undefined { .. } | ProblemKind::Trailing { .. } | ProblemKind::DefaultOfUndefined(_)
        )
    }
}

/// Failure that stops a transform; the changes made so far remain.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct TransformFailure {
    /// Line of the failure.
    pub line: RuleLine,
    /// Position in the line.
    pub at: Span,
    /// Reason for the failure.
    pub reason: FailureReason,
    /// The outermost `include` whose text failed or could not be read, or `None` if no `include` was
    /// involved.
    pub inclusion: Option<Box<FailedInclude>>,
    /// Reason why an earlier `include ifexist` was skipped, in the reference's words; the reference reports it with
    /// this failure.
    pub(super) stale_reason: Option<Box<str>>,
}

/// Description of an `include` in a failed transform, as the reference reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedInclude {
    /// Included file or command.
    pub file: BString,
    /// Line of the failure in the included text; 0 if the text could not be read.
    pub line: u32,
    /// Line of the `include` statement in the text that contains it.
    pub statement: u32,
    /// Reason in the reference's words; may be empty.
    pub reason: String,
}

/// Reason why a transform failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailureReason {
    /// The line is not a valid command.
    #[error(transparent)]
    Command(#[from] super::CommandSyntaxError),
    /// A macro name contains an invalid character.
    #[error("'{}' is not a valid macro name; use letters, digits, '_', '.' and '/'", .0.as_bstr())]
    MacroName(BString),
    /// An `@=` value is not closed.
    #[error("the value that begins here has no end: a line '@{0}' is missing")]
    UnendedBlock(BString),
    /// A statement of the `if` family is invalid.
    #[error("{0}")]
    Condition(IfError),
    /// An `if` has no `endif`.
    #[error("endif(s) not found before end-of-file")]
    UnclosedIf,
    /// The statement `error : text`, expanded.
    #[error("{0}")]
    Error(BString),
    /// The text contains `use`, which does not work in transforms.
    #[error("'use' does not work in a transform: transforms have no templates")]
    Use {
        /// Category, expanded.
        category: BString,
        /// Text after the colon.
        value: BString,
    },
    /// An included text cannot be read.
    #[error(transparent)]
    Include(#[from] super::IncludeError),
    /// A macro expansion does not terminate.
    #[error("{0}")]
    Expansion(String),
    /// The text and the texts that it includes have too many statements. Contains the maximum number.
    #[error("too many statements: the limit is {0}, including those of included files")]
    TooManyStatements(usize),
}

impl FailureReason {
    /// Returns true if includes are nested too deeply, a failure for which the reference has a separate error number.
    pub fn is_too_deep(&self) -> bool {
        matches!(self, FailureReason::Include(super::IncludeError::TooDeep))
    }
}

impl TransformFailure {
    /// Creates a failure at a range of a line.
    pub(super) fn new(line: &RuleLine, at: Span, reason: impl Into<FailureReason>) -> Self {
        TransformFailure {
            line: line.clone(),
            at,
            reason: reason.into(),
            inclusion: None,
            stale_reason: None,
        }
    }

    /// Returns the failure as the failure of an `include` on line `statement`, which includes `file`.
    pub(super) fn with_include(mut self, statement: &RuleLine, file: &[u8]) -> Self {
        let (line, reason) = match &self.inclusion {
            // The reference has already reported the reason for the failure of the inner `include`.
            Some(inner) => (inner.statement, String::new()),
            None => {
                let line = match &self.reason {
                    // The reader detects the error at the end of the text.
                    FailureReason::UnendedBlock(_) | FailureReason::UnclosedIf => {
                        let lines = self.line.source.text.lines().count();
                        u32::try_from(lines).unwrap_or(u32::MAX)
                    }
                    _ => self.line.reference_number,
                };
                (line, self.reference_text())
            }
        };
        self.inclusion = Some(Box::new(FailedInclude {
            file: file.into(),
            line,
            statement: statement.reference_number,
            reason,
        }));
        self
    }

    /// Returns the reference's message for the failure; most failures have none and return an empty string.
    pub fn reference_text(&self) -> String {
        if self.inclusion.is_some() {
            return String::new();
        }
        let text = match &self.reason {
            // The reference ends the message with a newline.
            FailureReason::Command(error @ CommandSyntaxError::UnknownKeyword(_)) => format!("{error}\n"),
            FailureReason::Command(
                error @ (CommandSyntaxError::OneArgument(_) | CommandSyntaxError::BadPattern),
            ) => error.to_string(),
            FailureReason::Command(_)
                if self.stale_reason.is_none() && is_reported_as_syntax_error(&self.line.text) =>
            {
                "invalid queue statement.".into()
            }
            FailureReason::Condition(error) => error.to_string(),
            reason @ FailureReason::UnclosedIf => reason.to_string(),
            _ => String::new(),
        };
        match &self.stale_reason {
            Some(stale) if text.is_empty() => stale.to_string(),
            _ => text,
        }
    }

    /// Returns the message that the reference leaves in its macro set, without the leading `Error "FILE", Line N`, or
    /// `None` if it leaves no message. The reference has a separate message for a [`FailedInclude`].
    pub fn reference_message(&self) -> Option<BString> {
        let text = match &self.reason {
            FailureReason::Error(text) => format!(": {text}"),
            FailureReason::UnclosedIf => ": ".into(),
            FailureReason::MacroName(name) => format!(": Illegal Identifier: <{name}>"),
            FailureReason::Use { category, value } => format!(": at use {category}:{value}"),
            FailureReason::Include(IncludeError::Words { words, more }) => {
                format!(": unexpected keyword(s) '{words}' after include {more}")
            }
            FailureReason::Include(IncludeError::Destination(what)) => {
                format!(", destination for 'include into' {what}")
            }
            FailureReason::Command(_) if is_reported_as_syntax_error(&self.line.text) => {
                format!(
                    ": cannot parse: {}",
                    self.line.text.get(self.at.start as usize..).unwrap_or_default().as_bstr()
                )
            }
            _ => return None,
        };
        Some(text.into())
    }
}
