//! One source while it is read, and places in it.

use bstr::BString;

use crate::condition::IfStack;
use crate::config_error::ErrorPlace;
use crate::expand::ExpandError;
use crate::lines::LogicalLine;
use crate::loader::{Loader, Stop};
use crate::macro_set::{Place, SourceId};
use htc_base::text::Span;

/// One source while it is read.
pub(super) struct Frame<'t> {
    pub(super) source: SourceId,
    pub(super) text: &'t [u8],
    pub(super) depth: u32,
    pub(super) ifs: IfStack,
    /// The `if` lines that are open, kept for the story.
    pub(super) conditions: Vec<(BString, u32)>,
    pub(super) strict: bool,
    pub(super) warn_colon: bool,
}

impl Frame<'_> {
    pub(super) fn place(&self, line: u32, offset: u32) -> Place {
        Place { source: self.source, line: Some(line), template: None, offset }
    }
}

impl Loader<'_> {
    /// Expands a piece of a statement; an expansion without end stops reading.
    pub(super) fn expanded(
        &mut self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        text: &[u8],
    ) -> Result<BString, Stop> {
        self.expand(text).map_err(|error| self.stop_expansion(frame, line, error))
    }

    pub(super) fn stop_expansion(
        &self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        error: ExpandError,
    ) -> Stop {
        let at = self.place_in(frame, line, 0, line.text.len());
        Stop::new(line.line).reason(error.to_string()).at(at)
    }

    /// The place of a range of a logical line.
    pub(super) fn place_in(
        &self,
        frame: &Frame<'_>,
        line: &LogicalLine<'_>,
        start: usize,
        end: usize,
    ) -> ErrorPlace {
        let length = line.text.len();
        self.place_of(frame, line.locate(start.min(length), end.min(length)))
    }

    pub(super) fn place_of(&self, frame: &Frame<'_>, span: Span) -> ErrorPlace {
        let start = (span.start as usize).min(frame.text.len());
        let first = memchr::memrchr(b'\n', &frame.text[..start]).map_or(0, |newline| newline + 1);
        let last = memchr::memchr(b'\n', &frame.text[start..]).map_or(frame.text.len(), |more| start + more);
        ErrorPlace {
            source: frame.source,
            name: self.source_name(frame.source),
            line: span.position(frame.text).line,
            text: frame.text[first..last].into(),
            span: Span::new(start - first, (span.end as usize).clamp(start, last.max(start)) - first),
            included_from: Vec::new(),
        }
    }
}
