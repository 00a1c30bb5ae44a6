//! Streams of ads, and the reports of malformed ads in them.

use std::ffi::OsStr;
use std::io::{Empty, Read};
use std::path::Path;

use anyhow::Context as _;

use super::options::ClassadEvalCli;
use crate::classad::stream::{AdBatcher, AdError, AdForm, AdReader, AdRecord, Projection};
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{
    Problem, ProgramContext, malformed_ad_problem, open_input, open_stdio_pipe, render_ad_warning,
    wrong_kind_problem,
};
use crate::text::plural::counted;

/// Maximum number of malformed ads that are reported one by one. If there are more, only their number is printed.
const MAX_ERROR_MESSAGES: u64 = 20;

/// Stream of ads whose errors are reported immediately or kept for the caller.
pub(super) struct ReportingAdStream<'a, R> {
    pub(super) reader: AdReader<R>,
    errors: StreamErrorReporter<'a>,
    /// Errors kept for the caller, or `None` if they are reported immediately.
    kept_errors: Option<Vec<AdError>>,
    /// Error kept for the caller: the input does not begin like a file of ads. `None` if it does.
    kept_wrong_kind: Option<WrongKind>,
    read: u64,
}

impl<'a, R: Read> ReportingAdStream<'a, R> {
    pub(super) fn new(
        read: R,
        name: String,
        cli: &ClassadEvalCli,
        dialect: Dialect,
        session: &'a ProgramContext,
    ) -> Self {
        let reader = session.with_dialect(dialect).ad_reader(read);
        let strict = cli.input.strict_input;
        let errors = StreamErrorReporter { name, session, strict, count: 0, warning_count: 0 };
        ReportingAdStream {
            reader: reader.exact(strict),
            errors,
            kept_errors: None,
            kept_wrong_kind: None,
            read: 0,
        }
    }

    /// Splits the stream into a factory of readers for portions, the batcher that divides the input into portions, and
    /// the reporter of errors.
    pub(super) fn split_for_threads(self) -> (PortionReaders<'a>, AdBatcher<R>, StreamErrorReporter<'a>) {
        (
            PortionReaders { prototype: self.reader.batch_reader(), errors: self.errors.clone() },
            self.reader.into_batcher(),
            self.errors,
        )
    }

    /// Splits the stream into its reader, the reporter of errors and the number of ads read.
    pub(super) fn into_parts(self) -> (AdReader<R>, StreamErrorReporter<'a>, u64) {
        (self.reader, self.errors, self.read)
    }

    /// Returns the next ad that has an attribute, or `None` at the end.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<AdRecord>> {
        loop {
            let Some(mut record) = self.reader.next_record().with_context(|| self.errors.read_problem())?
            else {
                self.end()?;
                return Ok(None);
            };
            if !self.handle_errors(&mut record, false)? {
                return Ok(None);
            }
            if !record.ad.is_empty() {
                self.read += 1;
                return Ok(Some(record));
            }
        }
    }

    /// Reads the next ad into `record`: from long ads only the attributes of the projection, from other formats the whole ad.
    /// Returns false at the end of the stream.
    pub(super) fn next_projected(
        &mut self,
        skim: &mut Projection,
        record: &mut AdRecord,
    ) -> anyhow::Result<bool> {
        loop {
            if self.detect_form()? != AdForm::Long {
                return Ok(self.next()?.map(|next| *record = next).is_some());
            }
            if !self.reader.next_projected(skim, record).with_context(|| self.errors.read_problem())? {
                self.end()?;
                return Ok(false);
            }
            let has_errors = record.errors.iter().any(|error| !error.is_warning);
            if !self.handle_errors(record, true)? {
                return Ok(false);
            }
            // An ad that lacks all attributes of the projection is still an ad. Text that consists only of errors is
            // skipped.
            if !has_errors || !self.reader.whole_ad().is_empty() {
                self.read += 1;
                return Ok(true);
            }
        }
    }

    /// Returns all attributes of the ad that `next_projected` read last.
    pub(super) fn whole_ad(&mut self) -> ClassAd {
        self.reader.whole_ad()
    }

    /// Takes back an ad that is no longer used, to reuse its memory.
    pub(super) fn reuse(&mut self, ad: ClassAd) {
        self.reader.reuse(ad);
    }

    /// Reports the errors of an ad, or keeps them for the caller. Returns false if no more ads are to be read.
    fn handle_errors(&mut self, record: &mut AdRecord, is_projected: bool) -> anyhow::Result<bool> {
        if record.errors.is_empty() {
            self.errors.count += record.more_errors;
            return Ok(true);
        }
        let attributes = (self.read == 0)
            .then(|| if is_projected { self.reader.whole_ad().len() } else { record.ad.len() });
        let wrong_kind = self.errors.wrong_kind_problem(record, attributes);
        match &mut self.kept_errors {
            None => {
                self.errors.count += record.more_errors;
                self.errors.report(&record.errors)?;
                wrong_kind.map_or(Ok(true), |problem| Err(problem.into()))
            }
            Some(kept) => {
                let stops = self.errors.strict && !record.errors.is_empty();
                self.errors.count += record.more_errors;
                kept.append(&mut record.errors);
                let errors = kept.len();
                let wrong_kind = wrong_kind.map(|problem| WrongKind { errors, problem });
                self.kept_wrong_kind = self.kept_wrong_kind.take().or(wrong_kind);
                Ok(!stops)
            }
        }
    }

    /// Reports the end of the stream, unless errors are kept for the caller.
    fn end(&mut self) -> anyhow::Result<()> {
        if self.kept_errors.is_none() {
            self.errors.end(self.read)?;
        }
        Ok(())
    }

    /// Detects the format of the input, reading its start if necessary.
    pub(super) fn detect_form(&mut self) -> anyhow::Result<AdForm> {
        self.reader.detect().with_context(|| self.errors.read_problem())
    }

    /// Returns the format of the input as far as it is known, without reading.
    pub(super) fn form(&self) -> AdForm {
        self.reader.form()
    }
}

impl ReportingAdStream<'_, Empty> {
    /// Returns the errors of the portion that has been read, and the numbers of its ads and lines.
    pub(super) fn take_portion_diagnostics(&mut self) -> PortionDiagnostics {
        PortionDiagnostics {
            errors: self.kept_errors.as_mut().map(std::mem::take).unwrap_or_default(),
            wrong_kind: self.kept_wrong_kind.take(),
            more_errors: std::mem::take(&mut self.errors.count),
            read: std::mem::take(&mut self.read),
            lines: self.reader.lines_read(),
        }
    }
}

/// Error for an input that is not a file of ads, found while a portion of the input was read.
pub(super) struct WrongKind {
    /// Number of errors in the portion up to and including the ad that shows this.
    pub(super) errors: usize,
    pub(super) problem: Problem,
}

/// Errors and size of a portion of a stream.
pub(super) struct PortionDiagnostics {
    pub(super) errors: Vec<AdError>,
    /// Error if the portion does not begin like a file of ads, or `None`.
    pub(super) wrong_kind: Option<WrongKind>,
    /// Number of further errors, which are not in `errors`.
    pub(super) more_errors: u64,
    /// Number of ads in the portion.
    pub(super) read: u64,
    pub(super) lines: u64,
}

/// Factory of readers for portions of a stream.
pub(super) struct PortionReaders<'a> {
    prototype: AdReader<Empty>,
    errors: StreamErrorReporter<'a>,
}

impl<'a> PortionReaders<'a> {
    /// Returns a stream into which a portion can be loaded.
    pub(super) fn new_reader(&self) -> ReportingAdStream<'a, Empty> {
        ReportingAdStream {
            reader: self.prototype.batch_reader(),
            errors: self.errors.clone(),
            kept_errors: Some(Vec::new()),
            kept_wrong_kind: None,
            read: 0,
        }
    }
}

/// Reporter of the errors of a stream.
#[derive(Clone)]
pub(super) struct StreamErrorReporter<'a> {
    name: String,
    session: &'a ProgramContext,
    strict: bool,
    count: u64,
    warning_count: u64,
}

impl StreamErrorReporter<'_> {
    /// Returns the error for an input that cannot be read.
    pub(super) fn read_problem(&self) -> Problem {
        Problem::cannot_read(&self.name)
    }

    /// Adds the number of errors that are not described one by one to the count.
    pub(super) fn add_count(&mut self, more_errors: u64) {
        self.count += more_errors;
        if more_errors > 0 {
            self.session.record_unreadable_ad();
        }
    }

    pub(super) fn report(&mut self, errors: &[AdError]) -> anyhow::Result<()> {
        for error in errors {
            if self.strict {
                return Err(malformed_ad_problem(error, &self.name).into());
            }
            if error.is_warning {
                self.warning_count += 1;
                if self.warning_count <= MAX_ERROR_MESSAGES {
                    self.session.warn(&render_ad_warning(error, &self.name));
                }
                continue;
            }
            self.count += 1;
            self.session.record_unreadable_ad();
            if self.count <= MAX_ERROR_MESSAGES {
                let help = error.help.map(|help| format!("\n    hint: {help}")).unwrap_or_default();
                let text = error.caret(&self.name).render(&error.message);
                self.session.warn(&format!("skipped: {text}{help}"));
            }
        }
        Ok(())
    }

    /// Returns the error for an input that is not a file of ads, or `None`. `attributes` is the number of attributes of the ad if
    /// it is the first one.
    fn wrong_kind_problem(&self, record: &AdRecord, attributes: Option<usize>) -> Option<Problem> {
        let errors = record.errors.iter().filter(|error| !error.is_warning);
        let lines: Vec<&[u8]> = errors.map(|error| error.text.as_slice()).collect();
        let count = lines.len() as u64 + record.more_errors;
        wrong_kind_problem(&self.name, &lines, attributes.map(|attributes| (count, attributes)))
    }

    /// Reports the numbers of errors and warnings at the end of the stream; fails if no ad could be read.
    pub(super) fn end(&mut self, read: u64) -> anyhow::Result<()> {
        if self.count > MAX_ERROR_MESSAGES {
            self.session.warn(&format!("{}: {} in total", self.name, counted(self.count, "error")));
        }
        if self.count > 0 && read == 0 {
            return Err(Problem::unreadable(format!("no ad could be read from {}", self.name))
                .hint("the forms are long, json, jsonl, xml, new; name one with --from")
                .into());
        }
        if self.warning_count > MAX_ERROR_MESSAGES {
            self.session.warn(&format!("{}: {} in total", self.name, counted(self.warning_count, "warning")));
        }
        (self.count, self.warning_count) = (0, 0);
        Ok(())
    }
}

/// Opens the file with the second stream of ads.
pub(super) fn open_ad_file<'a>(
    path: &OsStr,
    cli: &ClassadEvalCli,
    dialect: Dialect,
    session: &'a ProgramContext,
) -> anyhow::Result<ReportingAdStream<'a, Box<dyn Read>>> {
    let (read, name) = open_input(Path::new(path), open_stdio_pipe().0, session)?;
    Ok(ReportingAdStream::new(Box::new(read), name, cli, dialect, session))
}
