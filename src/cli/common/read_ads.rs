//! Reading of ads one at a time, with warnings about errors in them, or an error in strict mode.

use std::path::PathBuf;

use super::ad_errors::AdErrorReporter;
use super::ad_input::{InputReader, OpenInput, is_not_found, list_inputs};
use super::problem::malformed_ad_problem;
use super::{PipedStdin, Problem, ProgramContext, open_stdio_pipe};
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Dialect};
use crate::os::StopFlag;

/// Ads of files, one at a time; errors in them are reported.
pub(crate) struct AdStream<'a> {
    /// Files that are still to be read, the next one last.
    files: Vec<PathBuf>,
    /// True if the files were found in a directory, from which they may vanish.
    is_directory: bool,
    reader: Option<(AdReader<InputReader>, AdErrorReporter)>,
    stdin: Option<PipedStdin>,
    strict: bool,
    session: &'a ProgramContext,
    enough: StopFlag,
}

impl<'a> AdStream<'a> {
    /// Opens the first of the files; `-` is standard input.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened.
    pub(crate) fn open(paths: &[PathBuf], strict: bool, session: &'a ProgramContext) -> anyhow::Result<Self> {
        let stdin = open_stdio_pipe().0;
        let enough = stdin.stop_flag();
        let mut files = list_inputs(paths, session)?;
        files.reverse();
        let is_directory = files.len() != paths.len();
        let mut stream =
            AdStream { files, is_directory, reader: None, stdin: Some(stdin), strict, session, enough };
        stream.open_next_file()?;
        Ok(stream)
    }

    /// Opens the next file; returns false if there is none.
    fn open_next_file(&mut self) -> anyhow::Result<bool> {
        while let Some(path) = self.files.pop() {
            let stdin = self.stdin.take().unwrap_or_else(|| open_stdio_pipe().0.with_stop_flag(&self.enough));
            let opened = OpenInput::open(&path, stdin).and_then(|input| {
                let name = input.name.clone();
                Ok((input.into_ads(self.session)?, name))
            });
            match opened {
                Ok((input, name)) => {
                    let reader =
                        AdReader::new(input, None).exact(self.strict).dialect(self.session.dialect());
                    self.reader = Some((reader, AdErrorReporter::new(name, self.session)));
                    return Ok(true);
                }
                Err(error) if self.is_directory && is_not_found(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Returns the flag that ends reads.
    pub(crate) fn stop_flag(&self) -> StopFlag {
        self.enough.clone()
    }

    /// Returns the next ad, or `None` at the end.
    ///
    /// # Errors
    /// Returns an error if it cannot be read; with `strict` also for the first error in an ad.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        loop {
            let Some((reader, errors)) = &mut self.reader else { return Ok(None) };
            let record =
                reader.next_record().map_err(|error| Problem::cannot_read(errors.name()).caused_by(error))?;
            let Some(record) = record else {
                errors.end();
                self.reader = None;
                self.open_next_file()?;
                continue;
            };
            if let (true, Some(error)) = (self.strict, record.errors.first()) {
                return Err(malformed_ad_problem(error, errors.name()).into());
            }
            errors.report(&record);
            return Ok(Some(record.ad));
        }
    }
}

/// Reads at most `most` ads of files; `-` is standard input.
///
/// # Errors
/// Returns an error if they cannot be read; with `strict` also for the first error in an ad.
pub(crate) fn read_ads(
    paths: &[PathBuf],
    strict: bool,
    most: usize,
    session: &ProgramContext,
) -> anyhow::Result<Vec<ClassAd>> {
    let mut stream = AdStream::open(paths, strict, session)?;
    let mut ads = Vec::new();
    while ads.len() < most {
        match stream.next()? {
            Some(ad) => ads.push(ad),
            None => break,
        }
    }
    Ok(ads)
}

/// Checks a text as `--strict-input` does, for callers that parse it by rules of their own.
///
/// # Errors
/// Returns the first error in the text.
pub(crate) fn refuse_malformed(text: &[u8], name: &str, dialect: Dialect) -> anyhow::Result<()> {
    let mut reader = AdReader::new(text, None).exact(true).dialect(dialect);
    loop {
        let record = reader.next_record().map_err(|error| Problem::cannot_read(name).caused_by(error))?;
        match record {
            None => return Ok(()),
            Some(record) => {
                if let Some(error) = record.errors.first() {
                    return Err(malformed_ad_problem(error, name).into());
                }
            }
        }
    }
}
