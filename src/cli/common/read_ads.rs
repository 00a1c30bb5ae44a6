//! Reading a few ads whole: what is wrong with each is told, or the end of it.

use std::path::PathBuf;

use super::ad_input::{InputReader, OpenInput, is_not_found, list_inputs};
use super::problem::malformed_ad_problem;
use super::{PipedStdin, Problem, ProgramContext, open_stdio_pipe};
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Dialect};
use crate::os::StopFlag;

/// Ads of a file, one by one; what is wrong with each is told.
pub(crate) struct AdStream<'a> {
    /// Files that are still to be read, the next one last.
    files: Vec<PathBuf>,
    /// True if the files were found in a directory, from where they may vanish.
    is_directory: bool,
    reader: Option<(AdReader<InputReader>, String)>,
    stdin: Option<PipedStdin>,
    strict: bool,
    session: &'a ProgramContext,
    enough: StopFlag,
}

impl<'a> AdStream<'a> {
    /// Opens the first of the files; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be opened.
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

    /// Opens the next file; false if there is none.
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
                    self.reader = Some((reader, name));
                    return Ok(true);
                }
                Err(error) if self.is_directory && is_not_found(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// By what its reads are ended.
    pub(crate) fn stop_flag(&self) -> StopFlag {
        self.enough.clone()
    }

    /// The next ad.
    ///
    /// # Errors
    /// It cannot be read; with `strict` the first thing that is wrong in it.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        let (record, name) = loop {
            let Some((reader, name)) = &mut self.reader else { return Ok(None) };
            let record = reader.next_ad().map_err(|error| Problem::cannot_read(&*name).caused_by(error))?;
            match record {
                Some(record) => break (record, name.clone()),
                None => {
                    self.reader = None;
                    self.open_next_file()?;
                }
            }
        };
        for error in &record.errors {
            let problem = malformed_ad_problem(error, &name);
            if self.strict {
                return Err(problem.into());
            }
            self.session.report(&problem.into());
        }
        Ok(Some(record.ad))
    }
}

/// Reads at most `most` ads of files; `-` is standard input.
///
/// # Errors
/// It cannot be read; with `strict` the first thing that is wrong in it.
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

/// Refuses what `--strict-input` refuses anywhere, in a text that is read by rules of its own otherwise.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn refuse_malformed(text: &[u8], name: &str, dialect: Dialect) -> anyhow::Result<()> {
    let mut reader = AdReader::new(text, None).exact(true).dialect(dialect);
    loop {
        let record = reader.next_ad().map_err(|error| Problem::cannot_read(name).caused_by(error))?;
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
