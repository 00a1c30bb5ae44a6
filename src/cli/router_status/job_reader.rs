//! Reading of jobs from a queue log, ads in any format, or history files.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;

use crate::classad::stream::{AdForm, AdReader, AdRecord, Delimiter, Projection};
use crate::classad::{AttrName, ClassAd, Context, Dialect};
use crate::cli::common::{
    AdErrorReporter, InputKind, MAX_ERROR_MESSAGES, OpenInput, Problem, ProgramContext, is_not_found,
    list_inputs, malformed_ad_problem, open_stdio_pipe, read_queue_log,
};
use crate::config::Config;
use crate::job::JobId;
use crate::os::files::open_regular_file;
use crate::queue::{BackwardHistoryReader, MissingAttributes, list_history_files};
use crate::router::job_pairs;
use crate::text::plural::counted;
use crate::world::World;

/// Maximum number of ads without job ids in one file that are reported one by one.
const MAX_REPORTED_ERRORS: u64 = 10;

/// Selection of the jobs and attributes of a queue log that the output needs.
#[derive(Clone, Copy)]
pub(super) struct NeededJobs<'a> {
    /// Attributes that the output needs, or `None` if it needs all.
    pub(super) attributes: Option<&'a [AttrName]>,
    /// Attributes that identify needed jobs: a job is needed if it has at least one of them. The ads of other jobs may
    /// be empty. If the list is empty, all jobs are needed.
    pub(super) any_of: &'a [&'a str],
}

/// Maximum number of attempts to read a queue log with few attributes. An attempt fails if values refer to attributes that were
/// not read.
const MAX_PROJECTIONS: u32 = 8;

/// Reads the jobs of a queue log, which may be compressed.
pub(super) fn read_queue_log_file(
    path: &Path,
    needed: NeededJobs<'_>,
    program: &ProgramContext,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let input = OpenInput::open(path, open_stdio_pipe().0)?;
    if input.kind == InputKind::EventLog {
        return Err(input.event_log_problem().into());
    }
    read_opened_queue_log(input, path, needed, program)
}

/// Reads the jobs of an opened queue log. If values refer to attributes that were not read, a regular file is read again; from
/// other files, all attributes are read.
fn read_opened_queue_log(
    mut input: OpenInput,
    path: &Path,
    needed: NeededJobs<'_>,
    program: &ProgramContext,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let name = PathBuf::from(&input.name);
    let can_repeat = path != Path::new("-") && path.is_file();
    let mut wanted = needed.attributes.filter(|_| can_repeat).map(<[AttrName]>::to_vec);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let queue = read_queue_log(&mut input.reader, &name, program, wanted.as_deref())?;
        match queue.missing_attributes().clone() {
            MissingAttributes::None => return Ok(queue.into_jobs(needed.any_of).collect()),
            MissingAttributes::Names(more) if attempts < MAX_PROJECTIONS && wanted.is_some() => {
                wanted.get_or_insert_default().extend(more);
            }
            MissingAttributes::Names(_) | MissingAttributes::All => wanted = None,
        }
        input = OpenInput::open(path, open_stdio_pipe().0)?;
    }
}

/// Reads the jobs of a file or directory: queue logs, histories and ads in any format.
pub(super) fn read_jobs_of_file(
    path: &Path,
    strict: bool,
    needed: NeededJobs<'_>,
    program: &ProgramContext,
    world: &dyn World,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let files = list_inputs(&[path], program)?;
    let mut jobs = Vec::new();
    for file in &files {
        match read_jobs_of_input(file, strict, needed, program, world) {
            Ok(read) => jobs.extend(read),
            // In a queue directory that is in use, a job's file may have been removed since the files were listed.
            Err(error) if file != path && is_not_found(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(jobs)
}

fn read_jobs_of_input(
    path: &Path,
    strict: bool,
    needed: NeededJobs<'_>,
    program: &ProgramContext,
    world: &dyn World,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let input = OpenInput::open(path, open_stdio_pipe().0)?;
    let name = input.name.clone();
    let problem = || Problem::cannot_read(&name);
    if input.kind == InputKind::QueueLog {
        return read_opened_queue_log(input, path, needed, program);
    }
    let mut jobs = Vec::new();
    let mut without_id = 0u64;
    let mut errors = AdErrorReporter::new(name.clone(), program);
    let mut reader = program.ad_reader(input.into_ads(program)?).exact(strict);
    while let Some(record) = reader.next_record().with_context(problem)? {
        if let (true, Some(error)) = (strict, record.errors.first()) {
            return Err(malformed_ad_problem(error, &name).into());
        }
        errors.report(&record)?;
        let context = Context::new(world).my(&record.ad);
        let number = |name: &str| context.int(name).and_then(|number| i32::try_from(number).ok());
        if let (Some(cluster), Some(proc)) = (number("ClusterId"), number("ProcId")) {
            jobs.push((JobId::new(cluster, proc), record.ad));
        } else if !record.ad.is_empty() {
            without_id += 1;
            program.record_unreadable_ad();
            if without_id <= MAX_REPORTED_ERRORS {
                program
                    .warn(&format!("{name}:{}: an ad without ClusterId and ProcId is skipped", record.line));
            }
        }
    }
    let error_count = errors.end();
    if without_id > MAX_REPORTED_ERRORS {
        let more = without_id - MAX_REPORTED_ERRORS;
        program.warn(&format!("{name}: {} without ClusterId and ProcId", counted(more, "more ad")));
    }
    if jobs.is_empty() && error_count > 0 {
        return Err(Problem::unreadable(format!("'{name}' has no job ad")).into());
    }
    Ok(jobs)
}

/// State of reading the selected ads of a history, newest first.
pub(super) struct HistoryAds<'a> {
    /// Function that is called with each selected ad.
    pub(super) keep: &'a mut dyn FnMut(&ClassAd) -> anyhow::Result<()>,
    /// Number of selected ads so far.
    pub(super) kept: usize,
    /// Attributes that the output needs, or `None` if it needs all.
    pub(super) projection: Option<Projection>,
    /// Maximum number of ads to select.
    pub(super) limit: usize,
    /// True if a malformed ad is an error.
    pub(super) strict: bool,
    /// Function that returns true if an ad is selected.
    pub(super) selects: &'a dyn Fn(&ClassAd) -> bool,
}

impl HistoryAds<'_> {
    /// Calls `keep` with an ad if it is selected.
    fn take(&mut self, ad: &ClassAd) -> anyhow::Result<()> {
        if (self.selects)(ad) {
            self.kept += 1;
            (self.keep)(ad)?;
        }
        Ok(())
    }
}

/// Reads the next ad. If the needed attributes are known, reads only these. Returns false at the end.
fn read_next<R: io::Read>(
    ads: &mut AdReader<R>,
    projection: &mut Option<Projection>,
    record: &mut AdRecord,
) -> io::Result<bool> {
    match projection {
        Some(projection) if ads.detect()? == AdForm::Long => ads.next_projected(projection, record),
        _ => Ok(match ads.next_record()? {
            Some(next) => {
                ads.reuse(std::mem::replace(record, next).ad);
                true
            }
            None => false,
        }),
    }
}

/// Numbers of records and ads in one history.
#[derive(Default)]
struct RecordCounts {
    all: u64,
    of_jobs: u64,
}

impl RecordCounts {
    fn add(&mut self, ad: &ClassAd) {
        self.all += 1;
        self.of_jobs += u64::from(ad.contains("ClusterId") || ad.contains("RouteName"));
    }

    fn check(&self, path: &Path) -> anyhow::Result<()> {
        if self.all > 0 && self.of_jobs == 0 {
            let message = format!("'{}' has no record of a job", path.display());
            return Err(Problem::unreadable(message).into());
        }
        Ok(())
    }
}

/// Returns the last damaged records of a history, at most `most`. A history that was read backwards is read again from
/// its start, because the line numbers are known only then.
fn last_damaged_records(
    path: &Path,
    most: usize,
    program: &ProgramContext,
) -> anyhow::Result<VecDeque<AdRecord>> {
    let problem = || Problem::cannot_read(path.display());
    let mut reader = program.ad_reader(OpenInput::open(path, open_stdio_pipe().0)?.reader);
    let mut last = VecDeque::new();
    while let Some(record) = reader.next_record().with_context(problem)? {
        if is_damaged(&record) {
            if last.len() == most {
                last.pop_front();
            }
            last.push_back(record);
        }
    }
    Ok(last)
}

/// Reports the errors of the last `broken` damaged records of a history that was read backwards.
fn report_damaged_records(path: &Path, broken: u64, program: &ProgramContext) -> anyhow::Result<()> {
    let name = path.display().to_string();
    let most = usize::try_from(broken.min(MAX_ERROR_MESSAGES)).unwrap_or_default();
    let last = last_damaged_records(path, most, program)?;
    let mut errors = AdErrorReporter::new(name.clone(), program);
    last.iter().for_each(|record| errors.report_all(&record.errors, record.more_errors));
    if broken > last.len() as u64 {
        program.warn(&format!("{name}: {} in total", counted(broken, "damaged record")));
    } else {
        errors.end();
    }
    Ok(())
}

/// Returns true if a part of a record is not an attribute.
fn is_damaged(record: &AdRecord) -> bool {
    record.more_errors > 0 || record.errors.iter().any(|error| !error.is_warning)
}

/// Adds the selected ads of a history. A directory is read as its history files. A file without trailer lines is read as ads in
/// the order in which `condor_history -long` prints them.
pub(super) fn read_history(
    path: &Path,
    world: &dyn World,
    program: &ProgramContext,
    past: &mut HistoryAds<'_>,
) -> anyhow::Result<()> {
    if path != Path::new("-") && path.is_dir() {
        let files = list_history_files(&path.join("history"), world);
        if files.is_empty() {
            let message = format!("the directory '{}' has no history", path.display());
            return Err(Problem::unreadable(message).hint("files that are read: history, history.*").into());
        }
        return files.iter().try_for_each(|file| read_history(file, world, program, past));
    }
    if past.kept >= past.limit {
        return Ok(());
    }
    let input = OpenInput::open(path, open_stdio_pipe().0)?;
    let problem = || Problem::cannot_read(&input.name);
    match input.kind {
        InputKind::Ads => {}
        InputKind::EventLog => return Err(input.event_log_problem().into()),
        InputKind::QueueLog => {
            return Err(problem()
                .caused_by("it is a queue log, not a history")
                .hint("'htc-router-status queue FILE' shows its jobs")
                .into());
        }
    }
    // Only an uncompressed regular file can be read backwards without reading all of it.
    if !input.is_compressed && path.is_file() {
        let file = open_regular_file(path, OpenOptions::new().read(true)).with_context(problem)?;
        let mut reader = BackwardHistoryReader::new(file).with_context(problem)?;
        if reader.has_trailer().with_context(problem)? {
            return read_backwards(reader, path, program, past);
        }
    }
    read_forwards(input, path, program, past)
}

fn read_backwards<R: io::Read + io::Seek>(
    reader: BackwardHistoryReader<R>,
    path: &Path,
    program: &ProgramContext,
    past: &mut HistoryAds<'_>,
) -> anyhow::Result<()> {
    if !past.strict {
        let broken = read_reversed(reader, path, past)?;
        if broken > 0 {
            program.record_unreadable_ad();
            report_damaged_records(path, broken, program)?;
        }
        return Ok(());
    }
    let mut counts = RecordCounts::default();
    for record in reader {
        let record = record.with_context(|| Problem::cannot_read(path.display()))?;
        let (ad, errors) = record.to_ad();
        if let Some(error) = errors.first() {
            let name = path.display().to_string();
            let last = last_damaged_records(path, 1, program)?.pop_back();
            return Err(match last.as_ref().and_then(|record| record.errors.first()) {
                Some(error) => malformed_ad_problem(error, &name).into(),
                None => Problem::unreadable(format!("{name}: {error}")).into(),
            });
        }
        counts.add(&ad);
        past.take(&ad)?;
        if past.kept >= past.limit {
            return Ok(());
        }
    }
    counts.check(path)
}

/// Reads a history backwards with a reader of ads, which reuses lines that similar ads have in common. Returns the number of damaged
/// records.
fn read_reversed<R: io::Read + io::Seek>(
    reader: BackwardHistoryReader<R>,
    path: &Path,
    past: &mut HistoryAds<'_>,
) -> anyhow::Result<u64> {
    let records = Rc::new(Cell::new(0));
    let reversed =
        ReversedHistory { reader, rest: Vec::new(), at: 0, error: None, records: Rc::clone(&records) };
    let mut ads =
        AdReader::new(reversed, Some(AdForm::Long)).delimiter(Delimiter::Prefix(HISTORY_TRAILER.to_vec()));
    let mut projection = past.projection.take();
    let mut counts = RecordCounts::default();
    let mut record = AdRecord::default();
    let mut broken = 0;
    let problem = || Problem::cannot_read(path.display());
    while read_next(&mut ads, &mut projection, &mut record).with_context(problem)? {
        broken += u64::from(is_damaged(&record));
        counts.add(&record.ad);
        past.take(&record.ad)?;
        if past.kept >= past.limit {
            return Ok(broken);
        }
    }
    past.projection = projection;
    // Records without attributes are counted here, because the reader of ads does not return them.
    counts.all = records.get();
    counts.check(path)?;
    Ok(broken)
}

/// Beginning of the trailer line after each record of a history.
const HISTORY_TRAILER: &[u8] = b"***";

/// Reader of the text of a history, newest record first.
struct ReversedHistory<R> {
    reader: BackwardHistoryReader<R>,
    /// Rest of the last record that did not fit into the caller's block.
    rest: Vec<u8>,
    /// Number of bytes of `rest` that were read.
    at: usize,
    /// Error to return after all records before it were read, or `None`.
    error: Option<io::Error>,
    /// Number of records that were read.
    records: Rc<Cell<u64>>,
}

impl<R: io::Read + io::Seek> ReversedHistory<R> {
    /// Copies the previous record to the start of a block, and keeps in `rest` what does not fit. Returns the number of copied
    /// bytes, which is 0 at the start of the history.
    fn copy_previous(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let Some(record) = self.reader.previous()? else { return Ok(0) };
        self.records.set(self.records.get() + 1);
        let line_end: &[u8] = if record.text.ends_with(b"\n") { b"" } else { b"\n" };
        let (mut length, mut rest) = (0, std::mem::take(&mut self.rest));
        rest.clear();
        for part in [record.text, line_end, HISTORY_TRAILER, b"\n"] {
            let (now, later) = part.split_at(part.len().min(block.len() - length));
            block[length..length + now.len()].copy_from_slice(now);
            length += now.len();
            rest.extend_from_slice(later);
        }
        (self.rest, self.at) = (rest, 0);
        Ok(length)
    }
}

impl<R: io::Read + io::Seek> io::Read for ReversedHistory<R> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut length = block.len().min(self.rest.len() - self.at);
        block[..length].copy_from_slice(&self.rest[self.at..self.at + length]);
        self.at += length;
        while length < block.len() {
            match self.copy_previous(&mut block[length..]) {
                Ok(0) => break,
                Ok(copied) => length += copied,
                // The records that were read before the error are returned first.
                Err(error) if length > 0 => {
                    self.error = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }
}

/// Reads a history from its start. If the history has trailer lines, keeps the last ads, newest first.
fn read_forwards(
    input: OpenInput,
    path: &Path,
    program: &ProgramContext,
    past: &mut HistoryAds<'_>,
) -> anyhow::Result<()> {
    let name = input.name.clone();
    let mut errors = AdErrorReporter::new(name.clone(), program);
    let mut reader = program.ad_reader(input.reader);
    let mut counts = RecordCounts::default();
    let mut kept: VecDeque<ClassAd> = VecDeque::new();
    let mut has_trailers = false;
    let limit = past.limit - past.kept;
    let mut projection = past.projection.take().filter(|_| !past.strict);
    let mut record = AdRecord::default();
    while read_next(&mut reader, &mut projection, &mut record).with_context(|| Problem::cannot_read(&name))? {
        if let (true, Some(error)) = (past.strict, record.errors.first()) {
            return Err(malformed_ad_problem(error, &name).into());
        }
        errors.report_all(&record.errors, record.more_errors);
        has_trailers |= record.banner.as_ref().is_some_and(|banner| banner.starts_with(b"***"));
        counts.add(&record.ad);
        if !(past.selects)(&record.ad) {
            continue;
        }
        kept.push_back(record.ad.clone());
        if kept.len() > limit {
            if !has_trailers {
                kept.pop_back();
                break;
            }
            kept.pop_front();
        }
    }
    errors.end();
    past.projection = projection;
    counts.check(path)?;
    past.kept += kept.len();
    if has_trailers {
        kept.iter().rev().try_for_each(&mut *past.keep)
    } else {
        kept.iter().try_for_each(&mut *past.keep)
    }
}

/// Reads a queue log of the configuration: the one with the routed copies if `copies` is true, otherwise the one with
/// the source jobs.
pub(in crate::cli) fn read_configured_queue(
    config: &Config,
    copies: bool,
    world: &dyn World,
    program: &ProgramContext,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let path: PathBuf = job_pairs::queue_log_path(&config.view(world), copies)
        .unwrap_or_else(|| Path::new("job_queue.log").into());
    let program = &program.with_dialect(Dialect::of_world(world).strict(config.is_strict()));
    read_queue_log_file(&path, NeededJobs { attributes: None, any_of: &[] }, program)
}
