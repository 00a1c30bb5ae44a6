//! Reading a few ads whole: what is wrong with each is told, or the end of it.

use std::io::{BufReader, Read};
use std::path::Path;

use super::{Problem, ProgramContext, open_input, open_stdio_pipe};
use crate::classad::stream::{AdError, AdReader};
use crate::classad::{ClassAd, Dialect};
use crate::os::StopFlag;

/// Ads of a file, one by one; what is wrong with each is told.
pub(crate) struct AdStream<'a> {
    reader: AdReader<BufReader<Box<dyn Read + Send>>>,
    name: String,
    strict: bool,
    session: &'a ProgramContext,
    enough: StopFlag,
}

impl<'a> AdStream<'a> {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(path: &Path, strict: bool, session: &'a ProgramContext) -> anyhow::Result<Self> {
        let stdin = open_stdio_pipe().0;
        let enough = stdin.stop_flag();
        let (input, name) = open_input(path, stdin, session)?;
        let reader = AdReader::new(input, None).exact(strict).dialect(session.dialect());
        Ok(AdStream { reader, name, strict, session, enough })
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
        let name = &self.name;
        let record = self.reader.next_ad().map_err(|error| Problem::cannot_read(name).caused_by(error))?;
        let Some(record) = record else { return Ok(None) };
        for error in &record.errors {
            let problem = malformed_ad_problem(error, name);
            if self.strict {
                return Err(problem.into());
            }
            self.session.report(&problem.into());
        }
        Ok(Some(record.ad))
    }
}

/// Reads at most so many ads of a file, or of standard input for `-`.
///
/// # Errors
/// It cannot be read; with `strict` the first thing that is wrong in it.
pub(crate) fn read_ads(
    path: &Path,
    strict: bool,
    most: usize,
    session: &ProgramContext,
) -> anyhow::Result<Vec<ClassAd>> {
    let mut stream = AdStream::open(path, strict, session)?;
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

pub(crate) fn malformed_ad_problem(error: &AdError, name: &str) -> Problem {
    let problem = Problem::unreadable(error.message.clone()).at_line(&error.caret(name));
    problem.maybe_hint(error.help)
}
