//! Findings about printed ads that a program would read back differently or not at all.

use super::ProgramContext;
use crate::classad::AttrName;
use crate::classad::format::list::ListWriter;

/// First ads of the output that are not valid JSON, or that would be read back with other values. Ads are counted from
/// 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputFindings {
    invalid_utf8: Option<u64>,
    misread: Option<(u64, AttrName)>,
}

impl OutputFindings {
    /// Returns the findings about the ads of a writer.
    pub(crate) fn from_writer(writer: &ListWriter) -> Self {
        OutputFindings { invalid_utf8: writer.first_invalid_utf8(), misread: writer.first_misread().cloned() }
    }

    /// Adds the findings about a later part of the output, which begins after `before` ads.
    pub(crate) fn add_part(&mut self, part: OutputFindings, before: u64) {
        self.invalid_utf8 = self.invalid_utf8.or(part.invalid_utf8.map(|number| before + number));
        if self.misread.is_none() {
            self.misread = part.misread.map(|(number, name)| (before + number, name));
        }
    }

    /// Prints the findings as warnings.
    pub(crate) fn warn(&self, session: &ProgramContext) {
        if let Some(number) = self.invalid_utf8 {
            session.warn(&format!(
                "ad {number} of the output has text that is not UTF-8, so the JSON is not valid\n    hint: -long keeps the bytes"
            ));
        }
        if let Some((number, name)) = &self.misread {
            session.warn(&format!(
                "'{name}' of ad {number} of the output reads back as something else: the long form cannot represent it\n    \
                 hint: -json, -new and -xml can"
            ));
        }
    }
}
