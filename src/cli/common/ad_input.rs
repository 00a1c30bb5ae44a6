//! Input layer: opens every input of ads. An input is a file, FIFO or standard input, compressed or not; a queue log; a history;
//! or a directory of these.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::ad_errors::AdErrorReporter;
use super::compression::{Compression, LONGEST_MAGIC};
use super::{PipedStdin, Problem, ProgramContext};
use crate::classad::AttrName;
use crate::classad::format::long;
use crate::classad::stream::AdReader;
use crate::os::{StopFlag, StoppableReader};
use crate::queue::{MissingAttributes, ProjectedJobs, ProjectedQueue, QueueLogReader, QueueRecords};
use crate::text::plural::counted;

/// File name extensions of ad files.
const AD_FILE_EXTENSIONS: [&str; 3] = ["ad", "ads", "classad"];
/// File name extensions that compression programs add.
const COMPRESSED_EXTENSIONS: [&str; 4] = ["gz", "bz2", "xz", "zst"];
/// Name of standard input in messages.
const STDIN_NAME: &str = "standard input";
/// Number of bytes after which the kind of a text can be determined.
const LONGEST_TEXT_START: usize = 64;
/// Maximum number of skipped files of a directory that a warning names.
const MAX_NAMED_SKIPPED_FILES: usize = 5;

/// UTF-8 encoding of the byte order mark (BOM).
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reader of the bytes of an input.
pub(crate) type InputReader = Box<dyn Read + Send>;

/// Reader of ads, and the name of the input in messages.
pub(crate) type NamedAdReader = (BufReader<InputReader>, String);

/// Kind of a text, determined by its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// Ads in any format, with or without the banners of a history. Any unrecognized text is treated as ads.
    Ads,
    /// A schedd's job_queue.log.
    QueueLog,
    /// A job's event log (user log) in text form.
    EventLog,
}

/// Input that is open and decompressed.
pub(crate) struct OpenInput {
    /// Reader of the whole text.
    pub(crate) reader: InputReader,
    /// Kind of the text, determined by its first line.
    pub(crate) kind: InputKind,
    /// True if the text began with a byte order mark (BOM), which some editors write. `reader` skips it.
    pub(crate) had_byte_order_mark: bool,
    /// True if the input was compressed.
    pub(crate) is_compressed: bool,
    /// Name of the input in messages.
    pub(crate) name: String,
}

impl OpenInput {
    /// Opens a file, or standard input for `-`, and decompresses it if it is compressed.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or is compressed in an unsupported format.
    pub(crate) fn open(path: &Path, stdin: PipedStdin) -> anyhow::Result<Self> {
        OpenInput::open_raw(path, stdin).with_context(|| {
            if path == Path::new("-") { Problem::cannot_read(STDIN_NAME) } else { read_problem(path) }
        })
    }

    /// Opens an input as [`OpenInput::open`] does, for callers whose own errors name the file.
    pub(crate) fn open_raw(path: &Path, stdin: PipedStdin) -> io::Result<Self> {
        let stop_flag = stdin.stop_flag();
        if path == Path::new("-") {
            return OpenInput::decompress(Box::new(stdin), STDIN_NAME.to_owned());
        }
        OpenInput::open_file(path, &stop_flag)
    }

    fn open_file(path: &Path, stop_flag: &StopFlag) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        OpenInput::decompress(Box::new(StoppableReader::new(file, stop_flag)), path.display().to_string())
    }

    fn decompress(mut raw: InputReader, name: String) -> io::Result<Self> {
        let is_open = |start: &[u8]| start.len() < LONGEST_MAGIC && Compression::may_begin(start);
        let start = read_start(&mut raw, is_open)?;
        let compression = Compression::detect(&start);
        let raw: InputReader = Box::new(Cursor::new(start).chain(raw));
        let mut text = match compression {
            None => raw,
            Some(Compression::Unsupported(format)) => {
                let command = Compression::Unsupported(format).unpacking_command();
                let message = format!(
                    "it is compressed with {format}, which is unsupported (supported: gzip, bzip2, xz, zstd); unpack it with \
                     '{command}'"
                );
                return Err(io::Error::new(io::ErrorKind::Unsupported, message));
            }
            Some(supported) => supported.decompress(raw),
        };
        let needs_more =
            |start: &[u8]| InputKind::needs_more_bytes(start) || compression.is_some() && is_open(start);
        let start = read_start(&mut text, needs_more)?;
        if let (Some(outer), Some(inner)) = (compression, Compression::detect(&start)) {
            let message = format!(
                "it is compressed twice, with {} and then {}; unpack it once with '{}'",
                inner.name(),
                outer.name(),
                outer.unpacking_command()
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let content = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
        let (kind, had_byte_order_mark) = (InputKind::detect(content), content.len() < start.len());
        let mut start = Cursor::new(start);
        start.set_position(if had_byte_order_mark { BYTE_ORDER_MARK.len() as u64 } else { 0 });
        let reader = Box::new(start.chain(text));
        Ok(OpenInput { reader, kind, had_byte_order_mark, is_compressed: compression.is_some(), name })
    }

    /// Returns a reader of ads. The ads of a queue log are those of its jobs, including the attributes of their clusters.
    ///
    /// # Errors
    /// Returns an error for an event log, or for a queue log that cannot be read.
    pub(crate) fn into_ads(mut self, session: &ProgramContext) -> anyhow::Result<InputReader> {
        match self.kind {
            InputKind::Ads => Ok(self.reader),
            InputKind::QueueLog => {
                let queue = read_queue_log(&mut self.reader, Path::new(&self.name), session, None)?;
                Ok(Box::new(QueueText { jobs: queue.into_jobs(&[]), text: Cursor::new(Vec::new()) }))
            }
            InputKind::EventLog => Err(self.event_log_problem().into()),
        }
    }

    /// Returns a reader of the exact bytes of the text, including a byte order mark.
    pub(crate) fn into_exact_reader(self) -> InputReader {
        let mark = if self.had_byte_order_mark { BYTE_ORDER_MARK } else { b"" };
        Box::new(Cursor::new(mark).chain(self.reader))
    }

    /// Returns the error for an event log where ads, a queue log or a history is expected.
    pub(crate) fn event_log_problem(&self) -> Problem {
        Problem::cannot_read(&self.name)
            .caused_by("it is a job's event log, not ads")
            .hint("'htc-starter-run --events-of FILE' prints its events as ads")
    }
}

impl InputKind {
    fn detect(start: &[u8]) -> InputKind {
        if is_queue_log(start) {
            InputKind::QueueLog
        } else if is_event_header(start) {
            InputKind::EventLog
        } else {
            InputKind::Ads
        }
    }

    /// True if more bytes after `start` are needed to determine the kind of the text.
    fn needs_more_bytes(start: &[u8]) -> bool {
        let content = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        start.len() < LONGEST_TEXT_START
            && !start.contains(&b'\n')
            && (content.first().is_none_or(u8::is_ascii_digit) || BYTE_ORDER_MARK.starts_with(start))
    }
}

/// True if a file with this start is a queue log: its first line is a record, or the beginning of a header
/// that is being written.
fn is_queue_log(start: &[u8]) -> bool {
    let records: [&[u8]; 3] = [b"107 ", b"101 ", b"103 "];
    records.into_iter().any(|record| start.starts_with(record))
        || (!start.is_empty() && b"107 ".starts_with(start))
}

/// True if a text starts with the header of an event: `005 (12.000.000) `.
fn is_event_header(start: &[u8]) -> bool {
    let [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b' ', b'(', ids @ ..] = start else { return false };
    let Some(length) = ids.iter().position(|byte| *byte == b')') else { return false };
    let ids = &ids[..length];
    ids.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
        && ids.iter().filter(|byte| **byte == b'.').count() == 2
}

/// Reads blocks until `is_open` returns false for the bytes read, or the input ends.
fn read_start(input: &mut InputReader, is_open: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    // Blocks are as large as the buffers: smaller blocks would leave bytes in the buffer of standard input,
    // where no poll sees them.
    let mut block = vec![0; PipedStdin::BUFFER_SIZE];
    while is_open(&start) {
        match input.read(&mut block) {
            Ok(0) => break,
            Ok(length) => start.extend_from_slice(&block[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(start)
}

/// Opens a file, or standard input for `-`, decompresses it, and converts a queue log to the ads of its jobs. If the path is a
/// directory, the files that [`list_inputs`] finds in it are read one after the other; files in other formats are converted to
/// long ads.
///
/// # Errors
/// Returns an error if the path cannot be opened, is an event log, or is a directory without any such file.
pub(crate) fn open_input(
    path: &Path,
    stdin: PipedStdin,
    session: &ProgramContext,
) -> anyhow::Result<NamedAdReader> {
    let with_buffer = |reader| BufReader::with_capacity(PipedStdin::BUFFER_SIZE, reader);
    if path == Path::new("-") || !path.is_dir() {
        let input = OpenInput::open(path, stdin)?;
        let name = input.name.clone();
        return Ok((with_buffer(input.into_ads(session)?), name));
    }
    let stop_flag = stdin.stop_flag();
    let files = list_inputs(&[path], session)?;
    if let [only] = files.as_slice() {
        return open_input(only, stdin, session);
    }
    let files = files.into_iter();
    let all = ConcatenatedFiles { files, current: None, stop_flag, session: session.clone() };
    Ok((with_buffer(Box::new(all)), path.display().to_string()))
}

fn read_problem(path: &Path) -> Problem {
    Problem::cannot_read(path.display())
}

/// Replaces each directory by its ad files (`*.ad`, `*.ads`, `*.classad`, sorted by name). A directory without ad files
/// is replaced by its `job_queue.log`, or else by its history files, the oldest first. All of these files may be
/// compressed. A warning names the files that are skipped. If the directory has ad files, the skipped files may also
/// contain ads, unless they are those of a history. The program then ends with the status of an input that was read in
/// part.
///
/// # Errors
/// Returns an error if a directory cannot be read or contains none of these files.
pub(crate) fn list_inputs<P: AsRef<Path>>(
    paths: &[P],
    session: &ProgramContext,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut inputs = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        if path == Path::new("-") || !path.is_dir() {
            inputs.push(path.to_owned());
            continue;
        }
        let DirectoryFiles { chosen, skipped, has_skipped_ads } =
            DirectoryFiles::choose(path).with_context(|| read_problem(path))?;
        if chosen.is_empty() {
            let hint = "of a directory, *.ad, *.ads and *.classad are read; if it has none, job_queue.log; if it has none, history*";
            return Err(Problem::unreadable(format!("the directory '{}' has no ads", path.display()))
                .hint(hint)
                .into());
        }
        warn_of_skipped_files(path, &skipped, session);
        if has_skipped_ads {
            session.record_unreadable_ad();
        }
        inputs.extend(chosen);
    }
    Ok(inputs)
}

fn warn_of_skipped_files(directory: &Path, skipped: &[PathBuf], session: &ProgramContext) {
    let names = skipped.iter().filter_map(|path| path.file_name());
    let names: Vec<_> = names.take(MAX_NAMED_SKIPPED_FILES).map(|name| name.display().to_string()).collect();
    if names.is_empty() {
        return;
    }
    let more = skipped.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    session.warn(&format!("{}: skipped {}{more}", directory.display(), names.join(", ")));
}

/// Reads a queue log. Keeps only the attributes in `wanted`, or all attributes if it is `None`. Warns about records that are
/// skipped. If a kept attribute refers to an attribute that is not kept, reading ends early without a warning.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub(crate) fn read_queue_log(
    file: &mut dyn Read,
    path: &Path,
    session: &ProgramContext,
    wanted: Option<&[AttrName]>,
) -> anyhow::Result<ProjectedQueue> {
    let mut reader = QueueLogReader::with_queue(ProjectedQueue::new(wanted, session.dialect()));
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(length) => reader.feed(&block[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(|| read_problem(path)),
        }
        if *reader.queue().missing_attributes() != MissingAttributes::None {
            return Ok(reader.into_queue());
        }
    }
    report_bad_records(&reader, &path.display().to_string(), session)?;
    Ok(reader.into_queue())
}

/// Reports the records of a queue log that were skipped. The exit status then says that only a part of the log was
/// read.
///
/// # Errors
/// Returns an error for the first skipped record if reading is strict.
pub(crate) fn report_bad_records<Q: QueueRecords>(
    reader: &QueueLogReader<Q>,
    name: &str,
    session: &ProgramContext,
) -> anyhow::Result<()> {
    let (bad, count) = reader.bad_records();
    if let (Some(record), true) = (bad.first(), session.is_strict()) {
        return Err(Problem::unreadable(format!("{name}:{record}")).into());
    }
    for record in bad {
        session.record_unreadable_ad();
        session.report(&Problem::unreadable(format!("{name}:{record}")).into());
    }
    if count > bad.len() as u64 {
        session.warn(&format!("{name}: {} in total", counted(count, "bad record")));
    }
    if reader.header().is_none() && reader.record_count() + count > 0 {
        session.warn(&format!(
            "{name}: this is not a complete queue log: it does not begin with a record of type 107"
        ));
    }
    Ok(())
}

/// Reader of the jobs of a queue log in the long form. Each job is formatted when it is read.
struct QueueText {
    jobs: ProjectedJobs,
    text: Cursor<Vec<u8>>,
}

impl Read for QueueText {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.text.read(block)?;
            if length > 0 || block.is_empty() {
                return Ok(length);
            }
            let Some((_, ad)) = self.jobs.next() else { return Ok(0) };
            let mut text = long::print(&ad).to_vec();
            text.push(b'\n');
            self.text = Cursor::new(text);
        }
    }
}

/// Files of a directory. Hidden files are ignored.
struct DirectoryFiles {
    /// Files that are read, in their order.
    chosen: Vec<PathBuf>,
    /// Files that are skipped.
    skipped: Vec<PathBuf>,
    /// True if a skipped file may contain ads: the directory has ad files, and the skipped file is not a history. In
    /// other directories, such as a spool directory, most files have no ads.
    has_skipped_ads: bool,
}

impl DirectoryFiles {
    fn choose(directory: &Path) -> io::Result<Self> {
        let files = list_files(directory)?;
        let has_name = |path: &Path, is_wanted: &dyn Fn(&[u8]) -> bool| {
            uncompressed_name(path).file_name().is_some_and(|name| is_wanted(name.as_encoded_bytes()))
        };
        let is_history = |path: &Path| has_name(path, &|name| name.starts_with(b"history"));
        let is_ad_file = |path: &Path| has_extension(&uncompressed_name(path), &AD_FILE_EXTENSIONS);
        let preferences: [&dyn Fn(&Path) -> bool; 3] =
            [&is_ad_file, &|path| has_name(path, &|name| name == b"job_queue.log"), &is_history];
        for is_wanted in preferences {
            let (mut chosen, skipped): (Vec<_>, Vec<_>) =
                files.iter().cloned().partition(|path| is_wanted(path));
            if let Some(first) = chosen.first() {
                let has_skipped_ads = is_ad_file(first) && !skipped.iter().all(|path| is_history(path));
                // The history file without a suffix is the newest one.
                chosen.sort_by_key(|path| path.file_name().is_some_and(|name| name == "history"));
                return Ok(DirectoryFiles { chosen, skipped, has_skipped_ads });
            }
        }
        Ok(DirectoryFiles { chosen: Vec::new(), skipped: files, has_skipped_ads: false })
    }
}

/// Returns the regular files of a directory, sorted by name, without hidden ones.
fn list_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| extensions.contains(&ending))
}

/// Returns the path without the file name extension of a compression program.
fn uncompressed_name(path: &Path) -> PathBuf {
    if has_extension(path, &COMPRESSED_EXTENSIONS) { path.with_extension("") } else { path.to_owned() }
}

/// Reader of several files one after the other. Each file is opened when the previous one has ended; an empty line separates
/// them.
struct ConcatenatedFiles {
    files: std::vec::IntoIter<PathBuf>,
    current: Option<InputReader>,
    stop_flag: StopFlag,
    session: ProgramContext,
}

impl ConcatenatedFiles {
    /// Opens a file as a reader of long ads, converting ads in other formats.
    fn open(&self, path: &Path) -> anyhow::Result<InputReader> {
        let problem = || read_problem(path);
        let input = OpenInput::open_file(path, &self.stop_flag).with_context(problem)?;
        let mut reader = input.into_ads(&self.session)?;
        // With `--from`, the reader of all files expects the named format, so nothing is converted.
        if self.session.input_form().is_some() {
            return Ok(reader);
        }
        let blank = |start: &[u8]| start.iter().all(u8::is_ascii_whitespace);
        let start = read_start(&mut reader, blank).with_context(problem)?;
        let is_long = !matches!(start.trim_ascii_start().first(), Some(b'[' | b'{' | b'<'));
        let reader: InputReader = Box::new(Cursor::new(start).chain(reader));
        if is_long {
            return Ok(reader);
        }
        Ok(Box::new(LongFormReader {
            ads: self.session.ad_reader(reader),
            errors: AdErrorReporter::new(path.display().to_string(), &self.session),
            text: Cursor::new(Vec::new()),
        }))
    }
}

/// Reader that converts ads in another format to the long form, one by one.
struct LongFormReader {
    ads: AdReader<InputReader>,
    errors: AdErrorReporter,
    /// Text of the ad that is being read.
    text: Cursor<Vec<u8>>,
}

impl Read for LongFormReader {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.text.read(block)?;
            if length > 0 || block.is_empty() {
                return Ok(length);
            }
            let Some(record) = self.ads.next_record()? else {
                self.errors.end();
                return Ok(0);
            };
            self.errors.report(&record).map_err(|problem| io::Error::other(format!("{problem:#}")))?;
            let mut text = long::print(&record.ad).to_vec();
            text.push(b'\n');
            self.text = Cursor::new(text);
        }
    }
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
            match self.open(&path) {
                Ok(file) => self.current = Some(Box::new(file.chain(Cursor::new(b"\n\n")))),
                // In a queue directory that is in use, a job's file may have been removed since the files were listed.
                Err(error) if is_not_found(&error) => {}
                Err(error) => return Err(io::Error::other(format!("{error:#}"))),
            }
        }
    }
}

/// True if a file that was listed no longer exists.
pub(crate) fn is_not_found(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_logs_are_recognized_by_their_first_record() {
        assert!(
            is_queue_log(b"107 1 ") && is_queue_log(b"101 1.") && is_queue_log(b"10") && is_queue_log(b"1")
        );
        assert!(!is_queue_log(b"") && !is_queue_log(b"MyType") && !is_queue_log(b"108 1 "));
    }

    #[test]
    fn a_byte_order_mark_is_not_a_part_of_the_text() {
        for (text, kind, content) in [
            (&b"\xef\xbb\xbfA = 1\n"[..], InputKind::Ads, &b"A = 1\n"[..]),
            (b"\xef\xbb\xbf107 1 CreationTimestamp 1\n", InputKind::QueueLog, b"107 1 CreationTimestamp 1\n"),
            (b"\xef\xbb\xbf", InputKind::Ads, b""),
            (b"\xef\xbbA", InputKind::Ads, b"\xef\xbbA"),
            (b"A = 1\n", InputKind::Ads, b"A = 1\n"),
        ] {
            let open = || OpenInput::decompress(Box::new(text), "f".into()).unwrap();
            let (mut content_read, mut exact) = (Vec::new(), Vec::new());
            let mut input = open();
            input.reader.read_to_end(&mut content_read).unwrap();
            open().into_exact_reader().read_to_end(&mut exact).unwrap();
            assert_eq!((input.kind, &content_read[..], &exact[..]), (kind, content, text));
            assert_eq!(input.had_byte_order_mark, content.len() < text.len());
        }
    }

    #[test]
    fn event_logs_are_recognized_by_the_header_of_their_first_event() {
        let kind = InputKind::detect;
        assert_eq!(kind(b"000 (12.000.000) 2026-01-01 00:00:00 Job submitted"), InputKind::EventLog);
        assert_eq!(kind(b"005 (-1.-1.-1) 01/01 00:00:00 ..."), InputKind::EventLog);
        assert_eq!(kind(b"107 1 CreationTimestamp 1"), InputKind::QueueLog);
        assert_eq!(kind(b"A = 1\n"), InputKind::Ads);
        assert_eq!(kind(b"000 (12.0) = 1"), InputKind::Ads);
        assert!(
            InputKind::needs_more_bytes(b"10")
                && !InputKind::needs_more_bytes(b"A")
                && !InputKind::needs_more_bytes(b"1\n")
        );
    }
}
