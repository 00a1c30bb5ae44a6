//! What happened while a transform was applied: for traces, messages and differences.

use bstr::{BString, ByteSlice};

use super::command::CommandKeyword;
use super::rules_text::RuleLine;
use super::statement::is_reported_as_syntax_error;
use super::{CommandSyntaxError, IncludeError};
use htc_base::text::{Span, words};
use htc_classad::Expr;

/// Is told what a transform does, in the order in which it does it.
pub trait Observer {
    /// Whether it wants to hear of every statement; otherwise only of problems.
    fn wants_steps(&self) -> bool;

    /// Whether it wants to know why an expression on this line is undefined, which takes time to find out.
    fn wants_undefined_reason(&self, line: &RuleLine) -> bool {
        let _ = line;
        self.wants_steps()
    }

    /// Something happened on a line.
    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>);
}

/// An observer that wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentObserver;

impl Observer for SilentObserver {
    fn wants_steps(&self) -> bool {
        false
    }

    fn on_event(&mut self, _: &RuleLine, _: TransformEvent<'_>) {}
}

/// What happened.
#[derive(Debug)]
pub enum TransformEvent<'a> {
    /// A command was reached and its text expanded. For patterns: once for each attribute that matched.
    Command {
        /// Which.
        keyword: CommandKeyword,
        /// The attribute or macro it works on.
        attribute: &'a [u8],
        /// Its text after macro expansion; for COPY and RENAME the new name.
        text: &'a [u8],
    },
    /// EVALSET or EVALMACRO has its result.
    Evaluated {
        /// Which.
        keyword: CommandKeyword,
        /// The attribute or macro.
        attribute: &'a [u8],
        /// The result as it prints.
        text: &'a [u8],
    },
    /// An attribute got another value, came or went.
    Changed {
        /// Its name.
        attribute: &'a [u8],
        /// The value before.
        old: Option<&'a Expr>,
        /// The value now.
        new: Option<&'a Expr>,
    },
    /// A command that did nothing, with nothing wrong.
    NoEffect(NoEffectReason),
    /// A macro was given a value.
    Assigned {
        /// Its name.
        name: &'a [u8],
        /// The value, unexpanded.
        value: &'a [u8],
    },
    /// A line of the `if` family: whether what follows is executed.
    Condition {
        /// Whether it is.
        enabled: bool,
    },
    /// A line that a condition switched off.
    Skipped,
    /// An `include` of that name gave a text without a line.
    EmptyInclude(&'a [u8]),
    /// `warning : text`, which the reference swallows.
    Warning(&'a [u8]),
    /// Something is wrong, but the transform goes on.
    Problem(TransformProblem),
}

words! {
    /// Why a command did nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NoEffectReason.text {
        /// DEFAULT: the attribute is there.
        Present => "has a value already",
        /// COPY, RENAME, DELETE: the attribute is not there.
        Absent => "no such attribute",
        /// No attribute matches the pattern.
        NoMatch => "no attribute matches",
    }
}

impl NoEffectReason {}

/// Something wrong that does not stop a transform, in 25.14 one line on stderr or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformProblem {
    /// What.
    pub kind: ProblemKind,
    /// The text after macro expansion that `at` points into.
    pub text: BString,
    /// The place within `text`.
    pub at: Span,
    /// The place within the line, where no macro stands before it.
    pub in_line: Option<(usize, usize)>,
}

/// The kinds of [`TransformProblem`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemKind {
    /// SET, DEFAULT: the expression does not parse.
    #[error("{} {attribute}: invalid expression: {reason}", keyword.name())]
    Expression {
        /// Which command.
        keyword: CommandKeyword,
        /// The attribute, which keeps its state.
        attribute: BString,
        /// What is wrong.
        reason: String,
    },
    /// EVALSET, EVALMACRO: nothing could be evaluated.
    #[error("{} {attribute}: could not evaluate: {reason}", keyword.name())]
    Evaluate {
        /// Which command.
        keyword: CommandKeyword,
        /// The attribute or macro, which keeps its state.
        attribute: BString,
        /// What is wrong.
        reason: String,
    },
    /// The attribute has no name.
    #[error("{}: an attribute needs a name", .0.name())]
    NoName(CommandKeyword),
    /// COPY, RENAME: the new name is none.
    #[error("{} {attribute}: new name '{new}' is not valid, it must be a letter or _ followed by letters, digits and _", keyword.name())]
    NewName {
        /// Which command.
        keyword: CommandKeyword,
        /// The source.
        attribute: BString,
        /// The name that is none.
        new: BString,
    },
    /// The pattern does not compile; the statement is ignored.
    #[error("/{pattern}/: {reason}, the statement is ignored")]
    Pattern {
        /// The regular expression.
        pattern: BString,
        /// What is wrong, with PCRE2's number.
        reason: String,
        /// PCRE2's number.
        code: i32,
    },
    /// The regular expression was given up on an attribute's name, which counts as not matching.
    #[error(
        "/{pattern}/: the match limit of the regular expression was reached on {attribute} (PCRE2 {code}), which counts \
         as no match"
    )]
    MatchLimit {
        /// The regular expression.
        pattern: BString,
        /// The name it was tried on.
        attribute: BString,
        /// PCRE2's number.
        code: i32,
    },
    /// A `$FUNC()` complained.
    #[error("{0}")]
    Function(String),
    /// A command evaluated to `undefined` or `error`, which is stored.
    #[error("{} {attribute} is {value}: {reason}", keyword.name())]
    Undefined {
        /// Which command.
        keyword: CommandKeyword,
        /// The attribute or macro.
        attribute: BString,
        /// `undefined` or `error`.
        value: &'static str,
        /// Why, as far as it is known.
        reason: String,
    },
    /// The character behind an attribute's name, which 25.14 turns into a NUL byte of the name, was dropped.
    #[error(
        "'{character}' behind {attribute} dropped; 25.14 would make it part of the name, put a blank before it"
    )]
    Trailing {
        /// The attribute.
        attribute: BString,
        /// `,` or `=`.
        character: char,
    },
    /// DEFAULT replaced a value that is `undefined`, as the manual promises.
    #[error("{0} is undefined and gets a value; 25.14 would leave it as it is")]
    DefaultOfUndefined(BString),
}

impl ProblemKind {
    /// Whether the statement could not do what was asked. Without it a value was stored, though perhaps not the one that
    /// was meant.
    pub fn is_failure(&self) -> bool {
        !matches!(
            self,
            ProblemKind::Undefined { .. } | ProblemKind::Trailing { .. } | ProblemKind::DefaultOfUndefined(_)
        )
    }
}

/// A transform stopped half-way; what it did so far stays done.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct TransformFailure {
    /// Where.
    pub line: RuleLine,
    /// The place within the line.
    pub at: (usize, usize),
    /// Why.
    pub reason: FailureReason,
    /// Where an included text failed, or could not be had: the outermost `include`.
    pub inclusion: Option<Box<FailedInclude>>,
    /// Why an `include ifexist` before it was passed over, in the reference's words.
    pub(super) stale_reason: Option<Box<str>>,
}

/// An `include` in a transform that failed, as the reference tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedInclude {
    /// The file or command.
    pub file: BString,
    /// The line that was reached in it; 0 where it could not be read.
    pub line: u32,
    /// The line of the `include` itself, in the text that it stands in.
    pub statement: u32,
    /// In the reference's words, which may be none.
    pub reason: String,
}

/// Why a transform failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailureReason {
    /// The line is no command.
    #[error(transparent)]
    Command(#[from] super::CommandSyntaxError),
    /// A macro name with characters it may not have.
    #[error("'{}' is not a valid macro name, letters, digits, '_', '.' and '/' are", .0.as_bstr())]
    MacroName(BString),
    /// An `@=` value without end.
    #[error("the value that begins here has no end, a line '@{0}' is missing")]
    UnendedBlock(BString),
    /// The `if` family.
    #[error("{0}")]
    Condition(String),
    /// An `if` without `endif`.
    #[error("endif(s) not found before end-of-file")]
    UnclosedIf,
    /// `error : text`, expanded.
    #[error("{0}")]
    Error(BString),
    /// `use` does not work in transforms.
    #[error("'use' does not work in a transform, there are no templates for it")]
    Use {
        /// The category, expanded.
        category: BString,
        /// What follows the colon.
        value: BString,
    },
    /// An include that cannot be read.
    #[error(transparent)]
    Include(#[from] super::IncludeError),
    /// A macro expansion that does not end.
    #[error("{0}")]
    Expansion(String),
}

impl FailureReason {
    /// Whether texts include one another without end, which has a number of its own in the reference.
    pub fn is_too_deep(&self) -> bool {
        matches!(self, FailureReason::Include(super::IncludeError::TooDeep))
    }
}

impl TransformFailure {
    /// The failure at a range of a line.
    pub(super) fn new(line: &RuleLine, at: (usize, usize), reason: impl Into<FailureReason>) -> Self {
        TransformFailure {
            line: line.clone(),
            at,
            reason: reason.into(),
            inclusion: None,
            stale_reason: None,
        }
    }

    /// The failure as one of the `include` on `statement`, which has named `file`.
    pub(super) fn with_include(mut self, statement: &RuleLine, file: &[u8]) -> Self {
        let (line, reason) = match &self.inclusion {
            // The reference has told the reason of the inner one already.
            Some(inner) => (inner.statement, String::new()),
            None => {
                let line = match &self.reason {
                    // Noticed at the end of the text.
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

    /// What the reference says of it; of most failures nothing.
    pub fn reference_text(&self) -> String {
        if self.inclusion.is_some() {
            return String::new();
        }
        let text = match &self.reason {
            // With a line end that nobody takes off.
            FailureReason::Command(error @ CommandSyntaxError::UnknownKeyword(_)) => format!("{error}\n"),
            FailureReason::Command(
                error @ (CommandSyntaxError::OneArgument(_) | CommandSyntaxError::BadPattern),
            ) => error.to_string(),
            FailureReason::Command(_)
                if self.stale_reason.is_none() && is_reported_as_syntax_error(&self.line.text) =>
            {
                "invalid queue statement.".into()
            }
            FailureReason::Condition(text) => text.clone(),
            reason @ FailureReason::UnclosedIf => reason.to_string(),
            _ => String::new(),
        };
        match &self.stale_reason {
            Some(stale) if text.is_empty() => stale.to_string(),
            _ => text,
        }
    }

    /// The message that the reference leaves in its macro set, without an `Error "FILE", Line N` in front; `None` where it
    /// leaves none. An [`FailedInclude`] has one of its own.
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
                format!(": cannot parse: {}", self.line.text.get(self.at.0..).unwrap_or_default().as_bstr())
            }
            _ => return None,
        };
        Some(text.into())
    }
}
