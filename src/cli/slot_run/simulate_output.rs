//! Output files of a simulation, for pictures and events. They are opened before the simulation starts.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use super::simulate_picture;
use crate::cli::common::{
    EventTarget, PipedStdin, Problem, ProgramContext, Status, exit_at_deadline, open_stdio_pipe,
    write_to_stdout,
};
use crate::os::{LineOutput, clock};
use crate::runner::events::RunnerEvent;
use crate::simulate::SimulationResult;
use crate::time::MonotonicTime;

/// Files for the requested pictures.
pub(super) struct PictureFiles {
    svg: Option<PathBuf>,
    html: Option<PathBuf>,
    /// Time up to which writers wait for a slow reader, or `None` for no limit.
    end: Option<MonotonicTime>,
    session: ProgramContext,
}

const PICTURE_TIMEOUT_MESSAGE: &str =
    "the time limit (--timeout) expired: the picture was not written because nothing reads it";
/// File name that means standard output.
const STDOUT_FILE: &str = "-";

impl PictureFiles {
    /// Creates the set of requested pictures. Writers wait for a slow reader at most until `end`.
    pub(super) fn from_paths(
        svg: Option<&Path>,
        html: Option<&Path>,
        end: Option<MonotonicTime>,
        session: &ProgramContext,
    ) -> anyhow::Result<Self> {
        if svg.is_some() && svg == html {
            return Err(Problem::usage("--svg and --html would be written to the same file").into());
        }
        let (svg, html) = (svg.map(Path::to_owned), html.map(Path::to_owned));
        Ok(PictureFiles { svg, html, end, session: session.clone() })
    }

    /// Checks that all files can be written.
    pub(super) fn check_writable(&self) -> anyhow::Result<()> {
        let files = [&self.svg, &self.html].into_iter().flatten();
        for path in files.filter(|path| *path != Path::new(STDOUT_FILE)) {
            // The reader of a pipe would see an end of file if the pipe were opened and closed, so only regular files
            // are checked.
            if path.metadata().is_ok_and(|status| !status.is_file() && !status.is_dir()) {
                continue;
            }
            // The old content is kept until the new content can be written.
            let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
            opened.with_context(|| cannot_write(path))?;
        }
        Ok(())
    }

    /// Refuses to write a picture and other output to standard output.
    pub(super) fn refuse_stdout_conflict(&self, events: bool, json: bool) -> anyhow::Result<()> {
        let conflict = [("--events", events), ("--json or --jsonl", json)];
        let conflict = conflict.into_iter().find(|(_, is_asked)| *is_asked).filter(|_| self.uses_stdout());
        match conflict {
            Some((option, _)) => Err(Problem::usage(format!(
                "a picture and {option} are both to be written to standard output"
            ))
            .into()),
            None => Ok(()),
        }
    }

    /// Returns true if a picture goes to standard output.
    pub(super) fn uses_stdout(&self) -> bool {
        [&self.svg, &self.html].into_iter().flatten().any(|path| path == Path::new(STDOUT_FILE))
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.svg.is_some() || self.html.is_some()
    }

    /// Draws the pictures, and writes them to their files.
    pub(super) fn draw(&self, played: &SimulationResult) -> anyhow::Result<()> {
        let Some(timeline) = &played.timeline else { return Ok(()) };
        exit_at_deadline(self.end, &self.session, PICTURE_TIMEOUT_MESSAGE);
        if let Some(path) = &self.svg {
            write_picture(path, &simulate_picture::timeline_svg(timeline, &played.rows, &played.summary))?;
        }
        if let Some(path) = &self.html {
            write_picture(path, &simulate_picture::html_page(timeline, &played.rows, &played.summary))?;
        }
        Ok(())
    }
}

fn cannot_write(path: &Path) -> Problem {
    Problem::new(Status::Failed, format!("cannot write '{}'", path.display()))
}

fn write_picture(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new(STDOUT_FILE) {
        return write_to_stdout(text);
    }
    std::fs::write(path, text).with_context(|| cannot_write(path))
}

/// Writer that waits for a slow reader, but no longer than `--timeout` permits.
struct WaitingWriter {
    outlet: LineOutput,
    end: Option<MonotonicTime>,
}

impl WaitingWriter {
    fn write_with_deadline(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        let mut result = self.outlet.write_line(bytes);
        while result.is_ok() && self.outlet.has_pending_lines() && !self.outlet.is_disk_full() {
            let time_left = self.end.map_or(Duration::MAX, |end| end.since(clock::monotonic_now()));
            if time_left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // `finish` may take up to four times its limit.
            self.outlet.finish((time_left / 4).min(Duration::from_secs(1)));
            result = self.outlet.flush();
        }
        if self.outlet.is_disk_full() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        result
    }
}

impl Write for WaitingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_with_deadline(bytes.to_vec()).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a writer of events to standard output, which waits for a slow reader at most until `end`.
pub(super) fn waiting_stdout(end: Option<MonotonicTime>) -> anyhow::Result<Box<dyn Write>> {
    let Some(end) = end else { return Ok(Box::new(open_stdio_pipe().1)) };
    let outlet = LineOutput::from_descriptor_number(1).context("standard output")?;
    Ok(Box::new(BufWriter::with_capacity(PipedStdin::BUFFER_SIZE, WaitingWriter { outlet, end: Some(end) })))
}

/// Writer of events as JSON to a target other than standard output. Events are never dropped.
pub(super) struct EventWriter {
    to: WaitingWriter,
    name: String,
    failed: Option<io::Error>,
}

impl EventWriter {
    pub(super) fn open(to: &EventTarget, end: Option<MonotonicTime>) -> anyhow::Result<Self> {
        let name = match to {
            EventTarget::Descriptor(number) => format!("descriptor {number}"),
            EventTarget::File(path) => format!("'{}'", path.display()),
        };
        Ok(EventWriter { to: WaitingWriter { outlet: to.open()?, end }, name, failed: None })
    }

    pub(super) fn write(&mut self, event: &RunnerEvent) {
        if self.failed.is_some() {
            return;
        }
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        self.failed = self.to.write_with_deadline(line).err();
    }

    /// Returns the error that prevented writing. A reader that has closed the pipe is not an error.
    pub(super) fn end(self) -> anyhow::Result<()> {
        match self.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(unwritten_events_problem(error, &self.name))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the error for events that could not be written.
pub(super) fn unwritten_events_problem(error: io::Error, name: &str) -> anyhow::Error {
    if error.kind() == io::ErrorKind::TimedOut {
        let text = format!("the time limit (--timeout) expired: {name} accepts no more events");
        return Problem::new(Status::TimedOut, text).into();
    }
    let problem = format!("cannot write events to {name}");
    anyhow::Error::from(error).context(Problem::new(Status::Failed, problem))
}
