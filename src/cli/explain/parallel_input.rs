//! Jobs of long ads, read by several threads and grouped as they are read.

use std::io::{self, Empty, Read};

use crate::classad::ClassAd;
use crate::classad::stream::{AdBatcher, AdError, AdReader, AdRecord, Projection};
use crate::cli::common::{has_unreadable_requirements, mark_requirements};
use crate::os::{StopFlag, process_in_parallel, thread_count};
use crate::why::matching::{JobCounter, JobGrouper, JobPlace, ThreadedJobGrouper};

/// Attributes from which the names of jobs are made.
const LABELS: [&str; 3] = ["ClusterId", "ProcId", "Name"];

/// Number of groups after which [`LongJobStream::group_until_full`] returns.
pub(in crate::cli) const MAX_GROUPS: usize = 20_000;

/// Function that returns the name of a job from its ad and its number, counted from 1.
pub(in crate::cli) type JobNamer<'a> = dyn Fn(&ClassAd, u64) -> String + 'a;

/// Errors in the ads of one batch, and their number.
#[derive(Default)]
pub(in crate::cli) struct BatchDiagnostics {
    /// Errors; their lines count from the start of the stream.
    pub(in crate::cli) errors: Vec<AdError>,
    /// Number of errors that are not in `errors`.
    pub(in crate::cli) more_errors: u64,
    /// Number of jobs.
    pub(in crate::cli) jobs: u64,
    lines: u64,
    failure: Option<io::Error>,
}

/// Rest of a stream of job ads in the long form.
pub(in crate::cli) struct LongJobStream<R> {
    batcher: AdBatcher<R>,
    prototype: AdReader<Empty>,
    /// Number of lines before the next batch.
    lines: u64,
    /// Number of batches that were read.
    batches: u64,
    /// True if Requirements that cannot be read are replaced by `error`.
    marks_unreadable: bool,
}

impl<R: Read + Send> LongJobStream<R> {
    /// Creates a stream of the ads that a reader of the long form has not read yet. Ads that consist only of errors are
    /// skipped.
    pub(in crate::cli) fn new(reader: AdReader<R>) -> Self {
        let (lines, prototype) = (reader.lines_read(), reader.batch_reader());
        let batcher = reader.into_batcher();
        LongJobStream { batcher, prototype, lines, batches: 0, marks_unreadable: false }
    }

    /// Returns a stream that sets Requirements to `error` in each job whose Requirements cannot be read.
    pub(in crate::cli) fn mark_unreadable_requirements(self) -> Self {
        LongJobStream { marks_unreadable: true, ..self }
    }

    /// Adds all jobs to a grouping. `report` is called with the errors in the order of the stream until it returns false.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(in crate::cli) fn group_all(
        &mut self,
        grouper: &mut JobGrouper<'_>,
        name: &JobNamer<'_>,
        report: &mut (dyn FnMut(&BatchDiagnostics) -> bool + Send),
    ) -> io::Result<()> {
        self.group(grouper, usize::MAX, name, report).map(drop)
    }

    /// Adds jobs to a grouping as [`LongJobStream::group_all`] does, until there are at least [`MAX_GROUPS`] groups.
    /// Returns true if there may be more jobs.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(in crate::cli) fn group_until_full(
        &mut self,
        grouper: &mut JobGrouper<'_>,
        name: &JobNamer<'_>,
        report: &mut (dyn FnMut(&BatchDiagnostics) -> bool + Send),
    ) -> io::Result<bool> {
        self.group(grouper, MAX_GROUPS, name, report)
    }

    fn group(
        &mut self,
        grouper: &mut JobGrouper<'_>,
        most: usize,
        name: &JobNamer<'_>,
        report: &mut (dyn FnMut(&BatchDiagnostics) -> bool + Send),
    ) -> io::Result<bool> {
        let LongJobStream { batcher, prototype, lines, batches, marks_unreadable } = self;
        let (before, marks_unreadable) = (*batches, *marks_unreadable);
        let shared = ThreadedJobGrouper::new(grouper, &LABELS);
        let mut starts = vec![0];
        let (mut failure, mut is_stopped) = (None, false);
        let collect = |mut batch: BatchDiagnostics| {
            batch.errors.iter_mut().for_each(|error| error.line += *lines);
            *lines += batch.lines;
            *batches += 1;
            starts.push(starts.last().copied().unwrap_or(0) + batch.jobs);
            failure = batch.failure.take();
            is_stopped = failure.is_some() || !report(&batch);
            !is_stopped
        };
        let deal = |batch: &mut Batch| {
            if shared.group_count() >= most {
                return Ok(None);
            }
            let number = batcher.next_batch(&mut batch.reader)?.map(|number| number - before);
            batch.number = number.unwrap_or(0);
            Ok(number)
        };
        let worker = || {
            let mut worker = GroupingWorker {
                counter: shared.counter(),
                projection: Projection::with_prefixes(JobCounter::PREFIXES),
                name_count: 0,
                record: AdRecord::default(),
                reads_whole: false,
                marks_unreadable,
                has_unreadable_requirements: false,
            };
            let batch = Batch { reader: prototype.batch_reader(), number: 0 };
            (batch, move |batch: &mut Batch| worker.process(batch))
        };
        process_in_parallel(thread_count(None), deal, worker, collect, &StopFlag::new())?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if is_stopped {
            // The caller has an error to report; the places of some jobs are unknown.
            return Ok(false);
        }
        let is_full = shared.group_count() >= most;
        shared.finish(&starts, name);
        Ok(is_full)
    }
}

/// Batch of ads that one thread reads.
struct Batch {
    reader: AdReader<Empty>,
    number: u64,
}

/// Thread that groups the jobs of batches.
struct GroupingWorker<'c, 'g, 's> {
    counter: JobCounter<'c, 'g, 's>,
    projection: Projection,
    /// Number of the counter's names that the projection contains.
    name_count: usize,
    record: AdRecord,
    /// True if most jobs of the last batch belonged to new groups, so that it saves nothing to read only some of their
    /// attributes first.
    reads_whole: bool,
    marks_unreadable: bool,
    /// True if the Requirements of the current job could not be read.
    has_unreadable_requirements: bool,
}

impl GroupingWorker<'_, '_, '_> {
    fn process(&mut self, batch: &mut Batch) -> BatchDiagnostics {
        let mut diagnostics = BatchDiagnostics::default();
        let mut new_groups = 0;
        self.counter.update_names();
        loop {
            match self.read_job(batch, &mut diagnostics) {
                Ok(Some(has_attributes)) => {
                    if has_attributes {
                        let place = JobPlace { batch: batch.number, index: diagnostics.jobs };
                        new_groups += u64::from(self.add_job(batch, place));
                        diagnostics.jobs += 1;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    diagnostics.failure = Some(error);
                    break;
                }
            }
        }
        diagnostics.lines = batch.reader.lines_read();
        self.reads_whole = new_groups * 2 > diagnostics.jobs;
        diagnostics
    }

    /// Reads a job, or only its attributes that distinguish groups. Returns `None` at the end, and `Some(false)` for an
    /// ad that consists only of errors.
    fn read_job(
        &mut self,
        batch: &mut Batch,
        diagnostics: &mut BatchDiagnostics,
    ) -> io::Result<Option<bool>> {
        match self.counter.names() {
            Some(names) if !self.reads_whole => {
                if self.name_count != self.counter.name_count() {
                    names.for_each(|name| self.projection.add(name.clone()));
                    self.name_count = self.counter.name_count();
                }
                if !batch.reader.next_projected(&mut self.projection, &mut self.record)? {
                    return Ok(None);
                }
            }
            _ => match batch.reader.next_record()? {
                Some(record) => self.record = record,
                None => return Ok(None),
            },
        }
        let record = &mut self.record;
        self.has_unreadable_requirements =
            self.marks_unreadable && has_unreadable_requirements(&record.errors);
        if self.has_unreadable_requirements {
            mark_requirements(&mut record.ad);
        }
        let is_valid = record.errors.iter().all(|error| error.is_warning);
        diagnostics.errors.append(&mut record.errors);
        diagnostics.more_errors += record.more_errors;
        Ok(Some(is_valid || !record.ad.is_empty() || !batch.reader.whole_ad().is_empty()))
    }

    /// Adds the job that was read; returns true if its group is new.
    fn add_job(&mut self, batch: &mut Batch, place: JobPlace) -> bool {
        if self.reads_whole || self.counter.names().is_none() {
            return self.counter.add(std::mem::take(&mut self.record.ad), place);
        }
        if self.counter.count(&mut self.record.ad, place) {
            return false;
        }
        let mut job = batch.reader.whole_ad();
        if self.has_unreadable_requirements {
            mark_requirements(&mut job);
        }
        self.counter.add(job, place)
    }
}
