//! What goes wrong, as it is told: `tool: context: cause`, the source line with a caret, a hint.

use std::error::Error;
use std::fmt;
use std::io;

use super::Status;
use super::color::Painter;
use crate::classad::stream::AdError;
use crate::config::{ConfigError, ValueError};
use crate::text::caret::{Caret, LineCaret};
use crate::text::control_characters::mask_terminal_controls;

/// A failure with its exit status and, where there is text, the place in it. Wrap it in `anyhow` contexts freely: the
/// status and the excerpt are found in the chain.
#[derive(Debug)]
pub struct Problem {
    status: Status,
    message: String,
    excerpt: Option<String>,
    hints: Vec<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Problem {
    /// A failure that ends the program with `status`. The message is in lower case, without a final stop.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Problem { status, message: message.into(), excerpt: None, hints: Vec::new(), source: None }
    }

    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Status::Usage, message)
    }

    /// Input or configuration that cannot be read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::new(Status::Unreadable, message)
    }

    /// A file, or what is called so, that cannot be read.
    pub(crate) fn cannot_read(name: impl fmt::Display) -> Self {
        Self::unreadable(format!("cannot read '{name}'"))
    }

    /// A parameter whose value is not what it has to be.
    pub(crate) fn from_value_error(error: ValueError) -> Self {
        Self::unreadable(error.user_message())
    }

    /// A configuration that cannot be read; where there is none at all, what to do about it.
    pub(crate) fn from_config_error(error: ConfigError) -> Self {
        Self::from_missing_config(&error)
            .unwrap_or_else(|| Self::unreadable("cannot read the configuration").caused_by(error))
    }

    /// That there is no configuration at all, and what to do about it, where that is the error.
    pub(crate) fn from_missing_config(error: &ConfigError) -> Option<Self> {
        is_missing_config(error).then(|| {
            Self::unreadable(
                "there is no configuration: CONDOR_CONFIG is not set, and /etc/condor/, /usr/local/etc/ and ~condor/ have no \
                 condor_config",
            )
            .hint("--config-file FILE names one; CONDOR_CONFIG=ONLY_ENV does without")
        })
    }

    /// The place of the mistake: `file:line:column: ` goes in front, the line and a caret below.
    pub fn at(self, caret: &Caret<'_>) -> Self {
        self.at_line(&caret.line())
    }

    /// The same for a line whose file is not at hand.
    pub fn at_line(mut self, caret: &LineCaret<'_>) -> Self {
        let rendered = caret.render(&self.message);
        let (message, excerpt) = rendered.split_once('\n').unwrap_or((&rendered, ""));
        self.excerpt = Some(excerpt.to_owned());
        self.message = message.to_owned();
        self
    }

    /// What to do about it; printed as `hint: ...`.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// As [`Problem::hint`], where there is something to do.
    pub fn maybe_hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hints.extend(hint.map(Into::into));
        self
    }

    /// The cause, printed behind the message.
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The exit status.
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

/// Whether no file was named and none found where the reference looks (`process_config_source`, condor_config.cpp).
pub(crate) fn is_missing_config(error: &ConfigError) -> bool {
    error.lines.iter().any(|line| line.starts_with(b"Neither the environment"))
}

/// Whether somebody closed the pipe we wrote to: a reader such as `head` that had enough.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Names standard output in an error that stands alone and can only be its: nobody else is told without a name.
pub(crate) fn name_stdout(error: anyhow::Error) -> anyhow::Error {
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

/// The status of a failure: that of the first [`Problem`] in its chain, else "the program itself failed".
pub(crate) fn exit_status_of(error: &anyhow::Error) -> Status {
    find_problem(error).map_or(Status::Failed, Problem::status)
}

fn find_problem(error: &anyhow::Error) -> Option<&Problem> {
    // A problem may be the context of another error, which only the error itself can tell.
    error.downcast_ref().or_else(|| error.chain().find_map(|cause| cause.downcast_ref()))
}

/// The whole message of a failure, with newlines.
pub(crate) fn render_error(tool: &str, error: &anyhow::Error, painter: Painter) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some libraries print their cause in their own text as well.
        if !causes.iter().any(|before| before.ends_with(&cause)) {
            causes.push(cause);
        }
    }
    // What a file or a hook says may hold anything, also what a terminal would obey.
    let told = mask_terminal_controls(&causes.join(": "));
    let mut text = format!("{}: {told}\n", painter.bold(tool));
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

/// Returns the message about an ad that cannot be read, with its place in the input `name`.
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
    fn a_cause_is_told_once() {
        let inner = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error =
            anyhow::Error::new(inner).context("a.ad: no such file").context(Problem::unreadable("oh"));
        assert_eq!(render_error("t", &error, Painter::plain()), "t: oh: a.ad: no such file\n");
        assert_eq!(exit_status_of(&anyhow::anyhow!("x")), Status::Failed);
    }

    #[test]
    fn a_closed_pipe_is_recognised_through_contexts() {
        let error = anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe)).context("writing");
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow::anyhow!("broken pipe")));
    }
}
