//! Reading of ads one at a time, with warnings about errors in them, or an error in strict mode.

use std::path::PathBuf;

use super::ad_errors::AdErrorReporter;
use super::ad_input::{InputReader, OpenInput, is_not_found, list_inputs};
use super::problem::malformed_ad_problem;
use super::{AdSelection, PipedStdin, Problem, ProgramContext, open_stdio_pipe};
use crate::classad::ClassAd;
use crate::classad::stream::{AdForm, AdReader};
use crate::os::{RealWorld, StopFlag};

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
    selection: Option<StreamSelection>,
}

/// Selection of the ads of a stream.
struct StreamSelection {
    selection: AdSelection,
    world: RealWorld,
    /// Sorted ads, once all have been read.
    sorted: Option<std::vec::IntoIter<ClassAd>>,
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
        let mut stream = AdStream {
            files,
            is_directory,
            reader: None,
            stdin: Some(stdin),
            strict,
            session,
            enough,
            selection: None,
        };
        stream.open_next_file()?;
        Ok(stream)
    }

    /// Returns the stream of the selected ads, in the requested order.
    pub(crate) fn select(mut self, selection: AdSelection, world: RealWorld) -> Self {
        self.selection = Some(StreamSelection { selection, world, sorted: None });
        self
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
                    let reader = self.session.ad_reader(input).exact(self.strict);
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

    /// Removes the current input if its ads are in the long form, or the next one if the current has ended; returns its
    /// reader and the reporter of its errors, or `None` for any other form, at the end, and if ads are selected.
    ///
    /// # Errors
    /// Returns an error if an input cannot be opened or read.
    pub(crate) fn take_long_input(
        &mut self,
    ) -> anyhow::Result<Option<(AdReader<InputReader>, AdErrorReporter)>> {
        // The ads of a taken input would not be selected.
        if self.selection.is_some() || self.reader.is_none() && !self.open_next_file()? {
            return Ok(None);
        }
        let Some((mut reader, errors)) = self.reader.take() else { return Ok(None) };
        let form = reader.detect().map_err(|error| Problem::cannot_read(errors.name()).caused_by(error))?;
        if form == AdForm::Long {
            return Ok(Some((reader, errors)));
        }
        self.reader = Some((reader, errors));
        Ok(None)
    }

    /// Returns the next selected ad, or `None` at the end.
    ///
    /// # Errors
    /// Returns an error if it cannot be read; with `strict` also for the first error in an ad.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        let Some(mut of) = self.selection.take() else { return self.read_next() };
        let next = self.next_selected(&mut of);
        self.selection = Some(of);
        next
    }

    fn next_selected(&mut self, of: &mut StreamSelection) -> anyhow::Result<Option<ClassAd>> {
        if let Some(sorted) = &mut of.sorted {
            return Ok(sorted.next());
        }
        if of.selection.is_sorted() {
            let mut ads = Vec::new();
            while let Some(ad) = self.read_next()? {
                if of.selection.holds(&ad, &of.world) {
                    ads.push(ad);
                }
            }
            of.selection.sort_and_limit(&mut ads, |ad| ad, &of.world, self.session);
            return Ok(of.sorted.insert(ads.into_iter()).next());
        }
        while !of.selection.is_finished() {
            match self.read_next()? {
                Some(ad) if of.selection.selects(&ad, &of.world) => return Ok(Some(ad)),
                Some(_) => {}
                None => break,
            }
        }
        Ok(None)
    }

    /// Returns the next ad of the files, or `None` at the end.
    fn read_next(&mut self) -> anyhow::Result<Option<ClassAd>> {
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
            errors.report(&record)?;
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
pub(crate) fn refuse_malformed(text: &[u8], name: &str, session: &ProgramContext) -> anyhow::Result<()> {
    let mut reader = session.ad_reader(text).exact(true);
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
