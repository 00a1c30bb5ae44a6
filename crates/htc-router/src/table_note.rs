//! Notes about routes that arise while the routes are read and executed, with the lines that the reference logs.

use bstr::{BString, ByteSlice};

use htc_transform::{FailureReason, TransformFailure};

/// Message about a route or about the route table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableNote {
    /// Log line of the reference, without the name of the daemon; may contain newlines.
    pub text: BString,
    /// Subject of the note.
    pub subject: NoteSubject,
}

/// Subject of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteSubject {
    /// Information about progress.
    Progress,
    /// Routing is disabled.
    Disabled,
    /// A route is refused: its name and the reason.
    RouteRefused(BString, RouteError),
    /// A name in the list has no route.
    RouteNotFound(BString),
    /// A warning.
    Warning,
    /// A parameter or macro has an invalid value, for which another value is used; the text describes the problem. The
    /// reference logs the problem as an error, regardless of the configured debug level.
    InvalidValue(String),
    /// A macro of a route has an invalid value, for which another value is used. The reference does not log it.
    InvalidMacro(InvalidMacro),
    /// A route of the grid universe has no GridResource. Its jobs fail unless a transform or the job itself sets
    /// GridResource.
    MissingGridResource,
    /// A line that the reference logs as an error; a separate note describes the problem.
    Error,
}

/// Macro of a route whose value is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMacro {
    /// Name of the macro.
    pub name: &'static str,
    /// Kind of the problem.
    pub problem: MacroProblem,
    /// Description of the problem and of the value that is used.
    pub text: String,
}

/// Problem with a macro's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacroProblem {
    /// The value is not a number.
    NotNumber,
    /// The value refers to TARGET, but the router evaluates it without TARGET.
    NamesTarget,
}

/// Reason for refusing a route.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The REQUIREMENTS do not parse. The text is the reference's.
    #[error("{0}")]
    InvalidRequirements(BString),
    /// A statement is not valid.
    #[error("{text}")]
    InvalidStatement {
        /// Description of the error.
        text: BString,
        /// The reference's message, which may be empty.
        reference: BString,
    },
    /// The route has no REQUIREMENTS and the configuration has no `JOB_ROUTER_SOURCE_JOB_CONSTRAINT`.
    #[error("Missing Requirements in job route.")]
    NoRequirements,
    /// The text has only one character; 25.14 ignores it without a message.
    #[error("the definition is too short to be a route")]
    TooShort,
}

/// Returns a callback that reports an invalid value with its description and log line.
pub(super) fn invalid_value_reporter(
    log: &mut dyn FnMut(NoteSubject, BString),
) -> impl FnMut(String, String) {
    move |text, line| log(NoteSubject::InvalidValue(text), line.into())
}

/// Returns the text of a function's message without the position in the reference's source code.
pub fn function_message_text(line: &str) -> &str {
    line.strip_prefix("ERROR \"").and_then(|text| text.rsplit_once('"')).map_or(line, |(text, _)| text)
}

/// Returns the line that the reference logs for an included text that has no lines.
pub fn empty_include_line(name: &[u8]) -> BString {
    [b"WARNING: Submit file is empty: ", name, b"\n"].concat().into()
}

/// Returns the line that the reference's configuration reader logs as an error for an invalid line of the
/// `if` family, or `None` for other failures.
pub fn condition_error_line(failure: &TransformFailure) -> Option<BString> {
    let FailureReason::Condition(error) = &failure.reason else { return None };
    let line = failure.line.text.get(failure.at.start as usize..).unwrap_or_default().trim();
    Some(format!("Parse_config if error: '{error}' line: {}\n", line.as_bstr()).into())
}
