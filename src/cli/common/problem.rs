//! Errors as they are printed: `tool: context: cause`, the source line with a caret, and a hint.

use std::error::Error;
use std::fmt;
use std::io;

use super::Status;
use super::color::Painter;
use crate::classad::stream::AdError;
use crate::config::{ConfigError, ValueError};
use crate::text::caret::{Caret, LineCaret};
use crate::text::control_characters::mask_terminal_controls;

/// Error with an exit status and, if the error is in a text, its location. The error may be wrapped in `anyhow`
/// contexts; status and excerpt are then found in the chain of causes.
#[derive(Debug)]
pub struct Problem {
    status: Status,
    message: String,
    excerpt: Option<String>,
    hints: Vec<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Problem {
    /// Creates an error that ends the program with `status`. The message must start in lower case and have no final full stop.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Problem { status, message: message.into(), excerpt: None, hints: Vec::new(), source: None }
    }

    /// Creates an error for an invalid command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Status::Usage, message)
    }

    /// Creates an error for input or configuration that cannot be read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::new(Status::Unreadable, message)
    }

    /// Creates an error for a file or another named input that cannot be read.
    pub(crate) fn cannot_read(name: impl fmt::Display) -> Self {
        Self::unreadable(format!("cannot read '{name}'"))
    }

    /// Creates an error for a parameter with an invalid value.
    pub(crate) fn from_value_error(error: ValueError) -> Self {
        Self::unreadable(error.user_message())
    }

    /// Creates an error for a configuration that cannot be read, with a hint if no configuration was found.
    pub(crate) fn from_config_error(error: ConfigError) -> Self {
        Self::from_missing_config(&error)
            .unwrap_or_else(|| Self::unreadable("cannot read the configuration").caused_by(error))
    }

    /// Creates an error with a hint if no configuration was found; otherwise returns `None`.
    pub(crate) fn from_missing_config(error: &ConfigError) -> Option<Self> {
        error.is_config_missing.then(|| {
            Self::unreadable(
                "there is no configuration: CONDOR_CONFIG is not set, and /etc/condor/, /usr/local/etc/ and ~condor/ have no \
                 condor_config",
            )
            .hint("--config-file FILE names one; with CONDOR_CONFIG=ONLY_ENV no file is needed")
        })
    }

    /// Adds the location of the error: `file:line:column: ` before the message, and the line with a caret after it.
    pub fn at(self, caret: &Caret<'_>) -> Self {
        self.at_line(&caret.line())
    }

    /// Adds the location of the error in a line whose file is not available.
    pub fn at_line(mut self, caret: &LineCaret<'_>) -> Self {
        let rendered = caret.render(&self.message);
        let (message, excerpt) = rendered.split_once('\n').unwrap_or((&rendered, ""));
        self.excerpt = Some(excerpt.to_owned());
        self.message = message.to_owned();
        self
    }

    /// Adds a hint on how to fix the error, which is printed as `hint: ...`.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint on how to fix the error, unless it is `None`.
    pub fn maybe_hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hints.extend(hint.map(Into::into));
        self
    }

    /// Sets the cause of the error, which is printed after the message.
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the exit status.
    pub fn status(&self) -> Status {
        self.status
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

/// Returns true if a write failed because the reader of the pipe, such as `head`, has closed it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Adds the name of standard output to an error without context. Only write errors of standard output have no context;
/// all others name their source.
pub(crate) fn add_stdout_context(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::InvalidInput) if crate::os::stdout_was_closed() => {
            anyhow::anyhow!("cannot write to standard output: it is closed")
        }
        Some(io::ErrorKind::StorageFull) if error.chain().count() == 1 => {
            error.context("cannot write to standard output")
        }
        _ => error,
    }
}

/// Returns the exit status of an error: the status of the first [`Problem`] in its chain, or else that of a failure of the
/// program itself.
pub(crate) fn exit_status_of(error: &anyhow::Error) -> Status {
    find_problem(error).map_or(Status::Failed, Problem::status)
}

fn find_problem(error: &anyhow::Error) -> Option<&Problem> {
    // A `Problem` that is the context of another error is found by `downcast_ref` of the error, but not in its chain.
    error.downcast_ref().or_else(|| error.chain().find_map(|cause| cause.downcast_ref()))
}

/// Returns the complete message of an error, including newlines.
pub(crate) fn render_error(tool: &str, error: &anyhow::Error, painter: Painter) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some libraries repeat the cause of an error in its own text.
        if !causes.iter().any(|before| before.ends_with(&cause)) {
            causes.push(cause);
        }
    }
    // Text from a file or hook may contain control sequences, which must not reach a terminal.
    let message = mask_terminal_controls(&causes.join(": "));
    let mut text = format!("{}: {message}\n", painter.bold(tool));
    if let Some(problem) = find_problem(error) {
        if let Some(excerpt) = &problem.excerpt {
            let (line, marks) = excerpt.split_once('\n').unwrap_or((excerpt, ""));
            text.push_str(&format!("{line}\n{}\n", painter.bad(marks)));
        }
        for hint in &problem.hints {
            text.push_str(&format!("{} {}\n", painter.bold("hint:"), mask_terminal_controls(hint)));
        }
    }
    text
}

/// Returns the message about an ad that cannot be read, with its location in the input `name`.
pub(crate) fn malformed_ad_problem(error: &AdError, name: &str) -> Problem {
    let problem = Problem::unreadable(error.message.clone()).at_line(&error.caret(name));
    problem.maybe_hint(error.help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Span;

    #[test]
    fn status_excerpt_and_hint_are_found_below_contexts() {
        let caret = Caret { source: "a.conf", text: b"START = (\n", span: Span::new(9, 9) };
        let problem = Problem::unreadable("expected an operand").at(&caret).hint("close it");
        let error = anyhow::Error::new(problem).context("reading the configuration");
        assert_eq!(exit_status_of(&error), Status::Unreadable);
        assert_eq!(
            render_error("htc-x", &error, Painter::plain()),
            "htc-x: reading the configuration: a.conf:1:10: expected an operand\n    START = (\n             ^\nhint: close it\n"
        );
    }

    #[test]
    fn a_problem_is_found_as_the_context_of_another_error() {
        let inner = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error = anyhow::Error::new(inner).context(Problem::unreadable("cannot read 'a'").hint("look"));
        assert_eq!(exit_status_of(&error), Status::Unreadable);
        assert_eq!(
            render_error("t", &error, Painter::plain()),
            "t: cannot read 'a': no such file\nhint: look\n"
        );
    }

    #[test]
    fn a_cause_is_printed_once() {
        let inner = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error =
            anyhow::Error::new(inner).context("a.ad: no such file").context(Problem::unreadable("oh"));
        assert_eq!(render_error("t", &error, Painter::plain()), "t: oh: a.ad: no such file\n");
        assert_eq!(exit_status_of(&anyhow::anyhow!("x")), Status::Failed);
    }

    #[test]
    fn a_closed_pipe_is_recognized_through_contexts() {
        let error = anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe)).context("writing");
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow::anyhow!("broken pipe")));
    }
}
