//! Opening what ads are read from, whatever it is: a file, a packed one, a queue log, a directory of ads, standard input.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::read::MultiGzDecoder;

use super::{PipedStdin, Problem, ProgramContext};
use crate::classad::format::long;
use crate::os::{StopFlag, StoppableReader};
use crate::queue::{JobQueue, QueueLogReader};

/// Endings of the names of files that hold ads.
const AD_FILE_EXTENSIONS: [&str; 3] = ["ad", "ads", "classad"];

/// Ads that can be read, and the name that messages use for them.
pub(crate) type NamedAdReader = (BufReader<Box<dyn Read + Send>>, String);

/// Opens a file, or standard input for `-`. What gzip packed is unpacked; of a queue log the ads of its jobs are read, with their
/// clusters' attributes in them. In a directory that is all `*.ad`, `*.ads` and `*.classad`, by name; where there are none its
/// `job_queue.log`, else its history files, the oldest first.
///
/// # Errors
/// It cannot be opened, or the directory holds nothing of the kind.
pub(crate) fn open_input(
    path: &Path,
    stdin: PipedStdin,
    session: &ProgramContext,
) -> anyhow::Result<NamedAdReader> {
    if path == Path::new("-") {
        return Ok((
            BufReader::with_capacity(PipedStdin::BUFFER_SIZE, Box::new(stdin)),
            "standard input".to_owned(),
        ));
    }
    let name = path.display().to_string();
    let enough = stdin.stop_flag();
    let read: Box<dyn Read + Send> = match path.is_dir() {
        false => open_file(path, &enough, session)?,
        true => {
            let files = ad_files_in(path).with_context(|| read_problem(path))?;
            match files.as_slice() {
                [] => {
                    let message = format!("the directory '{name}' holds no ads");
                    let hint =
                        "files that are read in a directory: *.ad, *.ads, *.classad, job_queue.log, history*";
                    return Err(Problem::unreadable(message).hint(hint).into());
                }
                [only] => return open_input(&only.clone(), stdin, session),
                _ => Box::new(ConcatenatedFiles {
                    files: files.into_iter(),
                    current: None,
                    enough,
                    session: session.clone(),
                }),
            }
        }
    };
    Ok((BufReader::with_capacity(PipedStdin::BUFFER_SIZE, read), name))
}

fn read_problem(path: &Path) -> Problem {
    Problem::cannot_read(path.display())
}

fn open_file(
    path: &Path,
    enough: &StopFlag,
    session: &ProgramContext,
) -> anyhow::Result<Box<dyn Read + Send>> {
    let mut file = File::open(path).with_context(|| read_problem(path))?;
    let mut start = [0; 6];
    // What cannot be read at a place is no file that lies there: it is ads.
    let length = file.read_at(&mut start, 0).unwrap_or(0);
    let start = &start[..length];
    if start.starts_with(b"\x1f\x8b") {
        return Ok(Box::new(MultiGzDecoder::new(StoppableReader::new(file, enough))));
    }
    if let Some(packer) = compression_program(start) {
        let hint = format!("'{packer} -dc {} | ...' hands on what it holds", path.display());
        return Err(read_problem(path).caused_by(format!("it is packed with {packer}")).hint(hint).into());
    }
    if is_queue_log(start) {
        let queue = read_queue_log(&mut file, path, session)?;
        return Ok(Box::new(Cursor::new(queue_to_text(&queue))));
    }
    Ok(Box::new(StoppableReader::new(file, enough)))
}

fn compression_program(start: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 3] = [(b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zstd")];
    known.into_iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, packer)| packer)
}

/// Whether a file that begins so is a queue log: its first line is a record, or the beginning of a header that is being written.
pub(crate) fn is_queue_log(start: &[u8]) -> bool {
    let records: [&[u8]; 3] = [b"107 ", b"101 ", b"103 "];
    records.into_iter().any(|record| start.starts_with(record))
        || (!start.is_empty() && b"107 ".starts_with(start))
}

/// Reads a queue log; says what had to be passed over.
pub(crate) fn read_queue_log(
    file: &mut dyn Read,
    path: &Path,
    session: &ProgramContext,
) -> anyhow::Result<JobQueue> {
    let mut reader = QueueLogReader::new().with_dialect(session.dialect());
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(length) => reader.feed(&block[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(|| read_problem(path)),
        }
    }
    let (bad, count) = reader.bad_records();
    for record in bad {
        session.warn(&format!("{}: {record}", path.display()));
    }
    if count > bad.len() as u64 {
        session.warn(&format!("{}: {} more bad records", path.display(), count - bad.len() as u64));
    }
    if reader.header().is_none() && reader.record_count() + count > 0 {
        session.warn(&format!("{}: a queue log begins with a record 107, this one does not", path.display()));
    }
    Ok(reader.into_queue())
}

fn queue_to_text(queue: &JobQueue) -> Vec<u8> {
    let mut text = Vec::new();
    for job in queue.job_ids().into_iter().filter_map(|id| queue.job(id)) {
        text.extend_from_slice(&long::print(&job.flattened_chain()));
        text.push(b'\n');
    }
    text
}

fn ad_files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let holds_ads = |path: &&PathBuf| {
        path.extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| AD_FILE_EXTENSIONS.contains(&ending))
    };
    let ads: Vec<PathBuf> = files.iter().filter(holds_ads).cloned().collect();
    if !ads.is_empty() {
        return Ok(ads);
    }
    let named = |name: &str| directory.join(name);
    if files.contains(&named("job_queue.log")) {
        return Ok(vec![named("job_queue.log")]);
    }
    files.retain(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"history")));
    // The plain name is the newest.
    files.sort_by_key(|path| *path == named("history"));
    Ok(files)
}

/// Files one behind the other, each opened when the one before is over, with an empty line between them.
struct ConcatenatedFiles {
    files: std::vec::IntoIter<PathBuf>,
    current: Option<Box<dyn Read + Send>>,
    enough: StopFlag,
    session: ProgramContext,
}

impl Read for ConcatenatedFiles {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(file) = &mut self.current {
                match file.read(block)? {
                    0 if block.is_empty() => return Ok(0),
                    0 => self.current = None,
                    length => return Ok(length),
                }
            }
            let Some(path) = self.files.next() else { return Ok(0) };
            match open_file(&path, &self.enough, &self.session) {
                Ok(file) => self.current = Some(Box::new(file.chain(Cursor::new(b"\n\n")))),
                Err(error) => match error.downcast_ref::<io::Error>() {
                    // A job that has left a queue that is in use is no longer one of it.
                    Some(gone) if gone.kind() == io::ErrorKind::NotFound => {}
                    _ => self.session.report(&error),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_logs_are_known_by_their_first_record() {
        assert!(
            is_queue_log(b"107 1 ") && is_queue_log(b"101 1.") && is_queue_log(b"10") && is_queue_log(b"1")
        );
        assert!(!is_queue_log(b"") && !is_queue_log(b"MyType") && !is_queue_log(b"108 1 "));
    }
}
