//! Errors while a configuration is read.

use std::fmt;

use bstr::{BString, ByteSlice};

use crate::macro_definition::SourceId;
use htc_base::text::Span;
use htc_base::text::caret::LineCaret;

/// Place of an error in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLocation {
    /// Id of the source.
    pub source: SourceId,
    /// Name of the source.
    pub name: BString,
    /// The physical line, from 1.
    pub line: u32,
    /// The text of that line.
    pub text: BString,
    /// Range of the error in that line.
    pub span: Span,
    /// The files that include the source, each with the line of the include, innermost first.
    pub included_from: Vec<(BString, u32)>,
}

/// The reason why a configuration could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// All lines that the reference would write to stderr, including warnings before the error.
    pub lines: Vec<BString>,
    /// Number of warnings at the beginning of `lines`.
    pub warnings: usize,
    /// Place of the error, if it is in a source.
    pub place: Option<Box<ErrorLocation>>,
    /// Hint how to correct the error.
    pub hint: Option<String>,
    /// The reference's exit status, usually 1.
    pub status: u8,
    /// True if no configuration is named and the default places have no configuration.
    pub is_config_missing: bool,
    /// True if a source ends while an `if` is open.
    pub is_endif_missing: bool,
}

impl ConfigError {
    /// Returns the reference's output on stderr, including warnings.
    pub fn reference_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for line in &self.lines {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text
    }

    /// Returns the line of the error with a caret below it, the files that include its source, and the hint; empty
    /// if the error has neither a place nor a hint.
    pub fn explanation(&self) -> String {
        let mut text = String::new();
        if let Some(place) = &self.place {
            let name = place.name.to_str_lossy();
            let caret =
                LineCaret { source: &name, line: place.line, text: &place.text, span: place.span, cut: 0 };
            let shown = caret.render("here");
            text.push_str(&shown);
            for (file, line) in &place.included_from {
                text.push_str(&format!("\n    included from {file}:{line}"));
            }
        }
        if let Some(hint) = &self.hint {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str("hint: ");
            text.push_str(hint);
        }
        text
    }
}

/// Prints the reference's message, then the place and the hint.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for line in self.lines.iter().skip(self.warnings) {
            if !first {
                writeln!(f)?;
            }
            first = false;
            fmt::Display::fmt(line, f)?;
        }
        let more = self.explanation();
        if !more.is_empty() {
            write!(f, "\n{more}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
