//! Stream of the jobs to explain, which are read one by one.

use super::options::ExplainOptions;
use crate::classad::ClassAd;
use crate::cli::common::{AdStream, ClockOptions, Problem, ProgramContext, malformed_ad_problem};
use crate::cli::explain::{BatchDiagnostics, LongJobStream};
use crate::job::attr::CLUSTER_ID;
use crate::slot::job_id;
use crate::why::matching::JobGrouper;
use crate::world::World;

/// Stream of jobs that are read one by one.
pub(super) struct JobStream<'a> {
    ads: AdStream<'a>,
    is_strict: bool,
    is_finished: bool,
}

/// Returns the name of a job, which is its id. The number of the ad is added if an ad other than the first one has no
/// id.
pub(super) fn job_name(job: &ClassAd, number: u64, world: &dyn World) -> String {
    let id = job_id(job, world);
    match number > 1 && !job.contains(CLUSTER_ID) {
        true => format!("{id} (ad {number})"),
        false => id,
    }
}

impl<'a> JobStream<'a> {
    /// Opens the files of jobs that the command line names.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(super) fn open(arguments: &ExplainOptions, session: &'a ProgramContext) -> anyhow::Result<Self> {
        let input = &arguments.input;
        let ads = AdStream::open(&input.paths(), input.strict_input, session)?;
        let mut ads = ads.mark_unreadable_requirements();
        if arguments.selection.is_given() {
            let clock = ClockOptions { now: arguments.now, seed: None };
            ads = ads.select(arguments.selection.parse()?, clock.world());
        }
        Ok(JobStream { ads, is_strict: input.strict_input, is_finished: false })
    }

    /// Returns the next job, or `None` at the end.
    ///
    /// # Errors
    /// Fails if the job cannot be read.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        let job = self.ads.next()?;
        self.is_finished |= job.is_none();
        Ok(job)
    }

    /// Returns the next jobs: all if there are at most `most` of them, otherwise `most` + 1 jobs.
    ///
    /// # Errors
    /// Fails if a job cannot be read.
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

    /// Adds all further jobs to a grouping. Jobs in the long form are read by several threads.
    ///
    /// # Errors
    /// Fails if a job cannot be read.
    pub(super) fn group_rest(
        &mut self,
        grouper: &mut JobGrouper<'_>,
        world: &dyn World,
    ) -> anyhow::Result<()> {
        loop {
            if let Some((reader, mut errors)) = self.ads.take_long_input()? {
                let mut first_error = None;
                let mut report = |batch: &BatchDiagnostics| {
                    first_error = batch.errors.first().filter(|_| self.is_strict).cloned();
                    if first_error.is_none() {
                        errors.report_all(&batch.errors, batch.more_errors);
                    }
                    first_error.is_none()
                };
                let name = |job: &ClassAd, number| job_name(job, number, world);
                LongJobStream::new(reader)
                    .mark_unreadable_requirements()
                    .group_all(grouper, &name, &mut report)
                    .map_err(|error| Problem::cannot_read(errors.name()).caused_by(error))?;
                if let Some(error) = first_error {
                    return Err(malformed_ad_problem(&error, errors.name()).into());
                }
                errors.end();
                continue;
            }
            match self.next()? {
                Some(job) => grouper.add(job_name(&job, grouper.job_count() + 1, world), job),
                None => return Ok(()),
            }
        }
    }

    /// True if there are no more jobs.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }
}
