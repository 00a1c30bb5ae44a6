//! Reading of ads one at a time. Errors in an ad are warnings, or end the program in strict mode.

use std::path::PathBuf;

use super::ad_errors::AdErrorReporter;
use super::ad_input::{InputReader, OpenInput, is_not_found, list_inputs};
use super::problem::malformed_ad_problem;
use super::{AdSelection, PipedStdin, Problem, ProgramContext, open_stdio_pipe};
use crate::classad::stream::{AdError, AdForm, AdReader};
use crate::classad::{ClassAd, Expr, Value};
use crate::os::{RealWorld, StopFlag};

/// Attribute without which a job accepts every slot.
const REQUIREMENTS: &str = "Requirements";

/// Stream of the ads in files, read one at a time; errors in ads are reported.
pub(crate) struct AdStream<'a> {
    /// Files that are still to be read, in reverse order.
    files: Vec<PathBuf>,
    /// True if the files were found in a directory, so that they may be removed before they are read.
    is_directory: bool,
    reader: Option<(AdReader<InputReader>, AdErrorReporter)>,
    stdin: Option<PipedStdin>,
    strict: bool,
    session: &'a ProgramContext,
    stop_flag: StopFlag,
    selection: Option<StreamSelection>,
    /// True if Requirements that cannot be read are replaced by `error`.
    marks_unreadable: bool,
}

/// Selection and order of the ads of a stream.
struct StreamSelection {
    selection: AdSelection,
    world: RealWorld,
    /// Selected ads in order, or `None` until all ads have been read.
    sorted: Option<std::vec::IntoIter<ClassAd>>,
}

impl<'a> AdStream<'a> {
    /// Opens the first file; `-` is standard input.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub(crate) fn open(paths: &[PathBuf], strict: bool, session: &'a ProgramContext) -> anyhow::Result<Self> {
        let stdin = open_stdio_pipe().0;
        let stop_flag = stdin.stop_flag();
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
            stop_flag,
            selection: None,
            marks_unreadable: false,
        };
        stream.open_next_file()?;
        Ok(stream)
    }

    /// Returns a stream of the ads that the selection keeps, in the order of the selection.
    pub(crate) fn select(mut self, selection: AdSelection, world: RealWorld) -> Self {
        self.selection = Some(StreamSelection { selection, world, sorted: None });
        self
    }

    /// Returns a stream that sets Requirements to `error` in each ad whose Requirements cannot be read. An ad without
    /// Requirements would seem to accept everything.
    pub(crate) fn mark_unreadable_requirements(mut self) -> Self {
        self.marks_unreadable = true;
        self
    }

    /// Opens the next file; returns false if no file is left.
    fn open_next_file(&mut self) -> anyhow::Result<bool> {
        while let Some(path) = self.files.pop() {
            let stdin =
                self.stdin.take().unwrap_or_else(|| open_stdio_pipe().0.with_stop_flag(&self.stop_flag));
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

    /// Returns the flag that cancels a blocked read.
    pub(crate) fn stop_flag(&self) -> StopFlag {
        self.stop_flag.clone()
    }

    /// Removes the current input from the stream if its ads are in the long form, opening the next input if the current
    /// one has ended. Returns its reader and the reporter of its errors, or `None` at the end, if the ads have another
    /// form, or if the stream has a selection.
    ///
    /// # Errors
    /// Returns an error if an input cannot be opened or read.
    pub(crate) fn take_long_input(
        &mut self,
    ) -> anyhow::Result<Option<(AdReader<InputReader>, AdErrorReporter)>> {
        // The selection would not be applied to the ads of the removed input.
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
    /// Returns an error if an input cannot be read or, with `strict`, if an ad has an error.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        let Some(mut selection) = self.selection.take() else { return self.read_next() };
        let next = self.next_selected(&mut selection);
        self.selection = Some(selection);
        next
    }

    fn next_selected(&mut self, selected: &mut StreamSelection) -> anyhow::Result<Option<ClassAd>> {
        if let Some(sorted) = &mut selected.sorted {
            return Ok(sorted.next());
        }
        if selected.selection.is_sorted() {
            let mut ads = Vec::new();
            while let Some(ad) = self.read_next()? {
                if selected.selection.holds(&ad, &selected.world) {
                    ads.push(ad);
                }
            }
            selected.selection.sort_and_limit(&mut ads, |ad| ad, &selected.world, self.session);
            return Ok(selected.sorted.insert(ads.into_iter()).next());
        }
        while !selected.selection.is_finished() {
            match self.read_next()? {
                Some(ad) if selected.selection.selects(&ad, &selected.world) => return Ok(Some(ad)),
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
            let mut ad = record.ad;
            if self.marks_unreadable && has_unreadable_requirements(&record.errors) {
                mark_requirements(&mut ad);
            }
            // Text of which nothing can be read as an attribute is not an ad.
            if ad.is_empty() && record.errors.iter().any(|error| !error.is_warning) {
                continue;
            }
            return Ok(Some(ad));
        }
    }
}

/// True if the Requirements of an ad with these errors could not be read.
pub(crate) fn has_unreadable_requirements(errors: &[AdError]) -> bool {
    errors.iter().any(|error| error.attribute.as_ref().is_some_and(|name| *name == REQUIREMENTS))
}

/// Sets Requirements to `error`, so that nothing matches the ad.
pub(crate) fn mark_requirements(ad: &mut ClassAd) {
    ad.insert(REQUIREMENTS, Expr::literal(Value::Error));
}

/// Reads at most `limit` ads of the files; `-` is standard input.
///
/// # Errors
/// Returns an error if a file cannot be read or, with `strict`, if an ad has an error.
pub(crate) fn read_ads(
    paths: &[PathBuf],
    strict: bool,
    limit: usize,
    session: &ProgramContext,
) -> anyhow::Result<Vec<ClassAd>> {
    let mut stream = AdStream::open(paths, strict, session)?;
    let mut ads = Vec::new();
    while ads.len() < limit {
        match stream.next()? {
            Some(ad) => ads.push(ad),
            None => break,
        }
    }
    Ok(ads)
}

/// Checks a text of ads as `--strict-input` does, for callers that parse it in their own way.
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
