//! State while one source is read, and places in it.

use crate::condition::IfStack;
use crate::config_error::ErrorLocation;
use crate::expand::ExpandError;
use crate::lines::LogicalLine;
use crate::loader::{LoadFailure, Loader};
use crate::macro_definition::{DefinitionPlace, SourceId};
use crate::parse::open_conditions::OpenConditions;
use bstr::BString;
use htc_base::text::Span;

/// State while one source is read.
pub(super) struct SourceFrame<'t> {
    pub(super) source: SourceId,
    pub(super) text: &'t [u8],
    pub(super) depth: u32,
    pub(super) ifs: IfStack,
    /// The open `if`s, for messages.
    pub(super) conditions: OpenConditions,
    /// Tag that ends the block `NAME @=TAG` in a branch that is not taken.
    pub(super) skipped_block: Option<BString>,
    pub(super) strict: bool,
    pub(super) warn_colon: bool,
}

impl SourceFrame<'_> {
    pub(super) fn place(&self, line: u32, offset: u32) -> DefinitionPlace {
        DefinitionPlace { source: self.source, line: Some(line), template: None, offset }
    }

    /// Adds an `if`; `text` is that of its line.
    pub(super) fn open_condition(&mut self, line: &LogicalLine<'_>, text: &[u8]) {
        let opened_at = line.locate(0, line.text.len());
        let indentation = self.indentation(opened_at);
        self.conditions.open((text, line.line), opened_at, indentation);
    }

    /// Removes the innermost `if` at an `endif`.
    pub(super) fn close_condition(&mut self, line: &LogicalLine<'_>) {
        let indentation = self.indentation(line.locate(0, 0));
        self.conditions.close(indentation);
    }

    /// Returns the number of characters before a place in its line.
    fn indentation(&self, place: Span) -> usize {
        let start = (place.start as usize).min(self.text.len());
        start - memchr::memrchr(b'\n', &self.text[..start]).map_or(0, |newline| newline + 1)
    }
}

impl Loader<'_> {
    /// Expands a part of a statement; an expansion that does not end stops reading.
    pub(super) fn expand_in_frame(
        &mut self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        text: &[u8],
    ) -> Result<BString, LoadFailure> {
        self.expand(text).map_err(|error| self.expansion_failure(frame, line, error))
    }

    pub(super) fn expansion_failure(
        &self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        error: ExpandError,
    ) -> LoadFailure {
        let at = self.line_location(frame, line, 0, line.text.len());
        LoadFailure::new(line.line).with_reason(error.to_string()).with_location(at)
    }

    /// Returns the place of a range of a logical line.
    pub(super) fn line_location(
        &self,
        frame: &SourceFrame<'_>,
        line: &LogicalLine<'_>,
        start: usize,
        end: usize,
    ) -> ErrorLocation {
        let length = line.text.len();
        self.span_location(frame, line.locate(start.min(length), end.min(length)))
    }

    pub(super) fn span_location(&self, frame: &SourceFrame<'_>, span: Span) -> ErrorLocation {
        let start = (span.start as usize).min(frame.text.len());
        let first = memchr::memrchr(b'\n', &frame.text[..start]).map_or(0, |newline| newline + 1);
        let last = memchr::memchr(b'\n', &frame.text[start..]).map_or(frame.text.len(), |more| start + more);
        ErrorLocation {
            source: frame.source,
            name: self.source_name(frame.source),
            line: span.position(frame.text).line,
            text: frame.text[first..last].into(),
            span: Span::new(start - first, (span.end as usize).clamp(start, last.max(start)) - first),
            included_from: Vec::new(),
        }
    }
}
