//! Reading of jobs: from a queue log, ads in any format, or history files.

use std::fs::OpenOptions;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Context, Dialect};
use crate::cli::common::{
    InputKind, OpenInput, Problem, ProgramContext as Program, is_not_found, list_inputs,
    malformed_ad_problem, open_stdio_pipe, read_queue_log,
};
use crate::config::Config;
use crate::job::JobId;
use crate::os::files::open_regular_file;
use crate::os::read_whole;
use crate::queue::{BackwardHistoryReader, HistoryRecord, JobQueue, list_history_files};
use crate::router::job_pairs::{self, flattened_jobs};
use crate::world::World;

/// Maximum number of errors of a file that are reported individually.
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
    program: &Program,
    world: &dyn World,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let files = list_inputs(&[path], program)?;
    let mut jobs = Vec::new();
    for file in &files {
        match read_jobs_of_input(file, program, world) {
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
    let (mut errors, mut without_id) = (0, 0u64);
    let mut reader = AdReader::new(input.into_ads(program)?, None);
    while let Some(record) = reader.next_record().with_context(problem)? {
        for error in &record.errors {
            errors += 1;
            if errors <= MAX_REPORTED_ERRORS {
                program.report(&malformed_ad_problem(error, &name).into());
            }
        }
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
    if errors > MAX_REPORTED_ERRORS {
        program.warn(&format!("{name}: {} more errors", errors - MAX_REPORTED_ERRORS));
    }
    if without_id > MAX_REPORTED_ERRORS {
        let more = without_id - MAX_REPORTED_ERRORS;
        program.warn(&format!("{name}: {more} more ads without ClusterId and ProcId"));
    }
    if jobs.is_empty() && errors > 0 {
        return Err(Problem::unreadable(format!("'{name}' holds no ad of a job")).into());
    }
    Ok(jobs)
}

/// Calls `take` with the records of a history, the newest first, until it returns false. For a directory, its
/// history files are read.
pub(super) fn for_each_history_record(
    path: &Path,
    world: &dyn World,
    take: &mut dyn FnMut(HistoryRecord) -> bool,
) -> anyhow::Result<bool> {
    if path != Path::new("-") && path.is_dir() {
        let files = list_history_files(&path.join("history"), world);
        if files.is_empty() {
            let message = format!("the directory '{}' holds no history", path.display());
            return Err(Problem::unreadable(message).hint("files that are read: history, history.*").into());
        }
        for file in files {
            if !for_each_history_record(&file, world, take)? {
                return Ok(false);
            }
        }
        return Ok(true);
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
        let reader = BackwardHistoryReader::new(file).with_context(problem)?;
        return for_each_record(reader, take).with_context(problem);
    }
    let name = input.name.clone();
    let problem = || Problem::cannot_read(&name);
    let text = read_whole(input.reader).with_context(problem)?;
    let reader = BackwardHistoryReader::new(Cursor::new(text)).with_context(problem)?;
    for_each_record(reader, take).with_context(problem)
}

fn for_each_record<R: io::Read + io::Seek>(
    reader: BackwardHistoryReader<R>,
    take: &mut dyn FnMut(HistoryRecord) -> bool,
) -> io::Result<bool> {
    for record in reader {
        if !take(record?) {
            return Ok(false);
        }
    }
    Ok(true)
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
