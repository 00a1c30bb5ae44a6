//! Jobs to explain, read one by one.

use super::options::ExplainOptions;
use crate::classad::ClassAd;
use crate::cli::common::{AdStream, ProgramContext};

/// Jobs that are read one by one.
pub(super) struct JobStream<'a> {
    ads: AdStream<'a>,
    is_finished: bool,
}

impl<'a> JobStream<'a> {
    /// Opens the jobs of the command line.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    pub(super) fn open(arguments: &ExplainOptions, session: &'a ProgramContext) -> anyhow::Result<Self> {
        let input = &arguments.input;
        let ads = AdStream::open(&input.paths(), input.strict_input, session)?;
        Ok(JobStream { ads, is_finished: false })
    }

    /// Returns the next job.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        let job = self.ads.next()?;
        self.is_finished |= job.is_none();
        Ok(job)
    }

    /// Returns the next jobs, and notices the end if there are no more than `most`.
    ///
    /// # Errors
    /// Fails if one of them cannot be read.
    pub(super) fn take(&mut self, most: usize) -> anyhow::Result<Vec<ClassAd>> {
        let mut jobs = Vec::new();
        while jobs.len() <= most {
            match self.next()? {
                Some(job) => jobs.push(job),
                None => break,
            }
        }
        Ok(jobs)
    }

    /// True if there are no more jobs.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }
}
