//! What is noticed while routes are read and carried out, and the lines that the reference logs of it.

use bstr::{BString, ByteSlice};

use htc_transform::{FailureReason, TransformFailure};

/// Something that was noticed while the table was made.
#[derive(Clone, Debug, PartialEq)]
pub struct TableNote {
    /// The reference's own line, without the daemon's name in front; may hold line ends.
    pub text: BString,
    /// What it is about.
    pub subject: NoteSubject,
}

/// What a note is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteSubject {
    /// The state of things.
    Progress,
    /// Routing does not take place.
    Disabled,
    /// A route is left out: its name and why.
    RouteRefused(BString, RouteError),
    /// A name of the list has no route.
    RouteNotFound(BString),
    /// Something to be looked at.
    Warning,
    /// The value of a parameter or macro is not what it should be, and another is taken: in words. The reference logs it as an
    /// error, whatever is to be logged.
    InvalidValue(String),
    /// A line that the reference logs as an error, and that another note puts in words.
    Error,
}

/// Why a route is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Its REQUIREMENTS do not parse. The text is the reference's.
    #[error("{0}")]
    InvalidRequirements(BString),
    /// A statement is none.
    #[error("{text}")]
    InvalidStatement {
        /// In words.
        text: BString,
        /// In the reference's words, which may be none.
        reference: BString,
    },
    /// It has no REQUIREMENTS and the configuration has no `JOB_ROUTER_SOURCE_JOB_CONSTRAINT`.
    #[error("Missing Requirements in job route.")]
    NoRequirements,
    /// A text of one character is passed over in silence.
    #[error("the definition is too short to be a route")]
    TooShort,
}

/// Who is told that a value is not what it should be, in words and as a log line.
pub(super) fn invalid_value_reporter(
    say: &mut dyn FnMut(NoteSubject, BString),
) -> impl FnMut(String, String) {
    move |text, line| say(NoteSubject::InvalidValue(text), line.into())
}

/// What a function's message says, without the place in the reference's own source.
pub fn function_message_text(line: &str) -> &str {
    line.strip_prefix("ERROR \"").and_then(|text| text.rsplit_once('"')).map_or(line, |(text, _)| text)
}

/// The line that the reference logs of a text without a line.
pub fn empty_include_line(name: &[u8]) -> BString {
    [b"WARNING: Submit file is empty: ", name, b"\n"].concat().into()
}

/// The line that the reference's configuration reader logs, as an error, of a bad line of the `if` family.
pub fn condition_error_line(failure: &TransformFailure) -> Option<BString> {
    let FailureReason::Condition(text) = &failure.reason else { return None };
    let line = failure.line.text.get(failure.at.0..).unwrap_or_default().trim();
    Some(format!("Parse_config if error: '{text}' line: {}\n", line.as_bstr()).into())
}
