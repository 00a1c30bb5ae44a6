//! Reading of jobs: from a queue log, ads in any format, or history files.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Context, Dialect};
use crate::cli::common::{
    AdErrorReporter, InputKind, OpenInput, Problem, ProgramContext as Program, is_not_found, list_inputs,
    malformed_ad_problem, open_stdio_pipe, read_queue_log, report_ad_error,
};
use crate::config::Config;
use crate::job::JobId;
use crate::os::files::open_regular_file;
use crate::queue::{BackwardHistoryReader, JobQueue, list_history_files};
use crate::router::job_pairs::{self, flattened_jobs};
use crate::world::World;

/// Number of ads without ids of one file that are reported one by one.
const MAX_REPORTED_ERRORS: u64 = 10;

/// Reads a queue log, compressed or not.
pub(super) fn read_queue_log_file(path: &Path, program: &Program) -> anyhow::Result<JobQueue> {
    let mut input = OpenInput::open(path, open_stdio_pipe().0)?;
    if input.kind == InputKind::EventLog {
        return Err(input.event_log_problem().into());
    }
    read_queue_log(&mut input.reader, path, program)
}

/// Reads the jobs of a file or directory: queue logs, histories and ads in any format.
pub(super) fn read_jobs_of_file(
    path: &Path,
    strict: bool,
    program: &Program,
    world: &dyn World,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let files = list_inputs(&[path], program)?;
    let mut jobs = Vec::new();
    for file in &files {
        match read_jobs_of_input(file, strict, program, world) {
            Ok(read) => jobs.extend(read),
            // In a queue directory that is in use, a job may have left since the files were listed.
            Err(error) if file != path && is_not_found(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(jobs)
}

fn read_jobs_of_input(
    path: &Path,
    strict: bool,
    program: &Program,
    world: &dyn World,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let mut input = OpenInput::open(path, open_stdio_pipe().0)?;
    let name = input.name.clone();
    let problem = || Problem::cannot_read(&name);
    if input.kind == InputKind::QueueLog {
        return Ok(flattened_jobs(&read_queue_log(&mut input.reader, Path::new(&name), program)?));
    }
    let mut jobs = Vec::new();
    let mut without_id = 0u64;
    let mut errors = AdErrorReporter::new(name.clone(), program);
    let mut reader = AdReader::new(input.into_ads(program)?, None).exact(strict);
    while let Some(record) = reader.next_record().with_context(problem)? {
        if let (true, Some(error)) = (strict, record.errors.first()) {
            return Err(malformed_ad_problem(error, &name).into());
        }
        errors.report(&record);
        let context = Context::new(world).my(&record.ad);
        let number = |name: &str| context.int(name).and_then(|number| i32::try_from(number).ok());
        if let (Some(cluster), Some(proc)) = (number("ClusterId"), number("ProcId")) {
            jobs.push((JobId::new(cluster, proc), record.ad));
        } else if !record.ad.is_empty() {
            without_id += 1;
            if without_id <= MAX_REPORTED_ERRORS {
                program.warn(&format!(
                    "{name}:{}: an ad without ClusterId and ProcId is passed over",
                    record.line
                ));
            }
        }
    }
    let error_count = errors.end();
    if without_id > MAX_REPORTED_ERRORS {
        let more = without_id - MAX_REPORTED_ERRORS;
        program.warn(&format!("{name}: {more} more ads without ClusterId and ProcId"));
    }
    if jobs.is_empty() && error_count > 0 {
        return Err(Problem::unreadable(format!("'{name}' holds no ad of a job")).into());
    }
    Ok(jobs)
}

/// Ads of a history that are wanted, the newest first.
pub(super) struct PastAds<'a> {
    pub(super) ads: Vec<ClassAd>,
    /// Number of records with lines that are not attributes.
    pub(super) broken: u64,
    /// Maximum number of ads.
    pub(super) limit: usize,
    /// True if a malformed ad is refused.
    pub(super) strict: bool,
    /// Returns true if an ad is wanted.
    pub(super) selects: &'a dyn Fn(&ClassAd) -> bool,
}

/// Numbers of records of one history.
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
            let message = format!("'{}' holds no record of a job", path.display());
            return Err(Problem::unreadable(message).into());
        }
        Ok(())
    }
}

/// Adds the wanted ads of a history. A directory stands for its history files. A file without trailers is read as ads, in the order
/// in which `condor_history -long` prints them.
pub(super) fn read_history(
    path: &Path,
    world: &dyn World,
    program: &Program,
    past: &mut PastAds<'_>,
) -> anyhow::Result<()> {
    if path != Path::new("-") && path.is_dir() {
        let files = list_history_files(&path.join("history"), world);
        if files.is_empty() {
            let message = format!("the directory '{}' holds no history", path.display());
            return Err(Problem::unreadable(message).hint("files that are read: history, history.*").into());
        }
        return files.iter().try_for_each(|file| read_history(file, world, program, past));
    }
    if past.ads.len() >= past.limit {
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
    // Only an uncompressed regular file can be read backwards without reading it whole.
    if !input.is_compressed && path.is_file() {
        let file = open_regular_file(path, OpenOptions::new().read(true)).with_context(problem)?;
        let mut reader = BackwardHistoryReader::new(file).with_context(problem)?;
        if reader.has_trailer().with_context(problem)? {
            return read_backwards(reader, path, past);
        }
    }
    read_forwards(input, path, program, past)
}

fn read_backwards<R: io::Read + io::Seek>(
    reader: BackwardHistoryReader<R>,
    path: &Path,
    past: &mut PastAds<'_>,
) -> anyhow::Result<()> {
    let mut counts = RecordCounts::default();
    for record in reader {
        let record = record.with_context(|| Problem::cannot_read(path.display()))?;
        let (ad, errors) = record.to_ad();
        if let (true, Some(error)) = (past.strict, errors.first()) {
            return Err(Problem::unreadable(format!("{}: {error}", path.display())).into());
        }
        past.broken += u64::from(!errors.is_empty());
        counts.add(&ad);
        if (past.selects)(&ad) {
            past.ads.push(ad);
        }
        if past.ads.len() >= past.limit {
            return Ok(());
        }
    }
    counts.check(path)
}

/// Reads a history from its start: of a history with trailers the last ads are kept, the newest first.
fn read_forwards(
    input: OpenInput,
    path: &Path,
    program: &Program,
    past: &mut PastAds<'_>,
) -> anyhow::Result<()> {
    let name = input.name.clone();
    let mut reader = AdReader::new(input.reader, None).dialect(program.dialect());
    let mut counts = RecordCounts::default();
    let mut kept: VecDeque<ClassAd> = VecDeque::new();
    let mut has_trailers = false;
    let limit = past.limit - past.ads.len();
    while let Some(record) = reader.next_record().with_context(|| Problem::cannot_read(&name))? {
        if let (true, Some(error)) = (past.strict, record.errors.first()) {
            return Err(malformed_ad_problem(error, &name).into());
        }
        let (warnings, errors): (Vec<_>, Vec<_>) = record.errors.iter().partition(|error| error.is_warning);
        warnings.iter().for_each(|warning| report_ad_error(warning, &name, program));
        past.broken += u64::from(!errors.is_empty());
        has_trailers |= record.banner.is_some_and(|banner| banner.starts_with(b"***"));
        counts.add(&record.ad);
        if !(past.selects)(&record.ad) {
            continue;
        }
        kept.push_back(record.ad);
        if kept.len() > limit {
            if !has_trailers {
                kept.pop_back();
                break;
            }
            kept.pop_front();
        }
    }
    counts.check(path)?;
    if has_trailers {
        past.ads.extend(kept.into_iter().rev());
    } else {
        past.ads.extend(kept);
    }
    Ok(())
}

/// Reads the queue log that a configuration names: that of the copies, or that of the source jobs.
pub(in crate::cli) fn read_configured_queue(
    config: &Config,
    copies: bool,
    world: &dyn World,
    program: &Program,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let path: PathBuf = job_pairs::queue_log_path(&config.view(world), copies)
        .unwrap_or_else(|| Path::new("job_queue.log").into());
    let program = &program.with_dialect(Dialect::of_world(world).strict(config.is_strict()));
    Ok(flattened_jobs(&read_queue_log_file(&path, program)?))
}
