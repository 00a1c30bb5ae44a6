//! Name and settings of a running program, and its messages on standard error.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::color::Painter;
use super::{Status, problem};
use crate::classad::Dialect;
use crate::classad::stream::{AdForm, AdReader};
use crate::quirks::{Quirk, QuirkMode};
use crate::text::control_characters::mask_terminal_controls;
use crate::text::plural::counted;

/// Name and settings of a running program.
#[derive(Clone, Debug)]
pub struct ProgramContext {
    name: String,
    painter: Painter,
    /// Messages kept for later, or `None` if they are printed immediately.
    kept_messages: Option<Arc<Mutex<String>>>,
    /// Dialect in which ads from users or a queue log are read.
    dialect: Dialect,
    /// Format of ads (`--from`), or `None` if it is detected.
    form: Option<AdForm>,
    /// True if reading ends at the first damaged record (`--strict-input`).
    is_strict: bool,
    /// Selection of quirks for reading ads.
    quirks: QuirkMode,
    /// True if a part of an ad could not be read. All contexts of the program share this flag.
    has_unreadable_ads: Arc<AtomicBool>,
}

impl ProgramContext {
    /// Creates the context of a program with this name and painter.
    pub(super) fn new(name: &str, painter: Painter) -> Self {
        ProgramContext {
            name: name.to_owned(),
            painter,
            kept_messages: None,
            dialect: Dialect::new_syntax(),
            form: None,
            is_strict: false,
            quirks: QuirkMode::Manual,
            has_unreadable_ads: Arc::default(),
        }
    }

    pub(super) fn painter(&self) -> Painter {
        self.painter
    }

    /// Returns the name with which messages begin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the context with another dialect for reading ads, which a configuration may set.
    pub(crate) fn with_dialect(&self, dialect: Dialect) -> ProgramContext {
        ProgramContext { dialect, ..self.clone() }
    }

    /// Returns the dialect in which ads are read.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the context with the format of the ads to read, and the quirks that apply to them. If `is_strict` is true, reading
    /// ends at the first damaged record.
    pub(crate) fn with_input(
        &self,
        form: Option<AdForm>,
        is_strict: bool,
        quirks: QuirkMode,
    ) -> ProgramContext {
        ProgramContext { form, is_strict, quirks, ..self.clone() }
    }

    /// Returns true if reading ends at the first damaged record (`--strict-input`).
    pub(crate) fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Returns the format of the ads that are read, or `None` if it is detected.
    pub(crate) fn input_form(&self) -> Option<AdForm> {
        self.form
    }

    /// Returns a reader of ads with the settings of the command line.
    pub(crate) fn ad_reader<R: Read>(&self, read: R) -> AdReader<R> {
        let is_reference = self.quirks.reproduces(Quirk::JsonEscapes);
        AdReader::new(read, self.form).dialect(self.dialect).reference_json(is_reference)
    }

    /// Records that a part of an ad could not be read.
    pub(crate) fn record_unreadable_ad(&self) {
        self.has_unreadable_ads.store(true, Ordering::Relaxed);
    }

    /// Returns the exit status of a program whose answer is `answer`. If ads could be read only in part, the status
    /// differs from that of the same answer from complete ads.
    pub(super) fn status_of_answer(&self, answer: Status) -> Status {
        match answer {
            Status::Done | Status::No | Status::Undefined | Status::ErrorValue
                if self.has_unreadable_ads.load(Ordering::Relaxed) =>
            {
                Status::Unreadable
            }
            answer => answer,
        }
    }

    /// Returns a context that keeps messages until [`ProgramContext::take_messages`] is called.
    pub(crate) fn with_kept_messages(&self) -> ProgramContext {
        ProgramContext { kept_messages: Some(Arc::default()), ..self.clone() }
    }

    /// Returns the kept messages, and removes them from the context.
    pub(crate) fn take_messages(&self) -> String {
        let kept =
            self.kept_messages.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }

    /// Prints a warning on standard error.
    pub fn warn(&self, message: &str) {
        let text = format!(
            "{}: {} {}\n",
            self.name,
            self.painter.warn("warning:"),
            mask_terminal_controls(&shorten_message(message))
        );
        self.write_stderr(&text);
    }

    /// Prints an error on standard error without ending the program.
    pub fn report(&self, error: &anyhow::Error) {
        self.write_stderr(&problem::render_error(&self.name, error, self.painter));
    }

    /// Prints a line on standard error, preceded by the name of the program.
    pub(crate) fn write_line(&self, line: &str) {
        self.write_stderr(&format!("{}: {line}\n", self.name));
    }

    /// Writes a text to standard error unchanged. If the write fails, nothing can be reported.
    pub fn write_stderr(&self, text: &str) {
        if let Some(kept) = &self.kept_messages {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            return;
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Shortens the lines of a message to fit a terminal. The middle of a very long line, for example one with a quoted
/// value, is omitted. Output of condor tools is never shortened.
pub fn shorten_message(message: &str) -> Cow<'_, str> {
    const MAX_LINE_LENGTH: usize = 2000;
    const HEAD_LENGTH: usize = 600;
    const TAIL_LENGTH: usize = 200;
    if message.lines().all(|line| line.len() <= MAX_LINE_LENGTH) {
        return Cow::Borrowed(message);
    }
    let shortened = |line: &str| {
        if line.len() <= MAX_LINE_LENGTH {
            return line.to_owned();
        }
        let boundary =
            |at: usize| (at..line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(line.len());
        let (head, tail) = (boundary(HEAD_LENGTH), boundary(line.len() - TAIL_LENGTH));
        format!("{} ... ({}) ... {}", &line[..head], counted(tail - head, "more byte"), &line[tail..])
    };
    Cow::Owned(message.lines().map(shortened).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::shorten_message;

    #[test]
    fn long_lines_of_messages_are_shortened_in_the_middle() {
        assert_eq!(shorten_message("a\nb"), "a\nb");
        let long = format!("first\n{}end", "ü".repeat(100_000));
        let shown = shorten_message(&long);
        assert!(shown.len() < 1000, "{}", shown.len());
        assert!(shown.starts_with("first\nüü") && shown.ends_with("üend"));
        assert!(shown.contains("... (199204 more bytes) ..."), "{shown}");
    }
}
