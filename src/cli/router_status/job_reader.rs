//! Where the jobs come from: a queue log, ads in any form, history files.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use bstr::BString;

use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Context, Dialect};
use crate::cli::common::{
    Problem, ProgramContext as Program, is_queue_log, open_input, open_stdio_pipe, read_queue_log,
};
use crate::config::Config;
use crate::job::JobId;
use crate::os::files::open_regular_file;
use crate::queue::{BackwardHistoryReader, HistoryRecord, JobQueue};
use crate::router::job_pairs::{self, flattened_jobs};
use crate::world::{ExternalCommand, World};

/// So many errors of a file are told one by one.
const MAX_REPORTED_ERRORS: u64 = 10;
/// How much a compressed file may hold, in bytes.
const MAX_UNPACKED_BYTES: usize = 2 << 30;

/// Reads a queue log; says what had to be passed over.
pub(super) fn read_queue_log_file(path: &Path, program: &Program) -> anyhow::Result<JobQueue> {
    let problem = || Problem::cannot_read(path.display());
    read_queue_log(&mut File::open(path).with_context(problem)?, path, program)
}

/// The first bytes of a file.
fn read_first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(start)
}

/// The jobs of a file: a queue log, or ads in any form.
pub(super) fn read_jobs_of_file(
    path: &Path,
    program: &Program,
    world: &dyn World,
) -> anyhow::Result<Vec<(JobId, ClassAd)>> {
    let problem = || Problem::cannot_read(path.display());
    let input: Box<dyn Read> = match unpack(path, world)? {
        Some(content) if is_queue_log(&content[..content.len().min(4)]) => {
            return Ok(flattened_jobs(&read_queue_log(&mut content.as_slice(), path, program)?));
        }
        Some(content) => Box::new(Cursor::new(content)),
        None if path.is_file() && is_queue_log(&read_first_bytes(path).with_context(problem)?) => {
            return Ok(flattened_jobs(&read_queue_log_file(path, program)?));
        }
        None => Box::new(open_input(path, open_stdio_pipe().0, program)?.0),
    };
    let name = path.display().to_string();
    let mut jobs = Vec::new();
    let mut errors = 0;
    let mut reader = AdReader::new(input, None);
    while let Some(record) = reader.next_ad().with_context(problem)? {
        for error in &record.errors {
            errors += 1;
            if errors <= MAX_REPORTED_ERRORS {
                program
                    .report(&Problem::unreadable(error.message.clone()).at_line(&error.caret(&name)).into());
            }
        }
        let context = Context::new(world).my(&record.ad);
        let number = |name: &str| context.int(name).and_then(|number| i32::try_from(number).ok());
        if let (Some(cluster), Some(proc)) = (number("ClusterId"), number("ProcId")) {
            jobs.push((JobId::new(cluster, proc), record.ad));
        } else if !record.ad.is_empty() {
            program
                .warn(&format!("{name}:{}: an ad without ClusterId and ProcId is passed over", record.line));
        }
    }
    if errors > MAX_REPORTED_ERRORS {
        program.warn(&format!("{name}: {} more errors", errors - MAX_REPORTED_ERRORS));
    }
    if jobs.is_empty() && errors > 0 {
        return Err(Problem::unreadable(format!("'{name}' holds no ad of a job")).into());
    }
    Ok(jobs)
}

/// What a packed file holds; nothing if it is not packed, as its name says.
fn unpack(path: &Path, world: &dyn World) -> anyhow::Result<Option<Vec<u8>>> {
    let problem = || Problem::cannot_read(path.display());
    let unpacker = match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => "gzip",
        Some("bz2") => "bzip2",
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return Ok(None),
    };
    // One that is not there, or no file, is told as any other.
    open_regular_file(path, OpenOptions::new().read(true)).with_context(problem)?;
    let argv = [unpacker.into(), "-dc".into(), BString::from(path.as_os_str().as_encoded_bytes())].to_vec();
    let timeout = Duration::from_secs(600);
    let command = ExternalCommand {
        argv,
        stdin: Vec::new(),
        merge_stderr: false,
        timeout,
        output_limit: MAX_UNPACKED_BYTES,
    };
    let output = world.run(&command).with_context(problem)?;
    if !output.exit.is_success() {
        return Err(
            Problem::unreadable(format!("cannot unpack '{}': {}", path.display(), output.exit)).into()
        );
    }
    Ok(Some(output.stdout))
}

/// Hands the records of a history file over, the newest first, until `take` says no.
pub(super) fn for_each_history_record(
    path: &Path,
    world: &dyn World,
    take: &mut dyn FnMut(HistoryRecord) -> bool,
) -> anyhow::Result<bool> {
    let problem = || Problem::cannot_read(path.display());
    if let Some(content) = unpack(path, world)? {
        return for_each_record(
            BackwardHistoryReader::new(Cursor::new(content)).with_context(problem)?,
            take,
        )
        .with_context(problem);
    }
    let file = open_regular_file(path, OpenOptions::new().read(true)).with_context(problem)?;
    for_each_record(BackwardHistoryReader::new(file).with_context(problem)?, take).with_context(problem)
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

/// Reads the queue log that a configuration names: that of the copies, or that of the sources.
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
